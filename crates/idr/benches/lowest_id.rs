//! Freeing a random id of a full set and taking the lowest free one again.
//!
//! Beside the pool: a scan over a `BTreeMap` in order of its keys, which is how the handles of a
//! process were once found, and a flat bitmap, which is how they are found since.

use std::collections::BTreeMap;

use divan::{Bencher, black_box};
use idr::IdPool;

const LIVE: [u32; 5] = [100, 1_000, 10_000, 100_000, 1_000_000];

/// What the bench asks of a set of ids.
trait LowestFree {
    /// Makes a set that holds `0..live`.
    fn filled(live: u32) -> Self;
    fn release(&mut self, id: u32);
    fn acquire(&mut self) -> u32;
}

impl LowestFree for IdPool {
    fn filled(live: u32) -> Self {
        let mut pool = Self::new();
        for _ in 0..live {
            pool.acquire();
        }
        pool
    }

    fn release(&mut self, id: u32) {
        self.release_id(id).expect("an id in use");
    }

    fn acquire(&mut self) -> u32 {
        self.acquire_lowest(0).expect("memory")
    }
}

impl LowestFree for BTreeMap<u32, ()> {
    fn filled(live: u32) -> Self {
        (0..live).map(|id| (id, ())).collect()
    }

    fn release(&mut self, id: u32) {
        self.remove(&id);
    }

    fn acquire(&mut self) -> u32 {
        let mut free = 0;
        for id in self.keys() {
            if *id > free {
                break;
            }
            free = id + 1;
        }
        self.insert(free, ());
        free
    }
}

/// A bitmap without summaries, of a fixed size.
struct FlatBitmap(Vec<u64>);

impl LowestFree for FlatBitmap {
    fn filled(live: u32) -> Self {
        let mut bitmap = Self(vec![0; live.div_ceil(64) as usize]);
        for _ in 0..live {
            bitmap.acquire();
        }
        bitmap
    }

    fn release(&mut self, id: u32) {
        self.0[id as usize / 64] &= !(1 << (id % 64));
    }

    fn acquire(&mut self) -> u32 {
        let id = bitsearch::next_zero_bit(&self.0, self.0.len() * 64, 0).expect("a free id");
        self.0[id / 64] |= 1 << (id % 64);
        u32::try_from(id).expect("a small id")
    }
}

#[divan::bench(types = [IdPool, FlatBitmap, BTreeMap<u32, ()>], args = LIVE)]
fn free_one_take_lowest<T: LowestFree>(bencher: Bencher, live: u32) {
    let mut ids = T::filled(live);
    let mut seed = 1u32;
    bencher.bench_local(|| {
        // A linear congruential step: cheap beside the operations measured.
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ids.release(seed % live);
        black_box(ids.acquire())
    });
}

fn main() {
    divan::main();
}
