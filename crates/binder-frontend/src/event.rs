//! What comes in: the requests of clients, and what came of the actions that were taken for them.

use alloc::boxed::Box;

use binder_core::ProcessKey;
use binder_uapi::BINDER_WRITE_READ;

use crate::access::{AccessRequest, MemoryAccess};
use crate::calls::Call;
use crate::request::{CallingThread, RequestContext};

/// One thing that has happened. Events are moved often: their large parts are in boxes.
#[derive(Debug)]
pub enum Event {
    /// A thread makes an ioctl.
    Ioctl {
        /// The call, with the bytes of its struct.
        call: Box<Call>,
        /// The thread.
        thread: CallingThread,
        /// The whole number of the ioctl.
        command: u32,
    },
    /// A thread polls.
    Poll {
        /// Whose it is.
        request: Box<RequestContext>,
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
    Accessed(Box<AccessRequest>),
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

const _: () = assert!(size_of::<Event>() <= 40);

impl Event {
    /// The open file through which it came, and the number of the calling thread; of one that is asked for by
    /// a client.
    pub fn caller(&self) -> Option<(ProcessKey, u32)> {
        match self {
            Self::Ioctl { call, .. } => Some(call.context.caller()),
            Self::Poll { request, .. } => Some(request.caller()),
            Self::Accessed(access) => Some(access.request.caller()),
            Self::Flush { .. } | Self::Cancelled { .. } | Self::ModeSeen { .. } => None,
        }
    }

    /// Whether nothing comes of it that would need a date: a call goes on that was dated, or begins without commands that could
    /// be run already.
    pub fn is_dated_before(&self) -> bool {
        match self {
            Self::Accessed(access) => matches!(access.access, MemoryAccess::CopyOut(_)),
            Self::Ioctl { call, command, .. } => {
                *command == BINDER_WRITE_READ && call.fetched.is_none()
            }
            Self::Poll { .. }
            | Self::Flush { .. }
            | Self::Cancelled { .. }
            | Self::ModeSeen { .. } => false,
        }
    }

    /// The request that a client waits on, if one does.
    pub fn unique(&self) -> u64 {
        match self {
            Self::Ioctl { call, .. } => call.context.unique,
            Self::Poll { request, .. } => request.unique,
            Self::Accessed(access) => access.request.unique,
            Self::Flush { unique, .. }
            | Self::Cancelled { unique }
            | Self::ModeSeen { unique, .. } => *unique,
        }
    }
}
