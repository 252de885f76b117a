//! Runs of a few bits: every word is shifted over itself until its set bits are the places at which
//! a run begins.

use crate::area::run::Runs;
use crate::bits::{WORD_BITS, from};

/// How many words are looked at together.
const BLOCK: usize = 8;

/// The lowest run from `start` on.
#[inline(always)]
pub(super) fn next(runs: Runs<'_>, start: usize) -> Option<usize> {
    let Runs { words, size, len } = runs;
    let words = &words[..size.div_ceil(WORD_BITS)];
    let first = start / WORD_BITS;
    let places = |index: usize| {
        let after = words.get(index + 1).copied().unwrap_or(u64::MAX);
        places(words[index], after, len)
    };
    let found = |index: usize, places: u64| {
        let bit = index * WORD_BITS + places.trailing_zeros() as usize;
        (bit + len <= size).then_some(bit)
    };
    let in_first = places(first) & from(start);
    if in_first != 0 {
        return found(first, in_first);
    }
    let mut index = first + 1;
    while let Some(block) = words.get(index..=index + BLOCK) {
        let any =
            (0..BLOCK).fold(0, |any, nth| any | self::places(block[nth], block[nth + 1], len));
        if any != 0 {
            break;
        }
        index += BLOCK;
    }
    while index < words.len() {
        let places = places(index);
        if places != 0 {
            return found(index, places);
        }
        index += 1;
    }
    None
}

/// The bits of `word` from which `len` bits are clear, which may reach into the word after it.
#[inline(always)]
fn places(word: u64, after: u64, len: usize) -> u64 {
    let (mut clear, mut clear_after) = (!word, !after);
    let mut covered = 1;
    while covered < len {
        let shift = covered.min(len - covered);
        clear &= clear >> shift | clear_after << (WORD_BITS - shift);
        clear_after &= clear_after >> shift;
        covered += shift;
    }
    clear
}
