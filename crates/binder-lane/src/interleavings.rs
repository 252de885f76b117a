//! The protocol in every interleaving of a caller, a server's threads and the driver.

// The same that the ring is played with.
#[path = "../../binder-ring/src/interleavings/futex.rs"]
mod futex;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use binder_ring::SlotIndex;

use self::futex::Futex;
use crate::{
    Adoption, AlreadyAdopted, AwakeCount, CallBell, CallNumber, CallProgress, GrantWord,
    PostedWord, ServedWord,
};

/// A lane with one slot.
#[derive(Default)]
struct Lane {
    posted: PostedWord,
    served: ServedWord,
    grants: [GrantWord; 2],
    request: AtomicU32,
    reply: AtomicU32,
    futex: Futex,
}

const OF_CALLER: usize = 0;
const OF_SERVER: usize = 1;

fn first() -> CallNumber {
    CallNumber::default().next()
}

fn slot(number: u32) -> SlotIndex {
    SlotIndex::new(number).unwrap()
}

impl Lane {
    fn post(&self) {
        self.request.store(5, Ordering::Relaxed);
        self.posted.post(first());
    }

    /// Waits until the call is over, or the driver's.
    fn wait(&self) -> CallProgress {
        while let Some(value) = self.posted.prepare_to_sleep(first(), &self.served) {
            self.futex.sleep(self.served.word(), value);
        }
        self.served.progress(first())
    }

    fn wake_caller(&self) {
        if self.posted.must_wake(first()) {
            self.futex.wake();
        }
    }

    /// Serves the call, if there is one and it is this thread's. Says whether it has replied; none if there was nothing.
    fn serve(&self, slot: SlotIndex) -> Option<Result<(), AlreadyAdopted>> {
        if self.posted.number() != first() || !self.served.claim(first(), slot) {
            return None;
        }
        assert_eq!(
            self.request.load(Ordering::Relaxed),
            5,
            "the call was written before it was posted"
        );
        self.reply.store(7, Ordering::Relaxed);
        let replied = self.served.reply(first(), slot);
        if replied.is_ok() {
            self.wake_caller();
        }
        Some(replied)
    }
}

fn lane() -> Arc<Lane> {
    Arc::new(Lane::default())
}

/// A caller that sleeps is woken by the reply, and sees what was written for it.
#[test]
fn a_reply_wakes_its_caller() {
    loom::model(|| {
        let lane = lane();
        lane.post();
        let server = {
            let lane = lane.clone();
            thread::spawn(move || assert_eq!(lane.serve(slot(3)), Some(Ok(()))))
        };
        assert_eq!(lane.wait(), CallProgress::Replied);
        assert_eq!(lane.reply.load(Ordering::Relaxed), 7);
        server.join().unwrap();
    });
}

/// A server that looks while a call is being made sees nothing of it, or all.
#[test]
fn a_call_is_seen_whole() {
    loom::model(|| {
        let lane = lane();
        let server = {
            let lane = lane.clone();
            thread::spawn(move || lane.serve(slot(3)))
        };
        lane.post();
        let served = server.join().unwrap();
        assert!(matches!(served, None | Some(Ok(()))), "{served:?}");
    });
}

/// Whenever the driver adopts a call, one of the two has the reply, and caller, server and driver agree on who.
#[test]
fn a_call_is_replied_to_or_adopted() {
    loom::model(|| {
        let lane = lane();
        lane.post();
        let server = {
            let lane = lane.clone();
            thread::spawn(move || lane.serve(slot(3)))
        };
        let adopted = lane.served.adopt(first());
        let agreed = match (server.join().unwrap(), adopted) {
            (Some(Ok(())), Adoption::Over) => CallProgress::Replied,
            (Some(Err(AlreadyAdopted)), Adoption::Served(by)) if by == slot(3) => {
                CallProgress::Adopted
            }
            (None, Adoption::Unserved) => CallProgress::Adopted,
            other => panic!("{other:?}"),
        };
        assert_eq!(lane.served.progress(first()), agreed);
    });
}

/// A caller whose call is adopted sleeps no longer.
#[test]
fn an_adoption_wakes_the_caller() {
    loom::model(|| {
        let lane = lane();
        lane.post();
        let driver = {
            let lane = lane.clone();
            thread::spawn(move || {
                assert_eq!(lane.served.adopt(first()), Adoption::Unserved);
                lane.wake_caller();
            })
        };
        assert_eq!(lane.wait(), CallProgress::Adopted);
        driver.join().unwrap();
    });
}

/// A reply and a death: whichever was first, and never none.
#[test]
fn a_reply_wins_over_a_death_behind_it() {
    loom::model(|| {
        let lane = lane();
        lane.post();
        let server = {
            let lane = lane.clone();
            thread::spawn(move || lane.serve(slot(0)))
        };
        let was_over = lane.served.end(first()) == Adoption::Over;
        let replied = server.join().unwrap() == Some(Ok(()));
        assert_eq!(was_over, replied);
        let expected = if replied { CallProgress::Replied } else { CallProgress::Dead };
        assert_eq!(lane.served.progress(first()), expected);
    });
}

/// One thread of a server serves a call, however many have seen it.
#[test]
fn a_call_is_served_once() {
    loom::model(|| {
        let lane = lane();
        lane.post();
        let other = {
            let lane = lane.clone();
            thread::spawn(move || lane.serve(slot(1)))
        };
        let own = lane.serve(slot(2));
        let served = [own, other.join().unwrap()];
        assert_eq!(served.iter().filter(|it| **it == Some(Ok(()))).count(), 1, "{served:?}");
    });
}

/// The driver that revokes a lane sees a call that is posted meanwhile, or the caller sees that it has to ask.
#[test]
fn no_call_is_lost_in_a_lane_that_is_revoked() {
    loom::model(|| {
        let lane = lane();
        let caller = {
            let lane = lane.clone();
            thread::spawn(move || {
                lane.post();
                lane.grants[OF_CALLER].is_revoked()
            })
        };
        lane.grants[OF_CALLER].revoke();
        let is_seen = lane.posted.number() == first();
        let asks = caller.join().unwrap();
        assert!(is_seen || asks);
        assert_eq!(lane.served.adopt(first()), Adoption::Unserved);
        assert_eq!(lane.served.adopt(first()), Adoption::Over, "whoever comes second");
    });
}

/// A server that claims a call and does not see that the lane is revoked is one that the driver has found.
#[test]
fn nobody_serves_unseen_in_a_lane_that_is_revoked() {
    loom::model(|| {
        let lane = lane();
        lane.post();
        let server = {
            let lane = lane.clone();
            thread::spawn(move || {
                if !lane.served.claim(first(), slot(4)) {
                    return None;
                }
                if lane.grants[OF_SERVER].is_revoked() {
                    return Some(lane.served.give_back(first(), slot(4)));
                }
                // It serves.
                Some(Err(AlreadyAdopted))
            })
        };
        lane.grants[OF_SERVER].revoke();
        let found = lane.served.adopt(first());
        match (server.join().unwrap(), found) {
            (None | Some(Ok(())), Adoption::Unserved) => {}
            (Some(Err(AlreadyAdopted)), Adoption::Served(by)) if by == slot(4) => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(lane.served.progress(first()), CallProgress::Adopted);
    });
}

/// A server with one lane, whose threads sleep on the bell.
#[derive(Default)]
struct Attention {
    lane: Lane,
    awake: AwakeCount,
    bell: CallBell,
    sleepers: Futex,
}

impl Attention {
    /// Makes a call, and rings if that is needed.
    fn call(&self) {
        self.bell.begin(slot(0));
        self.lane.post();
        if self.awake.is_nobody_awake() {
            self.bell.ring();
            self.sleepers.wake();
        }
    }

    /// A thread that is awake serves one call, and sleeps until there is one.
    fn serve_one(&self) {
        loop {
            let value = self.bell.value();
            if self.lane.serve(slot(3)).is_some() {
                return;
            }
            self.awake.leave();
            if self.bell.calls().next().is_some() && self.lane.posted.number() == first() {
                self.awake.enter();
                continue;
            }
            self.sleepers.sleep(self.bell.word(), value);
            self.awake.enter();
        }
    }
}

/// A call finds a thread that is about to sleep, or wakes it.
#[test]
fn no_call_is_missed_by_a_thread_that_goes_to_sleep() {
    // More than three switches where none is due add minutes, and nothing else.
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let attention = Arc::new(Attention::default());
        attention.awake.enter();
        let server = {
            let attention = attention.clone();
            thread::spawn(move || attention.serve_one())
        };
        attention.call();
        assert_eq!(attention.lane.wait(), CallProgress::Replied);
        server.join().unwrap();
    });
}

/// A thread that begins to serve a call sees another that was made meanwhile, or its maker sees that nobody looks.
#[test]
fn a_call_beside_one_that_is_served_is_seen() {
    loom::model(|| {
        let attention = Arc::new(Attention::default());
        attention.awake.enter();
        let server = {
            let attention = attention.clone();
            thread::spawn(move || {
                // It serves the call of another caller from here on.
                attention.awake.leave();
                attention.lane.posted.number() == first()
            })
        };
        attention.lane.post();
        let asks = attention.awake.is_nobody_awake();
        let is_seen = server.join().unwrap();
        assert!(asks || is_seen);
    });
}
