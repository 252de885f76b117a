//! What goes wrong: the call (`Errno`), or a transaction (`Refusal`).

use binder_uapi::{BR_DEAD_REPLY, BR_FAILED_REPLY, BR_FROZEN_REPLY};

/// Why a call into the driver failed, as the ioctl's errno.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[repr(i32)]
pub enum Errno {
    /// Not allowed.
    #[error("operation not permitted")]
    EPERM = 1,
    /// The receiver has no receive buffer (any more).
    #[error("no such process")]
    ESRCH = 3,
    /// A signal ended the wait.
    #[error("interrupted")]
    EINTR = 4,
    /// No such descriptor.
    #[error("bad file descriptor")]
    EBADF = 9,
    /// Nothing to read, and the caller does not wait.
    #[error("nothing ready")]
    EAGAIN = 11,
    /// Out of ids or memory.
    #[error("out of memory")]
    ENOMEM = 12,
    /// The client's memory could not be read or written.
    #[error("bad address")]
    EFAULT = 14,
    /// There is a context manager.
    #[error("busy")]
    EBUSY = 16,
    /// Malformed or out of place.
    #[error("invalid argument")]
    EINVAL = 22,
    /// As many files as may be open.
    #[error("too many open files")]
    EMFILE = 24,
    /// The receive buffer, or its share for one-way transactions, is full.
    #[error("no space in the receive buffer")]
    ENOSPC = 28,
    /// A reply or call that the thread's transaction stack does not allow.
    #[error("protocol error")]
    EPROTO = 71,
}

impl Errno {
    /// The number, as user space has it.
    pub fn number(self) -> i32 {
        self as i32
    }
}

impl From<crate::env::CopyFault> for Errno {
    fn from(_: crate::env::CopyFault) -> Self {
        Self::EFAULT
    }
}

/// What the sender of a refused transaction reads back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Failed,
    Dead,
    Frozen,
}

impl Verdict {
    pub(crate) fn code(self) -> u32 {
        match self {
            Self::Failed => BR_FAILED_REPLY,
            Self::Dead => BR_DEAD_REPLY,
            Self::Frozen => BR_FROZEN_REPLY,
        }
    }
}

/// A transaction that the driver did not accept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Refusal {
    pub(crate) verdict: Verdict,
    /// Kept for the extended error; none if the verdict says it all.
    pub(crate) cause: Option<Errno>,
}

impl Refusal {
    pub(crate) fn failed(cause: Errno) -> Self {
        Self { verdict: Verdict::Failed, cause: Some(cause) }
    }

    pub(crate) fn dead(cause: Errno) -> Self {
        Self { verdict: Verdict::Dead, cause: Some(cause) }
    }

    pub(crate) fn frozen() -> Self {
        Self { verdict: Verdict::Frozen, cause: None }
    }
}

impl<E: Into<Errno>> From<E> for Refusal {
    fn from(cause: E) -> Self {
        Self::failed(cause.into())
    }
}
