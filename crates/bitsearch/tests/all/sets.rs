//! A set agrees with a sorted one, and is visited from both ends.

use std::collections::BTreeSet;
use std::hash::BuildHasher;

use bitsearch::*;
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

/// Numbers that are near to each other and some that are far.
fn numbers() -> impl Strategy<Value = BTreeSet<usize>> {
    btree_set(prop_oneof![3 => 0..130usize, 1 => 0..3000usize], 0..60)
}

/// A change of a set.
#[derive(Debug, Clone)]
enum Step {
    Insert(usize),
    Remove(usize),
    InsertRange(usize, usize),
    RemoveRange(usize, usize),
    Union(BTreeSet<usize>),
    Intersect(BTreeSet<usize>),
    Subtract(BTreeSet<usize>),
    Clear,
    Shrink,
}

fn step() -> impl Strategy<Value = Step> {
    let number = || prop_oneof![3 => 0..130usize, 1 => 0..3000usize];
    prop_oneof![
        6 => number().prop_map(Step::Insert),
        6 => number().prop_map(Step::Remove),
        1 => (number(), number()).prop_map(|(start, end)| Step::InsertRange(start, end)),
        1 => (number(), number()).prop_map(|(start, end)| Step::RemoveRange(start, end)),
        1 => numbers().prop_map(Step::Union),
        1 => numbers().prop_map(Step::Intersect),
        1 => numbers().prop_map(Step::Subtract),
        1 => Just(Step::Clear),
        1 => Just(Step::Shrink),
    ]
}

fn set(numbers: &BTreeSet<usize>) -> BitSet {
    numbers.iter().copied().collect()
}

proptest! {
    #[test]
    fn a_set_does_what_a_sorted_one_does(steps in vec(step(), 0..40), other in numbers()) {
        let (mut ours, mut theirs) = (BitSet::new(), BTreeSet::new());
        for step in steps {
            match step {
                Step::Insert(number) => prop_assert_eq!(ours.insert(number), theirs.insert(number)),
                Step::Remove(number) => prop_assert_eq!(ours.remove(number), theirs.remove(&number)),
                Step::InsertRange(start, end) => {
                    ours.insert_range(start..end);
                    theirs.extend(start..end);
                }
                Step::RemoveRange(start, end) => {
                    ours.remove_range(start..end);
                    theirs.retain(|number| !(start..end).contains(number));
                }
                Step::Union(others) => {
                    ours.union_with(&set(&others));
                    theirs.extend(others);
                }
                Step::Intersect(others) => {
                    ours.intersect_with(&set(&others));
                    theirs.retain(|number| others.contains(number));
                }
                Step::Subtract(others) => {
                    ours.subtract(&set(&others));
                    theirs.retain(|number| !others.contains(number));
                }
                Step::Clear => {
                    ours.clear();
                    theirs.clear();
                }
                Step::Shrink => ours.shrink_to_fit(),
            }
            prop_assert!(ours.iter().eq(theirs.iter().copied()));
            prop_assert!(ours.iter().rev().eq(theirs.iter().rev().copied()));
            prop_assert_eq!((ours.len(), ours.is_empty()), (theirs.len(), theirs.is_empty()));
            prop_assert_eq!((ours.first(), ours.last()), (theirs.first().copied(), theirs.last().copied()));
            let afresh = set(&theirs);
            prop_assert_eq!(&ours, &afresh);
            let hasher = std::hash::RandomState::new();
            prop_assert_eq!(hasher.hash_one(&ours), hasher.hash_one(&afresh));
        }
        let others = set(&other);
        prop_assert_eq!(ours.is_disjoint(&others), theirs.is_disjoint(&other));
        prop_assert_eq!(ours.is_subset(&others), theirs.is_subset(&other));
        prop_assert_eq!(others.is_subset(&ours), other.is_subset(&theirs));
        prop_assert!(other.iter().all(|number| ours.contains(*number) == theirs.contains(number)));
    }

    #[test]
    fn both_ends_meet(numbers in numbers(), size in 0..3200usize, start in 0..3200usize, turns in vec(any::<bool>(), 70)) {
        let words = set(&numbers).into_words();
        let mut expected = numbers.range(start.min(size)..size).copied();
        let mut found = set_bits(&words, size, start);
        for is_back in turns {
            if is_back {
                prop_assert_eq!(found.next_back(), expected.next_back());
            } else {
                prop_assert_eq!(found.next(), expected.next());
            }
        }
        prop_assert_eq!((found.next(), found.next_back()), (None, None));
    }

    #[cfg(feature = "serde")]
    #[test]
    fn a_set_comes_back_from_its_words(numbers in numbers(), room in 0..200usize) {
        let mut set = set(&numbers);
        if set.insert(3000 + room) {
            set.remove(3000 + room);
        }
        let text = serde_json::to_string(&set).unwrap();
        prop_assert_eq!(serde_json::from_str::<BitSet>(&text).unwrap(), set);
    }
}
