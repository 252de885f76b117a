//! Processes that are adopted, shared, superseded and forgotten.

use std::sync::Mutex;

use alloc::vec;

use super::*;
use crate::{MAX_PID_NS_LEVEL, pin};

const HOST: NamespaceId = NamespaceId(1);
const INNER: NamespaceId = NamespaceId(2);
const OTHER: NamespaceId = NamespaceId(3);

fn table() -> PidTable {
    PidTable::new(HOST)
}

/// A process that the host knows by the first of these numbers.
fn process(started_at: u64, levels: &[(NamespaceId, u32)]) -> KernelProcess {
    let levels: Vec<_> = levels.iter().map(|(id, number)| (Some(*id), *number)).collect();
    KernelProcess { pid: levels[0].1, levels, started_at }
}

fn adopt(table: &mut PidTable, started_at: u64, levels: &[(NamespaceId, u32)]) -> HeldPid {
    table.adopt(process(started_at, levels), None).expect("numbers of the kernel's")
}

fn numbers(namespace: &PidNamespace<Resident>) -> Vec<u32> {
    namespace.pids_from(1, &pin()).map(|(number, _)| number).collect()
}

#[test]
fn a_pid_is_the_number_in_the_readers_namespace_or_zero() {
    let mut table = table();
    let outer = adopt(&mut table, 0, &[(HOST, 10)]);
    let inner = adopt(&mut table, 0, &[(HOST, 20), (INNER, 1)]);
    let other = adopt(&mut table, 0, &[(HOST, 30), (OTHER, 1)]);
    assert_eq!((inner.seen_by(&outer), inner.seen_by(&inner)), (20, 1));
    assert_eq!((outer.seen_by(&inner), other.seen_by(&inner)), (0, 0));
    assert_eq!([&outer, &inner, &other].map(HeldPid::number), [10, 20, 30]);
    assert_eq!(table.namespaces(), 2);
}

#[test]
fn a_process_has_one_pid_however_often_it_is_adopted() {
    let mut table = table();
    let levels = [(HOST, 20), (INNER, 7)];
    let first = adopt(&mut table, 5, &levels);
    let second = adopt(&mut table, 5, &levels);
    let third = second.clone();
    assert!(Arc::ptr_eq(first.pid(), second.pid()) && Arc::ptr_eq(first.pid(), third.pid()));
    assert_eq!((first.pid().process().holders(), table.root().processes()), (3, 1));
    drop((first, second));
    assert_eq!(numbers(table.root()), [20]);
    drop(third);
    assert_eq!((numbers(table.root()), table.root().processes()), (vec![], 0));
    assert!(table.namespace(INNER).is_none());
}

#[test]
fn numbers_come_in_any_order_the_first_process_last() {
    let mut table = table();
    let held = [(70, 7), (60, 3), (50, 1)]
        .map(|(outer, inner)| adopt(&mut table, 0, &[(HOST, outer), (INNER, inner)]));
    let inner = table.namespace(INNER).expect("a namespace with processes");
    assert_eq!((numbers(table.root()), numbers(&inner)), (vec![50, 60, 70], vec![1, 3, 7]));
    let [_, _, first] = held;
    drop(first);
    // Its own end is not that of the namespace: it may have closed its device.
    let again = adopt(&mut table, 0, &[(HOST, 50), (INNER, 1)]);
    assert_eq!(again.pid().namespace().level(), 1);
    assert!(Arc::ptr_eq(again.pid().namespace(), &inner));
}

#[test]
fn a_number_that_the_kernel_gave_to_another_is_that_of_the_other() {
    let mut table = table();
    let reader = adopt(&mut table, 0, &[(HOST, 9)]);
    let peer = adopt(&mut table, 0, &[(HOST, 30), (INNER, 8)]);
    let stale = adopt(&mut table, 1, &[(HOST, 20), (INNER, 7)]);
    assert_eq!((stale.seen_by(&reader), stale.seen_by(&peer)), (20, 7));
    // One takes the number that it had inside, another the one outside.
    let inside = adopt(&mut table, 2, &[(HOST, 21), (INNER, 7)]);
    assert_eq!((stale.seen_by(&reader), stale.seen_by(&peer)), (0, 0), "it has ended");
    assert_eq!((inside.seen_by(&reader), inside.seen_by(&peer)), (21, 7));
    let outside = adopt(&mut table, 3, &[(HOST, 20)]);
    assert_eq!((outside.seen_by(&reader), outside.seen_by(&peer)), (20, 0));
    assert_eq!(stale.number(), 20, "logs go on naming it");
    drop(stale);
    assert_eq!(numbers(table.root()), [9, 20, 21, 30], "who lost its numbers frees nothing");
}

#[test]
fn a_thread_is_seen_where_its_process_is() {
    let mut table = table();
    let outside = adopt(&mut table, 0, &[(HOST, 9)]);
    let inside = adopt(&mut table, 0, &[(HOST, 20), (INNER, 7)]);
    let deeper = adopt(&mut table, 0, &[(HOST, 30), (INNER, 8), (OTHER, 2)]);
    let thread = [31, 10, 3];
    let seen = [&outside, &inside, &deeper].map(|reader| deeper.thread_seen_by(&thread, reader));
    assert_eq!(seen, [31, 10, 3]);
    assert_eq!(outside.thread_seen_by(&[11], &inside), 0, "it is outside of that");
    assert_eq!(outside.thread_seen_by(&[11], &outside), 11);
    assert_eq!(inside.thread_seen_by(&[], &outside), 0, "it has ended");
}

#[test]
fn a_process_with_the_same_numbers_that_started_later_is_another() {
    let mut table = table();
    let reader = adopt(&mut table, 0, &[(HOST, 9)]);
    let stale = adopt(&mut table, 1, &[(HOST, 20)]);
    let fresh = adopt(&mut table, 2, &[(HOST, 20)]);
    assert!(!Arc::ptr_eq(stale.pid(), fresh.pid()));
    assert_eq!((stale.seen_by(&reader), fresh.seen_by(&reader)), (0, 20));
    drop(stale);
    assert_eq!(fresh.seen_by(&reader), 20);
    assert_eq!(numbers(table.root()), [9, 20]);
}

#[test]
fn another_first_process_means_another_namespace_of_the_same_id() {
    let mut table = table();
    let _first = adopt(&mut table, 1, &[(HOST, 20), (INNER, 1)]);
    let stale = adopt(&mut table, 1, &[(HOST, 22), (INNER, 3)]);
    let fresh = adopt(&mut table, 2, &[(HOST, 40), (INNER, 1)]);
    assert_eq!((stale.seen_by(&fresh), fresh.seen_by(&stale)), (0, 0));
    let later = adopt(&mut table, 3, &[(HOST, 41), (INNER, 2)]);
    assert_eq!((fresh.seen_by(&later), later.seen_by(&fresh)), (1, 2));
}

#[test]
fn a_namespace_that_moved_is_another_of_the_same_id() {
    let mut table = table();
    let below_other = [(HOST, 30), (OTHER, 5), (INNER, 3)];
    let old = adopt(&mut table, 1, &[(HOST, 20), (INNER, 2)]);
    let new = adopt(&mut table, 2, &below_other);
    assert_eq!((old.seen_by(&new), new.seen_by(&old)), (0, 0));
    assert_eq!(new.pid().numbers(), [30, 5, 3]);
}

#[test]
fn namespaces_without_an_id_hold_one_process_each() {
    let mut table = table();
    let outside = adopt(&mut table, 0, &[(HOST, 10)]);
    let hidden =
        |pid| KernelProcess { pid, levels: vec![(Some(HOST), pid), (None, 4)], started_at: 0 };
    let one = table.adopt(hidden(20), None).expect("free numbers");
    let same = table.adopt(hidden(20), None).expect("the same process");
    let two = table.adopt(hidden(30), None).expect("free numbers");
    assert!(Arc::ptr_eq(one.pid(), same.pid()));
    assert_eq!((one.seen_by(&outside), two.seen_by(&outside)), (20, 30));
    assert_eq!((one.seen_by(&one), one.seen_by(&two), outside.seen_by(&one)), (4, 0, 0));
}

#[test]
fn a_world_beside_ours_has_numbers_of_its_own() {
    let mut table = table();
    let ours = adopt(&mut table, 0, &[(HOST, 10)]);
    let found =
        |pid, number| KernelProcess { pid, levels: vec![(Some(OTHER), number)], started_at: 0 };
    let one = table.adopt(found(20, 10), None).expect("free numbers");
    let two = table.adopt(found(30, 11), None).expect("free numbers");
    assert_eq!((one.number(), one.seen_by(&two), two.seen_by(&one)), (20, 10, 11));
    assert_eq!((one.seen_by(&ours), ours.seen_by(&one)), (0, 0));
}

#[test]
fn who_is_unknown_to_the_kernel_gets_the_next_number_and_loses_it_to_the_kernels() {
    let mut table = table();
    let _two = adopt(&mut table, 0, &[(HOST, 2)]);
    let peers = [(); 3].map(|()| table.allocate(None).expect("a free number"));
    assert_eq!(peers.each_ref().map(HeldPid::number), [1, 3, 4]);
    let kernels = adopt(&mut table, 0, &[(HOST, 3)]);
    assert_eq!((peers[1].seen_by(&peers[0]), kernels.seen_by(&peers[0])), (0, 3));
    assert!(peers[1].pid().process().found().is_none());
}

#[test]
fn what_cannot_be_a_process_changes_nothing() {
    let mut table = table();
    let one = adopt(&mut table, 0, &[(HOST, 10), (INNER, 4)]);
    let none = KernelProcess { pid: 7, levels: vec![], started_at: 0 };
    let mut refused = |found| table.adopt(found, None).err();
    assert_eq!(refused(none), Some(AdoptError::NoNumber { pid: 7 }));
    let number = PID_MAX_LIMIT;
    let out = AllocError::OutOfRange { level: 1, number, pid_max: PID_MAX_LIMIT };
    let beyond = process(0, &[(HOST, 11), (INNER, number)]);
    assert_eq!(refused(beyond), Some(AdoptError::Alloc(out)));
    let zero = AllocError::OutOfRange { level: 0, number: 0, pid_max: PID_MAX_LIMIT };
    assert_eq!(refused(process(0, &[(HOST, 0)])), Some(AdoptError::Alloc(zero)));
    let deep: Vec<_> =
        (0..u64::from(MAX_PID_NS_LEVEL) + 2).map(|id| (NamespaceId(id), 9)).collect();
    let mut deep = process(0, &deep);
    deep.levels[0].0 = Some(HOST);
    deep.levels[1].0 = Some(NamespaceId(1000));
    assert_eq!(refused(deep), Some(AdoptError::TooDeep(TooDeep { level: 33 })));
    assert_eq!((numbers(table.root()), table.namespaces()), (vec![10], 1));
    assert_eq!(one.seen_by(&one), 4);
}

#[test]
fn a_record_stays_with_its_process() {
    let mut table = table();
    let parent = adopt(&mut table, 0, &[(HOST, 10)]);
    let record: Record = Arc::new(parent.pid().clone());
    let child = table.adopt(process(0, &[(HOST, 11)]), Some(record)).expect("a free number");
    let found = table.root().get_pid(11).expect("the child");
    let its_parent = found.process().record::<Arc<Pid<Resident>>>().expect("a record");
    assert_eq!((its_parent.nr(), child.pid().process().record::<u32>()), (10, None));
}

#[test]
fn nothing_is_left_after_many_have_come_and_gone() {
    let mut table = table();
    let weak = Arc::downgrade(table.root());
    for round in 0..100_000 {
        let (started_at, number) = (round.into(), 2 + round % 30_000);
        let own = NamespaceId(100 + started_at);
        let held = adopt(&mut table, started_at, &[(HOST, number), (own, 1 + round % 7)]);
        let same = adopt(&mut table, started_at, &[(HOST, number), (own, 1 + round % 7)]);
        assert_eq!((held.seen_by(&same), table.root().processes()), (1 + round % 7, 1));
    }
    assert_eq!((table.root().processes(), numbers(table.root())), (0, vec![]));
    assert_eq!(table.namespaces(), 0);
    assert!(table.by_id.len() < 10_000, "{} namespaces are remembered", table.by_id.len());
    drop(table);
    for _ in 0..1000 {
        if weak.strong_count() == 0 {
            return;
        }
        crate::reclaim();
        std::thread::yield_now();
    }
    panic!("{} still have the root", weak.strong_count());
}

#[test]
fn opens_and_closes_at_once_keep_one_pid_for_a_process() {
    let table = Mutex::new(table());
    let levels = [(HOST, 20), (INNER, 1)];
    let witness = adopt(&mut table.lock().expect("no panic"), 0, &[(HOST, 30), (INNER, 2)]);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..2000 {
                    let held = adopt(&mut table.lock().expect("no panic"), 5, &levels);
                    assert_eq!(held.seen_by(&witness), 1);
                    assert_eq!(witness.seen_by(&held), 2, "its namespace is the same all the time");
                }
            });
        }
    });
    let table = table.into_inner().expect("no panic");
    assert_eq!(numbers(table.root()), [30]);
}
