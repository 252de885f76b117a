//! A bitmap with an index of the room in it, for maps that are searched more often than changed.

mod tree;

use alloc::vec::Vec;
use core::ops::Range;

use crate::area::{self, Alignment};
use crate::backward::last_bit_range;
use crate::bits::WORD_BITS;
use crate::change;
use crate::indexed::tree::RunTree;

/// A bitmap that finds room without reading its full parts.
///
/// Above blocks of bits lies a tree that knows the longest run of clear bits in each part of the
/// map. Changing a bit marks its block; the next search that needs the tree looks again at what is
/// marked. A search thus takes a time that grows with what changed since the last one, and with the
/// logarithm of the size.
///
/// ```
/// use bitsearch::{Alignment, IndexedBitmap};
///
/// let mut map = IndexedBitmap::new(1_000_000);
/// map.set(499_999);
/// assert_eq!(map.next_zero_area(1, 600_000, Alignment::NONE), None);
/// assert_eq!(map.next_zero_area(1, 500_000, Alignment::NONE), Some(500_000));
/// map.clear(499_999);
/// assert_eq!(map.next_zero_area(1, 600_000, Alignment::NONE), Some(1));
/// map.set_range(1..600_001);
/// assert_eq!(map.next_zero_area(0, 9, Alignment::NONE), Some(600_001));
/// ```
#[derive(Clone, Debug)]
pub struct IndexedBitmap {
    words: Vec<u64>,
    bits: usize,
    tree: RunTree,
}

impl IndexedBitmap {
    /// Makes a bitmap of `bits` that are clear.
    #[must_use]
    pub fn new(bits: u32) -> Self {
        Self::from_words(alloc::vec![0; (bits as usize).div_ceil(WORD_BITS)], bits)
    }

    /// Makes a bitmap of the first `bits` of `words`, of which there are no more than these.
    #[must_use]
    pub fn from_words(words: Vec<u64>, bits: u32) -> Self {
        let bits = (words.len() * WORD_BITS).min(bits as usize);
        let mut words = words;
        words.truncate(bits.div_ceil(WORD_BITS));
        let tree = RunTree::new(words.len());
        Self { words, bits, tree }
    }

    /// How many bits there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bits
    }

    /// Whether there are no bits, set or clear.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bits == 0
    }

    /// The bits, for all other searches.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Whether `bit` is set; bits that do not exist are not.
    #[must_use]
    pub fn contains(&self, bit: usize) -> bool {
        bit < self.bits && change::is_set(&self.words, bit)
    }

    /// Sets `bit`, if it exists.
    pub fn set(&mut self, bit: usize) {
        self.set_range(bit..bit.saturating_add(1));
    }

    /// Clears `bit`, if it exists.
    pub fn clear(&mut self, bit: usize) {
        self.clear_range(bit..bit.saturating_add(1));
    }

    /// Sets the bits of `range` that exist, such as an area that was found.
    pub fn set_range(&mut self, range: Range<usize>) {
        self.change(range, |word, mask| word | mask);
    }

    /// Clears the bits of `range` that exist.
    pub fn clear_range(&mut self, range: Range<usize>) {
        self.change(range, |word, mask| word & !mask);
    }

    fn change(&mut self, range: Range<usize>, change: impl Fn(u64, u64) -> u64) {
        let Self { words, tree, bits } = self;
        change::change(words, range.start..range.end.min(*bits), |index, word, mask| {
            let changed = change(word, mask);
            if changed != word {
                tree.mark(index);
            }
            changed
        });
    }

    /// The lowest place at or after `start` that `alignment` allows and from which `len` bits are
    /// clear.
    ///
    /// The same as [`next_zero_area_aligned`](crate::next_zero_area_aligned) finds.
    pub fn next_zero_area(
        &mut self,
        start: usize,
        len: usize,
        alignment: Alignment,
    ) -> Option<usize> {
        let size = self.bits;
        let Self { words, tree, .. } = self;
        if len == 0 {
            return area::empty_area(words, size, start, alignment);
        }
        let next_run = |start: usize| {
            let end = start.checked_add(len).filter(|end| *end <= size)?;
            match last_bit_range(words, start, end) {
                None => Some(start),
                Some(bit) => {
                    tree.refresh(words);
                    tree.next_run(words, size, bit + 1, len)
                }
            }
        };
        area::align_runs(words, size, start, len, alignment, next_run)
    }
}
