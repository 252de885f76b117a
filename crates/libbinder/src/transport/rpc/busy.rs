//! Threads that stay with a busy connection.
//!
//! A thread that serves a connection waits for a while, and then leaves it to the [reader](super::reader). Such a wait costs the
//! system a timer each time, a twentieth of a small call. So a few threads of a process, whose peers call in quick succession, wait
//! without: when their peers fall silent, they stay where they are.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How many threads of a process may stay.
const STAYING_MAX: usize = 4;
/// How many do.
static STAYING: AtomicUsize = AtomicUsize::new(0);
/// After how many messages a thread looks how long they took.
const MESSAGES_PER_LOOK: u32 = 64;

/// A thread's right to stay.
#[derive(Debug)]
struct Stay(());

impl Stay {
    fn take() -> Option<Self> {
        let more = |staying: usize| (staying < STAYING_MAX).then_some(staying + 1);
        let taken = STAYING.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.ok().map(|_| Self(()))
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        STAYING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How quickly messages come on a connection.
#[derive(Debug)]
pub(super) struct MessagePace {
    messages: u32,
    looked_at: Instant,
    /// How long there was no look for what is done between messages.
    undone: Duration,
    stay: Option<Stay>,
}

impl MessagePace {
    pub(super) fn new() -> Self {
        Self { messages: 0, looked_at: Instant::now(), undone: Duration::ZERO, stay: None }
    }

    /// Counts a message; says whether what waits for a pause of `idle_time` must be done without one.
    ///
    /// A thread that `may_stay` does so if there is room and the messages come more often than that.
    pub(super) fn count(&mut self, idle_time: Duration, may_stay: impl Fn() -> bool) -> bool {
        self.messages = self.messages.wrapping_add(1);
        if !self.messages.is_multiple_of(MESSAGES_PER_LOOK) {
            return false;
        }
        let taken = self.looked_at.elapsed();
        self.looked_at += taken;
        let stays = taken < idle_time && may_stay();
        self.stay = if stays { self.stay.take().or_else(Stay::take) } else { None };
        self.undone += taken;
        let is_due = self.undone >= idle_time;
        if is_due {
            self.undone = Duration::ZERO;
        }
        is_due
    }

    /// Returns whether the thread stays with the connection, however long that is silent.
    pub(super) fn stays(&self) -> bool {
        self.stay.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: Duration = Duration::MAX;

    /// Counts as many messages as are looked at together.
    fn count(pace: &mut MessagePace, idle_time: Duration, may_stay: bool) -> bool {
        (0..MESSAGES_PER_LOOK).filter(|_| pace.count(idle_time, || may_stay)).count() == 1
    }

    #[test]
    fn a_thread_stays_with_a_busy_connection_as_long_as_it_may() {
        let mut pace = MessagePace::new();
        assert!(!count(&mut pace, NEVER, false) && !pace.stays());
        // Other tests of this process have calls, too.
        binder_testkit::wait_until(|| !count(&mut pace, NEVER, true) && pace.stays());
        assert!(count(&mut pace, Duration::ZERO, true) && !pace.stays(), "it is slow");
        binder_testkit::wait_until(|| !count(&mut pace, NEVER, true) && pace.stays());
        assert!(!count(&mut pace, NEVER, false) && !pace.stays());
    }

    #[test]
    fn few_threads_stay() {
        let mut paces: Vec<_> = (0..=STAYING_MAX).map(|_| MessagePace::new()).collect();
        paces.iter_mut().for_each(|pace| assert!(!count(pace, NEVER, true)));
        assert!(paces.iter().filter(|pace| pace.stays()).count() <= STAYING_MAX);
    }
}
