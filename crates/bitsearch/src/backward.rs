//! The highest bit below a place.

use crate::bits::{Bits, Not, Set, WORD_BITS, below};

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
    last(Set(words), 0, size)
}

/// The highest clear bit below `size`.
///
/// ```
/// assert_eq!(bitsearch::last_zero_bit(&[0b1001], 4), Some(2));
/// ```
#[inline]
#[must_use]
pub fn last_zero_bit(words: &[u64], size: usize) -> Option<usize> {
    last(Not(Set(words)), 0, size)
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
    last(Set(words), start, end)
}

/// The highest hit in `start..end`.
#[inline(always)]
pub(crate) fn last<B: Bits>(bits: B, start: usize, end: usize) -> Option<usize> {
    let end = bits.clipped(end);
    if start >= end {
        return None;
    }
    let (first, last) = (start / WORD_BITS, (end - 1) / WORD_BITS);
    let word = bits.word(last) & below(end);
    let bit = if word != 0 {
        last * WORD_BITS + word.ilog2() as usize
    } else {
        last_in_words(bits.truncated(last), first)?
    };
    (bit >= start).then_some(bit)
}

/// The highest hit, from a word on.
#[inline]
fn last_in_words<B: Bits>(bits: B, first: usize) -> Option<usize> {
    let mut end = bits.words();
    while end > first {
        end -= 1;
        let word = bits.word(end);
        if word != 0 {
            return Some(end * WORD_BITS + word.ilog2() as usize);
        }
    }
    None
}
