//! Windows: places looked at from their ends.

use crate::area::long;
use crate::backward::last_bit_range;
use crate::bits::{WORD_BITS, below};

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

    /// Looks at one window after the other, from `start` on, until one is dense or it is time for a faster
    /// way.
    #[inline(always)]
    pub(super) fn slide(self, start: usize) -> Slide {
        // For runs that are neither short nor very long there is none where bits are few.
        let is_between = (long::MIN_LEN..long::MIN_BLOCKS_LEN).contains(&self.len);
        let windows = if is_between { usize::MAX } else { FEW_WINDOWS };
        let mut start = start;
        for _ in 0..windows {
            let end = start + self.len;
            match self.window(start, 0) {
                Window::Clear => return Slide::Answer(Some(start)),
                Window::BeyondSize => return Slide::Answer(None),
                Window::Until(bit) if self.is_dense(bit, end) => return Slide::Dense(bit),
                Window::Until(bit) => start = bit,
            }
        }
        Slide::Sparse(start)
    }

    /// Whether a window to `end`, which led to `start`, has so many bits at its end that others
    /// will have some there, too.
    #[inline(always)]
    fn is_dense(self, start: usize, end: usize) -> bool {
        end - start < DENSE && {
            let word = self.words[(end - 1) / WORD_BITS] & below(end);
            // More than three, which is all that a count would be asked for.
            (0..3).fold(word, |word, _| word & word.wrapping_sub(1)) != 0
        }
    }
}

/// So many windows are worth less than to ask what the processor can do.
const FEW_WINDOWS: usize = 4;

/// A dense window has a bit among so many at its end.
const DENSE: usize = 8;

/// Where looking at windows has led.
pub(super) enum Slide {
    /// To a run, or to the end of the map.
    Answer(Option<usize>),
    /// To this place, behind a dense window.
    Dense(usize),
    /// To this place, behind as many windows as were to be looked at.
    Sparse(usize),
}
