//! All hits, and all runs of them.

use core::iter::FusedIterator;
use core::ops::Range;

use crate::bits::{And, Bits, Not, Set, WORD_BITS, below, from, or};
use crate::forward::{next_bit, next_zero_bit};
use crate::word::Word;

/// All set bits in `start..size`, upwards, or from behind downwards.
///
/// ```
/// assert!(bitsearch::set_bits(&[0b1101_u64], 64, 1).eq([2, 3]));
/// assert!(bitsearch::set_bits(&[0b1101_u64], 64, 1).rev().eq([3, 2]));
/// ```
pub fn set_bits<W: Word>(
    words: &[W],
    size: usize,
    start: usize,
) -> impl DoubleEndedIterator<Item = usize> + FusedIterator + Clone + use<'_, W> {
    hits(Set(words), size, start)
}

/// All clear bits in `start..size`, upwards.
///
/// ```
/// assert!(bitsearch::zero_bits(&[0b1101_u64], 6, 0).eq([1, 4, 5]));
/// ```
pub fn zero_bits<W: Word>(
    words: &[W],
    size: usize,
    start: usize,
) -> impl DoubleEndedIterator<Item = usize> + FusedIterator + Clone + use<'_, W> {
    hits(Not(Set(words)), size, start)
}

/// All bits in `start..size` that are set in both, upwards.
///
/// ```
/// assert!(bitsearch::and_bits(&[0b1101_u64], &[0b0111_u64], 64, 0).eq([0, 2]));
/// ```
pub fn and_bits<'words, W: Word>(
    a: &'words [W],
    b: &'words [W],
    size: usize,
    start: usize,
) -> impl DoubleEndedIterator<Item = usize> + FusedIterator + Clone + use<'words, W> {
    hits(And(Set(a), Set(b)), size, start)
}

/// All bits in `start..size` that are set in `a` and clear in `b`, upwards.
///
/// ```
/// assert!(bitsearch::andnot_bits(&[0b1101_u64], &[0b0111_u64], 64, 0).eq([3]));
/// ```
pub fn andnot_bits<'words, W: Word>(
    a: &'words [W],
    b: &'words [W],
    size: usize,
    start: usize,
) -> impl DoubleEndedIterator<Item = usize> + FusedIterator + Clone + use<'words, W> {
    hits(And(Set(a), Not(Set(b))), size, start)
}

/// All bits in `start..size` that are set in one or the other, upwards.
///
/// ```
/// assert!(bitsearch::or_bits(&[0b1100_u64], &[0b0110_u64], 64, 0).eq([1, 2, 3]));
/// ```
pub fn or_bits<'words, W: Word>(
    a: &'words [W],
    b: &'words [W],
    size: usize,
    start: usize,
) -> impl DoubleEndedIterator<Item = usize> + FusedIterator + Clone + use<'words, W> {
    hits(or(Set(a), Set(b)), size, start)
}

/// All longest runs of set bits below `size`, upwards.
///
/// ```
/// assert!(bitsearch::set_ranges(&[0b1101_u64], 64).eq([0..1, 2..4]));
/// ```
pub fn set_ranges<W: Word>(
    words: &[W],
    size: usize,
) -> impl FusedIterator<Item = Range<usize>> + Clone + use<'_, W> {
    let size = Set(words).clipped(size);
    ranges(size, move |at| next_bit(words, size, at), move |at| next_zero_bit(words, size, at))
}

/// All longest runs of clear bits below `size`, upwards.
///
/// ```
/// assert!(bitsearch::zero_ranges(&[0b1101_u64], 64).eq([1..2, 4..64]));
/// ```
pub fn zero_ranges<W: Word>(
    words: &[W],
    size: usize,
) -> impl FusedIterator<Item = Range<usize>> + Clone + use<'_, W> {
    let size = Set(words).clipped(size);
    ranges(size, move |at| next_zero_bit(words, size, at), move |at| next_bit(words, size, at))
}

/// Runs that begin where `begin` finds something and end where `end` does, or at `size`.
fn ranges(
    size: usize,
    begin: impl Fn(usize) -> Option<usize> + Clone,
    end: impl Fn(usize) -> Option<usize> + Clone,
) -> impl FusedIterator<Item = Range<usize>> + Clone {
    let mut at = 0;
    core::iter::from_fn(move || {
        let start = begin(at)?;
        at = end(start).unwrap_or(size);
        Some(start..at)
    })
    .fuse()
}

/// All hits in `start..size`.
pub(crate) fn hits<B: Bits>(bits: B, size: usize, start: usize) -> Hits<B> {
    let size = bits.clipped(size);
    let end = size.div_ceil(WORD_BITS);
    let mut hits = Hits {
        bits: bits.truncated(end),
        size,
        front: Unvisited { index: start / WORD_BITS, hits: 0 },
        back: Unvisited { index: end, hits: 0 },
    };
    if start < size {
        hits.front.hits = hits.load(hits.front.index) & from(start);
    }
    hits
}

/// Hits, a word at a time from either end: what was visited in it is cleared.
#[derive(Clone, Debug)]
pub(crate) struct Hits<B> {
    bits: B,
    size: usize,
    front: Unvisited,
    /// Behind all words that have not been loaded.
    back: Unvisited,
}

/// The hits of a word that have not been visited.
#[derive(Clone, Copy, Debug)]
struct Unvisited {
    index: usize,
    hits: u64,
}

impl<B: Bits> Hits<B> {
    /// Reads a word, without the bits that do not exist.
    fn load(&self, index: usize) -> u64 {
        let is_last = index + 1 == self.bits.words();
        self.bits.word(index) & if is_last { below(self.size) } else { u64::MAX }
    }
}

impl<B: Bits> Iterator for Hits<B> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while self.front.hits == 0 {
            if self.front.index + 1 < self.back.index {
                self.front.index += 1;
                self.front.hits = self.load(self.front.index);
            } else if self.back.hits == 0 {
                return None;
            } else {
                // All other words have been visited.
                self.front = self.back;
                self.back.hits = 0;
            }
        }
        let bit = self.front.index * WORD_BITS + self.front.hits.trailing_zeros() as usize;
        self.front.hits &= self.front.hits - 1;
        Some(bit)
    }
}

impl<B: Bits> DoubleEndedIterator for Hits<B> {
    fn next_back(&mut self) -> Option<usize> {
        while self.back.hits == 0 {
            if self.front.index + 1 < self.back.index {
                self.back.index -= 1;
                self.back.hits = self.load(self.back.index);
            } else if self.front.hits == 0 {
                return None;
            } else {
                self.back = self.front;
                self.front.hits = 0;
            }
        }
        let highest = self.back.hits.ilog2();
        self.back.hits ^= 1 << highest;
        Some(self.back.index * WORD_BITS + highest as usize)
    }
}

impl<B: Bits> FusedIterator for Hits<B> {}
