//! Calls that reached their server without the driver, and become the driver's while they are served.

use binder_uapi::{BC_TRANSACTION, BR_TRANSACTION, BinderTransactionData, BinderTransactionDataSg};

use crate::context::{Caller, Context};
use crate::error::Errno;
use crate::lane::LaneTarget;
use crate::node::Strength;
use crate::process::ProcessKey;
use crate::thread::{Thread, ThreadKey, no_error};
use crate::transaction::{Transaction, TransactionKind};
use crate::work::Work;

/// A call that a thread serves and the driver has not heard of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DirectCall {
    /// The thread that waits for the reply; `None` once it is gone.
    pub from: Option<Caller>,
    /// The object that it has called, which is held for as long as the call is under way.
    pub target: LaneTarget,
    /// The handle that it has called, and that may be given back by now.
    pub handle: u32,
    /// The call's code.
    pub code: u32,
    /// The call's flags.
    pub flags: u32,
    /// The thread of the object's owner that serves it.
    pub server_tid: u32,
}

impl Context {
    /// Takes a call over, as if it had been sent here, and its server had read it and freed its buffer. The caller reads a
    /// completion and the reply, the server is on the stack of threads that wait for each other, and the end of either is the other's.
    /// A call whose caller is gone is as one whose caller has ended since it was read: its server may call others, and its reply, whatever
    /// that holds, is complete and goes nowhere. The server is charged for it.
    ///
    /// The call is under way, so no limit keeps it from being counted, and no freeze, and it needs the caller's handle no more. That
    /// claim may be a lie: the threads must exist and be in no other call.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the object is gone, or a file is closed; `EPROTO` if there is no such thread, or it is in another call.
    /// Nothing has changed then.
    pub fn adopt_call(&mut self, call: &DirectCall) -> Result<(), Errno> {
        let DirectCall { from, target, handle, code, flags, server_tid } = *call;
        let server = target.server;
        if self.nodes.get(target.node).and_then(|node| node.owner) != Some(server) {
            return Err(Errno::EINVAL);
        }
        let thread = from.map(|from| self.thread_in_no_call(from.process, from.tid)).transpose()?;
        let server_thread = self.thread_in_no_call(server, server_tid)?;

        if let Some(thread) = thread {
            let id = self.sequences.next_debug_id();
            self.threads[thread].extended_error = no_error(id);
            let transaction_data =
                BinderTransactionData { target: handle.into(), code, flags, ..Default::default() };
            let data = BinderTransactionDataSg { transaction_data, ..Default::default() };
            self.log_send(id, TransactionKind::Call, thread, &data);
            self.log_target(server, Some(server_thread), Some(target.node));
        }
        // Its server sleeps in no read: it serves.
        self.unpark(server_thread);
        let transaction = self.begin_transaction(Transaction {
            trace: self.trace(),
            kind: TransactionKind::Call,
            sender: from.map_or(server, |from| from.process),
            from: thread,
            from_parent: None,
            to_process: Some(server),
            to_thread: Some(server_thread),
            to_parent: None,
            code,
            flags,
            sender_euid: from.map_or(u32::MAX, |from| from.euid),
            priority: thread.and_then(|thread| self.threads[thread].priority),
            replaced_priority: None,
            buffer: None,
            held_target: Some(target.node),
        });
        self.hold_locally(target.node, Strength::Strong);
        self.processes[server].counters.count_return(BR_TRANSACTION);
        self.threads[server_thread].stack = Some(transaction);
        if let Some((from, thread)) = from.zip(thread) {
            self.processes[from.process].counters.count_command(BC_TRANSACTION);
            self.threads[thread].stack = Some(transaction);
            self.queue_deferred(thread, Work::TransactionComplete);
            self.conclude_send(thread, Ok(()));
        }
        if self.journal.is_traced() {
            self.trace_receipt(server_thread, transaction);
        }
        Ok(())
    }

    /// A thread that neither waits for a reply nor serves a call, nor has one to read.
    fn thread_in_no_call(&self, process: ProcessKey, tid: u32) -> Result<ThreadKey, Errno> {
        let state = self.processes.get(process).filter(|state| state.is_open());
        let thread = *state.ok_or(Errno::EINVAL)?.threads.get(&tid).ok_or(Errno::EPROTO)?;
        let Thread { stack, todo, suspended_call, unfinished, .. } = &self.threads[thread];
        let is_in_call = stack.is_some()
            || todo.has_transactions()
            || suspended_call.is_some()
            || unfinished.is_some();
        if is_in_call { Err(Errno::EPROTO) } else { Ok(thread) }
    }
}
