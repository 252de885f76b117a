//! The pool of ids, and the two steps in which it changes its size.
//!
//! Sizes follow Linux's `IdPool` (`rust/kernel/id_pool.rs`): 64 at first, doubled when full, halved
//! when the highest id falls below a quarter. Memory is prepared without the pool, so that an owner
//! that keeps the pool under a lock can let the lock go meanwhile:
//!
//! ```
//! # use std::sync::Mutex;
//! # use idr::{BitmapAllocError, IdPool};
//! # fn take(pool: &Mutex<IdPool>) -> Result<Option<u32>, BitmapAllocError> {
//! let mut locked = pool.lock().expect("not poisoned");
//! loop {
//!     if let Some(reservation) = locked.find_unused_id(1) {
//!         return Ok(Some(reservation.acquire()));
//!     }
//!     let Some(request) = locked.grow_request() else { return Ok(None) };
//!     drop(locked);
//!     let larger = request.realloc()?;
//!     locked = pool.lock().expect("not poisoned");
//!     locked.grow(larger);
//! }
//! # }
//! # assert_eq!(take(&Mutex::new(IdPool::new())), Ok(Some(1)));
//! ```

use core::fmt;

use crate::bitmap::{Bitmap, BitmapAllocError};
use crate::id_tree::IdTree;

/// A set of ids that finds its lowest free one in logarithmic time, 64 being the base.
#[derive(Clone)]
pub struct IdPool {
    ids: Ids,
}

#[derive(Clone)]
enum Ids {
    /// The first 64, a bit each.
    Word(u64),
    /// More.
    Tree(IdTree),
}

impl IdPool {
    /// Makes an empty pool with room for 64 ids, without memory from the heap.
    #[must_use]
    pub const fn new() -> Self {
        Self { ids: Ids::Word(0) }
    }

    /// Makes an empty pool with room for `ids`, and for as many more as whole words of summaries
    /// need.
    ///
    /// # Errors
    ///
    /// [`AcquireError`] when that is more than a pool can have, or the heap is exhausted.
    pub fn with_capacity(ids: u32) -> Result<Self, AcquireError> {
        let mut pool = Self::new();
        pool.reserve(ids)?;
        Ok(pool)
    }

    /// Makes room for the ids below `ids`, so that none of them needs memory when it is taken.
    ///
    /// A release that [shrinks](Self::release_and_shrink) the pool may give the room up again.
    ///
    /// # Errors
    ///
    /// [`AcquireError`] when that is more than a pool can have, or the heap is exhausted.
    pub fn reserve(&mut self, ids: u32) -> Result<(), AcquireError> {
        if ids <= self.capacity() {
            return Ok(());
        }
        let capacity = ids.checked_next_power_of_two();
        let capacity = capacity.filter(|capacity| *capacity <= Bitmap::MAX_CAPACITY);
        let capacity = capacity.ok_or(AcquireError::TooLarge { ids })?;
        self.grow(GrowRequest { capacity }.realloc()?);
        Ok(())
    }

    /// Finds the lowest free id at or after `start`; `None` if the pool is full from there on.
    ///
    /// The id stays free until [`Reservation::acquire`].
    #[inline]
    pub fn find_unused_id(&mut self, start: u32) -> Option<Reservation<'_>> {
        let id = match &mut self.ids {
            Ids::Word(word) => lowest_clear(*word, start)?,
            Ids::Tree(tree) => tree.find_unused(start)?,
        };
        Some(Reservation { pool: self, id })
    }

    /// Takes the lowest free id at or after `start`, growing the pool as needed.
    ///
    /// # Errors
    ///
    /// [`AcquireError`] when the pool may not grow or finds no memory.
    #[inline]
    pub fn acquire_lowest(&mut self, start: u32) -> Result<u32, AcquireError> {
        let taken = match &mut self.ids {
            Ids::Word(word) => lowest_clear(*word, start).inspect(|id| *word |= 1 << id),
            Ids::Tree(tree) => tree.take_lowest(start),
        };
        match taken {
            Some(id) => Ok(id),
            None => self.acquire_grown(start),
        }
    }

    #[cold]
    fn acquire_grown(&mut self, start: u32) -> Result<u32, AcquireError> {
        loop {
            self.grow_for(start)?;
            if let Some(reservation) = self.find_unused_id(start) {
                return Ok(reservation.acquire());
            }
        }
    }

    fn grow_for(&mut self, start: u32) -> Result<(), AcquireError> {
        let request = self.grow_request().filter(|_| start < Bitmap::MAX_CAPACITY);
        self.grow(request.ok_or(AcquireError::Exhausted { start })?.realloc()?);
        Ok(())
    }

    /// Frees `id`.
    ///
    /// Constant, unless `id` was the highest: then the next lower one is looked for, in logarithmic time.
    ///
    /// # Errors
    ///
    /// [`NotInUse`] if `id` is free, or more than the pool ever had; nothing changes.
    #[inline]
    pub fn release_id(&mut self, id: u32) -> Result<(), NotInUse> {
        match &mut self.ids {
            Ids::Word(word) => release_in_word(word, id),
            Ids::Tree(tree) => tree.release(id),
        }
    }

    /// Frees `id`, and shrinks the pool if that is due.
    ///
    /// Finding no memory to shrink into is no error; the next release tries again.
    ///
    /// # Errors
    ///
    /// [`NotInUse`] if `id` is free, or more than the pool ever had; nothing changes.
    #[inline]
    pub fn release_and_shrink(&mut self, id: u32) -> Result<(), NotInUse> {
        match &mut self.ids {
            Ids::Word(word) => release_in_word(word, id),
            Ids::Tree(tree) => {
                tree.release(id)?;
                if let Some(capacity) = shrunk(tree.capacity(), tree.end()) {
                    self.shrink_if_possible(ShrinkRequest { capacity });
                }
                Ok(())
            }
        }
    }

    #[cold]
    fn shrink_if_possible(&mut self, request: ShrinkRequest) {
        if let Ok(smaller) = request.realloc() {
            self.shrink(smaller);
        }
    }

    /// Frees the ids for which `keep` says no, asked lowest first.
    pub fn retain(&mut self, mut keep: impl FnMut(u32) -> bool) {
        let mut next = self.next_used(0);
        while let Some(id) = next {
            if !keep(id) {
                let released = self.release_id(id);
                debug_assert!(released.is_ok(), "{id} was in use");
            }
            next = self.next_used(id + 1);
        }
    }

    /// Frees all ids and the memory, and visits those that were in use, lowest first.
    ///
    /// ```
    /// let mut pool = idr::IdPool::new();
    /// assert_eq!([(), ()].map(|()| pool.acquire_lowest(5)), [Ok(5), Ok(6)]);
    /// assert!(pool.drain().eq([5, 6]) && pool.is_empty());
    /// ```
    pub fn drain(&mut self) -> impl Iterator<Item = u32> + use<> {
        let pool = core::mem::take(self);
        core::iter::successors(pool.next_used(0), move |id| pool.next_used(id + 1))
    }

    /// Visits the ids in use, lowest first.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        core::iter::successors(self.next_used(0), |id| self.next_used(id + 1))
    }

    /// The lowest id in use from `start` on.
    #[expect(clippy::cast_possible_truncation, reason = "a bit is below the capacity")]
    fn next_used(&self, start: u32) -> Option<u32> {
        let (words, hole) = match &self.ids {
            Ids::Word(word) => (core::slice::from_ref(word), None),
            Ids::Tree(tree) => (tree.words(), tree.hole()),
        };
        let next = |start: u32| {
            bitsearch::next_bit(words, words.len() * 64, start as usize).map(|id| id as u32)
        };
        let id = next(start)?;
        if hole == Some(id) { next(id + 1) } else { Some(id) }
    }

    /// Asks for twice the capacity; `None` if that exceeds 2^31 - 1.
    #[must_use]
    pub fn grow_request(&self) -> Option<GrowRequest> {
        doubled(self.capacity()).map(|capacity| GrowRequest { capacity })
    }

    /// Moves into `larger`, or discards it if the pool has grown as far meanwhile.
    pub fn grow(&mut self, larger: Larger) {
        if larger.0.capacity() > self.capacity() {
            self.move_into(larger.0);
        }
    }

    /// Asks for less capacity, if an empty or nearly empty pool has more than it needs.
    #[inline]
    #[must_use]
    pub fn shrink_request(&self) -> Option<ShrinkRequest> {
        match &self.ids {
            Ids::Word(_) => None,
            Ids::Tree(tree) => {
                shrunk(tree.capacity(), tree.end()).map(|capacity| ShrinkRequest { capacity })
            }
        }
    }

    /// Moves into `smaller`, or discards it if the pool has changed meanwhile so that this is no
    /// longer due, too small, or not a gain.
    pub fn shrink(&mut self, smaller: Smaller) {
        let Some(request) = self.shrink_request() else { return };
        if (request.capacity..self.capacity()).contains(&smaller.0.capacity()) {
            self.move_into(smaller.0);
        }
    }

    /// Whether `id` is in use.
    #[must_use]
    pub fn contains(&self, id: u32) -> bool {
        match &self.ids {
            Ids::Word(word) => word & 1u64.checked_shl(id).unwrap_or_default() != 0,
            Ids::Tree(tree) => tree.contains(id),
        }
    }

    /// How many ids there are, used or free.
    #[must_use]
    pub const fn capacity(&self) -> u32 {
        match &self.ids {
            Ids::Word(_) => Bitmap::MIN_CAPACITY,
            Ids::Tree(tree) => tree.capacity(),
        }
    }

    /// How many ids are in use.
    #[must_use]
    pub const fn len(&self) -> u32 {
        match &self.ids {
            Ids::Word(word) => word.count_ones(),
            Ids::Tree(tree) => tree.len(),
        }
    }

    /// How much memory the pool has from the heap, in bytes.
    #[must_use]
    pub const fn heap_bytes(&self) -> usize {
        match &self.ids {
            Ids::Word(_) => 0,
            Ids::Tree(tree) => tree.heap_bytes(),
        }
    }

    /// Whether no id is in use.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The highest id in use.
    #[must_use]
    pub const fn last_id(&self) -> Option<u32> {
        match &self.ids {
            Ids::Word(word) => word.checked_ilog2(),
            Ids::Tree(tree) => tree.end().checked_sub(1),
        }
    }

    fn move_into(&mut self, bitmap: Bitmap) {
        let word = match &mut self.ids {
            Ids::Word(word) => core::slice::from_ref(word),
            Ids::Tree(tree) => tree.words_without_hole(),
        };
        self.ids = if bitmap.capacity() == Bitmap::MIN_CAPACITY {
            Ids::Word(word[0])
        } else {
            Ids::Tree(IdTree::new(bitmap, word))
        };
    }
}

/// Frees `id` of the first 64.
#[inline]
fn release_in_word(word: &mut u64, id: u32) -> Result<(), NotInUse> {
    let bit = if id < Bitmap::MIN_CAPACITY { 1 << id } else { 0 };
    if *word & bit == 0 {
        return Err(NotInUse { id });
    }
    *word &= !bit;
    Ok(())
}

/// The lowest bit from `start` on that is clear.
#[inline]
fn lowest_clear(word: u64, start: u32) -> Option<u32> {
    let clear = !word & u64::MAX.checked_shl(start)?;
    (clear != 0).then(|| clear.trailing_zeros())
}

impl Default for IdPool {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for IdPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdPool")
            .field("capacity", &self.capacity())
            .field("len", &self.len())
            .field("last_id", &self.last_id())
            .finish_non_exhaustive()
    }
}

/// A free id that has been found and not yet taken; dropping it changes nothing.
#[derive(Debug)]
#[must_use = "the id stays free until it is acquired"]
pub struct Reservation<'a> {
    pool: &'a mut IdPool,
    id: u32,
}

impl Reservation<'_> {
    /// The id found.
    #[must_use]
    pub const fn id(&self) -> u32 {
        self.id
    }

    /// Takes the id.
    #[inline]
    #[expect(clippy::must_use_candidate, reason = "the owner may know the id already")]
    pub fn acquire(self) -> u32 {
        match &mut self.pool.ids {
            Ids::Word(word) => *word |= 1 << self.id,
            Ids::Tree(tree) => tree.take(self.id),
        }
        self.id
    }
}

/// The wish for a larger pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a pool grows when it is given the memory"]
pub struct GrowRequest {
    capacity: u32,
}

impl GrowRequest {
    /// Allocates the memory. Not to be done under a lock.
    ///
    /// # Errors
    ///
    /// [`BitmapAllocError`] when the heap is exhausted.
    pub fn realloc(self) -> Result<Larger, BitmapAllocError> {
        Bitmap::with_capacity(self.capacity).map(Larger)
    }
}

/// The wish for a smaller pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a pool shrinks when it is given the memory"]
pub struct ShrinkRequest {
    capacity: u32,
}

impl ShrinkRequest {
    /// Allocates the memory. Not to be done under a lock.
    ///
    /// # Errors
    ///
    /// [`BitmapAllocError`] when the heap is exhausted; the pool may stay as large as it is.
    pub fn realloc(self) -> Result<Smaller, BitmapAllocError> {
        Bitmap::with_capacity(self.capacity).map(Smaller)
    }
}

/// Memory for a larger pool.
#[derive(Debug)]
pub struct Larger(Bitmap);

/// Memory for a smaller pool.
#[derive(Debug)]
pub struct Smaller(Bitmap);

/// No id could be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AcquireError {
    /// The pool has reached its largest size.
    #[error("no id is free from {start} on, {} is the highest there is", Bitmap::MAX_CAPACITY - 1)]
    Exhausted {
        /// The lowest id that would do.
        start: u32,
    },
    /// No pool is that large.
    #[error("room for {ids} ids was asked for, a pool has at most {}", Bitmap::MAX_CAPACITY)]
    TooLarge {
        /// How many ids it was to hold.
        ids: u32,
    },
    /// The pool could not grow.
    #[error(transparent)]
    Alloc(#[from] BitmapAllocError),
}

/// An id that should be in use is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("id {id} is not in use")]
pub struct NotInUse {
    /// The id.
    pub id: u32,
}

/// The capacity to grow to.
fn doubled(capacity: u32) -> Option<u32> {
    capacity.checked_mul(2).filter(|capacity| *capacity <= Bitmap::MAX_CAPACITY)
}

/// The capacity to shrink to when no id at or above `end` is in use.
fn shrunk(capacity: u32, end: u32) -> Option<u32> {
    if capacity == Bitmap::MIN_CAPACITY || end > capacity / 4 {
        None
    } else if end == 0 {
        Some(Bitmap::MIN_CAPACITY)
    } else {
        Some(capacity / 2)
    }
}

#[cfg(test)]
mod tests;
