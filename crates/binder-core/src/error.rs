//! What goes wrong: the call (`Errno`), or a transaction (`Refusal`).

pub use binder_uapi::Errno;
use binder_uapi::{BR_DEAD_REPLY, BR_FAILED_REPLY, BR_FROZEN_REPLY};

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
