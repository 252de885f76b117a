//! Threads for what may take its time: descriptor work in clients, closing their files, memory that has kept
//! others waiting.
//!
//! A reader of requests must not wait for a client, and some clients mean harm: they offer files whose
//! closing never ends. So the pool has several threads, of which each process and each user gets a share.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use binder_os::affinity;

use crate::quota::Account;

/// How many threads there are at most.
const MAX_THREADS: usize = 64;
/// How many of them may work for one user at the same time.
const MAX_PER_USER: usize = 32;
/// How many of those may work for one process.
const MAX_PER_PROCESS: usize = 4;

/// How long one waits for work while another does so as well.
const LINGERS_FOR: Duration = Duration::from_secs(2);

/// Work in line, and whether a request waits for it that may be killed meanwhile.
struct PooledWork {
    client: Account,
    request: Option<u64>,
    run: Box<dyn FnOnce(WorkStart) + Send>,
}

/// How work begins that was in line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WorkStart {
    OnPool,
    /// On the thread that took it out of the line: the thread behind its request was killed.
    Killed,
}

/// The work in line, and the threads that do it.
#[derive(Default)]
pub(crate) struct BlockingPool {
    state: Mutex<BlockingPoolState>,
    changed: Condvar,
}

#[derive(Default)]
struct BlockingPoolState {
    line: VecDeque<PooledWork>,
    busy: Busy,
    idle: usize,
    threads: usize,
    is_closed: bool,
}

/// How many are at work for whom.
#[derive(Debug, Default, PartialEq, Eq)]
struct Busy {
    by_process: HashMap<u32, usize>,
    by_user: HashMap<u32, usize>,
}

impl BlockingPool {
    /// Has `work` done for a process.
    pub(crate) fn run(&self, client: Account, work: impl FnOnce() + Send + 'static) {
        self.put_in_line(PooledWork { client, request: None, run: Box::new(|_| work()) });
    }

    /// The same for a request, whose thread may be killed while the work is in line.
    pub(crate) fn run_for_request(
        &self,
        client: Account,
        request: u64,
        work: impl FnOnce(WorkStart) + Send + 'static,
    ) {
        self.put_in_line(PooledWork { client, request: Some(request), run: Box::new(work) });
    }

    /// Takes work out of the line for which a request waits whose thread was killed, and has it do what is left to do
    /// then. All pool threads of its process may wait for the end of the process.
    pub(crate) fn end_as_killed(&self, request: u64) {
        let mut state = self.state();
        let at = state.line.iter().position(|work| work.request == Some(request));
        let work = at.and_then(|at| state.line.remove(at));
        drop(state);
        if let Some(work) = work {
            (work.run)(WorkStart::Killed);
        }
    }

    fn put_in_line(&self, work: PooledWork) {
        let mut state = self.state();
        if !state.is_closed {
            state.line.push_back(work);
            // The woken thread must not find the state taken.
            drop(state);
            self.changed.notify_one();
        }
        // Otherwise it is dropped: the file system is unmounted, so no answer is due.
    }

    /// Starts the first thread. Others follow when all are at work.
    pub(crate) fn start(self: &Arc<Self>) -> io::Result<()> {
        let pool = self.clone();
        self.state().threads += 1;
        let allowed = affinity::allowed_to_started();
        let started = thread::Builder::new().name("pool".into()).spawn(move || {
            // If that fails it works where its starter does.
            let _ = allowed.map(|it| it.apply());
            while let Some(PooledWork { client, run, .. }) = pool.next() {
                let work = std::panic::AssertUnwindSafe(|| run(WorkStart::OnPool));
                if std::panic::catch_unwind(work).is_err() {
                    tracing::error!("a thread of the pool met a bug");
                }
                if pool.state().end(client) {
                    pool.changed.notify_one();
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
    fn next(self: &Arc<Self>) -> Option<PooledWork> {
        let mut state = self.state();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(found) = state.take() {
                let must_grow = state.idle == 0 && state.threads < MAX_THREADS;
                drop(state);
                // Another thread must be there for work that comes while this one is busy.
                if must_grow && let Err(error) = self.start() {
                    tracing::warn!(%error, "a thread of the pool could not be started");
                }
                return Some(found);
            }
            let has_idle = state.idle > 0;
            state.idle += 1;
            // One stays for ever.
            let is_late = if has_idle {
                let waited = self.changed.wait_timeout(state, LINGERS_FOR);
                let timeout;
                (state, timeout) = waited.unwrap_or_else(|poisoned| poisoned.into_inner());
                timeout.timed_out()
            } else {
                state = self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
                false
            };
            state.idle -= 1;
            if is_late && state.idle > 0 && state.line.is_empty() {
                state.threads -= 1;
                return None;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, BlockingPoolState> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl BlockingPoolState {
    /// Takes the first work of a client that has fewer threads than it may.
    fn take(&mut self) -> Option<PooledWork> {
        let at = self.line.iter().position(|work| self.busy.has_room(work.client))?;
        let work = self.line.remove(at)?;
        self.busy.begin(work.client);
        Some(work)
    }

    /// Notes the end of a client's work. Says whether there may be more that had to wait for it.
    fn end(&mut self, client: Account) -> bool {
        self.busy.end(client);
        !self.line.is_empty()
    }
}

impl Busy {
    fn has_room(&self, Account { pid, uid }: Account) -> bool {
        let has_fewer = |counts: &HashMap<u32, usize>, who, limit| {
            counts.get(&who).is_none_or(|count| *count < limit)
        };
        has_fewer(&self.by_process, pid, MAX_PER_PROCESS)
            && has_fewer(&self.by_user, uid, MAX_PER_USER)
    }

    fn begin(&mut self, Account { pid, uid }: Account) {
        *self.by_process.entry(pid).or_default() += 1;
        *self.by_user.entry(uid).or_default() += 1;
    }

    fn end(&mut self, Account { pid, uid }: Account) {
        for (counts, who) in [(&mut self.by_process, pid), (&mut self.by_user, uid)] {
            if let Entry::Occupied(mut count) = counts.entry(who) {
                *count.get_mut() -= 1;
                if *count.get() == 0 {
                    count.remove();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: Account = Account { pid: 1, uid: 1 };

    #[test]
    fn no_client_keeps_the_threads_from_others() {
        let mut state = BlockingPoolState::default();
        let wanted = |pid, uid, count| std::iter::repeat_n(Account { pid, uid }, count);
        let greedy = MAX_PER_PROCESS + 1;
        let processes = u32::try_from(MAX_PER_USER).unwrap();
        let work = wanted(1, 1, greedy).chain(wanted(2, 1, 1)).chain(wanted(3, 2, 1));
        let of_one_user = (0..processes).map(|pid| Account { pid: 10 + pid, uid: 3 });
        let one_more = wanted(100, 3, 1).chain(wanted(101, 4, 1));
        for client in work.chain(of_one_user).chain(one_more) {
            state.line.push_back(PooledWork { client, request: None, run: Box::new(|_| ()) });
        }
        let take = |state: &mut BlockingPoolState| state.take().map(|work| work.client);
        let taken: Vec<_> = std::iter::from_fn(|| take(&mut state)).collect();
        let count = |is_meant: fn(&Account) -> bool| taken.iter().filter(|it| is_meant(it)).count();
        assert_eq!(count(|it| it.pid == 1), MAX_PER_PROCESS);
        assert_eq!(count(|it| it.pid == 2 || it.uid == 2 || it.uid == 4), 3);
        assert_eq!(count(|it| it.uid == 3), MAX_PER_USER);
        assert_eq!(state.line.len(), 2);
        assert!(state.end(Account { pid: 2, uid: 1 }), "others wait still");
        assert_eq!(take(&mut state), None);
        assert!(state.end(Account { pid: 1, uid: 1 }));
        assert_eq!(take(&mut state), Some(Account { pid: 1, uid: 1 }));
        assert!(state.end(Account { pid: 10, uid: 3 }));
        assert_eq!(take(&mut state), Some(Account { pid: 100, uid: 3 }));
        assert!(!state.end(Account { pid: 100, uid: 3 }), "no work waits any more");
    }

    #[test]
    fn work_of_a_killed_thread_leaves_the_line_and_is_ended_once() {
        let pool = BlockingPool::default();
        let (tell, told) = std::sync::mpsc::channel();
        let note = |name| {
            let tell = tell.clone();
            move |start| tell.send((name, start)).expect("it is received")
        };
        pool.run_for_request(CLIENT, 2, note("one"));
        pool.run_for_request(CLIENT, 4, note("other"));
        pool.end_as_killed(4);
        pool.end_as_killed(4);
        pool.end_as_killed(6);
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [("other", WorkStart::Killed)]);
        assert_eq!(pool.state().line.len(), 1);
    }

    #[test]
    fn nothing_is_kept_after_the_end() {
        let pool = BlockingPool::default();
        let kept = Arc::new(());
        let weak = Arc::downgrade(&kept);
        pool.run(CLIENT, move || drop(kept));
        assert!(weak.upgrade().is_some());
        pool.close();
        assert!(weak.upgrade().is_none());
        let late = Arc::new(());
        let weak = Arc::downgrade(&late);
        pool.run(CLIENT, move || drop(late));
        assert!(weak.upgrade().is_none());
    }
}
