//! The lowest bit from a place on.

use core::hint::select_unpredictable;

use crate::bits::{And, BLOCK, Bits, NEAR, Not, Set, WORD_BITS, any, or};
use crate::cpu::{self, Cpu, Search};
use crate::word::Word;

/// The lowest set bit below `size`.
///
/// ```
/// assert_eq!(bitsearch::first_bit(&[0_u64, 0b100], 128), Some(66));
/// assert_eq!(bitsearch::first_bit(&[0_u64, 0b100], 66), None);
/// ```
#[inline]
#[must_use]
pub fn first_bit<W: Word>(words: &[W], size: usize) -> Option<usize> {
    next(Set(words), size, 0)
}

/// The lowest clear bit below `size`.
///
/// ```
/// assert_eq!(bitsearch::first_zero_bit(&[u64::MAX, 0b11], 128), Some(66));
/// ```
#[inline]
#[must_use]
pub fn first_zero_bit<W: Word>(words: &[W], size: usize) -> Option<usize> {
    next(Not(Set(words)), size, 0)
}

/// The lowest bit below `size` that is set in both.
///
/// ```
/// assert_eq!(bitsearch::first_and_bit(&[0b0110_u64], &[0b1100_u64], 64), Some(2));
/// ```
#[inline]
#[must_use]
pub fn first_and_bit<W: Word>(a: &[W], b: &[W], size: usize) -> Option<usize> {
    next(And(Set(a), Set(b)), size, 0)
}

/// The lowest bit below `size` that is set in `a` and clear in `b`.
///
/// ```
/// assert_eq!(bitsearch::first_andnot_bit(&[0b0110_u64], &[0b0011_u64], 64), Some(2));
/// ```
#[inline]
#[must_use]
pub fn first_andnot_bit<W: Word>(a: &[W], b: &[W], size: usize) -> Option<usize> {
    next(And(Set(a), Not(Set(b))), size, 0)
}

/// The lowest bit below `size` that is set in all three.
///
/// ```
/// assert_eq!(bitsearch::first_and_and_bit(&[0b0111_u64], &[0b1110_u64], &[0b1100_u64], 64), Some(2));
/// ```
#[inline]
#[must_use]
pub fn first_and_and_bit<W: Word>(a: &[W], b: &[W], c: &[W], size: usize) -> Option<usize> {
    next(And(And(Set(a), Set(b)), Set(c)), size, 0)
}

/// The lowest set bit in `start..size`.
///
/// ```
/// assert_eq!(bitsearch::next_bit(&[0b1001_u64], 64, 0), Some(0));
/// assert_eq!(bitsearch::next_bit(&[0b1001_u64], 64, 1), Some(3));
/// assert_eq!(bitsearch::next_bit(&[0b1001_u64], 64, 4), None);
/// ```
#[inline]
#[must_use]
pub fn next_bit<W: Word>(words: &[W], size: usize, start: usize) -> Option<usize> {
    next(Set(words), size, start)
}

/// The lowest clear bit in `start..size`.
///
/// ```
/// assert_eq!(bitsearch::next_zero_bit(&[0b1011_u64], 64, 0), Some(2));
/// assert_eq!(bitsearch::next_zero_bit(&[0b1011_u64], 4, 3), None);
/// ```
#[inline]
#[must_use]
pub fn next_zero_bit<W: Word>(words: &[W], size: usize, start: usize) -> Option<usize> {
    next(Not(Set(words)), size, start)
}

/// The lowest bit in `start..size` that is set in both.
///
/// ```
/// assert_eq!(bitsearch::next_and_bit(&[0b1110_u64], &[0b1011_u64], 64, 2), Some(3));
/// ```
#[inline]
#[must_use]
pub fn next_and_bit<W: Word>(a: &[W], b: &[W], size: usize, start: usize) -> Option<usize> {
    next(And(Set(a), Set(b)), size, start)
}

/// The lowest bit in `start..size` that is set in `a` and clear in `b`.
///
/// ```
/// assert_eq!(bitsearch::next_andnot_bit(&[0b1110_u64], &[0b0100_u64], 64, 2), Some(3));
/// ```
#[inline]
#[must_use]
pub fn next_andnot_bit<W: Word>(a: &[W], b: &[W], size: usize, start: usize) -> Option<usize> {
    next(And(Set(a), Not(Set(b))), size, start)
}

/// The lowest bit in `start..size` that is set in one or the other.
///
/// ```
/// assert_eq!(bitsearch::next_or_bit(&[0b0001_u64], &[0b1000_u64], 64, 1), Some(3));
/// ```
#[inline]
#[must_use]
pub fn next_or_bit<W: Word>(a: &[W], b: &[W], size: usize, start: usize) -> Option<usize> {
    next(or(Set(a), Set(b)), size, start)
}

/// The lowest hit in `start..size`.
///
/// The word of `start` is looked at in the caller: where hits are dense, that was all. What is found
/// is no lower than `start`, so to compare it with the size says all that is to be known of both.
#[inline]
pub(crate) fn next<B: Bits>(bits: B, size: usize, start: usize) -> Option<usize> {
    let size = bits.bounded(size);
    let index = start / WORD_BITS;
    let ahead = bits.get(index)? >> (start % WORD_BITS);
    let bit = if ahead != 0 {
        start + ahead.trailing_zeros() as usize
    } else {
        first_from_word(bits, index + 1, size)
    };
    if bit < size { Some(bit) } else { beyond_size() }
}

/// Nothing, for the last word of a map: cold, so that no other result has to wait for the size.
#[cold]
#[inline(never)]
fn beyond_size() -> Option<usize> {
    None
}

/// Where no size reaches.
pub(crate) const NOWHERE: usize = usize::MAX;

/// The lowest hit from a word on, or one that is beyond the size.
#[inline(never)]
pub(crate) fn first_from_word<B: Bits>(bits: B, first: usize, size: usize) -> usize {
    let Some(near) = bits.some::<NEAR>(first) else { return word_by_word(bits, first, size) };
    for nth in (0..NEAR).step_by(2) {
        // A branch for two words, and none between them: it is half as often that one is not foreseen.
        let (even, odd) = (near.word(nth), near.word(nth + 1));
        if even | odd != 0 {
            let is_even = even != 0;
            let word = select_unpredictable(is_even, even, odd);
            return hit(first + nth + usize::from(!is_even), word);
        }
    }
    first_far(bits, first + NEAR, size)
}

/// The lowest hit of a word, which must have one.
#[inline(always)]
fn hit(index: usize, word: u64) -> usize {
    index * WORD_BITS + word.trailing_zeros() as usize
}

/// The same, one word after the other.
#[inline(always)]
fn word_by_word<B: Bits>(bits: B, first: usize, size: usize) -> usize {
    for index in first..bits.words().min(size.div_ceil(WORD_BITS)) {
        let word = bits.word(index);
        if word != 0 {
            return hit(index, word);
        }
    }
    NOWHERE
}

/// The same, of hits that are far away: apart, for the sake of those that are not.
#[cold]
#[inline(never)]
fn first_far<B: Bits>(bits: B, first: usize, size: usize) -> usize {
    cpu::run(Far { bits: bits.truncated(size.div_ceil(WORD_BITS)), first, size })
}

/// A search in many words, of which most have nothing.
struct Far<B> {
    bits: B,
    first: usize,
    size: usize,
}

impl<B: Bits> Search for Far<B> {
    type Found = usize;

    #[inline(always)]
    fn run<C: Cpu>(self, _: C) -> usize {
        let Self { bits, mut first, size } = self;
        while let Some(block) = bits.block(first) {
            if any(block) != 0 {
                break;
            }
            first += BLOCK;
        }
        word_by_word(bits, first, size)
    }
}
