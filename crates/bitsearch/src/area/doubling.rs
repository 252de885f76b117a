//! Runs of a few bits: every word is shifted over itself until its set bits are the places at which
//! a run begins.

use crate::area::run::Runs;
use crate::bits::{WORD_BITS, from};

/// How many words are looked at together.
const BLOCK: usize = 4;

/// Shifts that cover a run: each may double what is covered.
const SHIFTS: usize = 4;

/// The lowest run from `start` on; runs are of `1 << SHIFTS` bits at most.
#[inline(always)]
pub(super) fn next(runs: Runs<'_>, start: usize) -> Option<usize> {
    let Runs { words, size, len } = runs;
    let words = &words[..size.div_ceil(WORD_BITS)];
    let shifts = shifts(len);
    let found = |index: usize, places: u64| {
        let bit = index * WORD_BITS + places.trailing_zeros() as usize;
        (bit + len <= size).then_some(bit)
    };
    let mut index = start / WORD_BITS;
    // Of the first word only a part counts.
    let mut mask = from(start);
    while let Some(block) = words.get(index..).and_then(<[u64]>::first_chunk::<{ BLOCK + 1 }>) {
        let mut places: [u64; BLOCK] =
            core::array::from_fn(|nth| places(block[nth], block[nth + 1], shifts));
        places[0] &= mask;
        if places.iter().fold(0, |any, places| any | places) != 0 {
            let nth = places.iter().position(|places| *places != 0)?;
            return found(index + nth, places[nth]);
        }
        mask = u64::MAX;
        index += BLOCK;
    }
    while index < words.len() {
        let after = words.get(index + 1).copied().unwrap_or(u64::MAX);
        let places = places(words[index], after, shifts) & mask;
        if places != 0 {
            return found(index, places);
        }
        mask = u64::MAX;
        index += 1;
    }
    None
}

/// The shifts for a run of `len`; those that are not needed are 0.
#[inline(always)]
fn shifts(len: usize) -> [u32; SHIFTS] {
    let mut covered = 1;
    [(); SHIFTS].map(|()| {
        let shift = covered.min(len - covered);
        covered += shift;
        u32::try_from(shift).unwrap_or_default()
    })
}

/// The bits of `word` from which a run is clear, which may reach into the word after it.
#[inline(always)]
fn places(word: u64, after: u64, shifts: [u32; SHIFTS]) -> u64 {
    let (mut clear, mut clear_after) = (!word, !after);
    for shift in shifts {
        // In two steps, for a shift by 0 moves a whole word.
        clear &= clear >> shift | clear_after << 1 << (63 - shift);
        clear_after &= clear_after >> shift;
    }
    clear
}
