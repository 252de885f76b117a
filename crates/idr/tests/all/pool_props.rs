//! The pool agrees with a sorted set of ids.

use std::collections::BTreeSet;

use idr::{AcquireError, IdPool, NotInUse};
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
        1 => (far(), 1..100u32).prop_map(|(start, count)| Step::Acquire { start, count }),
        1 => prop_oneof![0..4_000u32, far()].prop_map(|start| Step::Reserve { start }),
        6 => any::<prop::sample::Index>().prop_map(|nth| Step::Release { nth }),
        1 => prop_oneof![0..4_000u32, far()].prop_map(|first| Step::ReleaseFrom { first }),
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

/// Releases `id`, which may not be in use: then nothing changes.
fn release(pool: &mut IdPool, model: &mut BTreeSet<u32>, id: u32) {
    let expected = if model.remove(&id) { Ok(()) } else { Err(NotInUse { id }) };
    assert_eq!(pool.release_id(id), expected);
}

/// Ids around where a level of the tree ends, and others.
fn far() -> impl Strategy<Value = u32> {
    let level = (0..5u32).prop_map(|level| 1 << (6 * (level + 1)));
    prop_oneof![
        (level, 0..200u32).prop_map(|(end, back)| (end + 70u32).saturating_sub(back)),
        0..IdPool::MAX_IDS,
    ]
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
                    if id >= IdPool::MAX_IDS {
                        prop_assert_eq!(pool.acquire_lowest(start), Err(AcquireError::Exhausted { start }));
                        break;
                    }
                    prop_assert_eq!(pool.acquire_lowest(start), Ok(id));
                    prop_assert!(model.insert(id));
                },
                Step::Reserve { start } => {
                    let id = Some(lowest_free(&model, start)).filter(|id| *id < IdPool::MAX_IDS);
                    let found = pool.find_unused_id(start).map(|found| found.id());
                    prop_assert_eq!(found, id.ok_or(AcquireError::Exhausted { start }));
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
                }
                Step::Drain => {
                    prop_assert!(pool.drain().eq(std::mem::take(&mut model)));
                    prop_assert_eq!(pool.heap_bytes(), 0);
                }
            }
            prop_assert_eq!(pool.len() as usize, model.len());
            prop_assert_eq!(pool.last_id(), model.last().copied());
            prop_assert!(pool.iter().eq(model.iter().copied()));
        }
        prop_assert!(model.iter().all(|id| pool.contains(*id)));
        let others = model.iter().flat_map(|id| [id.wrapping_sub(1), id + 1, id ^ 0x1000_0040]);
        prop_assert!(others.chain(0..5_000).all(|id| pool.contains(id) == model.contains(&id)));
    }
}
