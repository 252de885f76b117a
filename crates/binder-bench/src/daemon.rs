//! The process that serves the device, seen from outside.

use std::fs;
use std::io;

use rustix::thread::CpuSet;

use crate::affinity::PinnedProcess;
use crate::error::{BenchError, failed};

/// The process that serves the device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Daemon {
    pub(crate) pid: u32,
}

/// What a process takes of the memory, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    /// Its pages, of shared ones its share.
    pub(crate) pss: i64,
    /// Its pages that no other process shares.
    pub(crate) private: i64,
    /// Its pages, shared ones in full.
    pub(crate) rss: i64,
}

/// In this variable `anybinder run` tells the processes inside who serves their devices.
const DAEMON_PID: &str = "ANYBINDER_DAEMON_PID";

impl Daemon {
    /// Returns the process named by the user, else the one named by the environment.
    pub(crate) fn find(named: Option<u32>) -> Option<Self> {
        let pid = named.or_else(|| std::env::var(DAEMON_PID).ok()?.parse().ok())?;
        Some(Self { pid })
    }

    /// Whether we are inside a world, where the environment names the daemon.
    pub(crate) fn is_told() -> bool {
        std::env::var_os(DAEMON_PID).is_some()
    }

    /// Pins it to `cores`, or returns why not.
    pub(crate) fn pin(self, cores: CpuSet) -> Result<PinnedProcess, BenchError> {
        PinnedProcess::new(self.pid, cores)
    }

    /// Measures its memory.
    pub(crate) fn memory(self) -> Result<Memory, BenchError> {
        let pid = self.pid;
        let read = || {
            let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
            let private = kib(&rollup, "Private_Clean")? + kib(&rollup, "Private_Dirty")?;
            let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
            Ok(Memory { pss: kib(&rollup, "Pss")?, private, rss: kib(&status, "VmRSS")? })
        };
        read().map_err(failed::<io::Error>(format!("reading the memory of process {pid}")))
    }
}

/// Returns how long the threads of a process have run, in nanoseconds; `None` where the kernel does
/// not tell.
///
/// Exact for threads that sleep. The time of a thread that has ended is lost.
pub(crate) fn cpu_ns(pid: u32) -> Option<u64> {
    fs::metadata(format!("/proc/{pid}/schedstat")).ok()?;
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    let run = threads.filter_map(|thread| {
        let schedstat = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        schedstat.split(' ').next()?.parse::<u64>().ok()
    });
    Some(run.sum())
}

/// Returns, in bytes, a line of KiB of a file in /proc.
fn kib(file: &str, name: &str) -> io::Result<i64> {
    let mut lines = file.lines();
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let number = value.and_then(|value| value.trim().strip_suffix(" kB")?.parse::<i64>().ok());
    let kib = number.ok_or_else(|| io::Error::other(format!("no line for {name}")))?;
    Ok(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_by_its_whole_name() {
        let rollup = "Pss_Dirty:    8 kB\nPss:            120 kB\nRss: many\n";
        assert_eq!(kib(rollup, "Pss").unwrap(), 120 * 1024);
        assert!(kib(rollup, "Rss").is_err());
        assert!(kib(rollup, "Dirty").is_err());
    }

    #[test]
    fn our_own_memory_and_time_can_be_read() {
        let ours = Daemon { pid: std::process::id() };
        let memory = ours.memory().unwrap();
        assert!(0 < memory.private && memory.private <= memory.pss && 0 < memory.rss);
        assert!(cpu_ns(ours.pid).is_some_and(|ns| ns > 0));
        assert_eq!(cpu_ns(0), None);
    }

    #[test]
    fn the_user_knows_better_than_the_environment() {
        assert_eq!(Daemon::find(Some(7)).map(|daemon| daemon.pid), Some(7));
    }
}
