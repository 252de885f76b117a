//! What must happen to a process while a thread of it leaves its ioctl: descriptors are installed and
//! closed.
//!
//! A process's descriptors can be changed from within it only. So a call that reaches a transaction
//! with files stops there, the front end does the descriptor work and comes back with the numbers, and the
//! call goes on. All that it was about to do meanwhile waits here.

use alloc::boxed::Box;
use alloc::vec::Vec;

use binder_uapi::{BR_FAILED_REPLY, BinderWriteRead};

use crate::context::{Context, Waits};
use crate::copy_out::PendingCopyOut;
use crate::descriptors::{CapturedFile, NumberPlace};
use crate::env::ReceiveBuffers;
use crate::error::{Errno, Verdict};
use crate::returns::Returns;
use crate::table::Key;
use crate::thread::ThreadKey;
use crate::transaction::{TransactionKey, TransactionKind};
use crate::write_read::Outcome;

/// Names descriptor work.
pub type SuspendedCallKey = Key<SuspendedCall>;

/// What the front end must do in the calling thread's process before the call can go on:
/// [`Context::finish_fd_work`].
#[derive(Debug)]
#[must_use = "a call waits for it"]
pub struct FdWork {
    /// By which to say that it is done.
    pub key: SuspendedCallKey,
    /// Descriptors to close first. Some may be closed already.
    pub close: Vec<u32>,
    /// Files to install then, in this order: each at the lowest free number, to be closed on exec. All of
    /// them, or none.
    pub install: Vec<CapturedFile>,
}

/// Not all files of descriptor work could be installed, and none is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{reason} ({errno})")]
pub struct NotInstalled {
    /// The cause, as a positive number.
    pub errno: i32,
    /// What kept them out, for people.
    pub reason: &'static str,
}

/// A call that waits for descriptor work, and how it goes on.
#[derive(Debug)]
pub struct SuspendedCall {
    pub(crate) thread: ThreadKey,
    pub(crate) then: Resumption,
}

#[derive(Debug)]
pub(crate) enum Resumption {
    /// The numbers of installed files belong to a delivery.
    Deliver(Box<PendingDelivery>),
    /// The caller has its returns, or not.
    CopyOut(PendingCopyOut),
    /// The ioctl ends.
    Return(Result<(), Errno>),
}

/// A read that has come to a transaction with files.
#[derive(Debug)]
pub(crate) struct PendingDelivery {
    transaction: TransactionKey,
    /// Where the numbers belong.
    places: Vec<NumberPlace>,
    /// What precedes the transaction in this read.
    returns: Returns,
    waits: Waits,
    /// The files, if it was retracted.
    retracted: Option<Vec<CapturedFile>>,
}

impl Context {
    /// Goes on with a call whose descriptor work is done: `installed` are the numbers of the files, none if
    /// there were none to install.
    ///
    /// # Errors
    ///
    /// As [`write_read`](Self::write_read); `EINVAL` when the call is over, since its thread is gone
    /// or has made another.
    pub fn finish_fd_work(
        &mut self,
        suspended_call: SuspendedCallKey,
        installed: Result<Vec<u32>, NotInstalled>,
        request: &BinderWriteRead,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<Outcome, Errno> {
        self.slice.begin();
        let SuspendedCall { thread, then } = self.take_suspended_call(suspended_call)?;
        let result = match then {
            Resumption::Deliver(delivery) => {
                let result = self.deliver(thread, *delivery, installed, request, memory);
                self.pass_on_work(thread, &result);
                result
            }
            Resumption::Return(result) => result.map(|()| Outcome::Done),
            Resumption::CopyOut(_) => {
                debug_assert!(false, "returns are handed over by finish_copy_out");
                Err(Errno::EINVAL)
            }
        };
        self.conclude(thread, result)
    }

    /// Takes back descriptor work of which nothing is done: a signal has interrupted the call, or its thread
    /// makes another. The thread's next read takes up the files; what was to be closed is closed at the end
    /// of its next [`write_read`](Self::write_read).
    pub fn retract_fd_work(&mut self, work: FdWork) {
        let FdWork { key, close, install } = work;
        let Some(pending) = self.suspended_calls.get_mut(key) else { return };
        let thread = pending.thread;
        if let Resumption::Deliver(delivery) = &mut pending.then {
            delivery.retracted = Some(install);
        } else {
            // Its thread has what the call has told, and nothing is left but to close.
            self.suspended_calls.remove(key);
            self.threads[thread].suspended_call = None;
        }
        self.close_on_return(thread, close);
    }

    /// Whether the thread's next read takes up descriptor work.
    pub(crate) fn has_retracted_fd_work(&self, thread: ThreadKey) -> bool {
        let suspended_call =
            self.threads[thread].suspended_call.and_then(|key| self.suspended_calls.get(key));
        suspended_call.is_some_and(|suspended_call| match &suspended_call.then {
            Resumption::Deliver(delivery) => delivery.retracted.is_some(),
            Resumption::CopyOut(_) | Resumption::Return(_) => false,
        })
    }

    /// Takes up descriptor work that was retracted, as the beginning of a read that has told nothing yet;
    /// `None` if there is none. Without room for what it brings, the read tells nothing.
    pub(crate) fn take_up_fd_work(
        &mut self,
        thread: ThreadKey,
        waits: Waits,
        fresh: Returns,
    ) -> Option<Outcome> {
        let key = self.threads[thread].suspended_call?;
        let pending = self.suspended_calls.get_mut(key)?;
        let Resumption::Deliver(delivery) = &mut pending.then else { return None };
        if !delivery.returns.move_to(fresh) {
            return Some(Outcome::Done);
        }
        delivery.waits = waits;
        let install = delivery.retracted.take()?;
        let close = core::mem::take(&mut self.threads[thread].closing);
        Some(Outcome::FdWork(FdWork { key, install, close }.into()))
    }

    /// Takes a call that waited for the front end, to go on with it.
    ///
    /// # Errors
    ///
    /// `EINVAL` when it is over.
    pub(crate) fn take_suspended_call(
        &mut self,
        suspended_call: SuspendedCallKey,
    ) -> Result<SuspendedCall, Errno> {
        let thread = self.suspended_calls.get(suspended_call).ok_or(Errno::EINVAL)?.thread;
        if !self.processes[self.threads[thread].process].is_open() {
            // The thread will go, and the descriptor work with it.
            return Err(Errno::EINVAL);
        }
        let pending = self.suspended_calls.remove(suspended_call).ok_or(Errno::EINVAL)?;
        self.threads[thread].suspended_call = None;
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
        let mapping = self.processes[process].mapping.as_mut();
        let start = self.transactions[transaction].buffer;
        let buffer = mapping.zip(start).and_then(|(mapping, start)| mapping.get_mut(start));
        let files = buffer.map(|buffer| core::mem::take(&mut buffer.files)).unwrap_or_default();
        let (install, places) = files.into_iter().map(|file| (file.file, file.place)).unzip();
        let delivery = PendingDelivery { transaction, places, returns, waits, retracted: None };
        self.begin_fd_task(thread, install, Resumption::Deliver(delivery.into()))
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
                | Outcome::Locate(_)
                | Outcome::CopyOut(_)
                | Outcome::FdWork(_),
            ) => return result,
            Ok(Outcome::Done) => Ok(()),
            Err(error) => Err(error),
        };
        self.leave(thread);
        // One that was retracted has its place: with that, they are closed.
        if self.threads[thread].closing.is_empty() || self.has_retracted_fd_work(thread) {
            return result.map(|()| Outcome::Done);
        }
        Ok(self.begin_fd_task(thread, Vec::new(), Resumption::Return(result)))
    }

    fn begin_fd_task(
        &mut self,
        thread: ThreadKey,
        install: Vec<CapturedFile>,
        then: Resumption,
    ) -> Outcome {
        let key = self.suspend(thread, then);
        let close = core::mem::take(&mut self.threads[thread].closing);
        Outcome::FdWork(FdWork { key, close, install }.into())
    }

    /// Notes that a call waits for the front end, and how it goes on.
    pub(crate) fn suspend(&mut self, thread: ThreadKey, then: Resumption) -> SuspendedCallKey {
        let key = self.suspended_calls.insert(SuspendedCall { thread, then });
        let state = &mut self.threads[thread];
        debug_assert_eq!(state.suspended_call, None, "a thread makes one call at a time");
        state.suspended_call = Some(key);
        key
    }

    /// Forgets a call that waits for descriptor work, unless that was retracted: its thread has come back
    /// without it.
    pub(crate) fn leave_suspended_call(
        &mut self,
        thread: ThreadKey,
        memory: &mut dyn ReceiveBuffers,
    ) {
        if !self.has_retracted_fd_work(thread) {
            self.abandon_suspended_call(thread, memory);
        }
    }

    /// Forgets a call that waits for descriptor work: its thread is gone, or has come back without it.
    pub(crate) fn abandon_suspended_call(
        &mut self,
        thread: ThreadKey,
        memory: &mut dyn ReceiveBuffers,
    ) {
        let Some(suspended_call) = self.threads[thread].suspended_call.take() else { return };
        let Some(SuspendedCall { then, .. }) = self.suspended_calls.remove(suspended_call) else {
            return;
        };
        let undelivered = match then {
            Resumption::Deliver(delivery) => Some(delivery.transaction),
            Resumption::CopyOut(pending) => pending.last,
            Resumption::Return(_) => None,
        };
        if let Some(transaction) = undelivered {
            self.discard_undelivered(transaction, Verdict::Dead, memory);
        }
    }

    /// Delivers a transaction whose files are installed. If they are not, the transaction is not
    /// delivered: a call's sender is told, and so is the reader if it is a reply; a one-way is
    /// dropped.
    fn deliver(
        &mut self,
        thread: ThreadKey,
        delivery: PendingDelivery,
        installed: Result<Vec<u32>, NotInstalled>,
        request: &BinderWriteRead,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<Outcome, Errno> {
        let PendingDelivery { transaction, places, mut returns, waits, .. } = delivery;
        let receiver = self.threads[thread].process;
        let start = self.transactions[transaction].buffer;
        let why = match (installed, start) {
            (Ok(numbers), Some(start)) => {
                match self.write_numbers(receiver, start, &places, &numbers, memory) {
                    Ok(()) => {
                        self.put_transaction(thread, transaction, &mut returns);
                        let last = Some(transaction);
                        return Ok(self.copy_out(thread, request, returns, last, numbers));
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
        let undelivered = self.delivery_record(transaction);
        self.log_undelivered(thread, &undelivered, why.errno, why.reason);
        self.discard_undelivered(transaction, Verdict::Failed, memory);
        match undelivered.kind {
            TransactionKind::Call | TransactionKind::Oneway => {
                self.go_on_reading(thread, waits, request, returns)
            }
            TransactionKind::Reply => {
                returns.put(BR_FAILED_REPLY);
                Ok(self.copy_out(thread, request, returns, None, Vec::new()))
            }
        }
    }
}
