//! What the kernel tells of a thread by its pidfd.

#![expect(unsafe_code, reason = "the question has no safe wrapper")]

use core::mem::offset_of;

use binder_uapi::Errno;
use rustix::fd::BorrowedFd;
use rustix::ioctl::{Updater, ioctl, opcode};

use crate::kernel::errno;

/// What a thread is at this moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadInfo {
    /// Its number, in the namespace of who asks.
    pub tid: u32,
    /// The user by whom it accesses files: its effective one, as a rule.
    pub fsuid: u32,
}

/// As `struct pidfd_info` was at first.
#[derive(Default)]
#[repr(C)]
struct PidfdInfo {
    mask: u64,
    cgroup: u64,
    /// Then the numbers of the process and of its parent.
    pid: u32,
    process: [u32; 2],
    /// Of user and group by turns: real, effective, saved, of file systems.
    ids: [u32; 8],
    exit_code: i32,
}

/// `PIDFD_GET_INFO`, since Linux 6.13.
pub const PIDFD_GET_INFO: u32 = opcode::read_write::<PidfdInfo>(0xff, 11);
/// `PIDFD_INFO_CREDS`: users are wanted, and were told.
const CREDS: u64 = 1 << 1;
/// The place of the user by which FUSE, too, names a caller.
const FSUID: usize = 6;

const _: () = assert!(size_of::<PidfdInfo>() == 64 && offset_of!(PidfdInfo, ids) == 28);

impl ThreadInfo {
    /// That of the thread, or of a process's first one.
    ///
    /// # Errors
    ///
    /// As the kernel answers: `ENOTTY` if it is older, `ESRCH` if the thread has ended.
    pub fn of(pidfd: BorrowedFd<'_>) -> Result<Self, Errno> {
        let mut info = PidfdInfo { mask: CREDS, ..PidfdInfo::default() };
        // SAFETY: the number of the question carries the size of `info`, to which the kernel writes no more.
        let question = unsafe { Updater::<PIDFD_GET_INFO, _>::new(&mut info) };
        // SAFETY: the question is one of a pidfd, and no other file knows it.
        unsafe { ioctl(pidfd, question) }.map_err(errno)?;
        if info.mask & CREDS == 0 {
            return Err(Errno::ESRCH);
        }
        Ok(Self { tid: info.pid, fsuid: info.ids[FSUID] })
    }
}
