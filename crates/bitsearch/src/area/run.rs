//! The lowest run of clear bits that is long enough, of any alignment.

use crate::area::window::{Runs, Slide};
use crate::area::{doubling, lane, long};
use crate::cpu::{self, Cpu, Search};

/// The lowest place in `start..size` from which `len` bits below `size` are clear.
///
/// `size` is within the slice, and `len` is not 0.
#[inline(never)]
pub(super) fn next(words: &[u64], size: usize, start: usize, len: usize) -> Option<usize> {
    let runs = Runs { words, size, len };
    match runs.slide(start) {
        Slide::Answer(place) => place,
        Slide::Dense(start) | Slide::Sparse(start) if len < long::MIN_LEN => {
            cpu::run(NextShort { runs, start })
        }
        slide => long::next(runs, slide),
    }
}

/// Looks for a run that is not long.
struct NextShort<'words> {
    runs: Runs<'words>,
    start: usize,
}

impl Search for NextShort<'_> {
    type Found = Option<usize>;

    #[inline(always)]
    fn run<C: Cpu>(self, cpu: C) -> Option<usize> {
        let Self { runs, start } = self;
        match runs.len {
            ..9 => doubling::next::<3>(runs, start),
            9..17 => doubling::next::<4>(runs, start),
            17..31 => lane::next::<8>(cpu, runs, start),
            31..63 => lane::next::<16>(cpu, runs, start),
            63.. => lane::next::<32>(cpu, runs, start),
        }
    }
}
