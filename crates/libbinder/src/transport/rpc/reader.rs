//! The thread that reads the answers to awaited calls, and what comes on idle connections.
//!
//! One thread of the process waits for all connections with an awaited call, and for those that are
//! [served](super::served) and idle. It must not run code of
//! the program - calls back, the ends of objects, notices of death - which may take any time, or wait
//! for another answer. So before it comes to such code it [steps down](step_down), another thread goes
//! on reading, and it joins the threads that may be asked to.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::mem;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use binder_rpc::Ending;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use slab::Slab;

use super::awaited::Awaited;
use super::connection::Connection;
use super::served::ServedConnection;

/// How long a thread that does not read stays, to be asked to.
const SPARE_TIME: Duration = Duration::from_secs(5);

/// What the timer's events carry: the key of no connection.
const TIMER: u64 = u64::MAX;

thread_local! {
    /// Whether this thread is the one that reads.
    static READS: Cell<bool> = const { Cell::new(false) };
}

/// The next user of a connection on which something has come.
#[derive(Debug)]
pub(super) enum ConnectionWatcher {
    /// A call of ours.
    Call(Arc<Awaited>),
    /// A thread that serves the peer's calls.
    Served(Box<ServedConnection>),
}

impl ConnectionWatcher {
    fn go_on(self, connection: Box<Connection>) {
        match self {
            Self::Call(call) => call.advance(connection),
            Self::Served(served) => served.serve(connection),
        }
    }

    fn fail(self, ending: Ending) {
        match self {
            Self::Call(call) => call.fail(ending),
            Self::Served(served) => served.fail(ending),
        }
    }
}

/// The connections on which calls are awaited, and idle ones.
pub(super) struct AwaitedConnections {
    epoll: OwnedFd,
    timer: OwnedFd,
    state: Mutex<ReaderState>,
    vacant: Condvar,
}

/// Which of the calls that end at some time, with that first.
pub(super) type TimerKey = (Instant, u64);

#[derive(Default)]
struct ReaderState {
    /// Each connection is told of once, and then taken out.
    watched: Slab<(Box<Connection>, ConnectionWatcher)>,
    /// When the timer goes off next, for peers that stopped within a message.
    timed: Option<Instant>,
    /// Calls that end then if they are not answered.
    due: BTreeMap<TimerKey, Weak<Awaited>>,
    /// How many there have been.
    scheduled: u64,
    /// Whether a thread reads, or is about to.
    is_read: bool,
    /// Threads that could.
    spare: usize,
}

fn reader() -> Option<&'static AwaitedConnections> {
    static READER: OnceLock<AwaitedConnections> = OnceLock::new();
    if let Some(reader) = READER.get() {
        return Some(reader);
    }
    let epoll = epoll::create(CreateFlags::CLOEXEC).ok()?;
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC).ok()?;
    // Told of each time it goes off, without a read in between.
    let data = EventData::new_u64(TIMER);
    epoll::add(&epoll, &timer, data, EventFlags::IN | EventFlags::ET).ok()?;
    let (state, vacant) = (Mutex::default(), Condvar::new());
    Some(READER.get_or_init(|| AwaitedConnections { epoll, timer, state, vacant }))
}

/// Returns the reader if a thread reads, or could be started.
pub(super) fn appoint() -> Option<&'static AwaitedConnections> {
    reader().filter(|reader| reader.appoint(&mut reader.state()))
}

/// When the reader is to look at a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// When something comes, or there is room for unsent bytes.
    Ready,
    /// At once: something may have come that the system does not tell of any more.
    Now,
}

/// Has another thread read, if this is the one that does.
pub(super) fn step_down() {
    if !READS.replace(false) {
        return;
    }
    if let Some(reader) = reader() {
        let mut state = reader.state();
        state.is_read = false;
        if !reader.appoint(&mut state) {
            // Without a thread it goes on reading when it can.
            state.is_read = true;
            READS.set(true);
        }
    }
}

impl fmt::Debug for AwaitedConnections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

impl AwaitedConnections {
    fn state(&self) -> MutexGuard<'_, ReaderState> {
        // Nothing panics while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a thread read if none does; says whether one does.
    fn appoint(&'static self, state: &mut ReaderState) -> bool {
        if state.is_read {
            return true;
        }
        if state.spare > 0 {
            self.vacant.notify_one();
            return true;
        }
        let thread = thread::Builder::new().name("rpc-reader".to_owned());
        state.is_read = match thread.spawn(|| self.run()) {
            Ok(_) => true,
            Err(error) => {
                tracing::warn!(%error, "no thread reads the answers to awaited calls, nor what comes on idle connections");
                false
            }
        };
        state.is_read
    }

    /// Has the reader go on with a connection.
    pub(super) fn watch(
        &self,
        mut connection: Box<Connection>,
        watcher: ConnectionWatcher,
        until: Until,
    ) {
        let left = match connection.time_left() {
            Ok(left) => left,
            Err(ending) => return watcher.fail(ending),
        };
        let mut wanted = EventFlags::IN | EventFlags::ONESHOT;
        // There is most often room.
        if until == Until::Now || connection.has_unsent() {
            wanted |= EventFlags::OUT;
        }
        let link = Arc::clone(connection.link());
        // The reader finds it there as soon as it is told of it.
        let mut state = self.state();
        let key = state.watched.insert((connection, watcher));
        let data = EventData::new_u64(key as u64);
        let watched = match epoll::modify(&self.epoll, link.as_fd(), data, wanted) {
            Err(Errno::NOENT) => epoll::add(&self.epoll, link.as_fd(), data, wanted),
            result => result,
        };
        let watched = watched.and_then(|()| self.set_timer(&mut state, left));
        if let Err(error) = watched {
            let (_, watcher) = state.watched.remove(key);
            drop(state);
            watcher.fail(Ending::Socket { errno: error.raw_os_error() });
        }
    }

    /// Has a call end at that time.
    pub(super) fn schedule(&self, due: Instant, call: &Arc<Awaited>) -> TimerKey {
        let mut state = self.state();
        state.scheduled += 1;
        let key = (due, state.scheduled);
        state.due.insert(key, Arc::downgrade(call));
        let left = due.saturating_duration_since(Instant::now());
        if let Err(error) = self.set_timer(&mut state, Some(left)) {
            debug_assert!(false, "a timer of our own: {error}");
        }
        key
    }

    /// Takes back that a call ends at some time.
    pub(super) fn unschedule(&self, key: &TimerKey) {
        self.state().due.remove(key);
    }

    /// Has the timer go off in `left`, or earlier.
    fn set_timer(&self, state: &mut ReaderState, left: Option<Duration>) -> Result<(), Errno> {
        let Some(left) = left else {
            return Ok(());
        };
        // Zero would stop it.
        let left = left.max(Duration::from_millis(1));
        let due = Instant::now() + left;
        if state.timed.is_some_and(|timed| timed <= due) {
            return Ok(());
        }
        let time = |duration: Duration| Timespec::try_from(duration).map_err(|_| Errno::INVAL);
        let time = Itimerspec { it_interval: time(Duration::ZERO)?, it_value: time(left)? };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &time)?;
        state.timed = Some(due);
        Ok(())
    }

    /// Ends the sessions whose peers have not gone on in time, and the calls that are due.
    fn end_overdue(&self) {
        let mut state = self.state();
        state.timed = None;
        let (mut stalled, mut least) = (Vec::new(), None);
        for (key, (connection, _)) in &mut state.watched {
            match connection.time_left() {
                Ok(left) => least = least.into_iter().chain(left).min(),
                Err(ending) => stalled.push((key, ending)),
            }
        }
        let stalled: Vec<_> =
            stalled.into_iter().map(|(key, ending)| (state.watched.remove(key), ending)).collect();
        let later = state.due.split_off(&(Instant::now(), u64::MAX));
        let due = mem::replace(&mut state.due, later);
        let next = state.due.first_key_value();
        let next = next.map(|((due, _), _)| due.saturating_duration_since(Instant::now()));
        let least = least.into_iter().chain(next).min();
        if let Err(error) = self.set_timer(&mut state, least) {
            debug_assert!(false, "a timer of our own: {error}");
        }
        drop(state);
        stalled.into_iter().for_each(|((_, watcher), ending)| watcher.fail(ending));
        due.into_values().filter_map(|call| call.upgrade()).for_each(|call| call.time_out());
    }

    /// Reads until another thread does; stays for a while to read again.
    fn run(&'static self) {
        loop {
            self.read();
            let mut state = self.state();
            state.spare += 1;
            let vacant = self.vacant.wait_timeout_while(state, SPARE_TIME, |state| state.is_read);
            let mut state = vacant.unwrap_or_else(PoisonError::into_inner).0;
            state.spare -= 1;
            if state.is_read {
                return;
            }
            state.is_read = true;
        }
    }

    fn read(&self) {
        READS.set(true);
        let mut events = Vec::with_capacity(1);
        while READS.get() {
            // One at a time: the next may be another thread's.
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => {
                    debug_assert!(false, "an epoll descriptor of our own: {error}");
                    return;
                }
            }
            for event in events.drain(..) {
                let data = event.data.u64();
                if data == TIMER {
                    self.end_overdue();
                    continue;
                }
                let key = usize::try_from(data).unwrap_or(usize::MAX);
                let watched = self.state().watched.try_remove(key);
                if let Some((connection, watcher)) = watched {
                    if let ConnectionWatcher::Served(_) = watcher {
                        // Its thread waits for many calls now, of each of which the system would tell here as well, in vain.
                        let _ = epoll::delete(&self.epoll, connection.link().as_fd());
                    }
                    watcher.go_on(connection);
                }
            }
        }
    }
}
