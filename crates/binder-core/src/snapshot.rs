//! All tables of a device, as plain values for people and their tools.
//!
//! They are taken down in slices ([`Context::snapshot_slice`]): the driver goes on between two of them.
//! Each process that fits into a slice is as it was at one moment; of a larger one each thread, node or
//! buffer is.

mod cursor;
mod view;

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::account::Amounts;
use crate::context::Context;
use crate::counters::Counters;
use crate::pages::PageCounts;
use crate::process::ProcessKey;
use crate::transaction::TransactionKind;

pub use cursor::SnapshotCursor;

/// A device, as it was while the snapshot was taken.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Snapshot {
    /// Nodes that outlived their owners.
    pub dead_nodes: Vec<NodeView>,
    /// Open files.
    pub processes: Vec<ProcessView>,
    /// The holdings of the users that opened them, by number.
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
    pub has_delivered_freezes: bool,
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

/// One thing that a snapshot tells. What follows a process, a thread or a node belongs to that.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SnapshotItem {
    /// What all have together; it comes first.
    Totals(Box<SnapshotTotals>),
    /// What a user has.
    User {
        /// The user.
        uid: u32,
        /// How much of each resource.
        held: Amounts,
    },
    /// A node that outlived its owner.
    DeadNode(NodeView),
    /// An open file, without what it has.
    Process(Box<ProcessView>),
    /// A thread of the process.
    Thread(ThreadView),
    /// A transaction of the thread's stack.
    StackEntry(StackEntry),
    /// An item of the thread's queue.
    ThreadWork(WorkView),
    /// A node of the process.
    Node(NodeView),
    /// A one-way in line at the node.
    WaitingOneway(TransactionView),
    /// A reference of the process.
    Reference(ReferenceView),
    /// A buffer of the process.
    Buffer(BufferView),
    /// An item of the process's queue.
    Work(WorkView),
}

/// What all processes of a device have together, when its snapshot begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SnapshotTotals {
    /// What each user may have.
    user_limits: Amounts,
    /// What processes did that are gone.
    retired: Counters,
    objects: Vec<ObjectCount>,
}

/// Makes a snapshot of its slices.
#[derive(Debug, Default)]
pub struct SnapshotBuilder(Snapshot);

impl SnapshotBuilder {
    /// Adds the next slice.
    pub fn add(&mut self, slice: impl IntoIterator<Item = SnapshotItem>) {
        for item in slice {
            let is_placed = self.place(item);
            debug_assert!(is_placed.is_some(), "what belongs to something follows it");
        }
    }

    fn place(&mut self, item: SnapshotItem) -> Option<()> {
        let Self(snapshot) = self;
        let process = snapshot.processes.last_mut();
        match item {
            SnapshotItem::Totals(totals) => {
                let SnapshotTotals { user_limits, retired, objects } = *totals;
                (snapshot.user_limits, snapshot.counters) = (user_limits, retired);
                snapshot.objects = objects;
            }
            SnapshotItem::User { uid, held } => snapshot.users.push((uid, held)),
            SnapshotItem::DeadNode(node) => snapshot.dead_nodes.push(node),
            SnapshotItem::Process(process) => {
                snapshot.counters.add(&process.counters);
                snapshot.processes.push(*process);
            }
            SnapshotItem::Thread(thread) => process?.threads.push(thread),
            SnapshotItem::StackEntry(entry) => process?.threads.last_mut()?.stack.push(entry),
            SnapshotItem::ThreadWork(work) => process?.threads.last_mut()?.todo.push(work),
            SnapshotItem::Node(node) => process?.nodes.push(node),
            SnapshotItem::WaitingOneway(oneway) => {
                process?.nodes.last_mut()?.waiting_oneways.push(oneway);
            }
            SnapshotItem::Reference(reference) => process?.references.push(reference),
            SnapshotItem::Buffer(buffer) => process?.buffers.push(buffer),
            SnapshotItem::Work(work) => process?.todo.push(work),
        }
        Some(())
    }

    /// The whole, once all slices were added.
    pub fn finish(self) -> Snapshot {
        let Self(mut snapshot) = self;
        snapshot.find_holders();
        snapshot
    }
}

impl Snapshot {
    /// Notes at each node the processes that refer to it, in the order of the processes.
    fn find_holders(&mut self) {
        let holders = self.processes.iter().flat_map(|process| {
            process.references.iter().map(|reference| (reference.node, process.pid))
        });
        let mut holders: Vec<(u32, u32)> = holders.collect();
        holders.sort_by_key(|(node, _)| *node);
        let nodes = self.processes.iter_mut().flat_map(|process| &mut process.nodes);
        for node in nodes.chain(&mut self.dead_nodes) {
            let start = holders.partition_point(|(id, _)| *id < node.id);
            let of_node = holders[start..].iter().take_while(|(id, _)| *id == node.id);
            node.holders = of_node.map(|(_, pid)| *pid).collect();
        }
    }
}

impl Context {
    /// Takes down all tables at one moment, however long that takes.
    pub fn snapshot(&self) -> Snapshot {
        let mut builder = SnapshotBuilder::default();
        let mut cursor = SnapshotCursor::default();
        while !cursor.is_at_end() {
            builder.add(self.snapshot_slice(&mut cursor));
        }
        builder.finish()
    }
}
