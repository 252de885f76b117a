//! How often a server wakes up whose clients make no calls.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use serde::Serialize;

use super::{Transport, TransportPeer};
use crate::error::{BenchError, failed};

/// How long no client calls.
const REST_S: u32 = 2;

/// A line of the result.
#[derive(Debug, Clone, Serialize)]
pub(super) struct RestRow {
    transport: Transport,
    op: &'static str,
    wakeups_per_s: f64,
}

/// Counts the wake-ups of a server that rests.
pub(super) fn of_server(peer: &TransportPeer) -> Result<RestRow, BenchError> {
    let before = switches(peer.server.pid())?;
    thread::sleep(Duration::from_secs(REST_S.into()));
    let wakeups = switches(peer.server.pid())?.saturating_sub(before);
    let wakeups_per_s = f64::from(wakeups) / f64::from(REST_S);
    Ok(RestRow { transport: peer.transport, op: "rest", wakeups_per_s })
}

/// Returns how often all threads of a process have left the processor together: as often as they came
/// to it.
fn switches(pid: u32) -> Result<u32, BenchError> {
    let tried = || format!("counting the wake-ups of process {pid}");
    let tasks = PathBuf::from(format!("/proc/{pid}/task"));
    let mut count = 0;
    for task in fs::read_dir(tasks).map_err(failed(tried()))? {
        let status = task.map_err(failed(tried()))?.path().join("status");
        let status = fs::read_to_string(status).map_err(failed(tried()))?;
        count += status
            .lines()
            .filter_map(|line| line.split_once("_ctxt_switches:"))
            .filter_map(|(_, number)| number.trim().parse::<u32>().ok())
            .sum::<u32>();
    }
    Ok(count)
}

impl RestRow {
    /// Says it for people.
    pub(super) fn text(&self) -> String {
        let (name, wakeups) = (self.transport.name(), self.wakeups_per_s);
        format!("{name}: {wakeups} wake-ups a second of a server that nobody calls")
    }
}
