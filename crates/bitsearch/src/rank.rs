//! An index of how many bits are set before each part of a map.

use alloc::vec::Vec;

use crate::bits::{Set, WORD_BITS, from};
use crate::cpu::{self, Cpu, Search};
use crate::iter::set_bits;
use crate::nth::{count_bits, nth_in_words};

/// How many words make a block.
const BLOCK: usize = 8;

const BLOCK_BITS: usize = BLOCK * WORD_BITS;

/// How many set bits make a chunk.
const CHUNK: usize = 512;

/// Where set bits are so far apart, on average, those of a chunk are noted one by one: a third of the map at most.
const SPARSE: usize = 48;

/// Where so far apart, every fourth: a quarter of the map at most.
const MIDDLING: usize = 16;

/// One set bit in this many is noted there.
const STEP: usize = 4;

/// Tells how many bits are set before a bit, and which bit has that many before it, without reading the map from its
/// beginning.
///
/// It lies beside a map that does not change any more, and does not hold it: each question comes with the words
/// that the index was made of. With others, the answers are wrong, or none. It takes a sixteenth of the map and 96
/// bits for every 512 that are set; and for each of these 4 more where they are as far apart as 16, on average, 16
/// where as far as 48, and 32 where as far as 128.
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
    /// The set bits of the chunks that are near, counted from the first block of each.
    near: Vec<u16>,
    /// The set bits of the chunks that are far.
    far: Vec<u32>,
    bits: usize,
}

/// Set bits whose ranks are the same when divided by [`CHUNK`].
#[derive(Clone, Copy, Debug)]
struct Chunk {
    /// In which block the first one is.
    block: u32,
    places: SetBitPlaces,
}

/// Where the set bits of a chunk are noted.
#[derive(Clone, Copy, Debug)]
enum SetBitPlaces {
    /// Nowhere.
    Dense,
    /// One of [`STEP`], in `near`, from there on.
    Middling(u32),
    /// In `near`, from there on.
    Near(u32),
    /// In `far`, from there on.
    Far(u32),
}

impl RankIndex {
    /// Makes an index of the first `bits` of `words`, of which there are no more than these.
    #[must_use]
    pub fn new(words: &[u64], bits: u32) -> Self {
        let bits = (words.len() * WORD_BITS).min(bits as usize);
        let words = &words[..bits.div_ceil(WORD_BITS)];
        let mut index = cpu::run(RankBuilder { words, bits });
        index.note_sparse_chunks(words);
        index
    }

    #[expect(clippy::cast_possible_truncation, reason = "there are no more bits than 32 can count")]
    fn note_sparse_chunks(&mut self, words: &[u64]) {
        for nth in 0..self.chunks.len() {
            let (first, end) = self.blocks(nth);
            let ones = (self.ones() - nth * CHUNK).min(CHUNK);
            let (start, span) = (first * BLOCK_BITS, (end - first) * BLOCK_BITS);
            if span < ones * MIDDLING {
                continue;
            }
            let before = nth * CHUNK - self.before[first] as usize;
            let places = set_bits(words, self.bits, start).skip(before).take(CHUNK);
            self.chunks[nth].places = if span < ones * SPARSE {
                let noted = SetBitPlaces::Middling(self.near.len() as u32);
                self.near.extend(places.step_by(STEP).map(|bit| (bit - start) as u16));
                noted
            } else if span <= 1 << 16 {
                let noted = SetBitPlaces::Near(self.near.len() as u32);
                self.near.extend(places.map(|bit| (bit - start) as u16));
                noted
            } else {
                let noted = SetBitPlaces::Far(self.far.len() as u32);
                self.far.extend(places.map(|bit| bit as u32));
                noted
            };
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
        // Behind the bits of the last chunk there are none.
        match chunk.places {
            SetBitPlaces::Dense => self.select_dense(words, n),
            SetBitPlaces::Middling(start) => {
                let noted = *self.near.get(start as usize + n % CHUNK / STEP)?;
                let noted = chunk.block as usize * BLOCK_BITS + usize::from(noted);
                nth_from(words, noted, n % STEP).filter(|bit| *bit < self.bits)
            }
            SetBitPlaces::Near(start) => {
                let bit = *self.near.get(start as usize + n % CHUNK)?;
                Some(chunk.block as usize * BLOCK_BITS + usize::from(bit))
            }
            SetBitPlaces::Far(start) => Some(*self.far.get(start as usize + n % CHUNK)? as usize),
        }
    }

    #[inline(never)]
    fn select_dense(&self, words: &[u64], n: usize) -> Option<usize> {
        let (first, end) = self.blocks(n / CHUNK);
        let before = self.before.get(first..=end)?;
        cpu::run(Select { before, words: words.get(first * BLOCK..)?, n })
            .map(|bit| first * BLOCK_BITS + bit)
            .filter(|bit| *bit < self.bits)
    }
}

/// The set bit that has `n` set bits before it from `bit` on, which is set: few and near.
#[inline]
fn nth_from(words: &[u64], bit: usize, n: usize) -> Option<usize> {
    let mut index = bit / WORD_BITS;
    let mut word = words.get(index)? & from(bit);
    for _ in 0..n {
        word &= word.wrapping_sub(1);
        while word == 0 {
            index += 1;
            word = *words.get(index)?;
        }
    }
    Some(index * WORD_BITS + word.trailing_zeros() as usize)
}

/// Looks for a set bit by its rank, in the blocks that have those of a chunk.
struct Select<'index> {
    before: &'index [u32],
    words: &'index [u64],
    n: usize,
}

impl Search for Select<'_> {
    type Found = Option<usize>;

    #[inline(always)]
    fn run<C: Cpu>(self, _: C) -> Option<usize> {
        let Self { before, words, n } = self;
        // Where it would be if they were as far apart everywhere; no chunk that is dense has many blocks.
        let mut block = (before.len() - 1) * (n % CHUNK) / CHUNK;
        while block > 0 && before[block] as usize > n {
            block -= 1;
        }
        while *before.get(block + 1)? as usize <= n {
            block += 1;
        }
        let words = words.get(block * BLOCK..)?;
        let in_block = nth_in_words(Set(words), 0, n - before[block] as usize)?;
        Some(block * BLOCK_BITS + in_block)
    }
}

struct RankBuilder<'words> {
    words: &'words [u64],
    bits: usize,
}

impl Search for RankBuilder<'_> {
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
                chunks.push(Chunk { block: block as u32, places: SetBitPlaces::Dense });
            }
        }
        before.push(ones as u32);
        RankIndex { before, chunks, near: Vec::new(), far: Vec::new(), bits }
    }
}
