//! Runs of a few bits: every word is shifted over itself until its set bits are the places at which
//! a run begins.

use crate::area::window::Runs;
use crate::bits::{WORD_BITS, from};

/// Runs are short up to this many bits.
pub(super) const MAX_LEN: usize = 16;

/// How many words are looked at together.
const BLOCK: usize = 4;

/// The places of `bits` from which on `len` bits in a row are set.
#[inline(always)]
pub(super) fn places(bits: u64, len: usize) -> u64 {
    let (mut places, mut len) = (bits, len);
    while len > 1 && places != 0 {
        places &= places >> (len / 2);
        len -= len / 2;
    }
    places
}

/// The lowest run from `start` on; runs are of `1 << SHIFTS` bits at most.
///
/// Each shift may double the number of bits covered.
#[inline(always)]
pub(super) fn next<const SHIFTS: usize>(runs: Runs<'_>, start: usize) -> Option<usize> {
    let Runs { words, size, len } = runs;
    let words = &words[..size.div_ceil(WORD_BITS)];
    let shifts = shifts::<SHIFTS>(len);
    let found = |index: usize, places: u64| {
        let bit = index * WORD_BITS + places.trailing_zeros() as usize;
        (bit + len <= size).then_some(bit)
    };
    let after = |index: usize| words.get(index + 1).copied().unwrap_or(u64::MAX);
    let mut index = start / WORD_BITS;
    // Of the first word only a part counts.
    let in_first = places_across(*words.get(index)?, after(index), shifts) & from(start);
    if in_first != 0 {
        return found(index, in_first);
    }
    index += 1;
    while let Some(block) = words.get(index..).and_then(<[u64]>::first_chunk::<{ BLOCK + 1 }>) {
        if block.iter().fold(u64::MAX, |all, word| all & word) == u64::MAX {
            index += BLOCK;
            continue;
        }
        let places: [u64; BLOCK] =
            core::array::from_fn(|nth| places_across(block[nth], block[nth + 1], shifts));
        if places.iter().fold(0, |any, places| any | places) != 0 {
            let nth = places.iter().position(|places| *places != 0)?;
            return found(index + nth, places[nth]);
        }
        index += BLOCK;
    }
    while index < words.len() {
        let places = places_across(words[index], after(index), shifts);
        if places != 0 {
            return found(index, places);
        }
        index += 1;
    }
    None
}

/// The shifts for a run of `len`; those that are not needed are 0.
#[inline(always)]
fn shifts<const SHIFTS: usize>(len: usize) -> [u32; SHIFTS] {
    let mut covered = 1;
    [(); SHIFTS].map(|()| {
        let shift = covered.min(len - covered);
        covered += shift;
        u32::try_from(shift).unwrap_or_default()
    })
}

/// The bits of `word` from which a run is clear, which may reach into the word after it.
#[inline(always)]
fn places_across<const SHIFTS: usize>(word: u64, after: u64, shifts: [u32; SHIFTS]) -> u64 {
    let (mut clear, mut clear_after) = (!word, !after);
    for shift in shifts {
        // In two steps, for a shift by 0 moves a whole word.
        clear &= clear >> shift | clear_after << 1 << (63 - shift);
        clear_after &= clear_after >> shift;
    }
    clear
}
