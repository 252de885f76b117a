//! The map beside others: a value looked up, and one more and one less, by one thread and by four.
//!
//! All but `slab` and `sharded-slab` leave the choice of an id to the caller, here a counter; and all but ours keep the value
//! in line. Instructions for each are the difference of two runs under callgrind, with `--sample-count 1 --sample-size` of
//! 1000 and of 2000.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use divan::Bencher;
use idr::{Idr, pin};

const LIVE: [u32; 2] = [100, 10_000];

const THREADS: [usize; 2] = [1, 4];

/// What the bench asks of a map. Its ids are `0..live`, but where a map chooses its own.
trait Map: Send + Sync {
    type Id: Copy + Send + Sync;

    fn new() -> Self;
    /// Puts a value in, by `id` or by an id of its own, and returns that.
    fn insert(&self, id: u32) -> Self::Id;
    fn remove(&self, id: Self::Id);
    fn find(&self, id: Self::Id) -> bool;
}

impl Map for Idr<u64> {
    type Id = u32;

    fn new() -> Self {
        Self::default()
    }

    fn insert(&self, id: u32) -> u32 {
        self.alloc(0..=u32::MAX, Some(Arc::new(id.into()))).expect("a free id")
    }

    fn remove(&self, id: u32) {
        black_box(Idr::remove(self, id).expect("an id of ours"));
    }

    fn find(&self, id: u32) -> bool {
        Idr::find(self, id, &pin()).is_some_and(|value| black_box(*value) < u64::MAX)
    }
}

struct LockedTree(RwLock<BTreeMap<u32, u64>>);

impl Map for LockedTree {
    type Id = u32;

    fn new() -> Self {
        Self(RwLock::default())
    }

    fn insert(&self, id: u32) -> u32 {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(id, id.into());
        id
    }

    fn remove(&self, id: u32) {
        black_box(self.0.write().unwrap_or_else(PoisonError::into_inner).remove(&id));
    }

    fn find(&self, id: u32) -> bool {
        let tree = self.0.read().unwrap_or_else(PoisonError::into_inner);
        tree.get(&id).is_some_and(|value| black_box(*value) < u64::MAX)
    }
}

struct LockedSlab(RwLock<slab::Slab<u64>>);

impl Map for LockedSlab {
    type Id = usize;

    fn new() -> Self {
        Self(RwLock::default())
    }

    fn insert(&self, id: u32) -> usize {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(id.into())
    }

    fn remove(&self, id: usize) {
        black_box(self.0.write().unwrap_or_else(PoisonError::into_inner).remove(id));
    }

    fn find(&self, id: usize) -> bool {
        let slab = self.0.read().unwrap_or_else(PoisonError::into_inner);
        slab.get(id).is_some_and(|value| black_box(*value) < u64::MAX)
    }
}

impl Map for sharded_slab::Slab<u64> {
    type Id = usize;

    fn new() -> Self {
        Self::default()
    }

    fn insert(&self, id: u32) -> usize {
        Self::insert(self, id.into()).expect("room")
    }

    fn remove(&self, id: usize) {
        black_box(self.take(id));
    }

    fn find(&self, id: usize) -> bool {
        self.get(id).is_some_and(|value| black_box(*value) < u64::MAX)
    }
}

impl Map for dashmap::DashMap<u32, u64> {
    type Id = u32;

    fn new() -> Self {
        Self::default()
    }

    fn insert(&self, id: u32) -> u32 {
        Self::insert(self, id, id.into());
        id
    }

    fn remove(&self, id: u32) {
        black_box(Self::remove(self, &id));
    }

    fn find(&self, id: u32) -> bool {
        self.get(&id).is_some_and(|value| black_box(*value) < u64::MAX)
    }
}

struct Papaya(papaya::HashMap<u32, u64>);

impl Map for Papaya {
    type Id = u32;

    fn new() -> Self {
        Self(papaya::HashMap::default())
    }

    fn insert(&self, id: u32) -> u32 {
        self.0.pin().insert(id, id.into());
        id
    }

    fn remove(&self, id: u32) {
        black_box(self.0.pin().remove(&id));
    }

    fn find(&self, id: u32) -> bool {
        self.0.pin().get(&id).is_some_and(|value| black_box(*value) < u64::MAX)
    }
}

struct Scc(scc::HashMap<u32, u64>);

impl Map for Scc {
    type Id = u32;

    fn new() -> Self {
        Self(scc::HashMap::default())
    }

    fn insert(&self, id: u32) -> u32 {
        // No other thread has the id.
        let _ = self.0.insert_sync(id, id.into());
        id
    }

    fn remove(&self, id: u32) {
        black_box(self.0.remove_sync(&id));
    }

    fn find(&self, id: u32) -> bool {
        self.0.read_sync(&id, |_, value| black_box(*value) < u64::MAX).is_some()
    }
}

#[divan::bench(types = [
    Idr<u64>, LockedTree, LockedSlab, sharded_slab::Slab<u64>, dashmap::DashMap<u32, u64>, Papaya, Scc,
], args = LIVE, threads = THREADS)]
fn find<M: Map>(bencher: Bencher, live: u32) {
    let map = M::new();
    let ids: Vec<M::Id> = (0..live).map(|id| map.insert(id)).collect();
    let turn = AtomicU32::new(0);
    bencher
        // A random one, chosen before the clock is looked at.
        .with_inputs(|| {
            let turn = turn.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9);
            ids[(turn >> 8) as usize % ids.len()]
        })
        .bench_values(|id| map.find(id));
}

#[divan::bench(types = [
    Idr<u64>, LockedTree, LockedSlab, sharded_slab::Slab<u64>, dashmap::DashMap<u32, u64>, Papaya, Scc,
], args = LIVE, threads = THREADS)]
fn one_more_one_less<M: Map>(bencher: Bencher, live: u32) {
    let map = M::new();
    for id in 0..live {
        map.insert(id);
    }
    let next = AtomicU32::new(live);
    bencher
        .with_inputs(|| next.fetch_add(1, Ordering::Relaxed))
        .bench_values(|id| map.remove(map.insert(id)));
}

fn main() {
    divan::main();
}
