//! Every interleaving of a reader with a writer, and of writers with each other, that the model
//! checker finds within two preemptions. Nodes decode one bit, so the ids below reach over levels.

use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use std::vec::Vec;

use super::*;

/// A value that its reader can see to be still the map's.
fn value(id: u32) -> Arc<u32> {
    Arc::new(id)
}

fn check(scene: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(scene);
}

fn idr_of(ids: &[u32]) -> Arc<Idr<u32>> {
    let idr = Idr::new();
    for id in ids {
        assert_eq!(idr.alloc(*id..=*id, Some(value(*id))), Ok(*id));
    }
    Arc::new(idr)
}

/// Runs `write` in a thread beside `read`.
fn beside(
    idr: &Arc<Idr<u32>>,
    write: impl FnOnce(&Idr<u32>) + Send + 'static,
    read: impl FnOnce(&Idr<u32>),
) {
    let theirs = idr.clone();
    let writer = thread::spawn(move || write(&theirs));
    read(idr);
    writer.join().expect("no thread panics");
}

#[test]
fn a_reader_finds_a_whole_value_or_none_while_it_is_published() {
    check(|| {
        let idr = Arc::new(Idr::<AtomicU32>::new());
        let theirs = idr.clone();
        let writer = thread::spawn(move || {
            assert_eq!(theirs.alloc(1..=1, None), Ok(1));
            let value = Arc::new(AtomicU32::new(0));
            value.store(1, Ordering::Relaxed);
            assert!(theirs.replace(1, value).is_ok());
        });
        let is_whole = |value: &AtomicU32| value.load(Ordering::Relaxed) == 1;
        assert!(idr.find(1, &pin()).is_none_or(is_whole));
        writer.join().expect("no thread panics");
        assert!(idr.find(1, &pin()).is_some_and(is_whole));
    });
}

#[test]
fn a_reader_keeps_what_is_removed_under_it() {
    check(|| {
        let kept = value(2);
        let idr = Arc::new(Idr::new());
        assert_eq!(idr.alloc(2..=2, Some(kept.clone())), Ok(2));
        beside(
            &idr,
            |idr| {
                assert!(idr.remove(2).is_ok());
                // The epoch has every chance to move on.
                drop(pin());
            },
            |idr| {
                let guard = pin();
                if let Some(found) = idr.find(2, &guard) {
                    assert_eq!(*found, 2);
                    assert!(Arc::strong_count(&kept) > 1, "the map's count is not given up yet");
                }
            },
        );
        assert_eq!(idr.find(2, &pin()), None);
    });
}

#[test]
fn a_reader_finds_what_is_there_while_the_tree_grows_above_it() {
    check(|| {
        let idr = idr_of(&[0]);
        beside(
            &idr,
            |idr| assert_eq!(idr.alloc(2..=2, Some(value(2))), Ok(2)),
            |idr| {
                let guard = pin();
                assert_eq!(idr.find(0, &guard), Some(&0));
                let ids: Vec<u32> = idr.iter(&guard).map(|(id, _)| id).collect();
                assert!(ids == [0] || ids == [0, 2], "{ids:?}");
            },
        );
    });
}

#[test]
fn a_reader_finds_what_is_there_while_the_tree_shrinks_around_it() {
    check(|| {
        let idr = idr_of(&[0, 2]);
        beside(
            &idr,
            |idr| {
                assert!(idr.remove(2).is_ok());
                // The leaf of 2 goes now, and the root with it.
                idr.lock(&pin_to_change()).prune(2);
            },
            |idr| {
                let guard = pin();
                assert_eq!(idr.find(0, &guard), Some(&0));
                assert!(idr.get_next(1, &guard).is_none_or(|found| found == (2, &2)));
            },
        );
        assert_eq!(idr.find(2, &pin()), None);
    });
}

#[test]
fn an_id_that_is_taken_again_is_never_half_the_old_and_half_the_new() {
    check(|| {
        let idr = idr_of(&[0]);
        beside(
            &idr,
            |idr| {
                assert!(idr.remove(0).is_ok());
                assert_eq!(idr.alloc(0..=0, Some(Arc::new(10))), Ok(0));
            },
            |idr| assert!(idr.get(0).is_none_or(|value| [0, 10].contains(&*value))),
        );
        assert_eq!(idr.get(0).as_deref(), Some(&10));
    });
}

#[test]
fn two_writers_never_get_the_same_id() {
    check(|| {
        let idr = idr_of(&[]);
        let theirs = idr.clone();
        let writer = thread::spawn(move || theirs.alloc(0..=1, Some(value(7))));
        let ours = idr.alloc(0..=1, Some(value(8)));
        let theirs = writer.join().expect("no thread panics");
        assert!(matches!((ours, theirs), (Ok(0), Ok(1)) | (Ok(1), Ok(0))));
    });
}
