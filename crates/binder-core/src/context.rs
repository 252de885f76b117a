//! One Binder device: its processes, its context manager, the effects of the calls into it.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use binder_uapi::{BinderExtendedError, BinderNodeDebugInfo};

use crate::account::Limits;
use crate::counters::Counters;
use crate::death::Death;
use crate::early_reservation::{EarlyReservationKey, HeldReservation};
use crate::effect::Effect;
use crate::env::ReceiveBuffers;
use crate::freeze_links::FreezeLink;
use crate::handle::Reference;
use crate::journal::Journal;
use crate::memory_budget::MemoryBudget;
use crate::node::{Node, NodeKey, OwnerView};
use crate::priority::Inheritance;
use crate::process::{Process, ProcessKey};
use crate::slice::Slice;
use crate::stats::Sequences;
use crate::suspended_call::SuspendedCall;
use crate::table::Table;
use crate::thread::{Thread, ThreadKey, no_error};
use crate::transaction::Transaction;
use crate::unfinished::EndingBuffer;
use crate::user::{User, UserKey};

/// One Binder device. Handles and nodes never cross from one context into another.
#[derive(Debug)]
pub struct Context {
    pub(crate) processes: Table<Process>,
    pub(crate) threads: Table<Thread>,
    pub(crate) nodes: Table<Node>,
    pub(crate) references: Table<Reference>,
    pub(crate) transactions: Table<Transaction>,
    pub(crate) deaths: Table<Death>,
    pub(crate) suspended_calls: Table<SuspendedCall>,
    pub(crate) early_reservations: BTreeMap<EarlyReservationKey, HeldReservation>,
    pub(crate) freezes: Table<FreezeLink>,
    pub(crate) limits: Limits,
    /// Users with open files, or with files on their way.
    pub(crate) users: Table<User>,
    /// The same, by number.
    pub(crate) user_keys: BTreeMap<u32, UserKey>,
    /// Of the memory of receive buffers; shared with other devices.
    pub(crate) budget: MemoryBudget,
    /// Open files that may have idle pages, by user. One that has some is there.
    pub(crate) with_idle: BTreeSet<(u32, ProcessKey)>,
    pub(crate) effects: VecDeque<Effect>,
    /// Memory for the returns of reads, kept from read to read.
    pub(crate) spare_returns: Vec<Vec<u8>>,
    /// The node that handle 0 means.
    pub(crate) manager: Option<NodeKey>,
    /// The uid of the first manager; only the same uid may follow it.
    pub(crate) manager_uid: Option<u32>,
    /// What threads inherit that serve calls.
    pub(crate) inheritance: Inheritance,
    pub(crate) sequences: Sequences,
    pub(crate) next_delivered_death: u64,
    pub(crate) journal: Journal,
    /// What processes that are gone have counted.
    pub(crate) retired: Counters,
    /// Completions that were ever queued.
    pub(crate) completions: u32,
    /// The front end's clock, as it last told.
    pub(crate) now_ns: u64,
    /// What the call under way may still do before others have their turn.
    pub(crate) slice: Slice,
    /// Buffers that are let go of, slice by slice.
    pub(crate) ending_buffers: VecDeque<EndingBuffer>,
    /// Processes with threads that are gone and whose queues are dealt with, slice by slice; it may be
    /// that a process has none any more, or has ended.
    pub(crate) with_ending_threads: VecDeque<ProcessKey>,
    /// The same of processes whose watchers have not all been told that they are frozen, or are not.
    pub(crate) with_pending_freezes: VecDeque<ProcessKey>,
}

/// The thread that makes a call, as the front end knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Caller {
    /// The open file it calls through.
    pub process: ProcessKey,
    /// The number of its thread.
    pub tid: u32,
    /// Its effective uid now, as the driver sees it.
    pub euid: u32,
    /// What it wants a read to do that finds nothing.
    pub waits: Waits,
}

/// What a read does that finds nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waits {
    /// It sleeps.
    UntilReady,
    /// It fails with `EAGAIN` (`O_NONBLOCK`).
    Never,
}

impl Default for Context {
    fn default() -> Self {
        Self::new()
    }
}

impl Context {
    /// A device without processes.
    pub fn new() -> Self {
        Self::with_limits(Limits::default())
    }

    /// The same, which counts on where other devices of the mount do.
    #[must_use]
    pub fn numbered_by(self, sequences: Sequences) -> Self {
        Self { sequences, ..self }
    }

    /// The same, whose receive buffers have of the memory that other devices have, too.
    #[must_use]
    pub fn paying_from(self, budget: MemoryBudget) -> Self {
        Self { budget, ..self }
    }

    /// The same, whose calls go on in slices of that many objects: fewer than usual, for tests.
    #[must_use]
    pub fn in_slices_of(self, objects: usize) -> Self {
        Self { slice: Slice::of(objects), ..self }
    }

    /// A device each of whose processes keeps to `limits`.
    pub fn with_limits(limits: Limits) -> Self {
        Self {
            processes: Table::new(),
            threads: Table::new(),
            nodes: Table::new(),
            references: Table::new(),
            transactions: Table::new(),
            deaths: Table::new(),
            suspended_calls: Table::new(),
            early_reservations: BTreeMap::new(),
            freezes: Table::new(),
            limits,
            users: Table::new(),
            user_keys: BTreeMap::new(),
            budget: MemoryBudget::new(limits.all_bytes),
            with_idle: BTreeSet::new(),
            effects: VecDeque::new(),
            spare_returns: Vec::new(),
            manager: None,
            manager_uid: None,
            inheritance: Inheritance::default(),
            sequences: Sequences::default(),
            next_delivered_death: 0,
            journal: Journal::default(),
            retired: Counters::default(),
            completions: 0,
            now_ns: 0,
            slice: Slice::default(),
            ending_buffers: VecDeque::new(),
            with_ending_threads: VecDeque::new(),
            with_pending_freezes: VecDeque::new(),
        }
    }

    /// Has the device's processes keep to other limits from now on. What they have they keep, also if it is more. The
    /// [budget](Self::paying_from) stays as it is.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Gives back memory that was needed for a burst and is not any more; for the front end to call
    /// now and then.
    pub fn shrink(&mut self) {
        let Self {
            processes,
            threads,
            nodes,
            references,
            transactions,
            deaths,
            suspended_calls,
            freezes,
            users,
            user_keys,
            effects,
            spare_returns,
            ending_buffers,
            with_ending_threads,
            with_pending_freezes,
            ..
        } = self;
        user_keys.retain(|_, user| {
            let stays = users[*user].has_anything();
            if !stays {
                users.remove(*user);
            }
            stays
        });
        users.shrink();
        processes.shrink();
        threads.shrink();
        nodes.shrink();
        references.shrink();
        transactions.shrink();
        deaths.shrink();
        suspended_calls.shrink();
        freezes.shrink();
        if effects.is_empty() {
            *effects = VecDeque::new();
        }
        *spare_returns = Vec::new();
        ending_buffers.shrink_to_fit();
        with_ending_threads.shrink_to_fit();
        with_pending_freezes.shrink_to_fit();
    }

    /// Tells the time by any steady clock. Transactions that are sent from here on are as old as this; without it
    /// nothing ages.
    pub fn set_now(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
    }

    /// Takes the next effect of the calls so far.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// Handles `BINDER_SET_MAX_THREADS`.
    pub fn set_max_threads(&mut self, caller: &Caller, max_threads: u32) {
        let thread = self.enter(caller);
        self.processes[caller.process].max_threads = max_threads;
        self.leave(thread);
    }

    /// Handles `BINDER_ENABLE_ONEWAY_SPAM_DETECTION`.
    pub fn detect_oneway_spam(&mut self, caller: &Caller, is_wanted: bool) {
        let thread = self.enter(caller);
        self.processes[caller.process].detects_oneway_spam = is_wanted;
        self.leave(thread);
    }

    /// Handles `ANYBINDER_DEFER_COMPLETIONS`, for the calling thread.
    pub fn defer_completions(&mut self, caller: &Caller, is_wanted: bool) {
        let thread = self.enter(caller);
        let state = &mut self.threads[thread];
        state.defers_completions = is_wanted;
        // A completion that waits to ride along would wait for ever.
        state.has_urgent_work |= !is_wanted && !state.todo.is_empty();
        self.leave(thread);
    }

    /// Handles `BINDER_THREAD_EXIT`.
    pub fn exit_thread(&mut self, caller: &Caller, memory: &mut dyn ReceiveBuffers) {
        let thread = self.enter(caller);
        self.remove_thread(thread, memory);
    }

    /// Handles `BINDER_GET_NODE_DEBUG_INFO`: the own node with the smallest pointer above `ptr`, or
    /// zeros.
    pub fn node_debug_info(&mut self, caller: &Caller, ptr: u64) -> BinderNodeDebugInfo {
        let thread = self.enter(caller);
        let above = (core::ops::Bound::Excluded(ptr), core::ops::Bound::Unbounded);
        let next = self.processes[caller.process].nodes.range(above).next();
        let info = next.map_or_else(BinderNodeDebugInfo::default, |(ptr, node)| {
            let node = &self.nodes[*node];
            BinderNodeDebugInfo {
                ptr: *ptr,
                cookie: node.cookie,
                has_strong_ref: u32::from(node.strong_view != OwnerView::Released),
                has_weak_ref: u32::from(node.weak_view != OwnerView::Released),
            }
        });
        self.leave(thread);
        info
    }

    /// Handles `BINDER_GET_EXTENDED_ERROR`: the thread's last transaction error, told once.
    pub fn take_extended_error(&mut self, caller: &Caller) -> BinderExtendedError {
        let thread = self.enter(caller);
        let error = core::mem::replace(&mut self.threads[thread].extended_error, no_error(0));
        self.leave(thread);
        error
    }

    /// Handles `BINDER_VERSION`, and any other ioctl that only shows that the thread was here.
    pub fn note_call(&mut self, caller: &Caller) {
        let thread = self.enter(caller);
        self.leave(thread);
    }

    /// Handles poll(2): whether a read of the calling thread would return at once.
    pub fn poll(&mut self, caller: &Caller) -> bool {
        let thread = self.enter(caller);
        if !core::mem::replace(&mut self.threads[thread].polls, true) {
            self.processes[caller.process].pollers += 1;
        }
        self.is_ready(thread) || self.has_retracted_fd_work(thread)
    }

    /// The start of every call: finds or makes the calling thread.
    pub(crate) fn enter(&mut self, caller: &Caller) -> ThreadKey {
        self.slice.begin();
        let state = &mut self.processes[caller.process];
        // It may have mapped its receive buffer since it was looked for.
        state.is_known_unmapped = false;
        match state.latest_caller {
            Some((tid, thread)) if tid == caller.tid => thread,
            _ => self.thread_of(caller.process, caller.tid),
        }
    }

    /// The end of every ioctl: a request to return has been met.
    pub(crate) fn leave(&mut self, thread: ThreadKey) {
        self.threads[thread].need_return = false;
    }
}
