//! Death links: a process asks to be told when the owner of a node is gone.
//!
//! A link is idle, then queued, then told, and with the acknowledgement idle again: it tells once.
//! Clearing it detaches it from its reference at once, but the answer to that waits until a death
//! that is on its way has been told and acknowledged.

use binder_uapi::BR_ERROR;

use crate::account::Resource;
use crate::context::Context;
use crate::handle::ReferenceKey;
use crate::looper::Looper;
use crate::process::ProcessKey;
use crate::table::Key;
use crate::thread::ThreadKey;
use crate::trace_log::Traced;
use crate::work::{QueuedWork, Work};

/// Names a death link.
pub(crate) type DeathKey = Key<Death>;

/// Where a death link stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DeathLinkState {
    /// Nothing to tell: the owner lives, or its death has been acknowledged.
    Idle,
    /// `BR_DEAD_BINDER` waits to be read.
    DeathQueued(QueuedWork),
    /// The same, and the link was cleared meanwhile.
    DeathQueuedThenClear(QueuedWork),
    /// `BR_DEAD_BINDER` was read and not acknowledged; the number orders equal cookies.
    DeathTold(u64),
    /// The same, and the link was cleared meanwhile.
    DeathToldThenClear(u64),
    /// `BR_CLEAR_DEATH_NOTIFICATION_DONE` waits to be read.
    ClearQueued(QueuedWork),
}

/// One registration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Death {
    process: ProcessKey,
    cookie: u64,
    state: DeathLinkState,
}

/// What a queue holds of a death link, as logs tell it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum QueuedNews {
    Death,
    DeathThenClear,
    Clear,
}

/// What a read tells of a death link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DeathNews {
    Died { cookie: u64 },
    Cleared { cookie: u64 },
}

impl Context {
    /// Handles `BC_REQUEST_DEATH_NOTIFICATION` from `thread`. Ignores a handle without reference,
    /// and a reference that has a link. The thread reads `BR_ERROR` if this were one too many.
    pub(crate) fn request_death(&mut self, thread: ThreadKey, handle: u32, cookie: u64) {
        let process = self.threads[thread].process;
        let Some(reference) = self.reference(process, handle) else { return };
        if self.references[reference].death.is_some() {
            return;
        }
        if self.check_counted_quota(process, Resource::Deaths).is_err() {
            self.threads[thread].return_error = Some(BR_ERROR);
            self.queue_on_thread(thread, Work::ReturnError);
            return;
        }
        self.count(process, Resource::Deaths);
        let death = self.deaths.insert(Death { process, cookie, state: DeathLinkState::Idle });
        let node = self.references[reference].node;
        self.references[reference].death = Some(death);
        if self.nodes[node].owner.is_none() {
            self.announce_death(reference);
        } else {
            self.nodes[node].watchers.insert(reference);
        }
    }

    /// What the queue that holds this link has to tell of it.
    pub(crate) fn queued_news(&self, death: DeathKey) -> QueuedNews {
        match self.deaths[death].state {
            DeathLinkState::Idle
            | DeathLinkState::DeathQueued(_)
            | DeathLinkState::DeathTold(_) => QueuedNews::Death,
            DeathLinkState::DeathQueuedThenClear(_) | DeathLinkState::DeathToldThenClear(_) => {
                QueuedNews::DeathThenClear
            }
            DeathLinkState::ClearQueued(_) => QueuedNews::Clear,
        }
    }

    /// Queues the death of the node for the process that watches it through this reference.
    pub(crate) fn announce_death(&mut self, reference: ReferenceKey) {
        let Some(death) = self.references[reference].death else { return };
        let process = self.deaths[death].process;
        let node = self.nodes[self.references[reference].node].debug_id;
        self.trace_process(process, |pid| Traced::Died { node, pid });
        let queued = self.queue_on_process(process, Work::Death(death));
        self.deaths[death].state = DeathLinkState::DeathQueued(queued);
    }

    /// Handles `BC_CLEAR_DEATH_NOTIFICATION` from `thread`. Ignores what does not fit.
    pub(crate) fn clear_death(&mut self, thread: ThreadKey, handle: u32, cookie: u64) {
        let process = self.threads[thread].process;
        let Some(reference) = self.reference(process, handle) else { return };
        let Some(death) = self.references[reference].death else { return };
        if self.deaths[death].cookie != cookie {
            return;
        }
        let node = self.references[reference].node;
        self.references[reference].death = None;
        self.nodes[node].watchers.remove(&reference);
        match self.deaths[death].state {
            DeathLinkState::Idle => self.queue_cleared(thread, death),
            DeathLinkState::DeathQueued(queued) => {
                self.deaths[death].state = DeathLinkState::DeathQueuedThenClear(queued);
            }
            DeathLinkState::DeathTold(order) => {
                self.deaths[death].state = DeathLinkState::DeathToldThenClear(order)
            }
            DeathLinkState::DeathQueuedThenClear(_)
            | DeathLinkState::DeathToldThenClear(_)
            | DeathLinkState::ClearQueued(_) => {
                debug_assert!(false, "a cleared link is no longer found through its reference");
            }
        }
    }

    /// Queues the answer to a clear: for the calling thread if it reads, else for any.
    fn queue_cleared(&mut self, thread: ThreadKey, death: DeathKey) {
        let caller = &self.threads[thread];
        let queued = if caller.looper.intersects(Looper::ENTERED | Looper::REGISTERED) {
            self.queue_on_thread(thread, Work::Death(death))
        } else {
            self.queue_on_process(caller.process, Work::Death(death))
        };
        self.deaths[death].state = DeathLinkState::ClearQueued(queued);
    }

    /// Handles `BC_DEAD_BINDER_DONE` from `thread`. Ignores a cookie that was not told.
    pub(crate) fn acknowledge_death(&mut self, thread: ThreadKey, cookie: u64) {
        let process = self.threads[thread].process;
        let told = &mut self.processes[process].delivered_deaths;
        let Some((&place, &death)) = told.range((cookie, 0)..=(cookie, u64::MAX)).next() else {
            return;
        };
        told.remove(&place);
        match self.deaths[death].state {
            DeathLinkState::DeathToldThenClear(_) => self.queue_cleared(thread, death),
            DeathLinkState::DeathTold(_) => self.deaths[death].state = DeathLinkState::Idle,
            DeathLinkState::Idle
            | DeathLinkState::DeathQueued(_)
            | DeathLinkState::DeathQueuedThenClear(_)
            | DeathLinkState::ClearQueued(_) => {
                debug_assert!(false, "only links that were told are listed as told");
            }
        }
    }

    /// What a read tells of a link that it took from a queue.
    pub(crate) fn take_death_news(&mut self, death: DeathKey) -> DeathNews {
        let Death { process, cookie, state } = self.deaths[death];
        if let DeathLinkState::ClearQueued(_) = state {
            self.remove_death(death);
            return DeathNews::Cleared { cookie };
        }
        let order = self.next_delivered_death;
        self.next_delivered_death += 1;
        self.processes[process].delivered_deaths.insert((cookie, order), death);
        self.deaths[death].state = match state {
            DeathLinkState::DeathQueuedThenClear(_) | DeathLinkState::DeathToldThenClear(_) => {
                DeathLinkState::DeathToldThenClear(order)
            }
            DeathLinkState::Idle
            | DeathLinkState::DeathQueued(_)
            | DeathLinkState::DeathTold(_)
            | DeathLinkState::ClearQueued(_) => DeathLinkState::DeathTold(order),
        };
        DeathNews::Died { cookie }
    }

    /// Takes a link off the table and off its process's account.
    pub(crate) fn remove_death(&mut self, death: DeathKey) -> Option<Death> {
        let removed = self.deaths.remove(death)?;
        self.uncount(removed.process, Resource::Deaths);
        Some(removed)
    }

    /// Ends a link silently, wherever it stands: its reference, or its process, goes.
    pub(crate) fn drop_death(&mut self, death: DeathKey) {
        let Some(Death { process, cookie, state }) = self.remove_death(death) else { return };
        match state {
            DeathLinkState::Idle => {}
            DeathLinkState::DeathQueued(queued)
            | DeathLinkState::DeathQueuedThenClear(queued)
            | DeathLinkState::ClearQueued(queued) => self.unqueue(queued),
            DeathLinkState::DeathTold(order) | DeathLinkState::DeathToldThenClear(order) => {
                self.processes[process].delivered_deaths.remove(&(cookie, order));
            }
        }
    }
}
