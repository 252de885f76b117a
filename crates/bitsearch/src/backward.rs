//! The highest bit below a place.

use crate::bits::{Bits, NEAR, Set, WORD_BITS};
use crate::word::Word;

/// The highest set bit below `size`.
///
/// ```
/// assert_eq!(bitsearch::last_bit(&[0b1001_u64], 64), Some(3));
/// assert_eq!(bitsearch::last_bit(&[0b1001_u64], 3), Some(0));
/// assert_eq!(bitsearch::last_bit(&[0b1001_u64], 0), None);
/// ```
#[inline]
#[must_use]
pub fn last_bit<W: Word>(words: &[W], size: usize) -> Option<usize> {
    last(words, 0, size, 0)
}

/// The highest clear bit below `size`.
///
/// ```
/// assert_eq!(bitsearch::last_zero_bit(&[0b1001_u64], 4), Some(2));
/// ```
#[inline]
#[must_use]
pub fn last_zero_bit<W: Word>(words: &[W], size: usize) -> Option<usize> {
    last(words, 0, size, u64::MAX)
}

/// The highest set bit in `start..end`.
///
/// Reads from the top down and stops at the first hit, so it is the way to ask whether the upper
/// part of a bitmap is empty.
///
/// ```
/// assert_eq!(bitsearch::last_bit_range(&[0b1001_u64], 0, 3), Some(0));
/// assert_eq!(bitsearch::last_bit_range(&[0b1001_u64], 1, 3), None);
/// ```
#[inline]
#[must_use]
pub fn last_bit_range<W: Word>(words: &[W], start: usize, end: usize) -> Option<usize> {
    last(words, start, end, 0)
}

/// The highest bit in `start..end` that differs from the same bit of `background`.
#[inline(always)]
fn last<W: Word>(words: &[W], start: usize, end: usize, background: u64) -> Option<usize> {
    let words = Set(words);
    let end = words.clipped(end);
    if start >= end {
        return None;
    }
    let index = (end - 1) / WORD_BITS;
    // The bits below the end, moved to the end of the word.
    let behind = (words.word(index) ^ background) << (end.wrapping_neg() % WORD_BITS);
    let bit = if behind != 0 {
        end - 1 - behind.leading_zeros() as usize
    } else {
        let first = start / WORD_BITS;
        if first == index {
            return None;
        }
        last_in_words(words, first, index, background)?
    };
    (bit >= start).then_some(bit)
}

/// How many words are looked at together.
const FEW: usize = 4;

/// The highest bit of the words `first..end` that differs from the same bit of `background`.
#[inline(never)]
fn last_in_words<W: Word>(
    words: Set<'_, W>,
    first: usize,
    end: usize,
    background: u64,
) -> Option<usize> {
    let mut end = end;
    if end - first >= NEAR
        && let Some(near) = words.some::<NEAR>(end - NEAR)
    {
        end -= NEAR;
        for nth in (0..NEAR).rev() {
            let word = near.word(nth);
            if word != background {
                return Some((end + nth) * WORD_BITS + (word ^ background).ilog2() as usize);
            }
        }
    }
    while end - first >= FEW
        && let Some(few) = words.block::<FEW>(end - FEW)
        && few.iter().fold(0, |any, word| any | (word ^ background)) == 0
    {
        end -= FEW;
    }
    let index = (first..end).rev().find(|index| words.word(*index) != background)?;
    Some(index * WORD_BITS + (words.word(index) ^ background).ilog2() as usize)
}
