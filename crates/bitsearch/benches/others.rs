//! What other crates can do, too: all set bits visited, the next clear one, and a set bit by its rank.
//!
//! Instructions for each are the difference of two runs under callgrind, with `--sample-count 1 --sample-size` of 100 and of 200.

use std::hint::black_box;

use bitsearch::{RankIndex, first_zero_bit, set_bits};
use bitvec::prelude::{BitVec, Lsb0};
use divan::Bencher;
use fixedbitset::FixedBitSet;
use hibitset::BitSetLike;
use roaring::RoaringBitmap;

const BITS: u32 = 327_680;

/// How far set bits are apart, on average.
const GAPS: [u32; 4] = [2, 16, 64, 500];

/// Set bits at random places, in order.
fn places(gap: u32) -> Vec<u32> {
    let random = std::iter::successors(Some(0x9e37_79b9_7f4a_7c15_u64), |word| {
        let word = word ^ word << 13;
        let word = word ^ word >> 7;
        Some(word ^ word << 17)
    });
    let places = random.skip(20).map(|word| u32::try_from(word >> 32).unwrap_or_default() % BITS);
    let places: std::collections::BTreeSet<u32> = places.take((BITS / gap) as usize).collect();
    places.into_iter().collect()
}

/// A set of numbers below [`BITS`].
trait BenchNumbers {
    fn of(numbers: &[u32]) -> Self;
    fn sum(&self) -> u64;
}

struct BenchWords(Vec<u64>);

impl BenchNumbers for BenchWords {
    fn of(numbers: &[u32]) -> Self {
        Self(numbers.iter().map(|it| *it as usize).collect::<bitsearch::BitSet>().into_words())
    }

    fn sum(&self) -> u64 {
        set_bits(&self.0, usize::MAX, 0).map(|bit| bit as u64).sum()
    }
}

impl BenchNumbers for BitVec<u64, Lsb0> {
    fn of(numbers: &[u32]) -> Self {
        Self::from_vec(BenchWords::of(numbers).0)
    }

    fn sum(&self) -> u64 {
        self.iter_ones().map(|bit| bit as u64).sum()
    }
}

impl BenchNumbers for FixedBitSet {
    fn of(numbers: &[u32]) -> Self {
        numbers.iter().map(|it| *it as usize).collect()
    }

    fn sum(&self) -> u64 {
        self.ones().map(|bit| bit as u64).sum()
    }
}

impl BenchNumbers for hibitset::BitSet {
    fn of(numbers: &[u32]) -> Self {
        numbers.iter().copied().collect()
    }

    fn sum(&self) -> u64 {
        self.iter().map(u64::from).sum()
    }
}

impl BenchNumbers for RoaringBitmap {
    fn of(numbers: &[u32]) -> Self {
        numbers.iter().copied().collect()
    }

    fn sum(&self) -> u64 {
        self.iter().map(u64::from).sum()
    }
}

#[divan::bench(types = [BenchWords, BitVec<u64, Lsb0>, FixedBitSet, hibitset::BitSet, RoaringBitmap], args = GAPS)]
fn all_set_bits<N: BenchNumbers>(bencher: Bencher, gap: u32) {
    let numbers = N::of(&places(gap));
    bencher.bench_local(|| black_box(&numbers).sum());
}

/// The lowest clear bit, where all but the last is set.
#[divan::bench(args = ["ours", "bitvec", "fixedbitset"])]
fn far_clear_bit(bencher: Bencher, whose: &str) {
    let below: Vec<u32> = (0..BITS - 1).collect();
    let (words, bits, set) =
        (BenchWords::of(&below), BitVec::<u64, Lsb0>::of(&below), FixedBitSet::of(&below));
    bencher.bench_local(|| match whose {
        "ours" => first_zero_bit(&black_box(&words).0, BITS as usize),
        "bitvec" => black_box(&bits).first_zero(),
        _ => black_box(&set).zeroes().next(),
    });
}

#[divan::bench(args = GAPS)]
fn rank_ours(bencher: Bencher, gap: u32) {
    let (places, mut turn) = (places(gap), 0);
    let words = BenchWords::of(&places).0;
    let index = RankIndex::new(&words, BITS);
    bencher.bench_local(|| {
        turn = (turn + 7919) % places.len();
        index.select(black_box(&words), turn)
    });
}

#[divan::bench(args = GAPS)]
fn rank_roaring(bencher: Bencher, gap: u32) {
    let (places, mut turn) = (places(gap), 0);
    let set = RoaringBitmap::of(&places);
    bencher.bench_local(|| {
        turn = (turn + 7919) % places.len();
        black_box(&set).select(u32::try_from(turn).unwrap_or_default())
    });
}

fn main() {
    divan::main();
}
