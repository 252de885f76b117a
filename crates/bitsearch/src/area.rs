//! Room for several bits: the lowest area of clear ones.
//!
//! Every search here is first-fit and exact. The lowest clear bit is looked at in the caller, if it is in the
//! first word: in a map with room that was all. Otherwise `run` looks for runs of clear bits, at places from
//! their ends (windows), each behind the bit that was in the way of the one before. That reads no word
//! that a search which begins again would not. Where bits turn out to be dense, it goes on by the way that suits the
//! length; alignment is a matter of asking again.
//!
//! | clear bits | how | because |
//! |---|---|---|
//! | up to 16 | `doubling` | such a run is never far |
//! | up to 319 | `lane` | a run has a clear lane of 8, 16 or 32 bits, at a multiple of that |
//! | more | `long` | a run has whole clear words, so most words need not be read |
//!
//! All of that is for words of `u64`. Of other words nothing is done but windows from their ends.

mod doubling;
mod fit;
mod lane;
mod long;
mod run;
mod window;

pub use fit::{best_zero_area, last_zero_area, next_zero_area_wrap};

use crate::backward::last_bit_range;
use crate::bits::{Bits, Set, WORD_BITS};
use crate::forward::{NOWHERE, next_zero_bit};
use crate::word::Word;

/// Where an area may begin: at bits that, `offset` added, are multiples of a power of two.
///
/// The offset is that of the whole bitmap in something larger that must be aligned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Alignment {
    mask: usize,
    offset: usize,
}

impl Alignment {
    /// Anywhere.
    pub const NONE: Self = Self { mask: 0, offset: 0 };

    /// Makes an alignment to `bits`; `None` unless that is a power of two.
    ///
    /// ```
    /// assert!(bitsearch::Alignment::to(8).is_some() && bitsearch::Alignment::to(7).is_none());
    /// ```
    #[must_use]
    pub const fn to(bits: usize) -> Option<Self> {
        if bits.is_power_of_two() { Some(Self { mask: bits - 1, offset: 0 }) } else { None }
    }

    /// The same, for a bitmap whose bit 0 is bit `offset` of the aligned object. The offset counts modulo
    /// the alignment.
    #[must_use]
    pub const fn with_offset(self, offset: usize) -> Self {
        Self { offset: offset & self.mask, ..self }
    }

    /// The lowest place at or after `bit`.
    #[inline]
    pub(crate) fn apply(self, bit: usize) -> Option<usize> {
        let aligned = bit.checked_add(self.offset)?.checked_add(self.mask)? & !self.mask;
        Some(aligned - self.offset)
    }
}

/// The lowest place in `start..size` from which `len` bits below `size` are clear.
///
/// An area of no bits is where the lowest clear bit is, or at `size` if there is none.
///
/// ```
/// let map = [0b100_0001_1111_u64];
/// assert_eq!(bitsearch::next_zero_area(&map, 32, 0, 4), Some(5));
/// assert_eq!(bitsearch::next_zero_area(&map, 32, 0, 6), Some(11));
/// assert_eq!(bitsearch::next_zero_area(&map, 32, 0, 22), None);
/// ```
#[inline]
#[must_use]
pub fn next_zero_area<W: Word>(
    words: &[W],
    size: usize,
    start: usize,
    len: usize,
) -> Option<usize> {
    let Some(words) = W::as_u64s(words) else { return by_windows(words, size, start, len) };
    let place = place(words, size, start, len);
    (place != NOWHERE).then_some(place)
}

/// The same, in words of any kind.
fn by_windows<W: Word>(words: &[W], size: usize, start: usize, len: usize) -> Option<usize> {
    if len == 0 {
        return empty_area(words, size, start, Alignment::NONE);
    }
    let size = Set(words).clipped(size);
    let mut start = start;
    loop {
        let place = next_zero_bit(words, size, start)?;
        let end = place.checked_add(len).filter(|end| *end <= size)?;
        match last_bit_range(words, place, end) {
            None => return Some(place),
            Some(bit) => start = bit + 1,
        }
    }
}

/// The same, or nowhere.
///
/// The bit at `start` is tested by itself: in a map with room that often was all, and as little as a loop over bits
/// would do.
#[inline(always)]
fn place(words: &[u64], size: usize, start: usize, len: usize) -> usize {
    let Some(last) = size.checked_sub(len) else { return NOWHERE };
    let Some(word) = words.get(start / WORD_BITS) else {
        return run::beyond(words, size, start, len);
    };
    if start > last {
        return run::beyond(words, size, start, len);
    }
    let mut clear = !word >> (start % WORD_BITS);
    let mut place = start;
    if word & 1 << (start % WORD_BITS) != 0 {
        if clear == 0 {
            return run::behind_word(words, size, start / WORD_BITS + 1, len);
        }
        let skip = clear.trailing_zeros();
        place += skip as usize;
        if place > last {
            return run::beyond(words, size, start, len);
        }
        clear >>= skip;
    } else if len <= 1 {
        return place;
    }
    if clear.trailing_ones() as usize >= len {
        place
    } else {
        run::at_or_after(words, size, place, len)
    }
}

/// The same, but only at places that `alignment` allows.
///
/// ```
/// use bitsearch::{Alignment, next_zero_area_aligned};
///
/// let map = [0b100_0001_1111_u64];
/// let to_8 = Alignment::to(8).unwrap();
/// assert_eq!(next_zero_area_aligned(&map, 32, 0, 4, to_8), Some(16));
/// assert_eq!(next_zero_area_aligned(&map, 32, 0, 4, to_8.with_offset(2)), Some(6));
/// ```
#[must_use]
pub fn next_zero_area_aligned<W: Word>(
    words: &[W],
    size: usize,
    start: usize,
    len: usize,
    alignment: Alignment,
) -> Option<usize> {
    if len == 0 {
        return empty_area(words, size, start, alignment);
    }
    let size = Set(words).clipped(size);
    let next_run = |start| next_zero_area(words, size, start, len);
    align_runs(words, size, start, len, alignment, next_run)
}

/// The lowest aligned area, where `next_run` finds the lowest of any place.
pub(crate) fn align_runs<W: Word>(
    words: &[W],
    size: usize,
    start: usize,
    len: usize,
    alignment: Alignment,
    mut next_run: impl FnMut(usize) -> Option<usize>,
) -> Option<usize> {
    let mut start = start;
    loop {
        let run = next_run(start)?;
        let aligned = alignment.apply(run)?;
        let end = aligned.checked_add(len).filter(|end| *end <= size)?;
        // Clear as far as the run is known to reach, which the search finds out last.
        match last_bit_range(words, aligned, end) {
            None => return Some(aligned),
            Some(bit) => start = bit + 1,
        }
    }
}

/// Where no bits at all have room.
#[cold]
#[inline(never)]
pub(crate) fn empty_area<W: Word>(
    words: &[W],
    size: usize,
    start: usize,
    alignment: Alignment,
) -> Option<usize> {
    let size = Set(words).clipped(size);
    let bit = next_zero_bit(words, size, start).unwrap_or(size);
    alignment.apply(bit).filter(|aligned| *aligned <= size)
}
