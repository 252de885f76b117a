//! The words that a bitmap may be made of.

use core::fmt::Debug;
#[cfg(target_has_atomic = "64")]
use core::sync::atomic::AtomicU64;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// A word of a bitmap: `u64`, `u32`, `usize`, or an atomic one of these.
///
/// Whatever the words are, searches look at 64 bits at a time. Of atomic words each is loaded once where it is looked at, in
/// relaxed order: what is found was so a moment ago, to be claimed by a `fetch_or` or the like. Functions that change bits
/// want the words for themselves.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// let slots = [AtomicU32::new(u32::MAX), AtomicU32::new(0b1011)];
/// let free = bitsearch::next_zero_bit(&slots, 64, 0);
/// assert_eq!(free, Some(34));
/// let before = slots[1].fetch_or(1 << (34 - 32), Ordering::Acquire);
/// assert_eq!(before & 1 << 2, 0, "claimed by no other thread");
/// ```
pub trait Word: Load {}

impl<W: Load> Word for W {}

/// How words are read and written; of no use outside.
pub trait Load: Sized + Debug {
    /// How many bits a word has.
    const BITS: usize;

    /// How many words make 64 bits.
    const PARTS: usize = 64 / Self::BITS;

    /// The word as a number.
    fn load(&self) -> u64;

    /// Makes the word this number, of which the lowest [`BITS`](Self::BITS) bits count.
    fn store(&mut self, word: u64);

    /// The words as they are, if they are `u64`: what looks at several words together wants these.
    #[inline(always)]
    fn as_u64s(_words: &[Self]) -> Option<&[u64]> {
        None
    }

    /// The bits of 64 from `64 * index` on that exist, if any does.
    #[inline(always)]
    fn get(words: &[Self], index: usize) -> Option<u64> {
        if Self::PARTS == 1 {
            return words.get(index).map(Self::load);
        }
        match words.get(index * Self::PARTS..)? {
            [low, high, ..] => Some(low.load() | high.load() << (Self::BITS % 64)),
            [low] => Some(low.load()),
            [] => None,
        }
    }

    /// The same; one must exist.
    #[inline(always)]
    fn word(words: &[Self], index: usize) -> u64 {
        if Self::PARTS == 1 {
            return words[index].load();
        }
        let low = words[index * Self::PARTS].load();
        let high = words.get(index * Self::PARTS + 1).map_or(0, Self::load);
        low | high << (Self::BITS % 64)
    }

    /// The first `64 * N` bits, if there are as many.
    #[inline(always)]
    fn block<const N: usize>(words: &[Self]) -> Option<[u64; N]> {
        let words = words.get(..N * Self::PARTS)?;
        Some(core::array::from_fn(|index| Self::word(words, index)))
    }
}

impl Load for u64 {
    const BITS: usize = 64;

    #[inline(always)]
    fn load(&self) -> u64 {
        *self
    }

    #[inline(always)]
    fn store(&mut self, word: u64) {
        *self = word;
    }

    #[inline(always)]
    fn as_u64s(words: &[Self]) -> Option<&[u64]> {
        Some(words)
    }
}

impl Load for u32 {
    const BITS: usize = 32;

    #[inline(always)]
    fn load(&self) -> u64 {
        (*self).into()
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the lowest bits count")]
    fn store(&mut self, word: u64) {
        *self = word as Self;
    }
}

impl Load for usize {
    const BITS: usize = Self::BITS as usize;

    #[inline(always)]
    fn load(&self) -> u64 {
        *self as u64
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "the lowest bits count, which may be all")]
    fn store(&mut self, word: u64) {
        *self = word as Self;
    }
}

#[cfg(target_has_atomic = "64")]
impl Load for AtomicU64 {
    const BITS: usize = 64;

    #[inline(always)]
    fn load(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn store(&mut self, word: u64) {
        self.get_mut().store(word);
    }
}

impl Load for AtomicU32 {
    const BITS: usize = 32;

    #[inline(always)]
    fn load(&self) -> u64 {
        self.load(Ordering::Relaxed).into()
    }

    #[inline(always)]
    fn store(&mut self, word: u64) {
        self.get_mut().store(word);
    }
}

impl Load for AtomicUsize {
    const BITS: usize = usize::BITS as usize;

    #[inline(always)]
    fn load(&self) -> u64 {
        self.load(Ordering::Relaxed) as u64
    }

    #[inline(always)]
    fn store(&mut self, word: u64) {
        self.get_mut().store(word);
    }
}
