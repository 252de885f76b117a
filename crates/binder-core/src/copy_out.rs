//! Returns on their way into the caller's read buffer.
//!
//! The front end writes them while the driver is free for others: the page may take its time. A
//! transaction is final once the client has it, so it waits here meanwhile, in no queue any more.
//!
//! Where returns were written before, they will mostly be written again ([`proven`](crate::proven)). Such a
//! transaction is delivered at once, and the call is over when its returns are written: the driver need not
//! be asked again. If they cannot be written after all, the delivery is undone.

use alloc::boxed::Box;
use alloc::vec::Vec;

use binder_uapi::BinderWriteRead;

use crate::context::{Context, Waits};
use crate::env::{ClaimedAddr, CopyFault, ReceiveBuffers};
use crate::error::{Errno, Verdict};
use crate::journal::DeliveryRecord;
use crate::priority::Inheritance;
use crate::returns::Returns;
use crate::suspended_call::{Resumption, SuspendedCall, SuspendedCallKey};
use crate::thread::ThreadKey;
use crate::transaction::{TransactionKey, TransactionKind};
use crate::write_read::Outcome;

/// How many are kept: what a call needs, whose caller and receiver read at the same time.
const KEPT_RETURNS: usize = 2;

/// What the front end must write before the call can go on: [`Context::finish_copy_out`].
#[derive(Debug)]
#[must_use = "a call waits for it"]
pub struct CopyOut {
    then: AfterCopyOut,
    /// Where it goes in the memory of the calling thread.
    pub address: ClaimedAddr,
    /// What goes there, in one go.
    pub bytes: Vec<u8>,
}

/// How a call goes on whose returns are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AfterCopyOut {
    /// The call waits for that, under this key.
    GoesOn(SuspendedCallKey),
    /// It is over.
    IsOver(FinalCopyOut),
}

/// The returns of a call that is over once they are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct FinalCopyOut {
    thread: ThreadKey,
    /// The debug id of the transaction with which they end.
    delivered: Option<u32>,
    /// They ask the process for another thread.
    asks_for_thread: bool,
}

/// The transaction that a thread was given last, for as long as that may be undone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Delivered {
    transaction: TransactionKey,
    record: DeliveryRecord,
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

impl CopyOut {
    /// Whether the call is over once the returns are written: [`Context::finish_copy_out`] is needed only if they cannot be.
    pub fn is_final(&self) -> bool {
        matches!(self.then, AfterCopyOut::IsOver(_))
    }
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
        let address = start_of(request);
        if returns.is_proven() && installed.is_empty() && self.can_be_final(thread) {
            return self.copy_out_last(thread, address, returns.bytes, last, asks_for_thread);
        }
        let pending = PendingCopyOut { last, asks_for_thread, installed, rest: None };
        let then = AfterCopyOut::GoesOn(self.suspend(thread, Resumption::CopyOut(pending)));
        Outcome::CopyOut(CopyOut { then, address, bytes: returns.bytes })
    }

    /// Whether a call of this thread may be over before it has its returns: nothing is to be closed then, and no priority
    /// is inherited.
    fn can_be_final(&self, thread: ThreadKey) -> bool {
        self.threads[thread].closing.is_empty() && self.inheritance == Inheritance::Nothing
    }

    /// Ends a call whose returns are still to be written, where they were before.
    fn copy_out_last(
        &mut self,
        thread: ThreadKey,
        address: ClaimedAddr,
        bytes: Vec<u8>,
        last: Option<TransactionKey>,
        asks_for_thread: bool,
    ) -> Outcome {
        let process = self.threads[thread].process;
        self.processes[process].counters.count_returns(&bytes);
        let mut delivered = None;
        if let Some(transaction) = last {
            let record = self.delivery_record(transaction);
            delivered = Some(record.trace.id);
            self.threads[thread].delivered = Some(Delivered { transaction, record });
            self.note_receipt(thread, transaction);
        }
        self.leave(thread);
        let then = AfterCopyOut::IsOver(FinalCopyOut { thread, delivered, asks_for_thread });
        Outcome::CopyOut(CopyOut { then, address, bytes })
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
        let then = AfterCopyOut::GoesOn(self.suspend(thread, Resumption::CopyOut(pending)));
        Outcome::CopyOut(CopyOut { then, address: start_of(request), bytes })
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
        let key = match copy_out.then {
            AfterCopyOut::GoesOn(key) => key,
            AfterCopyOut::IsOver(end) => {
                return self.undo_copy_out(end, &copy_out.bytes, fault, memory);
            }
        };
        let (thread, pending) = self.take_pending_copy_out(key)?;
        self.threads[thread].proven.forget();
        if let Some(transaction) = pending.last {
            let undelivered = self.delivery_record(transaction);
            self.log_unwritten(thread, &undelivered, fault);
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
        let CopyOut { then, address: ClaimedAddr(address), bytes } = copy_out;
        let key = match then {
            AfterCopyOut::GoesOn(key) => key,
            AfterCopyOut::IsOver(end) => {
                self.check_lives(end.thread)?;
                request.read_consumed += bytes.len() as u64;
                self.keep_memory(bytes);
                return Ok(Outcome::Done);
            }
        };
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
            self.note_receipt(thread, transaction);
        }
        self.keep_memory(bytes);
        self.conclude(thread, Ok(Outcome::Done))
    }

    /// Undoes the end of a call whose returns could not be written where others were before.
    fn undo_copy_out(
        &mut self,
        end: FinalCopyOut,
        bytes: &[u8],
        fault: CopyFault,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<Outcome, Errno> {
        let FinalCopyOut { thread, delivered, asks_for_thread } = end;
        self.check_lives(thread)?;
        let state = &mut self.threads[thread];
        state.proven.forget();
        let last = state.delivered.take_if(|it| Some(it.record.trace.id) == delivered);
        let process = &mut self.processes[state.process];
        process.counters.uncount_returns(bytes);
        if asks_for_thread {
            process.has_requested_thread = false;
        }
        if let Some(Delivered { transaction, record }) = last {
            self.log_unwritten(thread, &record, fault);
            self.undo_delivery(thread, transaction, &record, memory);
        }
        Err(fault.into())
    }

    /// Whether the thread of a call that the front end goes on with is there still.
    fn check_lives(&self, thread: ThreadKey) -> Result<(), Errno> {
        let state = self.threads.get(thread).ok_or(Errno::EINVAL)?;
        if self.processes[state.process].is_open() { Ok(()) } else { Err(Errno::EINVAL) }
    }

    /// Takes a transaction back that its receiver did not get: a call fails, and all others are dropped.
    fn undo_delivery(
        &mut self,
        thread: ThreadKey,
        transaction: TransactionKey,
        record: &DeliveryRecord,
        memory: &mut dyn ReceiveBuffers,
    ) {
        let process = self.threads[thread].process;
        if record.kind == TransactionKind::Call {
            let state = &mut self.threads[thread];
            if state.stack != Some(transaction) {
                // Its thread has answered it meanwhile, by another door.
                return;
            }
            state.stack = self.transactions[transaction].to_parent.take();
            self.fail_call(transaction, Verdict::Failed);
        }
        let mapping = self.processes[process].mapping.as_ref();
        if let (Some(mapping), Some(start)) = (mapping, record.buffer)
            && mapping.get(start).is_some_and(|buffer| buffer.debug_id == record.trace.id)
        {
            self.free_buffer(process, start, memory);
        }
    }

    fn log_unwritten(&mut self, thread: ThreadKey, undelivered: &DeliveryRecord, fault: CopyFault) {
        let reason = "the receiver's read buffer is out of reach";
        self.log_undelivered(thread, undelivered, Errno::from(fault).number(), reason);
    }

    /// Takes what depends on whether a thread gets its returns.
    fn take_pending_copy_out(
        &mut self,
        key: SuspendedCallKey,
    ) -> Result<(ThreadKey, PendingCopyOut), Errno> {
        let SuspendedCall { thread, then } = self.take_suspended_call(key)?;
        if let Resumption::CopyOut(pending) = then {
            return Ok((thread, pending));
        }
        debug_assert!(false, "nothing else has such a key");
        Err(Errno::EINVAL)
    }

    /// How many bytes of a read can be written, as far as is known.
    pub(crate) fn proven_len(&self, thread: ThreadKey, request: &BinderWriteRead) -> usize {
        let ClaimedAddr(address) = start_of(request);
        usize::try_from(self.threads[thread].proven.len_at(address)).unwrap_or(usize::MAX)
    }

    /// Keeps the memory of returns for the next.
    pub fn keep_memory(&mut self, mut bytes: Vec<u8>) {
        if self.spare_returns.len() < KEPT_RETURNS {
            bytes.clear();
            self.spare_returns.push(bytes);
        }
    }

    /// Notes that a thread has read a transaction.
    fn note_receipt(&mut self, thread: ThreadKey, transaction: TransactionKey) {
        if self.journal.is_traced() {
            self.trace_receipt(thread, transaction);
        }
        self.note_delivery(thread, transaction);
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
