//! The lowest bit from a place on.

use crate::bits::{And, BLOCK, Bits, NEAR, Not, Or, Set, WORD_BITS, any};
use crate::cpu::{self, Cpu, Search};

/// The lowest set bit below `size`.
///
/// ```
/// assert_eq!(bitsearch::first_bit(&[0, 0b100], 128), Some(66));
/// assert_eq!(bitsearch::first_bit(&[0, 0b100], 66), None);
/// ```
#[inline]
#[must_use]
pub fn first_bit(words: &[u64], size: usize) -> Option<usize> {
    next(Set(words), size, 0)
}

/// The lowest clear bit below `size`.
///
/// ```
/// assert_eq!(bitsearch::first_zero_bit(&[u64::MAX, 0b11], 128), Some(66));
/// ```
#[inline]
#[must_use]
pub fn first_zero_bit(words: &[u64], size: usize) -> Option<usize> {
    next(Not(Set(words)), size, 0)
}

/// The lowest bit below `size` that is set in both.
///
/// ```
/// assert_eq!(bitsearch::first_and_bit(&[0b0110], &[0b1100], 64), Some(2));
/// ```
#[inline]
#[must_use]
pub fn first_and_bit(a: &[u64], b: &[u64], size: usize) -> Option<usize> {
    next(And(Set(a), Set(b)), size, 0)
}

/// The lowest bit below `size` that is set in `a` and clear in `b`.
///
/// ```
/// assert_eq!(bitsearch::first_andnot_bit(&[0b0110], &[0b0011], 64), Some(2));
/// ```
#[inline]
#[must_use]
pub fn first_andnot_bit(a: &[u64], b: &[u64], size: usize) -> Option<usize> {
    next(And(Set(a), Not(Set(b))), size, 0)
}

/// The lowest bit below `size` that is set in all three.
///
/// ```
/// assert_eq!(bitsearch::first_and_and_bit(&[0b0111], &[0b1110], &[0b1100], 64), Some(2));
/// ```
#[inline]
#[must_use]
pub fn first_and_and_bit(a: &[u64], b: &[u64], c: &[u64], size: usize) -> Option<usize> {
    next(And(And(Set(a), Set(b)), Set(c)), size, 0)
}

/// The lowest set bit in `start..size`.
///
/// ```
/// assert_eq!(bitsearch::next_bit(&[0b1001], 64, 0), Some(0));
/// assert_eq!(bitsearch::next_bit(&[0b1001], 64, 1), Some(3));
/// assert_eq!(bitsearch::next_bit(&[0b1001], 64, 4), None);
/// ```
#[inline]
#[must_use]
pub fn next_bit(words: &[u64], size: usize, start: usize) -> Option<usize> {
    next(Set(words), size, start)
}

/// The lowest clear bit in `start..size`.
///
/// ```
/// assert_eq!(bitsearch::next_zero_bit(&[0b1011], 64, 0), Some(2));
/// assert_eq!(bitsearch::next_zero_bit(&[0b1011], 4, 3), None);
/// ```
#[inline]
#[must_use]
pub fn next_zero_bit(words: &[u64], size: usize, start: usize) -> Option<usize> {
    next(Not(Set(words)), size, start)
}

/// The lowest bit in `start..size` that is set in both.
///
/// ```
/// assert_eq!(bitsearch::next_and_bit(&[0b1110], &[0b1011], 64, 2), Some(3));
/// ```
#[inline]
#[must_use]
pub fn next_and_bit(a: &[u64], b: &[u64], size: usize, start: usize) -> Option<usize> {
    next(And(Set(a), Set(b)), size, start)
}

/// The lowest bit in `start..size` that is set in `a` and clear in `b`.
///
/// ```
/// assert_eq!(bitsearch::next_andnot_bit(&[0b1110], &[0b0100], 64, 2), Some(3));
/// ```
#[inline]
#[must_use]
pub fn next_andnot_bit(a: &[u64], b: &[u64], size: usize, start: usize) -> Option<usize> {
    next(And(Set(a), Not(Set(b))), size, start)
}

/// The lowest bit in `start..size` that is set in one or the other.
///
/// ```
/// assert_eq!(bitsearch::next_or_bit(&[0b0001], &[0b1000], 64, 1), Some(3));
/// ```
#[inline]
#[must_use]
pub fn next_or_bit(a: &[u64], b: &[u64], size: usize, start: usize) -> Option<usize> {
    next(Or(Set(a), Set(b)), size, start)
}

/// The lowest hit in `start..size`.
///
/// The word of `start` is looked at in the caller: where hits are dense, that was all. What is found
/// is no lower than `start`, so to compare it with the size says all that is to be known of both.
#[inline]
pub(crate) fn next<B: Bits>(bits: B, size: usize, start: usize) -> Option<usize> {
    let ahead = bits.get(start / WORD_BITS)? >> (start % WORD_BITS);
    let bit = if ahead != 0 {
        start + ahead.trailing_zeros() as usize
    } else {
        first_from_word(bits.truncated(size.div_ceil(WORD_BITS)), start / WORD_BITS + 1)?
    };
    if bit < size { Some(bit) } else { beyond_size() }
}

/// Nothing, for the last word of a map: cold, so that no other result has to wait for the size.
#[cold]
#[inline(never)]
fn beyond_size() -> Option<usize> {
    None
}

/// The lowest hit from a word on.
#[inline(never)]
fn first_from_word<B: Bits>(bits: B, first: usize) -> Option<usize> {
    let Some(near) = bits.some::<NEAR>(first) else { return last_few(bits, first) };
    for nth in 0..NEAR {
        let word = near.word(nth);
        if word != 0 {
            return Some((first + nth) * WORD_BITS + word.trailing_zeros() as usize);
        }
    }
    first_far(bits, first + NEAR)
}

/// The lowest hit in the words from `first` on, of which there are few.
#[inline(always)]
fn last_few<B: Bits>(bits: B, first: usize) -> Option<usize> {
    (first..bits.words()).find_map(|index| {
        let word = bits.word(index);
        (word != 0).then(|| index * WORD_BITS + word.trailing_zeros() as usize)
    })
}

/// The same, of hits that are far away: apart, for the sake of those that are not.
#[cold]
#[inline(never)]
fn first_far<B: Bits>(bits: B, first: usize) -> Option<usize> {
    cpu::run(Far { bits, first })
}

/// A search in many words, of which most have nothing.
struct Far<B> {
    bits: B,
    first: usize,
}

impl<B: Bits> Search for Far<B> {
    type Found = Option<usize>;

    #[inline(always)]
    fn run<C: Cpu>(self, _: C) -> Option<usize> {
        let Self { bits, mut first } = self;
        while let Some(block) = bits.block(first) {
            if any(block) != 0 {
                break;
            }
            first += BLOCK;
        }
        for index in first..bits.words() {
            let word = bits.word(index);
            if word != 0 {
                return Some(index * WORD_BITS + word.trailing_zeros() as usize);
            }
        }
        None
    }
}
