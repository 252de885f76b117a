//! The end of threads, and what becomes of their unfinished business.
//!
//! A thread may leave a hundred thousand notices. It is gone at once; those go a slice at a time.

use crate::account::Resource;
use crate::context::Context;
use crate::env::ReceiveBuffers;
use crate::error::Verdict;
use crate::process::ProcessKey;
use crate::thread::{Thread, ThreadKey};
use crate::transaction::{Transaction, TransactionKey, TransactionKind};
use crate::work::Work;

impl Context {
    /// Whether the end of a thread would concern others: it serves a call, or has been handed one.
    pub fn is_depended_on(&self, process: ProcessKey, tid: u32) -> bool {
        let threads = self.processes.get(process).map(|state| &state.threads);
        let Some(thread) = threads.and_then(|threads| threads.get(&tid)).copied() else {
            return false;
        };
        let state = &self.threads[thread];
        let serves = |top| self.transactions[top].to_thread == Some(thread);
        state.stack.is_some_and(serves) || state.todo.has_transactions()
    }

    /// Forgets the thread; a later call from the same tid starts afresh.
    ///
    /// Callers that it serves get `BR_DEAD_REPLY`, and work that another thread can do goes back to
    /// the process. Differs from Linux, where that work is lost or its buffer leaks: an unread
    /// one-way is put back at the head of the process's queue, and a notice about a node follows it.
    pub(crate) fn remove_thread(&mut self, thread: ThreadKey, memory: &mut dyn ReceiveBuffers) {
        self.wind_up_thread(thread, memory);
        let Thread { process, tid, .. } = self.threads[thread];
        let state = &mut self.processes[process];
        state.threads.remove(&tid);
        state.latest_caller = None;
        if !self.end_thread(thread, memory) {
            self.processes[process].ending_threads.push(thread);
            self.with_ending_threads.push_back(process);
        }
    }

    /// Goes on with the threads of a process that are gone and have left long queues. Says whether that was
    /// all.
    pub(crate) fn end_threads(
        &mut self,
        process: ProcessKey,
        memory: &mut dyn ReceiveBuffers,
    ) -> bool {
        while let Some(state) = self.processes.get(process)
            && let Some(thread) = state.ending_threads.last().copied()
        {
            if !self.end_thread(thread, memory) {
                return false;
            }
            self.processes[process].ending_threads.pop();
        }
        true
    }

    /// Deals with the queue of a thread that is gone, as far as the slice has room, and then forgets it. Says
    /// whether that was all.
    fn end_thread(&mut self, thread: ThreadKey, memory: &mut dyn ReceiveBuffers) -> bool {
        while !self.threads[thread].todo.is_empty() {
            if !self.slice.has_room() {
                return false;
            }
            self.slice.spend(1);
            self.drop_own_work(thread, memory);
        }
        let process = self.threads[thread].process;
        self.holdings_of(process)[Resource::Threads] -= 1;
        self.threads.remove(thread);
        true
    }

    /// Ends all that the thread is at. What waits for it is still to be dealt with.
    fn wind_up_thread(&mut self, thread: ThreadKey, memory: &mut dyn ReceiveBuffers) {
        self.unpark(thread);
        self.abandon_suspended_call(thread, memory);
        self.abandon_unfinished(thread, memory);
        let state = &mut self.threads[thread];
        if core::mem::take(&mut state.polls) {
            self.processes[state.process].pollers -= 1;
        }
        self.abandon_stack(thread);
    }

    /// Deals with the next item of the queue of a thread that ends.
    fn drop_own_work(&mut self, thread: ThreadKey, memory: &mut dyn ReceiveBuffers) {
        let process = self.threads[thread].process;
        let Some(work) = self.take_own_work(thread) else { return };
        match work {
            Work::Transaction(transaction) => self.return_unread(process, transaction, memory),
            Work::Node(node) => {
                let queued = self.queue_on_process(process, work);
                self.nodes[node].queued = Some(queued);
            }
            Work::Death(death) => self.drop_death(death),
            Work::Freeze(link) => self.drop_freeze(link),
            Work::TransactionComplete
            | Work::OnewaySpamSuspect
            | Work::TransactionPendingFrozen
            | Work::ReturnError
            | Work::ReplyError => {}
        }
    }

    /// Ends what the thread was doing: it will not serve its calls, nor read the replies to its own.
    ///
    /// Only the innermost call is answered now if the thread was serving it. A call further out is
    /// answered when the one that the thread had made itself comes back and finds the thread gone.
    fn abandon_stack(&mut self, thread: ThreadKey) {
        let top = self.threads[thread].stack.take();
        let served = top.filter(|top| self.transactions[*top].to_thread == Some(thread));
        let (mut next, mut outermost) = (top, None);
        while let Some(transaction) = next {
            if self.transactions[transaction].to_thread == Some(thread) {
                self.leave_receiver(transaction);
                outermost = Some(transaction);
                let state = &mut self.transactions[transaction];
                state.to_thread = None;
                next = state.to_parent.take();
            } else {
                let state = &mut self.transactions[transaction];
                state.from = None;
                next = state.from_parent;
            }
        }
        if let Some(outermost) = outermost {
            self.restore_priority(thread, outermost);
        }
        if let Some(served) = served {
            self.fail_call(served, Verdict::Dead);
        }
    }

    /// Deals with a transaction that a leaving thread was handed and has not read.
    fn return_unread(
        &mut self,
        process: ProcessKey,
        transaction: TransactionKey,
        memory: &mut dyn ReceiveBuffers,
    ) {
        match self.transactions[transaction].kind {
            TransactionKind::Oneway => {
                self.requeue_on_process(process, Work::Transaction(transaction));
            }
            TransactionKind::Call | TransactionKind::Reply => {
                self.discard_undelivered(transaction, Verdict::Dead, memory);
            }
        }
    }

    /// Drops a transaction that its receiver will not see, and its buffer. Only a call's sender is
    /// told.
    pub(crate) fn discard_undelivered(
        &mut self,
        transaction: TransactionKey,
        verdict: Verdict,
        memory: &mut dyn ReceiveBuffers,
    ) {
        let Transaction { kind, buffer, to_process, .. } = self.transactions[transaction];
        match kind {
            TransactionKind::Call => self.fail_call(transaction, verdict),
            TransactionKind::Oneway | TransactionKind::Reply => {
                self.end_transaction(transaction);
            }
        }
        if let (Some(start), Some(process)) = (buffer, to_process) {
            self.free_buffer(process, start, memory);
        }
    }
}
