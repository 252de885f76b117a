//! Words to search, one at a time: those of a slice, or what several slices make together.

use crate::word::Word;

/// How many bits a word has.
pub(crate) const WORD_BITS: usize = u64::BITS as usize;

/// The bits of a word from `start` on, counted within the word.
pub(crate) const fn from(start: usize) -> u64 {
    u64::MAX << (start % WORD_BITS)
}

/// The bits of a word below `end`, counted within the word; all of them at its border.
pub(crate) const fn below(end: usize) -> u64 {
    u64::MAX >> (end.wrapping_neg() % WORD_BITS)
}

/// How many words are looked at in turn, each at its fixed place, before a search settles for a long
/// one: with the branches foreseen, its result waits for the one word that has a hit, and not for a
/// counter or for the words beside it. Where one bit of 500 is set, all but one of sixty are as near.
pub(crate) const NEAR: usize = 32;

/// How many words are looked at together where there is little to find.
pub(crate) const BLOCK: usize = 16;

/// The bits that are set in any word of a block.
#[inline(always)]
pub(crate) fn any(block: [u64; BLOCK]) -> u64 {
    // Four words make a register.
    let mut any = [0; 4];
    for words in block.as_chunks::<4>().0 {
        for (any, word) in any.iter_mut().zip(words) {
            *any |= word;
        }
    }
    any.iter().fold(0, |all, any| all | any)
}

/// Words in which a set bit is a hit.
pub(crate) trait Bits: Copy {
    /// How many words there are.
    fn words(self) -> usize;

    /// The same, but at most `words` of them.
    fn truncated(self, words: usize) -> Self;

    /// A word, if there is one.
    fn get(self, index: usize) -> Option<u64>;

    /// A word, which must exist.
    fn word(self, index: usize) -> u64;

    /// The same, but `N` words from `first` on, if there are as many.
    fn some<const N: usize>(self, first: usize) -> Option<Self>;

    /// The `N` words from `first` on, if there are that many.
    fn block<const N: usize>(self, first: usize) -> Option<[u64; N]>;

    /// How many bits there are.
    fn bits(self) -> usize;

    /// How many of the first `size` bits there are.
    #[inline]
    fn clipped(self, size: usize) -> usize {
        size.min(self.bits())
    }

    /// The same, where the last word may have bits that do not exist; else `size`.
    fn bounded(self, size: usize) -> usize;
}

/// Bits that are set.
#[derive(Debug)]
pub(crate) struct Set<'words, W: Word = u64>(pub(crate) &'words [W]);

impl<W: Word> Clone for Set<'_, W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W: Word> Copy for Set<'_, W> {}

impl<W: Word> Bits for Set<'_, W> {
    #[inline]
    fn words(self) -> usize {
        self.0.len().div_ceil(W::PARTS)
    }

    #[inline]
    fn bits(self) -> usize {
        self.0.len() * W::BITS
    }

    #[inline(always)]
    fn bounded(self, size: usize) -> usize {
        if W::PARTS == 1 { size } else { self.clipped(size) }
    }

    #[inline]
    fn truncated(self, words: usize) -> Self {
        Self(&self.0[..words.saturating_mul(W::PARTS).min(self.0.len())])
    }

    #[inline]
    fn get(self, index: usize) -> Option<u64> {
        W::get(self.0, index)
    }

    #[inline]
    fn word(self, index: usize) -> u64 {
        W::word(self.0, index)
    }

    #[inline(always)]
    fn some<const N: usize>(self, first: usize) -> Option<Self> {
        Some(Self(self.0.get(first * W::PARTS..)?.get(..N * W::PARTS)?))
    }

    #[inline(always)]
    fn block<const N: usize>(self, first: usize) -> Option<[u64; N]> {
        W::block(self.0.get(first * W::PARTS..)?)
    }
}

/// Bits that are clear in something else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Not<B>(pub(crate) B);

impl<B: Bits> Bits for Not<B> {
    #[inline]
    fn words(self) -> usize {
        self.0.words()
    }

    #[inline]
    fn bits(self) -> usize {
        self.0.bits()
    }

    #[inline(always)]
    fn bounded(self, size: usize) -> usize {
        self.0.bounded(size)
    }

    #[inline]
    fn truncated(self, words: usize) -> Self {
        Self(self.0.truncated(words))
    }

    #[inline]
    fn get(self, index: usize) -> Option<u64> {
        Some(!self.0.get(index)?)
    }

    #[inline]
    fn word(self, index: usize) -> u64 {
        !self.0.word(index)
    }

    #[inline(always)]
    fn some<const N: usize>(self, first: usize) -> Option<Self> {
        Some(Self(self.0.some::<N>(first)?))
    }

    #[inline(always)]
    fn block<const N: usize>(self, first: usize) -> Option<[u64; N]> {
        Some(self.0.block(first)?.map(|word| !word))
    }
}

/// Bits that are set in both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct And<A, B>(pub(crate) A, pub(crate) B);

impl<A: Bits, B: Bits> Bits for And<A, B> {
    #[inline]
    fn words(self) -> usize {
        self.0.words().min(self.1.words())
    }

    #[inline]
    fn bits(self) -> usize {
        self.0.bits().min(self.1.bits())
    }

    #[inline(always)]
    fn bounded(self, size: usize) -> usize {
        self.0.bounded(self.1.bounded(size))
    }

    #[inline]
    fn truncated(self, words: usize) -> Self {
        Self(self.0.truncated(words), self.1.truncated(words))
    }

    #[inline]
    fn get(self, index: usize) -> Option<u64> {
        Some(self.0.get(index)? & self.1.get(index)?)
    }

    #[inline]
    fn word(self, index: usize) -> u64 {
        self.0.word(index) & self.1.word(index)
    }

    #[inline(always)]
    fn some<const N: usize>(self, first: usize) -> Option<Self> {
        Some(Self(self.0.some::<N>(first)?, self.1.some::<N>(first)?))
    }

    #[inline(always)]
    fn block<const N: usize>(self, first: usize) -> Option<[u64; N]> {
        let (a, b) = (self.0.block::<N>(first)?, self.1.block::<N>(first)?);
        Some(core::array::from_fn(|nth| a[nth] & b[nth]))
    }
}

/// Bits that are set in one or the other: those that are not clear in both.
pub(crate) fn or<A: Bits, B: Bits>(a: A, b: B) -> impl Bits {
    Not(And(Not(a), Not(b)))
}
