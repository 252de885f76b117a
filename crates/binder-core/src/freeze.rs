//! Frozen processes: calls to them are refused, one-ways wait for them.
//!
//! A freeze is about a program: all processes, on whatever device, whose opener has the number that
//! the caller names. They are frozen one after the other, each once nothing is outstanding at it.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use binder_uapi::BinderFrozenStatusInfo;
use pidns::HeldPid;

use crate::context::Context;
use crate::effect::Effect;
use crate::error::{Errno, Refusal};
use crate::freeze_links::FreezeKey;
use crate::process::ProcessKey;
use crate::trace_log::Traced;

/// Whether a process is frozen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum FreezeState {
    #[default]
    No,
    /// A freeze waits for outstanding transactions: calls are refused already, but no freeze link is told.
    InProgress,
    Yes,
}

/// A process's being frozen, and what decides it.
#[derive(Debug, Default)]
pub(crate) struct Freezer {
    state: FreezeState,
    /// A call was refused since the freeze began.
    has_refused_call: bool,
    /// A one-way arrived since the freeze began.
    has_received_oneway: bool,
    /// Transactions that were sent to the process and have not come to their end.
    pub(crate) outstanding: usize,
    /// Links by which others watch nodes of this process.
    pub(crate) watchers: BTreeSet<FreezeKey>,
    /// Those of them that have not been told of the last change: behind the first of these, up to the second.
    pub(crate) pending: Option<(Option<FreezeKey>, FreezeKey)>,
}

impl Freezer {
    /// Whether the process is frozen, or will be.
    pub(crate) fn is_concerned(&self) -> bool {
        self.state != FreezeState::No
    }

    /// Whether others are to be told that the process is frozen.
    pub(crate) fn is_frozen(&self) -> bool {
        self.state == FreezeState::Yes
    }
}

/// The processes of one program on all devices of a front end, each with the place of its context, in the order in which
/// they were opened.
#[derive(Clone, Debug)]
pub struct Program(Vec<(usize, ProcessKey)>);

impl Program {
    /// Finds the program whose number is `pid` in the eyes of `by`.
    ///
    /// # Errors
    ///
    /// `EINVAL` when there is none.
    pub fn find(contexts: &[&mut Context], by: &HeldPid, pid: u32) -> Result<Self, Errno> {
        let mut found = Vec::new();
        for (place, context) in contexts.iter().enumerate() {
            // The number 0 stands for processes that are not seen.
            let is_meant = |key: &ProcessKey| {
                let process = &context.processes[*key];
                pid != 0 && process.is_open() && process.opener.pid.seen_by(by) == pid
            };
            found.extend(context.processes.keys().filter(is_meant).map(|key| (place, key)));
        }
        found.sort_by_key(|(place, key)| contexts[*place].processes[*key].opened_after);
        if found.is_empty() { Err(Errno::EINVAL) } else { Ok(Self(found)) }
    }

    /// Its processes, each with the place of its context.
    pub fn processes(&self) -> impl Iterator<Item = (usize, ProcessKey)> {
        self.0.iter().copied()
    }

    /// Handles `BINDER_FREEZE` that thaws.
    pub fn thaw(&self, contexts: &mut [&mut Context]) {
        for (place, process) in &self.0 {
            contexts[*place].thaw(*process);
        }
    }

    /// Handles `BINDER_GET_FROZEN_INFO`.
    pub fn frozen_info(&self, contexts: &[&mut Context]) -> BinderFrozenStatusInfo {
        let mut info = BinderFrozenStatusInfo::default();
        for (place, process) in &self.0 {
            let context = &contexts[*place];
            let Some(state) = context.processes.get(*process) else { continue };
            let has_pending = u32::from(context.has_pending(*process));
            info.sync_recv |= u32::from(state.freezer.has_refused_call) | (has_pending << 1);
            info.async_recv |= u32::from(state.freezer.has_received_oneway);
        }
        info
    }

    /// Handles a `BINDER_FREEZE` that freezes, the newest process first: to be advanced until it is over.
    pub fn freeze(self, if_outstanding: IfOutstanding) -> Freeze {
        Freeze { left: self.0, has_begun: false, if_outstanding }
    }
}

/// What a freeze does while transactions are outstanding at a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IfOutstanding {
    /// It waits.
    Wait,
    /// It fails with `EAGAIN`.
    Fail,
}

/// A `BINDER_FREEZE` under way.
#[derive(Clone, Debug)]
#[must_use = "a freeze that is forgotten leaves a process that refuses calls"]
pub struct Freeze {
    /// The processes that are not frozen yet; the last is next.
    left: Vec<(usize, ProcessKey)>,
    /// The next one refuses calls already.
    has_begun: bool,
    if_outstanding: IfOutstanding,
}

impl Freeze {
    /// Goes on as far as can be; `if_outstanding` is for the process that is next. Says how it
    /// ended, or `None` if it waits, for [`Effect::Settled`] of [`waits_for`](Self::waits_for) or
    /// the end of the caller's time.
    ///
    /// An error leaves the processes before the one that caused it frozen.
    pub fn advance(
        &mut self,
        contexts: &mut [&mut Context],
        mut if_outstanding: IfOutstanding,
    ) -> Option<Result<(), Errno>> {
        while let Some(&(place, process)) = self.left.last() {
            let context = &mut *contexts[place];
            if !core::mem::replace(&mut self.has_begun, true) {
                context.begin_freeze(process);
                if_outstanding = self.if_outstanding;
            }
            if if_outstanding == IfOutstanding::Wait && !context.is_settled(process) {
                return None;
            }
            if let Err(error) = context.conclude_freeze(process) {
                self.left.clear();
                return Some(Err(error));
            }
            self.left.pop();
            self.has_begun = false;
        }
        Some(Ok(()))
    }

    /// The process it waits for, and the place of its context.
    pub fn waits_for(&self) -> Option<(usize, ProcessKey)> {
        self.left.last().copied()
    }

    /// Ends it because of a signal.
    pub fn abandon(self, contexts: &mut [&mut Context]) {
        if let Some((place, process)) = self.waits_for() {
            contexts[place].abandon_freeze(process);
        }
    }
}

impl Context {
    /// The pid of the process, in whose namespace it names others.
    pub fn pid_of(&self, process: ProcessKey) -> Option<&HeldPid> {
        self.processes.get(process).map(|process| &process.opener.pid)
    }

    fn begin_freeze(&mut self, process: ProcessKey) {
        self.set_frozen(process, FreezeState::InProgress);
    }

    /// Whether nothing is outstanding at the process.
    fn is_settled(&self, process: ProcessKey) -> bool {
        self.processes.get(process).is_none_or(|process| process.freezer.outstanding == 0)
    }

    /// Whether the process has calls to answer or answers to wait for.
    fn has_pending(&self, process: ProcessKey) -> bool {
        let threads = self.processes.get(process).map(|process| &process.threads);
        let is_busy = |key| self.threads[key].stack.is_some();
        !self.is_settled(process)
            || threads.is_some_and(|threads| threads.values().copied().any(is_busy))
    }

    fn conclude_freeze(&mut self, process: ProcessKey) -> Result<(), Errno> {
        if self.has_pending(process) {
            self.abandon_freeze(process);
            return Err(Errno::EAGAIN);
        }
        if let Some(state) = self.processes.get_mut(process)
            && state.is_open()
        {
            state.freezer.state = FreezeState::Yes;
            self.trace_process(process, |pid| Traced::Frozen { pid });
            self.announce_freeze(process);
        }
        Ok(())
    }

    fn abandon_freeze(&mut self, process: ProcessKey) {
        if let Some(state) = self.processes.get_mut(process) {
            state.freezer.state = FreezeState::No;
        }
    }

    fn thaw(&mut self, process: ProcessKey) {
        self.trace_process(process, |pid| Traced::Thawed { pid });
        self.set_frozen(process, FreezeState::No);
        self.announce_freeze(process);
    }

    /// Sets the state and forgets what arrived in the one before.
    fn set_frozen(&mut self, process: ProcessKey, state: FreezeState) {
        if let Some(process) = self.processes.get_mut(process) {
            process.freezer.state = state;
            process.freezer.has_refused_call = false;
            process.freezer.has_received_oneway = false;
        }
    }

    /// Notes that a transaction, complete but for the queueing, arrives at a process. Says whether
    /// that is frozen.
    ///
    /// # Errors
    ///
    /// A frozen process takes no calls.
    pub(crate) fn note_arrival(
        &mut self,
        receiver: ProcessKey,
        is_oneway: bool,
    ) -> Result<bool, Refusal> {
        let freezer = &mut self.processes[receiver].freezer;
        if freezer.state == FreezeState::No {
            return Ok(false);
        }
        if is_oneway {
            freezer.has_received_oneway = true;
            return Ok(true);
        }
        freezer.has_refused_call = true;
        Err(Refusal::frozen())
    }

    /// Counts a transaction that begins.
    pub(crate) fn count_outstanding(&mut self, receiver: ProcessKey) {
        self.processes[receiver].freezer.outstanding += 1;
    }

    /// Takes back what [`count_outstanding`](Self::count_outstanding) counted.
    pub(crate) fn uncount_outstanding(&mut self, receiver: ProcessKey) {
        let freezer = &mut self.processes[receiver].freezer;
        debug_assert!(freezer.outstanding > 0, "each end has its beginning");
        freezer.outstanding -= 1;
        if freezer.outstanding == 0 && freezer.state == FreezeState::InProgress {
            self.effects.push_back(Effect::Settled(receiver));
        }
    }

    /// The process ends: a thread that waits to freeze it need not wait.
    pub(crate) fn end_freezer(&mut self, process: ProcessKey) {
        let freezer = &self.processes[process].freezer;
        debug_assert_eq!(freezer.outstanding, 0, "{process:?} has transactions left");
        if freezer.state == FreezeState::InProgress {
            self.effects.push_back(Effect::Settled(process));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pidns::{KernelProcess, NamespaceId, PidTable};

    use crate::identity::{Opener, UidMap};
    use crate::stats::Sequences;

    fn open(context: &mut Context, pid: &HeldPid) -> ProcessKey {
        let (pid, uids) = (pid.clone(), UidMap::identity());
        let opener = Opener { pid, uid: 0, uids, security_label: (*b"label").into() };
        context.open(opener).expect("few files")
    }

    #[test]
    fn a_program_is_named_by_its_number_in_the_callers_namespace() {
        let (root, child) = (NamespaceId(1), NamespaceId(2));
        let mut table = PidTable::new(root);
        let mut adopt = |levels| {
            let found = KernelProcess { pid: 0, levels, started_at: 0 };
            table.adopt(found, None).expect("numbers that are free")
        };
        let outer = adopt(alloc::vec![(Some(root), 10)]);
        let inner = adopt(alloc::vec![(Some(root), 20), (Some(child), 10)]);
        let sequences = Sequences::default();
        let [mut one, mut other] = [(); 2].map(|()| Context::new().numbered_by(sequences.clone()));
        let outside = open(&mut one, &outer);
        // In the order in which they are opened, on whichever device.
        let inside = alloc::vec![(1, open(&mut other, &inner)), (0, open(&mut one, &inner))];
        let contexts = [&mut one, &mut other];
        let found = |by, pid| Program::find(&contexts, by, pid).map(|program| program.0);
        assert_eq!(found(&outer, 10), Ok(alloc::vec![(0, outside)]));
        assert_eq!(found(&outer, 20), Ok(inside.clone()));
        assert_eq!(found(&inner, 10), Ok(inside));
        // It has no number in there, and 0 is not one.
        assert_eq!(found(&inner, 0), Err(Errno::EINVAL));
        assert_eq!(found(&inner, 20), Err(Errno::EINVAL));
    }
}
