//! The highest bit below a place.

use crate::bits::{Bits, Set, WORD_BITS, below};

/// The highest set bit below `size`.
///
/// ```
/// assert_eq!(bitsearch::last_bit(&[0b1001], 64), Some(3));
/// assert_eq!(bitsearch::last_bit(&[0b1001], 3), Some(0));
/// assert_eq!(bitsearch::last_bit(&[0b1001], 0), None);
/// ```
#[inline]
#[must_use]
pub fn last_bit(words: &[u64], size: usize) -> Option<usize> {
    last(words, 0, size, 0)
}

/// The highest clear bit below `size`.
///
/// ```
/// assert_eq!(bitsearch::last_zero_bit(&[0b1001], 4), Some(2));
/// ```
#[inline]
#[must_use]
pub fn last_zero_bit(words: &[u64], size: usize) -> Option<usize> {
    last(words, 0, size, u64::MAX)
}

/// The highest set bit in `start..end`.
///
/// Reads from the top down and stops at the first hit, so it is the way to ask whether the upper
/// part of a bitmap is empty.
///
/// ```
/// assert_eq!(bitsearch::last_bit_range(&[0b1001], 0, 3), Some(0));
/// assert_eq!(bitsearch::last_bit_range(&[0b1001], 1, 3), None);
/// ```
#[inline]
#[must_use]
pub fn last_bit_range(words: &[u64], start: usize, end: usize) -> Option<usize> {
    last(words, start, end, 0)
}

/// The highest bit in `start..end` that differs from the same bit of `background`.
#[inline(always)]
fn last(words: &[u64], start: usize, end: usize, background: u64) -> Option<usize> {
    let end = Set(words).clipped(end);
    if start >= end {
        return None;
    }
    let index = (end - 1) / WORD_BITS;
    let highest = |index: usize, word: u64| index * WORD_BITS + word.ilog2() as usize;
    let word = (words[index] ^ background) & below(end);
    let bit = if word != 0 {
        highest(index, word)
    } else {
        let first = start / WORD_BITS;
        let lower = &words[first..index];
        let index = lower.iter().rposition(|word| *word != background)?;
        highest(first + index, lower[index] ^ background)
    };
    (bit >= start).then_some(bit)
}
