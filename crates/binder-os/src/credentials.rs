//! Who a thread is at this moment, as its pidfd tells.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use binder_ring_client::ThreadInfo;
use rustix::process::PidfdFlags;

/// The uid by which a thread, or a process's first one, accesses files: its effective one, as a rule.
///
/// # Errors
///
/// As the kernel answers: `ENOTTY` if it is older, `ESRCH` if the thread has ended.
pub fn fsuid(pidfd: BorrowedFd<'_>) -> io::Result<u32> {
    let info = ThreadInfo::of(pidfd);
    info.map(|info| info.fsuid).map_err(|error| io::Error::from_raw_os_error(error.number()))
}

/// Whether the kernel tells who a thread is.
///
/// # Errors
///
/// As [`fsuid`].
pub fn are_available() -> io::Result<()> {
    let own = rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty())?;
    fsuid(own.as_fd()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client_thread::pidfd;

    #[test]
    fn a_thread_is_who_it_is() {
        let tid = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        let own = pidfd(tid).unwrap();
        match fsuid(own.as_fd()) {
            Ok(uid) => assert_eq!(uid, rustix::process::geteuid().as_raw()),
            // An older kernel, which knows no such question.
            Err(error) => assert_eq!(error.raw_os_error(), Some(libc::ENOTTY)),
        }
        assert_eq!(are_available().is_ok(), fsuid(own.as_fd()).is_ok());
    }
}
