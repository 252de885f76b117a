//! Replies, and what becomes of a call that gets none.

use binder_uapi::{
    BR_OK, BR_TRANSACTION_COMPLETE, BinderExtendedError, BinderTransactionDataSg, TF_ACCEPT_FDS,
};

use crate::context::{Caller, Context};
use crate::env::ReceiveBuffers;
use crate::error::{Errno, Refusal, Verdict};
use crate::fetch::Payload;
use crate::process::ProcessKey;
use crate::thread::{ThreadKey, no_error};
use crate::transaction::{Draft, Transaction, TransactionKey, TransactionKind};
use crate::unfinished::{Built, UnfinishedSend};
use crate::work::Work;

impl Context {
    /// Handles `BC_REPLY`: answers the call that the thread serves.
    ///
    /// Once that call is identified the replier always reads a completion, and the call is over;
    /// a reply that cannot be built becomes an error for the caller.
    pub(crate) fn reply(
        &mut self,
        caller: &Caller,
        thread: ThreadKey,
        data: &BinderTransactionDataSg,
        payload: &mut Payload,
        memory: &mut dyn ReceiveBuffers,
    ) {
        let id = self.sequences.next_debug_id();
        self.threads[thread].extended_error = no_error(id);
        self.log_send(id, TransactionKind::Reply, thread, data);
        let call = match self.take_served_call(thread) {
            Ok(call) => call,
            Err(cause) => {
                let refusal = Refusal::failed(cause);
                self.journal.refuse(refusal);
                if self.journal.is_traced() {
                    self.trace_send(thread, None);
                }
                return self.refuse_send(thread, id, refusal);
            }
        };
        self.restore_priority(thread, call);
        self.log_waiting_caller(call);
        match self.try_reply(caller, thread, call, data, payload, memory) {
            Ok(None) => self.conclude_reply(caller, thread, call, data, Ok(())),
            Ok(Some(send)) => {
                // It is served until it is answered.
                self.threads[thread].stack = Some(call);
                self.suspend_send(thread, send);
            }
            Err(refusal) => self.conclude_reply(caller, thread, call, data, Err(refusal)),
        }
    }

    /// Ends a call that was answered, or could not be: the replier always reads a completion.
    pub(crate) fn conclude_reply(
        &mut self,
        caller: &Caller,
        thread: ThreadKey,
        call: TransactionKey,
        data: &BinderTransactionDataSg,
        result: Result<(), Refusal>,
    ) {
        match result {
            Ok(()) => {
                self.journal.accept();
                self.trace_reply(thread, call);
                self.note_answer(caller, call);
                self.end_transaction(call);
                let replier = &self.threads[thread];
                // One that polls is told of what it has to read, and gains nothing by waiting. One
                // that sent objects holds them until it knows that they have come.
                let has_objects = data.transaction_data.offsets_size != 0;
                if replier.defers_completions && !replier.polls && !has_objects {
                    self.queue_deferred(thread, Work::TransactionComplete);
                } else {
                    self.queue_on_thread(thread, Work::TransactionComplete);
                }
            }
            Err(refusal) => {
                let id = self.trace().id;
                self.journal.refuse(refusal);
                self.trace_reply(thread, call);
                self.threads[thread].return_error = Some(BR_TRANSACTION_COMPLETE);
                self.queue_on_thread(thread, Work::ReturnError);
                if let Some(from) = self.transactions[call].from
                    && self.threads[from].extended_error.command == BR_OK
                {
                    self.threads[from].extended_error = extended_error(id, refusal);
                }
                self.fail_call(call, refusal.verdict);
            }
        }
    }

    /// Notes the answer to a call, if the device is traced.
    fn trace_reply(&mut self, thread: ThreadKey, call: TransactionKey) {
        if self.journal.is_traced() {
            let answered = self.transactions[call].trace.id;
            self.trace_send(thread, Some(answered));
        }
    }

    /// Remembers how long the call took, if it is the longest that the process has served.
    fn note_answer(&mut self, caller: &Caller, call: TransactionKey) {
        let took_ns = self.now_ns.saturating_sub(self.transactions[call].trace.sent_at_ns);
        let longest_ns = &mut self.processes[caller.process].longest_call_ns;
        *longest_ns = took_ns.max(*longest_ns);
    }

    /// Takes the call that the thread serves off its stack.
    pub(crate) fn take_served_call(&mut self, thread: ThreadKey) -> Result<TransactionKey, Errno> {
        let call = self.threads[thread].stack.ok_or(Errno::EPROTO)?;
        let Transaction { to_thread, to_parent, from, .. } = self.transactions[call];
        if to_thread != Some(thread) {
            return Err(Errno::EPROTO);
        }
        debug_assert!(
            from.is_none_or(|from| self.threads[from].stack == Some(call)),
            "a caller waits for its innermost call"
        );
        self.threads[thread].stack = to_parent;
        Ok(call)
    }

    /// The process of the thread that waits for the next reply of this one.
    pub(crate) fn caller_served_by(&self, thread: ThreadKey) -> Option<ProcessKey> {
        let call = &self.transactions[self.threads[thread].stack?];
        let caller = call.from.filter(|_| call.to_thread == Some(thread))?;
        Some(self.threads[caller].process)
    }

    fn try_reply(
        &mut self,
        caller: &Caller,
        thread: ThreadKey,
        call: TransactionKey,
        data: &BinderTransactionDataSg,
        payload: &mut Payload,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<Option<UnfinishedSend>, Refusal> {
        self.check_completion_quota(thread)?;
        let waiting = self.transactions[call].from.ok_or(Refusal::dead(Errno::ESRCH))?;
        let receiver = self.threads[waiting].process;
        let draft = Draft {
            sender: caller.process,
            thread,
            receiver,
            target: None,
            data,
            is_oneway: false,
            accepts_fds: self.transactions[call].flags & TF_ACCEPT_FDS != 0,
        };
        match self.build_buffer(&draft, payload, memory)? {
            Built::Whole(buffer) => {
                self.send_reply(caller, call, waiting, data, buffer);
                Ok(None)
            }
            Built::Partly(partial) => {
                Ok(Some(UnfinishedSend::new(TransactionKind::Reply, &draft, None, partial)))
            }
        }
    }

    /// Sends a reply whose buffer is built to the thread that waits for it.
    pub(crate) fn send_reply(
        &mut self,
        caller: &Caller,
        call: TransactionKey,
        waiting: ThreadKey,
        data: &BinderTransactionDataSg,
        buffer: u32,
    ) {
        let receiver = self.threads[waiting].process;
        let reply = self.begin_transaction(Transaction {
            trace: self.trace(),
            kind: TransactionKind::Reply,
            sender: caller.process,
            from: None,
            from_parent: None,
            to_process: Some(receiver),
            to_thread: Some(waiting),
            to_parent: None,
            code: data.transaction_data.code,
            flags: data.transaction_data.flags,
            sender_euid: caller.euid,
            priority: None,
            replaced_priority: None,
            buffer: Some(buffer),
            held_target: None,
        });
        self.threads[waiting].stack = self.transactions[call].from_parent;
        self.queue_on_thread(waiting, Work::Transaction(reply));
    }

    /// Tells a sender that its transaction was not accepted.
    pub(crate) fn refuse_send(&mut self, thread: ThreadKey, id: u32, refusal: Refusal) {
        let state = &mut self.threads[thread];
        state.extended_error = extended_error(id, refusal);
        state.return_error = Some(refusal.verdict.code());
        self.queue_on_thread(thread, Work::ReturnError);
    }

    /// Ends a call without a reply: its caller, or the nearest one up the chain that lives, is told.
    pub(crate) fn fail_call(&mut self, call: TransactionKey, verdict: Verdict) {
        let mut next = Some(call);
        while let Some(call) = next {
            let Some(Transaction { from, from_parent, trace, .. }) = self.end_transaction(call)
            else {
                return;
            };
            let Some(thread) = from else {
                next = from_parent;
                continue;
            };
            if self.journal.is_traced() {
                self.trace_unanswered(trace.id, thread, verdict.code());
            }
            let state = &mut self.threads[thread];
            state.stack = from_parent;
            // Of two failures that were not read, the first is told.
            if state.reply_error.is_none() {
                state.reply_error = Some(verdict.code());
                self.queue_on_thread(thread, Work::ReplyError);
            }
            return;
        }
    }
}

fn extended_error(id: u32, refusal: Refusal) -> BinderExtendedError {
    let param = refusal.cause.map_or(0, |cause| -cause.number());
    BinderExtendedError { id, command: refusal.verdict.code(), param }
}
