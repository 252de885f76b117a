//! Calls that end in time, although the driver knows no deadlines.
//!
//! A thread that has called waits for the reply, for the driver brings it to no other. So a call with a deadline is made
//! by a thread of its own, and its caller waits for that: the thread stays until the reply comes, the caller does not.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::proxy::HandleProxy;
use crate::StatusCode;
use crate::transport::{Parcel, TransactionCode, TransactionFlags};

/// How many threads of a process make such calls: as many may wait for replies whose callers have stopped waiting.
const MAX_THREADS: usize = 64;

/// How long a thread stays for the next call.
const IDLE_TIME: Duration = Duration::from_secs(5);

/// The threads of this process that make such calls.
static CALLERS: Callers = Callers {
    state: Mutex::new(TimedCallState { queue: VecDeque::new(), idle: 0, threads: 0 }),
    added: Condvar::new(),
};

struct Callers {
    state: Mutex<TimedCallState>,
    added: Condvar,
}

struct TimedCallState {
    queue: VecDeque<TimedCall>,
    idle: usize,
    threads: usize,
}

/// A call that waits for a thread.
struct TimedCall {
    proxy: Arc<HandleProxy>,
    code: TransactionCode,
    data: Parcel,
    flags: TransactionFlags,
    due: Instant,
    answer: SyncSender<Result<Parcel, StatusCode>>,
}

/// Makes a call of another thread, and waits for its reply until it is `due`.
pub(super) fn call(
    proxy: Arc<HandleProxy>,
    code: TransactionCode,
    data: Parcel,
    flags: TransactionFlags,
    due: Instant,
) -> Result<Parcel, StatusCode> {
    let (answer, answered) = sync_channel(1);
    CALLERS.add(TimedCall { proxy, code, data, flags, due, answer })?;
    wait(&answered, due)
}

fn wait(
    answered: &Receiver<Result<Parcel, StatusCode>>,
    due: Instant,
) -> Result<Parcel, StatusCode> {
    match answered.recv_timeout(due.saturating_duration_since(Instant::now())) {
        Ok(answer) => answer,
        // It may have come in the last moment.
        Err(RecvTimeoutError::Timeout) => answered.try_recv().unwrap_or(Err(StatusCode::TIMED_OUT)),
        Err(RecvTimeoutError::Disconnected) => Err(StatusCode::TIMED_OUT),
    }
}

impl TimedCall {
    fn make(self) {
        let Self { proxy, code, data, flags, due, answer } = self;
        if due <= Instant::now() {
            // Its caller has gone.
            return;
        }
        // A caller that has gone does not listen.
        let _ = answer.send(proxy.call_now(code, data, flags));
    }
}

impl Callers {
    fn state(&self) -> MutexGuard<'_, TimedCallState> {
        // No call is made under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a thread make the call, as soon as one can.
    fn add(&'static self, call: TimedCall) -> Result<(), StatusCode> {
        let mut state = self.state();
        // Those whose callers have gone are dropped outside of the lock.
        let (late, queue) = state.queue.drain(..).partition(|it| it.due <= Instant::now());
        state.queue = queue;
        state.queue.push_back(call);
        let is_short = state.queue.len() > state.idle && state.threads < MAX_THREADS;
        if is_short {
            state.threads += 1;
        }
        drop(state);
        drop::<VecDeque<TimedCall>>(late);
        self.added.notify_one();
        if !is_short {
            return Ok(());
        }
        let spawned = thread::Builder::new().name("binder-timed".to_owned()).spawn(|| self.run());
        spawned.map(drop).map_err(|_| {
            self.state().threads -= 1;
            StatusCode::NO_MEMORY
        })
    }

    fn run(&self) {
        loop {
            let mut state = self.state();
            state.idle += 1;
            let waited =
                self.added.wait_timeout_while(state, IDLE_TIME, |state| state.queue.is_empty());
            let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
            state.idle -= 1;
            let Some(call) = state.queue.pop_front() else {
                state.threads -= 1;
                return;
            };
            drop(state);
            call.make();
        }
    }
}
