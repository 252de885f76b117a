//! Returns on their way into the caller's read buffer.
//!
//! The front end writes them while the driver is free for others: the page may take its time. A
//! transaction is final once the client has it, so it waits here meanwhile, in no queue any more.

use alloc::boxed::Box;
use alloc::vec::Vec;

use binder_uapi::BinderWriteRead;

use crate::context::{Context, Waits};
use crate::env::{ClaimedAddr, CopyFault, ReceiveBuffers};
use crate::error::{Errno, Verdict};
use crate::returns::Returns;
use crate::suspended_call::{Resumption, SuspendedCall, SuspendedCallKey};
use crate::thread::ThreadKey;
use crate::transaction::{TransactionKey, TransactionKind};
use crate::write_read::Outcome;

/// As much memory is kept as a call needs: its caller and its receiver read at the same time.
const KEPT_RETURNS: usize = 2;

/// What the front end must write before the call can go on: [`Context::finish_copy_out`].
#[derive(Debug)]
#[must_use = "a call waits for it"]
pub struct CopyOut {
    /// By which the call is known.
    key: SuspendedCallKey,
    /// Where it goes in the memory of the calling thread.
    pub address: ClaimedAddr,
    /// What goes there, in one go.
    pub bytes: Vec<u8>,
}

/// What depends on whether the caller gets its returns.
#[derive(Debug)]
pub(crate) struct PendingCopyOut {
    /// The transaction with which they end.
    pub(crate) last: Option<TransactionKey>,
    /// They ask the process for another thread.
    asks_for_thread: bool,
    /// The receiver's numbers of the files that come with the transaction.
    installed: Vec<u32>,
    /// The read goes on if they are written.
    rest: Option<Box<Rest>>,
}

/// A read that goes on once its beginning has been written.
#[derive(Debug)]
struct Rest {
    returns: Returns,
    waits: Waits,
}

impl Context {
    /// Hands the caller what it is to read, which ends with `last` if that is a transaction.
    pub(crate) fn copy_out(
        &mut self,
        thread: ThreadKey,
        request: &BinderWriteRead,
        mut returns: Returns,
        last: Option<TransactionKey>,
        installed: Vec<u32>,
    ) -> Outcome {
        let asks_for_thread = returns.begins_with_noop && self.wants_another_thread(thread);
        if asks_for_thread {
            returns.ask_for_thread();
            // No other thread asks meanwhile.
            let process = self.threads[thread].process;
            self.processes[process].has_requested_thread = true;
        }
        let pending = PendingCopyOut { last, asks_for_thread, installed, rest: None };
        let key = self.suspend(thread, Resumption::CopyOut(pending));
        Outcome::CopyOut(CopyOut { key, address: start_of(request), bytes: returns.bytes })
    }

    /// Has the beginning of a read written before anything behind it is taken from a queue.
    pub(crate) fn copy_out_beginning(
        &mut self,
        thread: ThreadKey,
        waits: Waits,
        request: &BinderWriteRead,
        returns: Returns,
    ) -> Outcome {
        let bytes = returns.bytes.clone();
        let rest = Some(Rest { returns, waits }.into());
        let pending =
            PendingCopyOut { last: None, asks_for_thread: false, installed: Vec::new(), rest };
        let key = self.suspend(thread, Resumption::CopyOut(pending));
        Outcome::CopyOut(CopyOut { key, address: start_of(request), bytes })
    }

    /// Goes on with a call whose returns were written, or could not be.
    ///
    /// Without them, a call is answered for its receiver with `BR_FAILED_REPLY`; all else that was to be
    /// written is lost.
    ///
    /// # Errors
    ///
    /// As [`write_read`](Self::write_read); `EFAULT` when they could not be written; `EINVAL` when the call is over, since its thread is gone
    /// or has made another.
    pub fn finish_copy_out(
        &mut self,
        copy_out: CopyOut,
        written: Result<(), CopyFault>,
        request: &mut BinderWriteRead,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<Outcome, Errno> {
        self.slice.begin();
        let Err(fault) = written else { return self.finish_copied_out(copy_out, request) };
        let (thread, pending) = self.take_pending_copy_out(copy_out.key)?;
        self.threads[thread].proven.forget();
        if let Some(transaction) = pending.last {
            let errno = Errno::from(fault).number();
            let reason = "the receiver's read buffer is out of reach";
            self.log_undelivered(thread, transaction, errno, reason);
            self.discard_undelivered(transaction, Verdict::Failed, memory);
        }
        if pending.asks_for_thread {
            let process = self.threads[thread].process;
            self.processes[process].has_requested_thread = false;
        }
        self.close_on_return(thread, pending.installed);
        self.keep_memory(copy_out.bytes);
        self.conclude(thread, Err(fault.into()))
    }

    /// As [`finish_copy_out`](Self::finish_copy_out), for returns that were written, or surely will be.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn finish_copied_out(
        &mut self,
        copy_out: CopyOut,
        request: &mut BinderWriteRead,
    ) -> Result<Outcome, Errno> {
        let CopyOut { key, address: ClaimedAddr(address), bytes } = copy_out;
        let (thread, pending) = self.take_pending_copy_out(key)?;
        self.threads[thread].proven.note_written(address, bytes.len() as u64);
        if let Some(rest) = pending.rest {
            self.keep_memory(bytes);
            let Rest { returns, waits } = *rest;
            let result = self.go_on_reading(thread, waits, request, returns);
            self.pass_on_work(thread, &result);
            return self.conclude(thread, result);
        }
        let process = self.threads[thread].process;
        self.processes[process].counters.count_returns(&bytes);
        request.read_consumed += bytes.len() as u64;
        if let Some(transaction) = pending.last {
            if self.journal.is_traced() {
                self.trace_receipt(thread, transaction);
            }
            self.note_delivery(thread, transaction);
        }
        self.keep_memory(bytes);
        self.conclude(thread, Ok(Outcome::Done))
    }

    /// Takes what depends on whether a thread gets its returns.
    fn take_pending_copy_out(
        &mut self,
        key: SuspendedCallKey,
    ) -> Result<(ThreadKey, PendingCopyOut), Errno> {
        let SuspendedCall { thread, then, .. } = self.take_suspended_call(key)?;
        if let Resumption::CopyOut(pending) = then {
            return Ok((thread, pending));
        }
        debug_assert!(false, "nothing else has such a key");
        Err(Errno::EINVAL)
    }

    /// As many bytes of a read can be written, as far as is known.
    pub(crate) fn proven_len(&self, thread: ThreadKey, request: &BinderWriteRead) -> usize {
        let ClaimedAddr(address) = start_of(request);
        usize::try_from(self.threads[thread].proven.len_at(address)).unwrap_or(usize::MAX)
    }

    /// Keeps the memory of returns for the next.
    pub(crate) fn keep_memory(&mut self, mut bytes: Vec<u8>) {
        if self.spare_returns.len() < KEPT_RETURNS {
            bytes.clear();
            self.spare_returns.push(bytes);
        }
    }

    /// The client has it: a call goes onto the reader's stack, all others are over.
    fn note_delivery(&mut self, reader: ThreadKey, transaction: TransactionKey) {
        let process = self.threads[reader].process;
        let start = self.transactions[transaction].buffer;
        let mapping = self.processes[process].mapping.as_mut();
        if let (Some(mapping), Some(start)) = (mapping, start)
            && let Some(buffer) = mapping.get_mut(start)
        {
            buffer.is_delivered = true;
            if let Some(node) = buffer.target {
                self.inherit_priority(reader, transaction, node);
            }
        }
        match self.transactions[transaction].kind {
            TransactionKind::Call => {
                let top = self.threads[reader].stack.replace(transaction);
                let state = &mut self.transactions[transaction];
                state.to_parent = top;
                state.to_thread = Some(reader);
            }
            TransactionKind::Oneway | TransactionKind::Reply => {
                self.end_transaction(transaction);
            }
        }
    }
}

/// Where the returns of a read go. Beyond the last address nothing can be written.
fn start_of(request: &BinderWriteRead) -> ClaimedAddr {
    ClaimedAddr(request.read_buffer.saturating_add(request.read_consumed))
}
