use std::string::ToString;
use std::vec::Vec;
use std::{format, vec};

use super::*;

/// A map in which these ids have themselves as values.
fn filled(ids: impl IntoIterator<Item = u32>) -> Idr<u32> {
    let idr = Idr::new();
    for id in ids {
        assert_eq!(idr.alloc(id..=id, Some(Arc::new(id))), Ok(id));
    }
    idr
}

fn ids(idr: &Idr<u32>) -> Vec<u32> {
    let guard = pin();
    idr.iter(&guard).map(|(id, value)| (id == *value).then_some(id).expect("its own")).collect()
}

const CORNERS: [u32; 12] = [
    0,
    1,
    63,
    64,
    127,
    128,
    (1 << 14) - 1,
    1 << 14,
    (1 << 28) - 1,
    1 << 28,
    i32::MAX as u32,
    u32::MAX,
];

#[test]
fn the_lowest_free_id_of_the_range_comes_first() {
    let idr = filled(0..1000);
    for id in [700, 3, 256] {
        assert_eq!(idr.remove(id).expect("allocated").as_deref(), Some(&id));
    }
    assert_eq!(idr.alloc(0..=u32::MAX, None), Ok(3));
    assert_eq!(idr.alloc(257..=u32::MAX, None), Ok(700));
    assert_eq!(idr.alloc(1..=u32::MAX, None), Ok(256));
    assert_eq!(idr.alloc(1..=u32::MAX, None), Ok(1000));
    assert_eq!(idr.alloc(1..=1000, None), Err(NoFreeId { first: 1, last: 1000 }));
}

#[test]
fn ranges_of_one_id_or_none() {
    let idr = Idr::<()>::new();
    assert_eq!(idr.alloc(1..=1, None), Ok(1));
    assert_eq!(idr.alloc(1..=1, None), Err(NoFreeId { first: 1, last: 1 }));
    #[expect(clippy::reversed_empty_ranges, reason = "such is the input")]
    let empty = 9..=3;
    assert_eq!(idr.alloc(empty.clone(), None), Err(NoFreeId { first: 9, last: 3 }));
    assert_eq!(idr.alloc_cyclic(empty, None), Err(NoFreeId { first: 9, last: 3 }));
    assert_eq!(idr.find(0, &pin()), None);
    assert_eq!((idr.len(), idr.cursor()), (1, 0));
}

#[test]
fn ids_of_every_height_are_found_and_freed() {
    let idr = filled(CORNERS);
    let guard = pin();
    for id in CORNERS {
        assert_eq!(idr.find(id, &guard), Some(&id));
        assert_eq!(idr.get_next(id, &guard), Some((id, &id)));
    }
    for id in [2, 62, 126, 129, (1 << 14) - 2, (1 << 14) + 1, (1 << 28) + 1, u32::MAX - 1] {
        assert_eq!(idr.find(id, &guard), None);
    }
    assert_eq!(ids(&idr), CORNERS);
    for (removed, id) in CORNERS.iter().rev().enumerate() {
        assert_eq!(idr.remove(*id).expect("allocated").as_deref(), Some(id));
        assert_eq!(ids(&idr), CORNERS[..CORNERS.len() - 1 - removed]);
    }
    assert!(idr.is_empty());
}

#[test]
fn the_highest_id_has_no_successor() {
    let idr = filled([u32::MAX - 1, u32::MAX]);
    let full = NoFreeId { first: u32::MAX - 1, last: u32::MAX };
    assert_eq!(idr.alloc(u32::MAX - 1..=u32::MAX, None), Err(full));
    idr.set_cursor(u32::MAX);
    assert_eq!(idr.remove(u32::MAX).expect("allocated").as_deref(), Some(&u32::MAX));
    assert_eq!(idr.alloc_cyclic(0..=u32::MAX, None), Ok(u32::MAX));
    assert_eq!(idr.cursor(), 0);
    assert_eq!(idr.alloc_cyclic(0..=u32::MAX, None), Ok(0));
}

#[test]
fn a_reserved_id_is_taken_and_not_found_until_it_has_its_value() {
    let idr = Idr::new();
    assert_eq!(idr.alloc(5..=9, None), Ok(5));
    let guard = pin();
    assert_eq!((idr.find(5, &guard), idr.get(5), idr.get_next(0, &guard)), (None, None, None));
    assert!(idr.lock(&pin_to_change()).is_allocated(5));
    assert_eq!(idr.alloc(5..=5, None), Err(NoFreeId { first: 5, last: 5 }));
    assert_eq!(idr.replace(5, Arc::new('a')), Ok(None));
    assert_eq!(idr.find(5, &guard), Some(&'a'));
    assert_eq!(idr.replace(5, Arc::new('b')).expect("allocated").as_deref(), Some(&'a'));
    assert_eq!(idr.get(5).as_deref(), Some(&'b'));
    assert_eq!(idr.alloc(0..=9, None), Ok(0));
    assert_eq!(idr.remove(0), Ok(None));
}

#[test]
fn what_is_free_can_be_neither_replaced_nor_removed() {
    let idr = filled([7]);
    for id in [0, 6, 8, 127, 128, 70_000, u32::MAX] {
        assert_eq!(idr.remove(id), Err(NotAllocated { id }));
        assert_eq!(idr.replace(id, Arc::new(id)), Err(NotAllocated { id }));
    }
    assert!(idr.remove(7).is_ok());
    assert_eq!(idr.remove(7), Err(NotAllocated { id: 7 }), "a second time");
    assert_eq!(idr.replace(7, Arc::new(7)), Err(NotAllocated { id: 7 }));
    assert_eq!(Idr::<u32>::new().remove(0), Err(NotAllocated { id: 0 }));
    assert_eq!(idr.len(), 0);
    assert_eq!(NotAllocated { id: 7 }.to_string(), "id 7 is not allocated");
    let none = NoFreeId { first: 1, last: 9 };
    assert_eq!(none.to_string(), "no id is free from 1 to 9");
}

#[test]
fn a_circle_comes_back_to_an_id_only_after_all_others() {
    let idr = Idr::<()>::new();
    for id in 1..=9 {
        assert_eq!(idr.alloc_cyclic(1..=9, None), Ok(id));
        if id != 4 {
            assert_eq!(idr.remove(id), Ok(None));
        }
    }
    for id in [1, 2, 3, 5] {
        assert_eq!(idr.alloc_cyclic(1..=9, None), Ok(id));
    }
    assert_eq!(idr.cursor(), 6);
    assert_eq!(idr.alloc_cyclic(2..=5, None), Err(NoFreeId { first: 2, last: 5 }));
    assert_eq!(idr.cursor(), 6, "an error moves nothing");
    assert_eq!(idr.alloc(1..=9, None), Ok(6), "the lowest, and the cursor stays");
    assert_eq!(idr.cursor(), 6);
    assert_eq!(idr.alloc_cyclic(8..=9, None), Ok(8), "the range begins behind the cursor");
}

#[test]
fn iteration_begins_anywhere_and_skips_what_has_no_value() {
    let idr = filled([3, 300, 301, 70_000, 17_000_000]);
    assert_eq!(idr.alloc(100..=100, None), Ok(100));
    let guard = pin();
    for (start, expected) in [
        (0, vec![3, 300, 301, 70_000, 17_000_000]),
        (4, vec![300, 301, 70_000, 17_000_000]),
        (301, vec![301, 70_000, 17_000_000]),
        (302, vec![70_000, 17_000_000]),
        (17_000_001, vec![]),
        (u32::MAX, vec![]),
    ] {
        let found: Vec<_> = idr.iter_from(start, &guard).map(|(id, _)| id).collect();
        assert_eq!(found, expected, "from {start}");
    }
}

#[test]
fn iteration_goes_on_while_the_map_changes() {
    let idr = filled(0..600);
    let guard = pin();
    let mut seen = Vec::new();
    for (id, _) in idr.iter(&guard) {
        seen.push(id);
        if id % 2 == 0 && id < 598 {
            assert!(idr.remove(id + 1).is_ok());
        }
    }
    assert!(seen.iter().filter(|id| **id % 2 == 0).eq(&(0..600).step_by(2).collect::<Vec<_>>()));
    assert!(seen.is_sorted());
}

#[test]
fn what_a_reader_found_outlives_its_removal() {
    let idr = filled([1]);
    let guard = pin();
    let found = idr.find(1, &guard).expect("allocated");
    let removed = idr.remove(1).expect("allocated").expect("a value");
    assert!(Arc::strong_count(&removed) > 1, "the reader has not finished");
    assert_eq!((idr.find(1, &guard), *found), (None, 1));
    idr.lock(&pin_to_change()).clear();
    assert_eq!(*found, 1);
}

#[test]
fn values_are_dropped_when_their_readers_have_finished() {
    let value = Arc::new(());
    let idr = Idr::new();
    for _ in 0..3 {
        assert!(idr.alloc(0..=9, Some(value.clone())).is_ok());
    }
    assert!(idr.remove(1).is_ok());
    idr.lock(&pin_to_change()).clear();
    assert_eq!(idr.alloc(0..=9, Some(value.clone())), Ok(0));
    drop(idr);
    // Other tests may hold it back for a moment.
    for _ in 0..1_000_000 {
        if Arc::strong_count(&value) == 1 {
            return;
        }
        crate::reclaim();
    }
    panic!("{} values are still there", Arc::strong_count(&value) - 1);
}

#[test]
fn what_was_removed_goes_as_others_are_removed() {
    let value = Arc::new(());
    let idr = filled([]);
    let tracked = Idr::new();
    assert_eq!(tracked.alloc(0..=0, Some(value.clone())), Ok(0));
    assert!(tracked.remove(0).is_ok());
    // Other tests may hold it back for a moment.
    for _ in 0..1_000_000 {
        if Arc::strong_count(&value) == 1 {
            return;
        }
        assert_eq!(idr.alloc(0..=0, Some(Arc::new(0))), Ok(0));
        assert!(idr.remove(0).is_ok());
    }
    panic!("the value is still there");
}

#[test]
fn what_a_thread_has_removed_outlives_it_for_its_readers_and_nobody_else() {
    let value = Arc::new(());
    let idr = Idr::new();
    assert_eq!(idr.alloc(0..=0, Some(value.clone())), Ok(0));
    let guard = pin();
    assert!(idr.find(0, &guard).is_some());
    std::thread::scope(|scope| {
        let removed = scope.spawn(|| idr.remove(0).is_ok());
        assert!(removed.join().is_ok_and(|is_ok| is_ok));
    });
    assert_eq!(Arc::strong_count(&value), 2, "the reader has not finished");
    drop(guard);
    for _ in 0..1_000_000 {
        if Arc::strong_count(&value) == 1 {
            return;
        }
        crate::reclaim();
    }
    panic!("the value is still there");
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes there, and says nothing that the others do not")]
fn an_emptied_map_keeps_one_leaf_at_most() {
    let idr = filled(0..70_000);
    assert!(idr.remove(69_999).is_ok());
    for id in 0..69_999 {
        assert!(idr.remove(id).is_ok());
    }
    let guard = pin();
    let root = idr.root.load(&guard).expect("the last leaf lingers");
    assert!(root.next_leaf(0, &guard).is_none());
    assert!(!root.is_taken(0, &guard));
    assert!(filled([300]).remove(300).is_ok());
    idr.lock(&pin_to_change()).clear();
    assert!(idr.root.load(&guard).is_none());
    assert_eq!(idr.alloc(0..=0, None), Ok(0));
}

#[test]
fn ranges_that_end_within_a_node_are_not_left() {
    let idr = filled([0, 1, 300, 301]);
    assert_eq!(idr.alloc(300..=301, None), Err(NoFreeId { first: 300, last: 301 }));
    assert_eq!(idr.alloc(0..=1, None), Err(NoFreeId { first: 0, last: 1 }));
    assert_eq!(idr.alloc(1_000..=1_000, None), Ok(1_000));
    assert_eq!(idr.alloc(1_000..=1_000, None), Err(NoFreeId { first: 1_000, last: 1_000 }));
    assert_eq!(idr.alloc(300..=302, None), Ok(302));
    assert_eq!((idr.len(), idr.alloc_cyclic(0..=2, None)), (6, Ok(2)));
}

#[test]
fn a_root_that_only_leads_to_the_lowest_ids_goes() {
    let idr = filled([0, 70_000, 1 << 30]);
    let span = |idr: &Idr<u32>| idr.root.load(&pin()).map(TreeNode::span);
    assert_eq!(span(&idr), Some(1 << 35), "more than there are ids");
    assert!(idr.remove(1 << 30).is_ok());
    assert!(idr.remove(70_000).is_ok());
    assert_eq!(span(&idr), Some(1 << 21), "the leaf of 70,000 lingers");
    assert!(idr.remove(0).is_ok());
    assert_eq!(idr.alloc(5..=5, None), Ok(5));
    assert_eq!(span(&idr), Some(1 << 7));
}

#[test]
fn a_value_may_use_the_map_as_it_is_dropped() {
    struct Freeing(Arc<Idr<()>>);
    impl Drop for Freeing {
        fn drop(&mut self) {
            assert_eq!(self.0.remove(7), Ok(None));
        }
    }
    let others = Arc::new(Idr::new());
    let idr = Idr::new();
    assert_eq!(others.alloc(7..=7, None), Ok(7));
    assert_eq!(idr.alloc(0..=0, Some(Arc::new(Freeing(others.clone())))), Ok(0));
    assert!(idr.remove(0).is_ok());
    for _ in 0..1_000_000 {
        if others.is_empty() {
            return;
        }
        crate::reclaim();
    }
    panic!("the value is still there");
}

#[test]
fn a_map_tells_little_of_itself() {
    let idr = filled([1]);
    assert_eq!(format!("{:?}", idr.lock(&pin_to_change())), "LockedIdr { len: 1, cursor: 0, .. }");
}
