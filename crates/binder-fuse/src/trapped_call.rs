//! A system call of a client that waits for our answer.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use binder_core::Errno;
use binder_os::seccomp::{NotifyFd, SeccompNotification, TrapAnswer};

use crate::strings::errno;

/// What becomes of a call about mounting.
pub(crate) enum MountAnswer {
    Proceed,
    Done,
    /// The call returns a descriptor of this, which is closed when another program is executed, or not.
    Given(Box<dyn AsFd>, bool),
}

/// A trapped call that waits for its answer. Whatever happens, it gets one.
pub(crate) struct UnansweredCall {
    listener: Arc<NotifyFd>,
    pub(crate) notification: SeccompNotification,
    is_over: bool,
}

impl UnansweredCall {
    pub(crate) fn new(listener: Arc<NotifyFd>, notification: SeccompNotification) -> Self {
        Self { listener, notification, is_over: false }
    }

    /// Whether the caller still waits, so that what was read of it was really its own.
    pub(crate) fn is_pending(&self) -> bool {
        self.listener.is_pending(&self.notification)
    }

    /// Adds a file to the descriptors of the caller, who waits on.
    pub(crate) fn add(&self, file: BorrowedFd<'_>) -> io::Result<u32> {
        self.listener.add(&self.notification, file)
    }

    pub(crate) fn end(mut self, outcome: Result<MountAnswer, Errno>) {
        let given = match outcome {
            Ok(MountAnswer::Proceed) => return self.answer(TrapAnswer::Proceed),
            Ok(MountAnswer::Done) => return self.answer(TrapAnswer::Done),
            Err(errno) => return self.answer(TrapAnswer::Refuse(errno.number())),
            Ok(MountAnswer::Given(file, is_cloexec)) => {
                self.listener.give(&self.notification, file.as_fd(), is_cloexec)
            }
        };
        match given {
            Ok(()) => self.is_over = true,
            Err(error) => self.answer(TrapAnswer::Refuse(errno(&error).number())),
        }
    }

    pub(crate) fn answer(mut self, answer: TrapAnswer) {
        self.answer_now(answer);
    }

    fn answer_now(&mut self, answer: TrapAnswer) {
        self.is_over = true;
        if let Err(error) = self.listener.answer(&self.notification, answer) {
            tracing::warn!(%error, ?answer, tid = self.notification.tid, "a call could not be answered");
        }
    }
}

impl Drop for UnansweredCall {
    fn drop(&mut self) {
        if !self.is_over {
            self.answer_now(TrapAnswer::Refuse(Errno::EIO.number()));
        }
    }
}
