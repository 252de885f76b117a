//! The protocol in every interleaving of a client's threads and the driver's.

mod futex;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use self::futex::Futex;
use crate::{Bell, BellState, Ring, SlotWord};

/// A thread that waits for its answer gets it, and sees all that the driver wrote before.
#[test]
fn an_answer_wakes_its_thread() {
    loom::model(|| {
        let shared = Arc::new((SlotWord::default(), AtomicU32::new(0), Futex::default()));
        shared.0.post();
        let driver = {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.1.store(7, Ordering::Relaxed);
                if shared.0.answer() {
                    shared.2.wake();
                }
            })
        };
        let (slot, data, futex) = &*shared;
        while let Some(value) = slot.prepare_to_sleep() {
            futex.sleep(slot.word(), value);
        }
        assert!(slot.is_answered());
        assert_eq!(data.load(Ordering::Relaxed), 7);
        driver.join().unwrap();
    });
}

/// A request that is posted while the driver falls asleep wakes the driver, or the driver sees it.
#[test]
fn a_bell_wakes_the_driver() {
    loom::model(|| {
        let shared = Arc::new((Bell::default(), AtomicU32::new(0), Futex::default()));
        shared.0.set_awake();
        let client = {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.1.store(7, Ordering::Relaxed);
                match shared.0.ring(3) {
                    Ring::Wake => shared.2.wake(),
                    Ring::Heard => {}
                    Ring::Unwatched => panic!("it is watched"),
                }
            })
        };
        let (bell, data, futex) = &*shared;
        loop {
            let posted = bell.take_posted();
            if posted != 0 {
                assert_eq!((posted, data.load(Ordering::Relaxed)), (8, 7));
                break;
            }
            bell.set(BellState::Asleep);
            if bell.has_posted() {
                bell.set_awake();
                continue;
            }
            futex.sleep(bell.word(), BellState::Asleep as u32);
            bell.set_awake();
        }
        client.join().unwrap();
    });
}

/// A request that is posted while the driver gives up a bell is seen by the driver, or the thread is told to make the ioctl.
#[test]
fn a_bell_that_is_given_up_loses_no_request() {
    loom::model(|| {
        let bell = Arc::new(Bell::default());
        bell.set(BellState::Asleep);
        let client = {
            let bell = bell.clone();
            thread::spawn(move || bell.ring(0))
        };
        bell.set(BellState::Unwatched);
        let is_seen = bell.has_posted();
        let rung = client.join().unwrap();
        assert!(is_seen || rung == Ring::Unwatched, "{rung:?}");
    });
}

/// Two threads that post at once are both seen, and one alone wakes the driver.
#[test]
fn two_threads_ring_one_bell() {
    loom::model(|| {
        let bell = Arc::new(Bell::default());
        bell.set(BellState::Asleep);
        let other = {
            let bell = bell.clone();
            thread::spawn(move || bell.ring(0))
        };
        let rung = [bell.ring(1), other.join().unwrap()];
        assert_eq!(rung.iter().filter(|ring| **ring == Ring::Wake).count(), 1);
        assert_eq!(bell.take_posted(), 3);
    });
}
