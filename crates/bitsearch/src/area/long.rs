//! Long runs: most words need not be read.
//!
//! A window that is read from its end rules out all places up to the last bit in it. Where bits are
//! few that is nearly all of them after a few words. Where bits are dense it is all of them after
//! one word, and then it is known beforehand which word that is, for every window to come.

use crate::area::run::{Runs, Window};
use crate::backward::last_bit_range;
use crate::bits::WORD_BITS;
use crate::cpu::{self, Search};

/// Runs are long from this many bits on.
pub(super) const MIN_LEN: usize = 320;

/// A window is dense if it has a bit among its last few.
const DENSE: usize = 8;

/// So many windows are worth less than to ask what the processor can do.
const FEW_WINDOWS: usize = 4;

/// The lowest run from `start` on, where a window to `end` has led; runs are of [`MIN_LEN`] bits at
/// least.
#[inline(never)]
pub(super) fn next(runs: Runs<'_>, start: usize, end: usize) -> Option<usize> {
    let is_dense = end - start < DENSE;
    let mut slide = if is_dense { Slide::Dense(start) } else { slide(runs, start, FEW_WINDOWS) };
    loop {
        let start = match slide {
            Slide::Answer(place) => return place,
            Slide::Dense(start) => cpu::run(SkipDense { runs, start })?,
            Slide::Sparse(start) => start,
        };
        slide = cpu::run(SlideOn { runs, start });
    }
}

/// Where looking at windows has led.
enum Slide {
    /// To a run, or to the end of the map.
    Answer(Option<usize>),
    /// To this place, behind a dense window.
    Dense(usize),
    /// To this place, behind as many windows as were to be looked at.
    Sparse(usize),
}

/// Looks at one window after the other.
#[inline(always)]
fn slide(runs: Runs<'_>, start: usize, windows: usize) -> Slide {
    let mut start = start;
    for _ in 0..windows {
        let end = start + runs.len;
        match runs.window(start, 0) {
            Window::Clear => return Slide::Answer(Some(start)),
            Window::Until(bit) => start = bit,
            Window::BeyondSize => return Slide::Answer(None),
        }
        if end - start < DENSE {
            return Slide::Dense(start);
        }
    }
    Slide::Sparse(start)
}

/// Looks at windows until one is dense.
struct SlideOn<'words> {
    runs: Runs<'words>,
    start: usize,
}

impl Search for SlideOn<'_> {
    type Found = Slide;

    #[inline(always)]
    fn run(self) -> Slide {
        slide(self.runs, self.start, usize::MAX)
    }
}

/// Finds a place that no run from `start` on begins before, by the whole words in runs.
struct SkipDense<'words> {
    runs: Runs<'words>,
    start: usize,
}

impl Search for SkipDense<'_> {
    type Found = Option<usize>;

    #[inline(always)]
    fn run(self) -> Option<usize> {
        let Self { runs, start } = self;
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
}

/// So many probes share the check that they are within the map.
const PROBES: usize = 8;

/// Which of every `stride`-th word is the first that is clear.
#[inline(always)]
fn next_clear(words: &[u64], stride: usize) -> Option<usize> {
    let span = (PROBES - 1) * stride + 1;
    let mut first = 0;
    let mut rest = words;
    while let Some(block) = rest.get(..span) {
        for nth in 0..PROBES {
            if block[nth * stride] == 0 {
                return Some(first + nth);
            }
        }
        first += PROBES;
        rest = rest.get(PROBES * stride..).unwrap_or_default();
    }
    rest.iter().step_by(stride).position(|word| *word == 0).map(|nth| first + nth)
}
