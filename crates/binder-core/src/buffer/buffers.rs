//! The buffers of one mapping, by where they begin.
//!
//! They lie in a slab, and a tree of small numbers leads there: a tree moves its entries about, and a
//! buffer is large.

use alloc::collections::BTreeMap;
use core::ops::Bound;

use slab::Slab;

use super::Buffer;

/// So many buffers keep their places when the last has gone: most processes have fewer at a time.
const KEPT: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Buffers {
    buffers: Slab<Buffer>,
    by_start: BTreeMap<u32, usize>,
}

impl Buffers {
    /// Inlined, so that a buffer is made where it is to lie.
    #[inline]
    pub(super) fn insert(&mut self, buffer: Buffer) {
        let start = buffer.layout.start;
        let slot = self.buffers.insert(buffer);
        let before = self.by_start.insert(start, slot);
        debug_assert_eq!(before, None, "ranges do not overlap");
    }

    /// Forgets a buffer, once `take` has taken of it what is still wanted.
    pub(super) fn remove<T>(
        &mut self,
        start: u32,
        take: impl FnOnce(&mut Buffer) -> T,
    ) -> Option<T> {
        let slot = self.by_start.remove(&start)?;
        let taken = self.buffers.get_mut(slot).map(take);
        self.forget(slot);
        taken
    }

    /// Forgets the first. Says whether there was one.
    pub(super) fn forget_first(&mut self) -> bool {
        let first = self.by_start.pop_first();
        first.map(|(_, slot)| self.forget(slot)).is_some()
    }

    fn forget(&mut self, slot: usize) {
        drop(self.buffers.try_remove(slot));
        if self.buffers.is_empty() && self.buffers.capacity() > KEPT {
            // What a burst has left.
            self.buffers = Slab::new();
        }
    }

    pub(super) fn get(&self, start: u32) -> Option<&Buffer> {
        self.buffers.get(*self.by_start.get(&start)?)
    }

    pub(super) fn get_mut(&mut self, start: u32) -> Option<&mut Buffer> {
        self.buffers.get_mut(*self.by_start.get(&start)?)
    }

    /// The first that begins behind `last`.
    pub(super) fn after(&self, last: Option<u32>) -> Option<&Buffer> {
        let behind = (last.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        let (_, slot) = self.by_start.range(behind).next()?;
        self.buffers.get(*slot)
    }

    /// All of them, in the order in which they lie.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Buffer> {
        self.by_start.values().filter_map(|slot| self.buffers.get(*slot))
    }

    pub(super) fn len(&self) -> usize {
        self.buffers.len()
    }
}
