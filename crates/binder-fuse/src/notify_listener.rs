//! The listener by which the supervisor receives trapped calls, and a reader the trapped call that it expects.
//!
//! The supervisor's thread waits for calls. A reader that has sent a thread to the supervisor takes the
//! thread's call itself: to wake the supervisor's thread for that takes longer than all the rest.
//! Meanwhile the supervisor's thread is told of no call.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use binder_os::seccomp::{NotifyFd, NotifyPoll};

use crate::trapped_call::UnansweredCall;

/// How long a reader waits for a thread that is on its way: it has nothing else to do there, and is
/// mostly there at once.
const PATIENCE: Duration = Duration::from_millis(5);

pub(crate) struct NotifyListener {
    listener: Arc<NotifyFd>,
    poll: NotifyPoll,
    /// Held by the thread that takes calls.
    taking: Mutex<()>,
}

/// A reader's right to take the next call, before the supervisor's thread is told of another.
pub(crate) struct Expectation<'l> {
    of: &'l NotifyListener,
    _taking: MutexGuard<'l, ()>,
}

impl NotifyListener {
    pub(crate) fn new(listener: NotifyFd) -> io::Result<Self> {
        let poll = listener.poll()?;
        Ok(Self { listener: Arc::new(listener), poll, taking: Mutex::default() })
    }

    /// Waits for the next call; `None` when no process is left that could make one. For
    /// the supervisor's thread.
    pub(crate) fn next(&self) -> io::Result<Option<UnansweredCall>> {
        while self.listener.wait(&self.poll)? {
            let taking = self.taking.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let taken = self.listener.take(Duration::ZERO);
            drop(taking);
            if let Some(trapped) = taken? {
                return Ok(Some(UnansweredCall::new(self.listener.clone(), trapped)));
            }
        }
        Ok(None)
    }

    /// Leaves the next call to the calling reader; `None` if another thread is taking one.
    pub(crate) fn expect(&self) -> Option<Expectation<'_>> {
        let taking = match self.taking.try_lock() {
            Ok(taking) => taking,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        // Should it fail, the supervisor's thread wakes in vain.
        let _ = self.listener.pause(&self.poll);
        Some(Expectation { of: self, _taking: taking })
    }
}

impl Expectation<'_> {
    /// Waits a moment for the next call, which may be another than the expected one.
    pub(crate) fn take(self) -> Option<UnansweredCall> {
        let listener = &self.of.listener;
        let trapped = listener.take(PATIENCE).ok().flatten()?;
        Some(UnansweredCall::new(listener.clone(), trapped))
    }
}

impl Drop for Expectation<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.of.listener.resume(&self.of.poll) {
            tracing::error!(%error, "the supervisor is told of no further calls");
        }
    }
}
