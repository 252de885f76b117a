//! The lowest run of clear bits that is long enough, of any alignment.
//!
//! A function that can answer after a first look makes no call on that path, and so saves no registers.

use crate::area::window::{Runs, Slide, Window};
use crate::area::{Alignment, doubling, empty_area, lane, long};
use crate::bits::{Bits, Set, WORD_BITS};
use crate::cpu::{self, Cpu, Search};
use crate::forward::NOWHERE;

/// The lowest run from `place` on, whose bit is clear; or nowhere.
#[inline(always)]
pub(super) fn at_or_after(words: &[u64], size: usize, place: usize, len: usize) -> usize {
    if len > doubling::MAX_LEN {
        long_at_or_after(words, size, place, len)
    } else {
        short_at_or_after(words, size, place, len)
    }
}

#[inline(never)]
fn short_at_or_after(words: &[u64], size: usize, place: usize, len: usize) -> usize {
    let runs = Runs { words, size, len };
    match runs.look_ahead(place) {
        Some(place) => place,
        None if place + WORD_BITS >= size => NOWHERE,
        None => short_after(words, size, place + WORD_BITS + 1 - len, len),
    }
}

#[inline(never)]
fn long_at_or_after(words: &[u64], size: usize, place: usize, len: usize) -> usize {
    if len >= long::MIN_BLOCKS_LEN && size - len - place < WORD_BITS {
        return one_of_few(words, size, place, len);
    }
    at_window_or_after(words, size, place, len)
}

/// The same, where the places that are left are so near to each other that their runs share most words.
#[inline(never)]
fn one_of_few(words: &[u64], size: usize, place: usize, len: usize) -> usize {
    if (Runs { words, size, len }).share_set_word(place) {
        return NOWHERE;
    }
    at_window_or_after(words, size, place, len)
}

#[inline(always)]
fn at_window_or_after(words: &[u64], size: usize, place: usize, len: usize) -> usize {
    match (Runs { words, size, len }).window(place) {
        Window::Clear => place,
        Window::BeyondWords => NOWHERE,
        Window::Blocked(blocker) if blocker.bit >= size - len => NOWHERE,
        Window::Blocked(blocker) => long_after(words, size, blocker.bit + 1, len),
    }
}

/// The same, from the word `index` on.
#[inline(never)]
pub(super) fn behind_word(words: &[u64], size: usize, index: usize, len: usize) -> usize {
    if len == 0 {
        return beyond(words, size, index * WORD_BITS, len);
    }
    let place = Runs::below(words, size, len).next_clear(index * WORD_BITS);
    if place > size - len { NOWHERE } else { at_or_after(words, size, place, len) }
}

/// The same, where the lowest clear bit is so high that only no bits have room.
#[cold]
#[inline(never)]
pub(super) fn beyond(words: &[u64], size: usize, start: usize, len: usize) -> usize {
    if len > 0 {
        return NOWHERE;
    }
    empty_area(words, size, start, Alignment::NONE).unwrap_or(NOWHERE)
}

/// The same, from any place on, of short runs.
#[inline(never)]
fn short_after(words: &[u64], size: usize, start: usize, len: usize) -> usize {
    let runs = Runs::below(words, size, len);
    let mut start = start;
    for _ in 0..FEW_WORDS {
        start = runs.next_clear(start);
        if start > size - len {
            return NOWHERE;
        }
        if let Some(place) = runs.look_ahead(start) {
            return place;
        }
        start += WORD_BITS + 1 - len;
    }
    dense_short_after(runs.words, size, start, len)
}

/// For so few words it is not worth asking what the processor can do.
const FEW_WORDS: usize = 4;

#[inline(never)]
fn dense_short_after(words: &[u64], size: usize, start: usize, len: usize) -> usize {
    let runs = Runs { words, size: Set(words).clipped(size), len };
    cpu::run(NextShort { runs, start }).unwrap_or(NOWHERE)
}

/// The same, from any place on, of long runs.
#[inline(never)]
fn long_after(words: &[u64], size: usize, start: usize, len: usize) -> usize {
    let runs = Runs::below(words, size, len);
    match runs.slide(start) {
        Slide::Answer(place) => place,
        Slide::Dense(start) => dense_long_after(runs.words, size, start, len),
        Slide::Sparse(start) => sparse_long_after(runs.words, size, start, len),
    }
}

#[inline(never)]
fn dense_long_after(words: &[u64], size: usize, start: usize, len: usize) -> usize {
    let runs = Runs { words, size: Set(words).clipped(size), len };
    let mut start = start;
    loop {
        let skipped = if len < long::MIN_LEN {
            cpu::run(NextLane { runs, start })
        } else {
            long::skip_by_words(runs, start)
        };
        let Some(place) = skipped else { return NOWHERE };
        start = match runs.slide(place) {
            Slide::Answer(place) => return place,
            Slide::Dense(start) => start,
            Slide::Sparse(start) => return sparse_long_after(words, size, start, len),
        };
    }
}

#[inline(never)]
fn sparse_long_after(words: &[u64], size: usize, start: usize, len: usize) -> usize {
    let runs = Runs { words, size: Set(words).clipped(size), len };
    cpu::run(long::NextByBlocks { runs, start }).unwrap_or(NOWHERE)
}

/// Looks for a run that is short.
struct NextShort<'words> {
    runs: Runs<'words>,
    start: usize,
}

impl Search for NextShort<'_> {
    type Found = Option<usize>;

    #[inline(always)]
    fn run<C: Cpu>(self, _: C) -> Option<usize> {
        let Self { runs, start } = self;
        match runs.len {
            ..9 => doubling::next::<3>(runs, start),
            9.. => doubling::next::<4>(runs, start),
        }
    }
}

/// Looks for a place that no run begins before, which is not short.
struct NextLane<'words> {
    runs: Runs<'words>,
    start: usize,
}

impl Search for NextLane<'_> {
    type Found = Option<usize>;

    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Option<usize> {
        let Self { runs, start } = self;
        match runs.len {
            ..31 => lane::skip::<8>(cpu, runs, start),
            31..63 => lane::skip::<16>(cpu, runs, start),
            63.. => lane::skip::<32>(cpu, runs, start),
        }
    }
}
