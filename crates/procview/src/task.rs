//! What a table knows of a process.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use pidns::Pid;

/// The longest short name, in bytes.
pub const COMM_MAX_BYTES: usize = 15;

/// A process, or a further thread of one, in a table.
#[derive(Debug)]
pub struct Task {
    /// Tells it apart from all others that the table has had.
    pub(crate) serial: u32,
    /// The number, in the root, of the process that this is a thread of; of a process, its own.
    pub(crate) leader: Leader,
    /// Whose group and session it is in.
    pub(crate) led_by: LedBy,
    /// What names its pid namespace.
    pub(crate) pid_namespace: u32,
    facts: RwLock<Facts>,
    relatives: RwLock<Relatives>,
}

/// Whether a task is a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leader {
    /// It is.
    Itself,
    /// It is a thread of this process, by its number in the root.
    Other(u32),
}

/// The leaders of a process's group and session; `None` for itself. A leader that has ended still
/// lends them its number.
#[derive(Debug, Clone, Default)]
pub(crate) struct LedBy {
    pub(crate) process_group: Option<Arc<Pid<Task>>>,
    pub(crate) session: Option<Arc<Pid<Task>>>,
}

/// Whether a process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It runs, or would.
    Running,
    /// It waits, and a signal wakes it.
    Sleeping,
    /// It waits for a device.
    Waiting,
    /// It was stopped.
    Stopped,
    /// It has ended, and its parent has not asked.
    Zombie,
}

/// Four numbers of a user or of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskIds {
    /// Who it is.
    pub real: u32,
    /// In whose name it acts.
    pub effective: u32,
    /// Who it may become again.
    pub saved: u32,
    /// In whose name it opens files.
    pub filesystem: u32,
}

impl From<u32> for TaskIds {
    fn from(id: u32) -> Self {
        Self { real: id, effective: id, saved: id, filesystem: id }
    }
}

/// The state of a process at some moment.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The short name: any bytes but NUL, 15 at most.
    pub comm: Vec<u8>,
    /// The arguments.
    pub argv: Vec<Vec<u8>>,
    /// The environment, as `NAME=value`.
    pub environ: Vec<Vec<u8>>,
    /// The program.
    pub exe: Vec<u8>,
    /// The working directory.
    pub cwd: Vec<u8>,
    /// Its users.
    pub uids: TaskIds,
    /// Its groups.
    pub gids: TaskIds,
    /// Further groups.
    pub groups: Vec<u32>,
    /// Whether it runs.
    pub state: State,
    /// Its parent's number in the root; `None` if that is outside.
    pub parent: Option<u32>,
    /// The number, in the root, of the leader of its process group; `None` for itself.
    pub process_group: Option<u32>,
    /// The number, in the root, of the leader of its session; `None` for itself.
    pub session: Option<u32>,
    /// Its terminal, as the kernel numbers devices; 0 for none.
    pub tty: u32,
    /// How nice it is.
    pub nice: i32,
    /// Time run in user mode, in ticks.
    pub user_ticks: u64,
    /// Time run in the kernel, in ticks.
    pub system_ticks: u64,
    /// When it started, in ticks since the table's machine did.
    pub start_ticks: u64,
    /// Address space, in bytes.
    pub virtual_bytes: u64,
    /// Memory in use, in pages.
    pub resident_pages: u64,
    /// Open files: number, below 2^24, and what it is of. Others are left out.
    pub descriptors: BTreeMap<u32, Vec<u8>>,
}

/// Who belongs to a process, by their numbers in the root.
#[derive(Debug, Clone, Default)]
pub(crate) struct Relatives {
    /// The threads besides the first.
    pub(crate) threads: BTreeSet<u32>,
    /// The children.
    pub(crate) children: BTreeSet<u32>,
}

impl Default for Facts {
    fn default() -> Self {
        Self {
            comm: Vec::new(),
            argv: Vec::new(),
            environ: Vec::new(),
            exe: b"/".to_vec(),
            cwd: b"/".to_vec(),
            uids: 0.into(),
            gids: 0.into(),
            groups: Vec::new(),
            state: State::Sleeping,
            parent: None,
            process_group: None,
            session: None,
            tty: 0,
            nice: 0,
            user_ticks: 0,
            system_ticks: 0,
            start_ticks: 0,
            virtual_bytes: 4 << 20,
            resident_pages: 256,
            descriptors: BTreeMap::new(),
        }
    }
}

impl Facts {
    /// Gives up what a process that has ended no longer has; returns the number of pages that its
    /// memory had.
    pub(crate) fn end(&mut self) -> u64 {
        self.argv.clear();
        self.environ.clear();
        self.descriptors.clear();
        self.virtual_bytes = 0;
        std::mem::take(&mut self.resident_pages)
    }

    /// Takes another short name, cut as the kernel cuts it.
    pub(crate) fn set_comm(&mut self, comm: &[u8]) {
        let end = comm.iter().position(|byte| *byte == 0).unwrap_or(comm.len());
        self.comm = comm[..end.min(COMM_MAX_BYTES)].to_vec();
    }
}

impl State {
    /// The letter and the word of it.
    pub(crate) const fn words(self) -> (char, &'static str) {
        match self {
            Self::Running => ('R', "running"),
            Self::Sleeping => ('S', "sleeping"),
            Self::Waiting => ('D', "disk sleep"),
            Self::Stopped => ('T', "stopped"),
            Self::Zombie => ('Z', "zombie"),
        }
    }
}

/// The number, in the root, of the process that a task is, or is a thread of.
pub(crate) fn leader_number(task: &Pid<Task>) -> u32 {
    match task.process().leader {
        Leader::Itself => task.global_nr(),
        Leader::Other(leader) => leader,
    }
}

impl Task {
    pub(crate) fn new(
        serial: u32,
        leader: Leader,
        led_by: LedBy,
        pid_namespace: u32,
        facts: Facts,
    ) -> Self {
        let (facts, relatives) = (RwLock::new(facts), RwLock::default());
        Self { serial, leader, led_by, pid_namespace, facts, relatives }
    }

    pub(crate) fn relatives(&self) -> RwLockReadGuard<'_, Relatives> {
        self.relatives.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn relatives_mut(&self) -> RwLockWriteGuard<'_, Relatives> {
        self.relatives.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Its present state.
    pub fn facts(&self) -> RwLockReadGuard<'_, Facts> {
        self.facts.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn facts_mut(&self) -> RwLockWriteGuard<'_, Facts> {
        self.facts.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
