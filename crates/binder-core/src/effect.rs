//! What the core wants done after a call has returned.

use crate::priority::{Priority, PriorityChange};
use crate::process::ProcessKey;
use crate::thread::ThreadKey;

/// What the front end must do after the call returns, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Effect {
    /// Resume the parked read of this thread.
    Wake(ThreadKey),
    /// Tell the poll(2) waiters of this process to look again.
    NotifyPoll(ProcessKey),
    /// Go on with a freeze that waits for this process: nothing is outstanding at it any more.
    Settled(ProcessKey),
    /// Give a thread of a process this priority.
    SetPriority {
        /// The number of the process.
        pid: u32,
        /// The number of the thread.
        tid: u32,
        /// The priority.
        priority: Priority,
        /// Why it gets that.
        change: PriorityChange,
    },
}
