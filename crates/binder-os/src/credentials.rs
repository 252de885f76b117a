//! Who a thread is at this moment, as its pidfd tells.

#![expect(unsafe_code, reason = "the question has no safe wrapper")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::process::PidfdFlags;

/// As `struct pidfd_info` was at first.
#[derive(Default)]
#[repr(C)]
struct PidfdInfo {
    mask: u64,
    cgroup: u64,
    /// pid, tgid, ppid, then uid and gid by turns: real, effective, saved, of file systems.
    ids: [u32; 11],
    exit_code: i32,
}

/// PIDFD_GET_INFO, since Linux 6.13: `_IOWR(0xff, 11, 64 bytes)`.
const PIDFD_GET_INFO: libc::Ioctl = 0xc040_ff0b_u32 as libc::Ioctl;
/// PIDFD_INFO_CREDS: ids are wanted, and were told.
const CREDS: u64 = 1 << 1;
/// The place of the uid by which FUSE, too, names a caller.
const FSUID: usize = 9;

const _: () = assert!(size_of::<PidfdInfo>() == 64);

/// The uid by which a thread, or a process's first one, accesses files: its effective one, as a rule.
///
/// # Errors
///
/// As the kernel answers: `ENOTTY` if it is older, `ESRCH` if the thread has ended.
pub fn fsuid(pidfd: BorrowedFd<'_>) -> io::Result<u32> {
    let mut info = PidfdInfo { mask: CREDS, ..PidfdInfo::default() };
    // SAFETY: the number of the question carries the size of `info`, to which the kernel writes no more.
    let result = unsafe { libc::ioctl(pidfd.as_raw_fd(), PIDFD_GET_INFO, &raw mut info) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    if info.mask & CREDS == 0 {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    Ok(info.ids[FSUID])
}

/// Whether the kernel tells who a thread is.
///
/// # Errors
///
/// As [`fsuid`].
pub fn are_told() -> io::Result<()> {
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
        assert_eq!(are_told().is_ok(), fsuid(own.as_fd()).is_ok());
    }
}
