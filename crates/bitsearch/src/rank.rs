//! An index of how many bits are set before each part of a map.

use alloc::vec::Vec;

use crate::bits::WORD_BITS;
use crate::cpu::{self, Cpu, Search};
use crate::iter::set_bits;
use crate::nth::{count_bits, nth_bit};

/// How many words make a block.
const BLOCK: usize = 8;

const BLOCK_BITS: usize = BLOCK * WORD_BITS;

/// So many set bits make a chunk.
const CHUNK: usize = 512;

/// Where set bits are so far apart, on average, those of a chunk are noted one by one: an eighth of the map at most.
const SPARSE: usize = 256;

/// Tells how many bits are set before a bit, and which bit has so many before it, without reading the map from its
/// beginning.
///
/// It lies beside a map that does not change any more, and does not hold it: each question comes with the words
/// that the index was made of. With others, the answers are wrong, or none. It takes a sixteenth of the map and 64
/// bits for every 512 that are set; and 32 more for each of these that are as far apart as 256, on average.
///
/// ```
/// let map = [0b1011, 0, 1 << 63];
/// let index = bitsearch::RankIndex::new(&map, 192);
/// assert_eq!(index.rank(&map, 3), 2);
/// assert_eq!(index.select(&map, 3), Some(191));
/// assert_eq!((index.ones(), index.select(&map, 4)), (4, None));
/// ```
#[derive(Clone, Debug)]
pub struct RankIndex {
    /// How many bits are set before each block, and before the end.
    before: Vec<u32>,
    chunks: Vec<Chunk>,
    /// The set bits of the sparse chunks.
    places: Vec<u32>,
    bits: usize,
}

/// Set bits whose ranks differ in what is left when divided by [`CHUNK`].
#[derive(Clone, Copy, Debug)]
struct Chunk {
    /// In which block the first one is.
    block: u32,
    /// From where on they are noted, or [`DENSE`].
    places: u32,
}

/// The bits of a chunk are not noted.
const DENSE: u32 = u32::MAX;

impl RankIndex {
    /// Makes an index of the first `bits` of `words`, of which there are no more than these.
    #[must_use]
    pub fn new(words: &[u64], bits: u32) -> Self {
        let bits = (words.len() * WORD_BITS).min(bits as usize);
        let words = &words[..bits.div_ceil(WORD_BITS)];
        let mut index = cpu::run(Build { words, bits });
        index.note_sparse_chunks(words);
        index
    }

    #[expect(clippy::cast_possible_truncation, reason = "there are no more bits than 32 can count")]
    fn note_sparse_chunks(&mut self, words: &[u64]) {
        for nth in 0..self.chunks.len() {
            let (first, end) = self.blocks(nth);
            let ones = (self.ones() - nth * CHUNK).min(CHUNK);
            if (end - first) * BLOCK_BITS >= ones * SPARSE {
                self.chunks[nth].places = self.places.len() as u32;
                let before = nth * CHUNK - self.before[first] as usize;
                let ones = set_bits(words, self.bits, first * BLOCK_BITS).skip(before);
                self.places.extend(ones.take(CHUNK).map(|bit| bit as u32));
            }
        }
    }

    /// Where the blocks begin and end that have bits of a chunk.
    #[inline]
    fn blocks(&self, chunk: usize) -> (usize, usize) {
        let first = self.chunks[chunk].block as usize;
        let end = self
            .chunks
            .get(chunk + 1)
            .map_or(self.before.len() - 1, |next| next.block as usize + 1);
        (first, end)
    }

    /// How many bits are set.
    #[must_use]
    pub fn ones(&self) -> usize {
        self.before.last().map_or(0, |ones| *ones as usize)
    }

    /// How many bits are set below `bit`.
    #[must_use]
    pub fn rank(&self, words: &[u64], bit: usize) -> usize {
        let bit = bit.min(self.bits);
        let block = bit / BLOCK_BITS;
        let words = words.get(block * BLOCK..).unwrap_or_default();
        self.before[block] as usize + count_bits(words, bit % BLOCK_BITS)
    }

    /// The set bit that has `n` set bits below it.
    #[inline]
    #[must_use]
    pub fn select(&self, words: &[u64], n: usize) -> Option<usize> {
        let chunk = self.chunks.get(n / CHUNK)?;
        if chunk.places == DENSE {
            return self.select_dense(words, n);
        }
        // Behind the bits of the last chunk there are none.
        Some(*self.places.get(chunk.places as usize + n % CHUNK)? as usize)
    }

    #[inline(never)]
    fn select_dense(&self, words: &[u64], n: usize) -> Option<usize> {
        if n >= self.ones() {
            return None;
        }
        let (first, end) = self.blocks(n / CHUNK);
        let later = self.before[first + 1..end].partition_point(|before| *before as usize <= n);
        let block = first + later;
        let start = block * BLOCK_BITS;
        let in_block = n - self.before[block] as usize;
        Some(start + nth_bit(words.get(block * BLOCK..)?, self.bits - start, in_block)?)
    }
}

struct Build<'words> {
    words: &'words [u64],
    bits: usize,
}

impl Search for Build<'_> {
    type Found = RankIndex;

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "there are no more bits than 32 can count")]
    fn run<C: Cpu>(self, _: C) -> RankIndex {
        let Self { words, bits } = self;
        let blocks = words.len().div_ceil(BLOCK);
        let (mut before, mut chunks) = (Vec::with_capacity(blocks + 1), Vec::new());
        let mut ones = 0;
        for (block, words) in words.chunks(BLOCK).enumerate() {
            before.push(ones as u32);
            let bits = bits - block * BLOCK_BITS;
            ones += match words.first_chunk::<BLOCK>() {
                Some(words) if bits >= BLOCK_BITS => {
                    words.iter().map(|word| word.count_ones() as usize).sum()
                }
                _ => count_bits(words, bits),
            };
            if chunks.len() * CHUNK < ones {
                chunks.push(Chunk { block: block as u32, places: DENSE });
            }
        }
        before.push(ones as u32);
        RankIndex { before, chunks, places: Vec::new(), bits }
    }
}
