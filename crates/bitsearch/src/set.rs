//! A set of numbers that owns its bitmap.

use alloc::vec::Vec;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::iter::FusedIterator;
use core::ops::Range;

use crate::backward::last_bit;
use crate::bits::{Set, WORD_BITS};
use crate::change;
use crate::forward::{first_and_bit, first_andnot_bit, first_bit};
use crate::iter::{Hits, hits};
use crate::nth::count_bits;

/// A set of numbers, a bit each, that grows by itself.
///
/// Its memory is that of a bitmap up to the highest number there ever was, so numbers should be small. All
/// searches can be had with its [`words`](Self::words).
///
/// ```
/// use bitsearch::BitSet;
///
/// let mut set = BitSet::from_iter([1, 2, 130]);
/// assert!(set.insert(7) && !set.insert(2));
/// assert!(set.remove(1) && !set.contains(1));
/// assert!(set.iter().rev().eq([130, 7, 2]));
/// set.intersect_with(&BitSet::from_iter(0..100));
/// assert_eq!(set, BitSet::from_iter([7, 2]));
/// ```
#[derive(Clone, Default)]
pub struct BitSet {
    words: Vec<u64>,
}

impl BitSet {
    /// Makes an empty set, without memory from the heap.
    #[must_use]
    pub const fn new() -> Self {
        Self { words: Vec::new() }
    }

    /// Makes a set of the places of the bits that are set.
    #[must_use]
    pub const fn from_words(words: Vec<u64>) -> Self {
        Self { words }
    }

    /// The bits, for all searches; behind the last word, all numbers are absent.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Gives the bits away.
    #[must_use]
    pub fn into_words(self) -> Vec<u64> {
        self.words
    }

    /// Puts `number` into the set, and returns whether it was absent.
    ///
    /// # Panics
    ///
    /// When there is no memory for a bitmap up to `number`.
    #[inline]
    pub fn insert(&mut self, number: usize) -> bool {
        if number / WORD_BITS >= self.words.len() {
            self.grow(number / WORD_BITS + 1);
        }
        let word = &mut self.words[number / WORD_BITS];
        let before = *word;
        *word |= 1 << (number % WORD_BITS);
        *word != before
    }

    /// Takes `number` out of the set, and returns whether it was there.
    #[inline]
    pub fn remove(&mut self, number: usize) -> bool {
        let Some(word) = self.words.get_mut(number / WORD_BITS) else { return false };
        let before = *word;
        *word &= !(1 << (number % WORD_BITS));
        *word != before
    }

    /// Whether `number` is in the set.
    #[inline]
    #[must_use]
    pub fn contains(&self, number: usize) -> bool {
        change::is_set(&self.words, number)
    }

    /// Puts all of `numbers` into the set.
    ///
    /// # Panics
    ///
    /// When there is no memory for a bitmap up to their end.
    pub fn insert_range(&mut self, numbers: Range<usize>) {
        if !numbers.is_empty() {
            self.grow(numbers.end.div_ceil(WORD_BITS));
            change::set_range(&mut self.words, numbers);
        }
    }

    /// Takes all of `numbers` out of the set.
    pub fn remove_range(&mut self, numbers: Range<usize>) {
        change::clear_range(&mut self.words, numbers);
    }

    /// Takes all numbers out of the set, and keeps the memory.
    pub fn clear(&mut self) {
        self.words.clear();
    }

    /// Gives memory back that no number needs.
    pub fn shrink_to_fit(&mut self) {
        self.words.truncate(self.trimmed().len());
        self.words.shrink_to_fit();
    }

    /// How many numbers there are, which are counted.
    #[must_use]
    pub fn len(&self) -> usize {
        count_bits(&self.words, usize::MAX)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first().is_none()
    }

    /// The lowest number.
    #[must_use]
    pub fn first(&self) -> Option<usize> {
        first_bit(&self.words, usize::MAX)
    }

    /// The highest number.
    #[must_use]
    pub fn last(&self) -> Option<usize> {
        last_bit(&self.words, usize::MAX)
    }

    /// All numbers in order.
    #[must_use]
    pub fn iter(&self) -> Numbers<'_> {
        Numbers(hits(Set(&self.words), usize::MAX, 0))
    }

    /// Puts all numbers of `other` into the set.
    pub fn union_with(&mut self, other: &Self) {
        let others = other.trimmed();
        self.grow(others.len());
        change::or_range(&mut self.words, others, 0..usize::MAX);
    }

    /// Takes the numbers out of the set that are not in `other`.
    pub fn intersect_with(&mut self, other: &Self) {
        self.words.truncate(other.words.len());
        change::and_range(&mut self.words, &other.words, 0..usize::MAX);
    }

    /// Takes the numbers of `other` out of the set.
    pub fn subtract(&mut self, other: &Self) {
        change::andnot_range(&mut self.words, &other.words, 0..usize::MAX);
    }

    /// Whether no number is in both.
    #[must_use]
    pub fn is_disjoint(&self, other: &Self) -> bool {
        first_and_bit(&self.words, &other.words, usize::MAX).is_none()
    }

    /// Whether all numbers are in `other`, too.
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        let words = self.trimmed();
        words.len() <= other.words.len()
            && first_andnot_bit(words, &other.words, usize::MAX).is_none()
    }

    /// Makes room for that many words at least.
    #[inline(never)]
    fn grow(&mut self, words: usize) {
        if words > self.words.len() {
            self.words.resize(words, 0);
        }
    }

    /// The words up to the last that is not 0, by which sets are equal.
    fn trimmed(&self) -> &[u64] {
        let words = self.last().map_or(0, |last| last / WORD_BITS + 1);
        &self.words[..words]
    }
}

/// The numbers of a [`BitSet`], in order.
#[derive(Clone, Debug)]
pub struct Numbers<'set>(Hits<Set<'set>>);

impl Iterator for Numbers<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        self.0.next()
    }
}

impl DoubleEndedIterator for Numbers<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<usize> {
        self.0.next_back()
    }
}

impl FusedIterator for Numbers<'_> {}

impl<'set> IntoIterator for &'set BitSet {
    type Item = usize;
    type IntoIter = Numbers<'set>;

    fn into_iter(self) -> Numbers<'set> {
        self.iter()
    }
}

impl Extend<usize> for BitSet {
    fn extend<I: IntoIterator<Item = usize>>(&mut self, numbers: I) {
        for number in numbers {
            self.insert(number);
        }
    }
}

impl FromIterator<usize> for BitSet {
    fn from_iter<I: IntoIterator<Item = usize>>(numbers: I) -> Self {
        let mut set = Self::new();
        set.extend(numbers);
        set
    }
}

impl PartialEq for BitSet {
    fn eq(&self, other: &Self) -> bool {
        self.trimmed() == other.trimmed()
    }
}

impl Eq for BitSet {}

impl Hash for BitSet {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.trimmed().hash(hasher);
    }
}

impl fmt::Debug for BitSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self).finish()
    }
}

/// As a sequence of words, without those behind the last number.
#[cfg(feature = "serde")]
impl serde::Serialize for BitSet {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.trimmed().serialize(serializer)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for BitSet {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from_words)
    }
}
