//! A set of the indices of words, which finds the next and the last of them in logarithmic time.

use alloc::vec::Vec;

use crate::bitmap::{BitmapAllocError, WORD_BITS};

/// The levels of the largest set, of 2^24 indices.
const MAX_LEVELS: usize = 4;

/// Indices, a bit each; and above these levels of words, of which a bit is set when its word of the level below
/// is not empty. The highest level is one word.
#[derive(Clone)]
pub(crate) struct LayeredSet {
    /// All levels, the lowest first.
    words: Vec<u64>,
    /// Where each level starts in `words`.
    starts: [u32; MAX_LEVELS],
    levels: usize,
}

impl LayeredSet {
    /// Makes a set of no indices that never has any.
    pub(crate) const fn new() -> Self {
        Self { words: Vec::new(), starts: [0; MAX_LEVELS], levels: 0 }
    }

    /// Makes a set that has none of the indices below `end`, which is not 0, and may have them.
    ///
    /// # Errors
    ///
    /// [`BitmapAllocError`] when the heap is exhausted.
    pub(crate) fn empty(end: u32) -> Result<Self, BitmapAllocError> {
        let mut set = Self::new();
        let (mut words, mut end) = (0, end);
        while set.levels == 0 || end > 1 {
            set.starts[set.levels] = words;
            set.levels += 1;
            end = end.div_ceil(WORD_BITS);
            words += end;
        }
        let bytes = words as usize * size_of::<u64>();
        let reserved = set.words.try_reserve_exact(words as usize);
        reserved.map_err(|_| BitmapAllocError { bytes })?;
        set.words.resize(words as usize, 0);
        Ok(set)
    }

    /// Makes a set that has all of them.
    ///
    /// # Errors
    ///
    /// [`BitmapAllocError`] when the heap is exhausted.
    pub(crate) fn full(end: u32) -> Result<Self, BitmapAllocError> {
        let mut set = Self::empty(end)?;
        let mut end = end;
        for level in 0..set.levels {
            let words = &mut set.words[set.starts[level] as usize..];
            words[..(end / WORD_BITS) as usize].fill(u64::MAX);
            if !end.is_multiple_of(WORD_BITS) {
                words[(end / WORD_BITS) as usize] = mask(end) - 1;
            }
            end = end.div_ceil(WORD_BITS);
        }
        Ok(set)
    }

    /// How much memory is from the heap.
    pub(crate) const fn heap_bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }

    /// Puts `index`, which may be there, into the set.
    #[inline]
    pub(crate) fn insert(&mut self, index: u32) {
        let mut position = index;
        for start in &self.starts[..self.levels] {
            let word = &mut self.words[(start + position / WORD_BITS) as usize];
            let before = *word;
            *word |= mask(position);
            if before != 0 {
                break;
            }
            position /= WORD_BITS;
        }
    }

    /// Takes `index` out of the set.
    #[inline]
    pub(crate) fn remove(&mut self, index: u32) {
        let mut position = index;
        for start in &self.starts[..self.levels] {
            let word = &mut self.words[(start + position / WORD_BITS) as usize];
            *word &= !mask(position);
            if *word != 0 {
                break;
            }
            position /= WORD_BITS;
        }
    }

    /// The lowest index from `start` on.
    ///
    /// Climbs past empty words until one is not, then descends from its bit: at most two words are read on
    /// each level.
    pub(crate) fn next(&self, start: u32) -> Option<u32> {
        let mut position = start;
        for level in 0..self.levels {
            let word = self.word(level, position / WORD_BITS)?;
            let ahead = word & (u64::MAX << (position % WORD_BITS));
            position /= WORD_BITS;
            if ahead != 0 {
                let found = position * WORD_BITS + ahead.trailing_zeros();
                return Some(self.descend(level, found, u64::trailing_zeros));
            }
            position += 1;
        }
        None
    }

    /// The highest index before `position`, which may be in the set.
    pub(crate) fn last_before(&self, position: u32) -> Option<u32> {
        let mut position = position;
        for level in 0..self.levels {
            let before = self.word(level, position / WORD_BITS)? & (mask(position) - 1);
            position /= WORD_BITS;
            if before != 0 {
                let found = position * WORD_BITS + before.ilog2();
                return Some(self.descend(level, found, u64::ilog2));
            }
        }
        None
    }

    /// The index to which the bit `position` of `level` leads, where `pick` chooses a bit of every word below.
    #[inline(always)]
    fn descend(&self, level: usize, position: u32, pick: fn(u64) -> u32) -> u32 {
        (0..level).rev().fold(position, |position, level| {
            let word = self.words[(self.starts[level] + position) as usize];
            position * WORD_BITS + pick(word)
        })
    }

    /// A word of a level, if the level has it.
    #[inline]
    fn word(&self, level: usize, index: u32) -> Option<u64> {
        let start = self.starts[level];
        let end =
            self.starts[..self.levels].get(level + 1).map_or(self.words.len(), |end| *end as usize);
        self.words.get((start + index) as usize..end)?.first().copied()
    }
}

/// The bit of its word that stands for `position`.
pub(crate) const fn mask(position: u32) -> u64 {
    1 << (position % WORD_BITS)
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_set_of_any_size_finds_what_a_sorted_one_finds() {
        for end in [1, 2, 63, 64, 65, 4096, 4097, 64 * 4096 + 64] {
            let mut set = LayeredSet::empty(end).expect("memory");
            let mut indices = BTreeSet::new();
            let mut random = 1_u32;
            for step in 0..2_000 {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let index = ((u64::from(random) * u64::from(end)) >> 32) as u32;
                if step % 3 == 0 {
                    set.remove(index);
                    indices.remove(&index);
                } else if step % 500 > 250 {
                    set.insert(index);
                    indices.insert(index);
                }
                let below = index.saturating_sub(1);
                for at in [0, below, index, (index + 1).min(end - 1), end - 1] {
                    let next = indices.range(at..).next().copied();
                    assert_eq!(set.next(at), next, "{at} of {end}");
                    let last = indices.range(..at).next_back().copied();
                    assert_eq!(set.last_before(at), last, "{at} of {end}");
                }
                assert_eq!(set.next(end), None);
            }
        }
    }

    #[test]
    fn a_set_without_room_has_nothing() {
        assert_eq!((LayeredSet::new().next(0), LayeredSet::new().last_before(0)), (None, None));
    }
}
