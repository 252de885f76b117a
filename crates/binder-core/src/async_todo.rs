//! The one-ways of a node that wait for their turn, and those among them whose place a later one
//! takes.
//!
//! A frozen process reads nothing. A sender that marks its one-ways as updates (`TF_UPDATE_TXN`) has
//! the newest wait there instead of an older one that says the same.

use alloc::collections::{BTreeMap, VecDeque};

use binder_uapi::TF_UPDATE_TXN;

use crate::context::Context;
use crate::env::ReceiveBuffers;
use crate::node::NodeKey;
use crate::transaction::{Transaction, TransactionKey};

/// What two updates of the same have in common: code, flags, sender.
type Subject = (u32, u32, u32);

/// One-ways of a node that wait for the one in flight.
#[derive(Debug, Default)]
pub(crate) struct AsyncTodo {
    waiting: VecDeque<TransactionKey>,
    /// Those of them that are updates, oldest first.
    updates: BTreeMap<Subject, VecDeque<TransactionKey>>,
}

impl AsyncTodo {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The first in line behind `last`.
    pub(crate) fn after(&self, last: Option<TransactionKey>) -> Option<TransactionKey> {
        // In the order of their keys, as in `take_update`.
        let start = last.map_or(0, |last| self.waiting.partition_point(|key| *key <= last));
        self.waiting.get(start).copied()
    }

    fn push(&mut self, transaction: TransactionKey, subject: Option<Subject>) {
        self.waiting.push_back(transaction);
        if let Some(subject) = subject {
            self.updates.entry(subject).or_default().push_back(transaction);
        }
    }

    fn pop_update(&mut self, subject: Subject) -> Option<TransactionKey> {
        let updates = self.updates.get_mut(&subject)?;
        let oldest = updates.pop_front();
        if updates.is_empty() {
            self.updates.remove(&subject);
        }
        oldest
    }

    /// Takes the oldest update with this subject out of the line.
    fn take_update(&mut self, subject: Subject) -> Option<TransactionKey> {
        let oldest = self.pop_update(subject)?;
        // Keys are handed out in ascending order, but for one step in 2^32.
        let at = self.waiting.binary_search(&oldest).ok();
        let at = at.or_else(|| self.waiting.iter().position(|waiting| *waiting == oldest))?;
        self.waiting.remove(at)
    }
}

impl Context {
    fn subject_of(&self, transaction: TransactionKey) -> Option<Subject> {
        let Transaction { code, flags, trace, .. } = self.transactions[transaction];
        (flags & TF_UPDATE_TXN != 0).then_some((code, flags, trace.from_pid))
    }

    /// Puts a one-way at the end of its node's line.
    pub(crate) fn queue_async(&mut self, node: NodeKey, transaction: TransactionKey) {
        let subject = self.subject_of(transaction);
        self.nodes[node].async_todo.push(transaction, subject);
    }

    /// Takes the one-way whose turn it is.
    pub(crate) fn next_async(&mut self, node: NodeKey) -> Option<TransactionKey> {
        let next = self.nodes[node].async_todo.waiting.pop_front()?;
        if let Some(subject) = self.subject_of(next) {
            let oldest = self.nodes[node].async_todo.pop_update(subject);
            debug_assert_eq!(oldest, Some(next), "updates leave in the order of the line");
        }
        Some(next)
    }

    /// Drops the oldest one-way in the line that `newer` is an update of. Its sender hears nothing,
    /// and the one that is out stays so.
    pub(crate) fn supersede(
        &mut self,
        node: NodeKey,
        newer: TransactionKey,
        memory: &mut dyn ReceiveBuffers,
    ) {
        let Some(subject) = self.subject_of(newer) else { return };
        let Some(older) = self.nodes[node].async_todo.take_update(subject) else { return };
        let Transaction { to_process, buffer, .. } = self.transactions[older];
        self.end_transaction(older);
        if let (Some(receiver), Some(start)) = (to_process, buffer) {
            self.drop_buffer(receiver, start, memory);
        }
    }
}
