//! System calls that a thread of another process makes for us: what puts files into its table.
//!
//! The thread waits in a system call that we are to answer. It is stopped on its way out, the
//! answer given meanwhile; then its own `syscall` instruction is run again with other registers.
//! To the program nothing has happened but that it has more files, or fewer.
//!
//! If the system call was answered by [`REPEAT`], then that is what happens unless all went well:
//! the kernel has the thread make the same call again, even if we should end half-way.

use std::os::fd::RawFd;

use rustix::io::Errno;

use crate::seccomp::SeccompFilter;
use crate::thread_status::ThreadStatus;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod registers;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod tracee;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use {registers::InjectedCall, tracee::Tracee};

/// The result of a system call that is made again before its program sees it, or is interrupted if
/// there is a signal to handle first (ERESTARTNOHAND).
///
/// The kernel looks for it only if the thread is to be stopped, or has a signal.
pub const REPEAT: i32 = -514;

/// As [`REPEAT`], but after a signal was handled the call is made all the same (ERESTARTNOINTR).
pub const REPEAT_ALWAYS: i32 = -513;

/// The error number with which the call of a thread that was [diverted](divert) is to fail for the thread to be
/// [stopped](StoppedThread::stop): the answer that is [`Answered::Diverted`].
///
/// On aarch64 the number of the call in the thread's registers is still that of its ioctl. So the kernel itself has that
/// made again, with its first argument, which it alone knows once a call is answered.
pub const DIVERTED: i32 = if cfg!(target_arch = "aarch64") { -REPEAT } else { libc::EINTR };

/// What was answered to the call that a thread waited in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// It is the call that the thread's program made.
    Itself,
    /// It is a [diversion](divert) from an ioctl, which has failed with [`DIVERTED`]: the ioctl is taken to have been
    /// answered by [`REPEAT`].
    Diverted,
}

/// Sends thread `tid` from the ioctl in which it waits until `answer` has been called, by
/// [`REPEAT_ALWAYS`], to the supervisor: it is about to make the call restart_syscall(2), which a
/// [filter](crate::seccomp) traps and which returns to the program in the place of the ioctl.
/// `ready` runs before that can happen.
///
/// The thread must have entered by the instruction of 64-bit programs, and have the filter. On aarch64 it may make the same
/// ioctl again instead, after the handler of a signal that came first.
///
/// # Errors
///
/// [`InjectionError`]. If `answer` was called, the thread is gone.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub fn divert(tid: u32, answer: impl FnOnce(), ready: impl FnOnce()) -> Result<(), InjectionError> {
    let number = i32::try_from(libc::SYS_restart_syscall).expect("system calls have small numbers");
    Tracee::divert(tid, number, answer, ready)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[expect(clippy::missing_errors_doc, reason = "as documented for the processor that can")]
#[expect(missing_docs, reason = "as documented for the processor that can")]
pub fn divert(_: u32, _: impl FnOnce(), _: impl FnOnce()) -> Result<(), InjectionError> {
    Err(InjectionError::Unsupported)
}

/// The descriptor of the ioctl by which a supervisor is asked for.
pub const NO_FILE: u32 = u32::MAX;

/// Why a thread could not be made to call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InjectionError {
    /// It ended, or was ended.
    #[error("the thread has ended")]
    Gone,
    /// A debugger or strace(1) has it.
    #[error("the thread is traced by another process")]
    Traced,
    /// Its own seccomp filters might end it for our calls.
    #[error("the thread has seccomp filters of its own")]
    Filtered,
    /// It entered the kernel by no instruction that is known.
    #[error("the thread has made no system call that is known")]
    Foreign,
    /// The system refused.
    #[error("{step}: {errno}")]
    Refused {
        /// What was tried.
        step: &'static str,
        /// What the system answered.
        errno: Errno,
    },
    /// Not written for this processor.
    #[error("not supported on this processor")]
    Unsupported,
}

impl InjectionError {
    /// The cause, as a number of the system's and in constant words.
    #[must_use]
    pub fn cause(self) -> (i32, &'static str) {
        let (errno, words) = match self {
            Self::Gone => (Errno::SRCH, "the receiving thread has ended"),
            Self::Traced => (Errno::PERM, "the receiver is traced by another process"),
            Self::Filtered => (Errno::PERM, "the receiver has seccomp filters of its own"),
            Self::Foreign => (Errno::PERM, "the receiver entered by no instruction that is known"),
            Self::Refused { step, errno } => (errno, step),
            Self::Unsupported => (Errno::NOSYS, "not supported on this processor"),
        };
        (errno.raw_os_error(), words)
    }
}

/// Why no files were installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InstallError {
    /// The process may not have as many files.
    #[error("the process has no room for more descriptors")]
    NoRoom,
    /// The thread could not be made to take them.
    #[error(transparent)]
    Injection(#[from] InjectionError),
}

/// What people are told of a receiver that may have no more files.
pub const NO_ROOM: &str = "the receiver has no room for more descriptors";

impl InstallError {
    /// The cause, as [`InjectionError::cause`].
    #[must_use]
    pub fn cause(self) -> (i32, &'static str) {
        match self {
            Self::NoRoom => (Errno::MFILE.raw_os_error(), NO_ROOM),
            Self::Injection(error) => error.cause(),
        }
    }
}

impl From<Errno> for InstallError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::MFILE | Errno::NFILE => Self::NoRoom,
            errno => InjectionError::Refused { step: "taking the files", errno }.into(),
        }
    }
}

/// Files as another process finds them: open in a process that it may trace.
#[derive(Debug, Clone, Copy)]
pub struct RemoteFiles<'n> {
    /// The number of the process, in the pid namespace of the process that takes the files.
    pub pid: u32,
    /// The descriptors there.
    pub numbers: &'n [RawFd],
}

/// A thread that was stopped on its way out of a system call.
///
/// Dropped, it goes on with the result that it had, which may be [`REPEAT`].
#[derive(Debug)]
pub struct StoppedThread {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    tracee: Tracee,
}

impl StoppedThread {
    /// Stops thread `tid`, which waits in a system call until `answer` has been called, and whose
    /// status is `status`.
    ///
    /// A thread with more than `expected_filters` seccomp filters is left alone, unless we may
    /// suspend them.
    ///
    /// # Errors
    ///
    /// [`InjectionError`]. If `answer` was called, the thread is gone.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub fn stop(
        tid: u32,
        status: &ThreadStatus,
        expected_filters: u32,
        answer: impl FnOnce() -> Answered,
    ) -> Result<Self, InjectionError> {
        Ok(Self { tracee: Tracee::stop(tid, status, expected_filters, answer)? })
    }

    /// Has the thread take files, close-on-exec and under the lowest free numbers, which are
    /// returned; all or none.
    ///
    /// One number more must be free for a moment.
    ///
    /// # Errors
    ///
    /// [`InstallError`].
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub fn install(&mut self, offer: RemoteFiles<'_>) -> Result<Vec<u32>, InstallError> {
        let mut taken = Vec::with_capacity(offer.numbers.len() + 1);
        match self.take(offer, &mut taken) {
            Ok(()) => Ok(taken),
            Err(error) => {
                for number in taken {
                    self.close(number)?;
                }
                Err(error)
            }
        }
    }

    /// Takes the files one by one. The first number goes to a pidfd of the offering process; in the
    /// end the last file has it, so that there is no gap, and all is in order.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn take(&mut self, offer: RemoteFiles<'_>, taken: &mut Vec<u32>) -> Result<(), InstallError> {
        let Some((first, others)) = offer.numbers.split_first() else { return Ok(()) };
        let pidfd = self.tracee.call(InjectedCall::PidfdOpen, [offer.pid.into(), 0, 0])??;
        taken.push(pidfd);
        for number in others.iter().chain([first]) {
            let number = number.cast_unsigned().into();
            let arguments = [pidfd.into(), number, 0];
            taken.push(self.tracee.call(InjectedCall::PidfdGetfd, arguments)??);
        }
        let last = taken[taken.len() - 1];
        let close_on_exec = u64::from(libc::O_CLOEXEC.cast_unsigned());
        self.tracee.call(InjectedCall::Dup3, [last.into(), pidfd.into(), close_on_exec])??;
        taken.pop();
        Ok(self.close(last)?)
    }

    /// Has the thread close a descriptor; one that is not open is left so.
    ///
    /// # Errors
    ///
    /// [`InjectionError::Gone`].
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub fn close(&mut self, number: u32) -> Result<(), InjectionError> {
        // The caller has no use for the system's answer.
        let _ = self.tracee.call(InjectedCall::Close, [number.into(), 0, 0])?;
        Ok(())
    }

    /// Whether a supervisor traps calls of the thread, and it can be [diverted](divert) there: an ioctl of nothing, to
    /// which it answers 0.
    ///
    /// # Errors
    ///
    /// As [`close`](Self::close).
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub fn is_supervised(&mut self) -> Result<bool, InjectionError> {
        let arguments = [NO_FILE.into(), binder_uapi::BINDER_THREAD_EXIT.into(), 0];
        Ok(self.tracee.call(InjectedCall::Ioctl, arguments)? == Ok(0))
    }

    /// The seccomp filters that decide about the thread's system calls.
    ///
    /// # Errors
    ///
    /// As [`close`](Self::close); [`InjectionError::Refused`] if we may not read them, for which CAP_SYS_ADMIN is needed
    /// and no filter of our own, or the kernel does not show them.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub fn filters(&mut self) -> Result<Vec<SeccompFilter>, InjectionError> {
        self.tracee.filters()
    }

    /// Lets the thread go on: its system call returns `result`, whatever it was answered.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub fn finish(self, result: i32) {
        self.tracee.finish(result);
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[expect(clippy::missing_errors_doc, reason = "as documented for the processor that can")]
#[expect(missing_docs, reason = "as documented for the processor that can")]
impl StoppedThread {
    pub fn stop(
        _: u32,
        _: &ThreadStatus,
        _: u32,
        _: impl FnOnce() -> Answered,
    ) -> Result<Self, InjectionError> {
        Err(InjectionError::Unsupported)
    }

    pub fn install(&mut self, _: RemoteFiles<'_>) -> Result<Vec<u32>, InstallError> {
        Err(InjectionError::Unsupported.into())
    }

    pub fn close(&mut self, _: u32) -> Result<(), InjectionError> {
        Err(InjectionError::Unsupported)
    }

    pub fn is_supervised(&mut self) -> Result<bool, InjectionError> {
        Err(InjectionError::Unsupported)
    }

    pub fn filters(&mut self) -> Result<Vec<SeccompFilter>, InjectionError> {
        Err(InjectionError::Unsupported)
    }

    pub fn finish(self, _: i32) {}
}

#[cfg(test)]
mod tests;
