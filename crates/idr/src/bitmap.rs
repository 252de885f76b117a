//! A bitmap that finds its lowest clear bit without reading the full words before it, and its highest set bit
//! without reading the empty words behind it.
//!
//! Above the words lie levels of summaries, of two kinds: a bit of level `n + 1` is set when its word of level
//! `n` is full, and another when something is set in it. Capacities are 64 times a power of two, so every word
//! is used whole except the one word of the top level, whose unused bits are set where it tells of full words:
//! what does not exist is not free.

use alloc::vec::Vec;
use core::fmt;

const WORD_BITS: u32 = u64::BITS;

/// The levels below the top one of the largest capacity, 2^30.
const MAX_LOWER_LEVELS: usize = 4;

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
    /// The single word of the top level. A bitmap of the smallest capacity is a pool's wish to be a word, and holds
    /// nothing.
    top: u64,
    /// The same of the words that are not empty; nothing at the smallest capacity.
    top_used: u64,
    /// The levels below the top: the bits first, then those that tell of full words, then those that tell of
    /// words that are not empty.
    lower: Vec<u64>,
    /// Where each lower level starts in `lower`.
    starts: [u32; MAX_LOWER_LEVELS],
    top_level: u32,
    capacity: u32,
}

impl Bitmap {
    /// The bits of one word, which is what fits without memory from the heap.
    pub(crate) const MIN_CAPACITY: u32 = WORD_BITS;

    /// The most bits that the levels reach.
    pub(crate) const MAX_CAPACITY: u32 = 1 << 30;

    /// Makes a bitmap of [`Self::MIN_CAPACITY`] clear bits.
    pub(crate) const fn new() -> Self {
        Self {
            top: 0,
            top_used: 0,
            lower: Vec::new(),
            starts: [0; MAX_LOWER_LEVELS],
            top_level: 0,
            capacity: Self::MIN_CAPACITY,
        }
    }

    /// Makes a bitmap of `capacity` clear bits.
    ///
    /// # Errors
    ///
    /// [`BitmapAllocError`] when the heap is exhausted.
    pub(crate) fn with_capacity(capacity: u32) -> Result<Self, BitmapAllocError> {
        debug_assert!(capacity.is_power_of_two(), "summaries need whole words: {capacity}");
        debug_assert!((Self::MIN_CAPACITY..=Self::MAX_CAPACITY).contains(&capacity));
        let mut bitmap = Self { capacity, ..Self::new() };
        let mut words = 0;
        let mut level_bits = capacity;
        while level_bits > WORD_BITS {
            bitmap.starts[bitmap.top_level as usize] = words;
            bitmap.top_level += 1;
            level_bits /= WORD_BITS;
            words += level_bits;
        }
        if level_bits < WORD_BITS {
            bitmap.top = u64::MAX << level_bits;
        }
        let above_bits = words.saturating_sub(bitmap.words_in(0));
        let words = (words + above_bits) as usize;
        bitmap
            .lower
            .try_reserve_exact(words)
            .map_err(|_| BitmapAllocError { bytes: words * size_of::<u64>() })?;
        bitmap.lower.resize(words, 0);
        Ok(bitmap)
    }

    /// The number of bits.
    pub(crate) const fn capacity(&self) -> u32 {
        self.capacity
    }

    /// How much memory is from the heap.
    pub(crate) const fn heap_bytes(&self) -> usize {
        self.lower.capacity() * size_of::<u64>()
    }

    /// Whether `bit` is set; bits that do not exist are not.
    #[inline]
    pub(crate) fn contains(&self, bit: u32) -> bool {
        bit < self.capacity && self.lower[(bit / WORD_BITS) as usize] & mask(bit) != 0
    }

    /// Sets `bit`, which must exist.
    #[inline]
    pub(crate) fn set(&mut self, bit: u32) {
        let word = &mut self.lower[(bit / WORD_BITS) as usize];
        let before = *word;
        *word |= mask(bit);
        let is_full = *word == u64::MAX;
        if before == 0 {
            self.set_used_above(bit / WORD_BITS);
        }
        if is_full {
            self.set_above(bit / WORD_BITS);
        }
    }

    /// Notes that the word `index` of the bits is full.
    fn set_above(&mut self, index: u32) {
        let mut position = index;
        for level in 1..=self.top_level {
            let word = self.word_mut(level, position / WORD_BITS);
            *word |= mask(position);
            if *word != u64::MAX {
                break;
            }
            position /= WORD_BITS;
        }
    }

    /// Clears `bit`, and returns whether it was set.
    #[inline]
    pub(crate) fn clear(&mut self, bit: u32) -> bool {
        if bit >= self.capacity {
            return false;
        }
        let word = &mut self.lower[(bit / WORD_BITS) as usize];
        let before = *word;
        *word &= !mask(bit);
        let is_empty = *word == 0;
        if before == u64::MAX {
            self.clear_above(bit / WORD_BITS);
        }
        if is_empty {
            self.clear_used_above(bit / WORD_BITS);
        }
        before & mask(bit) != 0
    }

    /// Notes that the word `index` of the bits is no longer full.
    fn clear_above(&mut self, index: u32) {
        let mut position = index;
        for level in 1..=self.top_level {
            let word = self.word_mut(level, position / WORD_BITS);
            let was_full = *word == u64::MAX;
            *word &= !mask(position);
            if !was_full {
                break;
            }
            position /= WORD_BITS;
        }
    }

    /// Notes that the word `index` of the bits is not empty.
    fn set_used_above(&mut self, index: u32) {
        let mut position = index;
        for level in 1..=self.top_level {
            let word = self.used_mut(level, position / WORD_BITS);
            let before = *word;
            *word |= mask(position);
            if before != 0 {
                break;
            }
            position /= WORD_BITS;
        }
    }

    /// Notes that the word `index` of the bits is empty.
    fn clear_used_above(&mut self, index: u32) {
        let mut position = index;
        for level in 1..=self.top_level {
            let word = self.used_mut(level, position / WORD_BITS);
            *word &= !mask(position);
            if *word != 0 {
                break;
            }
            position /= WORD_BITS;
        }
    }

    /// The lowest clear bit at or after `start`.
    #[inline]
    pub(crate) fn next_clear(&self, start: u32) -> Option<u32> {
        if start >= self.capacity {
            return None;
        }
        let index = start / WORD_BITS;
        let room = !self.lower[index as usize] & (u64::MAX << (start % WORD_BITS));
        if room != 0 {
            return Some(index * WORD_BITS + room.trailing_zeros());
        }
        self.next_clear_beyond(index)
    }

    /// The lowest clear bit beyond the word `index` of the bits.
    ///
    /// Climbs past full words until a summary knows of room, then descends into it: at most two
    /// words are read on each level.
    fn next_clear_beyond(&self, index: u32) -> Option<u32> {
        let mut level = 0;
        let mut position = index + 1;
        loop {
            if level == self.top_level || position == self.words_in(level) {
                return None;
            }
            level += 1;
            let index = position / WORD_BITS;
            let room = !self.word(level, index) & (u64::MAX << (position % WORD_BITS));
            if room != 0 {
                position = index * WORD_BITS + room.trailing_zeros();
                break;
            }
            position = index + 1;
        }
        while level > 0 {
            level -= 1;
            position = position * WORD_BITS + self.word(level, position).trailing_ones();
        }
        Some(position)
    }

    /// The highest set bit below `end`, which is within the capacity.
    ///
    /// Climbs past empty words until a summary knows of one that is not, then descends into it.
    pub(crate) fn last_set(&self, end: u32) -> Option<u32> {
        let last = end.checked_sub(1)?;
        let mut position = last / WORD_BITS;
        let in_last = self.used(0, position) & (u64::MAX >> (WORD_BITS - 1 - last % WORD_BITS));
        if in_last != 0 {
            return Some(position * WORD_BITS + in_last.ilog2());
        }
        let mut level = 0;
        loop {
            if level == self.top_level {
                return None;
            }
            level += 1;
            let index = position / WORD_BITS;
            let used = self.used(level, index) & (mask(position) - 1);
            if used != 0 {
                position = index * WORD_BITS + used.ilog2();
                break;
            }
            position = index;
        }
        while level > 0 {
            level -= 1;
            position = position * WORD_BITS + self.used(level, position).ilog2();
        }
        Some(position)
    }

    /// Takes over as many bits of `others` as there is room for, into an empty bitmap.
    pub(crate) fn copy_from(&mut self, others: &[u64]) {
        let bits = self.bits_mut();
        let common = bits.len().min(others.len());
        bits[..common].copy_from_slice(&others[..common]);
        for level in 0..self.top_level {
            for index in 0..self.words_in(level) {
                if self.word(level, index) == u64::MAX {
                    *self.word_mut(level + 1, index / WORD_BITS) |= mask(index);
                }
                if self.used(level, index) != 0 {
                    *self.used_mut(level + 1, index / WORD_BITS) |= mask(index);
                }
            }
        }
    }

    /// The bits, in words.
    #[inline]
    pub(crate) fn bits(&self) -> &[u64] {
        &self.lower[..self.words_in(0) as usize]
    }

    #[inline]
    fn bits_mut(&mut self) -> &mut [u64] {
        let words = self.words_in(0) as usize;
        &mut self.lower[..words]
    }

    /// How many words a lower level has.
    const fn words_in(&self, level: u32) -> u32 {
        self.capacity >> (WORD_BITS.ilog2() * (level + 1))
    }

    fn word(&self, level: u32, index: u32) -> u64 {
        if level == self.top_level {
            self.top
        } else {
            self.lower[(self.starts[level as usize] + index) as usize]
        }
    }

    fn word_mut(&mut self, level: u32, index: u32) -> &mut u64 {
        if level == self.top_level {
            &mut self.top
        } else {
            &mut self.lower[(self.starts[level as usize] + index) as usize]
        }
    }

    /// The word that tells which words below it are not empty; of level 0 the bits themselves.
    fn used(&self, level: u32, index: u32) -> u64 {
        if level == 0 {
            self.lower[index as usize]
        } else if level == self.top_level {
            self.top_used
        } else {
            self.lower[self.used_at(level, index)]
        }
    }

    fn used_mut(&mut self, level: u32, index: u32) -> &mut u64 {
        if level == self.top_level {
            &mut self.top_used
        } else {
            let at = self.used_at(level, index);
            &mut self.lower[at]
        }
    }

    /// Where the word of a level above the bits and below the top is.
    fn used_at(&self, level: u32, index: u32) -> usize {
        let words = self.starts[self.top_level as usize - 1] + self.words_in(self.top_level - 1);
        (words + self.starts[level as usize] - self.starts[1] + index) as usize
    }
}

impl fmt::Debug for Bitmap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bitmap").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

/// The bit of its word that stands for `position`.
const fn mask(position: u32) -> u64 {
    1 << (position % WORD_BITS)
}
