//! Words to search, one at a time: those of a slice, or what several slices make together.

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

/// Words in which a set bit is a hit.
pub(crate) trait Bits: Copy {
    /// How many words there are.
    fn words(self) -> usize;

    /// The same, but at most `words` of them.
    fn truncated(self, words: usize) -> Self;

    /// A word, which must exist.
    fn word(self, index: usize) -> u64;

    /// How many of the first `size` bits there are.
    #[inline]
    fn clipped(self, size: usize) -> usize {
        size.min(self.words() * WORD_BITS)
    }
}

/// Bits that are set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Set<'words>(pub(crate) &'words [u64]);

impl Bits for Set<'_> {
    #[inline]
    fn words(self) -> usize {
        self.0.len()
    }

    #[inline]
    fn truncated(self, words: usize) -> Self {
        Self(&self.0[..words.min(self.0.len())])
    }

    #[inline]
    fn word(self, index: usize) -> u64 {
        self.0[index]
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
    fn truncated(self, words: usize) -> Self {
        Self(self.0.truncated(words))
    }

    #[inline]
    fn word(self, index: usize) -> u64 {
        !self.0.word(index)
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
    fn truncated(self, words: usize) -> Self {
        Self(self.0.truncated(words), self.1.truncated(words))
    }

    #[inline]
    fn word(self, index: usize) -> u64 {
        self.0.word(index) & self.1.word(index)
    }
}

/// Bits that are set in one or the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Or<A, B>(pub(crate) A, pub(crate) B);

impl<A: Bits, B: Bits> Bits for Or<A, B> {
    #[inline]
    fn words(self) -> usize {
        self.0.words().min(self.1.words())
    }

    #[inline]
    fn truncated(self, words: usize) -> Self {
        Self(self.0.truncated(words), self.1.truncated(words))
    }

    #[inline]
    fn word(self, index: usize) -> u64 {
        self.0.word(index) | self.1.word(index)
    }
}
