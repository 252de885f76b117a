//! The protocol in every interleaving of a caller, a server's thread and the driver.

// The same that the ring is played with.
#[path = "../../binder-ring/src/interleavings/futex.rs"]
mod futex;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering, fence};
use loom::thread;

use self::futex::Futex;
use crate::{CallLeft, LaneId, LaneNote, LaneState, LaneWord, LeftToDriver, NoteKind, Woken};

const LANE: LaneId = match LaneId::new(5) {
    Some(lane) => lane,
    None => unreachable!(),
};

/// A lane, and what its parties have in their rings.
#[derive(Default)]
struct LaneScene {
    word: LaneWord,
    /// What sleeps on the word: a futex wakes one that sleeps already, and the two never sleep at the same time.
    callers_sleep: Futex,
    servers_sleep: Futex,
    request: AtomicU32,
    reply: AtomicU32,
    caller_note: AtomicU32,
    server_note: AtomicU32,
    /// In the server's ring: the driver has taken the lane back.
    is_revoked: AtomicU32,
    /// In the server's ring: the driver has work for the server.
    gate: AtomicU32,
    /// Of the driver's own.
    is_adopted: loom::sync::Mutex<bool>,
}

/// What a server's thread did with a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ServedCall {
    /// There was none.
    Nothing,
    Replied,
    /// It has replied by way of the driver.
    ThroughDriver,
    Declined,
}

/// What came of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Called {
    Replied,
    /// The driver tells.
    ByDriver,
    /// The server is gone, says the driver.
    Dead,
    /// It is to be made by the ring.
    NotMade,
}

const DECLINED: u32 = 3;
const REPLY: u32 = 7;

impl LaneScene {
    fn new() -> Arc<Self> {
        let lane = Self::default();
        assert!(lane.word.warm());
        Arc::new(lane)
    }

    fn caller(&self) -> LaneNote<'_> {
        LaneNote::new(&self.caller_note)
    }

    fn server(&self) -> LaneNote<'_> {
        LaneNote::new(&self.server_note)
    }

    fn wake_caller(&self, woken: Woken) {
        if woken == Woken::Wake {
            self.callers_sleep.wake();
        }
    }

    /// Either party asks for the call to be taken over. Says whether it was: here, or before.
    fn adopt(&self) -> bool {
        let mut is_adopted = self.is_adopted.lock().unwrap();
        if *is_adopted {
            return true;
        }
        if !self.server().adopt(LANE, NoteKind::Serves) {
            return false;
        }
        if !self.caller().adopt(LANE, NoteKind::Calls) {
            return false;
        }
        *is_adopted = true;
        true
    }

    fn post(&self) -> bool {
        self.caller().begin(LANE, NoteKind::Calls);
        self.request.store(5, Ordering::Relaxed);
        match self.word.post() {
            Some(woken) => {
                if woken == Woken::Wake {
                    self.servers_sleep.wake();
                }
                true
            }
            None => {
                assert!(self.caller().end(LANE, NoteKind::Calls));
                false
            }
        }
    }

    fn sleep_until_over(&self) {
        while let Some(value) = self.word.prepare_caller_to_sleep() {
            self.callers_sleep.sleep(self.word.word(), value);
        }
    }

    /// What the caller makes of a call that is over.
    fn take_outcome(&self) -> Called {
        let reply = self.reply.load(Ordering::Relaxed);
        if !self.caller().end(LANE, NoteKind::Calls) {
            return Called::ByDriver;
        }
        match reply {
            DECLINED => Called::NotMade,
            reply => {
                assert_eq!(reply, REPLY, "it was written before the call was over");
                Called::Replied
            }
        }
    }

    /// The caller has no more patience.
    fn leave(&self) -> Called {
        match self.word.leave() {
            CallLeft::TakenBack => {
                assert!(self.caller().end(LANE, NoteKind::Calls));
                Called::NotMade
            }
            CallLeft::ToDriver if self.adopt() => {
                assert!(!self.caller().end(LANE, NoteKind::Calls));
                Called::ByDriver
            }
            CallLeft::ToDriver => Called::Dead,
            CallLeft::Over => self.take_outcome(),
        }
    }

    /// A thread of the server looks once, and replies to what is there.
    fn serve(&self) -> ServedCall {
        if self.word.state() != LaneState::Posted {
            return ServedCall::Nothing;
        }
        self.server().begin(LANE, NoteKind::Serves);
        let must_decline =
            self.is_revoked.load(Ordering::Relaxed) != 0 || self.gate.load(Ordering::Relaxed) != 0;
        if must_decline {
            assert!(self.server().end(LANE, NoteKind::Serves));
            self.reply.store(DECLINED, Ordering::Relaxed);
            return match self.word.decline() {
                Some(woken) => {
                    self.wake_caller(woken);
                    ServedCall::Declined
                }
                None => ServedCall::Nothing,
            };
        }
        if !self.word.claim() {
            assert!(self.server().end(LANE, NoteKind::Serves));
            return ServedCall::Nothing;
        }
        assert_eq!(self.request.load(Ordering::Relaxed), 5, "it was written before");
        self.reply.store(REPLY, Ordering::Relaxed);
        match self.word.finish(true) {
            Ok(woken) => {
                let own = self.server().end(LANE, NoteKind::Serves);
                self.wake_caller(woken);
                if own { ServedCall::Replied } else { ServedCall::ThroughDriver }
            }
            Err(LeftToDriver) => {
                assert!(self.adopt(), "the caller waits for that");
                assert!(!self.server().end(LANE, NoteKind::Serves));
                self.word.settle();
                ServedCall::ThroughDriver
            }
        }
    }
}

/// A caller that sleeps is woken by the reply, and sees what was written for it.
#[test]
fn a_reply_wakes_its_caller() {
    loom::model(|| {
        let lane = LaneScene::new();
        assert!(lane.post());
        let server = {
            let lane = lane.clone();
            thread::spawn(move || assert_eq!(lane.serve(), ServedCall::Replied))
        };
        lane.sleep_until_over();
        assert_eq!(lane.take_outcome(), Called::Replied);
        server.join().unwrap();
    });
}

/// A caller that waits no longer and a server that replies agree on what became of the call.
#[test]
fn a_call_that_is_left_is_replied_to_adopted_or_not_made() {
    loom::model(|| {
        let lane = LaneScene::new();
        assert!(lane.post());
        let server = {
            let lane = lane.clone();
            thread::spawn(move || lane.serve())
        };
        let called = lane.leave();
        let served = server.join().unwrap();
        assert!(
            matches!(
                (called, served),
                (Called::Replied, ServedCall::Replied)
                    | (Called::ByDriver, ServedCall::ThroughDriver)
                    | (Called::NotMade, ServedCall::Nothing)
            ),
            "{called:?} {served:?}"
        );
    });
}

/// A server that asks for its call to be taken over, and a caller that does so at the same time, are both told the same.
#[test]
fn both_parties_may_ask_for_a_call_to_be_taken_over() {
    loom::model(|| {
        let lane = LaneScene::new();
        assert!(lane.post());
        lane.server().begin(LANE, NoteKind::Serves);
        assert!(lane.word.claim());
        let server = {
            let lane = lane.clone();
            thread::spawn(move || {
                // It makes a call of its own.
                assert!(lane.adopt());
                assert!(!lane.server().end(LANE, NoteKind::Serves));
                lane.reply.store(REPLY, Ordering::Relaxed);
                match lane.word.finish(false) {
                    Ok(woken) => lane.wake_caller(woken),
                    Err(LeftToDriver) => lane.word.settle(),
                }
            })
        };
        assert_eq!(lane.leave(), Called::ByDriver);
        server.join().unwrap();
        assert_eq!(lane.word.state(), LaneState::Cold);
    });
}

/// A server that goes to sleep sees a call, or is woken for it.
#[test]
fn no_call_is_missed_by_a_thread_that_goes_to_sleep() {
    loom::model(|| {
        let lane = LaneScene::new();
        let server = {
            let lane = lane.clone();
            thread::spawn(move || {
                while lane.serve() == ServedCall::Nothing {
                    if let Some(value) = lane.word.prepare_server_to_sleep() {
                        lane.servers_sleep.sleep(lane.word.word(), value);
                        lane.word.end_server_sleep();
                    }
                }
            })
        };
        assert!(lane.post());
        lane.sleep_until_over();
        assert_eq!(lane.take_outcome(), Called::Replied);
        server.join().unwrap();
    });
}

/// A thread that looks no more has seen a call that was made, or the caller sees that it cannot make it.
#[test]
fn no_call_is_made_to_a_thread_that_looks_no_more() {
    loom::model(|| {
        let lane = LaneScene::new();
        let server = {
            let lane = lane.clone();
            thread::spawn(move || {
                if lane.word.cool() {
                    return ServedCall::Nothing;
                }
                lane.reply.store(DECLINED, Ordering::Relaxed);
                let woken = lane.word.decline().expect("the caller has patience");
                lane.wake_caller(woken);
                ServedCall::Declined
            })
        };
        let called = if lane.post() {
            lane.sleep_until_over();
            lane.take_outcome()
        } else {
            Called::NotMade
        };
        server.join().unwrap();
        assert_eq!(called, Called::NotMade);
    });
}

/// Once the driver has taken a lane back and has seen no thread serve a call of it, none does.
#[test]
fn nobody_serves_unseen_in_a_lane_that_is_revoked() {
    loom::model(|| {
        let lane = LaneScene::new();
        assert!(lane.post());
        let server = {
            let lane = lane.clone();
            thread::spawn(move || {
                lane.server().begin(LANE, NoteKind::Serves);
                lane.is_revoked.load(Ordering::Relaxed) == 0
            })
        };
        lane.is_revoked.store(1, Ordering::Relaxed);
        LaneNote::fence();
        let is_seen = lane.server().is(LANE, NoteKind::Serves);
        let serves = server.join().unwrap();
        assert!(is_seen || !serves);
    });
}

/// What the driver has for a server before a caller hears of it, that server has before a later call of that caller.
#[test]
fn work_of_the_drivers_comes_before_a_later_call() {
    loom::model(|| {
        let lane = LaneScene::new();
        let server = {
            let lane = lane.clone();
            thread::spawn(move || lane.serve())
        };
        // The driver queues a one-way of the caller's, and answers it.
        lane.gate.store(1, Ordering::Relaxed);
        fence(Ordering::Release);
        assert!(lane.post());
        let served = server.join().unwrap();
        assert!(matches!(served, ServedCall::Nothing | ServedCall::Declined), "{served:?}");
    });
}
