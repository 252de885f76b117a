//! Reads that wait for logs.

use std::collections::BTreeMap;
use std::hash::RandomState;
use std::sync::{Mutex, MutexGuard};

use crate::logs::LongLog;

/// A read of a log from its beginning on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogRead {
    pub(crate) unique: u64,
    /// The reading thread.
    pub(crate) tid: u32,
    /// The open file.
    pub(crate) fh: u64,
    pub(crate) offset: u64,
    pub(crate) size: u32,
}

/// Reads that wait, by what they read.
type Waiting = BTreeMap<LongLog, Vec<LogRead>>;

/// The reads that wait for logs.
#[derive(Debug, Default)]
pub(crate) struct LogQueue {
    state: Mutex<LogReads>,
    /// What turns pointers into numbers that do not tell what they were.
    pub(crate) obscurity: RandomState,
}

/// The reads that wait, and whether a thread is at work for them.
#[derive(Debug, Default)]
pub(crate) struct LogReads {
    /// For the next snapshot.
    waiting: Waiting,
    /// For the snapshot that is being taken down, or written.
    pub(crate) served: Waiting,
    /// A thread of the pool is at work for them.
    is_being_served: bool,
}

impl LogReads {
    pub(crate) fn find(&self, unique: u64) -> Option<LogRead> {
        let mut reads = self.waiting.values().chain(self.served.values()).flatten();
        reads.find(|read| read.unique == unique).copied()
    }

    pub(crate) fn remove(&mut self, unique: u64) {
        for waiting in [&mut self.waiting, &mut self.served] {
            waiting.retain(|_, reads| {
                reads.retain(|read| read.unique != unique);
                !reads.is_empty()
            });
        }
    }
}

impl LogQueue {
    /// Puts a read in line. Says whether the caller must begin to serve the line.
    pub(crate) fn push(&self, log: LongLog, read: LogRead) -> bool {
        let mut state = self.state();
        state.waiting.entry(log).or_default().push(read);
        !std::mem::replace(&mut state.is_being_served, true)
    }

    /// Begins to serve all that wait. Says whether there are any; none are the end of the service.
    pub(crate) fn serve_waiting(&self) -> bool {
        let mut state = self.state();
        state.served = std::mem::take(&mut state.waiting);
        state.is_being_served = !state.served.is_empty();
        state.is_being_served
    }

    /// One of the logs that the served reads wait for.
    pub(crate) fn next_log(&self) -> Option<LongLog> {
        self.state().served.first_key_value().map(|(log, _)| *log)
    }

    /// Takes the reads that wait for a log from among them.
    pub(crate) fn take(&self, log: LongLog) -> Vec<LogRead> {
        self.state().served.remove(&log).unwrap_or_default()
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, LogReads> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_while_a_log_is_written_shares_the_next_snapshot() {
        let queue = LogQueue::default();
        let read = |unique| LogRead { unique, tid: 1, fh: 1, offset: 0, size: 100 };
        let served = || -> Vec<(LongLog, Vec<u64>)> {
            let uniques = |reads: Vec<LogRead>| reads.iter().map(|read| read.unique).collect();
            let next = || queue.next_log().map(|log| (log, uniques(queue.take(log))));
            std::iter::from_fn(next).collect()
        };
        assert!(queue.push(LongLog::State, read(2)), "the caller must begin");
        assert!(queue.serve_waiting());
        for (log, unique) in [(LongLog::Stats, 4), (LongLog::State, 6), (LongLog::Stats, 8)] {
            assert!(!queue.push(log, read(unique)), "one is at work");
        }
        assert_eq!(served(), [(LongLog::State, vec![2])]);
        assert!(queue.serve_waiting());
        assert_eq!(served(), [(LongLog::State, vec![6]), (LongLog::Stats, vec![4, 8])]);
        assert!(!queue.serve_waiting());
        assert!(queue.push(LongLog::State, read(10)), "the other has ended");
    }

    #[test]
    fn a_read_that_is_given_up_is_found_wherever_it_waits_and_then_no_more() {
        let queue = LogQueue::default();
        let read = |unique| LogRead { unique, tid: 1, fh: 1, offset: 0, size: 100 };
        queue.push(LongLog::State, read(2));
        queue.push(LongLog::State, read(4));
        assert!(queue.serve_waiting());
        queue.push(LongLog::Stats, read(6));
        for unique in [2, 6] {
            assert!(queue.state().find(unique).is_some(), "{unique}");
            queue.state().remove(unique);
            assert!(queue.state().find(unique).is_none(), "{unique}");
        }
        let left: Vec<_> = queue.take(LongLog::State).iter().map(|read| read.unique).collect();
        assert_eq!(left, [4]);
        assert!(!queue.serve_waiting(), "no read waits for the next");
    }
}
