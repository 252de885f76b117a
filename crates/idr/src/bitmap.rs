//! A bitmap that finds its lowest clear bit without reading the full words before it, and its highest set bit
//! without reading the empty words behind it.
//!
//! Beside the words lie two sets of their indices: of those with room, and of those in use.

use alloc::vec::Vec;
use core::fmt;

use crate::layered_set::{LayeredSet, mask};

pub(crate) const WORD_BITS: u32 = u64::BITS;

/// Memory for a bitmap could not be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no memory for a bitmap of {bytes} bytes")]
pub struct BitmapAllocError {
    /// The size asked for.
    pub bytes: usize,
}

/// Bits with summaries, never moved and never resized.
#[derive(Clone)]
pub(crate) struct Bitmap {
    /// Whole ones. A bitmap of the smallest capacity is a pool's wish to be a word, and holds nothing.
    words: Vec<u64>,
    /// Which words have a clear bit.
    with_room: LayeredSet,
    /// Which words have a set bit.
    in_use: LayeredSet,
    capacity: u32,
}

impl Bitmap {
    /// The bits of one word, which is what fits without memory from the heap.
    pub(crate) const MIN_CAPACITY: u32 = WORD_BITS;

    /// The most bits that there may be.
    pub(crate) const MAX_CAPACITY: u32 = 1 << 30;

    /// Makes a bitmap of `capacity` clear bits.
    ///
    /// # Errors
    ///
    /// [`BitmapAllocError`] when the heap is exhausted.
    pub(crate) fn with_capacity(capacity: u32) -> Result<Self, BitmapAllocError> {
        debug_assert!(capacity.is_power_of_two(), "words are used whole: {capacity}");
        debug_assert!((Self::MIN_CAPACITY..=Self::MAX_CAPACITY).contains(&capacity));
        if capacity == Self::MIN_CAPACITY {
            let (with_room, in_use) = (LayeredSet::new(), LayeredSet::new());
            return Ok(Self { words: Vec::new(), with_room, in_use, capacity });
        }
        let count = capacity / WORD_BITS;
        let mut words = Vec::new();
        let bytes = count as usize * size_of::<u64>();
        words.try_reserve_exact(count as usize).map_err(|_| BitmapAllocError { bytes })?;
        words.resize(count as usize, 0);
        let with_room = LayeredSet::full(count)?;
        Ok(Self { words, with_room, in_use: LayeredSet::empty(count)?, capacity })
    }

    /// The number of bits.
    pub(crate) const fn capacity(&self) -> u32 {
        self.capacity
    }

    /// How much memory is from the heap.
    pub(crate) const fn heap_bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
            + self.with_room.heap_bytes()
            + self.in_use.heap_bytes()
    }

    /// Whether `bit` is set; bits that do not exist are not.
    #[inline]
    pub(crate) fn contains(&self, bit: u32) -> bool {
        bit < self.capacity && self.words[(bit / WORD_BITS) as usize] & mask(bit) != 0
    }

    /// Sets `bit`, which must exist.
    #[inline]
    pub(crate) fn set(&mut self, bit: u32) {
        let word = &mut self.words[(bit / WORD_BITS) as usize];
        let before = *word;
        *word |= mask(bit);
        let is_full = *word == u64::MAX;
        if before == 0 {
            self.in_use.insert(bit / WORD_BITS);
        }
        if is_full {
            self.with_room.remove(bit / WORD_BITS);
        }
    }

    /// Clears `bit`, and returns whether it was set.
    #[inline]
    pub(crate) fn clear(&mut self, bit: u32) -> bool {
        if bit >= self.capacity {
            return false;
        }
        let word = &mut self.words[(bit / WORD_BITS) as usize];
        let before = *word;
        *word &= !mask(bit);
        let is_empty = *word == 0;
        if before == u64::MAX {
            self.with_room.insert(bit / WORD_BITS);
        }
        if is_empty {
            self.in_use.remove(bit / WORD_BITS);
        }
        before & mask(bit) != 0
    }

    /// The lowest clear bit at or after `start`.
    #[inline]
    pub(crate) fn next_clear(&self, start: u32) -> Option<u32> {
        if start >= self.capacity {
            return None;
        }
        let index = start / WORD_BITS;
        let room = !self.words[index as usize] & (u64::MAX << (start % WORD_BITS));
        if room != 0 {
            return Some(index * WORD_BITS + room.trailing_zeros());
        }
        let index = self.with_room.next(index + 1)?;
        Some(index * WORD_BITS + self.words[index as usize].trailing_ones())
    }

    /// The highest set bit below `end`, which is within the capacity.
    pub(crate) fn last_set(&self, end: u32) -> Option<u32> {
        let last = end.checked_sub(1)?;
        let index = last / WORD_BITS;
        let used = self.words[index as usize] & (u64::MAX >> (WORD_BITS - 1 - last % WORD_BITS));
        if used != 0 {
            return Some(index * WORD_BITS + used.ilog2());
        }
        let index = self.in_use.last_before(index)?;
        Some(index * WORD_BITS + self.words[index as usize].ilog2())
    }

    /// Takes over as many bits of `others` as there is room for, into an empty bitmap.
    pub(crate) fn copy_from(&mut self, others: &[u64]) {
        for (index, (word, other)) in (0..).zip(self.words.iter_mut().zip(others)) {
            *word = *other;
            if *word != 0 {
                self.in_use.insert(index);
            }
            if *word == u64::MAX {
                self.with_room.remove(index);
            }
        }
    }

    /// The bits, in words.
    #[inline]
    pub(crate) fn bits(&self) -> &[u64] {
        &self.words
    }
}

impl fmt::Debug for Bitmap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bitmap").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}
