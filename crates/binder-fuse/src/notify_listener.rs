//! Where the supervisor is told of trapped calls, and a reader of the one that it expects.
//!
//! The attendant waits for calls. A reader that has sent a thread to the supervisor takes the call that
//! comes of it itself: to wake the attendant for that takes longer than all the rest. Meanwhile the
//! attendant hears of nothing.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use binder_os::seccomp::{NotifyFd, NotifyPoll};

use crate::supervisor::Waiting;

/// For so long a reader waits for a thread that is on its way: it has nothing else to do there, and is
/// mostly there at once.
const PATIENCE: Duration = Duration::from_millis(5);

pub(crate) struct NotifyListener {
    listener: Arc<NotifyFd>,
    ear: NotifyPoll,
    /// Whoever has it takes calls.
    turn: Mutex<()>,
}

/// A reader's turn to take a call, before one that comes later is heard by the attendant.
pub(crate) struct Expectation<'h> {
    hearing: &'h NotifyListener,
    _turn: MutexGuard<'h, ()>,
}

impl NotifyListener {
    pub(crate) fn new(listener: NotifyFd) -> io::Result<Self> {
        let ear = listener.poll()?;
        Ok(Self { listener: Arc::new(listener), ear, turn: Mutex::default() })
    }

    /// Waits for the next call; `None` when nobody is left who could make one. For the attendant.
    pub(crate) fn next(&self) -> io::Result<Option<Waiting>> {
        while self.listener.wait(&self.ear)? {
            let turn = self.turn.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let taken = self.listener.take(Duration::ZERO);
            drop(turn);
            if let Some(trapped) = taken? {
                return Ok(Some(Waiting::new(self.listener.clone(), trapped)));
            }
        }
        Ok(None)
    }

    /// Has the next call left to whoever asks; nothing if somebody else has just asked.
    pub(crate) fn expect(&self) -> Option<Expectation<'_>> {
        let turn = match self.turn.try_lock() {
            Ok(turn) => turn,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        // Should it fail, the attendant wakes in vain.
        let _ = self.listener.shut(&self.ear);
        Some(Expectation { hearing: self, _turn: turn })
    }
}

impl Expectation<'_> {
    /// Waits for the call, which may be one that nobody expected, for a moment.
    pub(crate) fn take(self) -> Option<Waiting> {
        let listener = &self.hearing.listener;
        let trapped = listener.take(PATIENCE).ok().flatten()?;
        Some(Waiting::new(listener.clone(), trapped))
    }
}

impl Drop for Expectation<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.hearing.listener.open(&self.hearing.ear) {
            tracing::error!(%error, "the supervisor hears of no further calls");
        }
    }
}
