//! All that a read can deliver, and the queues it waits in.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::account::Resource;
use crate::context::Context;
use crate::death::DeathKey;
use crate::freeze_links::FreezeKey;
use crate::node::NodeKey;
use crate::process::ProcessKey;
use crate::thread::ThreadKey;
use crate::transaction::{TransactionKey, TransactionKind};

/// One item of a todo list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Work {
    /// A call, one-way or reply to deliver.
    Transaction(TransactionKey),
    /// The thread's own call, one-way or reply was accepted.
    TransactionComplete,
    /// The same, and the receiver has more unread one-ways of this sender than is healthy.
    OnewaySpamSuspect,
    /// The thread's own one-way was accepted, and waits for a frozen receiver.
    TransactionPendingFrozen,
    /// The thread's `return_error` slot holds a code.
    ReturnError,
    /// The thread's `reply_error` slot holds a code.
    ReplyError,
    /// The owner of a node may be owed a notice about references.
    Node(NodeKey),
    /// A death link has something to tell.
    Death(DeathKey),
    /// A freeze link has something to tell.
    Freeze(FreezeKey),
}

impl Work {
    /// Whether it tells a thread that what it has sent was accepted.
    pub(crate) fn is_completion(self) -> bool {
        match self {
            Self::TransactionComplete
            | Self::OnewaySpamSuspect
            | Self::TransactionPendingFrozen => true,
            Self::Transaction(_)
            | Self::ReturnError
            | Self::ReplyError
            | Self::Node(_)
            | Self::Death(_)
            | Self::Freeze(_) => false,
        }
    }
}

/// Whose todo list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum QueueOf {
    Thread(ThreadKey),
    Process(ProcessKey),
}

/// The place of one item, so that it can be taken out of the middle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct QueuedWork {
    pub(crate) on: QueueOf,
    ticket: i64,
}

/// Room for this many items stays when the last has gone.
const KEPT_ENTRIES: usize = 64;

/// A todo list: first in, first out, with removal from the middle.
///
/// Entries are sorted by ticket. A removed entry stays as an empty one until it reaches an end or
/// half of the entries are empty; so every operation takes amortised constant or logarithmic time.
#[derive(Debug, Default)]
pub(crate) struct WorkQueue {
    entries: VecDeque<TodoEntry>,
    live: TodoCounts,
    next_ticket: i64,
    front_ticket: i64,
}

/// One place of a todo list.
#[derive(Clone, Copy, Debug)]
struct TodoEntry {
    ticket: i64,
    work: Option<Work>,
    /// It is, or was, a transaction whose sender waits for a reply.
    is_call: bool,
}

/// How many items there are, and how many of them are transactions, and calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct TodoCounts {
    all: usize,
    transactions: usize,
    calls: usize,
}

impl TodoCounts {
    fn add(&mut self, entry: TodoEntry) {
        let Self { all, transactions, calls } = self;
        *all += 1;
        *transactions += usize::from(matches!(entry.work, Some(Work::Transaction(_))));
        *calls += usize::from(entry.is_call);
    }

    fn take(&mut self, entry: TodoEntry) {
        let Self { all, transactions, calls } = self;
        *all -= 1;
        *transactions -= usize::from(matches!(entry.work, Some(Work::Transaction(_))));
        *calls -= usize::from(entry.is_call);
    }
}

impl WorkQueue {
    pub(crate) fn is_empty(&self) -> bool {
        self.live.all == 0
    }

    pub(crate) fn len(&self) -> usize {
        self.live.all
    }

    /// The number of its first item, and that which the next one gets that is put to its end. An item that has come to its front
    /// has a lower one than all.
    pub(crate) fn tickets(&self) -> [i64; 2] {
        let next = self.next_ticket;
        // The first entry is never an empty one.
        [self.entries.front().map_or(next, |first| first.ticket), next]
    }

    /// Whether a call, one-way or reply waits.
    pub(crate) fn has_transactions(&self) -> bool {
        self.live.transactions > 0
    }

    /// Whether a call waits.
    pub(crate) fn has_calls(&self) -> bool {
        self.live.calls > 0
    }

    /// The next item, left in place.
    pub(crate) fn front(&self) -> Option<Work> {
        self.entries.front().and_then(|entry| entry.work)
    }

    /// The first item behind the one with this ticket, and its own.
    pub(crate) fn after(&self, last: Option<i64>) -> Option<(i64, Work)> {
        let start = last.map_or(0, |last| self.entries.partition_point(|it| it.ticket <= last));
        let mut behind = self.entries.range(start..);
        behind.find_map(|entry| Some((entry.ticket, entry.work?)))
    }

    fn push_back(&mut self, work: Work, is_call: bool) -> i64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        let entry = TodoEntry { ticket, work: Some(work), is_call };
        self.entries.push_back(entry);
        self.live.add(entry);
        ticket
    }

    fn push_front(&mut self, work: Work, is_call: bool) -> i64 {
        self.front_ticket -= 1;
        let entry = TodoEntry { ticket: self.front_ticket, work: Some(work), is_call };
        self.entries.push_front(entry);
        self.live.add(entry);
        self.front_ticket
    }

    pub(crate) fn pop_front(&mut self) -> Option<Work> {
        let entry = self.entries.pop_front()?;
        self.live.take(entry);
        self.trim_front();
        entry.work
    }

    /// Keeps a live entry in front, and no memory of a burst behind the last.
    fn trim_front(&mut self) {
        while self.entries.front().is_some_and(|entry| entry.work.is_none()) {
            self.entries.pop_front();
        }
        if self.entries.is_empty() && self.entries.capacity() > KEPT_ENTRIES {
            self.entries = VecDeque::new();
        }
    }

    /// Takes out the first transactions, `most` of them, and leaves the rest in order.
    pub(crate) fn take_transactions(&mut self, most: usize) -> Vec<TransactionKey> {
        let mut taken = Vec::new();
        for entry in &mut self.entries {
            if taken.len() == most {
                break;
            }
            if let Some(Work::Transaction(transaction)) = entry.work {
                self.live.take(*entry);
                entry.work = None;
                taken.push(transaction);
            }
        }
        self.tidy();
        taken
    }

    fn remove(&mut self, ticket: i64) -> Option<Work> {
        let at = self.entries.binary_search_by_key(&ticket, |entry| entry.ticket).ok()?;
        let entry = self.entries[at];
        let work = entry.work?;
        self.live.take(entry);
        self.entries[at].work = None;
        self.tidy();
        Some(work)
    }

    /// Forgets empty entries at the ends, and all of them if they are many.
    fn tidy(&mut self) {
        while self.entries.back().is_some_and(|entry| entry.work.is_none()) {
            self.entries.pop_back();
        }
        self.trim_front();
        if self.entries.len() > 2 * self.live.all + 16 {
            self.entries.retain(|entry| entry.work.is_some());
        }
    }
}

impl Context {
    fn queue_mut(&mut self, on: QueueOf) -> &mut WorkQueue {
        match on {
            QueueOf::Thread(thread) => &mut self.threads[thread].todo,
            QueueOf::Process(process) => &mut self.processes[process].todo,
        }
    }

    /// Whether it is a transaction whose sender waits for a reply.
    fn is_call(&self, work: Work) -> bool {
        matches!(work, Work::Transaction(key) if self.transactions[key].kind == TransactionKind::Call)
    }

    /// Queues an item that makes a read of `thread` return, and wakes it.
    pub(crate) fn queue_on_thread(&mut self, thread: ThreadKey, work: Work) -> QueuedWork {
        let queued = self.queue_deferred(thread, work);
        self.threads[thread].has_urgent_work = true;
        self.wake_thread(thread);
        queued
    }

    /// Queues an item that rides along with the next one that makes a read return.
    pub(crate) fn queue_deferred(&mut self, thread: ThreadKey, work: Work) -> QueuedWork {
        if work.is_completion() {
            self.completions = self.completions.wrapping_add(1);
            self.count(self.threads[thread].process, Resource::Unread);
        }
        let is_call = self.is_call(work);
        let ticket = self.threads[thread].todo.push_back(work, is_call);
        QueuedWork { on: QueueOf::Thread(thread), ticket }
    }

    /// Queues an item for any thread of the process, and wakes one.
    pub(crate) fn queue_on_process(&mut self, process: ProcessKey, work: Work) -> QueuedWork {
        let is_call = self.is_call(work);
        let ticket = self.processes[process].todo.push_back(work, is_call);
        self.wake_for_process_work(process);
        QueuedWork { on: QueueOf::Process(process), ticket }
    }

    /// Puts back an item that no thread of the process has seen, ahead of all others.
    pub(crate) fn requeue_on_process(&mut self, process: ProcessKey, work: Work) -> QueuedWork {
        let is_call = self.is_call(work);
        let ticket = self.processes[process].todo.push_front(work, is_call);
        self.wake_for_process_work(process);
        QueuedWork { on: QueueOf::Process(process), ticket }
    }

    /// Takes the first item of a thread's own queue.
    pub(crate) fn take_own_work(&mut self, thread: ThreadKey) -> Option<Work> {
        let state = &mut self.threads[thread];
        let work = state.todo.pop_front();
        state.note_taken_work();
        let process = state.process;
        if work.is_some_and(Work::is_completion) {
            self.uncount(process, Resource::Unread);
        }
        work
    }

    /// Takes an item back out of its queue, unless a reader has taken it already.
    pub(crate) fn unqueue(&mut self, queued: QueuedWork) {
        self.queue_mut(queued.on).remove(queued.ticket);
        if let QueueOf::Thread(thread) = queued.on {
            self.threads[thread].note_taken_work();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_leave_in_order_also_after_one_was_taken_from_the_middle() {
        let mut queue = WorkQueue::default();
        queue.push_back(Work::ReturnError, false);
        let middle = queue.push_back(Work::ReplyError, false);
        queue.push_back(Work::TransactionComplete, false);
        queue.push_front(Work::OnewaySpamSuspect, false);
        assert_eq!(queue.remove(middle), Some(Work::ReplyError));
        assert_eq!(queue.remove(middle), None);
        assert_eq!(queue.len(), 3);
        let order: Vec<_> = core::iter::from_fn(|| queue.pop_front()).collect();
        assert_eq!(order, [Work::OnewaySpamSuspect, Work::ReturnError, Work::TransactionComplete]);
        assert!(queue.is_empty());
    }

    #[test]
    fn numbers_tell_what_has_left() {
        let mut queue = WorkQueue::default();
        assert_eq!(queue.tickets(), [0, 0]);
        let first = queue.push_back(Work::ReturnError, false);
        queue.push_back(Work::ReplyError, false);
        assert_eq!(queue.tickets(), [0, 2]);
        queue.remove(first);
        assert_eq!(queue.tickets(), [1, 2]);
        // What comes to its front is before all that were there.
        queue.push_front(Work::OnewaySpamSuspect, false);
        assert_eq!(queue.tickets(), [-1, 2]);
        while queue.pop_front().is_some() {}
        assert_eq!(queue.tickets(), [2, 2]);
    }

    #[test]
    fn a_burst_leaves_no_memory_behind() {
        let mut queue = WorkQueue::default();
        for _ in 0..10 * KEPT_ENTRIES {
            queue.push_back(Work::TransactionComplete, false);
        }
        while queue.pop_front().is_some() {}
        assert_eq!(queue.entries.capacity(), 0);
    }

    #[test]
    fn churn_behind_a_waiting_item_does_not_grow_the_queue() {
        let mut queue = WorkQueue::default();
        queue.push_back(Work::ReturnError, false);
        let mut last = queue.push_back(Work::ReplyError, false);
        for _ in 0..10_000 {
            let next = queue.push_back(Work::ReplyError, false);
            queue.remove(last);
            last = next;
        }
        assert_eq!(queue.len(), 2);
        assert!(queue.entries.len() < 32);
    }

    #[test]
    fn a_queue_knows_what_it_holds_however_items_leave() {
        let call = Work::Transaction(TransactionKey::MIN);
        let knows = |queue: &WorkQueue| (queue.len(), queue.has_transactions(), queue.has_calls());
        let mut queue = WorkQueue::default();
        queue.push_back(Work::ReturnError, false);
        assert_eq!(knows(&queue), (1, false, false));
        let middle = queue.push_back(call, true);
        queue.push_back(call, false);
        assert_eq!(knows(&queue), (3, true, true));
        queue.remove(middle);
        assert_eq!(knows(&queue), (2, true, false));
        queue.push_front(call, true);
        queue.pop_front();
        assert_eq!(knows(&queue), (2, true, false));
        queue.push_back(call, true);
        assert_eq!(queue.take_transactions(1).len(), 1);
        assert_eq!(knows(&queue), (2, true, true));
        assert_eq!(queue.take_transactions(9).len(), 1);
        assert_eq!(knows(&queue), (1, false, false));
    }
}
