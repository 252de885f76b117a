//! The thread that reads the answers to awaited calls.
//!
//! One thread of the process waits for all connections with an awaited call. It must not run code of
//! the program - calls back, the ends of objects, notices of death - which may take any time, or wait
//! for another answer. So before it comes to such code it [steps down](step_down), another thread goes
//! on reading, and it takes its place among those who may be asked to.

use std::cell::Cell;
use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use binder_rpc::Ending;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use slab::Slab;

use super::awaited::Awaited;
use super::connection::Connection;

/// How long a thread that does not read stays, to be asked to.
const SPARE_TIME: Duration = Duration::from_secs(5);

thread_local! {
    /// Whether this thread is the one that reads.
    static READS: Cell<bool> = const { Cell::new(false) };
}

/// The connections on which calls are awaited.
pub(super) struct Reader {
    epoll: OwnedFd,
    state: Mutex<State>,
    vacant: Condvar,
}

#[derive(Default)]
struct State {
    /// Each connection is told of once, and then taken out.
    watched: Slab<(Box<Connection>, Arc<Awaited>)>,
    /// Whether a thread reads, or is about to.
    is_read: bool,
    /// Threads that could.
    spare: usize,
}

fn reader() -> Option<&'static Reader> {
    static READER: OnceLock<Reader> = OnceLock::new();
    if let Some(reader) = READER.get() {
        return Some(reader);
    }
    let epoll = epoll::create(CreateFlags::CLOEXEC).ok()?;
    let (state, vacant) = (Mutex::default(), Condvar::new());
    Some(READER.get_or_init(|| Reader { epoll, state, vacant }))
}

/// Returns the reader if a thread reads, or could be started.
pub(super) fn appoint() -> Option<&'static Reader> {
    reader().filter(|reader| reader.appoint(&mut reader.state()))
}

/// When the reader is to look at a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// When something comes, or there is room for what is not sent.
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

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

impl Reader {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a thread read if none does; says whether one does.
    fn appoint(&'static self, state: &mut State) -> bool {
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
                tracing::warn!(%error, "no thread reads the answers to awaited calls");
                false
            }
        };
        state.is_read
    }

    /// Has the reader go on with a call on its connection.
    pub(super) fn watch(&self, connection: Box<Connection>, call: Arc<Awaited>, until: Until) {
        let mut wanted = EventFlags::IN | EventFlags::ONESHOT;
        // There is most often room.
        if until == Until::Now || connection.has_unsent() {
            wanted |= EventFlags::OUT;
        }
        let link = Arc::clone(connection.link());
        // The reader finds it there as soon as it is told of it.
        let mut state = self.state();
        let key = state.watched.insert((connection, call));
        let data = EventData::new_u64(key as u64);
        let watched = match epoll::modify(&self.epoll, link.as_fd(), data, wanted) {
            Err(Errno::NOENT) => epoll::add(&self.epoll, link.as_fd(), data, wanted),
            result => result,
        };
        if let Err(error) = watched {
            let (_, call) = state.watched.remove(key);
            drop(state);
            call.fail(Ending::Socket { errno: error.raw_os_error() });
        }
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
                let key = usize::try_from(event.data.u64()).unwrap_or(usize::MAX);
                let watched = self.state().watched.try_remove(key);
                if let Some((connection, call)) = watched {
                    call.advance(connection);
                }
            }
        }
    }
}
