//! The lowest run of clear bits that is long enough, of any alignment.

use crate::area::{doubling, lane, long};
use crate::backward::last_bit_range;
use crate::cpu::{self, Search};

/// The lowest place in `start..size` from which `len` bits below `size` are clear, where a window of
/// the same length to `end` has led.
///
/// `size` is within the slice, and `len` is not 0.
#[inline]
pub(super) fn next(
    words: &[u64],
    size: usize,
    start: usize,
    end: usize,
    len: usize,
) -> Option<usize> {
    let runs = Runs { words, size, len };
    if len < long::MIN_LEN {
        cpu::run(NextShort { runs, start })
    } else {
        long::next(runs, start, end)
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
    fn run(self) -> Option<usize> {
        let Self { runs, start } = self;
        match runs.len {
            ..17 => doubling::next(runs, start),
            17..31 => lane::next::<8>(runs, start),
            31..63 => lane::next::<16>(runs, start),
            63.. => lane::next::<32>(runs, start),
        }
    }
}

/// The runs that are long enough.
#[derive(Clone, Copy)]
pub(super) struct Runs<'words> {
    pub(super) words: &'words [u64],
    pub(super) size: usize,
    pub(super) len: usize,
}

/// What is known of a place.
pub(super) enum Window {
    /// A run begins here.
    Clear,
    /// None does, and none before this bit.
    Until(usize),
    /// None does, nor anywhere after it.
    BeyondSize,
}

impl Runs<'_> {
    /// Looks at the place `start`, where the first `known` bits are known to be clear.
    ///
    /// The window is read from its end: the higher the bit that is in the way, the more places it
    /// rules out.
    #[inline(always)]
    pub(super) fn window(self, start: usize, known: usize) -> Window {
        let end = start + self.len;
        if end > self.size {
            return Window::BeyondSize;
        }
        match last_bit_range(self.words, start + known, end) {
            None => Window::Clear,
            Some(bit) => Window::Until(bit + 1),
        }
    }
}
