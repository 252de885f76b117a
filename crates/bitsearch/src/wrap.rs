//! Searches that go on at bit 0 when they reach the end.

use crate::bits::{And, Bits, Set};
use crate::forward;
use crate::iter::{Hits, hits};
use crate::word::Word;

/// The lowest set bit in `start..size`, or else the lowest in `0..start`.
///
/// ```
/// assert_eq!(bitsearch::next_bit_wrap(&[0b0011_u64], 64, 1), Some(1));
/// assert_eq!(bitsearch::next_bit_wrap(&[0b0011_u64], 64, 2), Some(0));
/// assert_eq!(bitsearch::next_bit_wrap(&[0_u64], 64, 2), None);
/// ```
#[inline]
#[must_use]
pub fn next_bit_wrap<W: Word>(words: &[W], size: usize, start: usize) -> Option<usize> {
    wrap(Set(words), size, start)
}

/// The same of bits that are set in both.
///
/// ```
/// assert_eq!(bitsearch::next_and_bit_wrap(&[0b0011_u64], &[0b1001_u64], 64, 1), Some(0));
/// ```
#[inline]
#[must_use]
pub fn next_and_bit_wrap<W: Word>(a: &[W], b: &[W], size: usize, start: usize) -> Option<usize> {
    wrap(And(Set(a), Set(b)), size, start)
}

/// Every set bit below `size` once: those from `start` on, then those before it.
///
/// ```
/// assert!(bitsearch::set_bits_wrap(&[0b1101_u64], 64, 1).eq([2, 3, 0]));
/// ```
pub fn set_bits_wrap<W: Word>(
    words: &[W],
    size: usize,
    start: usize,
) -> impl DoubleEndedIterator<Item = usize> + Clone + use<'_, W> {
    let bits = Set(words);
    let middle = start.min(bits.clipped(size));
    let before: Hits<Set<'_, W>> = hits(bits, middle, 0);
    hits(bits, size, middle).chain(before)
}

#[inline]
fn wrap<B: Bits>(bits: B, size: usize, start: usize) -> Option<usize> {
    forward::next(bits, size, start).or_else(|| forward::next(bits, start.min(size), 0))
}
