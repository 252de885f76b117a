//! Pages of receive buffers that no live buffer touches: which processes have some, and when they
//! are given back.

use alloc::vec::Vec;
use core::ops::ControlFlow;

use crate::account::{Excess, LimitHolder, Resource};
use crate::context::Context;
use crate::env::ReceiveBuffers;
use crate::error::Errno;
use crate::process::{Process, ProcessKey};

/// Whose limit of memory a receiver has met.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MemoryOf {
    /// His own user's.
    User,
    /// That of all users together.
    All,
}

impl Context {
    /// Gives back up to `most` pages of any process that have been idle while that many turns ended, and returns
    /// how many.
    pub fn reclaim_idle_pages(
        &mut self,
        least_turns: u32,
        most: usize,
        memory: &mut dyn ReceiveBuffers,
    ) -> usize {
        let files: Vec<_> = self.with_idle.iter().map(|(_, process)| *process).collect();
        let mut pages = 0;
        let _ = files.into_iter().try_for_each(|process| {
            pages += self.reclaim_idle_of(process, least_turns, most - pages, memory);
            if pages < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        pages
    }

    /// Ends the turn by which it is told for how long the pages of a process have been idle.
    pub fn end_idle_turn(&mut self, process: ProcessKey) {
        if let Some(Process { mapping: Some(mapping), .. }) = self.processes.get_mut(process) {
            mapping.pages.end_turn();
        }
    }

    /// Gives back up to `most` pages of a process that have been idle while that many turns ended, the one
    /// that has been for longest first, and returns how many.
    pub(crate) fn reclaim_idle_of(
        &mut self,
        process: ProcessKey,
        least_turns: u32,
        most: usize,
        memory: &mut dyn ReceiveBuffers,
    ) -> usize {
        let state = self.processes.get_mut(process);
        let Some(mapping) = state.and_then(|state| state.mapping.as_mut()) else { return 0 };
        let page_bytes = mapping.pages.page_bytes();
        // What is next given back, in bytes.
        let (mut run, mut pages) = (0..0, 0);
        while pages < most
            && let Some(page) = mapping.pages.reclaim(least_turns)
        {
            pages += 1;
            let start = page * page_bytes;
            // Neighbours became idle one after the other, and go together.
            if start == run.end {
                run.end += page_bytes;
                continue;
            }
            if !run.is_empty() {
                memory.release(process, run);
            }
            run = start..start + page_bytes;
        }
        if !run.is_empty() {
            memory.release(process, run);
        }
        if !mapping.pages.has_idle() {
            self.forget_idle(process);
        }
        self.holdings_of(process)[Resource::Bytes] -= pages * page_bytes as usize;
        pages
    }

    /// Has idle pages given back until the user of a receiver, and all together, have no more memory than
    /// they may: the receiver's own first, then those of its user, then any others.
    ///
    /// # Errors
    ///
    /// [`MemoryOf`]: the user, or all users together, have too much still and no idle page.
    pub(crate) fn keep_within_memory(
        &mut self,
        receiver: ProcessKey,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<(), MemoryOf> {
        let uid = self.processes[receiver].opener.uid;
        let most = self.limits.per_user[Resource::Bytes];
        let user_excess = |context: &mut Self| {
            context.holdings_of(receiver)[Resource::Bytes].saturating_sub(most)
        };
        let all_excess = |context: &mut Self| context.budget.excess_bytes();
        let is_own = |&(of, _): &(u32, ProcessKey)| of == uid;
        let next_own = |context: &Self| {
            context.with_idle.range((uid, ProcessKey::MIN)..).next().copied().filter(is_own)
        };
        let next_of_all =
            |context: &Self| next_own(context).or_else(|| context.with_idle.first().copied());
        if self.reclaim_until(user_excess, receiver, next_own, memory) > 0 {
            return Err(MemoryOf::User);
        }
        let left = self.reclaim_until(all_excess, receiver, next_of_all, memory);
        // The front end has idle pages of other devices given back, at once.
        if left > 0 && self.budget.used_bytes() > self.budget.limit_bytes() {
            return Err(MemoryOf::All);
        }
        Ok(())
    }

    /// Has idle pages given back, of `first` and then of others, while there is an excess and some are
    /// left. Returns what is left of the excess, in bytes.
    fn reclaim_until(
        &mut self,
        excess: impl Fn(&mut Self) -> usize,
        first: ProcessKey,
        next: impl Fn(&Self) -> Option<(u32, ProcessKey)>,
        memory: &mut dyn ReceiveBuffers,
    ) -> usize {
        let mut entry = Some((self.processes[first].opener.uid, first));
        loop {
            let bytes = excess(self);
            let (true, Some((uid, process))) = (bytes > 0, entry) else { return bytes };
            let pages = bytes.div_ceil(self.budget.page_bytes() as usize);
            if self.reclaim_idle_of(process, 0, pages, memory) < pages {
                // It has none left.
                self.with_idle.remove(&(uid, process));
            }
            entry = next(self);
        }
    }

    /// Notes that a receiver's buffers need more memory than there may be.
    pub(crate) fn exceed_memory(&mut self, receiver: ProcessKey, holder: MemoryOf) -> Errno {
        match holder {
            MemoryOf::User => self.exceed_for_user(receiver, Resource::Bytes),
            MemoryOf::All => self.exceed(Excess {
                resource: Resource::Bytes,
                holder: LimitHolder::All,
                limit: self.budget.limit_bytes(),
                caused_by: None,
            }),
        }
    }

    /// Remembers that a process has idle pages, if it has.
    pub(crate) fn note_idle(&mut self, process: ProcessKey) {
        if let Some(Process { mapping: Some(mapping), opener, .. }) =
            self.processes.get_mut(process)
            && !mapping.is_listed_as_idle
            && mapping.pages.has_idle()
        {
            mapping.is_listed_as_idle = true;
            self.with_idle.insert((opener.uid, process));
        }
    }

    /// Forgets that a process has idle pages.
    pub(crate) fn forget_idle(&mut self, process: ProcessKey) {
        let Some(Process { mapping, opener, .. }) = self.processes.get_mut(process) else { return };
        self.with_idle.remove(&(opener.uid, process));
        if let Some(mapping) = mapping {
            mapping.is_listed_as_idle = false;
        }
    }
}
