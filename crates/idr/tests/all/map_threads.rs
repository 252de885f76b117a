//! Readers and writers on real threads, for what a model checker has no time for: tall trees, and
//! leaves that come and go.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use idr::{Idr, pin, reclaim};

/// A value that knows its id and whether it has been dropped.
struct Value {
    id: AtomicU32,
    is_alive: AtomicBool,
}

impl Drop for Value {
    fn drop(&mut self) {
        self.is_alive.store(false, Ordering::Relaxed);
    }
}

impl Value {
    fn new(id: u32) -> Arc<Self> {
        Arc::new(Self { id: AtomicU32::new(id), is_alive: AtomicBool::new(true) })
    }

    fn check(&self, id: u32) {
        assert!(self.is_alive.load(Ordering::Relaxed), "{id} was dropped under its reader");
        assert_eq!(self.id.load(Ordering::Relaxed), id);
    }
}

/// Few enough for Miri, and for a machine that does something else.
const ROUNDS: u32 = if cfg!(miri) { 50 } else { 20_000 };

/// Ids of three heights.
const IDS: u32 = 70_000;

#[test]
fn readers_find_whole_and_living_values_while_writers_come_and_go() {
    let idr = Idr::new();
    let is_done = AtomicBool::new(false);
    // One that is always there.
    assert_eq!(idr.alloc(300..=300, Some(Value::new(300))), Ok(300));
    thread::scope(|scope| {
        let writers = [1u32, 2].map(|seed| {
            let idr = &idr;
            scope.spawn(move || write(idr, seed))
        });
        for _ in 0..2 {
            scope.spawn(|| read(&idr, &is_done));
        }
        for writer in writers {
            writer.join().expect("no writer panics");
        }
        is_done.store(true, Ordering::Relaxed);
    });
    assert_eq!(idr.len(), 1, "writers take back what they put");
}

/// Puts and takes ids all over, never more than a few at once.
fn write(idr: &Idr<Value>, seed: u32) {
    let (mut own, mut state) = (Vec::new(), seed);
    for round in 0..ROUNDS {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let first = (state >> 8) % IDS;
        let id = match round % 3 {
            0 => idr.alloc(first..=IDS, None),
            1 => idr.alloc(0..=IDS, None),
            _ => idr.alloc_cyclic(1..=IDS, None),
        };
        let id = id.expect("a free id");
        assert!(idr.replace(id, Value::new(id)).is_ok_and(|old| old.is_none()));
        own.push(id);
        if own.len() > 20 {
            let id = own.swap_remove((state >> 16) as usize % own.len());
            let value = idr.remove(id).expect("ours").expect("a value");
            value.check(id);
        }
        if round % 1000 == 0 {
            reclaim();
        }
    }
    for id in own {
        assert!(idr.remove(id).is_ok());
    }
}

fn read(idr: &Idr<Value>, is_done: &AtomicBool) {
    while !is_done.load(Ordering::Relaxed) {
        let guard = pin();
        let mut last = None;
        for (id, value) in idr.iter(&guard) {
            value.check(id);
            assert!(last.is_none_or(|last| last < id));
            last = Some(id);
        }
        assert!(last >= Some(300), "an id that is always there is always visited");
        for id in [0, 1, 300, 301, 65_536] {
            if let Some(value) = idr.find(id, &guard) {
                value.check(id);
            }
            if let Some(value) = idr.get(id) {
                value.check(id);
            }
        }
        assert!(idr.find(300, &guard).is_some());
        drop(guard);
        thread::yield_now();
    }
}
