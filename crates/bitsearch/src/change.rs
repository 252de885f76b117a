//! Changes of bits, one or a range of them.

use core::ops::Range;

use crate::bits::{WORD_BITS, below, from};

/// Whether `bit` is set; bits that do not exist are not.
///
/// ```
/// assert!(bitsearch::is_set(&[0b100], 2) && !bitsearch::is_set(&[0b100], 64));
/// ```
#[inline]
#[must_use]
pub fn is_set(words: &[u64], bit: usize) -> bool {
    words.get(bit / WORD_BITS).is_some_and(|word| word >> (bit % WORD_BITS) & 1 == 1)
}

/// Sets the bits of `range` that exist.
///
/// ```
/// let mut map = [0, 0];
/// bitsearch::set_range(&mut map, 62..66);
/// assert_eq!(map, [0b11 << 62, 0b11]);
/// ```
#[inline]
pub fn set_range(words: &mut [u64], range: Range<usize>) {
    change(words, range, |_, word, mask| *word |= mask);
}

/// Clears the bits of `range` that exist.
///
/// ```
/// let mut map = [u64::MAX, u64::MAX];
/// bitsearch::clear_range(&mut map, 2..500);
/// assert_eq!(map, [0b11, 0]);
/// ```
#[inline]
pub fn clear_range(words: &mut [u64], range: Range<usize>) {
    change(words, range, |_, word, mask| *word &= !mask);
}

/// Clears those bits of `range` that are clear in `other`; bits that either map does not have stay.
///
/// ```
/// let mut map = [0b1111];
/// bitsearch::and_range(&mut map, &[0b1010], 0..3);
/// assert_eq!(map, [0b1010]);
/// ```
#[inline]
pub fn and_range(words: &mut [u64], other: &[u64], range: Range<usize>) {
    combine(words, other, range, |word, other, mask| *word &= other | !mask);
}

/// Sets those bits of `range` that are set in `other`; bits that either map does not have stay.
///
/// ```
/// let mut map = [0b0001];
/// bitsearch::or_range(&mut map, &[0b1110], 0..3);
/// assert_eq!(map, [0b0111]);
/// ```
#[inline]
pub fn or_range(words: &mut [u64], other: &[u64], range: Range<usize>) {
    combine(words, other, range, |word, other, mask| *word |= other & mask);
}

/// Clears those bits of `range` that are set in `other`; bits that either map does not have stay.
///
/// ```
/// let mut map = [0b1111];
/// bitsearch::andnot_range(&mut map, &[0b1010], 0..3);
/// assert_eq!(map, [0b1101]);
/// ```
#[inline]
pub fn andnot_range(words: &mut [u64], other: &[u64], range: Range<usize>) {
    combine(words, other, range, |word, other, mask| *word &= !(other & mask));
}

/// Calls `change` with the words of which `range` has bits: with their places, and with masks of those bits.
#[inline(always)]
pub(crate) fn change(
    words: &mut [u64],
    range: Range<usize>,
    mut change: impl FnMut(usize, &mut u64, u64),
) {
    let Some((first, last)) = words_of(&range, words.len()) else { return };
    let (head, tail) = (from(range.start), tail(&range, last));
    match &mut words[first..=last] {
        [] => {}
        [only] => change(first, only, head & tail),
        [front, whole @ .., back] => {
            change(first, front, head);
            for (index, word) in (first + 1..).zip(whole) {
                change(index, word, u64::MAX);
            }
            change(last, back, tail);
        }
    }
}

/// The same, with words and those of another map.
#[inline(always)]
fn combine(
    words: &mut [u64],
    others: &[u64],
    range: Range<usize>,
    combine: impl Fn(&mut u64, u64, u64),
) {
    let common = words.len().min(others.len());
    let others = &others[..common];
    change(&mut words[..common], range, |index, word, mask| combine(word, others[index], mask));
}

/// The first and the last of so many words of which `range` has bits.
#[inline(always)]
fn words_of(range: &Range<usize>, words: usize) -> Option<(usize, usize)> {
    let end = range.end.min(words * WORD_BITS);
    (range.start < end).then(|| (range.start / WORD_BITS, (end - 1) / WORD_BITS))
}

/// The bits of `range` in its last word.
#[inline(always)]
fn tail(range: &Range<usize>, last: usize) -> u64 {
    if range.end / WORD_BITS > last { u64::MAX } else { below(range.end) }
}
