//! How far somebody who reaches into a client's memory may still go.
//!
//! A transfer may not come back for as long as a page stays away. Its client can be let go all the
//! same: a transfer that has begun goes on with the memory that it began with, whoever has the number
//! of the client's thread by then; another must not begin.

#[cfg(not(loom))]
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};

#[cfg(loom)]
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};

use crate::processes;

/// The leash of one who makes transfers, one after the other.
#[derive(Debug, Default)]
pub struct Leash {
    /// The thread of ours that makes a transfer; 0 if none does.
    at_it: AtomicU32,
    is_cut: AtomicBool,
}

impl Leash {
    /// Makes a transfer, unless the leash is cut.
    pub(crate) fn transfer<T>(&self, transfer: impl FnOnce() -> T) -> Option<T> {
        self.at_it.store(processes::own_thread(), Ordering::Relaxed);
        // Whoever cuts the leash looks who is at it afterwards: one of the two sees the other.
        fence(Ordering::SeqCst);
        let made = (!self.is_cut.load(Ordering::Acquire)).then(transfer);
        self.at_it.store(0, Ordering::Release);
        made
    }

    /// Lets no further transfer begin. Says whether the client may be let go: none is being made, or
    /// it is seen to wait within the system call, which has hold of the memory by then.
    #[must_use = "until then the numbers of the client's threads must stay theirs"]
    pub fn cut(&self) -> bool {
        self.is_cut.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
        match self.at_it.load(Ordering::Acquire) {
            0 => true,
            thread => processes::waits_in_transfer(thread),
        }
    }

    /// Whether a transfer is being made.
    pub fn is_in_use(&self) -> bool {
        self.at_it.load(Ordering::Acquire) != 0
    }

    /// Whether it was cut.
    pub fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::Acquire)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn nobody_goes_on_a_leash_that_was_cut() {
        let leash = Leash::default();
        assert_eq!(leash.transfer(|| 7), Some(7));
        assert!(leash.cut() && leash.is_cut());
        assert_eq!(leash.transfer(|| 7), None);
    }

    #[test]
    fn who_is_at_it_and_does_not_wait_is_not_let_go() {
        let leash = Leash::default();
        assert_eq!(leash.transfer(|| (leash.is_in_use(), leash.cut())), Some((true, false)));
        assert!(!leash.is_in_use() && leash.cut(), "it has come back");
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use loom::sync::Arc;

    #[test]
    fn no_transfer_begins_after_the_client_was_let_go() {
        loom::model(|| {
            let leash = Arc::new(Leash::default());
            let is_let_go = Arc::new(AtomicBool::new(false));
            let worker = {
                let (leash, is_let_go) = (leash.clone(), is_let_go.clone());
                loom::thread::spawn(move || {
                    leash.transfer(|| assert!(!is_let_go.load(Ordering::SeqCst), "gone"));
                })
            };
            if leash.cut() {
                is_let_go.store(true, Ordering::SeqCst);
            }
            worker.join().expect("it does not panic");
        });
    }
}
