//! Freeze links: a process asks to be told when the owner of a node is frozen or thawed.
//!
//! A link tells the state at once and then every change, each after the one before has been
//! acknowledged. Changes that were not read yet are told as one. Clearing detaches a link from its
//! reference; the answer to that waits for the acknowledgement, if one is missing.

use alloc::collections::BTreeMap;
use core::ops::Bound::{Excluded, Included, Unbounded};

use crate::account::Resource;
use crate::context::Context;
use crate::error::Errno;
use crate::process::ProcessKey;
use crate::slice::OBJECTS_OF_WATCHER;
use crate::table::Key;
use crate::work::{QueuedWork, Work};

/// Names a freeze link.
pub(crate) type FreezeKey = Key<FreezeLink>;

/// Where a link stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FreezeLinkState {
    /// The last change was acknowledged, or there was none.
    Idle,
    /// `BR_FROZEN_BINDER` waits to be read.
    Queued(QueuedWork),
    /// It was read, in that order, with that state, and not acknowledged.
    Told { order: u64, was_frozen: bool },
    /// The same, and the link was cleared meanwhile.
    ToldThenClear { order: u64 },
    /// `BR_CLEAR_FREEZE_NOTIFICATION_DONE` waits to be read.
    ClearQueued(QueuedWork),
}

/// One registration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FreezeLink {
    process: ProcessKey,
    cookie: u64,
    /// The process that is watched, which may be gone.
    owner: Option<ProcessKey>,
    /// Whether that is frozen, as of the last change.
    is_frozen: bool,
    state: FreezeLinkState,
}

/// The freeze links of a process.
#[derive(Debug, Default)]
pub(crate) struct FreezeLinks {
    /// Links that were told and not acknowledged, by cookie and then by order of telling.
    told: BTreeMap<(u64, u64), FreezeKey>,
    next_told: u64,
}

/// What a read tells of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FreezeNews {
    Changed { cookie: u64, is_frozen: bool },
    Cleared { cookie: u64 },
}

impl FreezeLinks {
    fn first_delivered(&self, cookie: u64) -> Option<FreezeKey> {
        self.told.range((cookie, 0)..=(cookie, u64::MAX)).next().map(|(_, link)| *link)
    }

    /// One of the links that were told and not acknowledged.
    pub(crate) fn last_delivered(&self) -> Option<FreezeKey> {
        self.told.last_key_value().map(|(_, link)| *link)
    }
}

impl Context {
    /// Handles `BC_REQUEST_FREEZE_NOTIFICATION`.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a handle without reference, and a reference that has a link; `ENOMEM` when there
    /// are too many links, those among them that were cleared and whose answers are unread.
    pub(crate) fn request_freeze(
        &mut self,
        process: ProcessKey,
        handle: u32,
        cookie: u64,
    ) -> Result<(), Errno> {
        let reference = self.reference(process, handle).ok_or(Errno::EINVAL)?;
        if self.references[reference].freeze.is_some() {
            return Err(Errno::EINVAL);
        }
        self.check_counted_quota(process, Resource::Freezes)?;
        self.count(process, Resource::Freezes);
        let owner = self.nodes[self.references[reference].node].owner;
        let is_frozen = owner.is_some_and(|owner| self.processes[owner].freezer.is_frozen());
        let link = FreezeLink { process, cookie, owner, is_frozen, state: FreezeLinkState::Idle };
        let link = self.freezes.insert(link);
        self.references[reference].freeze = Some(link);
        if let Some(owner) = owner {
            self.processes[owner].freezer.watchers.insert(link);
            self.queue_freeze(link);
        }
        Ok(())
    }

    /// Tells the links that watch nodes of the process whether it is frozen: a slice of them now,
    /// the rest in [`run_background_slice`](Self::run_background_slice). A link that begins to
    /// watch meanwhile knows.
    pub(crate) fn announce_freeze(&mut self, process: ProcessKey) {
        let Some(state) = self.processes.get_mut(process) else { return };
        let was_at_it = state.freezer.pending.is_some();
        state.freezer.pending = state.freezer.watchers.last().map(|last| (None, *last));
        self.slice.begin();
        if !self.go_on_announcing(process) && !was_at_it {
            self.with_pending_freezes.push_back(process);
        }
    }

    /// Tells the links that have not been told, as far as the slice allows. Says whether that was all.
    pub(crate) fn go_on_announcing(&mut self, process: ProcessKey) -> bool {
        while let Some(state) = self.processes.get_mut(process)
            && let Some((told, last)) = state.freezer.pending
        {
            if !self.slice.has_room() {
                return false;
            }
            let behind = (told.map_or(Unbounded, Excluded), Included(last));
            let next = state.freezer.watchers.range(behind).next().copied();
            state.freezer.pending = next.map(|link| (Some(link), last));
            let is_frozen = state.freezer.is_frozen();
            if let Some(link) = next {
                self.slice.spend(OBJECTS_OF_WATCHER);
                self.note_freeze(link, is_frozen);
            }
        }
        true
    }

    /// Notes at a link what its process is now, and sees to it that this is told.
    fn note_freeze(&mut self, link: FreezeKey, is_frozen: bool) {
        let watcher = &mut self.freezes[link];
        watcher.is_frozen = is_frozen;
        match watcher.state {
            FreezeLinkState::Idle => self.queue_freeze(link),
            // The thread that reads it, or acknowledges the one before, finds the new state.
            FreezeLinkState::Queued(_) | FreezeLinkState::Told { .. } => {}
            FreezeLinkState::ToldThenClear { .. } | FreezeLinkState::ClearQueued(_) => {
                debug_assert!(false, "a cleared link watches no process");
            }
        }
    }

    fn queue_freeze(&mut self, link: FreezeKey) {
        let process = self.freezes[link].process;
        let queued = self.queue_on_process(process, Work::Freeze(link));
        self.freezes[link].state = FreezeLinkState::Queued(queued);
    }

    fn queue_freeze_cleared(&mut self, link: FreezeKey) {
        let process = self.freezes[link].process;
        let queued = self.queue_on_process(process, Work::Freeze(link));
        self.freezes[link].state = FreezeLinkState::ClearQueued(queued);
    }

    /// Handles `BC_FREEZE_NOTIFICATION_DONE`.
    ///
    /// # Errors
    ///
    /// `EINVAL` for a cookie of which nothing was told.
    pub(crate) fn acknowledge_freeze(
        &mut self,
        process: ProcessKey,
        cookie: u64,
    ) -> Result<(), Errno> {
        let links = &mut self.processes[process].freeze_links;
        let link = links.first_delivered(cookie).ok_or(Errno::EINVAL)?;
        match self.freezes[link].state {
            FreezeLinkState::Told { order, was_frozen } => {
                links.told.remove(&(cookie, order));
                self.freezes[link].state = FreezeLinkState::Idle;
                if self.freezes[link].is_frozen != was_frozen {
                    self.queue_freeze(link);
                }
            }
            FreezeLinkState::ToldThenClear { order } => {
                links.told.remove(&(cookie, order));
                self.queue_freeze_cleared(link);
            }
            FreezeLinkState::Idle
            | FreezeLinkState::Queued(_)
            | FreezeLinkState::ClearQueued(_) => {
                debug_assert!(false, "only links that were told are listed as told");
            }
        }
        Ok(())
    }

    /// Handles `BC_CLEAR_FREEZE_NOTIFICATION`. A change that was not read is not told any more.
    ///
    /// # Errors
    ///
    /// `EINVAL` when the handle has no link with this cookie.
    pub(crate) fn clear_freeze(
        &mut self,
        process: ProcessKey,
        handle: u32,
        cookie: u64,
    ) -> Result<(), Errno> {
        let reference = self.reference(process, handle).ok_or(Errno::EINVAL)?;
        let link = self.references[reference].freeze.ok_or(Errno::EINVAL)?;
        if self.freezes[link].cookie != cookie {
            return Err(Errno::EINVAL);
        }
        self.references[reference].freeze = None;
        self.stop_watching(self.freezes[link].owner, link);
        match self.freezes[link].state {
            FreezeLinkState::Idle => self.queue_freeze_cleared(link),
            FreezeLinkState::Queued(queued) => {
                self.freezes[link].state = FreezeLinkState::ClearQueued(queued)
            }
            FreezeLinkState::Told { order, .. } => {
                self.freezes[link].state = FreezeLinkState::ToldThenClear { order };
            }
            FreezeLinkState::ToldThenClear { .. } | FreezeLinkState::ClearQueued(_) => {
                debug_assert!(false, "a cleared link is no longer found through its reference");
            }
        }
        Ok(())
    }

    fn stop_watching(&mut self, owner: Option<ProcessKey>, link: FreezeKey) {
        if let Some(owner) = owner.and_then(|owner| self.processes.get_mut(owner)) {
            owner.freezer.watchers.remove(&link);
        }
    }

    /// Whether the link, which waits to be read, was cleared.
    pub(crate) fn is_cleared(&self, link: FreezeKey) -> bool {
        matches!(self.freezes[link].state, FreezeLinkState::ClearQueued(_))
    }

    /// What a read tells of a link that it took from a queue.
    pub(crate) fn take_freeze_news(&mut self, link: FreezeKey) -> FreezeNews {
        let FreezeLink { process, cookie, is_frozen, state, .. } = self.freezes[link];
        if let FreezeLinkState::ClearQueued(_) = state {
            self.drop_freeze(link);
            return FreezeNews::Cleared { cookie };
        }
        let links = &mut self.processes[process].freeze_links;
        let order = links.next_told;
        links.next_told += 1;
        links.told.insert((cookie, order), link);
        self.freezes[link].state = FreezeLinkState::Told { order, was_frozen: is_frozen };
        FreezeNews::Changed { cookie, is_frozen }
    }

    /// Ends a link silently, wherever it stands: its reference, or its process, goes.
    pub(crate) fn drop_freeze(&mut self, link: FreezeKey) {
        let Some(gone) = self.freezes.remove(link) else { return };
        let FreezeLink { process, cookie, owner, state, .. } = gone;
        self.stop_watching(owner, link);
        self.uncount(process, Resource::Freezes);
        let links = &mut self.processes[process].freeze_links;
        match state {
            FreezeLinkState::Idle => {}
            FreezeLinkState::Told { order, .. } | FreezeLinkState::ToldThenClear { order } => {
                links.told.remove(&(cookie, order));
            }
            FreezeLinkState::Queued(queued) | FreezeLinkState::ClearQueued(queued) => {
                self.unqueue(queued)
            }
        }
    }
}
