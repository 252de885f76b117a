//! Threads for what may take its time: errands in clients, and closing their files.
//!
//! Whoever answers requests must not wait for a client, and some clients mean harm: they offer files
//! whose closing never ends. So there are several runners, of which each user gets a share.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

use crate::errand::{self, Task};
use crate::session::Shared;

/// As many threads as there are at most.
const MAX_RUNNERS: usize = 16;
/// As many of them as work for one user at the same time.
const MAX_PER_USER: usize = 4;

type Work = Box<dyn FnOnce(&Arc<Shared>) + Send>;

/// The work in line, and who is at it.
#[derive(Default)]
pub(crate) struct Runners {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    line: VecDeque<(u32, Work)>,
    busy: HashMap<u32, usize>,
    idle: usize,
    threads: usize,
    is_closed: bool,
}

impl Runners {
    /// Has `work` done for user `uid`.
    pub(crate) fn run(&self, uid: u32, work: impl FnOnce(&Arc<Shared>) + Send + 'static) {
        let mut state = self.state();
        if !state.is_closed {
            state.line.push_back((uid, Box::new(work)));
            // Whoever is woken must not find the state taken.
            drop(state);
            self.changed.notify_one();
        }
        // Otherwise it is dropped: the file system is unmounted, so nobody must answer for that.
    }

    /// Has an errand done, for the user whose thread waits for it.
    pub(crate) fn run_errand(&self, task: Task) {
        self.run(task.asker.uid, move |shared| errand::run(shared, task));
    }

    /// Starts the first thread. Others follow when all are at work.
    pub(crate) fn start(self: &Arc<Self>, shared: &Arc<Shared>) -> io::Result<()> {
        let (runners, shared) = (self.clone(), shared.clone());
        self.state().threads += 1;
        let started = thread::Builder::new().name("runner".into()).spawn(move || {
            while let Some((uid, work)) = runners.next(&shared) {
                let work = std::panic::AssertUnwindSafe(|| work(&shared));
                if std::panic::catch_unwind(work).is_err() {
                    tracing::error!("a runner met a bug");
                }
                if runners.state().finish(uid) {
                    runners.changed.notify_one();
                }
            }
        });
        if started.is_err() {
            self.state().threads -= 1;
        }
        started.map(drop)
    }

    /// Lets the threads end. One that waits for a client is not waited for.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        let left = std::mem::take(&mut state.line);
        drop(state);
        self.changed.notify_all();
        drop(left);
    }

    /// Waits for work. `None` is the end.
    fn next(self: &Arc<Self>, shared: &Arc<Shared>) -> Option<(u32, Work)> {
        let mut state = self.state();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(found) = state.take() {
                let must_grow = state.idle == 0 && state.threads < MAX_RUNNERS;
                drop(state);
                // Somebody must be there for those who come while this one is at work.
                if must_grow && let Err(error) = self.start(shared) {
                    tracing::warn!(%error, "a runner could not be started");
                }
                return Some(found);
            }
            state.idle += 1;
            state = self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
            state.idle -= 1;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl State {
    /// Takes the first work of a user who has not enough runners already.
    fn take(&mut self) -> Option<(u32, Work)> {
        let has_room =
            |(uid, _): &(u32, Work)| self.busy.get(uid).is_none_or(|count| *count < MAX_PER_USER);
        let at = self.line.iter().position(has_room)?;
        let (uid, work) = self.line.remove(at)?;
        *self.busy.entry(uid).or_default() += 1;
        Some((uid, work))
    }

    /// Notes the end of a user's work. Says whether there may be more that had to wait for it.
    fn finish(&mut self, uid: u32) -> bool {
        if let Some(count) = self.busy.get_mut(&uid) {
            *count -= 1;
            if *count == 0 {
                self.busy.remove(&uid);
            }
        }
        !self.line.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_keeps_no_runner_from_others() {
        let mut state = State::default();
        for uid in [1, 1, 1, 1, 1, 2, 1, 3] {
            state.line.push_back((uid, Box::new(|_| ())));
        }
        let take = |state: &mut State| state.take().map(|(uid, _)| uid);
        let taken: Vec<_> = std::iter::from_fn(|| take(&mut state)).collect();
        assert_eq!(taken, [1, 1, 1, 1, 2, 3]);
        assert!(state.finish(2), "others wait still");
        assert_eq!(take(&mut state), None);
        let _ = state.finish(1);
        assert_eq!(take(&mut state), Some(1));
        for uid in [1, 1, 1, 1, 3] {
            state.finish(uid);
        }
        assert!(state.busy.is_empty());
        assert_eq!(take(&mut state), Some(1));
    }

    #[test]
    fn nothing_is_kept_after_the_end() {
        let runners = Runners::default();
        let kept = Arc::new(());
        let weak = Arc::downgrade(&kept);
        runners.run(1, move |_| drop(kept));
        assert!(weak.upgrade().is_some());
        runners.close();
        assert!(weak.upgrade().is_none());
        let late = Arc::new(());
        let weak = Arc::downgrade(&late);
        runners.run(1, move |_| drop(late));
        assert!(weak.upgrade().is_none());
    }
}
