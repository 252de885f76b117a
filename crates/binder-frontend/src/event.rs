//! What comes in: the requests of clients, and what came of the actions that were taken for them.

use binder_core::ProcessKey;

use crate::access::Accessed;
use crate::request::{CallingThread, RequestContext};

/// One thing that has happened.
#[derive(Debug)]
pub enum Event {
    /// A thread makes an ioctl.
    Ioctl {
        /// Whose it is.
        request: RequestContext,
        /// The thread.
        thread: CallingThread,
        /// The whole number of the ioctl.
        command: u32,
        /// The bytes of its struct.
        data: [u8; 48],
        /// How many of them it has.
        len: usize,
    },
    /// A thread polls.
    Poll {
        /// Whose it is.
        request: RequestContext,
        /// The thread.
        thread: CallingThread,
        /// By which to tell the pollers to look again, if they want to be told.
        handle: Option<u64>,
    },
    /// A descriptor of the file was closed.
    Flush {
        /// The request to answer.
        unique: u64,
        /// The open file.
        process: ProcessKey,
    },
    /// An access that was [asked for](crate::Action::Access) has ended.
    Accessed(Accessed),
    /// An access was cut off, or has not begun and never will: its thread has a signal to handle.
    Cancelled {
        /// The request of the call.
        unique: u64,
    },
    /// It was looked whether `O_NONBLOCK` is set, for a call that [waits for it](crate::Action::LookAtMode).
    ModeSeen {
        /// The request of the call.
        unique: u64,
        /// Whether it is. `None` if that takes longer: the call may sleep until then.
        is_nonblocking: Option<bool>,
    },
}

impl Event {
    /// The open file through which it came, and the number of the calling thread; of one that is asked for by
    /// a client.
    pub fn caller(&self) -> Option<(ProcessKey, u32)> {
        match self {
            Self::Ioctl { request, .. } | Self::Poll { request, .. } => {
                Some((request.process, request.tid))
            }
            Self::Accessed(Accessed { request, .. }) => Some((request.process, request.tid)),
            Self::Flush { .. } | Self::Cancelled { .. } | Self::ModeSeen { .. } => None,
        }
    }

    /// The request that a client waits on, if one does.
    pub fn unique(&self) -> u64 {
        match self {
            Self::Ioctl { request, .. } | Self::Poll { request, .. } => request.unique,
            Self::Accessed(Accessed { request, .. }) => request.unique,
            Self::Flush { unique, .. }
            | Self::Cancelled { unique }
            | Self::ModeSeen { unique, .. } => *unique,
        }
    }
}
