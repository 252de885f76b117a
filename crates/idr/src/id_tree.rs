//! The ids of a pool that has had more than 64: a bitmap with summaries, and what spares it most changes.

use crate::bitmap::Bitmap;
use crate::pool::NotInUse;

/// A set of ids of limited capacity, more than that of a word.
#[derive(Clone)]
pub(crate) struct IdTree {
    bitmap: Bitmap,
    /// How many bits of it are set, that of the hole among them.
    bits_set: u32,
    /// No id below is free but the hole, so that a search need not begin there.
    low: u32,
    /// The lowest free id, if it is below `low`; its bit is still set. Where one id is freed and
    /// one taken by turns, as is common, nothing is ever searched and no bit changes.
    hole: u32,
    /// One past the highest id in use.
    end: u32,
}

/// There is no hole. No id is as high.
const NO_HOLE: u32 = u32::MAX;

impl IdTree {
    /// Puts the ids of `words`, as far as there is room for them, into an empty bitmap.
    pub(crate) fn new(mut bitmap: Bitmap, words: &[u64]) -> Self {
        bitmap.copy_from(words);
        let bits_set = words.iter().map(|word| word.count_ones()).sum();
        let end = bitmap.last_set(bitmap.capacity()).map_or(0, |last| last + 1);
        Self { bitmap, bits_set, low: 0, hole: NO_HOLE, end }
    }

    /// The lowest free id from `start` on.
    #[inline]
    pub(crate) fn find_unused(&mut self, start: u32) -> Option<u32> {
        if start <= self.hole && self.hole != NO_HOLE {
            return Some(self.hole);
        }
        if start > self.low {
            return self.bitmap.next_clear(start);
        }
        self.low = self.bitmap.next_clear(self.low)?;
        Some(self.low)
    }

    /// Takes an id that is free.
    #[inline]
    pub(crate) fn take(&mut self, id: u32) {
        if id == self.hole {
            self.hole = NO_HOLE;
            return;
        }
        self.bits_set += 1;
        if id == self.low {
            self.low += 1;
        }
        self.bitmap.set(id);
        self.end = self.end.max(id + 1);
    }

    /// Takes the lowest free id from `start` on.
    #[inline]
    pub(crate) fn take_lowest(&mut self, start: u32) -> Option<u32> {
        let hole = self.hole;
        if start <= hole && hole != NO_HOLE {
            self.hole = NO_HOLE;
            return Some(hole);
        }
        self.take_beside_hole(start)
    }

    #[inline(never)]
    fn take_beside_hole(&mut self, start: u32) -> Option<u32> {
        let id = self.find_unused(start)?;
        self.take(id);
        Some(id)
    }

    /// Frees an id.
    #[inline]
    pub(crate) fn release(&mut self, id: u32) -> Result<(), NotInUse> {
        if self.hole == NO_HOLE && id < self.low && id + 1 < self.end {
            self.hole = id;
            return Ok(());
        }
        self.release_beside_hole(id)
    }

    #[inline(never)]
    fn release_beside_hole(&mut self, id: u32) -> Result<(), NotInUse> {
        if id == self.hole {
            return Err(NotInUse { id });
        }
        if id < self.low && id + 1 < self.end {
            self.low = self.hole.max(id);
            self.bitmap.clear(self.low);
            self.bits_set -= 1;
            self.hole = self.hole.min(id);
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

    pub(crate) fn contains(&self, id: u32) -> bool {
        id != self.hole && self.bitmap.contains(id)
    }

    /// The ids in use, and the hole.
    pub(crate) fn words(&self) -> &[u64] {
        self.bitmap.bits()
    }

    /// An id whose bit is set and which is free.
    pub(crate) fn hole(&self) -> Option<u32> {
        (self.hole != NO_HOLE).then_some(self.hole)
    }

    /// The ids in use.
    pub(crate) fn words_without_hole(&mut self) -> &[u64] {
        self.clear_hole();
        self.bitmap.bits()
    }

    pub(crate) const fn capacity(&self) -> u32 {
        self.bitmap.capacity()
    }

    pub(crate) const fn heap_bytes(&self) -> usize {
        self.bitmap.heap_bytes()
    }

    pub(crate) const fn len(&self) -> u32 {
        self.bits_set - (self.hole != NO_HOLE) as u32
    }

    /// One past the highest id in use.
    pub(crate) const fn end(&self) -> u32 {
        self.end
    }

    /// Lets the bitmap know of the hole, if there is one.
    fn clear_hole(&mut self) {
        if self.hole != NO_HOLE {
            self.bitmap.clear(self.hole);
            self.bits_set -= 1;
            self.low = self.hole;
            self.hole = NO_HOLE;
        }
    }
}
