//! Changes of bits, one or a range of them.

use core::ops::Range;

use crate::word::Word;

/// Whether `bit` is set; bits that do not exist are not.
///
/// ```
/// assert!(bitsearch::is_set(&[0b100_u64], 2) && !bitsearch::is_set(&[0b100_u64], 64));
/// ```
#[inline]
#[must_use]
pub fn is_set<W: Word>(words: &[W], bit: usize) -> bool {
    words.get(bit / W::BITS).is_some_and(|word| word.load() >> (bit % W::BITS) & 1 == 1)
}

/// Sets the bits of `range` that exist.
///
/// ```
/// let mut map = [0_u64, 0];
/// bitsearch::set_range(&mut map, 62..66);
/// assert_eq!(map, [0b11 << 62, 0b11]);
/// ```
#[inline]
pub fn set_range<W: Word>(words: &mut [W], range: Range<usize>) {
    change(words, range, |_, word, mask| word | mask);
}

/// Clears the bits of `range` that exist.
///
/// ```
/// let mut map = [u64::MAX, u64::MAX];
/// bitsearch::clear_range(&mut map, 2..500);
/// assert_eq!(map, [0b11, 0]);
/// ```
#[inline]
pub fn clear_range<W: Word>(words: &mut [W], range: Range<usize>) {
    change(words, range, |_, word, mask| word & !mask);
}

/// Clears those bits of `range` that are clear in `other`; bits that either map does not have stay.
///
/// ```
/// let mut map = [0b1111_u64];
/// bitsearch::and_range(&mut map, &[0b1010], 0..3);
/// assert_eq!(map, [0b1010]);
/// ```
#[inline]
pub fn and_range<W: Word>(words: &mut [W], other: &[W], range: Range<usize>) {
    combine(words, other, range, |word, other, mask| word & (other | !mask));
}

/// Sets those bits of `range` that are set in `other`; bits that either map does not have stay.
///
/// ```
/// let mut map = [0b0001_u64];
/// bitsearch::or_range(&mut map, &[0b1110], 0..3);
/// assert_eq!(map, [0b0111]);
/// ```
#[inline]
pub fn or_range<W: Word>(words: &mut [W], other: &[W], range: Range<usize>) {
    combine(words, other, range, |word, other, mask| word | other & mask);
}

/// Clears those bits of `range` that are set in `other`; bits that either map does not have stay.
///
/// ```
/// let mut map = [0b1111_u64];
/// bitsearch::andnot_range(&mut map, &[0b1010], 0..3);
/// assert_eq!(map, [0b1101]);
/// ```
#[inline]
pub fn andnot_range<W: Word>(words: &mut [W], other: &[W], range: Range<usize>) {
    combine(words, other, range, |word, other, mask| word & !(other & mask));
}

/// Makes the words of which `range` has bits what `change` says, which is told their places, the words, and masks of those
/// bits.
#[inline(always)]
pub(crate) fn change<W: Word>(
    words: &mut [W],
    range: Range<usize>,
    mut change: impl FnMut(usize, u64, u64) -> u64,
) {
    let Some((first, last)) = words_of::<W>(&range, words.len()) else { return };
    let (head, tail) = (head::<W>(&range), tail::<W>(&range, last));
    let mut change =
        |index: usize, word: &mut W, mask| word.store(change(index, word.load(), mask));
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
fn combine<W: Word>(
    words: &mut [W],
    others: &[W],
    range: Range<usize>,
    combine: impl Fn(u64, u64, u64) -> u64,
) {
    let common = words.len().min(others.len());
    let others = &others[..common];
    change(&mut words[..common], range, |index, word, mask| {
        combine(word, others[index].load(), mask)
    });
}

/// The first and the last of that many words of which `range` has bits.
#[inline(always)]
fn words_of<W: Word>(range: &Range<usize>, words: usize) -> Option<(usize, usize)> {
    let end = range.end.min(words * W::BITS);
    (range.start < end).then(|| (range.start / W::BITS, (end - 1) / W::BITS))
}

/// The bits of `range` in its first word, and those that the word does not have.
#[inline(always)]
fn head<W: Word>(range: &Range<usize>) -> u64 {
    u64::MAX << (range.start % W::BITS)
}

/// The bits of `range` in its last word.
#[inline(always)]
fn tail<W: Word>(range: &Range<usize>, last: usize) -> u64 {
    if range.end / W::BITS > last { u64::MAX } else { !(u64::MAX << (range.end % W::BITS)) }
}
