//! A node: an object that a process offers, the references to it, and the counts its owner was notified of.

use alloc::collections::BTreeSet;

use binder_uapi::{
    BR_ACQUIRE, BR_DECREFS, BR_INCREFS, BR_RELEASE, FLAT_BINDER_FLAG_ACCEPTS_FDS,
    FLAT_BINDER_FLAG_TXN_SECURITY_CTX, FlatBinderObject,
};

use crate::account::Resource;
use crate::async_todo::AsyncTodo;
use crate::context::Context;
use crate::error::Errno;
use crate::handle::ReferenceKey;
use crate::priority::{Inheritance, NodeScheduling};
use crate::process::ProcessKey;
use crate::table::Key;
use crate::thread::ThreadKey;
use crate::work::{QueuedWork, Work};

/// Names a node.
pub(crate) type NodeKey = Key<Node>;

/// A node's references of one strength, as its owner has been told of them.
///
/// The owner hears of the first reference and of the loss of the last, and acknowledges the first
/// before it may hear of the second: its threads handle notices in any order. While it has not
/// acknowledged, the driver itself keeps a count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum OwnerView {
    /// It was told of none, or of the loss of the last.
    #[default]
    Released,
    /// It was told of the first and has not acknowledged.
    Acquiring,
    /// It acknowledged.
    Acquired,
}

/// What an owner is owed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OwnerNotice {
    Acquire,
    Release,
}

impl OwnerView {
    /// Moves towards "is it held?" and returns the notice that the owner is owed, if any.
    #[must_use = "a notice that is not delivered leaves the owner with a stale count"]
    fn settle(&mut self, is_held: bool) -> Option<OwnerNotice> {
        match (*self, is_held) {
            (Self::Released, true) => {
                *self = Self::Acquiring;
                Some(OwnerNotice::Acquire)
            }
            (Self::Acquired, false) => {
                *self = Self::Released;
                Some(OwnerNotice::Release)
            }
            (Self::Released, false) | (Self::Acquiring, _) | (Self::Acquired, true) => None,
        }
    }
}

/// How firmly a reference holds on to an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Strength {
    Strong,
    Weak,
}

/// An object that a process offers to others.
#[derive(Debug)]
pub(crate) struct Node {
    /// Its number in logs.
    pub(crate) debug_id: u32,
    /// `None` once the owner is gone.
    pub(crate) owner: Option<ProcessKey>,
    pub(crate) ptr: u64,
    pub(crate) cookie: u64,
    pub(crate) wants_security_context: bool,
    /// The scheduling of threads that serve it.
    pub(crate) scheduling: NodeScheduling,
    /// Transactions to it may carry file descriptors.
    pub(crate) accepts_fds: bool,
    /// References in other processes.
    pub(crate) references: u32,
    /// Those of them that are strong.
    pub(crate) strong_references: u32,
    /// Holds within the owner: buffers addressed to the node or carrying it home.
    pub(crate) local_strong: u32,
    pub(crate) local_weak: u32,
    pub(crate) strong_view: OwnerView,
    pub(crate) weak_view: OwnerView,
    /// Where the notice to the owner waits.
    pub(crate) queued: Option<QueuedWork>,
    /// A one-way to this node is queued or being handled; the rest wait in line.
    pub(crate) has_oneway_in_flight: bool,
    pub(crate) async_todo: AsyncTodo,
    /// References with a death link that are still to be told.
    pub(crate) watchers: BTreeSet<ReferenceKey>,
}

impl Node {
    fn new(
        debug_id: u32,
        owner: ProcessKey,
        object: &FlatBinderObject,
        inheritance: Inheritance,
    ) -> Self {
        Self {
            debug_id,
            owner: Some(owner),
            ptr: object.binder,
            cookie: object.cookie,
            wants_security_context: object.flags & FLAT_BINDER_FLAG_TXN_SECURITY_CTX != 0,
            scheduling: NodeScheduling::of(object.flags, inheritance),
            accepts_fds: object.flags & FLAT_BINDER_FLAG_ACCEPTS_FDS != 0,
            references: 0,
            strong_references: 0,
            local_strong: 0,
            local_weak: 0,
            strong_view: OwnerView::Released,
            weak_view: OwnerView::Released,
            queued: None,
            has_oneway_in_flight: false,
            async_todo: AsyncTodo::default(),
            watchers: BTreeSet::new(),
        }
    }

    fn is_held_strongly(&self) -> bool {
        self.strong_references > 0
            || self.local_strong > 0
            || self.strong_view == OwnerView::Acquiring
    }

    fn is_held(&self) -> bool {
        self.is_held_strongly()
            || self.references > 0
            || self.local_weak > 0
            || self.weak_view == OwnerView::Acquiring
    }

    /// Whether the owner counts on hearing of this node again.
    fn is_known_to_owner(&self) -> bool {
        self.strong_view != OwnerView::Released || self.weak_view != OwnerView::Released
    }

    /// Whether no count of this strength is left, be it only one that is not acknowledged.
    fn has_lost(&self, strength: Strength) -> bool {
        match strength {
            Strength::Strong => !self.is_held_strongly(),
            Strength::Weak => self.references == 0 && self.total_local_weak() == 0,
        }
    }

    /// All strong counts: those of the owner and one per strong reference.
    pub(crate) fn total_strong(&self) -> u32 {
        let unacknowledged = u32::from(self.strong_view == OwnerView::Acquiring);
        self.local_strong + self.strong_references + unacknowledged
    }

    /// Weak counts within the owner.
    pub(crate) fn total_local_weak(&self) -> u32 {
        self.local_weak + u32::from(self.weak_view == OwnerView::Acquiring)
    }
}

/// The notices of one node, in the order in which they are read.
pub(crate) type Notices = [Option<u32>; 4];

impl Context {
    /// Finds the process's node for the object it sends, or makes it.
    ///
    /// # Errors
    ///
    /// `EINVAL` when the node is known under another cookie; `ENOMEM` when it would be one too many.
    pub(crate) fn own_node(
        &mut self,
        owner: ProcessKey,
        object: &FlatBinderObject,
    ) -> Result<NodeKey, Errno> {
        match self.processes[owner].nodes.get(&object.binder) {
            Some(node) if self.nodes[*node].cookie == object.cookie => Ok(*node),
            Some(_) => Err(Errno::EINVAL),
            None => self.new_node(owner, object),
        }
    }

    pub(crate) fn new_node(
        &mut self,
        owner: ProcessKey,
        object: &FlatBinderObject,
    ) -> Result<NodeKey, Errno> {
        self.check_node_quota(owner)?;
        let node = Node::new(self.sequences.next_debug_id(), owner, object, self.inheritance);
        let node = self.nodes.insert(node);
        self.processes[owner].nodes.insert(object.binder, node);
        self.holdings_of(owner)[Resource::Nodes] += 1;
        Ok(node)
    }

    /// Counts a reference that has become strong.
    ///
    /// `by` is the owner's thread that is sending the node, if it is; that thread is then told, in
    /// the read that follows.
    ///
    /// # Errors
    ///
    /// `EINVAL` when the owner would have to hear of its first strong reference, but no thread of
    /// its own is the cause: a weak reference cannot bring an object back to life.
    pub(crate) fn count_strong(
        &mut self,
        node: NodeKey,
        by: Option<ThreadKey>,
    ) -> Result<(), Errno> {
        let is_manager = self.manager == Some(node);
        let state = &mut self.nodes[node];
        let is_known = is_manager && state.strong_view != OwnerView::Released;
        if by.is_none() && state.strong_references == 0 && !is_known {
            return Err(Errno::EINVAL);
        }
        state.strong_references += 1;
        if state.strong_view == OwnerView::Released {
            self.tell_sender(node, by);
        }
        Ok(())
    }

    /// Counts a reference as such: a weak hold, of which the owner hears with its first count.
    pub(crate) fn attach_reference(&mut self, node: NodeKey) {
        self.nodes[node].references += 1;
    }

    /// Sees to it that the owner hears of a first weak count.
    pub(crate) fn announce_weak(&mut self, node: NodeKey, by: Option<ThreadKey>) {
        let state = &self.nodes[node];
        if state.weak_view == OwnerView::Released && state.queued.is_none() {
            self.tell_sender(node, by);
        }
    }

    /// Moves the node's notice to the thread that sends the node.
    fn tell_sender(&mut self, node: NodeKey, by: Option<ThreadKey>) {
        let Some(thread) = by else { return };
        if let Some(queued) = self.nodes[node].queued.take() {
            self.unqueue(queued);
        }
        let queued = self.queue_deferred(thread, Work::Node(node));
        self.nodes[node].queued = Some(queued);
    }

    /// Takes back what [`count_strong`](Self::count_strong) counted.
    pub(crate) fn uncount_strong(&mut self, node: NodeKey) {
        self.nodes[node].strong_references -= 1;
        self.settle_loss(node, Strength::Strong);
    }

    /// Takes back what [`attach_reference`](Self::attach_reference) counted.
    pub(crate) fn detach_reference(&mut self, node: NodeKey) {
        self.nodes[node].references -= 1;
        self.settle_loss(node, Strength::Weak);
    }

    /// Counts a hold within the owner: a buffer that is addressed to the node or carries it.
    pub(crate) fn hold_locally(&mut self, node: NodeKey, strength: Strength) {
        let state = &mut self.nodes[node];
        match strength {
            Strength::Strong => state.local_strong += 1,
            Strength::Weak => state.local_weak += 1,
        }
    }

    /// Takes back a hold, unless the owner's end has already done away with all of them.
    pub(crate) fn unhold_locally(&mut self, node: NodeKey, strength: Strength) {
        let Some(state) = self.nodes.get_mut(node) else { return };
        let count = match strength {
            Strength::Strong => &mut state.local_strong,
            Strength::Weak => &mut state.local_weak,
        };
        *count = count.saturating_sub(1);
        self.settle_loss(node, strength);
    }

    /// Handles `BC_INCREFS_DONE` and `BC_ACQUIRE_DONE`; what does not fit is ignored.
    pub(crate) fn acknowledge(
        &mut self,
        process: ProcessKey,
        ptr: u64,
        cookie: u64,
        strength: Strength,
    ) {
        let Some(node) = self.processes[process].nodes.get(&ptr).copied() else { return };
        let state = &mut self.nodes[node];
        let view = match strength {
            Strength::Strong => &mut state.strong_view,
            Strength::Weak => &mut state.weak_view,
        };
        if state.cookie == cookie && *view == OwnerView::Acquiring {
            *view = OwnerView::Acquired;
            self.settle_loss(node, strength);
        }
        self.look_over(node);
    }

    /// After a count of this strength went down: if it was the last, queues the node for its owner, who
    /// is told what it is owed when it reads that, or frees the node.
    fn settle_loss(&mut self, node: NodeKey, strength: Strength) {
        let state = &self.nodes[node];
        match state.owner {
            Some(owner) if state.is_known_to_owner() => {
                if state.has_lost(strength) && state.queued.is_none() {
                    let queued = self.queue_on_process(owner, Work::Node(node));
                    self.nodes[node].queued = Some(queued);
                }
            }
            Some(_) | None if state.is_held() => {}
            Some(_) | None => self.free_node(node),
        }
    }

    /// After the node was looked up: queues it once more if no process refers to it, whether its
    /// owner is owed anything or not. Its place in the queue depends on it: on Linux a thread that
    /// looks a node up holds it weakly meanwhile.
    pub(crate) fn look_over(&mut self, node: NodeKey) {
        if self.nodes.get(node).is_some() {
            self.settle_loss(node, Strength::Weak);
        }
    }

    /// Works out what the owner is owed, as a read of the owner takes the node from its queue.
    pub(crate) fn take_notices(&mut self, node: NodeKey) -> Notices {
        let state = &mut self.nodes[node];
        state.queued = None;
        let (is_strong, is_held) = (state.is_held_strongly(), state.is_held());
        let weak = state.weak_view.settle(is_held);
        let strong = state.strong_view.settle(is_strong);
        if !is_held {
            self.free_node(node);
        }
        let when = |notice, wanted, code| (notice == Some(wanted)).then_some(code);
        [
            when(weak, OwnerNotice::Acquire, BR_INCREFS),
            when(strong, OwnerNotice::Acquire, BR_ACQUIRE),
            when(strong, OwnerNotice::Release, BR_RELEASE),
            when(weak, OwnerNotice::Release, BR_DECREFS),
        ]
    }

    fn free_node(&mut self, node: NodeKey) {
        if let Some(queued) = self.nodes[node].queued.take() {
            self.unqueue(queued);
        }
        let Some(state) = self.nodes.remove(node) else { return };
        if let Some(owner) = state.owner {
            self.processes[owner].nodes.remove(&state.ptr);
            self.holdings_of(owner)[Resource::Nodes] -= 1;
        }
        debug_assert!(state.async_todo.is_empty(), "each waits with a hold on the node");
    }

    /// Parts the node, which has no one-ways in line any more, from its dying owner. Its watchers are to
    /// be told.
    ///
    /// The node itself stays for as long as others refer to it.
    pub(crate) fn orphan_node(&mut self, node: NodeKey) {
        if let Some(queued) = self.nodes[node].queued.take() {
            self.unqueue(queued);
        }
        let state = &mut self.nodes[node];
        state.owner = None;
        state.local_strong = 0;
        state.local_weak = 0;
        state.strong_view = OwnerView::Released;
        state.weak_view = OwnerView::Released;
        if state.references == 0 {
            self.free_node(node);
        }
    }
}
