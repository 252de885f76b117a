//! Failures, as they happen.

use alloc::string::{String, ToString};

use binder_core::{SendEnd, SendReport, TransactionKind};
use binder_uapi::{BR_DEAD_REPLY, name_of};
use serde::{Deserialize, Serialize};

use super::CallKind;

/// The reason of a call to handle 0 of a device without a context manager.
pub const NO_MANAGER: &str = "no context manager";

/// Something about a send that a person might want to know.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventRecord {
    /// Counts up by one for each event of the mount.
    pub seq: u64,
    /// When it was written down, in milliseconds of Unix time.
    pub unix_ms: u64,
    /// The device.
    pub device: String,
    /// The name of the `BR_` code for it.
    pub error: String,
    /// The cause, as a positive number, if there is one besides.
    pub errno: Option<i32>,
    /// The limit that it has met, that there was no context manager to take it, or what was in the
    /// way of the delivery of what had been accepted.
    pub reason: Option<String>,
    /// The debug id of the transaction.
    pub id: u32,
    /// Whether it is a call, a one-way or a reply.
    pub kind: CallKind,
    /// The sending process.
    pub from_pid: u32,
    /// The sending thread.
    pub from_tid: u32,
    /// The receiving process, if it was found.
    pub to_pid: Option<u32>,
    /// The receiving thread, if it had to be a certain one or had come to read.
    pub to_tid: Option<u32>,
    /// The debug id of the object called.
    pub node: Option<u32>,
    /// The handle that the sender named; 0, too, for a transaction that could not be delivered.
    pub handle: u32,
    /// The transaction's code.
    pub code: u32,
    /// The transaction's flags.
    pub flags: u32,
    /// Bytes of data, as the sender claims them.
    pub data_bytes: u64,
}

impl EventRecord {
    /// Makes a record of a report of the core.
    pub fn new(seq: u64, unix_ms: u64, device: &str, report: &SendReport) -> Self {
        let send = &report.send;
        let known = |number: u32| (number != 0).then_some(number);
        Self {
            seq,
            unix_ms,
            device: device.into(),
            error: name_of(report.error).to_string(),
            errno: match send.end {
                SendEnd::Refused { errno, .. } | SendEnd::Undelivered { errno, .. } => {
                    (errno != 0).then_some(errno)
                }
                SendEnd::Accepted | SendEnd::Incomplete => None,
            },
            reason: match send.end {
                SendEnd::Undelivered { reason, .. } => Some(reason.into()),
                SendEnd::Refused { .. } if lacks_manager(report) => Some(NO_MANAGER.into()),
                SendEnd::Refused { excess, .. } => excess.map(|excess| excess.to_string()),
                SendEnd::Accepted | SendEnd::Incomplete => None,
            },
            id: send.id,
            kind: send.kind.into(),
            from_pid: send.from_pid,
            from_tid: send.from_tid,
            to_pid: known(send.to_pid),
            to_tid: known(send.to_tid),
            node: known(send.node),
            handle: send.handle,
            code: send.code,
            flags: send.flags,
            data_bytes: send.data_size,
        }
    }
}

/// Whether a call to handle 0 has found no context manager behind that.
fn lacks_manager(report: &SendReport) -> bool {
    let SendReport { error, send } = report;
    *error == BR_DEAD_REPLY
        && send.kind != TransactionKind::Reply
        && send.handle == 0
        && send.to_pid == 0
}
