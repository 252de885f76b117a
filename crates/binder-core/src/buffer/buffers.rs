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
    pub(super) fn insert(&mut self, buffer: Buffer) {
        let start = buffer.layout.start;
        let slot = self.buffers.insert(buffer);
        let before = self.by_start.insert(start, slot);
        debug_assert_eq!(before, None, "ranges do not overlap");
    }

    pub(super) fn remove(&mut self, start: u32) -> Option<Buffer> {
        let slot = self.by_start.remove(&start)?;
        self.take(slot)
    }

    pub(super) fn pop_first(&mut self) -> Option<Buffer> {
        let (_, slot) = self.by_start.pop_first()?;
        self.take(slot)
    }

    fn take(&mut self, slot: usize) -> Option<Buffer> {
        let buffer = self.buffers.try_remove(slot);
        if self.buffers.is_empty() && self.buffers.capacity() > KEPT {
            // What a burst has left.
            self.buffers = Slab::new();
        }
        buffer
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
