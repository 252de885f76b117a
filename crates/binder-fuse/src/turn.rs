//! One job at a time on shared state, and no thread ever waits for its turn.
//!
//! The daemon's threads all read requests. A thread whose request needs the state while another
//! has it leaves the request in line and goes back to reading. This is more than courtesy: the
//! holder may store a page that the kernel has just asked this very daemon for, and then only a thread
//! that is free to read the next request can end the wait.

use std::collections::VecDeque;
use std::sync::TryLockError;
#[cfg(not(loom))]
use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicUsize, Ordering},
};

#[cfg(loom)]
use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicUsize, Ordering},
};

/// Room for so many jobs stays when the last in line has gone.
const KEPT_JOBS: usize = 64;

/// State `S`, and jobs `J` in line for it.
#[derive(Debug)]
pub(crate) struct Turn<S, J> {
    state: Mutex<S>,
    line: Mutex<VecDeque<J>>,
    /// How long the line was a moment ago: a look at it that may miss the latest.
    len: AtomicUsize,
}

impl<S, J> Turn<S, J> {
    pub(crate) fn new(state: S) -> Self {
        Self {
            state: Mutex::new(state),
            line: Mutex::new(VecDeque::new()),
            len: AtomicUsize::new(0),
        }
    }

    /// Has `job` run: here and now if the state is free, with all others in line, or else by the
    /// thread that has it.
    ///
    /// No job is forgotten: once in line, the state is tried again, and a thread that gives the
    /// state back looks at the line afterwards.
    pub(crate) fn submit(&self, job: J, mut run: impl FnMut(&mut S, J)) {
        let mut job = Some(job);
        loop {
            let Some(mut state) = self.try_state() else {
                let Some(job) = job.take() else { return };
                self.join_line(job);
                continue;
            };
            while let Some(job) = self.next().or_else(|| job.take()) {
                run(&mut state, job);
            }
            drop(state);
            // Not by `len`: whoever came too late for the state was in line before.
            if self.line().is_empty() {
                return;
            }
        }
    }

    fn join_line(&self, job: J) {
        let mut line = self.line();
        line.push_back(job);
        self.len.store(line.len(), Ordering::Relaxed);
    }

    fn next(&self) -> Option<J> {
        // Mostly nobody waits, and a lock is saved. What is missed here is found at the end.
        if self.len.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut line = self.line();
        let job = line.pop_front();
        self.len.store(line.len(), Ordering::Relaxed);
        if line.is_empty() && line.capacity() > KEPT_JOBS {
            *line = VecDeque::new();
        }
        job
    }

    /// The line, whatever became of a thread that held it: every change of it is one step.
    fn line(&self) -> MutexGuard<'_, VecDeque<J>> {
        self.line.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn try_state(&self) -> Option<MutexGuard<'_, S>> {
        match self.state.try_lock() {
            Ok(state) => Some(state),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_finds_the_state_taken_is_run_by_the_holder() {
        let turn = Turn::new(Vec::new());
        turn.submit(1, |seen, job| {
            if job == 1 {
                turn.submit(2, |_, _| unreachable!("the state is taken"));
            }
            seen.push(job);
        });
        turn.submit(3, |seen, job| {
            seen.push(job);
            assert_eq!(*seen, [1, 2, 3]);
        });
    }

    #[test]
    fn a_long_line_leaves_no_memory_behind() {
        let turn = Turn::new(0);
        let last = 10 * KEPT_JOBS;
        turn.submit(0, |seen, job| {
            *seen += 1;
            if job == 0 {
                (1..=last).for_each(|job| turn.submit(job, |_, _| unreachable!("it is taken")));
            }
        });
        turn.submit(0, |seen, _| assert_eq!(*seen, 1 + last));
        assert!(turn.line().capacity() <= KEPT_JOBS);
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn every_job_is_run_once_in_all_interleavings() {
        loom::model(|| {
            let turn = Arc::new(Turn::new(0u32));
            let done = Arc::new(AtomicU32::new(0));
            let threads: Vec<_> = (0..2)
                .map(|_| {
                    let (turn, done) = (turn.clone(), done.clone());
                    loom::thread::spawn(move || {
                        turn.submit((), |runs, ()| {
                            *runs += 1;
                            done.fetch_add(1, Ordering::Relaxed);
                        });
                    })
                })
                .collect();
            for thread in threads {
                thread.join().expect("no thread panics");
            }
            assert_eq!(done.load(Ordering::Relaxed), 2);
        });
    }
}
