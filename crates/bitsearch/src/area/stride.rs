//! Long runs: each has several whole words clear, so most words need not be read.
//!
//! Where bits are few a window rules out much more, so this begins only behind two windows that
//! were set up to their ends.

use crate::area::run::{Runs, Window};
use crate::backward::last_bit_range;
use crate::bits::WORD_BITS;

/// How many words are read before any of them is looked at.
const PROBES: usize = 8;

/// The lowest run from `start` on; runs are of two words at least.
#[inline(always)]
pub(super) fn next(runs: Runs<'_>, start: usize) -> Option<usize> {
    let mut start = start;
    let mut dense_windows = 0;
    loop {
        if dense_windows == 2 {
            start = skip_dense(runs, start)?;
            dense_windows = 1;
        }
        match runs.window(start, 0) {
            Window::Clear => return Some(start),
            Window::Until(bit) => {
                let is_dense = start + runs.len - bit < WORD_BITS;
                dense_windows = if is_dense { dense_windows + 1 } else { 0 };
                start = bit;
            }
            Window::BeyondSize => return None,
        }
    }
}

/// A place that no run from `start` on begins before.
#[inline(always)]
fn skip_dense(runs: Runs<'_>, start: usize) -> Option<usize> {
    // Wherever a run begins, it has so many whole words,
    let stride = (runs.len + 1) / WORD_BITS - 1;
    // and one of these is among them.
    let whole = &runs.words[..runs.size / WORD_BITS];
    let first = start.div_ceil(WORD_BITS) + stride - 1;
    let clear = first + stride * next_clear(whole.get(first..)?, stride)?;
    // The run must have this word, for it has none of the words asked before.
    let before = last_bit_range(runs.words, start, clear * WORD_BITS);
    Some(before.map_or(start, |bit| bit + 1))
}

/// Which of every `stride`-th word is the first that is clear.
#[inline(always)]
fn next_clear(words: &[u64], stride: usize) -> Option<usize> {
    let mut probe = 0;
    let span = (PROBES - 1) * stride + 1;
    while let Some(block) = words.get(probe * stride..).and_then(|rest| rest.get(..span)) {
        if (0..PROBES).fold(false, |any, nth| any | (block[nth * stride] == 0)) {
            break;
        }
        probe += PROBES;
    }
    while let Some(word) = words.get(probe * stride) {
        if *word == 0 {
            return Some(probe);
        }
        probe += 1;
    }
    None
}
