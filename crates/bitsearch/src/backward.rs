//! The highest bit below a place.

use crate::bits::{Bits, NEAR, Set, WORD_BITS};

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
    // The bits below the end, moved to the end of the word.
    let behind = (words[index] ^ background) << (end.wrapping_neg() % WORD_BITS);
    let bit = if behind != 0 {
        end - 1 - behind.leading_zeros() as usize
    } else {
        let first = start / WORD_BITS;
        if first == index {
            return None;
        }
        last_in_words(&words[first..index], background)? + first * WORD_BITS
    };
    (bit >= start).then_some(bit)
}

/// So many words are looked at together.
const FEW: usize = 4;

/// The highest bit that differs from the same bit of `background`.
#[inline(never)]
fn last_in_words(words: &[u64], background: u64) -> Option<usize> {
    let mut words = words;
    if let Some((lower, near)) = words.split_last_chunk::<NEAR>() {
        for (nth, word) in near.iter().enumerate().rev() {
            if *word != background {
                let bit = (word ^ background).ilog2() as usize;
                return Some((lower.len() + nth) * WORD_BITS + bit);
            }
        }
        words = lower;
    }
    while let Some((lower, few)) = words.split_last_chunk::<FEW>() {
        if few.iter().fold(0, |any, word| any | (word ^ background)) != 0 {
            break;
        }
        words = lower;
    }
    let nth = words.iter().rposition(|word| *word != background)?;
    Some(nth * WORD_BITS + (words[nth] ^ background).ilog2() as usize)
}
