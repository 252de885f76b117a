//! Cancels accesses to a client's memory that may never come back.
//!
//! A transfer may not come back for as long as a page stays away. Its client can be let go all the
//! same: a transfer that has begun goes on with the memory that it began with, whichever thread has
//! the number of the client's thread by then; another must not begin.

#[cfg(not(loom))]
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};

#[cfg(loom)]
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};

use crate::processes;

/// Shared by a thread that makes transfers, one after the other, and by the threads that may cancel
/// them.
#[derive(Debug, Default)]
pub struct CancelToken {
    /// The thread of ours that makes a transfer; 0 if none does.
    transferring: AtomicU32,
    is_cancelled: AtomicBool,
}

impl CancelToken {
    /// Makes a transfer, unless they are cancelled.
    pub(crate) fn transfer<T>(&self, transfer: impl FnOnce() -> T) -> Option<T> {
        self.transferring.store(processes::own_thread(), Ordering::Relaxed);
        // A thread that cancels looks for a transfer afterwards: one of the two sees the other.
        fence(Ordering::SeqCst);
        let made = (!self.is_cancelled.load(Ordering::Acquire)).then(transfer);
        self.transferring.store(0, Ordering::Release);
        made
    }

    /// Lets no further transfer begin. Says whether the client may be let go: none is being made, or
    /// it is seen to wait within the system call, which has hold of the memory by then.
    #[must_use = "until then the numbers of the client's threads must stay theirs"]
    pub fn cancel(&self) -> bool {
        self.is_cancelled.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
        match self.transferring.load(Ordering::Acquire) {
            0 => true,
            thread => processes::waits_in_transfer(thread),
        }
    }

    /// Whether a transfer is being made.
    pub fn is_in_use(&self) -> bool {
        self.transferring.load(Ordering::Acquire) != 0
    }

    /// Whether transfers were cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Acquire)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn no_transfer_begins_once_it_is_cancelled() {
        let token = CancelToken::default();
        assert_eq!(token.transfer(|| 7), Some(7));
        assert!(token.cancel() && token.is_cancelled());
        assert_eq!(token.transfer(|| 7), None);
    }

    #[test]
    fn a_transfer_that_does_not_wait_is_not_let_go() {
        let token = CancelToken::default();
        assert_eq!(token.transfer(|| (token.is_in_use(), token.cancel())), Some((true, false)));
        assert!(!token.is_in_use() && token.cancel(), "it has come back");
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use loom::sync::Arc;

    #[test]
    fn no_transfer_begins_after_the_client_was_let_go() {
        loom::model(|| {
            let token = Arc::new(CancelToken::default());
            let is_let_go = Arc::new(AtomicBool::new(false));
            let worker = {
                let (token, is_let_go) = (token.clone(), is_let_go.clone());
                loom::thread::spawn(move || {
                    token.transfer(|| assert!(!is_let_go.load(Ordering::SeqCst), "gone"));
                })
            };
            if token.cancel() {
                is_let_go.store(true, Ordering::SeqCst);
            }
            worker.join().expect("it does not panic");
        });
    }
}
