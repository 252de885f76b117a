//! Whether a driver has come to rest: nothing more happens until a process asks for something.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};

use crate::Driver;

/// What a daemon calls itself.
const DAEMON_NAME: &str = "binder-driver";

/// Where the driver's work can be seen.
pub(super) enum Workers {
    /// The threads of the daemon: its directory in /proc.
    Daemon(PathBuf),
    /// Whatever the kernel runs; no other program may be busy on the machine.
    Kernel,
}

/// How often each worker had slept when all of them were seen asleep.
type Sleeps = BTreeMap<PathBuf, u64>;

impl Workers {
    /// Finds those of the driver under which this program runs; `None` if they cannot be told.
    pub(super) fn find(driver: Driver) -> Option<Self> {
        match driver {
            Driver::Core => None,
            Driver::Kernel => Some(Self::Kernel),
            Driver::UserSpace => find_daemon().map(Self::Daemon),
        }
    }

    /// Whether all workers sleep and have slept throughout `look`, which says whether all others did.
    ///
    /// Who hands work to another wakes it before it goes to sleep itself. So work that is left shows in
    /// a worker that is awake, or in one that has slept once more.
    pub(super) fn rest_throughout(&self, look: impl FnOnce() -> bool) -> bool {
        let before = self.sleeps();
        before.is_some() && look() && self.have_gone_to_sleep() && self.sleeps() == before
    }

    /// Whether no worker runs that says of itself that it sleeps, as one does that is about to. Its sleep is not counted yet.
    fn have_gone_to_sleep(&self) -> bool {
        match self {
            Self::Daemon(directory) => tasks_of(directory).all(|task| !is_running(&task)),
            Self::Kernel => true,
        }
    }

    fn sleeps(&self) -> Option<Sleeps> {
        match self {
            Self::Daemon(directory) => sleeps_of(directory),
            Self::Kernel => is_alone().then(Sleeps::new),
        }
    }
}

/// The daemon: `anybinder run` starts it beside the program that it runs. Those of others may be children
/// of an ancestor further up.
fn find_daemon() -> Option<PathBuf> {
    let ancestors = std::iter::successors(Some(parent_id()), |pid| parent_of(*pid));
    ancestors.take_while(|pid| *pid > 1).find_map(daemon_beside)
}

/// A child of this process that is a driver. It is known by its name, which every user may read; what it has open not.
fn daemon_beside(parent: u32) -> Option<PathBuf> {
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut children = pids.filter(|pid| parent_of(*pid) == Some(parent));
    children.find_map(|pid| {
        let process = PathBuf::from(format!("/proc/{pid}"));
        let name = fs::read_to_string(process.join("comm")).ok()?;
        (name.trim_end() == DAEMON_NAME).then_some(process)
    })
}

fn parent_of(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    field(&status, "PPid:")?.parse().ok()
}

/// How often each thread has slept, if all sleep.
fn sleeps_of(process: &Path) -> Option<Sleeps> {
    let mut sleeps = Sleeps::new();
    for task in tasks_of(process) {
        let status = fs::read_to_string(task.join("status")).ok()?;
        if !field(&status, "State:")?.starts_with('S') {
            return None;
        }
        let count = field(&status, "voluntary_ctxt_switches:")?.parse().ok()?;
        sleeps.insert(task, count);
    }
    Some(sleeps)
}

/// The directories of a process's threads.
fn tasks_of(process: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(process.join("task")).into_iter().flatten();
    entries.flatten().map(|entry| entry.path())
}

/// Whether a thread runs, whatever it is about to do; not every user may ask.
fn is_running(task: &Path) -> bool {
    let call = fs::read_to_string(task.join("syscall"));
    call.is_ok_and(|call| call.starts_with("running"))
}

fn field<'s>(status: &'s str, name: &str) -> Option<&'s str> {
    status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

/// Whether this thread is the only one on the machine that wants to run.
fn is_alone() -> bool {
    let load = fs::read_to_string("/proc/loadavg").expect("/proc is mounted");
    load.split(' ').nth(3).is_some_and(|running| running.starts_with("1/"))
}
