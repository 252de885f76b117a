//! All hits, and all runs of them.

use core::iter::FusedIterator;
use core::ops::Range;

use crate::bits::{And, Bits, Not, Or, Set, WORD_BITS, below, from};
use crate::forward::{next_bit, next_zero_bit};

/// All set bits in `start..size`, upwards.
///
/// ```
/// assert!(bitsearch::set_bits(&[0b1101], 64, 1).eq([2, 3]));
/// ```
pub fn set_bits(
    words: &[u64],
    size: usize,
    start: usize,
) -> impl FusedIterator<Item = usize> + Clone + use<'_> {
    hits(Set(words), size, start)
}

/// All clear bits in `start..size`, upwards.
///
/// ```
/// assert!(bitsearch::zero_bits(&[0b1101], 6, 0).eq([1, 4, 5]));
/// ```
pub fn zero_bits(
    words: &[u64],
    size: usize,
    start: usize,
) -> impl FusedIterator<Item = usize> + Clone + use<'_> {
    hits(Not(Set(words)), size, start)
}

/// All bits in `start..size` that are set in both, upwards.
///
/// ```
/// assert!(bitsearch::and_bits(&[0b1101], &[0b0111], 64, 0).eq([0, 2]));
/// ```
pub fn and_bits<'words>(
    a: &'words [u64],
    b: &'words [u64],
    size: usize,
    start: usize,
) -> impl FusedIterator<Item = usize> + Clone + use<'words> {
    hits(And(Set(a), Set(b)), size, start)
}

/// All bits in `start..size` that are set in `a` and clear in `b`, upwards.
///
/// ```
/// assert!(bitsearch::andnot_bits(&[0b1101], &[0b0111], 64, 0).eq([3]));
/// ```
pub fn andnot_bits<'words>(
    a: &'words [u64],
    b: &'words [u64],
    size: usize,
    start: usize,
) -> impl FusedIterator<Item = usize> + Clone + use<'words> {
    hits(And(Set(a), Not(Set(b))), size, start)
}

/// All bits in `start..size` that are set in one or the other, upwards.
///
/// ```
/// assert!(bitsearch::or_bits(&[0b1100], &[0b0110], 64, 0).eq([1, 2, 3]));
/// ```
pub fn or_bits<'words>(
    a: &'words [u64],
    b: &'words [u64],
    size: usize,
    start: usize,
) -> impl FusedIterator<Item = usize> + Clone + use<'words> {
    hits(Or(Set(a), Set(b)), size, start)
}

/// All longest runs of set bits below `size`, upwards.
///
/// ```
/// assert!(bitsearch::set_ranges(&[0b1101], 64).eq([0..1, 2..4]));
/// ```
pub fn set_ranges(
    words: &[u64],
    size: usize,
) -> impl FusedIterator<Item = Range<usize>> + Clone + use<'_> {
    let size = Set(words).clipped(size);
    ranges(size, move |at| next_bit(words, size, at), move |at| next_zero_bit(words, size, at))
}

/// All longest runs of clear bits below `size`, upwards.
///
/// ```
/// assert!(bitsearch::zero_ranges(&[0b1101], 64).eq([1..2, 4..64]));
/// ```
pub fn zero_ranges(
    words: &[u64],
    size: usize,
) -> impl FusedIterator<Item = Range<usize>> + Clone + use<'_> {
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

/// All hits in `start..size`, upwards.
pub(crate) fn hits<B: Bits>(bits: B, size: usize, start: usize) -> Hits<B> {
    let size = bits.clipped(size);
    let bits = bits.truncated(size.div_ceil(WORD_BITS));
    let mut hits = Hits { bits, size, index: start / WORD_BITS, word: 0 };
    if start < size {
        hits.word = hits.load() & from(start);
    }
    hits
}

/// Hits, a word at a time: what was found in it is cleared.
#[derive(Clone, Debug)]
pub(crate) struct Hits<B> {
    bits: B,
    size: usize,
    index: usize,
    word: u64,
}

impl<B: Bits> Hits<B> {
    /// Reads the word at the index, without the bits that do not exist.
    fn load(&self) -> u64 {
        let is_last = self.index + 1 == self.bits.words();
        self.bits.word(self.index) & if is_last { below(self.size) } else { u64::MAX }
    }
}

impl<B: Bits> Iterator for Hits<B> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while self.word == 0 {
            if self.index + 1 >= self.bits.words() {
                return None;
            }
            self.index += 1;
            self.word = self.load();
        }
        let bit = self.index * WORD_BITS + self.word.trailing_zeros() as usize;
        self.word &= self.word - 1;
        Some(bit)
    }
}

impl<B: Bits> FusedIterator for Hits<B> {}
