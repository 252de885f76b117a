//! Windows: places looked at from their ends.

use crate::area::{doubling, long};
use crate::bits::WORD_BITS;
use crate::forward::NOWHERE;

/// The runs that are long enough.
#[derive(Clone, Copy)]
pub(super) struct Runs<'words> {
    pub(super) words: &'words [u64],
    pub(super) size: usize,
    pub(super) len: usize,
}

/// The result of looking at a place.
pub(super) enum Window {
    /// A run begins here.
    Clear,
    /// A bit is in the way.
    Blocked(Blocker),
    /// There are fewer words.
    BeyondWords,
}

/// The set bit that blocks a window.
pub(super) struct Blocker {
    /// The highest bit that is set.
    pub(super) bit: usize,
    /// The last bits of the window, moved to the end of the word.
    behind: u64,
}

impl Blocker {
    /// Whether there are so many bits at the end that other windows will have some there, too.
    #[inline(always)]
    fn is_dense(&self) -> bool {
        // More than three, which is all that a count would be asked for.
        self.behind.leading_zeros() < DENSE
            && (0..3).fold(self.behind, |bits, _| bits & bits.wrapping_sub(1)) != 0
    }
}

/// A dense window has a bit among this many at its end.
const DENSE: u32 = 8;

/// For so few windows it is not worth asking what the processor can do.
const FEW_WINDOWS: usize = 6;

/// The same, of windows of long runs in dense bits, where the other way needs nothing of the processor.
const FEW_LONG_WINDOWS: usize = 3;

/// For this many windows side by side the blocks of very long runs are worth their cost.
const MANY_WINDOWS: usize = 16;

impl<'words> Runs<'words> {
    /// Runs in no more words than the size, which is not 0, needs: a search must not go on behind.
    #[inline(always)]
    pub(super) fn below(words: &'words [u64], size: usize, len: usize) -> Self {
        Self { words: words.get(..=(size - 1) / WORD_BITS).unwrap_or(words), size, len }
    }

    /// The lowest clear bit from `start` on, or nowhere.
    ///
    /// As `forward` finds it, but in line and from the first word on: here it is rarely far.
    #[inline(always)]
    pub(super) fn next_clear(self, start: usize) -> usize {
        let index = start / WORD_BITS;
        let Some((word, mut behind)) = self.words.get(index..).and_then(<[u64]>::split_first)
        else {
            return NOWHERE;
        };
        let clear = !word >> (start % WORD_BITS);
        if clear != 0 {
            return start + clear.trailing_zeros() as usize;
        }
        while let Some((four, after)) = behind.split_first_chunk::<4>() {
            if let Some(nth) = four.iter().position(|word| *word != u64::MAX) {
                let index = self.words.len() - behind.len() + nth;
                return index * WORD_BITS + four[nth].trailing_ones() as usize;
            }
            behind = after;
        }
        let index = self.words.len() - behind.len();
        match behind.iter().position(|word| *word != u64::MAX) {
            Some(nth) => (index + nth) * WORD_BITS + behind[nth].trailing_ones() as usize,
            None => NOWHERE,
        }
    }

    /// Looks at as many bits as a word has, from `start` on, whose bit is clear: the place of the lowest run that
    /// ends among them; nowhere, if that is beyond the size.
    #[inline(always)]
    pub(super) fn look_ahead(self, start: usize) -> Option<usize> {
        let (index, shift) = (start / WORD_BITS, start % WORD_BITS);
        let get = |index| self.words.get(index).copied().unwrap_or(u64::MAX);
        let clear = !(get(index) >> shift | get(index + 1) << 1 << (WORD_BITS - 1 - shift));
        if clear.trailing_ones() as usize >= self.len {
            return Some(start);
        }
        // Without the run that is too short.
        let places = doubling::places(clear & clear.wrapping_add(1), self.len);
        if places == 0 {
            return None;
        }
        let place = start + places.trailing_zeros() as usize;
        Some(if place > self.size - self.len { NOWHERE } else { place })
    }

    /// Looks at the place `start`, from which there are `len` bits below the size.
    ///
    /// The window is read from its end: the higher the bit that is in the way, the more places it
    /// rules out.
    #[inline(always)]
    pub(super) fn window(self, start: usize) -> Window {
        let Self { words, size, len } = self;
        debug_assert!(start + len <= size, "{start} and {len} bits of {size}");
        let end = start + len;
        let (first, last) = (start / WORD_BITS, (end - 1) / WORD_BITS);
        let Some(word) = words.get(last) else { return Window::BeyondWords };
        let behind = word << (end.wrapping_neg() % WORD_BITS);
        if behind != 0 {
            let bit = end - 1 - behind.leading_zeros() as usize;
            return if bit < start {
                Window::Clear
            } else {
                Window::Blocked(Blocker { bit, behind })
            };
        }
        let Some((head, between)) = words.get(first..last).and_then(<[u64]>::split_first) else {
            return Window::Clear;
        };
        let mut end = last;
        let mut between = between;
        while let Some((lower, four)) = between.split_last_chunk::<4>() {
            if four.iter().fold(0, |any, word| any | word) != 0 {
                break;
            }
            between = lower;
            end -= 4;
        }
        for word in between.iter().rev() {
            end -= 1;
            if *word != 0 {
                let bit = end * WORD_BITS + word.ilog2() as usize;
                return Window::Blocked(Blocker { bit, behind });
            }
        }
        match head >> (start % WORD_BITS) {
            0 => Window::Clear,
            head => Window::Blocked(Blocker { bit: start + head.ilog2() as usize, behind }),
        }
    }

    /// Looks at one window after the other until it is time for a faster way.
    #[inline(always)]
    pub(super) fn slide(self, start: usize) -> Slide {
        let (mut start, mut windows) = (start, 0);
        loop {
            let place = self.next_clear(start);
            if place > self.size - self.len {
                return Slide::Answer(NOWHERE);
            }
            let blocker = match self.window(place) {
                Window::Clear => return Slide::Answer(place),
                Window::BeyondWords => return Slide::Answer(NOWHERE),
                Window::Blocked(blocker) => blocker,
            };
            start = blocker.bit + 1;
            windows += 1;
            let is_dense = if self.len >= long::MIN_LEN {
                windows >= FEW_LONG_WINDOWS && self.has_no_clear_word_near(place + self.len)
            } else {
                windows >= FEW_WINDOWS && blocker.is_dense()
            };
            if is_dense {
                return Slide::Dense(start);
            } else if windows >= FEW_WINDOWS
                && self.len >= long::MIN_BLOCKS_LEN
                && (self.size - start) / MANY_WINDOWS >= self.len
            {
                return Slide::Sparse(start);
            }
        }
    }

    /// Whether a bit is set in the words that the runs of all places from `start` on have, so that there is none.
    ///
    /// Such a bit may be near either end, so both are looked at in turn.
    #[inline(always)]
    pub(super) fn share_set_word(self, start: usize) -> bool {
        let shared = (self.size - self.len).div_ceil(WORD_BITS)..(start + self.len) / WORD_BITS;
        let mut words = self.words.get(shared).unwrap_or_default();
        while let Some((first, rest)) = words.split_first_chunk::<4>()
            && let Some((rest, last)) = rest.split_last_chunk::<4>()
        {
            if first.iter().chain(last).fold(0, |any, word| any | word) != 0 {
                return true;
            }
            words = rest;
        }
        words.iter().any(|word| *word != 0)
    }

    /// Whether bits are so dense before `end`, which is far from the first, that whole words will rarely be clear.
    #[inline(always)]
    fn has_no_clear_word_near(self, end: usize) -> bool {
        let last = (end - 1) / WORD_BITS;
        let words = self.words.get(last - 3..=last);
        words.is_some_and(|words| words.iter().all(|word| *word != 0))
    }
}

/// Where looking at windows has led.
pub(super) enum Slide {
    /// To a run, or to the end of the map.
    Answer(usize),
    /// To this place, behind a dense window.
    Dense(usize),
    /// To this place, behind as many windows as are worth it for very long runs.
    Sparse(usize),
}
