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

/// Capacity for this many jobs stays when the last in line has gone.
const KEPT_JOBS: usize = 64;

/// State `S`, and jobs `J` in line for it.
#[derive(Debug)]
pub(crate) struct CombiningLock<S, J> {
    state: Mutex<S>,
    line: Mutex<VecDeque<J>>,
    /// How long the line is, changed while that is locked.
    len: AtomicUsize,
}

impl<S, J> CombiningLock<S, J> {
    pub(crate) fn new(state: S) -> Self {
        Self {
            state: Mutex::new(state),
            line: Mutex::new(VecDeque::new()),
            len: AtomicUsize::new(0),
        }
    }

    /// Has `job` run, if there is one: here and now if the state is free, with all others in line, or
    /// else by the thread that has it. The thread that has the state shows it to `end` before giving it back:
    /// several times, if others come to be in line then.
    ///
    /// No job is forgotten: once in line, the state is tried again, and a thread that gives the
    /// state back looks at the line afterwards.
    pub(crate) fn submit(
        &self,
        mut job: Option<J>,
        mut run: impl FnMut(&mut S, J),
        mut end: impl FnMut(&mut S),
    ) {
        loop {
            let Some(mut state) = self.try_state() else {
                let Some(job) = job.take() else { return };
                self.join_line(job);
                continue;
            };
            loop {
                // Mostly no job waits, and a lock is saved. A job that is missed here is found at the end.
                if self.len.load(Ordering::Relaxed) != 0 {
                    self.run_line(&mut state, &mut run);
                }
                let Some(job) = job.take() else { break };
                run(&mut state, job);
            }
            end(&mut state);
            drop(state);
            // A thread that puts a job in line after this look finds the state free.
            if self.len.fetch_add(0, Ordering::AcqRel) == 0 {
                return;
            }
        }
    }

    /// Waits for the state. Jobs come in line meanwhile, and no thread runs them until the next
    /// [`submit`](Self::submit), which is due when the state is given back.
    pub(crate) fn lock(&self) -> MutexGuard<'_, S> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn join_line(&self, job: J) {
        let mut line = self.line();
        line.push_back(job);
        // The holder of the state looks at `len` after giving it back. If that came before this, the state
        // is seen to be free after this.
        self.len.fetch_add(1, Ordering::AcqRel);
    }

    /// Runs the jobs in line.
    #[cold]
    fn run_line(&self, state: &mut S, run: &mut impl FnMut(&mut S, J)) {
        while let Some(job) = self.next() {
            run(state, job);
        }
    }

    fn next(&self) -> Option<J> {
        let mut line = self.line();
        let job = line.pop_front();
        if job.is_some() {
            self.len.fetch_sub(1, Ordering::AcqRel);
        }
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
        let turn = CombiningLock::new(Vec::new());
        let unreached = |_: &mut Vec<i32>| unreachable!("the state is taken");
        let run = |seen: &mut Vec<i32>, job| {
            if job == 1 {
                turn.submit(None, |_, _| unreachable!("there is no job"), unreached);
                turn.submit(Some(2), |_, _| unreachable!("the state is taken"), unreached);
            }
            seen.push(job);
        };
        let mut ends = Vec::new();
        turn.submit(Some(1), run, |seen| ends.push(seen.clone()));
        turn.submit(Some(3), run, |seen| ends.push(seen.clone()));
        turn.submit(None, run, |seen| ends.push(seen.clone()));
        assert_eq!(ends, [vec![1, 2], vec![1, 2, 3], vec![1, 2, 3]]);
    }

    #[test]
    fn a_long_line_leaves_no_memory_behind() {
        let turn = CombiningLock::new(0);
        let last = 10 * KEPT_JOBS;
        let run = |seen: &mut usize, job| {
            *seen += 1;
            if job == 0 {
                let unreached = |_: &mut usize, _| unreachable!("it is taken");
                (1..=last).for_each(|job| turn.submit(Some(job), unreached, |_| {}));
            }
        };
        turn.submit(Some(0), run, |_| {});
        turn.submit(None, run, |seen| assert_eq!(*seen, 1 + last));
        assert!(turn.line().capacity() <= KEPT_JOBS);
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn every_job_is_run_once_and_seen_at_an_end_in_all_interleavings() {
        loom::model(|| {
            let turn = Arc::new(CombiningLock::new((0u32, 0u32)));
            let seen = Arc::new(AtomicU32::new(0));
            let threads: Vec<_> = (0..2)
                .map(|_| {
                    let (turn, seen) = (turn.clone(), seen.clone());
                    loom::thread::spawn(move || {
                        let run = |(runs, unseen): &mut (u32, u32), ()| {
                            *runs += 1;
                            *unseen += 1;
                        };
                        turn.submit(Some(()), run, |(_, unseen)| {
                            seen.fetch_add(std::mem::take(unseen), Ordering::Relaxed);
                        });
                    })
                })
                .collect();
            for thread in threads {
                thread.join().expect("no thread panics");
            }
            assert_eq!(seen.load(Ordering::Relaxed), 2);
        });
    }

    #[test]
    fn a_thread_that_waits_for_the_state_and_submits_nothing_then_loses_no_job() {
        loom::model(|| {
            let turn = Arc::new(CombiningLock::new((0u32, false)));
            let seen = Arc::new(AtomicU32::new(0));
            let submit = {
                let seen = seen.clone();
                move |turn: &CombiningLock<(u32, bool), ()>, job| {
                    turn.submit(
                        job,
                        |(unseen, _), ()| *unseen += 1,
                        |(unseen, _)| {
                            seen.fetch_add(std::mem::take(unseen), Ordering::Relaxed);
                        },
                    );
                }
            };
            let submitter = {
                let (turn, submit) = (turn.clone(), submit.clone());
                loom::thread::spawn(move || submit(&turn, Some(())))
            };
            turn.lock().1 = true;
            submit(&turn, None);
            submitter.join().expect("no thread panics");
            assert_eq!(seen.load(Ordering::Relaxed), 1);
            assert!(turn.lock().1, "it had the state");
        });
    }
}
