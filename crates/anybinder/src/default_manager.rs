//! Whether a world is given a service manager that its user has not asked for.
//!
//! Most programs of a world look for one, and some are to be it. So there is none until a program has called for one in vain,
//! and a while after that no process has ever been it. The driver's journal tells of such calls.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use binder_os::private_dev::BINDERFS_DIR;
use binder_report::records::{EventRecord, NO_MANAGER};

use crate::cli::ManagerArguments;
use crate::failure::{Failure, failed};
use crate::servicemanager;

/// How long a manager of the command's own may take after the first call for one: Android's libraries call for theirs while it
/// starts, which on a busy machine takes a second and more.
const PATIENCE: Duration = Duration::from_secs(5);
const O_NONBLOCK: i32 = 0o4000;
const READ_BYTES: usize = 16 << 10;

/// Whether a program waits for a manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Demand {
    None,
    /// A program has called for one, and is to have one then.
    Since(Instant),
}

impl Demand {
    /// A manager was called for in vain.
    fn note(&mut self, now: Instant) {
        if *self == Self::None {
            *self = Self::Since(now);
        }
    }

    /// How long it is until a manager is due.
    fn time_left(self, now: Instant) -> Option<Duration> {
        match self {
            Self::None => None,
            Self::Since(since) => Some((since + PATIENCE).saturating_duration_since(now)),
        }
    }

    fn is_due(self, now: Instant) -> bool {
        self.time_left(now) == Some(Duration::ZERO)
    }
}

/// What a world's maker watches to give the world a manager.
#[derive(Debug)]
pub(crate) struct ManagerWatch {
    events: File,
    /// The beginning of a line of them.
    rest: Vec<u8>,
    demand: Demand,
    /// The device that gets one.
    device: String,
    arguments: ManagerArguments,
}

impl ManagerWatch {
    /// Watches the first device of the world that this process is in.
    pub(crate) fn new(device: &str, arguments: &ManagerArguments) -> Result<Self, Failure> {
        let path = record("events.stream");
        let events = OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(&path);
        let events = events.map_err(failed(&format!("opening {}", path.display())))?;
        let (rest, demand, device) = (Vec::new(), Demand::None, device.to_owned());
        let arguments = ManagerArguments { manager: true, ..arguments.clone() };
        Ok(Self { events, rest, demand, device, arguments })
    }

    /// How long it is until there may be something to do, beside events.
    pub(crate) fn time_left(&self, now: Instant) -> Option<Duration> {
        self.demand.time_left(now)
    }

    /// Does what is due, when there may be events, or the time is over. Says whether there is anything left to watch.
    pub(crate) fn advance(&mut self, now: Instant) -> bool {
        if !self.read(now) {
            return false;
        }
        if !self.demand.is_due(now) {
            return true;
        }
        if has_had_manager() {
            return false;
        }
        match servicemanager::start_quietly(Path::new(BINDERFS_DIR), &self.device, &self.arguments)
        {
            Ok(()) => {
                tracing::info!(device = self.device, "nobody is the service manager: ours is")
            }
            // As where the command's own has come just now.
            Err(failure) => {
                tracing::info!(device = self.device, %failure, "no service manager of ours")
            }
        }
        false
    }

    /// Takes the events that there are. Says whether there may be more.
    fn read(&mut self, now: Instant) -> bool {
        let mut bytes = [0; READ_BYTES];
        let len = match self.events.read(&mut bytes) {
            Ok(0) => return false,
            Ok(len) => len,
            Err(error) => {
                return matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted);
            }
        };
        self.rest.extend_from_slice(&bytes[..len]);
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            if is_call_in_vain(&line, &self.device) {
                self.demand.note(now);
            }
        }
        true
    }
}

impl AsFd for ManagerWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }
}

fn record(name: &str) -> PathBuf {
    [BINDERFS_DIR, "binder_logs", "anybinder", name].iter().collect()
}

/// Whether an event is a call to a device's service manager where there is none.
fn is_call_in_vain(line: &[u8], device: &str) -> bool {
    serde_json::from_slice(line).is_ok_and(|event: EventRecord| {
        event.device == device && event.reason.as_deref() == Some(NO_MANAGER)
    })
}

/// Whether a program has ever been a manager here. Who is one has an object, and before that no object comes to others.
fn has_had_manager() -> bool {
    let path: PathBuf = [BINDERFS_DIR, "binder_logs", "stats"].iter().collect();
    // A driver that has ended has nothing to tell.
    std::fs::read_to_string(path).map_or(true, |text| has_had_nodes(&text))
}

/// Reads how many nodes there have been in the statistics of a mount.
fn has_had_nodes(statistics: &str) -> bool {
    let line = statistics.lines().find_map(|line| line.strip_prefix("node: active "));
    let total = line.and_then(|line| line.split_once(" total ")).map(|(_, total)| total.trim());
    total.is_some_and(|total| total != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manager_is_due_a_while_after_the_first_call_for_one() {
        let start = Instant::now();
        let mut demand = Demand::None;
        assert!(!demand.is_due(start + PATIENCE) && demand.time_left(start).is_none());
        demand.note(start);
        demand.note(start + PATIENCE / 2);
        assert_eq!(demand.time_left(start + PATIENCE / 4), Some(PATIENCE / 4 * 3));
        assert!(!demand.is_due(start + PATIENCE / 2) && demand.is_due(start + PATIENCE));
    }

    #[test]
    fn who_has_had_an_object_may_have_been_a_manager() {
        let before = "binder stats:\nproc: active 1 total 1\n";
        assert!(!has_had_nodes(before));
        assert!(!has_had_nodes(&format!("{before}node: active 0 total 0\n")));
        assert!(has_had_nodes(&format!("{before}node: active 0 total 1\nref: active 0 total 0\n")));
    }
}
