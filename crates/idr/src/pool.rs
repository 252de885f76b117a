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

/// A set of ids that finds its lowest free one in logarithmic time, 64 being the base.
#[derive(Clone)]
pub struct IdPool {
    bitmap: Bitmap,
    /// How many bits of it are set, that of the hole among them.
    bits_set: u32,
    /// No id below is free but the hole, so that a search need not begin there.
    low: u32,
    /// The lowest free id, if it is below `low`; its bit is still set. Where one id is freed and
    /// one taken by turns, as is common, nothing is ever searched and no bit changes.
    hole: Option<u32>,
    /// One past the highest id in use.
    end: u32,
}

impl IdPool {
    /// Makes an empty pool with room for 64 ids, without memory from the heap.
    #[must_use]
    pub const fn new() -> Self {
        Self { bitmap: Bitmap::new(), bits_set: 0, low: 0, hole: None, end: 0 }
    }

    /// Makes an empty pool with room for `ids`, and for as many more as whole words of summaries
    /// need.
    ///
    /// # Errors
    ///
    /// [`AcquireError`] when that is more than a pool can have, or the heap is exhausted.
    pub fn with_capacity(ids: u32) -> Result<Self, AcquireError> {
        let capacity = ids.max(Bitmap::MIN_CAPACITY).checked_next_power_of_two();
        let capacity = capacity.filter(|capacity| *capacity <= Bitmap::MAX_CAPACITY);
        let capacity = capacity.ok_or(AcquireError::TooLarge { ids })?;
        Ok(Self { bitmap: Bitmap::with_capacity(capacity)?, ..Self::new() })
    }

    /// Finds the lowest free id at or after `start`; `None` if the pool is full from there on.
    ///
    /// The id stays free until [`Reservation::acquire`].
    #[inline]
    pub fn find_unused_id(&mut self, start: u32) -> Option<Reservation<'_>> {
        let id = match self.hole.filter(|hole| start <= *hole) {
            Some(hole) => hole,
            None if start <= self.low => {
                self.low = self.bitmap.next_clear(self.low)?;
                self.low
            }
            None => self.bitmap.next_clear(start)?,
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
        loop {
            if let Some(reservation) = self.find_unused_id(start) {
                return Ok(reservation.acquire());
            }
            self.grow_for(start)?;
        }
    }

    #[cold]
    fn grow_for(&mut self, start: u32) -> Result<(), AcquireError> {
        let request = self.grow_request().filter(|_| start < Bitmap::MAX_CAPACITY);
        self.grow(request.ok_or(AcquireError::Exhausted { start })?.realloc()?);
        Ok(())
    }

    /// Frees `id`.
    ///
    /// Constant, unless `id` was the highest: then the next lower one is looked for. Where ids are
    /// taken lowest first, a word that is passed on the way has been emptied since the last look.
    ///
    /// # Errors
    ///
    /// [`NotInUse`] if `id` is free, or more than the pool ever had; nothing changes.
    #[inline]
    pub fn release_id(&mut self, id: u32) -> Result<(), NotInUse> {
        if self.hole == Some(id) {
            return Err(NotInUse { id });
        }
        if id < self.low && id + 1 < self.end {
            if let Some(hole) = self.hole {
                self.low = hole.max(id);
                self.bitmap.clear(self.low);
                self.bits_set -= 1;
            }
            self.hole = Some(self.hole.map_or(id, |hole| hole.min(id)));
            return Ok(());
        }
        if !self.bitmap.clear(id) {
            return Err(NotInUse { id });
        }
        self.bits_set -= 1;
        self.low = self.low.min(id);
        if id + 1 == self.end {
            self.clear_hole();
            self.end = self.bitmap.last_set(id).map_or(0, |last| last + 1);
        }
        Ok(())
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
        self.release_id(id)?;
        if let Some(request) = self.shrink_request() {
            self.shrink_if_possible(request);
        }
        Ok(())
    }

    #[cold]
    fn shrink_if_possible(&mut self, request: ShrinkRequest) {
        if let Ok(smaller) = request.realloc() {
            self.shrink(smaller);
        }
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
    #[must_use]
    pub fn shrink_request(&self) -> Option<ShrinkRequest> {
        shrunk(self.capacity(), self.end).map(|capacity| ShrinkRequest { capacity })
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
        self.hole != Some(id) && self.bitmap.contains(id)
    }

    /// How many ids there are, used or free.
    #[must_use]
    pub const fn capacity(&self) -> u32 {
        self.bitmap.capacity()
    }

    /// How many ids are in use.
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.bits_set - self.hole.is_some() as u32
    }

    /// How much memory the pool has from the heap, in bytes.
    #[must_use]
    pub const fn heap_bytes(&self) -> usize {
        self.bitmap.heap_bytes()
    }

    /// Whether no id is in use.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The highest id in use.
    #[must_use]
    pub const fn last_id(&self) -> Option<u32> {
        self.end.checked_sub(1)
    }

    /// Lets the bitmap know of the hole, if there is one.
    fn clear_hole(&mut self) {
        if let Some(hole) = self.hole.take() {
            self.bitmap.clear(hole);
            self.bits_set -= 1;
            self.low = hole;
        }
    }

    fn move_into(&mut self, mut bitmap: Bitmap) {
        self.clear_hole();
        bitmap.copy_from(&self.bitmap);
        self.bitmap = bitmap;
    }
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
        let Self { pool, id } = self;
        if pool.hole == Some(id) {
            pool.hole = None;
            return id;
        }
        pool.bits_set += 1;
        if id == pool.low {
            pool.low += 1;
        }
        pool.bitmap.set(id);
        pool.end = pool.end.max(id + 1);
        id
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
