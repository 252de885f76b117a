//! Each object of a device as logs show it, by itself.

use alloc::vec::Vec;

use super::{
    BufferView, NodeView, ObjectCount, ProcessView, ReferenceView, StackEntry, StackSide,
    ThreadView, TransactionView, WorkView,
};
use crate::account::Resource;
use crate::buffer::Buffer;
use crate::context::Context;
use crate::death::QueuedNews;
use crate::handle::ReferenceKey;
use crate::node::{Node, OwnerView};
use crate::process::{Process, ProcessKey};
use crate::thread::{Thread, ThreadKey};
use crate::transaction::TransactionKey;
use crate::waiting::Parked;
use crate::work::Work;

/// A looper bit that only logs have: the thread sleeps in a read.
const LOOPER_WAITING: u8 = 0x10;
/// The same: the thread polls.
const LOOPER_POLLS: u8 = 0x20;

impl Context {
    pub(super) fn count_objects(&self) -> Vec<ObjectCount> {
        let completions = self.users.values().map(|user| user.holdings()[Resource::Unread]).sum();
        [
            ("proc", self.processes.len(), self.processes.total()),
            ("thread", self.threads.len(), self.threads.total()),
            ("node", self.nodes.len(), self.nodes.total()),
            ("ref", self.references.len(), self.references.total()),
            ("death", self.deaths.len(), self.deaths.total()),
            ("transaction", self.transactions.len(), self.transactions.total()),
            ("transaction_complete", completions, self.completions),
            ("freeze", self.freezes.len(), self.freezes.total()),
        ]
        .map(|(name, active, total)| ObjectCount { name, active: active as u64, total })
        .into()
    }

    /// Tells a process, without what it has.
    pub(super) fn view_process(&self, key: ProcessKey, process: &Process) -> ProcessView {
        let mapping = process.mapping.as_ref();
        let pages = mapping.map(|mapping| mapping.page_counts()).unwrap_or_default();
        let area_bytes = mapping.map_or(0, |mapping| mapping.len_bytes());
        ProcessView {
            key,
            pid: process.opener.pid.number(),
            uid: process.opener.uid,
            threads: Vec::new(),
            nodes: Vec::new(),
            references: Vec::new(),
            buffers: Vec::new(),
            todo: Vec::new(),
            has_delivered_deaths: !process.delivered_deaths.is_empty(),
            has_delivered_freezes: process.freeze_links.last_delivered().is_some(),
            max_threads: process.max_threads,
            has_requested_thread: process.has_requested_thread,
            started_threads: process.started_threads,
            ready_threads: process.waiting.len(),
            area_bytes,
            oneway_room: mapping.map_or(0, |mapping| mapping.oneway_room()),
            pages,
            absent_pages: (area_bytes / self.budget.page_bytes())
                .saturating_sub(pages.in_use + pages.idle),
            pages_high_watermark: mapping.map_or(0, |mapping| mapping.pages_high_watermark()),
            longest_call_ns: process.longest_call_ns,
            counters: process.counters.clone(),
        }
    }

    /// Tells a thread, without its stack and its queue.
    pub(super) fn view_thread(&self, thread: &Thread) -> ThreadView {
        ThreadView {
            tid: thread.tid,
            looper: looper_bits(thread),
            need_return: thread.need_return,
            stack: Vec::new(),
            todo: Vec::new(),
        }
    }

    /// Tells a transaction of the stack of `thread`, and which is the next further out.
    pub(super) fn view_stack_entry(
        &self,
        thread: ThreadKey,
        key: TransactionKey,
    ) -> Option<(StackEntry, Option<TransactionKey>)> {
        let state = self.transactions.get(key)?;
        let is_incoming = state.to_thread == Some(thread);
        let next = if is_incoming { state.to_parent } else { state.from_parent };
        let direction = if is_incoming { StackSide::Incoming } else { StackSide::Outgoing };
        Some((StackEntry { direction, transaction: self.view_transaction(key) }, next))
    }

    pub(super) fn view_transaction(&self, key: TransactionKey) -> TransactionView {
        let state = &self.transactions[key];
        let to = state.to_process.and_then(|key| Some((key, self.processes.get(key)?)));
        let to_thread = state.to_thread.and_then(|key| self.threads.get(key));
        let buffer = to.and_then(|(_, to)| to.mapping.as_ref()?.get(state.buffer?));
        TransactionView {
            id: state.trace.id,
            kind: state.kind,
            from_pid: state.trace.from_pid,
            from_tid: state.trace.from_tid,
            to: to.map(|(key, _)| key),
            to_pid: to.map_or(0, |(_, to)| to.opener.pid.number()),
            to_tid: to_thread.map_or(0, |thread| thread.tid),
            code: state.code,
            flags: state.flags,
            elapsed_ns: self.now_ns.saturating_sub(state.trace.sent_at_ns),
            buffer: buffer.map(|buffer| self.view_buffer(buffer)),
        }
    }

    pub(super) fn view_buffer(&self, buffer: &Buffer) -> BufferView {
        let node = buffer.target.and_then(|node| self.nodes.get(node));
        BufferView {
            id: buffer.debug_id,
            node: node.map(|node| node.debug_id),
            start: buffer.layout.start,
            data_len: buffer.layout.data_len,
            offsets_len: buffer.layout.offsets_len,
            extra_len: buffer.layout.extra_len,
            slot_len: buffer.layout.slot_len,
            is_active: buffer.transaction.is_some(),
        }
    }

    /// Tells a node, without its holders and the one-ways in line.
    pub(super) fn view_node(&self, node: &Node) -> NodeView {
        NodeView {
            id: node.debug_id,
            ptr: node.ptr,
            cookie: node.cookie,
            has_strong: node.strong_view != OwnerView::Released,
            has_weak: node.weak_view != OwnerView::Released,
            local_strong: node.total_strong() - node.strong_references,
            local_weak: node.total_local_weak(),
            strong_references: node.strong_references,
            references: node.references,
            holders: Vec::new(),
            has_oneway_in_flight: node.has_oneway_in_flight,
            waiting_oneways: Vec::new(),
        }
    }

    /// Tells a reference. `None` if it is gone: a process that ends forgets its handles later.
    pub(super) fn view_reference(&self, key: ReferenceKey) -> Option<ReferenceView> {
        let reference = self.references.get(key)?;
        let node = self.nodes.get(reference.node)?;
        Some(ReferenceView {
            id: reference.debug_id,
            handle: reference.handle,
            node: node.debug_id,
            is_dead: node.owner.is_none(),
            strong: reference.strong,
            weak: reference.weak,
            // Never 0, which logs print for none.
            death: reference.death.map(|death| death.slot() as u64 + 1),
        })
    }

    /// Tells an item of the queue of `thread`, or of a process. `None` for a slot that is empty.
    pub(super) fn view_work(&self, thread: Option<&Thread>, work: Work) -> Option<WorkView> {
        Some(match work {
            Work::Transaction(transaction) => {
                let mut view = self.view_transaction(transaction);
                // A thread that has it in its own queue is to take it.
                view.to_tid = thread.map_or(view.to_tid, |thread| thread.tid);
                WorkView::Transaction(view)
            }
            Work::TransactionComplete
            | Work::OnewaySpamSuspect
            | Work::TransactionPendingFrozen => WorkView::TransactionComplete,
            Work::ReturnError => WorkView::TransactionError(thread?.return_error?),
            Work::ReplyError => WorkView::TransactionError(thread?.reply_error?),
            Work::Node(node) => {
                let node = &self.nodes[node];
                WorkView::Node { id: node.debug_id, ptr: node.ptr, cookie: node.cookie }
            }
            Work::Death(death) => match self.queued_news(death) {
                QueuedNews::Death => WorkView::DeadBinder,
                QueuedNews::DeathThenClear => WorkView::ClearedDeadBinder,
                QueuedNews::Clear => WorkView::ClearedDeathNotification,
            },
            Work::Freeze(link) if self.is_cleared(link) => WorkView::ClearedFreezeNotification,
            Work::Freeze(_) => WorkView::FrozenBinder,
        })
    }
}

fn looper_bits(thread: &Thread) -> u8 {
    let waits = if thread.parked == Parked::No { 0 } else { LOOPER_WAITING };
    let polls = if thread.polls { LOOPER_POLLS } else { 0 };
    thread.looper.bits() | waits | polls
}
