//! The ids of a pool that has had more than a few: a tree, and what spares it most changes.

use crate::node::{IdNode, PART_BITS};
use crate::pool::{AcquireError, FEW, FirstIds, IdPool, NotInUse};

/// A set of ids.
#[derive(Clone)]
pub(crate) struct IdTree {
    /// The ids whose bits are set, that of the hole among them.
    root: IdNode,
    /// The root's parts have that many ids, as a power of two.
    shift: u32,
    /// How many bits are set.
    bits_set: u32,
    /// No id below is free but the hole, so that a search need not begin there.
    low: u32,
    /// The lowest free id, if it is below `low`; its bit is still set. Where one id is freed and
    /// one taken by turns, as is common, nothing is ever searched and no bit changes.
    hole: u32,
    /// One past the highest id in use.
    end: u32,
    /// Memory for the ids below stays.
    reserved: u32,
}

/// There is no hole. No id is as high.
const NO_HOLE: u32 = u32::MAX;

impl IdTree {
    /// Makes a set of the first ids.
    ///
    /// # Errors
    ///
    /// [`AcquireError::NoMemory`].
    pub(crate) fn new(few: &FirstIds) -> Result<Self, AcquireError> {
        let mut root = IdNode::new(PART_BITS);
        root.reserve(PART_BITS, FEW + 1)?;
        root.set_first(few);
        let bits_set = few.iter().map(|word| word.count_ones()).sum();
        let end = root.last_used(PART_BITS).map_or(0, |last| last + 1);
        Ok(Self { root, shift: PART_BITS, bits_set, low: 0, hole: NO_HOLE, end, reserved: 0 })
    }

    /// The first ids.
    pub(crate) fn first(&mut self) -> FirstIds {
        self.fill_hole();
        self.root.first_words(self.shift)
    }

    /// The lowest free id from `start` on.
    pub(crate) fn find_unused(&mut self, start: u32) -> Result<u32, AcquireError> {
        if start <= self.hole && self.hole != NO_HOLE {
            return Ok(self.hole);
        }
        let from = start.max(self.low);
        let id = if from < self.reach() { self.root.next_free(self.shift, from) } else { None };
        let id = id.unwrap_or(from.max(self.reach()));
        if start <= self.low {
            self.low = id;
        }
        if id < IdPool::MAX_IDS { Ok(id) } else { Err(AcquireError::Exhausted { start }) }
    }

    /// Takes an id that is free.
    pub(crate) fn take(&mut self, id: u32) -> Result<(), AcquireError> {
        if id == self.hole {
            self.hole = NO_HOLE;
            return Ok(());
        }
        self.raise(id)?;
        self.root.take(self.shift, id)?;
        self.bits_set += 1;
        self.low += u32::from(id == self.low);
        self.end = self.end.max(id + 1);
        Ok(())
    }

    /// Takes the lowest free id from `start` on.
    #[inline]
    pub(crate) fn take_lowest(&mut self, start: u32) -> Result<u32, AcquireError> {
        let hole = self.hole;
        if start <= hole && hole != NO_HOLE {
            self.hole = NO_HOLE;
            return Ok(hole);
        }
        if start <= self.low
            && let Some(id) = self.take_near()
        {
            return Ok(id);
        }
        self.take_far(start)
    }

    #[inline(never)]
    fn take_near(&mut self) -> Option<u32> {
        let id = self.root.take_near(self.shift, self.low)?;
        self.bits_set += 1;
        self.low = id + 1;
        self.end = self.end.max(id + 1);
        Some(id)
    }

    #[inline(never)]
    fn take_far(&mut self, start: u32) -> Result<u32, AcquireError> {
        let id = self.find_unused(start)?;
        self.take(id)?;
        Ok(id)
    }

    /// Frees an id, and returns whether the first ids are all that is needed now: with some to spare, so that a
    /// set around that number does not change back and forth.
    #[inline]
    pub(crate) fn release(&mut self, id: u32) -> Result<bool, NotInUse> {
        if self.hole == NO_HOLE && id < self.low && id + 1 < self.end {
            self.hole = id;
            return Ok(false);
        }
        self.release_beside_hole(id)
    }

    #[inline(never)]
    fn release_beside_hole(&mut self, id: u32) -> Result<bool, NotInUse> {
        if id == self.hole {
            return Err(NotInUse { id });
        }
        if id < self.low && id + 1 < self.end {
            self.low = self.hole.max(id);
            self.hole = self.hole.min(id);
            self.clear(self.low);
            return Ok(false);
        }
        if id >= self.end || !self.clear(id) {
            return Err(NotInUse { id });
        }
        self.low = self.low.min(id);
        if id + 1 < self.end {
            return Ok(false);
        }
        self.fill_hole();
        self.end = self.root.last_used(self.shift).map_or(0, |last| last + 1);
        self.lower();
        Ok(self.end <= FEW / 4 && self.reserved <= FEW)
    }

    /// Clears a bit, and returns whether it was set.
    fn clear(&mut self, id: u32) -> bool {
        let was_set = self.root.free(self.shift, id, self.reserved);
        self.bits_set -= u32::from(was_set);
        was_set
    }

    /// Has the bit of the hole cleared, if there is one.
    fn fill_hole(&mut self) {
        if self.hole != NO_HOLE {
            self.clear(self.hole);
            self.low = self.hole;
            self.hole = NO_HOLE;
        }
    }

    /// Makes room for the ids below `ids`.
    pub(crate) fn reserve(&mut self, ids: u32) -> Result<(), AcquireError> {
        self.raise(ids.saturating_sub(1))?;
        self.root.reserve(self.shift, ids)?;
        self.reserved = self.reserved.max(ids);
        Ok(())
    }

    /// How many ids the root reaches.
    const fn reach(&self) -> u32 {
        1 << (self.shift + PART_BITS)
    }

    /// Makes the tree as high as it must be to reach `id`.
    fn raise(&mut self, id: u32) -> Result<(), AcquireError> {
        while id >= self.reach() {
            self.root = IdNode::above(&mut self.root, self.shift)?;
            self.shift += PART_BITS;
        }
        Ok(())
    }

    /// Makes the tree no higher than it must be for the ids in use, and those for which there is to be room.
    fn lower(&mut self) {
        while self.reserved <= 1 << self.shift
            && let Some(first) = self.root.take_first()
        {
            self.root = first;
            self.shift -= PART_BITS;
        }
    }

    pub(crate) fn contains(&self, id: u32) -> bool {
        id < self.end && id != self.hole && self.root.contains(self.shift, id)
    }

    /// The lowest id in use from `start` on.
    pub(crate) fn next_used(&self, start: u32) -> Option<u32> {
        if start >= self.end {
            return None;
        }
        let id = self.root.next_used(self.shift, start)?;
        // The hole is never the highest.
        if id == self.hole { self.root.next_used(self.shift, id + 1) } else { Some(id) }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.root.heap_bytes()
    }

    pub(crate) const fn len(&self) -> u32 {
        self.bits_set - (self.hole != NO_HOLE) as u32
    }

    /// One past the highest id in use.
    pub(crate) const fn end(&self) -> u32 {
        self.end
    }
}
