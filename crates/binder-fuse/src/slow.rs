//! Clients whose memory has kept the reader waiting.
//!
//! Their calls go on in the pool, of which each process has a share, so that no other waits for
//! them a second time. After a while without such a wait a client is like all others again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// How long a client is known as slow after it was.
const LASTING: Duration = Duration::from_secs(10);

/// The processes that are known as slow.
#[derive(Debug, Default)]
pub(crate) struct SlowClients {
    /// How many there are, for a look without the lock.
    count: AtomicUsize,
    marks: Mutex<HashMap<u32, Mark>>,
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    /// Threads of ours that are waiting, or may be.
    waiting: usize,
    until: Instant,
}

impl SlowClients {
    /// Whether process `pid` is known as slow.
    pub(crate) fn holds(&self, pid: u32) -> bool {
        // Mostly there are none. A mark that was just made is seen a little later, then.
        if self.count.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let mut marks = self.marks();
        let is_slow =
            marks.get(&pid).is_some_and(|mark| mark.waiting > 0 || Instant::now() < mark.until);
        if !is_slow && marks.remove(&pid).is_some() {
            self.count.store(marks.len(), Ordering::Relaxed);
        }
        is_slow
    }

    /// Notes that a thread of ours waits for process `pid`, or may come to.
    pub(crate) fn begin_wait(&self, pid: u32) {
        let mut marks = self.marks();
        let until = Instant::now() + LASTING;
        marks.entry(pid).or_insert(Mark { waiting: 0, until }).waiting += 1;
        self.count.store(marks.len(), Ordering::Relaxed);
    }

    /// Notes that it does no longer. Only one that did wait makes the mark last.
    pub(crate) fn end_wait(&self, pid: u32, has_waited: bool) {
        if let Some(mark) = self.marks().get_mut(&pid) {
            mark.waiting = mark.waiting.saturating_sub(1);
            if has_waited {
                mark.until = Instant::now() + LASTING;
            }
        }
    }

    fn marks(&self) -> MutexGuard<'_, HashMap<u32, Mark>> {
        self.marks.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_slow_while_one_waits_for_it_and_a_while_longer() {
        let slow = SlowClients::default();
        assert!(!slow.holds(1));
        slow.begin_wait(1);
        assert!(slow.holds(1) && !slow.holds(2));
        let is_over = |slow: &SlowClients| {
            slow.marks().get_mut(&1).unwrap().until = Instant::now();
            !slow.holds(1)
        };
        assert!(!is_over(&slow), "one waits");
        slow.end_wait(1, true);
        assert!(slow.holds(1));
        assert!(is_over(&slow));
        assert_eq!(slow.count.load(Ordering::Relaxed), 0);
    }
}
