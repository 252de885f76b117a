//! The connections on which a session makes its own calls.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::awaited::Awaited;
use super::connection::Connection;

/// Idle connections, and the threads and awaited calls that wait for one.
#[derive(Debug, Default)]
pub(super) struct ConnectionPool {
    state: Mutex<ConnectionPoolState>,
    freed: Condvar,
    /// For threads that pause: none of them takes a wake-up that is for the threads that wait for a
    /// connection.
    closed: Condvar,
}

#[derive(Debug, Default)]
struct ConnectionPoolState {
    idle: VecDeque<Box<Connection>>,
    /// All connections, those in use too.
    total: usize,
    waiting: usize,
    /// Calls that wait without a thread. While there are any, no connection is idle but one that is
    /// reserved.
    queued: VecDeque<Arc<Awaited>>,
    /// Whether a connection that comes back is for a thread, if calls are queued as well: they take
    /// turns.
    is_threads_turn: bool,
    /// Whether a thread that waits has been woken and has not looked yet.
    is_waking: bool,
    is_closed: bool,
    /// How often a connection has been put first since another had its turn.
    firsts: u32,
    /// Whether another has its turn: it is put last again.
    is_turn_of_another: bool,
    /// Whether the idle connection is for the thread that was woken, not for the first that asks.
    is_reserved: bool,
    /// Connections with a late answer still to come, which have not been replaced.
    given_up: usize,
    /// How many connections are being made in the place of others.
    making: usize,
}

/// How often a connection may be put first in a row. Then it is for a thread that waits, or the next one has its turn, for one call: it
/// is read at times so, for what the peer gives back there. All others go by the first, for the thread that has served last is the
/// quickest to serve.
const FIRSTS: u32 = 64;

/// How long a thread that was woken for nothing does without being woken again. Threads that call
/// in a row on few connections would else wake others at each call, which find them taken again.
const PAUSE: Duration = Duration::from_millis(1);

/// For how many pauses all connections are in use before a stream has another made.
const PATIENCE: u32 = 10;

/// Where a connection goes back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionUse {
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
    /// All have been in use for as long as the caller waits.
    Overdue,
}

impl ConnectionPoolState {
    /// Where a connection goes that would be the next to be used: last, if its turn is over, or a thread that waits has its own.
    fn place_of_first(&mut self) -> ConnectionUse {
        if mem::take(&mut self.is_turn_of_another) {
            return ConnectionUse::Last;
        }
        self.firsts += 1;
        if self.firsts < FIRSTS {
            return ConnectionUse::First;
        }
        self.firsts = 0;
        if self.waiting > 0 {
            return ConnectionUse::Last;
        }
        self.is_turn_of_another = !self.idle.is_empty();
        ConnectionUse::First
    }

    /// Takes down that a connection is made in the place of one that was given up, if there is such.
    fn begin_replacing(&mut self) -> bool {
        let is_wanted = self.given_up > 0 && !self.is_closed;
        if is_wanted {
            self.given_up -= 1;
            self.making += 1;
        }
        is_wanted
    }
}

impl ConnectionPool {
    fn state(&self) -> MutexGuard<'_, ConnectionPoolState> {
        // Nothing panics between two changes that belong together.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Announces a connection that will be [put](Self::put) here: threads wait for it.
    pub(super) fn announce(&self) {
        self.state().total += 1;
    }

    /// Takes back that a connection was announced; returns the calls that wait for nothing now.
    pub(super) fn withdraw(&self) -> VecDeque<Arc<Awaited>> {
        let mut state = self.state();
        state.total -= 1;
        // There may be none left to wait for.
        self.freed.notify_all();
        if state.total == 0 { mem::take(&mut state.queued) } else { VecDeque::new() }
    }

    /// Takes a connection, and waits for one if all are in use, until it is `due`. `replace` has one more made, if there
    /// are some with a late answer to come.
    pub(super) fn take(
        &self,
        due: Option<Instant>,
        replace: impl Fn(),
    ) -> Result<Box<Connection>, NoConnection> {
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
            if state.begin_replacing() {
                drop(state);
                replace();
                state = self.state();
                continue;
            }
            state.waiting += 1;
            let mut is_overdue = false;
            state = match due {
                None => self.freed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(due) => {
                    let left = due.saturating_duration_since(Instant::now());
                    let waited = self.freed.wait_timeout(state, left);
                    let (state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
                    is_overdue = waited.timed_out();
                    state
                }
            };
            state.waiting -= 1;
            if is_overdue {
                return self.take_overdue(&mut state);
            }
            state.is_waking = false;
            was_woken = true;
        }
    }

    /// Takes a connection that has come in the last moment. A wake-up may have been meant for this thread, and goes on
    /// to the next.
    fn take_overdue(
        &self,
        state: &mut ConnectionPoolState,
    ) -> Result<Box<Connection>, NoConnection> {
        state.is_reserved &= state.waiting > 0;
        let taken = Self::try_from(state);
        state.is_waking = state.waiting > 0 && !state.idle.is_empty();
        if state.is_waking {
            self.freed.notify_one();
        }
        taken.map_err(|none| if none == NoConnection::Busy { NoConnection::Overdue } else { none })
    }

    /// Notes that the caller on a connection has stopped waiting.
    pub(super) fn give_up(&self) {
        self.state().given_up += 1;
    }

    /// Has one more be made for the next call, if all are in use and stay so: what those wait for may be that very call.
    pub(super) fn want_another(&self) {
        let mut state = self.state();
        for _ in 0..PATIENCE {
            if !state.idle.is_empty() || state.is_closed {
                return;
            }
            let paused = self.closed.wait_timeout(state, PAUSE);
            state = paused.unwrap_or_else(PoisonError::into_inner).0;
        }
        // One at a time, however many streams there are.
        if state.idle.is_empty() && state.total > 0 && state.given_up == 0 && state.making == 0 {
            state.given_up = 1;
        }
    }

    /// Takes down that a connection has been made in the place of one that was given up, or cannot be.
    pub(super) fn replaced(&self) {
        self.state().making -= 1;
    }

    /// Takes down that the answer has come after all.
    pub(super) fn answered_late(&self) {
        let mut state = self.state();
        state.given_up = state.given_up.saturating_sub(1);
    }

    /// Returns whether a connection is to be made in the place of one that was given up, because a call waits for one.
    #[must_use = "it is said once"]
    pub(super) fn wants_another(&self) -> bool {
        let mut state = self.state();
        (state.waiting > 0 || !state.queued.is_empty()) && state.begin_replacing()
    }

    /// Takes a connection if one is idle.
    pub(super) fn try_take(&self) -> Result<Box<Connection>, NoConnection> {
        Self::try_from(&mut self.state())
    }

    /// Takes a connection for a call, or queues the call until one [comes back](Self::put).
    pub(super) fn take_for(
        &self,
        call: &Arc<Awaited>,
    ) -> Result<Option<Box<Connection>>, NoConnection> {
        let mut state = self.state();
        if state.is_closed {
            return Err(NoConnection::Closed);
        }
        if state.total == 0 {
            return Err(NoConnection::None);
        }
        if state.idle.len() > usize::from(state.is_reserved) {
            return Ok(state.idle.pop_front());
        }
        state.queued.push_back(Arc::clone(call));
        Ok(None)
    }

    /// Takes back that a call was queued.
    pub(super) fn forget(&self, call: &Arc<Awaited>) {
        self.state().queued.retain(|queued| !Arc::ptr_eq(queued, call));
    }

    fn try_from(state: &mut ConnectionPoolState) -> Result<Box<Connection>, NoConnection> {
        if state.is_closed {
            return Err(NoConnection::Closed);
        }
        if state.total == 0 {
            return Err(NoConnection::None);
        }
        let first = if state.is_reserved { None } else { state.idle.pop_front() };
        first.ok_or(NoConnection::Busy)
    }

    /// Returns whether there is no connection, in use or not.
    pub(super) fn is_empty(&self) -> bool {
        self.state().total == 0
    }

    /// Returns how many connections are idle.
    pub(super) fn idle(&self) -> usize {
        self.state().idle.len()
    }

    /// Gives a connection back, or returns it with the queued call that it is for. A thread is woken
    /// only if one waits and none is on its way.
    #[must_use = "a queued call that is not made waits for ever"]
    pub(super) fn put(
        &self,
        connection: Box<Connection>,
        mut place: ConnectionUse,
    ) -> Option<(Box<Connection>, Arc<Awaited>)> {
        let mut state = self.state();
        if state.is_closed {
            return None;
        }
        if !state.queued.is_empty() {
            let wakes = state.waiting > 0 && !state.is_waking;
            if !(wakes && mem::replace(&mut state.is_threads_turn, false)) {
                state.is_threads_turn = true;
                return state.queued.pop_front().map(|call| (connection, call));
            }
            // Reserved, or another call might take it.
            place = ConnectionUse::Last;
        }
        if place == ConnectionUse::First {
            place = state.place_of_first();
        }
        match place {
            ConnectionUse::First => {
                state.idle.push_front(connection);
                if state.is_turn_of_another {
                    state.idle.swap(0, 1);
                }
            }
            ConnectionUse::Last => {
                state.is_reserved = state.waiting > 0;
                state.idle.push_back(connection);
            }
        }
        if state.waiting > 0 && !state.is_waking {
            state.is_waking = true;
            drop(state);
            self.freed.notify_one();
        }
        None
    }

    /// Ends all waiting; connections that come back are dropped. Returns the calls that were queued.
    pub(super) fn close(&self) -> VecDeque<Arc<Awaited>> {
        let mut state = self.state();
        state.is_closed = true;
        let idle = mem::take(&mut state.idle);
        let queued = mem::take(&mut state.queued);
        drop(state);
        drop(idle);
        self.freed.notify_all();
        self.closed.notify_all();
        queued
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::HashMap;
    use std::os::unix::net::UnixStream;

    use binder_rpc::SessionLimits;

    use super::super::link::StreamSocket;
    use super::*;

    /// How often each of three connections is used by that many calls in a row.
    fn uses(pool: &ConnectionPool, calls: u32) -> Vec<u32> {
        let mut uses = HashMap::new();
        for _ in 0..calls {
            let connection = pool.try_take().expect("an idle one");
            *uses.entry(Arc::as_ptr(connection.link())).or_default() += 1;
            assert!(pool.put(connection, ConnectionUse::First).is_none());
        }
        let mut uses: Vec<u32> = uses.into_values().collect();
        uses.sort_unstable();
        uses
    }

    #[test]
    fn calls_go_by_one_connection_and_the_others_have_their_turns() {
        let pool = ConnectionPool::default();
        for _ in 0..3 {
            let (near, _) = UnixStream::pair().expect("a pair");
            let socket = StreamSocket::new(near.into(), false);
            let connection = Connection::new(Arc::new(socket), SessionLimits::default());
            pool.announce();
            assert!(pool.put(Box::new(connection), ConnectionUse::Last).is_none());
        }
        assert_eq!(uses(&pool, FIRSTS), [FIRSTS]);
        assert_eq!(uses(&pool, 4 * (FIRSTS + 1)), [2, 2, 4 * FIRSTS]);
    }

    #[test]
    fn streams_have_one_connection_made_at_a_time() {
        let pool = ConnectionPool::default();
        // In use: what it waits for may be in a stream.
        pool.announce();
        let made = Cell::new(0);
        let take = || pool.take(Some(Instant::now()), || made.set(made.get() + 1)).map(drop);
        let wants = || {
            pool.want_another();
            assert_eq!(take(), Err(NoConnection::Overdue));
            made.get()
        };
        assert_eq!((wants(), wants()), (1, 1));
        pool.replaced();
        assert_eq!((wants(), wants()), (2, 2));
    }
}
