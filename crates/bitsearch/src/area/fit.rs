//! Areas that are not the lowest: from where the last one was on, the highest, and the smallest that suffices.

use core::ops::Range;

use crate::area::next_zero_area;
use crate::backward::last_zero_bit;
use crate::bits::{Bits, Set};
use crate::forward::next_bit;
use crate::word::Word;

/// Next fit: the lowest place in `start..size` from which `len` bits below `size` are clear, or else the lowest of
/// all.
///
/// ```
/// assert_eq!(bitsearch::next_zero_area_wrap(&[0b100_u64], 8, 1, 2), Some(3));
/// assert_eq!(bitsearch::next_zero_area_wrap(&[0b100_u64], 8, 7, 2), Some(0));
/// assert_eq!(bitsearch::next_zero_area_wrap(&[0b100_u64], 8, 7, 6), None);
/// ```
#[must_use]
pub fn next_zero_area_wrap<W: Word>(
    words: &[W],
    size: usize,
    start: usize,
    len: usize,
) -> Option<usize> {
    next_zero_area(words, size, start, len).or_else(|| next_zero_area(words, size, 0, len))
}

/// Last fit: the highest place from which `len` bits below `size` are clear.
///
/// An area of no bits is behind the highest clear bit, or at 0 if there is none.
///
/// ```
/// assert_eq!(bitsearch::last_zero_area(&[0b1000_0000_0000_u64], 16, 4), Some(12));
/// assert_eq!(bitsearch::last_zero_area(&[0b1000_0000_0000_u64], 16, 5), Some(6));
/// assert_eq!(bitsearch::last_zero_area(&[0b1000_0000_0000_u64], 16, 12), None);
/// ```
#[must_use]
pub fn last_zero_area<W: Word>(words: &[W], size: usize, len: usize) -> Option<usize> {
    let mut end = size;
    loop {
        // The lowest bit in the way rules out most places.
        end = match last_zero_bit(words, end) {
            Some(bit) => bit + 1,
            None if len == 0 => return Some(0),
            None => return None,
        };
        let place = end.checked_sub(len)?;
        match next_bit(words, end, place) {
            None => return Some(place),
            Some(bit) => end = bit,
        }
    }
}

/// Best fit: the shortest run of at least `len` clear bits below `size`, and the lowest of those that are as short;
/// where `len` is 0, of at least one.
///
/// A run ends at a set bit or at `size`. All runs of this length and more are looked at, unless one fits exactly.
///
/// ```
/// assert_eq!(bitsearch::best_zero_area(&[0b1000_1000_0010_0000_u64], 20, 2), Some(12..15));
/// assert_eq!(bitsearch::best_zero_area(&[0b1000_1000_0010_0000_u64], 20, 4), Some(16..20));
/// assert_eq!(bitsearch::best_zero_area(&[0b1000_1000_0010_0000_u64], 20, 6), None);
/// ```
#[must_use]
pub fn best_zero_area<W: Word>(words: &[W], size: usize, len: usize) -> Option<Range<usize>> {
    let (size, len) = (Set(words).clipped(size), len.max(1));
    let mut best: Option<Range<usize>> = None;
    let mut start = 0;
    while let Some(place) = next_zero_area(words, size, start, len) {
        let run = place..next_bit(words, size, place + len).unwrap_or(size);
        start = run.end;
        if best.as_ref().is_none_or(|best| run.len() < best.len()) {
            let is_exact = run.len() == len;
            best = Some(run);
            if is_exact {
                break;
            }
        }
    }
    best
}
