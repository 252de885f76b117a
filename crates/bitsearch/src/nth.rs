//! The bit of a rank, and how many there are.

use crate::bits::{And, Bits, Not, Set, WORD_BITS, below};
use crate::cpu::{self, Cpu, Search};
use crate::word::Word;

/// How many words are counted together.
const BLOCK: usize = 8;

/// The set bit below `size` that has `n` set bits below it.
///
/// ```
/// assert_eq!(bitsearch::nth_bit(&[0b1101_u64], 64, 0), Some(0));
/// assert_eq!(bitsearch::nth_bit(&[0b1101_u64], 64, 2), Some(3));
/// assert_eq!(bitsearch::nth_bit(&[0b1101_u64], 64, 3), None);
/// ```
#[inline]
#[must_use]
pub fn nth_bit<W: Word>(words: &[W], size: usize, n: usize) -> Option<usize> {
    nth(Set(words), size, n)
}

/// The clear bit below `size` that has `n` clear bits below it.
///
/// ```
/// assert_eq!(bitsearch::nth_zero_bit(&[0b1101_u64], 64, 1), Some(4));
/// ```
#[inline]
#[must_use]
pub fn nth_zero_bit<W: Word>(words: &[W], size: usize, n: usize) -> Option<usize> {
    nth(Not(Set(words)), size, n)
}

/// The same of bits that are set in both.
///
/// ```
/// assert_eq!(bitsearch::nth_and_bit(&[0b1101_u64], &[0b1011_u64], 64, 1), Some(3));
/// ```
#[inline]
#[must_use]
pub fn nth_and_bit<W: Word>(a: &[W], b: &[W], size: usize, n: usize) -> Option<usize> {
    nth(And(Set(a), Set(b)), size, n)
}

/// The same of bits that are set in `a` and clear in `b`.
///
/// ```
/// assert_eq!(bitsearch::nth_andnot_bit(&[0b1101_u64], &[0b0100_u64], 64, 1), Some(3));
/// ```
#[inline]
#[must_use]
pub fn nth_andnot_bit<W: Word>(a: &[W], b: &[W], size: usize, n: usize) -> Option<usize> {
    nth(And(Set(a), Not(Set(b))), size, n)
}

/// The same of bits that are set in `a` and `b` and clear in `c`.
///
/// ```
/// assert_eq!(bitsearch::nth_and_andnot_bit(&[0b1101_u64], &[0b1111_u64], &[0b0100_u64], 64, 1), Some(3));
/// ```
#[inline]
#[must_use]
pub fn nth_and_andnot_bit<W: Word>(
    a: &[W],
    b: &[W],
    c: &[W],
    size: usize,
    n: usize,
) -> Option<usize> {
    nth(And(And(Set(a), Set(b)), Not(Set(c))), size, n)
}

/// How many bits are set below `size`.
///
/// ```
/// assert_eq!(bitsearch::count_bits(&[u64::MAX, 0b1101], 67), 66);
/// ```
#[must_use]
pub fn count_bits<W: Word>(words: &[W], size: usize) -> usize {
    let bits = Set(words);
    cpu::run(BitCount { bits, size: bits.clipped(size) })
}

/// One of the set bits below `size`, as `pick` chooses a rank below their number.
///
/// If `pick` is uniform, so is the bit. Where nothing is set it is not asked.
///
/// ```
/// assert_eq!(bitsearch::random_bit(&[0b1101_u64], 64, |ranks| ranks - 1), Some(3));
/// assert_eq!(bitsearch::random_bit(&[0_u64], 64, |_| 0), None);
/// ```
pub fn random_bit<W: Word>(
    words: &[W],
    size: usize,
    pick: impl FnOnce(usize) -> usize,
) -> Option<usize> {
    match count_bits(words, size) {
        0 => None,
        ranks => nth_bit(words, size, pick(ranks)),
    }
}

/// The hit below `size` that has `n` hits below it.
#[inline]
fn nth<B: Bits>(bits: B, size: usize, n: usize) -> Option<usize> {
    let size = bits.clipped(size);
    if n >= size { None } else { cpu::run(Nth { bits, size, n }) }
}

struct Nth<B> {
    bits: B,
    size: usize,
    n: usize,
}

impl<B: Bits> Search for Nth<B> {
    type Found = Option<usize>;

    #[inline(always)]
    fn run<C: Cpu>(self, _: C) -> Option<usize> {
        let Self { bits, size, mut n } = self;
        let bits = bits.truncated(size.div_ceil(WORD_BITS));
        let mut index = 0;
        while index + BLOCK <= bits.words() {
            let ones = (index..index + BLOCK).map(|index| ones(bits.word(index))).sum();
            if n < ones {
                break;
            }
            n -= ones;
            index += BLOCK;
        }
        nth_in_words(bits, index, n).filter(|bit| *bit < size)
    }
}

/// The hit in words from `index` on that has `n` hits below it there.
#[inline(always)]
pub(crate) fn nth_in_words<B: Bits>(bits: B, mut index: usize, mut n: usize) -> Option<usize> {
    while index < bits.words() {
        let word = bits.word(index);
        let ones = ones(word);
        if n < ones {
            return Some(index * WORD_BITS + nth_in_word(word, n));
        }
        n -= ones;
        index += 1;
    }
    None
}

struct BitCount<B> {
    bits: B,
    size: usize,
}

impl<B: Bits> Search for BitCount<B> {
    type Found = usize;

    #[inline(always)]
    fn run<C: Cpu>(self, _: C) -> usize {
        let whole = self.bits.truncated(self.size / WORD_BITS);
        let count: usize = (0..whole.words()).map(|index| ones(whole.word(index))).sum();
        match self.size % WORD_BITS {
            0 => count,
            _ => count + ones(self.bits.word(self.size / WORD_BITS) & below(self.size)),
        }
    }
}

#[inline(always)]
fn ones(word: u64) -> usize {
    word.count_ones() as usize
}

/// The set bit of `word` that has `n` set bits below it; there must be one.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "no more than the bits of a word")]
fn nth_in_word(word: u64, n: usize) -> usize {
    let (mut word, mut n, mut bit) = (word, n, 0);
    if n >= 8 {
        // Of each byte, how many bits are set, then how many with those of the bytes below it.
        let pairs = word - ((word >> 1) & (EACH_BYTE * 0x55));
        let fours = (pairs & (EACH_BYTE * 0x33)) + ((pairs >> 2) & (EACH_BYTE * 0x33));
        let bytes = (fours + (fours >> 4)) & (EACH_BYTE * 0x0f);
        let up_to = bytes.wrapping_mul(EACH_BYTE);
        // The bytes with which there are `n` at most: the bit is behind them.
        let passed = ((n as u64 * EACH_BYTE) | (EACH_BYTE << 7)) - up_to;
        let passed = (passed >> 7) & EACH_BYTE;
        bit = (passed.wrapping_mul(EACH_BYTE) >> 56) as usize * 8;
        n -= (up_to << 8 >> bit) as usize & 0xff;
        word >>= bit;
    }
    for _ in 0..n {
        word &= word - 1;
    }
    bit + word.trailing_zeros() as usize
}

/// One in each byte of a word.
const EACH_BYTE: u64 = 0x0101_0101_0101_0101;
