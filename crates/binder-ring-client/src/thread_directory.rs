//! A thread as /proc has it.
//!
//! The kernel has a directory for each thread there, which belongs to the thread's effective user, whatever else of it is hidden.
//! Whose directory it is, its number and its birth say: the kernel makes another one for another thread that gets the same number,
//! and keeps none for longer than its thread.

use core::ffi::CStr;
use core::mem::MaybeUninit;

use binder_uapi::Errno;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FsWord, Statx, StatxFlags};
use rustix::path::Arg;

use crate::thread_info::ThreadInfo;

/// Which file or directory of /proc it is, since when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProcEntry {
    device: [u32; 2],
    number: u64,
    since: (i64, u32),
}

/// A thread of another process that is asked for its user again and again, without a descriptor that stays.
#[derive(Debug)]
pub struct CallerThread {
    path: [u8; PATH_BYTES],
    directory: ProcEntry,
}

/// Of "/proc/4294967295/comm" and the end.
const PATH_BYTES: usize = 22;

impl ProcEntry {
    /// What is at a path, from a directory on, and whose it is: a thread's directory is its effective user's. None if there is nothing, or it
    /// is hidden.
    #[inline(always)]
    pub fn look(at: impl AsFd, path: impl Arg) -> Option<(Self, u32)> {
        Self::look_with(at, path, AtFlags::STATX_DONT_SYNC)
    }

    #[inline(always)]
    fn look_with(at: impl AsFd, path: impl Arg, flags: AtFlags) -> Option<(Self, u32)> {
        const WANTED: StatxFlags = StatxFlags::UID.union(StatxFlags::INO).union(StatxFlags::CTIME);
        let found: Statx = rustix::fs::statx(at, path, flags, WANTED).ok()?;
        let entry = Self {
            device: [found.stx_dev_major, found.stx_dev_minor],
            number: found.stx_ino,
            since: (found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec),
        };
        Some((entry, found.stx_uid))
    }
}

impl CallerThread {
    /// The thread that a file of the driver's tells of: a pidfd, or where the kernel does not tell what that is of, the file with the
    /// thread's name in the driver's /proc, where its number is `tid`. None if it is not to be found here.
    ///
    /// The directory itself would be a way to all of the driver's /proc.
    pub fn of(file: &OwnedFd, tid: u32) -> Option<Self> {
        match ThreadInfo::of(file.as_fd()) {
            Ok(info) => Self::of_pidfd(file, info),
            Err(Errno::ESRCH) => None,
            Err(_) => Self::of_name(file, tid),
        }
    }

    /// It keeps its number at least until the second look.
    fn of_pidfd(pidfd: &OwnedFd, before: ThreadInfo) -> Option<Self> {
        if !is_own_proc() {
            return None;
        }
        let path = path_of(before.tid, b"");
        let (directory, uid) = look_at(&path)?;
        let after = ThreadInfo::of(pidfd.as_fd()).ok()?;
        // The driver's other ways to it tell the user of file systems. A thread for which that is another one goes there.
        (before == after && after.fsuid == uid).then_some(Self { path, directory })
    }

    /// The file is found here only where the driver and this process have the same /proc, and while the thread lives: so it has
    /// lived since the driver found the file.
    fn of_name(of_driver: &OwnedFd, tid: u32) -> Option<Self> {
        let path = path_of(tid, b"");
        let (directory, _) = look_at(&path)?;
        let (found, _) = look_at(&path_of(tid, b"/comm"))?;
        let flags = AtFlags::STATX_DONT_SYNC.union(AtFlags::EMPTY_PATH);
        let (expected, _) = ProcEntry::look_with(of_driver, c"", flags)?;
        (found == expected).then_some(Self { path, directory })
    }

    /// Its effective user at this moment. None if it has ended.
    #[inline(always)]
    pub fn uid(&self) -> Option<u32> {
        let (directory, uid) = look_at(&self.path)?;
        (directory == self.directory).then_some(uid)
    }
}

/// "/proc/", the number, and what follows.
fn path_of(tid: u32, rest: &[u8]) -> [u8; PATH_BYTES] {
    let mut path = [0; PATH_BYTES];
    let mut number = [0; 10];
    let (mut left, digits) = (tid, tid.checked_ilog10().unwrap_or(0) as usize + 1);
    for place in number[..digits].iter_mut().rev() {
        // A digit fits.
        *place = b'0' + (left % 10) as u8;
        left /= 10;
    }
    let bytes = b"/proc/".iter().chain(&number[..digits]).chain(rest);
    path.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
    path
}

/// Which directory is there, and whose.
#[inline(always)]
fn look_at(path: &[u8; PATH_BYTES]) -> Option<(ProcEntry, u32)> {
    ProcEntry::look(CWD, CStr::from_bytes_until_nul(path).ok()?)
}

/// Whether /proc is the kernel's, and has the numbers that this process knows.
fn is_own_proc() -> bool {
    const PROC_SUPER_MAGIC: FsWord = 0x9fa0;
    let mut target = [MaybeUninit::uninit(); PATH_BYTES];
    let own = path_of(rustix::process::getpid().as_raw_nonzero().get().unsigned_abs(), b"");
    let own = own[6..].iter().take_while(|byte| **byte != 0);
    // One by one: to compare slices is a function of the C library's.
    rustix::fs::statfs(c"/proc").is_ok_and(|it| it.f_type == PROC_SUPER_MAGIC)
        && rustix::fs::readlinkat_raw(CWD, c"/proc/self", &mut target)
            .is_ok_and(|(target, _)| own.eq(&*target))
}

#[cfg(test)]
mod tests {
    use std::format;
    use std::os::unix::fs::MetadataExt as _;
    use std::process::Command;

    use rustix::fs::{Mode, OFlags};
    use rustix::process::PidfdFlags;

    use super::*;

    fn open(path: &str) -> OwnedFd {
        rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap()
    }

    #[test]
    fn a_thread_is_told_from_one_that_gets_its_number() {
        assert_eq!(path_of(0, b"")[..8], *b"/proc/0\0");
        assert_eq!(path_of(u32::MAX, b"/comm"), *b"/proc/4294967295/comm\0");
        assert!(is_own_proc(), "tests run with a /proc of their own");
        let pid = std::process::id();
        let uid = std::fs::metadata("/proc/self").unwrap().uid();
        let by_name = CallerThread::of(&open(&format!("/proc/{pid}/comm")), pid).unwrap();
        assert_eq!(by_name.uid(), Some(uid));
        assert!(CallerThread::of(&open("/proc/self"), pid).is_none(), "another file");
        let own = rustix::process::getpid();
        let pidfd = rustix::process::pidfd_open(own, PidfdFlags::empty()).unwrap();
        // An older kernel does not tell what it is of.
        if ThreadInfo::of(pidfd.as_fd()).is_ok() {
            let caller = CallerThread::of(&pidfd, 0).unwrap();
            assert_eq!((caller.path, caller.directory), (by_name.path, by_name.directory));
        }
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let of_child = open(&format!("/proc/{}/comm", child.id()));
        assert!(CallerThread::of(&of_child, pid).is_none(), "it is another thread's");
        let caller = CallerThread::of(&of_child, child.id()).unwrap();
        assert_ne!(caller.directory, by_name.directory);
        assert_eq!(caller.uid(), Some(uid));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(caller.uid(), None);
        assert!(CallerThread::of(&of_child, child.id()).is_none());
    }
}
