//! The names and inodes under `binder_logs/`: Linux's, and those of our own tools in `anybinder/`.

use std::collections::BTreeMap;

use fuse_wire::FUSE_ROOT_ID;

/// The directory in the root.
pub(crate) const LOGS_NAME: &[u8] = b"binder_logs";

const LOGS: u64 = 1 << 8;
const PROCESSES: u64 = LOGS + 1;
const OURS: u64 = LOGS + 2;
const FIRST_FILE: u64 = LOGS + 16;
/// Added to the number of a process. Numbers from here on are never reached by counting up.
const FIRST_PROCESS: u64 = 1 << 48;

/// Whether data of transactions is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DataWanted {
    Yes,
    No,
}

/// A file that tells what the driver knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LogFile {
    Long(LongLog),
    Short(ShortLog),
    /// Events, and those to come: a read at the end waits.
    EventStream,
    /// All that happens from the open on, with the data of transactions or without.
    TraceStream(DataWanted),
}

/// A log of the driver's tables: as long as they are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum LongLog {
    State,
    StateHashed,
    Stats,
    Transactions,
    TransactionsHashed,
    /// All that one process has, by its number.
    Process(u32),
    ProcessRecords,
    CallRecords,
    StateRecords,
    StatsRecords,
}

/// One that keeps the last records of its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ShortLog {
    Transactions,
    FailedTransactions,
    Events,
}

/// The files of each directory, with names.
const FILES: [(u64, &str, LogFile); 15] = [
    (LOGS, "state", LogFile::Long(LongLog::State)),
    (LOGS, "state_hashed", LogFile::Long(LongLog::StateHashed)),
    (LOGS, "stats", LogFile::Long(LongLog::Stats)),
    (LOGS, "transactions", LogFile::Long(LongLog::Transactions)),
    (LOGS, "transactions_hashed", LogFile::Long(LongLog::TransactionsHashed)),
    (LOGS, "transaction_log", LogFile::Short(ShortLog::Transactions)),
    (LOGS, "failed_transaction_log", LogFile::Short(ShortLog::FailedTransactions)),
    (OURS, "processes.json", LogFile::Long(LongLog::ProcessRecords)),
    (OURS, "transactions.json", LogFile::Long(LongLog::CallRecords)),
    (OURS, "state.json", LogFile::Long(LongLog::StateRecords)),
    (OURS, "stats.json", LogFile::Long(LongLog::StatsRecords)),
    (OURS, "events.json", LogFile::Short(ShortLog::Events)),
    (OURS, "events.stream", LogFile::EventStream),
    (OURS, "trace.stream", LogFile::TraceStream(DataWanted::No)),
    (OURS, "trace_data.stream", LogFile::TraceStream(DataWanted::Yes)),
];

/// Directories: where each is, its name, its inode.
const DIRECTORIES: [(u64, &str, u64); 3] =
    [(FUSE_ROOT_ID, "binder_logs", LOGS), (LOGS, "proc", PROCESSES), (LOGS, "anybinder", OURS)];

/// What an inode of ours stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LogPlace {
    Directory,
    File(LogFile),
}

/// The tree below `binder_logs`, and the processes in `proc/`.
#[derive(Debug, Default)]
pub(crate) struct Logs {
    /// Open files of each process.
    processes: BTreeMap<u32, usize>,
}

impl Logs {
    /// A process has opened a device.
    pub(crate) fn arrive(&mut self, pid: u32) {
        *self.processes.entry(pid).or_default() += 1;
    }

    /// A process has closed one.
    pub(crate) fn leave(&mut self, pid: u32) {
        if let Some(opens) = self.processes.get_mut(&pid) {
            *opens -= 1;
            if *opens == 0 {
                self.processes.remove(&pid);
            }
        }
    }

    /// Finds a name: its inode.
    pub(crate) fn lookup(&self, parent: u64, name: &[u8]) -> Option<u64> {
        if parent == PROCESSES {
            let pid = str::from_utf8(name).ok()?.parse().ok()?;
            // "+1" and "01" are numbers, too, but not how they are listed.
            let is_listed = self.processes.contains_key(&pid) && pid.to_string().as_bytes() == name;
            return is_listed.then(|| FIRST_PROCESS + u64::from(pid));
        }
        let mut entries = fixed_entries(parent);
        entries.find(|(_, found, _)| found.as_bytes() == name).map(|(node, ..)| node)
    }

    /// What an inode stands for.
    pub(crate) fn place(&self, node: u64) -> Option<LogPlace> {
        if DIRECTORIES.iter().any(|(.., directory)| *directory == node) {
            return Some(LogPlace::Directory);
        }
        if let Some(pid) = node.checked_sub(FIRST_PROCESS) {
            let pid = u32::try_from(pid).ok()?;
            let is_here = self.processes.contains_key(&pid);
            return is_here.then_some(LogPlace::File(LogFile::Long(LongLog::Process(pid))));
        }
        let index = usize::try_from(node.checked_sub(FIRST_FILE)?).ok()?;
        FILES.get(index).map(|(.., file)| LogPlace::File(*file))
    }

    /// Whether a name is for ever what it is.
    pub(crate) fn is_fixed(node: u64) -> bool {
        node < FIRST_PROCESS
    }

    /// The directory that a directory is in.
    pub(crate) fn parent(node: u64) -> u64 {
        let found = DIRECTORIES.iter().find(|(.., directory)| *directory == node);
        found.map_or(FUSE_ROOT_ID, |(parent, ..)| *parent)
    }

    /// The entries of a directory, also those that are ours of the root: inode, name, whether it is
    /// a directory.
    pub(crate) fn list(&self, node: u64) -> Vec<(u64, String, bool)> {
        if node == PROCESSES {
            let processes = self.processes.keys();
            let entry = |pid: &u32| (FIRST_PROCESS + u64::from(*pid), pid.to_string(), false);
            return processes.map(entry).collect();
        }
        fixed_entries(node)
            .map(|(node, name, is_directory)| (node, name.into(), is_directory))
            .collect()
    }
}

fn fixed_entries(parent: u64) -> impl Iterator<Item = (u64, &'static str, bool)> {
    let directories = DIRECTORIES.into_iter().filter(move |(of, ..)| *of == parent);
    let files = (FIRST_FILE..).zip(FILES).filter(move |(_, (of, ..))| *of == parent);
    directories
        .map(|(_, name, node)| (node, name, true))
        .chain(files.map(|(node, (_, name, _))| (node, name, false)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_listed_is_found_and_nothing_else() {
        let mut logs = Logs::default();
        logs.arrive(42);
        let mut files = 0;
        let mut todo = vec![FUSE_ROOT_ID];
        while let Some(directory) = todo.pop() {
            for (node, name, is_directory) in logs.list(directory) {
                assert_eq!(logs.lookup(directory, name.as_bytes()), Some(node), "{name}");
                match logs.place(node) {
                    Some(LogPlace::Directory) => {
                        assert!(is_directory, "{name}");
                        assert_eq!(Logs::parent(node), directory);
                        todo.push(node);
                    }
                    Some(LogPlace::File(_)) => files += usize::from(!is_directory),
                    None => panic!("{name} is nothing"),
                }
            }
            assert_eq!(logs.lookup(directory, b"nothing"), None);
        }
        assert_eq!(files, FILES.len() + 1);
    }

    #[test]
    fn a_process_is_listed_from_its_first_open_to_its_last_close() {
        let mut logs = Logs::default();
        logs.arrive(7);
        logs.arrive(7);
        let node = logs.lookup(PROCESSES, b"7").unwrap();
        assert_eq!(logs.place(node), Some(LogPlace::File(LogFile::Long(LongLog::Process(7)))));
        assert!(!Logs::is_fixed(node));
        for name in [&b"8"[..], b"07", b"+7", b"", b"seven"] {
            assert_eq!(logs.lookup(PROCESSES, name), None, "{name:?}");
        }
        logs.leave(7);
        assert_eq!(logs.lookup(PROCESSES, b"7"), Some(node));
        logs.leave(7);
        assert_eq!(logs.lookup(PROCESSES, b"7"), None);
        assert_eq!(logs.place(node), None);
    }
}
