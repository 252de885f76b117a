//! What must happen to a process while a thread of it leaves its ioctl: descriptors are installed and
//! closed.
//!
//! A process's descriptors can be changed from within it only. So a call that reaches a transaction
//! with files stops there, the front end does the errand and comes back with the numbers, and the
//! call goes on. All that it was about to do meanwhile waits here.

use alloc::boxed::Box;
use alloc::vec::Vec;

use binder_uapi::{BR_FAILED_REPLY, BinderWriteRead};

use crate::context::{Context, Waits};
use crate::descriptors::{CapturedFile, Place};
use crate::env::ClientMemory;
use crate::error::{Errno, Verdict};
use crate::hand_over::Handing;
use crate::returns::Returns;
use crate::table::Key;
use crate::thread::ThreadKey;
use crate::transaction::{Kind, TransactionKey};
use crate::write_read::Outcome;

/// Names an errand.
pub type ErrandKey = Key<PendingErrand>;

/// What the front end must do in the calling thread's process before the call can go on:
/// [`Context::finish_errand`].
#[derive(Debug)]
#[must_use = "a call waits for it"]
pub struct Errand {
    /// By which to say that it is done.
    pub key: ErrandKey,
    /// Files to install, in this order: each at the lowest free number, to be closed on exec. All of
    /// them, or none.
    pub install: Vec<CapturedFile>,
    /// Descriptors to close afterwards, whether or not the files could be installed. Some may be
    /// closed already.
    pub close: Vec<u32>,
}

/// Not all files of an errand could be installed, and none is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{reason} ({errno})")]
pub struct NotInstalled {
    /// The cause, as a positive number.
    pub errno: i32,
    /// What kept them out, for people.
    pub reason: &'static str,
}

/// A call that waits for an errand, and how it goes on.
#[derive(Debug)]
pub struct PendingErrand {
    pub(crate) thread: ThreadKey,
    pub(crate) then: Then,
    /// The files, if it was retracted.
    retracted: Option<Vec<CapturedFile>>,
}

#[derive(Debug)]
pub(crate) enum Then {
    /// The numbers of installed files belong to a delivery.
    Deliver(Box<Delivery>),
    /// The caller has its returns, or not.
    HandOver(Handing),
    /// The ioctl ends.
    Return(Result<(), Errno>),
}

/// A read that has come to a transaction with files.
#[derive(Debug)]
pub(crate) struct Delivery {
    transaction: TransactionKey,
    /// Where the numbers belong.
    places: Vec<Place>,
    /// What precedes the transaction in this read.
    returns: Returns,
    waits: Waits,
}

impl Context {
    /// Goes on with a call whose errand is done: `installed` are the numbers of the files, none if
    /// there were none to install.
    ///
    /// # Errors
    ///
    /// As [`write_read`](Self::write_read); `EINVAL` when the call is over, since its thread is gone
    /// or has made another.
    pub fn finish_errand(
        &mut self,
        errand: ErrandKey,
        installed: Result<Vec<u32>, NotInstalled>,
        request: &BinderWriteRead,
        memory: &mut dyn ClientMemory,
    ) -> Result<Outcome, Errno> {
        self.slice.begin();
        let PendingErrand { thread, then, .. } = self.take_errand(errand)?;
        let result = match then {
            Then::Deliver(delivery) => {
                let result = self.deliver(thread, *delivery, installed, request, memory);
                self.pass_on_work(thread, &result);
                result
            }
            Then::Return(result) => result.map(|()| Outcome::Done),
            Then::HandOver(_) => {
                debug_assert!(false, "returns are handed over by finish_hand_over");
                Err(Errno::EINVAL)
            }
        };
        self.conclude(thread, result)
    }

    /// Takes back an errand with its files, none of which is installed: a signal has interrupted the
    /// call. The thread's next read takes it up again; until then it is as if it had not been begun.
    pub fn retract_errand(&mut self, errand: ErrandKey, files: Vec<CapturedFile>) {
        if let Some(pending) = self.errands.get_mut(errand) {
            pending.retracted = Some(files);
        }
    }

    /// Whether the thread's next read takes up an errand.
    pub(crate) fn has_retracted_errand(&self, thread: ThreadKey) -> bool {
        let errand = self.threads[thread].errand.and_then(|key| self.errands.get(key));
        errand.is_some_and(|errand| errand.retracted.is_some())
    }

    /// Takes up an errand that was retracted, as the beginning of a read that has told nothing yet;
    /// `None` if there is none. Without room for what it brings, the read tells nothing.
    pub(crate) fn take_up_errand(
        &mut self,
        thread: ThreadKey,
        waits: Waits,
        fresh: Returns,
    ) -> Option<Outcome> {
        let key = self.threads[thread].errand?;
        let pending = self.errands.get_mut(key)?;
        let Then::Deliver(delivery) = &mut pending.then else { return None };
        if !delivery.returns.move_to(fresh) {
            return Some(Outcome::Done);
        }
        delivery.waits = waits;
        let install = pending.retracted.take()?;
        let close = core::mem::take(&mut self.threads[thread].closing);
        Some(Outcome::Errand(Errand { key, install, close }.into()))
    }

    /// Takes a call that waited for the front end, to go on with it.
    ///
    /// # Errors
    ///
    /// `EINVAL` when it is over.
    pub(crate) fn take_errand(&mut self, errand: ErrandKey) -> Result<PendingErrand, Errno> {
        let thread = self.errands.get(errand).ok_or(Errno::EINVAL)?.thread;
        if !self.processes[self.threads[thread].process].is_open() {
            // The thread will go, and the errand with it.
            return Err(Errno::EINVAL);
        }
        let pending = self.errands.remove(errand).ok_or(Errno::EINVAL)?;
        self.threads[thread].errand = None;
        Ok(pending)
    }

    /// Stops a read at a transaction whose files are to be installed first.
    pub(crate) fn await_installation(
        &mut self,
        thread: ThreadKey,
        waits: Waits,
        transaction: TransactionKey,
        returns: Returns,
    ) -> Outcome {
        let process = self.threads[thread].process;
        let arena = self.processes[process].arena.as_mut();
        let start = self.transactions[transaction].buffer;
        let buffer = arena.zip(start).and_then(|(arena, start)| arena.get_mut(start));
        let files = buffer.map(|buffer| core::mem::take(&mut buffer.files)).unwrap_or_default();
        let (install, places) = files.into_iter().map(|file| (file.file, file.place)).unzip();
        let delivery = Delivery { transaction, places, returns, waits };
        self.send_on_errand(thread, install, Then::Deliver(delivery.into()))
    }

    /// The end of an ioctl that does not sleep: what it has to close is closed first.
    pub(crate) fn conclude(
        &mut self,
        thread: ThreadKey,
        result: Result<Outcome, Errno>,
    ) -> Result<Outcome, Errno> {
        let result = match result {
            Ok(
                Outcome::Park(_)
                | Outcome::Fetch
                | Outcome::Yield(_)
                | Outcome::HandOver(_)
                | Outcome::Errand(_),
            ) => return result,
            Ok(Outcome::Done) => Ok(()),
            Err(error) => Err(error),
        };
        self.leave(thread);
        // One that was retracted has its place: with that, they are closed.
        if self.threads[thread].closing.is_empty() || self.has_retracted_errand(thread) {
            return result.map(|()| Outcome::Done);
        }
        Ok(self.send_on_errand(thread, Vec::new(), Then::Return(result)))
    }

    fn send_on_errand(
        &mut self,
        thread: ThreadKey,
        install: Vec<CapturedFile>,
        then: Then,
    ) -> Outcome {
        let key = self.suspend(thread, then);
        let close = core::mem::take(&mut self.threads[thread].closing);
        Outcome::Errand(Errand { key, install, close }.into())
    }

    /// Notes that a call waits for the front end, and how it goes on.
    pub(crate) fn suspend(&mut self, thread: ThreadKey, then: Then) -> ErrandKey {
        let key = self.errands.insert(PendingErrand { thread, then, retracted: None });
        let state = &mut self.threads[thread];
        debug_assert_eq!(state.errand, None, "a thread makes one call at a time");
        state.errand = Some(key);
        key
    }

    /// Forgets a call that waits for an errand, unless that was retracted: its thread has come back
    /// without it.
    pub(crate) fn leave_errand(&mut self, thread: ThreadKey, memory: &mut dyn ClientMemory) {
        if !self.has_retracted_errand(thread) {
            self.abandon_errand(thread, memory);
        }
    }

    /// Forgets a call that waits for an errand: its thread is gone, or has come back without it.
    pub(crate) fn abandon_errand(&mut self, thread: ThreadKey, memory: &mut dyn ClientMemory) {
        let Some(errand) = self.threads[thread].errand.take() else { return };
        let Some(PendingErrand { then, .. }) = self.errands.remove(errand) else { return };
        let undelivered = match then {
            Then::Deliver(delivery) => Some(delivery.transaction),
            Then::HandOver(handing) => handing.last,
            Then::Return(_) => None,
        };
        if let Some(transaction) = undelivered {
            self.discard_undelivered(transaction, Verdict::Dead, memory);
        }
    }

    /// Delivers a transaction whose files are installed. If they are not, nobody sees it: a call's
    /// sender is told, and so is the reader if it is a reply; a one-way is dropped.
    fn deliver(
        &mut self,
        thread: ThreadKey,
        delivery: Delivery,
        installed: Result<Vec<u32>, NotInstalled>,
        request: &BinderWriteRead,
        memory: &mut dyn ClientMemory,
    ) -> Result<Outcome, Errno> {
        let Delivery { transaction, places, mut returns, waits } = delivery;
        let receiver = self.threads[thread].process;
        let start = self.transactions[transaction].buffer;
        let why = match (installed, start) {
            (Ok(numbers), Some(start)) => {
                match self.write_numbers(receiver, start, &places, &numbers, memory) {
                    Ok(()) => {
                        self.put_transaction(thread, transaction, &mut returns);
                        let last = Some(transaction);
                        return Ok(self.hand_over(thread, request, returns, last, numbers));
                    }
                    Err(error) => {
                        self.close_on_return(thread, numbers);
                        let reason = "the receive buffer is out of reach";
                        NotInstalled { errno: error.number(), reason }
                    }
                }
            }
            (Ok(numbers), None) => {
                debug_assert!(false, "what is not delivered has its buffer");
                self.close_on_return(thread, numbers);
                NotInstalled { errno: Errno::EINVAL.number(), reason: "it has no buffer" }
            }
            (Err(why), _) => why,
        };
        self.log_undelivered(thread, transaction, why.errno, why.reason);
        let kind = self.transactions[transaction].kind;
        self.discard_undelivered(transaction, Verdict::Failed, memory);
        match kind {
            Kind::Call | Kind::Oneway => self.go_on_reading(thread, waits, request, returns),
            Kind::Reply => {
                returns.put(BR_FAILED_REPLY);
                Ok(self.hand_over(thread, request, returns, None, Vec::new()))
            }
        }
    }
}
