//! The buffers of one mapping, by where they begin.
//!
//! They lie in a slab. A few are looked through one by one, as most processes have a handful at a time; from the ninth on,
//! until the last has gone, a tree of small numbers leads there: a tree moves its entries about, and a buffer is large.

use alloc::collections::BTreeMap;
use core::ops::Bound;

use slab::Slab;

use super::Buffer;

/// Up to this many buffers are found without a tree.
const FEW: usize = 8;
/// How many buffers keep their places when the last has gone.
const KEPT: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Buffers {
    buffers: Slab<Buffer>,
    /// Their slots, once there are many.
    by_start: Option<BTreeMap<u32, usize>>,
}

impl Buffers {
    /// Inlined, so that a buffer is made where it is to lie.
    #[inline]
    pub(super) fn insert(&mut self, buffer: Buffer) {
        let start = buffer.layout.start;
        debug_assert_eq!(self.slot(start), None, "ranges do not overlap");
        let slot = self.buffers.insert(buffer);
        if self.by_start.is_some() || self.buffers.len() > FEW {
            self.index(start, slot);
        }
    }

    /// Notes the slot of one of many.
    #[cold]
    fn index(&mut self, start: u32, slot: usize) {
        let buffers = &self.buffers;
        let by_start = self.by_start.get_or_insert_with(|| {
            buffers.iter().map(|(slot, buffer)| (buffer.layout.start, slot)).collect()
        });
        by_start.insert(start, slot);
    }

    /// Forgets a buffer, once `take` has taken of it what is still wanted.
    pub(super) fn remove<T>(
        &mut self,
        start: u32,
        take: impl FnOnce(&mut Buffer) -> T,
    ) -> Option<T> {
        let slot = self.slot(start)?;
        let taken = self.buffers.get_mut(slot).map(take);
        if let Some(by_start) = &mut self.by_start {
            by_start.remove(&start);
        }
        self.forget(slot);
        taken
    }

    /// Forgets any one of them. Says whether there was one.
    pub(super) fn forget_one(&mut self) -> bool {
        let first = match &mut self.by_start {
            None => self.buffers.iter().next().map(|(slot, _)| slot),
            Some(by_start) => by_start.pop_first().map(|(_, slot)| slot),
        };
        first.map(|slot| self.forget(slot)).is_some()
    }

    fn forget(&mut self, slot: usize) {
        drop(self.buffers.try_remove(slot));
        if self.buffers.is_empty() {
            self.by_start = None;
            if self.buffers.capacity() > KEPT {
                // What a burst has left.
                self.buffers = Slab::new();
            }
        }
    }

    fn slot(&self, start: u32) -> Option<usize> {
        match &self.by_start {
            None => {
                let mut buffers = self.buffers.iter();
                buffers.find(|(_, buffer)| buffer.layout.start == start).map(|(slot, _)| slot)
            }
            Some(by_start) => by_start.get(&start).copied(),
        }
    }

    pub(super) fn get(&self, start: u32) -> Option<&Buffer> {
        self.buffers.get(self.slot(start)?)
    }

    pub(super) fn get_mut(&mut self, start: u32) -> Option<&mut Buffer> {
        let slot = self.slot(start)?;
        self.buffers.get_mut(slot)
    }

    /// The first that begins behind `last`.
    pub(super) fn after(&self, last: Option<u32>) -> Option<&Buffer> {
        match &self.by_start {
            None => {
                let behind = |buffer: &&Buffer| last.is_none_or(|last| buffer.layout.start > last);
                self.iter().filter(behind).min_by_key(|buffer| buffer.layout.start)
            }
            Some(by_start) => {
                let behind = (last.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
                let (_, slot) = by_start.range(behind).next()?;
                self.buffers.get(*slot)
            }
        }
    }

    /// All of them, in any order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Buffer> {
        self.buffers.iter().map(|(_, buffer)| buffer)
    }

    pub(super) fn len(&self) -> usize {
        self.buffers.len()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::buffer::Layout;

    fn buffer(start: u32) -> Buffer {
        let layout = Layout {
            start,
            data_len: 8,
            offsets_start: start + 8,
            offsets_len: 0,
            extra_start: start + 8,
            extra_len: 0,
            slot_len: 8,
        };
        Buffer {
            debug_id: start,
            layout,
            target: None,
            transaction: None,
            is_oneway: false,
            clears_on_free: false,
            label_start: None,
            is_delivered: false,
            sender_pid: 1,
            held: Vec::new(),
            files: Vec::new(),
            array_descriptors: Vec::new(),
        }
    }

    /// Where they begin, one after the other.
    fn starts(buffers: &Buffers) -> Vec<u32> {
        let next = |last: &u32| buffers.after(Some(*last)).map(|it| it.layout.start);
        let first = buffers.after(None).map(|it| it.layout.start);
        core::iter::successors(first, next).collect()
    }

    #[test]
    fn few_and_many_are_found_alike_however_they_come_and_go() {
        let mut buffers = Buffers::default();
        let mut expected = Vec::new();
        let few = u32::try_from(FEW).unwrap();
        // Up to twice as many as are few, down to one, and up again.
        for (count, back) in [(2 * few, 2 * few - 1), (few - 1, 0), (2, 3), (few + 1, few)] {
            for number in 0..count {
                // Neither in the order in which they lie nor in the opposite one.
                let start = 8 * (number * 5 % 97 + 100 * back);
                buffers.insert(buffer(start));
                expected.push(start);
            }
            for _ in 0..back {
                let Some(start) = expected.pop() else { break };
                assert_eq!(buffers.remove(start, |it| it.debug_id), Some(start));
                assert!(buffers.get(start).is_none() && buffers.remove(start, |_| ()).is_none());
            }
            let mut sorted = expected.clone();
            sorted.sort_unstable();
            assert_eq!(starts(&buffers), sorted);
            assert_eq!((buffers.len(), buffers.iter().count()), (sorted.len(), sorted.len()));
            assert!(
                sorted.iter().all(|it| buffers.get_mut(*it).is_some_and(|b| b.debug_id == *it))
            );
        }
        while buffers.forget_one() {}
        assert!(starts(&buffers).is_empty() && buffers.by_start.is_none());
        assert!(buffers.buffers.capacity() <= KEPT);
    }
}
