//! What the program has of a lane by which it is called.
//!
//! No descriptor stays of it. Who calls is asked at each call by the owner of the directory that the kernel has in /proc for the
//! caller's thread, which is its effective user. That it is the thread that the driver has told of, the number and
//! the birth of the directory say: the kernel makes another one for another thread that gets the same number.

use core::ffi::CStr;
use core::mem::MaybeUninit;

use binder_lane::LaneSegment;
use binder_ring_client::ThreadInfo;
use binder_ring_client::lane::ServedPlace;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FsWord, Statx, StatxFlags};

use crate::lanes::MappedSegment;
use crate::room_buffers::TakenBuffer;

/// What the program has of a lane by which it is called.
#[derive(Debug)]
pub(crate) struct ProgramServed {
    pub(crate) segment: MappedSegment,
    /// Where the call lies, until it is freed.
    pub(crate) buffer: TakenBuffer,
    pub(crate) caller: CallerThread,
}

/// The thread that calls, as /proc has it.
#[derive(Debug)]
pub(crate) struct CallerThread {
    path: [u8; PATH_BYTES],
    directory: Directory,
}

/// Which directory it is, since when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Directory {
    device: [u32; 2],
    number: u64,
    since: (i64, u32),
}

/// Of "/proc/4294967295" and the end.
const PATH_BYTES: usize = 17;

impl ServedPlace for ProgramServed {
    fn segment(&self) -> LaneSegment {
        self.segment.get()
    }

    fn caller_uid(&self) -> Option<u32> {
        let (directory, uid) = look_at(&self.caller.path)?;
        (directory == self.caller.directory).then_some(uid)
    }
}

impl CallerThread {
    /// The thread of a pidfd, while that is open: it keeps its number at least until the second look.
    pub(crate) fn of(pidfd: &OwnedFd) -> Option<Self> {
        let before = ThreadInfo::of(pidfd.as_fd()).ok()?;
        if !is_own_proc() {
            return None;
        }
        let path = path_of(before.tid);
        let (directory, uid) = look_at(&path)?;
        let after = ThreadInfo::of(pidfd.as_fd()).ok()?;
        // The driver's other ways to it tell the user of file systems. A thread for which that is another one goes there.
        (before == after && after.fsuid == uid).then_some(Self { path, directory })
    }
}

/// "/proc/" and the number.
fn path_of(tid: u32) -> [u8; PATH_BYTES] {
    let mut path = *b"/proc/\0\0\0\0\0\0\0\0\0\0\0";
    let (mut rest, digits) = (tid, tid.checked_ilog10().unwrap_or(0) as usize + 1);
    for place in path[6..6 + digits].iter_mut().rev() {
        // A digit fits.
        *place = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    path
}

/// Which directory is there, and whose.
fn look_at(path: &[u8; PATH_BYTES]) -> Option<(Directory, u32)> {
    const WANTED: StatxFlags = StatxFlags::UID.union(StatxFlags::INO).union(StatxFlags::CTIME);
    let path = CStr::from_bytes_until_nul(path).ok()?;
    let found: Statx = rustix::fs::statx(CWD, path, AtFlags::STATX_DONT_SYNC, WANTED).ok()?;
    let directory = Directory {
        device: [found.stx_dev_major, found.stx_dev_minor],
        number: found.stx_ino,
        since: (found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec),
    };
    Some((directory, found.stx_uid))
}

/// Whether /proc is the kernel's, and has the numbers that this process knows.
fn is_own_proc() -> bool {
    const PROC_SUPER_MAGIC: FsWord = 0x9fa0;
    let mut target = [MaybeUninit::uninit(); PATH_BYTES];
    let own = path_of(rustix::process::getpid().as_raw_nonzero().get().unsigned_abs());
    let own = own[6..].iter().take_while(|byte| **byte != 0);
    // One by one: to compare slices is a function of the C library's.
    rustix::fs::statfs(c"/proc").is_ok_and(|it| it.f_type == PROC_SUPER_MAGIC)
        && rustix::fs::readlinkat_raw(CWD, c"/proc/self", &mut target)
            .is_ok_and(|(target, _)| own.eq(&*target))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use rustix::process::PidfdFlags;

    use super::*;

    #[test]
    fn a_thread_is_told_from_one_that_gets_its_number() {
        assert_eq!(path_of(0)[..8], *b"/proc/0\0");
        assert_eq!(path_of(u32::MAX), *b"/proc/4294967295\0");
        assert!(is_own_proc(), "tests run with a /proc of their own");
        let own = rustix::process::getpid();
        let pidfd = rustix::process::pidfd_open(own, PidfdFlags::empty()).unwrap();
        // An older kernel has no lanes.
        let Ok(info) = ThreadInfo::of(pidfd.as_fd()) else { return };
        assert_eq!(info.tid, own.as_raw_nonzero().get().unsigned_abs());
        let caller = CallerThread::of(&pidfd).unwrap();
        let (directory, uid) = look_at(&caller.path).unwrap();
        assert_eq!(
            (directory, uid),
            (caller.directory, std::fs::metadata("/proc/self").unwrap().uid())
        );
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let path = path_of(child.id());
        let (of_child, _) = look_at(&path).unwrap();
        assert_ne!(of_child, directory);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(look_at(&path).is_none_or(|(later, _)| later != of_child));
    }
}
