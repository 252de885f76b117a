//! The connections on which a session makes its own calls.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::connection::Connection;

/// Idle connections, and the threads that wait for one.
#[derive(Debug, Default)]
pub(super) struct Pool {
    state: Mutex<State>,
    freed: Condvar,
    /// For threads that pause: none of them takes the word that is for those who wait.
    closed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    idle: VecDeque<Box<Connection>>,
    /// All connections, those in use too.
    total: usize,
    waiting: usize,
    /// Whether a thread that waits has been woken and has not looked yet.
    is_waking: bool,
    is_closed: bool,
    /// How often a connection has been put first since one was put last.
    firsts: u32,
    /// Whether what is idle is for the thread that was woken, not for whoever comes first.
    is_reserved: bool,
}

/// How often a connection may be put first in a row: the others must be read at times, for what the
/// peer gives back there.
const FIRSTS: u32 = 64;

/// How long a thread that was woken for nothing does without being woken again. Those who call in a
/// row on few connections would else wake others at each call, who find them taken again.
const PAUSE: Duration = Duration::from_millis(1);

/// Where a connection goes back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It is the next to be used: what it needs is still in the caches.
    First,
    /// It is the last to be used: the other side may be at work on what was sent on it.
    Last,
}

/// Why there is no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoConnection {
    /// The session is over.
    Closed,
    /// The session has none on which this side may call.
    None,
    /// All are in use.
    Busy,
}

impl Pool {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics between two changes that belong together.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Announces a connection that will be [put](Self::put) here: threads wait for it.
    pub(super) fn announce(&self) {
        self.state().total += 1;
    }

    /// Takes back that a connection was announced.
    pub(super) fn withdraw(&self) {
        self.state().total -= 1;
        // There may be none left to wait for.
        self.freed.notify_all();
    }

    /// Takes a connection, and waits for one if all are in use.
    pub(super) fn take(&self) -> Result<Box<Connection>, NoConnection> {
        let mut state = self.state();
        let mut was_woken = false;
        loop {
            if was_woken {
                state.is_reserved = false;
            }
            match Self::try_from(&mut state) {
                Err(NoConnection::Busy) => {}
                result => return result,
            }
            if was_woken {
                let paused = self.closed.wait_timeout(state, PAUSE);
                state = paused.unwrap_or_else(PoisonError::into_inner).0;
                was_woken = false;
                continue;
            }
            state.waiting += 1;
            state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
            state.is_waking = false;
            was_woken = true;
        }
    }

    /// Takes a connection if one is idle.
    pub(super) fn try_take(&self) -> Result<Box<Connection>, NoConnection> {
        Self::try_from(&mut self.state())
    }

    fn try_from(state: &mut State) -> Result<Box<Connection>, NoConnection> {
        if state.is_closed {
            return Err(NoConnection::Closed);
        }
        if state.total == 0 {
            return Err(NoConnection::None);
        }
        let first = if state.is_reserved { None } else { state.idle.pop_front() };
        first.ok_or(NoConnection::Busy)
    }

    /// Takes an idle connection of which that is so.
    pub(super) fn take_if(&self, is_so: impl Fn(&Connection) -> bool) -> Option<Box<Connection>> {
        let mut state = self.state();
        let place = state.idle.iter().position(|connection| is_so(connection))?;
        state.idle.remove(place)
    }

    /// Gives a connection back. A thread is woken only if one waits and none is on its way.
    pub(super) fn put(&self, connection: Box<Connection>, place: Place) {
        let mut state = self.state();
        if state.is_closed {
            return;
        }
        match place {
            Place::First if state.firsts < FIRSTS => {
                state.firsts += 1;
                state.idle.push_front(connection);
            }
            Place::First | Place::Last => {
                state.firsts = 0;
                state.is_reserved = state.waiting > 0;
                state.idle.push_back(connection);
            }
        }
        if state.waiting > 0 && !state.is_waking {
            state.is_waking = true;
            drop(state);
            self.freed.notify_one();
        }
    }

    /// Ends all waiting; connections that come back are dropped.
    pub(super) fn close(&self) -> VecDeque<Box<Connection>> {
        let mut state = self.state();
        state.is_closed = true;
        let idle = std::mem::take(&mut state.idle);
        drop(state);
        self.freed.notify_all();
        self.closed.notify_all();
        idle
    }
}
