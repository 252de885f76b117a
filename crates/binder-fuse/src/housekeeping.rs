//! What the housekeeper is told by other threads, and what each thread does for itself when it rests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use binder_os::heap;

use crate::reader_places::Readers;

/// How often it looks while requests come in.
pub(crate) const ROUND: Duration = Duration::from_millis(10);
/// How long a thread rests after clients have ended before it gives up what the allocator keeps for it:
/// less than it takes to rest.
pub(crate) const SPENT_AFTER: Duration = Duration::from_millis(500);
/// How often garbage is looked through: each time some hundreds of entries, and new ones three times.
const RECLAIMS: usize = 8;

/// What the housekeeper is told by other threads.
#[derive(Debug, Default)]
pub(crate) struct Housekeeping {
    /// The latest request was that a file is closed or forgotten.
    has_closed: AtomicBool,
    is_resting: AtomicBool,
    /// Memory is short, and idle memory has not been given back since.
    is_short: AtomicBool,
    must_stop: Mutex<bool>,
    changed: Condvar,
}

impl Housekeeping {
    /// A reader has a request, and has taken the step for it.
    pub(crate) fn note_request(&self) {
        if self.is_resting.load(Ordering::SeqCst) {
            self.notify();
        }
    }

    /// A file is closed, or forgotten.
    pub(crate) fn note_close(&self) {
        self.has_closed.store(true, Ordering::Relaxed);
    }

    /// Whether that was the latest request; for the reader, which then does not ask again.
    pub(crate) fn take_close(&self) -> bool {
        let has_closed = self.has_closed.load(Ordering::Relaxed);
        if has_closed {
            self.has_closed.store(false, Ordering::Relaxed);
        }
        has_closed
    }

    /// Memory is short. A housekeeper that rests has none to give back.
    pub(crate) fn note_pressure(&self) {
        self.is_short.store(true, Ordering::Relaxed);
    }

    /// Whether memory has become short since it was last asked for.
    pub(crate) fn take_pressure(&self) -> bool {
        self.is_short.swap(false, Ordering::Relaxed)
    }

    /// Has the housekeeper end.
    pub(crate) fn stop(&self) {
        if let Ok(mut must_stop) = self.must_stop.lock() {
            *must_stop = true;
        }
        self.notify();
    }

    fn notify(&self) {
        drop(self.must_stop.lock());
        self.changed.notify_one();
    }

    /// Sleeps for a round, or, to `rest`, until a request comes in. Says whether to go on.
    pub(crate) fn sleep(&self, readers: &Readers, rest_at: Option<u64>) -> bool {
        let Ok(must_stop) = self.must_stop.lock() else { return false };
        let is_stopped = match rest_at {
            None => {
                self.changed.wait_timeout_while(must_stop, ROUND, |stop| !*stop).map(|(s, _)| *s)
            }
            Some(steps) => {
                self.is_resting.store(true, Ordering::SeqCst);
                let is_idle = |stop: &mut bool| !*stop && readers.steps() == steps;
                let woken = self.changed.wait_while(must_stop, is_idle).map(|stop| *stop);
                self.is_resting.store(false, Ordering::SeqCst);
                return woken.is_ok_and(|stop| !stop);
            }
        };
        is_stopped.is_ok_and(|stop| !stop)
    }
}

/// Gives up memory that is kept for the calling thread: entries of the table of processes that a thread might have
/// been reading, and free pieces of the heap.
pub(crate) fn give_up_own() {
    for _ in 0..RECLAIMS {
        pidns::reclaim();
    }
    heap::empty_own_cache();
}
