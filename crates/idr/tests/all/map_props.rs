//! The map agrees with a sorted map, whatever is asked of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use idr::{IdKey, Idr, KeyedIdr, NoFreeId, NotAllocated, pin, pin_to_change};
use proptest::collection::vec;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Alloc {
        first: u32,
        ids: u32,
        has_value: bool,
    },
    AllocCyclic {
        first: u32,
        ids: u32,
    },
    /// The same, and the value comes later, with others removed or the id itself meanwhile.
    Reserve {
        first: u32,
        ids: u32,
        is_cyclic: bool,
        removed: u32,
    },
    Replace {
        id: u32,
    },
    Remove {
        id: u32,
    },
    /// Remove everything from here on.
    RemoveFrom {
        first: u32,
    },
    SetCursor {
        id: u32,
    },
    GetNext {
        start: u32,
    },
    Clear,
}

/// Ids that meet often, some of which are at the edges of nodes.
fn id() -> impl Strategy<Value = u32> {
    prop_oneof![
        6 => 0..600u32,
        2 => 65_400..65_700u32,
        1 => (1u32 << 24) - 5..(1 << 24) + 5,
        1 => u32::MAX - 3..=u32::MAX,
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (id(), 0..400u32, any::<bool>())
            .prop_map(|(first, ids, has_value)| Step::Alloc { first, ids, has_value }),
        6 => (id(), 0..400u32).prop_map(|(first, ids)| Step::AllocCyclic { first, ids }),
        4 => (id(), 0..400u32, any::<bool>(), id())
            .prop_map(|(first, ids, is_cyclic, removed)| Step::Reserve { first, ids, is_cyclic, removed }),
        2 => id().prop_map(|id| Step::Replace { id }),
        6 => id().prop_map(|id| Step::Remove { id }),
        1 => id().prop_map(|first| Step::RemoveFrom { first }),
        1 => id().prop_map(|id| Step::SetCursor { id }),
        2 => id().prop_map(|start| Step::GetNext { start }),
        1 => Just(Step::Clear),
    ]
}

/// What the map should be: ids, and the values of those that have one.
#[derive(Default)]
struct Model {
    values: BTreeMap<u32, Option<u64>>,
    cursor: u32,
}

impl Model {
    fn lowest_free(&self, first: u32, last: u32) -> Option<u32> {
        (first..=last).find(|id| !self.values.contains_key(id))
    }

    fn alloc_cyclic(&mut self, first: u32, last: u32, value: u64) -> Result<u32, NoFreeId> {
        let free = self
            .lowest_free(first.max(self.cursor), last)
            .or_else(|| self.lowest_free(first, last))
            .ok_or(NoFreeId { first, last })?;
        self.values.insert(free, Some(value));
        self.cursor = free.wrapping_add(1);
        Ok(free)
    }

    fn next(&self, start: u32) -> Option<(u32, u64)> {
        self.values.range(start..).find_map(|(id, value)| value.map(|value| (*id, value)))
    }
}

proptest! {
    #[test]
    fn the_map_agrees_with_a_sorted_map(steps in vec(step(), 1..120)) {
        let idr = Idr::new();
        let mut model = Model::default();
        for (value, step) in (0u64..).zip(steps) {
            match step {
                Step::Alloc { first, ids, has_value } => {
                    let last = first.saturating_add(ids);
                    let stored = has_value.then_some(value);
                    let expected = model.lowest_free(first, last).ok_or(NoFreeId { first, last });
                    prop_assert_eq!(idr.alloc(first..=last, stored.map(Arc::new)), expected);
                    model.values.extend(expected.ok().map(|id| (id, stored)));
                }
                Step::AllocCyclic { first, ids } => {
                    let last = first.saturating_add(ids);
                    let found = idr.alloc_cyclic(first..=last, Some(Arc::new(value)));
                    prop_assert_eq!(found, model.alloc_cyclic(first, last, value));
                }
                Step::Reserve { first, ids, is_cyclic, removed } => {
                    let last = first.saturating_add(ids);
                    let guard = pin_to_change();
                    let mut locked = idr.lock(&guard);
                    let (reserved, expected) = if is_cyclic {
                        (locked.reserve_cyclic(first..=last), model.alloc_cyclic(first, last, value))
                    } else {
                        let free = model.lowest_free(first, last).ok_or(NoFreeId { first, last });
                        model.values.extend(free.ok().map(|id| (id, Some(value))));
                        (locked.reserve(first..=last), free)
                    };
                    prop_assert_eq!(reserved.as_ref().map(|it| it.id()), expected.as_ref().copied());
                    let expected = model.values.remove(&removed).is_some();
                    prop_assert_eq!(locked.remove(removed).is_ok(), expected);
                    if let Ok(reserved) = reserved {
                        let id = reserved.id();
                        prop_assert_eq!(locked.find(id), None);
                        let filled = locked.fill(&reserved, Arc::new(value));
                        let expected = if id == removed { Err(NotAllocated { id }) } else { Ok(()) };
                        prop_assert_eq!(filled, expected);
                    }
                }
                Step::Replace { id } => {
                    let expected = model.values.get_mut(&id).ok_or(NotAllocated { id });
                    let expected = expected.map(|stored| stored.replace(value));
                    let found = idr.replace(id, Arc::new(value));
                    prop_assert_eq!(found.map(|old| old.map(|value| *value)), expected);
                }
                Step::Remove { id } => {
                    let expected = model.values.remove(&id).ok_or(NotAllocated { id });
                    let found = idr.remove(id).map(|old| old.map(|value| *value));
                    prop_assert_eq!(found, expected);
                }
                Step::RemoveFrom { first } => {
                    for (id, stored) in model.values.split_off(&first) {
                        let found = idr.remove(id).map(|old| old.map(|value| *value));
                        prop_assert_eq!(found, Ok(stored));
                    }
                }
                Step::SetCursor { id } => {
                    idr.set_cursor(id);
                    model.cursor = id;
                }
                Step::GetNext { start } => {
                    let guard = pin();
                    let found = idr.get_next(start, &guard).map(|(id, value)| (id, *value));
                    prop_assert_eq!(found, model.next(start));
                }
                Step::Clear => {
                    idr.lock(&pin_to_change()).clear();
                    model.values.clear();
                }
            }
            prop_assert_eq!(idr.len(), model.values.len() as u64);
            prop_assert_eq!(idr.cursor(), model.cursor);
        }
        let guard = pin();
        let found = idr.iter(&guard).map(|(id, value)| (id, *value));
        let expected = model.values.iter().filter_map(|(id, stored)| Some((*id, (*stored)?)));
        prop_assert!(found.eq(expected));
        for (id, stored) in &model.values {
            prop_assert_eq!(idr.find(*id, &guard).copied(), *stored);
            prop_assert!(idr.lock(&pin_to_change()).is_allocated(*id));
        }
    }
}

#[derive(Clone, Debug)]
enum KeyedStep {
    Insert {
        first: u32,
        ids: u32,
    },
    /// Remove by a key there has been, perhaps once more.
    Remove {
        nth: prop::sample::Index,
    },
}

fn keyed_step() -> impl Strategy<Value = KeyedStep> {
    prop_oneof![
        3 => (id(), 0..40u32).prop_map(|(first, ids)| KeyedStep::Insert { first, ids }),
        2 => any::<prop::sample::Index>().prop_map(|nth| KeyedStep::Remove { nth }),
    ]
}

proptest! {
    #[test]
    fn a_key_finds_its_own_value_or_none(steps in vec(keyed_step(), 0..200)) {
        let map = KeyedIdr::new();
        let mut keys: Vec<IdKey> = Vec::new();
        let mut model: BTreeMap<u32, IdKey> = BTreeMap::new();
        for (value, step) in steps.into_iter().enumerate() {
            match step {
                KeyedStep::Insert { first, ids } => {
                    let last = first.saturating_add(ids);
                    let lowest = (first..=last).find(|id| !model.contains_key(id));
                    let key = map.insert(first..=last, value).ok();
                    prop_assert_eq!(key.map(|key| key.id), lowest);
                    keys.extend(key);
                    model.extend(key.map(|key| (key.id, key)));
                }
                KeyedStep::Remove { nth } if !keys.is_empty() => {
                    let key = *nth.get(&keys);
                    let is_there = model.get(&key.id) == Some(&key);
                    prop_assert_eq!(map.remove(key).is_some(), is_there);
                    if is_there {
                        model.remove(&key.id);
                    }
                }
                KeyedStep::Remove { .. } => {}
            }
            let guard = pin();
            for key in &keys {
                let is_there = model.get(&key.id) == Some(key);
                prop_assert_eq!(map.find(*key, &guard).is_some(), is_there);
                prop_assert_eq!(map.get(*key).is_some(), is_there);
                prop_assert_eq!(IdKey::from(u64::from(*key)), *key);
            }
            prop_assert!(map.iter(&guard).map(|(key, _)| key).eq(model.values().copied()));
            prop_assert_eq!((map.len(), map.is_empty()), (model.len() as u64, model.is_empty()));
        }
    }
}
