//! All tables of a device at one moment, as plain values for people and their tools.
//!
//! A snapshot costs as much as there is to tell; what is told of is not slowed down by it otherwise.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::account::Amounts;
use crate::buffer::Buffer;
use crate::context::Context;
use crate::counters::Counters;
use crate::death::QueuedNews;
use crate::handle::ReferenceKey;
use crate::node::{Node, NodeKey, OwnerView};
use crate::pages::{PAGE_BYTES, PageCounts};
use crate::process::{Process, ProcessKey};
use crate::thread::{Thread, ThreadKey};
use crate::transaction::{TransactionKey, TransactionKind};
use crate::waiting::Parked;
use crate::work::Work;

/// A looper bit that only logs have: the thread sleeps in a read.
const LOOPER_WAITING: u8 = 0x10;
/// The same: the thread polls.
const LOOPER_POLLS: u8 = 0x20;

/// A device at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Snapshot {
    /// Nodes that outlived their owners.
    pub dead_nodes: Vec<NodeView>,
    /// Open files.
    pub processes: Vec<ProcessView>,
    /// What the users have who opened them, by number.
    pub(crate) users: Vec<(u32, Amounts)>,
    /// What each of them may have.
    pub(crate) user_limits: Amounts,
    /// What all processes ever did.
    pub counters: Counters,
    /// Objects by kind, in the order in which logs tell them.
    pub objects: Vec<ObjectCount>,
}

/// How many objects of a kind there are and were.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ObjectCount {
    /// The kind.
    pub name: &'static str,
    /// Live ones.
    pub active: u64,
    /// All that ever were, modulo 2^32.
    pub total: u32,
}

impl Snapshot {
    /// Adds what another device counted.
    pub fn add_totals(&mut self, other: &Self) {
        self.counters.add(&other.counters);
        for object in &other.objects {
            match self.objects.iter_mut().find(|sum| sum.name == object.name) {
                Some(sum) => {
                    sum.active += object.active;
                    sum.total = sum.total.wrapping_add(object.total);
                }
                None => self.objects.push(*object),
            }
        }
    }
}

/// An open file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProcessView {
    /// Which.
    pub key: ProcessKey,
    /// Its opener's number.
    pub pid: u32,
    /// The user it was opened as.
    pub uid: u32,
    /// Its threads, by number.
    pub threads: Vec<ThreadView>,
    /// What it offers.
    pub nodes: Vec<NodeView>,
    /// What it refers to, by handle.
    pub references: Vec<ReferenceView>,
    /// What lies in its receive buffer.
    pub buffers: Vec<BufferView>,
    /// What any of its threads may take.
    pub todo: Vec<WorkView>,
    /// It was told of a death and has not acknowledged.
    pub has_delivered_deaths: bool,
    /// It was told that a process is frozen, or is not, and has not acknowledged.
    pub has_told_freezes: bool,
    /// How many threads it lets the driver ask for.
    pub max_threads: u32,
    /// A thread was asked for and has not come.
    pub has_requested_thread: bool,
    /// Threads that came when asked for.
    pub started_threads: u32,
    /// Idle threads that sleep in a read.
    pub ready_threads: usize,
    /// Length of the receive buffer; 0 while there is none.
    pub area_bytes: u32,
    /// What one-ways may still take of it.
    pub oneway_room: u32,
    /// Its pages with memory.
    pub pages: PageCounts,
    /// Its pages without.
    pub absent_pages: u32,
    /// The end of the highest page ever touched, in pages.
    pub pages_high_watermark: usize,
    /// The longest that a call which it served took, from being sent to being answered.
    pub longest_call_ns: u64,
    /// What it did.
    pub counters: Counters,
}

/// A caller thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadView {
    /// Its number.
    pub tid: u32,
    /// Looper bits: 1 registered, 2 entered, 4 exited, 8 invalid, 16 waits in a read, 32 polls.
    pub looper: u8,
    /// Its next read returns in any case.
    pub need_return: bool,
    /// Transactions that it waits for or serves, the innermost first.
    pub stack: Vec<StackEntry>,
    /// What only it may take.
    pub todo: Vec<WorkView>,
}

/// One transaction of a thread's stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackEntry {
    /// On which side the thread is.
    pub direction: StackSide,
    /// The transaction.
    pub transaction: TransactionView,
}

/// On which side of a transaction a thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StackSide {
    /// It waits for the reply.
    Outgoing,
    /// It serves the call.
    Incoming,
}

/// A call, one-way or reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransactionView {
    /// Its debug id.
    pub id: u32,
    /// What it is.
    pub kind: TransactionKind,
    /// The process that sent it.
    pub from_pid: u32,
    /// The thread that sent it.
    pub from_tid: u32,
    /// The receiver, while it lives.
    pub to: Option<ProcessKey>,
    /// The receiver's number; 0 once it is gone.
    pub to_pid: u32,
    /// The receiving thread; 0 while none has taken it.
    pub to_tid: u32,
    /// Its code.
    pub code: u32,
    /// Its flags.
    pub flags: u32,
    /// How long ago it was sent.
    pub elapsed_ns: u64,
    /// Its data, until the receiver has freed it.
    pub buffer: Option<BufferView>,
}

/// One transaction's data in a receive buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferView {
    /// The debug id of its transaction.
    pub id: u32,
    /// The debug id of the node it is addressed to.
    pub node: Option<u32>,
    /// Where it starts in the receive buffer.
    pub start: u32,
    /// Bytes of data.
    pub data_len: u32,
    /// Bytes of offsets.
    pub offsets_len: u32,
    /// Bytes of the rest.
    pub extra_len: u32,
    /// Bytes that it takes.
    pub slot_len: u32,
    /// Its transaction has not come to its end: a call is being served, or waits to be read.
    pub is_active: bool,
}

/// An object on offer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeView {
    /// Its debug id.
    pub id: u32,
    /// Its owner's pointer.
    pub ptr: u64,
    /// Its owner's cookie.
    pub cookie: u64,
    /// Its owner was told of a strong reference.
    pub has_strong: bool,
    /// Its owner was told of a weak reference.
    pub has_weak: bool,
    /// Strong counts within the owner.
    pub local_strong: u32,
    /// Weak counts within the owner.
    pub local_weak: u32,
    /// Strong references in other processes.
    pub strong_references: u32,
    /// References in other processes.
    pub references: u32,
    /// The processes that hold these.
    pub holders: Vec<u32>,
    /// A one-way to it is queued or being handled.
    pub has_oneway_in_flight: bool,
    /// One-ways in line behind that.
    pub waiting_oneways: Vec<TransactionView>,
}

/// A reference to a node of another process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReferenceView {
    /// Its debug id.
    pub id: u32,
    /// Its number in its process.
    pub handle: u32,
    /// The debug id of the node.
    pub node: u32,
    /// The node's owner is gone.
    pub is_dead: bool,
    /// Strong counts.
    pub strong: u32,
    /// Weak counts.
    pub weak: u32,
    /// A number for its death link, if it has one.
    pub death: Option<u64>,
}

/// An item of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WorkView {
    /// A call, one-way or reply to deliver.
    Transaction(TransactionView),
    /// A send failed with this `BR_` code.
    TransactionError(u32),
    /// A send was accepted.
    TransactionComplete,
    /// The owner of a node may be owed a notice.
    Node {
        /// Its debug id.
        id: u32,
        /// Its pointer.
        ptr: u64,
        /// Its cookie.
        cookie: u64,
    },
    /// A death to tell.
    DeadBinder,
    /// The same, of a link that was cleared meanwhile.
    ClearedDeadBinder,
    /// A link was cleared.
    ClearedDeathNotification,
    /// A process was frozen or thawed.
    FrozenBinder,
    /// A link that tells of that was cleared.
    ClearedFreezeNotification,
}

impl Context {
    /// Takes down all tables.
    pub fn snapshot(&self) -> Snapshot {
        let mut holders: BTreeMap<NodeKey, Vec<u32>> = BTreeMap::new();
        for reference in self.references.values() {
            if let Some(holder) = self.processes.get(reference.process) {
                holders.entry(reference.node).or_default().push(holder.opener.pid.number());
            }
        }
        let mut counters = self.past.clone();
        for process in self.processes.values() {
            counters.add(&process.counters);
        }
        let dead = self.nodes.iter().filter(|(_, node)| node.owner.is_none());
        Snapshot {
            dead_nodes: dead.map(|(key, node)| self.view_node(key, node, &holders)).collect(),
            processes: self
                .processes
                .iter()
                .map(|(key, process)| self.view_process(key, process, &holders))
                .collect(),
            users: self
                .users
                .iter()
                .filter(|(_, user)| user.has_anything())
                .map(|(uid, user)| (*uid, user.holdings()))
                .collect(),
            user_limits: self.limits.per_user,
            counters,
            objects: self.count_objects(),
        }
    }

    fn count_objects(&self) -> Vec<ObjectCount> {
        let work = self.threads.values().flat_map(|thread| thread.todo.iter());
        let completions = work.filter(|work| work.is_completion()).count();
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

    fn view_process(
        &self,
        key: ProcessKey,
        process: &Process,
        holders: &BTreeMap<NodeKey, Vec<u32>>,
    ) -> ProcessView {
        let mapping = process.mapping.as_ref();
        let pages = mapping.map(|mapping| mapping.page_counts()).unwrap_or_default();
        let area_bytes = mapping.map_or(0, |mapping| mapping.len_bytes());
        let nodes = process.nodes.values();
        let own_nodes = nodes.filter_map(|key| Some((*key, self.nodes.get(*key)?)));
        let buffers = mapping.into_iter().flat_map(|mapping| mapping.iter());
        ProcessView {
            key,
            pid: process.opener.pid.number(),
            uid: process.opener.uid,
            threads: process.threads.values().map(|thread| self.view_thread(*thread)).collect(),
            nodes: own_nodes.map(|(key, node)| self.view_node(key, node, holders)).collect(),
            references: process.handles.iter().filter_map(|key| self.view_reference(key)).collect(),
            buffers: buffers.map(|buffer| self.view_buffer(buffer)).collect(),
            todo: process.todo.iter().filter_map(|work| self.view_work(None, work)).collect(),
            has_delivered_deaths: !process.delivered_deaths.is_empty(),
            has_told_freezes: process.freeze_links.last_told().is_some(),
            max_threads: process.max_threads,
            has_requested_thread: process.has_requested_thread,
            started_threads: process.started_threads,
            ready_threads: process.waiting.len(),
            area_bytes,
            oneway_room: mapping.map_or(0, |mapping| mapping.oneway_room()),
            pages,
            absent_pages: (area_bytes / PAGE_BYTES).saturating_sub(pages.in_use + pages.idle),
            pages_high_watermark: mapping.map_or(0, |mapping| mapping.pages_high_watermark()),
            longest_call_ns: process.longest_call_ns,
            counters: process.counters.clone(),
        }
    }

    fn view_thread(&self, key: ThreadKey) -> ThreadView {
        let thread = &self.threads[key];
        let mut stack = Vec::new();
        let mut next = thread.stack;
        while let Some(transaction) = next {
            let state = &self.transactions[transaction];
            let is_incoming = state.to_thread == Some(key);
            next = if is_incoming { state.to_parent } else { state.from_parent };
            let direction = if is_incoming { StackSide::Incoming } else { StackSide::Outgoing };
            stack.push(StackEntry { direction, transaction: self.view_transaction(transaction) });
        }
        let todo = thread.todo.iter().filter_map(|work| self.view_work(Some(thread), work));
        ThreadView {
            tid: thread.tid,
            looper: looper_bits(thread),
            need_return: thread.need_return,
            stack,
            todo: todo.collect(),
        }
    }

    fn view_transaction(&self, key: TransactionKey) -> TransactionView {
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

    fn view_buffer(&self, buffer: &Buffer) -> BufferView {
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

    fn view_node(
        &self,
        key: NodeKey,
        node: &Node,
        holders: &BTreeMap<NodeKey, Vec<u32>>,
    ) -> NodeView {
        let waiting = node.async_todo.iter();
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
            holders: holders.get(&key).cloned().unwrap_or_default(),
            has_oneway_in_flight: node.has_oneway_in_flight,
            waiting_oneways: waiting.map(|oneway| self.view_transaction(*oneway)).collect(),
        }
    }

    /// Tells a reference. `None` if it is gone: a process that ends forgets its handles later.
    fn view_reference(&self, key: ReferenceKey) -> Option<ReferenceView> {
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
    fn view_work(&self, thread: Option<&Thread>, work: Work) -> Option<WorkView> {
        Some(match work {
            Work::Transaction(transaction) => {
                let mut view = self.view_transaction(transaction);
                // Whoever has it in its own queue is to take it.
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
