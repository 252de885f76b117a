//! Calls and one-ways: their receiver, their buffer, their queue.

use alloc::vec::Vec;

use binder_uapi::{
    BR_ONEWAY_SPAM_SUSPECT, BR_TRANSACTION_PENDING_FROZEN, BinderTransactionDataSg, TF_CLEAR_BUF,
    TF_ONE_WAY,
};

use crate::buffer::{Buffer, BufferReservation, Sizes};
use crate::context::{Caller, Context};
use crate::env::ReceiveBuffers;
use crate::error::{Errno, Refusal};
use crate::fetch::{NextSend, Payload};
use crate::image::ObjectResources;
use crate::journal::Trace;
use crate::node::{NodeKey, Strength};
use crate::priority::Priority;
use crate::process::ProcessKey;
use crate::table::Key;
use crate::thread::{ThreadKey, no_error};
use crate::translate::{Filled, Filling};
use crate::unfinished::{Built, PartialBuffer, UnfinishedSend};
use crate::work::Work;

/// Names a transaction.
pub(crate) type TransactionKey = Key<Transaction>;

/// The kind of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransactionKind {
    /// Its sender waits for a reply.
    Call,
    /// Its sender does not wait.
    Oneway,
    /// The answer to a call.
    Reply,
}

impl TransactionKind {
    /// The kind of what `BC_TRANSACTION` sends.
    pub(crate) fn of_send(data: &BinderTransactionDataSg) -> Self {
        let is_oneway = data.transaction_data.flags & TF_ONE_WAY != 0;
        if is_oneway { Self::Oneway } else { Self::Call }
    }
}

/// A call, one-way or reply on its way, or a call that is being served.
#[derive(Debug)]
pub(crate) struct Transaction {
    pub(crate) trace: Trace,
    pub(crate) kind: TransactionKind,
    /// The process that is charged for it.
    pub(crate) sender: ProcessKey,
    /// The thread that waits for the reply; `None` once it is gone, and if none waits.
    pub(crate) from: Option<ThreadKey>,
    /// What that thread was doing when it sent this.
    pub(crate) from_parent: Option<TransactionKey>,
    /// The receiver; `None` once it is gone.
    pub(crate) to_process: Option<ProcessKey>,
    /// The thread that serves it.
    pub(crate) to_thread: Option<ThreadKey>,
    /// What that thread was doing when it took this.
    pub(crate) to_parent: Option<TransactionKey>,
    pub(crate) code: u32,
    pub(crate) flags: u32,
    pub(crate) sender_euid: u32,
    /// The priority of the sender.
    pub(crate) priority: Option<Priority>,
    /// The priority of the thread that serves it, before it did.
    pub(crate) replaced_priority: Option<Priority>,
    /// Start of its buffer in the receiver's mapping; `None` once freed.
    pub(crate) buffer: Option<u32>,
    /// The object that it holds itself, since it has no buffer that does.
    pub(crate) held_target: Option<NodeKey>,
}

/// The handle that a call or one-way goes to.
pub(crate) fn handle_of(data: &BinderTransactionDataSg) -> u32 {
    // The target field is a union: a handle is its low half.
    #[expect(clippy::cast_possible_truncation, reason = "the low half is meant")]
    let handle = data.transaction_data.target as u32;
    handle
}

/// Where a call or one-way goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendTarget {
    pub(crate) node: NodeKey,
    pub(crate) owner: ProcessKey,
    /// The thread of the owner that waits in the same chain of calls.
    pub(crate) thread: Option<ThreadKey>,
}

/// What a buffer is built from, and for whom.
pub(crate) struct Draft<'a> {
    pub(crate) sender: ProcessKey,
    pub(crate) thread: ThreadKey,
    pub(crate) receiver: ProcessKey,
    /// The node it is addressed to; none for a reply.
    pub(crate) target: Option<NodeKey>,
    pub(crate) data: &'a BinderTransactionDataSg,
    pub(crate) is_oneway: bool,
    /// Whether its receiver is prepared for file descriptors.
    pub(crate) accepts_fds: bool,
}

impl Context {
    /// Handles `BC_TRANSACTION`: afterwards the sender is owed a completion or an error.
    pub(crate) fn transact(
        &mut self,
        caller: &Caller,
        thread: ThreadKey,
        send: &NextSend,
        target: Result<SendTarget, Refusal>,
        payload: &mut Payload,
        memory: &mut dyn ReceiveBuffers,
    ) {
        let id = self.sequences.next_debug_id();
        self.threads[thread].extended_error = no_error(id);
        self.log_send(id, send.kind, thread, &send.data);
        let sent = target
            .and_then(|target| self.try_transact(caller, thread, send, target, payload, memory));
        match sent {
            Ok(None) => self.conclude_send(thread, Ok(())),
            Ok(Some(send)) => self.suspend_send(thread, send),
            Err(refusal) => self.conclude_send(thread, Err(refusal)),
        }
    }

    /// Notes how a send has ended, and tells the sender if it was refused.
    pub(crate) fn conclude_send(&mut self, thread: ThreadKey, sent: Result<(), Refusal>) {
        match sent {
            Ok(()) => self.journal.accept(),
            Err(refusal) => {
                let id = self.trace().id;
                self.journal.refuse(refusal);
                self.refuse_send(thread, id, refusal);
            }
        }
        if self.journal.is_traced() {
            self.trace_send(thread, None);
        }
    }

    /// Sends what `BC_TRANSACTION` asks for, unless that takes more than a slice.
    fn try_transact(
        &mut self,
        caller: &Caller,
        thread: ThreadKey,
        send: &NextSend,
        mut target: SendTarget,
        payload: &mut Payload,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<Option<UnfinishedSend>, Refusal> {
        let NextSend { kind, ref data, .. } = *send;
        self.log_target(target.owner, None, Some(target.node));
        self.check_completion_quota(thread)?;
        self.check_sender(thread, kind, &mut target)?;
        if target.thread.is_some() {
            self.log_target(target.owner, target.thread, Some(target.node));
        }
        let accepts_fds = self.nodes[target.node].accepts_fds;
        let draft = Draft {
            sender: caller.process,
            thread,
            receiver: target.owner,
            target: Some(target.node),
            data,
            is_oneway: kind == TransactionKind::Oneway,
            accepts_fds,
        };
        match self.build_buffer(&draft, payload, memory)? {
            Built::Whole(buffer) => {
                self.send_built(caller, &draft, &target, buffer, memory)?;
                Ok(None)
            }
            Built::Partly(partial) => {
                Ok(Some(UnfinishedSend::new(kind, &draft, Some(target), partial)))
            }
        }
    }

    /// Checks whether the thread may send this now, and finds out which thread waits for it at the
    /// target.
    ///
    /// # Errors
    ///
    /// `ENOMEM` when a limit is met; as [`thread_in_chain`](Self::thread_in_chain).
    pub(crate) fn check_sender(
        &mut self,
        thread: ThreadKey,
        kind: TransactionKind,
        target: &mut SendTarget,
    ) -> Result<(), Errno> {
        self.check_transaction_quota(self.threads[thread].process, kind)?;
        if kind == TransactionKind::Call {
            target.thread = self.thread_in_chain(thread, target.owner)?;
        }
        Ok(())
    }

    /// Sends a call or one-way whose buffer is built.
    ///
    /// # Errors
    ///
    /// A frozen process takes no calls; the buffer is dropped then.
    pub(crate) fn send_built(
        &mut self,
        caller: &Caller,
        draft: &Draft<'_>,
        target: &SendTarget,
        buffer: u32,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<(), Refusal> {
        let Draft { thread, data, is_oneway, .. } = *draft;
        let header = &data.transaction_data;
        let is_frozen = match self.note_arrival(target.owner, is_oneway) {
            Ok(is_frozen) => is_frozen,
            Err(refusal) => {
                self.drop_buffer(target.owner, buffer, memory);
                return Err(refusal);
            }
        };
        let transaction = self.begin_transaction(Transaction {
            kind: if is_oneway { TransactionKind::Oneway } else { TransactionKind::Call },
            sender: caller.process,
            trace: self.trace(),
            from: (!is_oneway).then_some(thread),
            from_parent: if is_oneway { None } else { self.threads[thread].stack },
            to_process: Some(target.owner),
            to_thread: None,
            to_parent: None,
            code: header.code,
            flags: header.flags,
            sender_euid: caller.euid,
            priority: self.threads[thread].priority,
            replaced_priority: None,
            buffer: Some(buffer),
            held_target: None,
        });
        if is_oneway {
            let mut completion = self.completion_of_oneway(caller.process, target.owner);
            if is_frozen {
                completion = Work::TransactionPendingFrozen;
                self.journal.report(BR_TRANSACTION_PENDING_FROZEN);
                self.supersede(target.node, transaction, memory);
            }
            self.send_oneway(target, transaction);
            self.queue_on_thread(thread, completion);
        } else {
            self.threads[thread].stack = Some(transaction);
            self.queue_deferred(thread, Work::TransactionComplete);
            self.queue_transaction(target, transaction);
        }
        Ok(())
    }

    /// Finds where a call or one-way goes; `None` for a reply.
    pub(crate) fn target_of(
        &self,
        sender: ProcessKey,
        send: &NextSend,
    ) -> Option<Result<SendTarget, Refusal>> {
        match send.kind {
            TransactionKind::Call | TransactionKind::Oneway => {
                Some(self.resolve_target(sender, handle_of(&send.data)))
            }
            TransactionKind::Reply => None,
        }
    }

    /// Finds the node that a handle of the sender means.
    pub(crate) fn resolve_target(
        &self,
        sender: ProcessKey,
        handle: u32,
    ) -> Result<SendTarget, Refusal> {
        let node = if handle == 0 {
            self.manager.ok_or(Refusal::dead(Errno::EINVAL))?
        } else {
            let reference = self.strong_reference(sender, handle).ok_or(Errno::EINVAL)?;
            self.references[reference].node
        };
        let owner = self.nodes[node].owner.ok_or(Refusal::dead(Errno::EINVAL))?;
        if !self.processes[owner].is_open() {
            return Err(Refusal::dead(Errno::EINVAL));
        }
        let pid = |process: ProcessKey| self.processes[process].opener.pid.number();
        if owner == sender || (handle == 0 && pid(owner) == pid(sender)) {
            return Err(Errno::EINVAL.into());
        }
        Ok(SendTarget { node, owner, thread: None })
    }

    /// Finds the thread of `owner` that waits, directly or through others, for this very sender.
    ///
    /// # Errors
    ///
    /// `EPROTO` when the sender may not call now: it waits for a reply already, or has a
    /// transaction to read first.
    fn thread_in_chain(
        &self,
        sender: ThreadKey,
        owner: ProcessKey,
    ) -> Result<Option<ThreadKey>, Errno> {
        let state = &self.threads[sender];
        if let Some(Work::Transaction(_)) = state.todo.front() {
            return Err(Errno::EPROTO);
        }
        if let Some(top) = state.stack
            && self.transactions[top].to_thread != Some(sender)
        {
            return Err(Errno::EPROTO);
        }
        let mut next = state.stack;
        while let Some(transaction) = next {
            let transaction = &self.transactions[transaction];
            if let Some(from) = transaction.from
                && self.threads[from].process == owner
            {
                return Ok(Some(from));
            }
            next = transaction.from_parent;
        }
        Ok(None)
    }

    /// Builds the receiver's buffer: room, data, offsets, security context, objects translated. As much
    /// of it as a slice allows.
    ///
    /// A refusal leaves nothing behind.
    pub(crate) fn build_buffer(
        &mut self,
        draft: &Draft<'_>,
        payload: &mut Payload,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<Built, Refusal> {
        let label_len = self.label_len(draft.sender, draft.target);
        let header = &draft.data.transaction_data;
        let sizes = Sizes::of(draft.data, label_len)?;
        let reservation = match payload.reservation.take() {
            Some(key) => self.take_up_reservation(key)?,
            None => self.reserve_paid(draft.receiver, sizes, draft.is_oneway, memory)?,
        };
        if let Some(node) = draft.target {
            self.hold_locally(node, Strength::Strong);
        }
        let mut resources = ObjectResources::default();
        match self.fill_buffer(draft, &reservation, label_len, payload, &mut resources, memory) {
            Ok((label_start, None)) => {
                Ok(Built::Whole(self.commit_buffer(draft, reservation, label_start, resources)))
            }
            Ok((label_start, Some(filling))) => {
                let partial = PartialBuffer { reservation, label_start, filling, resources };
                Ok(Built::Partly(partial.into()))
            }
            Err(cause) => {
                for held in resources.held {
                    self.let_go(draft.receiver, held);
                }
                if let Some(node) = draft.target {
                    self.unhold_locally(node, Strength::Strong);
                }
                if header.flags & TF_CLEAR_BUF != 0 {
                    let layout = reservation.layout;
                    memory.clear(draft.receiver, layout.start, layout.slot_len);
                }
                if let Some(mapping) = &mut self.processes[draft.receiver].mapping {
                    mapping.abort(reservation);
                }
                self.note_idle(draft.receiver);
                Err(cause.into())
            }
        }
    }

    fn fill_buffer(
        &mut self,
        draft: &Draft<'_>,
        reservation: &BufferReservation,
        label_len: u32,
        payload: &mut Payload,
        resources: &mut ObjectResources,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<(Option<u32>, Option<Filling>), Errno> {
        let layout = reservation.layout;
        let receiver = draft.receiver;
        let label_start = (label_len > 0).then_some(layout.start + layout.slot_len - label_len);
        if let Some(label_start) = label_start {
            let mut label = self.processes[draft.sender].opener.security_label.to_vec();
            label.resize(label_len as usize, 0);
            memory.store(receiver, label_start, &label)?;
        }
        let left = match self.fill_data(draft, &layout, payload, resources, memory)? {
            Filled::Whole => {
                memory.publish(receiver, layout.start, layout.slot_len)?;
                None
            }
            Filled::Partly(filling) => Some(filling),
        };
        Ok((label_start, left))
    }

    /// Makes a reservation that was filled a buffer.
    pub(crate) fn commit_buffer(
        &mut self,
        draft: &Draft<'_>,
        reservation: BufferReservation,
        label_start: Option<u32>,
        resources: ObjectResources,
    ) -> u32 {
        let layout = reservation.layout;
        let buffer = Buffer {
            debug_id: self.trace().id,
            layout,
            target: draft.target,
            transaction: None,
            is_oneway: draft.is_oneway,
            clears_on_free: draft.data.transaction_data.flags & TF_CLEAR_BUF != 0,
            label_start,
            is_delivered: false,
            sender_pid: self.processes[draft.sender].opener.pid.number(),
            held: resources.held,
            files: resources.files,
            array_descriptors: Vec::new(),
        };
        if let Some(mapping) = &mut self.processes[draft.receiver].mapping {
            mapping.commit(reservation, buffer);
        }
        layout.start
    }

    /// Bytes that the sender's security label takes in the buffer, with its NUL and padding; 0 if
    /// the node did not ask for labels.
    pub(crate) fn label_len(&self, sender: ProcessKey, target: Option<NodeKey>) -> u32 {
        match target {
            Some(node) if self.nodes[node].wants_security_context => {
                let label = &self.processes[sender].opener.security_label;
                u32::try_from(label.len()).map_or(0, |len| (len + 1).next_multiple_of(8))
            }
            Some(_) | None => 0,
        }
    }

    /// Begins a transaction: its sender pays, its receiver counts it, and its buffer, if it has one, knows it.
    pub(crate) fn begin_transaction(&mut self, transaction: Transaction) -> TransactionKey {
        let Transaction { to_process, buffer, .. } = transaction;
        self.charge(&transaction);
        let transaction = self.transactions.insert(transaction);
        let Some(receiver) = to_process else {
            debug_assert!(false, "a transaction begins with a receiver");
            return transaction;
        };
        self.count_outstanding(receiver);
        if self.journal.is_traced() {
            self.journal.last_sent = Some(transaction);
        }
        let mapping = self.processes[receiver].mapping.as_mut();
        if let (Some(mapping), Some(start)) = (mapping, buffer)
            && let Some(buffer) = mapping.get_mut(start)
        {
            buffer.transaction = Some(transaction);
        }
        transaction
    }

    /// Parts a transaction from its receiver, which is done with it or gone, and from its buffer,
    /// which lives on until the receiver frees it.
    pub(crate) fn leave_receiver(&mut self, transaction: TransactionKey) {
        if let Some(node) = self.transactions[transaction].held_target.take() {
            self.unhold_locally(node, Strength::Strong);
        }
        let state = &mut self.transactions[transaction];
        let start = state.buffer.take();
        let Some(receiver) = state.to_process.take() else { return };
        self.uncount_outstanding(receiver);
        let mapping = self.processes[receiver].mapping.as_mut();
        if let (Some(mapping), Some(start)) = (mapping, start)
            && let Some(buffer) = mapping.get_mut(start)
        {
            buffer.transaction = None;
        }
    }

    /// Ends a transaction. What it was is the caller's to wind up.
    pub(crate) fn end_transaction(&mut self, transaction: TransactionKey) -> Option<Transaction> {
        self.leave_receiver(transaction);
        let ended = self.transactions.remove(transaction)?;
        self.refund(&ended);
        Some(ended)
    }

    /// Queues a transaction: for the thread in the chain, else for the latest idle one, else for
    /// any thread of the owner that comes to read.
    fn queue_transaction(&mut self, target: &SendTarget, transaction: TransactionKey) {
        let work = Work::Transaction(transaction);
        match target.thread.or_else(|| self.latest_waiting_thread(target.owner)) {
            Some(thread) => self.queue_on_thread(thread, work),
            None => self.queue_on_process(target.owner, work),
        };
    }

    /// Queues a one-way, or puts it in line behind the one-way that its node has in flight.
    fn send_oneway(&mut self, target: &SendTarget, transaction: TransactionKey) {
        let node = &mut self.nodes[target.node];
        if node.has_oneway_in_flight {
            self.queue_async(target.node, transaction);
        } else {
            node.has_oneway_in_flight = true;
            self.queue_transaction(target, transaction);
        }
    }

    /// The receiver is done with a one-way: the next in line goes out.
    pub(crate) fn release_next_oneway(&mut self, owner: ProcessKey, node: NodeKey) {
        match self.next_async(node) {
            Some(transaction) => {
                self.queue_on_process(owner, Work::Transaction(transaction));
            }
            None => self.nodes[node].has_oneway_in_flight = false,
        }
    }

    fn completion_of_oneway(&mut self, sender: ProcessKey, receiver: ProcessKey) -> Work {
        let sender_pid = self.processes[sender].opener.pid.number();
        let mapping = self.processes[receiver].mapping.as_mut();
        if mapping.is_some_and(|mapping| mapping.reports_spam(sender_pid)) {
            self.journal.report(BR_ONEWAY_SPAM_SUSPECT);
            Work::OnewaySpamSuspect
        } else {
            Work::TransactionComplete
        }
    }
}
