//! The end of a process, in slices.
//!
//! A process may leave a million objects behind. They go a few hundred at a time, so that others
//! are served in between; from the first slice on, sends to it are answered with `BR_DEAD_REPLY`.

use alloc::boxed::Box;

use crate::account::Resource;
use crate::buffer::Mapping;
use crate::context::Context;
use crate::env::ReceiveBuffers;
use crate::error::Verdict;
use crate::node::NodeKey;
use crate::process::ProcessKey;
use crate::slice::OBJECTS_OF_WATCHER;
use crate::trace_log::Traced;
use crate::work::Work;

/// How far the end of a process has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a process that has not ended keeps its memory"]
pub enum ReleaseProgress {
    /// Nothing is left.
    Done,
    /// [`Context::release`] is to be called again.
    Unfinished,
}

/// The state of a process that is being released, besides its tables.
#[derive(Debug)]
pub(crate) struct ReleaseRemains {
    mapping: Option<Mapping>,
    /// A node that was its own, if some of its watchers have not been told.
    watched: Option<NodeKey>,
    /// Where the handles begin that have not been let go.
    next_handle: usize,
}

impl Context {
    /// Ends the process, or goes on with it: the last descriptor of the file is gone.
    ///
    /// The order is that of the specification (6.3), also between slices.
    pub fn release(
        &mut self,
        process: ProcessKey,
        memory: &mut dyn ReceiveBuffers,
    ) -> ReleaseProgress {
        let Some(state) = self.processes.get_mut(process) else { return ReleaseProgress::Done };
        if state.remains.is_none() {
            // What the buffers hold is held through references and nodes of this same process,
            // which are about to go as well.
            let remains =
                ReleaseRemains { mapping: state.mapping.take(), watched: None, next_handle: 0 };
            let bytes = remains.mapping.as_ref().map_or(0, Mapping::present_bytes);
            state.remains = Some(Box::new(remains));
            // The mapping goes with the file.
            self.holdings_of(process)[Resource::Bytes] -= bytes;
            self.forget_idle(process);
            if self.manager.is_some_and(|node| self.nodes[node].owner == Some(process)) {
                self.manager = None;
            }
        }
        self.slice.begin();
        self.release_threads(process, memory);
        self.release_queue(process, memory);
        self.release_nodes(process);
        self.release_handles(process);
        self.release_deaths(process);
        self.release_freeze_links(process);
        self.release_buffers(process);
        if !self.slice.has_room() {
            return ReleaseProgress::Unfinished;
        }
        // None of its nodes or references was its own, so that nothing has been queued since.
        debug_assert!(self.processes[process].todo.is_empty(), "{process:?} refers to itself");
        for resource in [Resource::Deaths, Resource::Freezes, Resource::Unread] {
            debug_assert_eq!(self.processes[process].account[resource], 0, "{process:?}");
        }
        self.end_freezer(process);
        self.trace_process(process, |pid| Traced::Closed { pid });
        self.close_for_user(process);
        if let Some(gone) = self.processes.remove(process) {
            self.retired.add(&gone.counters);
        }
        ReleaseProgress::Done
    }

    fn release_threads(&mut self, process: ProcessKey, memory: &mut dyn ReceiveBuffers) {
        while self.slice.has_room()
            && let Some((_, thread)) = self.processes[process].threads.first_key_value()
        {
            let thread = *thread;
            self.slice.spend(1);
            self.remove_thread(thread, memory);
        }
        self.end_threads(process, memory);
    }

    fn release_queue(&mut self, process: ProcessKey, memory: &mut dyn ReceiveBuffers) {
        while self.slice.has_room()
            && let Some(work) = self.processes[process].todo.pop_front()
        {
            self.slice.spend(1);
            match work {
                Work::Transaction(transaction) => {
                    self.discard_undelivered(transaction, Verdict::Dead, memory);
                }
                Work::Node(node) => self.nodes[node].queued = None,
                Work::Death(death) => self.drop_death(death),
                Work::Freeze(link) => self.drop_freeze(link),
                Work::TransactionComplete
                | Work::OnewaySpamSuspect
                | Work::TransactionPendingFrozen
                | Work::ReturnError
                | Work::ReplyError => {}
            }
        }
    }

    /// Parts the nodes from their owner: one-ways in line are dropped, watchers are told.
    fn release_nodes(&mut self, process: ProcessKey) {
        while self.slice.has_room() {
            if self.tell_watcher(process) {
                continue;
            }
            let Some((ptr, node)) = self.processes[process].nodes.first_key_value() else { return };
            let (ptr, node) = (*ptr, *node);
            if let Some(oneway) = self.next_async(node) {
                self.slice.spend(1);
                self.end_transaction(oneway);
                continue;
            }
            self.slice.spend(1);
            self.processes[process].nodes.remove(&ptr);
            self.holdings_of(process)[Resource::Nodes] -= 1;
            self.orphan_node(node);
            if let Some(remains) = &mut self.processes[process].remains {
                remains.watched = Some(node);
            }
        }
    }

    /// Tells one watcher of the node that was parted from its owner last. Says whether there was one.
    fn tell_watcher(&mut self, process: ProcessKey) -> bool {
        let Some(remains) = &mut self.processes[process].remains else { return false };
        let node = remains.watched.and_then(|node| self.nodes.get_mut(node));
        let Some(watcher) = node.and_then(|node| node.watchers.pop_first()) else {
            remains.watched = None;
            return false;
        };
        self.slice.spend(OBJECTS_OF_WATCHER);
        self.announce_death(watcher);
        true
    }

    fn release_handles(&mut self, process: ProcessKey) {
        while self.slice.has_room() {
            let state = &mut self.processes[process];
            let Some(remains) = &mut state.remains else { return };
            let Some(reference) = state.handles.take_next(&mut remains.next_handle) else { return };
            self.slice.spend(1);
            state.handles.forget_node(self.references[reference].node);
            self.holdings_of(process)[Resource::Handles] -= 1;
            self.drop_reference(reference);
        }
    }

    /// Deaths that were told and not acknowledged, and have no reference any more.
    fn release_deaths(&mut self, process: ProcessKey) {
        while self.slice.has_room()
            && let Some((_, death)) = self.processes[process].delivered_deaths.pop_first()
        {
            self.slice.spend(1);
            self.remove_death(death);
        }
    }

    /// States of others that were told and not acknowledged, and have no reference any more.
    fn release_freeze_links(&mut self, process: ProcessKey) {
        while self.slice.has_room()
            && let Some(link) = self.processes[process].freeze_links.last_delivered()
        {
            self.slice.spend(1);
            self.drop_freeze(link);
        }
    }

    fn release_buffers(&mut self, process: ProcessKey) {
        let remains = &mut self.processes[process].remains;
        let Some(mapping) = remains.as_mut().and_then(|remains| remains.mapping.as_mut()) else {
            return;
        };
        while self.slice.has_room() && mapping.forget_one() {
            self.slice.spend(1);
        }
    }
}
