//! The pool of ids: a few words up to 512 of them, a tree of words above.

use core::fmt;

use crate::id_tree::IdTree;

/// The first ids, a bit each.
pub(crate) type FirstIds = [u64; 8];

/// How many these are.
pub(crate) const FEW: u32 = 512;

const FEW_BITS: usize = FEW as usize;

/// A set of ids that finds its lowest free one.
///
/// Each step takes logarithmic time in the highest id, 64 being the base, and memory is there for those parts of
/// the range that have ids in use.
#[derive(Clone)]
pub struct IdPool {
    ids: Ids,
}

#[derive(Clone)]
enum Ids {
    Few(FirstIds),
    /// More.
    Tree(IdTree),
}

impl IdPool {
    /// How many ids there are, from 0 on.
    pub const MAX_IDS: u32 = 1 << 30;

    /// Makes an empty pool, without memory from the heap: the first 512 ids need none.
    #[must_use]
    pub const fn new() -> Self {
        Self { ids: Ids::Few([0; 8]) }
    }

    /// Makes an empty pool with memory for the ids below `ids`.
    ///
    /// # Errors
    ///
    /// [`AcquireError`] when that is more than a pool can have, or the heap is exhausted.
    pub fn with_capacity(ids: u32) -> Result<Self, AcquireError> {
        let mut pool = Self::new();
        pool.reserve(ids)?;
        Ok(pool)
    }

    /// Gets memory for the ids below `ids`, which stays until the pool is [drained](Self::drain): none of them needs
    /// more when it is taken.
    ///
    /// # Errors
    ///
    /// [`AcquireError`] when that is more than a pool can have, or the heap is exhausted.
    pub fn reserve(&mut self, ids: u32) -> Result<(), AcquireError> {
        if ids > Self::MAX_IDS {
            return Err(AcquireError::TooLarge { ids });
        }
        match &mut self.ids {
            Ids::Few(_) if ids <= FEW => Ok(()),
            Ids::Few(few) => {
                let mut tree = IdTree::new(few)?;
                tree.reserve(ids)?;
                self.ids = Ids::Tree(tree);
                Ok(())
            }
            Ids::Tree(tree) => tree.reserve(ids),
        }
    }

    /// Finds the lowest free id at or after `start`.
    ///
    /// The id stays free until [`Reservation::acquire`].
    ///
    /// # Errors
    ///
    /// [`AcquireError::Exhausted`] when none is free.
    pub fn find_unused_id(&mut self, start: u32) -> Result<Reservation<'_>, AcquireError> {
        let id = match &mut self.ids {
            Ids::Few(few) => {
                next_free(few, start).map_or(start.max(FEW), |(index, free)| id_of(index, free))
            }
            Ids::Tree(tree) => tree.find_unused(start)?,
        };
        if id < Self::MAX_IDS {
            Ok(Reservation { pool: self, id })
        } else {
            Err(AcquireError::Exhausted { start })
        }
    }

    /// Takes the lowest free id at or after `start`.
    ///
    /// # Errors
    ///
    /// [`AcquireError`] when none is free, or the heap is exhausted.
    #[inline]
    pub fn acquire_lowest(&mut self, start: u32) -> Result<u32, AcquireError> {
        match &mut self.ids {
            Ids::Few(few) => {
                if let Some((index, free)) = next_free(few, start) {
                    few[index] |= free & free.wrapping_neg();
                    return Ok(id_of(index, free));
                }
                self.acquire_beyond_few(start)
            }
            Ids::Tree(tree) => tree.take_lowest(start),
        }
    }

    #[cold]
    #[inline(never)]
    fn acquire_beyond_few(&mut self, start: u32) -> Result<u32, AcquireError> {
        self.find_unused_id(start)?.acquire()
    }

    fn take(&mut self, id: u32) -> Result<(), AcquireError> {
        match &mut self.ids {
            Ids::Few(few) if id < FEW => {
                few[id as usize / 64] |= 1 << (id % 64);
                Ok(())
            }
            Ids::Few(few) => {
                let mut tree = IdTree::new(few)?;
                tree.take(id)?;
                self.ids = Ids::Tree(tree);
                Ok(())
            }
            Ids::Tree(tree) => tree.take(id),
        }
    }

    /// Frees `id`, and memory that no id in use needs any more.
    ///
    /// Constant, as a rule, unless `id` was the highest: then the next lower one is looked for.
    ///
    /// # Errors
    ///
    /// [`NotInUse`] if `id` is free, or more than the pool ever had; nothing changes.
    #[inline]
    pub fn release_id(&mut self, id: u32) -> Result<(), NotInUse> {
        match &mut self.ids {
            Ids::Few(few) => {
                let bit = 1 << (id % 64);
                match few.get_mut(id as usize / 64) {
                    Some(word) if *word & bit != 0 => *word ^= bit,
                    _ => return Err(NotInUse { id }),
                }
            }
            Ids::Tree(tree) => {
                if tree.release(id)? {
                    self.leave_tree();
                }
            }
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn leave_tree(&mut self) {
        if let Ids::Tree(tree) = &mut self.ids {
            self.ids = Ids::Few(tree.first());
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
    fn next_used(&self, start: u32) -> Option<u32> {
        match &self.ids {
            Ids::Few(few) => bitsearch::next_bit(few, FEW_BITS, start as usize).map(few_id),
            Ids::Tree(tree) => tree.next_used(start),
        }
    }

    /// Whether `id` is in use.
    #[must_use]
    pub fn contains(&self, id: u32) -> bool {
        match &self.ids {
            Ids::Few(few) => bitsearch::is_set(few, id as usize),
            Ids::Tree(tree) => tree.contains(id),
        }
    }

    /// How many ids are in use.
    #[must_use]
    pub fn len(&self) -> u32 {
        match &self.ids {
            Ids::Few(few) => few.iter().map(|word| word.count_ones()).sum(),
            Ids::Tree(tree) => tree.len(),
        }
    }

    /// How much memory the pool has from the heap, in bytes.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        match &self.ids {
            Ids::Few(_) => 0,
            Ids::Tree(tree) => tree.heap_bytes(),
        }
    }

    /// Whether no id is in use.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The highest id in use.
    #[must_use]
    pub fn last_id(&self) -> Option<u32> {
        match &self.ids {
            Ids::Few(few) => bitsearch::last_bit(few, FEW_BITS).map(few_id),
            Ids::Tree(tree) => tree.end().checked_sub(1),
        }
    }
}

/// The free ids of the first word that has one from `start` on, and which word that is.
#[inline]
fn next_free(few: &FirstIds, start: u32) -> Option<(usize, u64)> {
    let mut index = start as usize / 64;
    let mut free = !*few.get(index)? & u64::MAX << (start % 64);
    while free == 0 {
        index += 1;
        free = !*few.get(index)?;
    }
    Some((index, free))
}

/// The lowest id of some in a word.
const fn id_of(index: usize, ids: u64) -> u32 {
    few_id(index) * 64 + ids.trailing_zeros()
}

#[expect(clippy::cast_possible_truncation, reason = "there are 512")]
const fn few_id(bit: usize) -> u32 {
    bit as u32
}

impl Default for IdPool {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for IdPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdPool")
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
    ///
    /// # Errors
    ///
    /// [`AcquireError::NoMemory`] when the heap is exhausted.
    #[inline]
    pub fn acquire(self) -> Result<u32, AcquireError> {
        self.pool.take(self.id)?;
        Ok(self.id)
    }
}

/// No id could be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AcquireError {
    /// All ids are in use.
    #[error("no id is free from {start} on, {} is the highest there is", IdPool::MAX_IDS - 1)]
    Exhausted {
        /// The lowest id that would do.
        start: u32,
    },
    /// No pool is that large.
    #[error("room for {ids} ids was asked for, a pool has at most {}", IdPool::MAX_IDS)]
    TooLarge {
        /// How many ids it was to hold.
        ids: u32,
    },
    /// Memory could not be had.
    #[error("no memory for {bytes} bytes of a pool of ids")]
    NoMemory {
        /// The size asked for.
        bytes: usize,
    },
}

/// An id that should be in use is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("id {id} is not in use")]
pub struct NotInUse {
    /// The id.
    pub id: u32,
}

#[cfg(test)]
mod tests;
