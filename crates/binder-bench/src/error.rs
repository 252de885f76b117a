//! Why a bench has no result.

use std::io;
use std::path::PathBuf;

use binder_os::OutOfBounds;

/// Why a bench has no result. A bad answer is an error, never a row of a table.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The system refused something.
    #[error("{tried}: {source}")]
    System {
        /// What was asked of it.
        tried: String,
        /// What it answered.
        source: io::Error,
    },
    /// A process of the bench failed, for the reason it told.
    #[error("{actor}: {reason}")]
    Actor {
        /// What it is to the bench.
        actor: String,
        /// What it told.
        reason: String,
    },
    /// The driver did not let a call through, or returned what has no place in a bench.
    #[error("the driver returned {0}")]
    Unexpected(&'static str),
    /// A new node did not come out as a new handle.
    #[error("node {node} arrived as {arrived}")]
    NoNewHandle {
        /// Which of the nodes sent.
        node: u32,
        /// What the server received.
        arrived: String,
    },
    /// A call came back, but not with the bytes sent.
    #[error("wrong echo: of {sent_bytes} bytes sent, {received_bytes} came back, or not the same")]
    WrongEcho {
        /// How many were sent.
        sent_bytes: usize,
        /// How many were received.
        received_bytes: usize,
    },
    /// The driver did what it must never do.
    #[error("broken promise: {0}")]
    Broken(String),
    /// The driver of the device keeps no logs, or none that may be read.
    #[error("the driver keeps no logs that may be read; try without `--floods logs`")]
    NoLogs,
    /// The trace of the device cannot be followed.
    #[error("following the trace of {}: {source}", .device.display())]
    Trace {
        /// The device.
        device: PathBuf,
        /// What was answered to the opening of it.
        source: io::Error,
    },
    /// A message does not fit into the memory shared for it.
    #[error(transparent)]
    TooLong(#[from] OutOfBounds),
    /// The device for the kernel's own binder is none.
    #[error("{} is not a character device, so it is not the kernel's binder", .0.display())]
    NotTheKernels(PathBuf),
    /// A search for an area of clear bits found another than the oldest of its kind.
    #[error(
        "no agreement on {cnt} clear bits of {bits}, which the plain search has at {expected:?}"
    )]
    WrongArea {
        /// How many clear bits were looked for.
        cnt: usize,
        /// How many bits there were.
        bits: usize,
        /// Where the plain search found them.
        expected: Option<usize>,
    },
    /// A way to search took more steps, or fewer, than the plain one.
    #[error("{line} took {iterations} steps instead of {plain_iterations}")]
    WrongCount {
        /// What was measured.
        line: &'static str,
        /// The steps it took.
        iterations: u64,
        /// The steps that the plain search took.
        plain_iterations: u64,
    },
    /// The bench is to use more processors than it may.
    #[error("{wanted} cores are wanted, and this process may use {allowed}")]
    FewerCores {
        /// How many are wanted.
        wanted: u32,
        /// How many it may use.
        allowed: u32,
    },
    /// The driver of the device keeps no statistics, or none that may be read.
    #[error(
        "the driver tells nothing of its locks: run the bench inside `anybinder run`, or the driver \
         as `anybinder mount --stats`"
    )]
    NoStatistics,
    /// The process that serves the device is not known.
    #[error(
        "which process serves the device is not known: name it with --daemon-pid, or run the bench \
         inside `anybinder run`"
    )]
    NoDaemon,
}

/// Says what was tried when the system refused it.
pub(crate) fn failed<E: Into<io::Error>>(tried: impl Into<String>) -> impl FnOnce(E) -> BenchError {
    |error| BenchError::System { tried: tried.into(), source: error.into() }
}
