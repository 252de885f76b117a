//! Long runs: most words need not be read.
//!
//! A window that is read from its end rules out all places up to the last bit in it. Where bits are
//! few that is nearly all of them after a few words. Where bits are dense it is all of them after
//! one word, and then it is known beforehand which word that is, for every window to come. Where runs
//! are very long, blocks of words do for few bits what single words do for dense ones.

use crate::area::window::{Runs, Window};
use crate::backward::last_bit_range;
use crate::bits::{self, WORD_BITS};
use crate::cpu::{Cpu, Search};

/// Runs are long from this many bits on.
pub(super) const MIN_LEN: usize = 320;

/// From this many bits on a run has so many blocks that looking for one is faster than windows are,
/// of which each has to wait for the one before.
pub(super) const MIN_BLOCKS_LEN: usize = 2048;

/// A place that no run from `start` on begins before; runs are of [`MIN_LEN`] bits at least.
#[inline]
pub(super) fn skip_by_words(runs: Runs<'_>, start: usize) -> Option<usize> {
    runs.skip(start, 1, next_clear)
}

/// Looks for a run by blocks of words; runs are of [`MIN_BLOCKS_LEN`] at least.
pub(super) struct NextByBlocks<'words> {
    pub(super) runs: Runs<'words>,
    pub(super) start: usize,
}

impl Search for NextByBlocks<'_> {
    type Found = Option<usize>;

    #[inline(always)]
    fn run<C: Cpu>(self, _: C) -> Option<usize> {
        let Self { runs, mut start } = self;
        loop {
            let place = runs.skip(start, bits::BLOCK, next_clear_block)?;
            if place + runs.len > runs.size {
                return None;
            }
            match runs.window(place) {
                Window::Clear => return Some(place),
                Window::BeyondWords => return None,
                Window::Blocked(blocker) => start = blocker.bit + 1,
            }
        }
    }
}

impl Runs<'_> {
    /// A place that no run from `start` on begins before, by the whole words in runs.
    ///
    /// `next_clear(words, stride)` tells which of the groups of `group` words that begin at every `stride`-th word is
    /// the first that is clear.
    #[inline(always)]
    fn skip(
        self,
        start: usize,
        group: usize,
        next_clear: impl Fn(&[u64], usize) -> Option<usize>,
    ) -> Option<usize> {
        // Wherever a run begins, it has this many whole words,
        let whole_words = (self.len + 1) / WORD_BITS - 1;
        // and one of these groups is among them.
        let stride = whole_words + 1 - group;
        let words = &self.words[..self.size / WORD_BITS];
        let first = start.div_ceil(WORD_BITS) + stride - 1;
        let clear = first + stride * next_clear(words.get(first..)?, stride)?;
        // The run must have this group, for it has none of the groups asked before.
        let before = last_bit_range(self.words, start, clear * WORD_BITS);
        Some(before.map_or(start, |bit| bit + 1))
    }
}

/// How many probes share one check that they are within the map.
const PROBES: usize = 8;

/// Which of every `stride`-th word is the first that is clear.
///
/// Apart, for the loop needs the registers.
#[inline(never)]
fn next_clear(words: &[u64], stride: usize) -> Option<usize> {
    let mut first = 0;
    let mut rest = words;
    while let Some((block, after)) = rest.split_at_checked(PROBES * stride) {
        for nth in (0..PROBES).step_by(2) {
            // Words that share a bit are both not clear, and where bits are dense they share one.
            if block[nth * stride] & block[(nth + 1) * stride] == 0
                && let Some(nth) = clear_among(block, stride)
            {
                return Some(first + nth);
            }
        }
        first += PROBES;
        rest = after;
    }
    clear_among(rest, stride).map(|nth| first + nth)
}

/// The same, one by one.
#[cold]
#[inline(never)]
fn clear_among(words: &[u64], stride: usize) -> Option<usize> {
    words.iter().step_by(stride).position(|word| *word == 0)
}

/// Which of the blocks that begin at every `stride`-th word is the first that is clear.
#[inline(always)]
fn next_clear_block(words: &[u64], stride: usize) -> Option<usize> {
    let mut rest = words;
    let mut nth = 0;
    while let Some(block) = rest.first_chunk() {
        if bits::any(*block) == 0 {
            return Some(nth);
        }
        rest = rest.get(stride..)?;
        nth += 1;
    }
    None
}
