//! Areas of clear bits in maps of random bits and in sparse ones, beside the ways that Linux has.
//!
//! `anybinder bench find-bit` measures the same, with restarts and larger maps, and the other lines
//! of Linux's `find_bit_benchmark`.

mod baselines;

use std::hint::black_box;

use bitsearch::{
    RankIndex, first_and_bit, first_bit, last_bit, next_and_bit, next_bit, next_zero_bit, nth_bit,
    set_bits,
};
use divan::Bencher;
use roaring::RoaringBitmap;

const BITS: usize = 327_680;

const COUNTS: [usize; 5] = [8, 32, 128, 1024, 4096];

/// A step of `xorshift64`, which is random enough for bits.
fn words(seed: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(seed), |word| {
        let word = word ^ word << 13;
        let word = word ^ word >> 7;
        Some(word ^ word << 17)
    })
    .skip(20)
}

fn random_map(seed: u64) -> Vec<u64> {
    words(seed).take(BITS / 64).collect()
}

fn sparse_map(seed: u64) -> Vec<u64> {
    let mut map = vec![0; BITS / 64];
    for word in words(seed).take(BITS / 500) {
        let bit = usize::try_from(word >> 32).unwrap_or_default() % BITS;
        map[bit / 64] |= 1 << (bit % 64);
    }
    map
}

/// A way to look for an area.
trait AreaSearch {
    fn find(map: &[u64], len: usize) -> usize;
}

struct Old;

impl AreaSearch for Old {
    fn find(map: &[u64], len: usize) -> usize {
        baselines::old_area(map, BITS, 0, len).place
    }
}

struct New;

impl AreaSearch for New {
    fn find(map: &[u64], len: usize) -> usize {
        baselines::new_area(map, BITS, 0, len).place
    }
}

struct Naive;

impl AreaSearch for Naive {
    fn find(map: &[u64], len: usize) -> usize {
        baselines::naive_area(map, BITS, 0, len)
    }
}

struct Ours;

impl AreaSearch for Ours {
    fn find(map: &[u64], len: usize) -> usize {
        bitsearch::next_zero_area(map, BITS, 0, len).unwrap_or(usize::MAX)
    }
}

#[divan::bench(types = [Old, New, Naive, Ours], args = COUNTS)]
fn random_area<W: AreaSearch>(bencher: Bencher, len: usize) {
    let map = random_map(1);
    bencher.bench_local(|| W::find(black_box(&map), black_box(len)));
}

#[divan::bench(types = [Old, New, Naive, Ours], args = COUNTS)]
fn sparse_area<W: AreaSearch>(bencher: Bencher, len: usize) {
    let map = sparse_map(1);
    bencher.bench_local(|| W::find(black_box(&map), black_box(len)));
}

/// Set bits by their ranks, beside a compressed set.
#[divan::bench(args = [Rank::Index, Rank::Roaring, Rank::Scan])]
fn sparse_rank(bencher: Bencher, way: Rank) {
    let map = sparse_map(1);
    let index = RankIndex::new(&map, u32::try_from(BITS).unwrap_or_default());
    let set: RoaringBitmap =
        set_bits(&map, BITS, 0).filter_map(|bit| u32::try_from(bit).ok()).collect();
    let ranks: Vec<u32> =
        (0..).step_by(37).take_while(|rank| u64::from(*rank) < set.len()).collect();
    bencher.bench_local(|| {
        let find = |rank: u32| match way {
            Rank::Index => index.select(black_box(&map), rank as usize),
            Rank::Roaring => set.select(rank).map(|bit| bit as usize),
            Rank::Scan => nth_bit(black_box(&map), BITS, rank as usize),
        };
        ranks.iter().filter_map(|rank| find(*rank)).sum::<usize>()
    });
}

/// A way to find the bit of a rank.
#[derive(Clone, Copy, Debug)]
enum Rank {
    Index,
    Roaring,
    Scan,
}

/// A search that finds the only thing there is, at the far end of two maps.
struct FarSearch(&'static str, fn(&[u64], &[u64]) -> usize);

impl std::fmt::Display for FarSearch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.pad(self.0)
    }
}

const FAR: &[FarSearch] = &[
    FarSearch("next plain", |map, _| baselines::next_bit(map, BITS, 1)),
    FarSearch("next ours", |map, _| next_bit(map, BITS, 1).unwrap_or(BITS)),
    FarSearch("next_zero plain", |_, full| baselines::next_zero_bit(full, BITS, 1)),
    FarSearch("next_zero ours", |_, full| next_zero_bit(full, BITS, 1).unwrap_or(BITS)),
    FarSearch("next_and plain", |map, full| baselines::next_and_bit(map, full, BITS, 1)),
    FarSearch("next_and ours", |map, full| next_and_bit(map, full, BITS, 1).unwrap_or(BITS)),
    FarSearch("first plain", |map, _| baselines::first_bit(map, BITS)),
    FarSearch("first ours", |map, _| first_bit(map, BITS).unwrap_or(BITS)),
    FarSearch("first_and plain", |map, full| baselines::first_and_bit(map, full, BITS)),
    FarSearch("first_and ours", |map, full| first_and_bit(map, full, BITS).unwrap_or(BITS)),
    FarSearch("last plain", |map, _| baselines::last_bit(map, BITS - 64)),
    FarSearch("last ours", |map, _| last_bit(map, BITS - 64).unwrap_or(BITS)),
    FarSearch("nth plain", |_, full| baselines::nth_bit(full, BITS, BITS - 64)),
    FarSearch("nth ours", |_, full| nth_bit(full, BITS, BITS - 64).unwrap_or(BITS)),
];

#[divan::bench(args = FAR)]
fn far(bencher: Bencher, search: &FarSearch) {
    let (mut map, mut full) = (vec![0; BITS / 64], vec![u64::MAX; BITS / 64]);
    map[BITS / 64 - 1] = 1 << 7;
    full[BITS / 64 - 1] = !(1 << 8);
    bencher.bench_local(|| search.1(black_box(&map), black_box(&full)));
}

fn main() {
    divan::main();
}
