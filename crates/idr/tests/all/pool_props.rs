//! The pool agrees with a sorted set of ids.

use std::collections::BTreeSet;

use idr::{IdPool, NotInUse};
use proptest::collection::vec;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    /// Take this many ids from a start.
    Acquire { start: u32, count: u32 },
    /// Find an id and let it be.
    Reserve { start: u32 },
    /// Release the id in use that is this far through the list of them.
    Release { nth: prop::sample::Index },
    /// Release every id from here on, highest first.
    ReleaseFrom { first: u32 },
    /// Release something that may never have been taken.
    ReleaseAny { id: u32 },
    /// Keep those of which a bit is set, or clear.
    Retain { bit: u32, is_set: bool },
    /// Make room.
    Reserve64 { words: u32 },
    /// Release all.
    Drain,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..300u32, 1..200u32).prop_map(|(start, count)| Step::Acquire { start, count }),
        1 => (0..4_000u32, 1..3u32).prop_map(|(start, count)| Step::Acquire { start, count }),
        1 => (0..4_000u32).prop_map(|start| Step::Reserve { start }),
        6 => any::<prop::sample::Index>().prop_map(|nth| Step::Release { nth }),
        1 => (0..4_000u32).prop_map(|first| Step::ReleaseFrom { first }),
        1 => any::<u32>().prop_map(|id| Step::ReleaseAny { id }),
        1 => (0..12u32, any::<bool>()).prop_map(|(bit, is_set)| Step::Retain { bit, is_set }),
        1 => (0..200u32).prop_map(|words| Step::Reserve64 { words }),
        1 => Just(Step::Drain),
    ]
}

fn lowest_free(model: &BTreeSet<u32>, start: u32) -> u32 {
    let taken = (start..).zip(model.range(start..)).take_while(|(id, taken)| id == *taken);
    start + u32::try_from(taken.count()).expect("a small set")
}

/// Releases `id`, and shrinks as the rules say: to 64 if empty, by half below a quarter. What was
/// not in use changes nothing.
fn release(pool: &mut IdPool, model: &mut BTreeSet<u32>, id: u32) {
    let before = pool.capacity();
    let was_in_use = model.remove(&id);
    let released = pool.release_and_shrink(id);
    assert_eq!(released, if was_in_use { Ok(()) } else { Err(NotInUse { id }) });
    let after = match model.last() {
        _ if !was_in_use => before,
        None => 64,
        Some(last) if before > 64 && *last < before / 4 => before / 2,
        Some(_) => before,
    };
    assert_eq!(pool.capacity(), after);
}

proptest! {
    #[test]
    fn the_pool_agrees_with_a_sorted_set(steps in vec(step(), 1..40)) {
        let mut pool = IdPool::new();
        let mut model = BTreeSet::new();
        for step in steps {
            match step {
                Step::Acquire { start, count } => for _ in 0..count {
                    let id = lowest_free(&model, start);
                    prop_assert_eq!(pool.acquire_lowest(start), Ok(id));
                    prop_assert!(model.insert(id));
                },
                Step::Reserve { start } => {
                    let id = Some(lowest_free(&model, start)).filter(|id| *id < pool.capacity());
                    prop_assert_eq!(pool.find_unused_id(start).map(|found| found.id()), id);
                }
                Step::Release { nth } => if !model.is_empty() {
                    let id = *model.iter().nth(nth.index(model.len())).unwrap();
                    release(&mut pool, &mut model, id);
                },
                Step::ReleaseFrom { first } => while let Some(id) = model.last().copied()
                    && id >= first
                {
                    release(&mut pool, &mut model, id);
                },
                Step::ReleaseAny { id } => release(&mut pool, &mut model, id),
                Step::Retain { bit, is_set } => {
                    let keep = |id: u32| (id >> bit & 1 == 1) == is_set;
                    pool.retain(keep);
                    model.retain(|id| keep(*id));
                }
                Step::Reserve64 { words } => {
                    prop_assert_eq!(pool.reserve(words * 64), Ok(()));
                    prop_assert!(pool.capacity() >= words * 64);
                }
                Step::Drain => {
                    prop_assert!(pool.drain().eq(std::mem::take(&mut model)));
                    prop_assert_eq!((pool.capacity(), pool.heap_bytes()), (64, 0));
                }
            }
            prop_assert_eq!(pool.len() as usize, model.len());
            prop_assert_eq!(pool.last_id(), model.last().copied());
            prop_assert!(pool.iter().eq(model.iter().copied()));
        }
        prop_assert!((0..pool.capacity()).filter(|id| pool.contains(*id)).eq(model));
    }
}
