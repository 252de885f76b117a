//! Every interleaving of two threads that use the same namespaces, within two preemptions.

use alloc::sync::Arc;

use loom::thread;

use super::*;

type TestNamespace = Arc<PidNamespace<()>>;

/// Runs `scene` in a root and a namespace inside, both with a first process.
fn check(scene: impl Fn(&TestNamespace, &TestNamespace) + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(move || {
        let root = PidNamespace::root();
        root.assume_reaper();
        let child = root.child().expect("not too deep");
        assert!(child.alloc_pid(()).is_ok());
        scene(&root, &child);
        // A pid and its namespaces have each other until it is freed.
        root.destroy();
    });
}

fn beside<R: 'static>(
    namespace: &TestNamespace,
    theirs: impl FnOnce(&TestNamespace) -> R + Send + 'static,
    ours: impl FnOnce(),
) -> R {
    let namespace = namespace.clone();
    let thread = thread::spawn(move || theirs(&namespace));
    ours();
    thread.join().expect("no thread panics")
}

#[test]
fn two_who_allocate_get_different_numbers_everywhere() {
    check(|root, child| {
        let mut ours = None;
        let theirs = beside(child, |it| it.alloc_pid(()), || ours = root.alloc_pid(()).ok());
        let (ours, theirs) = (ours.expect("free"), theirs.expect("free"));
        assert_eq!(theirs.nr(), 2);
        let globals = [ours.global_nr(), theirs.global_nr()];
        assert!(globals == [2, 3] || globals == [3, 2], "{globals:?}");
        assert_eq!((root.processes(), child.processes()), (3, 2));
    });
}

#[test]
fn a_lookup_during_an_allocation_finds_a_complete_pid_or_none() {
    check(|root, child| {
        let allocated = beside(
            child,
            |it| it.alloc_pid(()).is_ok(),
            || {
                let guard = pin();
                for (namespace, number) in [(root, 2), (child, 2)] {
                    if let Some(found) = namespace.find_pid(number, &guard) {
                        assert_eq!(found.numbers(), [2, 2]);
                    }
                }
                let next = child.find_ge_pid(2, &guard);
                assert!(next.is_none_or(|(number, pid)| (number, pid.nr()) == (2, 2)));
            },
        );
        assert!(allocated);
    });
}

#[test]
fn a_lookup_during_a_free_finds_the_old_pid_or_none() {
    check(|root, child| {
        let pid = child.alloc_pid(()).expect("free");
        let freed = beside(
            child,
            |it| it.free_pid(2).is_ok(),
            || {
                let guard = pin();
                for (namespace, number) in [(root, 2), (child, 2)] {
                    if let Some(found) = namespace.find_pid(number, &guard) {
                        assert!(core::ptr::eq(found, &*pid));
                        // Ours, that of the guard's epoch, and none else need be left.
                        assert!(Arc::strong_count(&pid) > 1);
                    }
                }
            },
        );
        assert!(freed);
        assert!(root.get_pid(2).is_none());
    });
}

#[test]
fn one_of_two_who_free_a_pid_does() {
    check(|root, child| {
        let pid = child.alloc_pid(()).expect("free");
        let mut ours = false;
        let theirs = beside(child, |it| it.free_pid(2).is_ok(), || ours = pid.free().is_ok());
        assert!(ours != theirs);
        assert_eq!((root.processes(), child.processes()), (1, 1));
    });
}

#[test]
fn a_number_that_is_freed_and_chosen_at_once_is_never_shared() {
    check(|root, child| {
        let old = child.alloc_pid(()).expect("free");
        let mut ours = Err(AllocError::Stopped { level: 0 });
        let freed = beside(
            child,
            |it| it.free_pid(2).is_ok(),
            || ours = child.alloc_pid_at(&[2, 2], |_| true, ()),
        );
        assert!(freed);
        match ours {
            Ok(new) => {
                assert!(!Arc::ptr_eq(&old, &new));
                assert!(root.get_pid(2).is_some_and(|found| Arc::ptr_eq(&found, &new)));
            }
            Err(error) => assert_eq!(error, AllocError::Taken { level: 1, number: 2 }),
        }
    });
}

#[test]
fn who_stops_a_namespace_sees_all_there_will_ever_be() {
    check(|_, child| {
        let mut seen = 0;
        let allocated = beside(
            child,
            |it| it.alloc_pid(()).is_ok(),
            || {
                child.disable_pid_allocation();
                let guard = pin();
                seen = child.pids_from(1, &guard).count();
            },
        );
        assert_eq!(seen, if allocated { 2 } else { 1 });
    });
}
