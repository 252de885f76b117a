//! How many system calls a call takes, as strace counts them.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::TransportPeer;
use super::calls::{CallsOrder, Op};
use crate::error::{BenchError, failed};

/// Calls of the shorter of two rounds; the longer has as many more.
const CALLS: u32 = 200;

/// Counts what one call takes at the client and at the server; `None` without strace.
///
/// Each process is watched during a round and during one twice as long: what orders and answers
/// take is the same in both.
pub(super) fn of_one_call(
    peer: &mut TransportPeer,
    op: Op,
) -> Result<(Option<f64>, Option<f64>), BenchError> {
    let (client, server) = (peer.client.pid(), peer.server.pid());
    Ok((count(peer, op, client)?, count(peer, op, server)?))
}

fn count(peer: &mut TransportPeer, op: Op, pid: u32) -> Result<Option<f64>, BenchError> {
    let mut during = |calls| -> Result<Option<u32>, BenchError> {
        let Some(watch) = Watch::start(pid)? else {
            return Ok(None);
        };
        let _: Vec<u64> = peer.client.ask_beside(&mut peer.server, &CallsOrder { op, calls })?;
        watch.finish()
    };
    let (Some(short), Some(long)) = (during(CALLS)?, during(2 * CALLS)?) else {
        return Ok(None);
    };
    Ok(Some((f64::from(long) - f64::from(short)) / f64::from(CALLS)))
}

/// A strace that is attached.
struct Watch {
    strace: Child,
    said: BufReader<std::process::ChildStderr>,
}

impl Watch {
    /// Attaches to all threads of a process; `None` if that cannot be.
    fn start(pid: u32) -> Result<Option<Self>, BenchError> {
        let started = Command::new("strace")
            .args(["-f", "-c", "-p", &pid.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let Ok(mut strace) = started else {
            return Ok(None);
        };
        let Some(said) = strace.stderr.take() else {
            return Ok(None);
        };
        let mut said = BufReader::new(said);
        let mut line = String::new();
        said.read_line(&mut line).map_err(failed("hearing strace"))?;
        // "strace: Process 1 attached", also if there are several threads.
        if line.contains("attached") {
            return Ok(Some(Self { strace, said }));
        }
        strace.wait().map_err(failed("waiting for strace"))?;
        Ok(None)
    }

    /// Detaches, and returns how many calls there were.
    fn finish(mut self) -> Result<Option<u32>, BenchError> {
        let tried = "ending strace";
        let pid = i32::try_from(self.strace.id()).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            rustix::process::kill_process(pid, rustix::process::Signal::INT)
                .map_err(failed(tried))?;
        }
        let mut total = None;
        for line in self.said.lines() {
            let line = line.map_err(failed("hearing strace"))?;
            // "100.00    0.001234           3       402        12 total": the errors may be missing.
            if line.ends_with(" total") {
                total = line.split_whitespace().nth(3).and_then(|count| count.parse().ok());
            }
        }
        self.strace.wait().map_err(failed(tried))?;
        // Nothing at all is not printed.
        Ok(Some(total.unwrap_or(0)))
    }
}
