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
use crate::env::ReceiveBuffers;
use crate::error::{Errno, Verdict};
use crate::freeze::Freezer;
use crate::freeze_links::FreezeLinks;
use crate::handle::ReferenceTable;
use crate::identity::Opener;
use crate::nice::Nice;
use crate::node::NodeKey;
use crate::release::ReleaseRemains;
use crate::table::Key;
use crate::thread::ThreadKey;
use crate::transaction::TransactionKind;
use crate::work::{Work, WorkQueue};

/// Transactions that are dropped in one go: some 200 us' worth.
const SLICE_TRANSACTIONS: usize = 256;

/// Names a process: one open file of a device.
pub type ProcessKey = Key<Process>;

/// One open file of a device. A program that opens the device twice is two of these.
#[derive(Debug)]
pub struct Process {
    pub(crate) opener: Opener,
    pub(crate) threads: BTreeMap<u32, ThreadKey>,
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
    /// How nice its threads are while they serve nobody, if that concerns us.
    pub(crate) default_nice: Option<Nice>,
    /// The receive buffer; `None` until a mapping of it has been found.
    pub(crate) mapping: Option<Mapping>,
    /// Files on their way for which it pays.
    pub(crate) files: FilesInTransit,
    /// What is counted for it that its own tables do not show.
    pub(crate) account: Amounts,
    /// What is still to be ended, once the file is gone: from then on nothing is sent to it.
    pub(crate) remains: Option<Box<ReleaseRemains>>,
    pub(crate) counters: Counters,
    /// The longest that a call took from being sent to being answered by this process; with statistics.
    pub(crate) longest_call_ns: u64,
}

impl Process {
    fn new(opener: Opener) -> Self {
        Self {
            opener,
            threads: BTreeMap::new(),
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
            default_nice: None,
            mapping: None,
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
        let process = self.processes.insert(Process::new(opener));
        self.open_for_user(process);
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

    /// The receive buffer of a process, found on first need.
    ///
    /// # Errors
    ///
    /// `ESRCH` while the process has not mapped it, once it has it no more, or is being ended.
    pub(crate) fn arena_of(
        &mut self,
        process: ProcessKey,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<&mut Mapping, Errno> {
        let state = &mut self.processes[process];
        if !state.is_open() {
            return Err(Errno::ESRCH);
        }
        if state.mapping.is_none() {
            let area = memory.locate_mapping(process);
            state.mapping = area.map(|area| Mapping::new(area, self.budget.clone()));
        }
        state.mapping.as_mut().filter(|mapping| mapping.is_mapped).ok_or(Errno::ESRCH)
    }

    /// Whether a call waits until a thread of the process comes to read, so that somebody waits in vain
    /// if none can.
    pub fn has_unread_call(&self, process: ProcessKey) -> bool {
        let Some(state) = self.processes.get(process) else { return false };
        let is_call = |work| {
            matches!(work, Work::Transaction(transaction)
            if self.transactions[transaction].kind == TransactionKind::Call)
        };
        state.freezer.outstanding > 0 && state.todo.iter().any(is_call)
    }

    /// The process has its receive buffer mapped no more: it has unmapped it, or executed another
    /// program. It cannot get it back, so nothing can be sent to it from here on.
    ///
    /// What nobody has read is dropped, and callers get `BR_DEAD_REPLY`: it may have been sent after the
    /// mapping was gone, as nobody tells us when that happens. A slice of it, if it is much; calls that
    /// are left [are there still](Self::has_unread_call).
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
