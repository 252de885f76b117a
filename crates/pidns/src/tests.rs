//! The statements P01 to P17 of the specification, one or more tests for each.

use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use alloc::sync::Arc;

use idr::pin_to_change;

use super::*;

type Namespace = Arc<PidNamespace<()>>;

fn alloc(namespace: &Namespace) -> u32 {
    namespace.alloc_pid(()).expect("a free number").nr()
}

fn choose(namespace: &Namespace, set_tid: &[u32]) -> Result<Vec<u32>, AllocError> {
    Ok(namespace.alloc_pid_at(set_tid, |_| true, ())?.numbers().to_vec())
}

/// A root with this many processes and room for no more.
fn full_root() -> Namespace {
    let root = PidNamespace::root();
    root.set_pid_max(PID_MAX_MIN).expect("the least");
    assert!((1..=300).all(|nr| alloc(&root) == nr));
    root
}

/// A root and namespaces inside each other, each with a first process, the root first.
fn nested(levels: u32) -> Vec<Namespace> {
    let mut namespaces = vec![PidNamespace::root()];
    alloc(&namespaces[0]);
    for level in 1..=levels {
        let child = namespaces.last().expect("a root").child().expect("not too deep");
        assert_eq!((child.level(), alloc(&child)), (level, 1));
        namespaces.push(child);
    }
    namespaces
}

/// All that can be seen of a namespace.
fn state(namespace: &Namespace) -> (Vec<u32>, u64, u32, u32, String) {
    let guard = pin_to_change();
    let numbers = namespace.pids_from(0, &guard).map(|(nr, _)| nr).collect();
    let locked = namespace.lock(&guard);
    let life = alloc::format!("{:?}", namespace.life());
    (numbers, locked.len(), locked.cursor(), namespace.processes(), life)
}

fn numbers(namespace: &Namespace) -> Vec<u32> {
    state(namespace).0
}

#[test]
fn p01_numbers_go_up_without_reuse_to_the_one_below_pid_max() {
    let root = PidNamespace::root();
    root.set_pid_max(1000).expect("within the limits");
    for nr in 1..1000 {
        assert_eq!(alloc(&root), nr);
        if nr > 1 && nr % 2 == 0 {
            assert!(root.free_pid(nr).is_ok());
        }
    }
}

#[test]
fn p02_after_the_wrap_the_lowest_number_is_300() {
    let root = PidNamespace::root();
    root.set_pid_max(1000).expect("within the limits");
    assert!((1..1000).all(|nr| alloc(&root) == nr));
    for nr in [2, 299, 300, 301] {
        assert!(root.free_pid(nr).is_ok());
    }
    assert_eq!((alloc(&root), alloc(&root)), (300, 301));
    let full = AllocError::Full { level: 0, first: 300, pid_max: 1000 };
    assert_eq!(root.alloc_pid(()).err(), Some(full), "2 and 299 are free, and reserved");
}

#[test]
fn p03_the_least_pid_max_leaves_300_numbers_and_then_one() {
    let root = full_root();
    for nr in (2..=300).rev() {
        assert!(root.free_pid(nr).is_ok());
    }
    assert_eq!(alloc(&root), 300);
    let full = AllocError::Full { level: 0, first: 300, pid_max: 301 };
    assert_eq!(root.alloc_pid(()).err(), Some(full));
}

#[test]
fn p04_when_all_numbers_are_in_use_one_that_is_freed_is_the_next() {
    let root = PidNamespace::root();
    root.set_pid_max(500).expect("within the limits");
    assert!((1..500).all(|nr| alloc(&root) == nr));
    let before = state(&root);
    let full = AllocError::Full { level: 0, first: 300, pid_max: 500 };
    assert_eq!(root.alloc_pid(()).err(), Some(full));
    assert_eq!(state(&root), before);
    assert!(root.free_pid(444).is_ok());
    assert_eq!(alloc(&root), 444);
}

#[test]
fn p05_numbers_that_cannot_be_chosen_change_nothing() {
    let [root, child] = &nested(1)[..] else { panic!("two") };
    let before = (state(root), state(child));
    for (set_tid, error) in [
        (&[0][..], AllocError::OutOfRange { level: 1, number: 0, pid_max: 32_768 }),
        (&[32_768], AllocError::OutOfRange { level: 1, number: 32_768, pid_max: 32_768 }),
        (&[u32::MAX], AllocError::OutOfRange { level: 1, number: u32::MAX, pid_max: 32_768 }),
        (&[9, 0], AllocError::OutOfRange { level: 0, number: 0, pid_max: 32_768 }),
        (&[1], AllocError::Taken { level: 1, number: 1 }),
        (&[9, 2], AllocError::Taken { level: 0, number: 2 }),
        (&[9, 9, 9], AllocError::TooManyChosen { chosen: 3, levels: 2 }),
    ] {
        assert_eq!(choose(child, set_tid), Err(error), "{set_tid:?}");
        assert_eq!((state(root), state(child)), before, "{set_tid:?}");
    }
    let only_inside = |namespace: &PidNamespace<()>| namespace.level() == 1;
    let refused = child.alloc_pid_at(&[9, 9], only_inside, ());
    assert_eq!(refused.err(), Some(AllocError::NotPermitted { level: 0, number: 9 }));
    assert_eq!((state(root), state(child)), before);
    assert!(child.alloc_pid_at(&[9], only_inside, ()).is_ok());
}

#[test]
fn p06_what_is_not_chosen_is_the_next_in_the_circle() {
    let namespaces = nested(3);
    assert_eq!(choose(&namespaces[3], &[70, 60]), Ok(vec![5, 4, 60, 70]));
    assert_eq!(choose(&namespaces[3], &[]), Ok(vec![6, 5, 3, 2]));
    assert_eq!(choose(&namespaces[3], &[71, 61, 51, 41]), Ok(vec![41, 51, 61, 71]));
}

#[test]
fn p07_a_chosen_number_does_not_move_the_circle() {
    let root = &nested(0)[0];
    assert_eq!(choose(root, &[50]), Ok(vec![50]));
    assert_eq!(alloc(root), 2);
    assert_eq!(choose(root, &[3]), Ok(vec![3]));
    assert_eq!(alloc(root), 4, "past the chosen one");
}

#[test]
fn p08_failing_at_an_outer_level_leaves_nothing_at_the_inner_ones() {
    let root = full_root();
    let child = root.child().expect("not too deep");
    child.assume_reaper();
    let before = (state(&root), state(&child));
    let full = AllocError::Full { level: 0, first: 300, pid_max: 301 };
    assert_eq!(child.alloc_pid(()).err(), Some(full));
    assert_eq!(choose(&child, &[7]), Err(full));
    assert_eq!(choose(&child, &[7, 8]), Err(AllocError::Taken { level: 0, number: 8 }));
    assert_eq!((state(&root), state(&child)), before);
    assert!(root.free_pid(300).is_ok());
    assert_eq!(choose(&child, &[7]), Ok(vec![300, 7]));
}

#[test]
fn p09_a_namespace_whose_first_process_is_gone_gives_out_no_numbers() {
    let [root, child, inside] = &nested(2)[..] else { panic!("three") };
    let second = child.alloc_pid(()).expect("a free number");
    assert!(child.free_pid(1).is_ok());
    let before = [root, child, inside].map(state);
    for (namespace, set_tid) in [(child, &[][..]), (child, &[1]), (child, &[9]), (inside, &[])] {
        assert_eq!(choose(namespace, set_tid), Err(AllocError::Stopped { level: 1 }));
    }
    assert_eq!([root, child, inside].map(state), before);
    assert_eq!(second.nr_ns(root), 4, "the others stay until they end");
    assert_eq!(alloc(root), 5, "as does a number outside");
}

#[test]
fn p09_numbers_stop_before_the_first_process_is_gone_when_told() {
    let [root, child] = &nested(1)[..] else { panic!("two") };
    child.disable_pid_allocation();
    assert_eq!(child.alloc_pid(()).err(), Some(AllocError::Stopped { level: 1 }));
    assert_eq!((numbers(child), alloc(root)), (vec![1], 3));
    child.assume_reaper();
    assert_eq!(child.alloc_pid(()).err(), Some(AllocError::Stopped { level: 1 }), "for good");
}

#[test]
fn p10_the_first_process_of_a_namespace_is_number_1() {
    let root = &nested(0)[0];
    let child = root.child().expect("not too deep");
    let before = (state(root), state(&child));
    assert_eq!(choose(&child, &[5]), Err(AllocError::NoReaper { level: 1, number: 5 }));
    let inside = child.child().expect("not too deep");
    assert_eq!(choose(&inside, &[1, 3]), Err(AllocError::NoReaper { level: 1, number: 3 }));
    assert_eq!((state(root), state(&child)), before);
    assert_eq!(choose(&child, &[]), Ok(vec![2, 1]));
    assert_eq!(choose(&child, &[5]), Ok(vec![3, 5]));
}

#[test]
fn p10_a_first_process_that_is_elsewhere_is_not_waited_for() {
    let root = PidNamespace::root();
    root.assume_reaper();
    let child = root.child().expect("not too deep");
    child.assume_reaper();
    assert_eq!(choose(&child, &[20, 4000]), Ok(vec![4000, 20]));
    assert_eq!(choose(&child, &[1, 3980]), Ok(vec![3980, 1]));
    assert!(child.free_pid(1).is_ok());
    assert_eq!(choose(&child, &[21, 4001]), Ok(vec![4001, 21]), "its end is not ours to see");
    assert_eq!(alloc(&child), 1, "and its number is one like others");
}

#[test]
fn p11_a_number_is_0_where_the_process_cannot_be_seen() {
    let root = &nested(0)[0];
    let [one, other] = [root, root].map(|root| root.child().expect("not too deep"));
    let inside = one.child().expect("not too deep");
    let pids = [&one, &other, &inside].map(|namespace| namespace.alloc_pid(()).expect("free"));
    let seen: Vec<_> = [root, &one, &other, &inside]
        .map(|namespace| pids.each_ref().map(|pid| pid.nr_ns(namespace)))
        .into();
    assert_eq!(seen, [[2, 3, 4], [1, 0, 2], [0, 1, 0], [0, 0, 1]]);
    let [in_one, in_other, in_inside] = &pids;
    assert_eq!(in_inside.vnr(in_one), 2);
    assert_eq!(in_one.vnr(in_inside), 0);
    assert_eq!(in_other.vnr(in_one), 0);
    assert_eq!((in_inside.nr(), in_inside.global_nr()), (1, 4));
    let stranger = PidNamespace::root();
    assert_eq!(in_one.nr_ns(&stranger), 0, "another world");
}

#[test]
fn p12_the_innermost_pid_has_33_numbers_that_all_find_it() {
    let namespaces = nested(32);
    let innermost = &namespaces[32];
    let pid = innermost.alloc_pid(()).expect("a free number");
    let expected: Vec<u32> = (2..=34).rev().collect();
    assert_eq!(pid.numbers(), expected);
    for (namespace, number) in namespaces.iter().zip(expected) {
        let found = namespace.get_pid(number).expect("published");
        assert!(Arc::ptr_eq(&found, &pid));
        assert_eq!(pid.nr_ns(namespace), number);
    }
    assert_eq!(innermost.child().err(), Some(TooDeep { level: 33 }));
    assert!(pid.free().is_ok());
    assert!(namespaces.iter().all(|namespace| namespace.get_pid(34).is_none()));
}

#[test]
fn p13_a_number_without_its_pid_is_taken_and_not_found() {
    let root = &nested(0)[0];
    assert_eq!(root.lock(&pin_to_change()).alloc_cyclic(2..=2, None), Ok(2));
    assert_eq!(choose(root, &[2]), Err(AllocError::Taken { level: 0, number: 2 }));
    assert_eq!(alloc(root), 3);
    let guard = pin();
    assert!(root.find_pid(2, &guard).is_none());
    assert_eq!(root.find_ge_pid(2, &guard).map(|(number, _)| number), Some(3));
    assert_eq!(root.free_pid(2).err(), Some(NoSuchPid { level: 0, number: 2 }));
}

#[test]
fn p14_processes_are_the_published_pids() {
    let namespaces = nested(2);
    let agree = || namespaces.iter().all(|it| it.processes() as usize == numbers(it).len());
    assert!(agree());
    for round in 0..100 {
        let namespace = &namespaces[round % 3];
        let pid = namespace.alloc_pid(()).expect("a free number");
        assert!(choose(namespace, &[1]).is_err());
        if round % 4 != 0 {
            assert!(pid.free().is_ok());
            assert!(pid.free().is_err());
        }
        assert!(agree());
    }
    assert!(!namespaces[1].destroy().is_empty());
    assert!(agree());
    assert_eq!((namespaces[1].processes(), namespaces[2].processes()), (0, 0));
}

#[test]
fn p15_pids_are_enumerated_in_order_and_come_to_an_end() {
    let root = &nested(0)[0];
    for number in [9000, 40, 256, 255, 32_767] {
        assert!(choose(root, &[number]).is_ok());
    }
    let guard = pin();
    let (mut seen, mut next) = (Vec::new(), 0);
    while let Some((number, pid)) = root.find_ge_pid(next, &guard) {
        assert_eq!(pid.nr(), number);
        seen.push(number);
        next = number + 1;
    }
    assert_eq!(seen, [1, 40, 255, 256, 9000, 32_767]);
    assert_eq!(numbers(root), seen);
    assert!(root.find_ge_pid(u32::MAX, &guard).is_none());
}

#[test]
fn p16_a_pid_that_was_found_outlives_being_freed() {
    let [root, child] = &nested(1)[..] else { panic!("two") };
    assert_eq!(alloc(child), 2);
    let guard = pin();
    let found = child.find_pid(2, &guard).expect("published");
    assert!(child.free_pid(2).is_ok());
    assert_eq!(choose(child, &[2, 3]), Ok(vec![3, 2]), "another takes its numbers");
    assert_eq!((found.numbers(), found.nr_ns(root)), (&[3, 2][..], 3));
    let other = child.find_pid(2, &guard).expect("published");
    assert!(!core::ptr::eq(found, other));
    assert_eq!(found.free().err(), Some(AlreadyFreed { level: 1, number: 2 }), "not the other");
    assert!(child.find_pid(2, &guard).is_some());
}

#[test]
fn p17_a_first_process_that_failed_is_number_1_at_the_next_try() {
    let root = full_root();
    let child = root.child().expect("not too deep");
    for _ in 0..3 {
        assert!(matches!(child.alloc_pid(()), Err(AllocError::Full { level: 0, .. })));
    }
    assert!(root.free_pid(300).is_ok());
    assert_eq!(choose(&child, &[]), Ok(vec![300, 1]));
}

#[test]
fn a_number_that_failed_is_the_next_one() {
    let [root, child] = &nested(1)[..] else { panic!("two") };
    assert!(choose(child, &[]).is_ok());
    root.set_pid_max(301).expect("the least");
    for _ in 4..=300 {
        alloc(root);
    }
    assert!(child.alloc_pid(()).is_err());
    assert!(root.free_pid(300).is_ok());
    assert_eq!(choose(child, &[]), Ok(vec![300, 3]));
}

#[test]
fn limits_that_are_too_low_or_too_high_are_refused() {
    let root = PidNamespace::<()>::root();
    for pid_max in [0, 1, 300, 4_194_305, u32::MAX] {
        assert_eq!(root.set_pid_max(pid_max), Err(PidMaxOutOfRange { pid_max }));
    }
    assert_eq!(root.pid_max(), PID_MAX_DEFAULT);
    for pid_max in [PID_MAX_MIN, PID_MAX_LIMIT] {
        assert_eq!(root.set_pid_max(pid_max), Ok(()));
    }
    let child = root.child().expect("not too deep");
    assert_eq!(child.pid_max(), PID_MAX_LIMIT, "as its parent's");
    child.set_pid_max(400).expect("within the limits");
    assert_eq!(root.pid_max(), PID_MAX_LIMIT, "and then its own");
}

#[test]
fn numbers_beyond_a_lower_pid_max_stay() {
    let root = &nested(0)[0];
    assert_eq!(choose(root, &[30_000]), Ok(vec![30_000]));
    root.set_pid_max(301).expect("the least");
    assert_eq!(numbers(root), [1, 30_000]);
    assert_eq!(alloc(root), 2);
}

#[test]
fn a_pid_is_freed_once_and_only_after_it_was_allocated() {
    let [root, child] = &nested(1)[..] else { panic!("two") };
    let pid = child.alloc_pid(()).expect("a free number");
    for number in [0, 3, 32_768, u32::MAX] {
        assert_eq!(child.free_pid(number).err(), Some(NoSuchPid { level: 1, number }));
    }
    assert!(pid.free().is_ok_and(|woken| woken.is_empty()));
    let before = (state(root), state(child));
    assert_eq!(pid.free().err(), Some(AlreadyFreed { level: 1, number: 2 }));
    assert_eq!(child.free_pid(2).err(), Some(NoSuchPid { level: 1, number: 2 }));
    assert_eq!((state(root), state(child)), before);
    assert_eq!(pid.numbers(), [3, 2], "a freed pid still tells its numbers");
}

#[test]
fn a_first_process_that_waits_for_the_others_is_woken_by_the_last_two() {
    let [_, child, inside] = &nested(2)[..] else { panic!("three") };
    let others: Vec<_> = (0..2).map(|_| child.alloc_pid(()).expect("free")).collect();
    child.disable_pid_allocation();
    let woken = |pid: &Pid<()>| -> Vec<u32> {
        pid.free().expect("not yet freed").iter().map(|namespace| namespace.level()).collect()
    };
    assert_eq!(woken(&others[0]), [], "three are left");
    assert_eq!(woken(&others[1]), [1]);
    assert_eq!(woken(&inside.get_pid(1).expect("its first")), [1]);
    assert_eq!(woken(&child.get_pid(1).expect("its first")), []);
}

#[test]
fn destroying_a_namespace_ends_all_who_can_be_seen_in_it() {
    let [root, child, inside] = &nested(2)[..] else { panic!("three") };
    for namespace in [root, child, inside] {
        alloc(namespace);
    }
    let ended: Vec<_> = child.destroy().iter().map(|pid| pid.numbers().to_vec()).collect();
    assert_eq!(ended, [vec![2, 1], vec![3, 2, 1], vec![5, 3], vec![6, 4, 2]]);
    assert_eq!((numbers(root), numbers(child), numbers(inside)), (vec![1, 4], vec![], vec![]));
    assert_eq!(inside.alloc_pid(()).err(), Some(AllocError::Stopped { level: 2 }));
    assert_eq!(child.alloc_pid(()).err(), Some(AllocError::Stopped { level: 1 }));
    assert_eq!(child.destroy().len(), 0, "a second time");
    assert_eq!(alloc(root), 7);
}

#[test]
fn a_freed_pid_and_its_namespace_leave_nothing_behind() {
    let root = PidNamespace::root();
    let process = Arc::new(());
    assert!(root.alloc_pid(process.clone()).is_ok());
    let child = root.child().expect("not too deep");
    for _ in 0..10 {
        assert!(child.alloc_pid(process.clone()).is_ok());
    }
    drop(child.destroy());
    drop(child);
    drop(root.destroy());
    drop(root);
    for _ in 0..1_000_000 {
        if Arc::strong_count(&process) == 1 {
            return;
        }
        reclaim();
    }
    panic!("{} pids are still there", Arc::strong_count(&process) - 1);
}

#[test]
fn errors_tell_the_numbers() {
    for (error, text) in [
        (
            AllocError::OutOfRange { level: 1, number: 0, pid_max: 400 }.to_string(),
            "pid 0 cannot be chosen at level 1: it is not from 1 to below 400",
        ),
        (AllocError::Taken { level: 0, number: 7 }.to_string(), "pid 7 is in use at level 0"),
        (
            TooDeep { level: 33 }.to_string(),
            "a pid namespace of level 33 would be below the innermost, 32",
        ),
        (
            PidMaxOutOfRange { pid_max: 9 }.to_string(),
            "a pid_max of 9 is not within 301 and 4194304",
        ),
        (AllocError::Stopped { level: 2 }.to_string(), "the pid namespace at level 2 has ended"),
        (
            AllocError::NoReaper { level: 1, number: 5 }.to_string(),
            "the first process at level 1 must be pid 1, not 5",
        ),
        (
            AlreadyFreed { level: 1, number: 4 }.to_string(),
            "pid 4 of level 1 has been freed already",
        ),
        (NoSuchPid { level: 0, number: 6 }.to_string(), "no process is pid 6 at level 0"),
        (
            AdoptError::NoNumber { pid: 9 }.to_string(),
            "process 9 has no number in any pid namespace",
        ),
    ] {
        assert_eq!(error, text);
    }
}
