//! An open file of a device: its nodes, handles, threads, receive buffer and queue.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::account::Amounts;
use crate::buffer::Mapping;
use crate::context::Context;
use crate::counters::Counters;
use crate::death::DeathKey;
use crate::descriptors::FilesInTransit;
use crate::env::{MappingArea, ReceiveBuffers};
use crate::error::{Errno, Refusal, Verdict};
use crate::freeze::Freezer;
use crate::freeze_links::FreezeLinks;
use crate::handle::ReferenceTable;
use crate::identity::Opener;
use crate::node::NodeKey;
use crate::priority::Priority;
use crate::release::ReleaseRemains;
use crate::table::Key;
use crate::thread::ThreadKey;
use crate::trace_log::Traced;
use crate::transaction::SendTarget;
use crate::user::UserKey;
use crate::work::WorkQueue;

/// Transactions that are dropped in one go: some 200 us' worth.
const SLICE_TRANSACTIONS: usize = 256;

/// Names a process: one open file of a device.
pub type ProcessKey = Key<Process>;

/// One open file of a device. A program that opens the device twice is two of these.
#[derive(Debug)]
pub struct Process {
    pub(crate) opener: Opener,
    /// How many files of all devices were opened before it.
    pub(crate) opened_after: u64,
    /// The user that opened it.
    pub(crate) user: UserKey,
    pub(crate) threads: BTreeMap<u32, ThreadKey>,
    /// The one of them that has called last, with its tid.
    pub(crate) latest_caller: Option<(u32, ThreadKey)>,
    /// Those that are gone and have left queues which are still to be dealt with.
    pub(crate) ending_threads: Vec<ThreadKey>,
    /// Own nodes by their owner's pointer, in the order in which they are listed.
    pub(crate) nodes: BTreeMap<u64, NodeKey>,
    pub(crate) handles: ReferenceTable,
    pub(crate) todo: WorkQueue,
    /// Threads that have called poll(2).
    pub(crate) pollers: u32,
    /// Idle threads parked in a read, the most recently parked last.
    pub(crate) waiting: Vec<ThreadKey>,
    /// Deaths that were told and not acknowledged, by cookie and then by order of telling.
    pub(crate) delivered_deaths: BTreeMap<(u64, u64), DeathKey>,
    pub(crate) freezer: Freezer,
    pub(crate) freeze_links: FreezeLinks,
    pub(crate) max_threads: u32,
    /// A thread was asked for and has not come yet.
    pub(crate) has_requested_thread: bool,
    pub(crate) started_threads: u32,
    /// Wants to read `BR_ONEWAY_SPAM_SUSPECT` about its own sends.
    pub(crate) detects_oneway_spam: bool,
    /// The priority of its threads while they serve no call, if that concerns us.
    pub(crate) default_priority: Option<Priority>,
    /// The receive buffer; `None` until a mapping of it has been found.
    pub(crate) mapping: Option<Mapping>,
    /// It was looked for in vain, and the process has made no call since.
    pub(crate) is_known_unmapped: bool,
    /// Files on their way for which it pays.
    pub(crate) files: FilesInTransit,
    /// Amounts counted for it that its own tables do not show.
    pub(crate) account: Amounts,
    /// The parts that are still to be released, after the file was closed: from then on nothing is sent to it.
    pub(crate) remains: Option<Box<ReleaseRemains>>,
    pub(crate) counters: Counters,
    /// The longest that a call took from being sent to being answered by this process; with statistics.
    pub(crate) longest_call_ns: u64,
}

impl Process {
    fn new(opener: Opener, opened_after: u64, user: UserKey) -> Self {
        Self {
            opener,
            opened_after,
            user,
            threads: BTreeMap::new(),
            latest_caller: None,
            ending_threads: Vec::new(),
            nodes: BTreeMap::new(),
            handles: ReferenceTable::new(),
            todo: WorkQueue::default(),
            pollers: 0,
            waiting: Vec::new(),
            delivered_deaths: BTreeMap::new(),
            freezer: Freezer::default(),
            freeze_links: FreezeLinks::default(),
            max_threads: 0,
            has_requested_thread: false,
            started_threads: 0,
            detects_oneway_spam: false,
            default_priority: None,
            mapping: None,
            is_known_unmapped: false,
            files: FilesInTransit::default(),
            account: Amounts::default(),
            remains: None,
            counters: Counters::default(),
            longest_call_ns: 0,
        }
    }

    /// Whether its file is open still, and nothing of it has been ended.
    pub(crate) fn is_open(&self) -> bool {
        self.remains.is_none()
    }
}

impl Context {
    /// Makes a process for a newly opened file.
    ///
    /// # Errors
    ///
    /// `EMFILE` when its user has as many as he may, or as many processes that opened one.
    pub fn open(&mut self, opener: Opener) -> Result<ProcessKey, Errno> {
        self.check_open_quota(&opener)?;
        let user = self.know_user(opener.uid);
        let process =
            self.processes.insert(Process::new(opener, self.sequences.next_process(), user));
        self.open_for_user(process);
        self.trace_process(process, |pid| Traced::Opened { pid });
        Ok(process)
    }

    /// Lets every parked thread of the process return: some descriptor of the file was closed.
    pub fn flush(&mut self, process: ProcessKey) {
        let Some(state) = self.processes.get_mut(process) else { return };
        let threads: Vec<ThreadKey> = state.threads.values().copied().collect();
        // Woken in another order than they lie there, they would each be searched for.
        state.waiting.clear();
        for thread in threads {
            self.threads[thread].need_return = true;
            self.wake_thread(thread);
        }
    }

    /// The receive buffer of a process.
    ///
    /// # Errors
    ///
    /// `ESRCH` while the process has not mapped it, once it has it no more, or is being ended.
    pub(crate) fn mapping_of(&mut self, process: ProcessKey) -> Result<&mut Mapping, Errno> {
        let state = &mut self.processes[process];
        if !state.is_open() {
            return Err(Errno::ESRCH);
        }
        state.mapping.as_mut().filter(|mapping| mapping.is_mapped).ok_or(Errno::ESRCH)
    }

    /// The receiver of the next command, which is a call or one-way to `target` or else a reply, if it is not known where its
    /// receive buffer is mapped: it must be looked for before the command can be run.
    pub(crate) fn unlocated_receiver(
        &self,
        thread: ThreadKey,
        target: Option<&Result<SendTarget, Refusal>>,
    ) -> Option<ProcessKey> {
        let receiver = match target {
            Some(target) => target.as_ref().ok()?.owner,
            None => self.caller_served_by(thread)?,
        };
        let state = &self.processes[receiver];
        let is_unlocated = state.mapping.is_none() && !state.is_known_unmapped && state.is_open();
        is_unlocated.then_some(receiver)
    }

    /// Notes where a process has its receive buffer mapped, as a call [wants to know](crate::Outcome::Locate);
    /// `None` if it has not.
    pub fn note_mapping(&mut self, process: ProcessKey, found: Option<MappingArea>) {
        let Some(state) = self.processes.get_mut(process) else { return };
        state.is_known_unmapped = found.is_none();
        if state.mapping.is_none() {
            state.mapping = found.map(|area| Mapping::new(area, self.budget.clone()));
        }
    }

    /// Whether a call waits until a thread of the process comes to read, so that its sender waits
    /// in vain if none can.
    pub fn has_unread_call(&self, process: ProcessKey) -> bool {
        self.processes.get(process).is_some_and(|state| state.todo.has_calls())
    }

    /// The process has its receive buffer mapped no more: it has unmapped it, or executed another
    /// program. It cannot get it back, so nothing can be sent to it from here on.
    ///
    /// Transactions that were not read are dropped, and callers get `BR_DEAD_REPLY`: they may have
    /// been sent after the mapping was gone, as the driver is not told when that happens. If there
    /// are many, a slice of them goes; calls that remain are still
    /// [waiting](Self::has_unread_call).
    pub fn lose_mapping(&mut self, process: ProcessKey, memory: &mut dyn ReceiveBuffers) {
        self.slice.begin();
        let Some(state) = self.processes.get_mut(process) else { return };
        let Some(mapping) = &mut state.mapping else { return };
        mapping.is_mapped = false;
        for transaction in state.todo.take_transactions(SLICE_TRANSACTIONS) {
            self.discard_undelivered(transaction, Verdict::Dead, memory);
        }
    }
}
