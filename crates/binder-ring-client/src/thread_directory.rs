//! A thread as /proc has it.
//!
//! The kernel has a directory for each thread there, which belongs to the thread's effective user, whatever else of it is hidden.
//! Whose directory it is, its number and its birth say: the kernel makes another one for another thread that gets the same number,
//! and keeps none for longer than its thread.

use core::ffi::CStr;
use core::mem::MaybeUninit;

use rustix::fd::{AsFd, AsRawFd as _, OwnedFd};
use rustix::fs::{AtFlags, CWD, FsWord, Mode, OFlags, Statx, StatxFlags};
use rustix::path::Arg;

use crate::thread_info::ThreadInfo;

/// Which directory of /proc it is, since when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProcEntry {
    device: [u32; 2],
    number: u64,
    since: (i64, u32),
}

/// A thread of another process that is asked for its user again and again, without a descriptor that stays.
#[derive(Debug)]
pub struct CallerThread {
    path: ProcPath,
    directory: ProcEntry,
}

/// A path below /proc.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ProcPath {
    /// Zeros behind it.
    bytes: [u8; PATH_BYTES],
    len: usize,
}

/// Of "/proc/thread-self/fdinfo/4294967295" and the end.
const PATH_BYTES: usize = 36;
/// Of what is told of a pidfd, the number of the process is among the first.
const FDINFO_BYTES: usize = 256;

impl ProcEntry {
    /// What is at a path, from a directory on, and whose it is: a thread's directory is its effective user's. None if there is nothing, or it
    /// is hidden.
    #[inline(always)]
    pub fn look(at: impl AsFd, path: impl Arg) -> Option<(Self, u32)> {
        const WANTED: StatxFlags = StatxFlags::UID.union(StatxFlags::INO).union(StatxFlags::CTIME);
        let found: Statx = rustix::fs::statx(at, path, AtFlags::STATX_DONT_SYNC, WANTED).ok()?;
        let entry = Self {
            device: [found.stx_dev_major, found.stx_dev_minor],
            number: found.stx_ino,
            since: (found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec),
        };
        Some((entry, found.stx_uid))
    }
}

impl CallerThread {
    /// The thread that a pidfd of the driver's tells of if `tid` is 0; else that of this number, as it is here, of the process of which the
    /// pidfd tells. None if it is not to be found in the /proc here.
    ///
    /// Its directory in the driver's /proc would be a way to all of that.
    pub fn of(pidfd: &OwnedFd, tid: u32) -> Option<Self> {
        if !is_own_proc() {
            return None;
        }
        match tid {
            0 => Self::of_thread(pidfd),
            _ => Self::of_process(pidfd, tid),
        }
    }

    /// It keeps its number at least until the second look.
    fn of_thread(pidfd: &OwnedFd) -> Option<Self> {
        let before = ThreadInfo::of(pidfd.as_fd()).ok()?;
        let path = ProcPath::of(before.tid);
        let (directory, uid) = path.look()?;
        let after = ThreadInfo::of(pidfd.as_fd()).ok()?;
        // The driver's other ways to it tell the user of file systems. A thread for which that is another one goes there.
        (before == after && after.fsuid == uid).then_some(Self { path, directory })
    }

    /// The process keeps its number at least until the second look, and has a thread of that number in between: a directory that was another
    /// thread's, before, is not found again.
    fn of_process(pidfd: &OwnedFd, tid: u32) -> Option<Self> {
        let process = process_of(pidfd)?;
        let path = ProcPath::of(tid);
        let (directory, _) = path.look()?;
        ProcPath::of(process).text(b"/task/").number(tid).look()?;
        (process_of(pidfd)? == process).then_some(Self { path, directory })
    }

    /// Its effective user at this moment. None if it has ended.
    #[inline(always)]
    pub fn uid(&self) -> Option<u32> {
        let (directory, uid) = self.path.look()?;
        (directory == self.directory).then_some(uid)
    }
}

impl ProcPath {
    /// The directory of a thread, or of a process.
    fn of(number: u32) -> Self {
        Self::below_proc(b"").number(number)
    }

    fn below_proc(text: &[u8]) -> Self {
        Self { bytes: [0; PATH_BYTES], len: 0 }.text(b"/proc/").text(text)
    }

    fn text(mut self, text: &[u8]) -> Self {
        // The last byte stays a zero.
        let free = &mut self.bytes[self.len..PATH_BYTES - 1];
        free.iter_mut().zip(text).for_each(|(place, byte)| *place = *byte);
        self.len += text.len().min(free.len());
        self
    }

    fn number(self, number: u32) -> Self {
        let mut digits = [0; 10];
        let (mut left, len) = (number, number.checked_ilog10().unwrap_or(0) as usize + 1);
        for place in digits[..len].iter_mut().rev() {
            // A digit fits.
            *place = b'0' + (left % 10) as u8;
            left /= 10;
        }
        self.text(&digits[..len])
    }

    fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }

    /// Which directory is there, and whose.
    #[inline(always)]
    fn look(&self) -> Option<(ProcEntry, u32)> {
        ProcEntry::look(CWD, self.as_c_str())
    }
}

/// The number, in this /proc, of the process that a pidfd is of. None if it has ended, or is not to be seen.
fn process_of(pidfd: &OwnedFd) -> Option<u32> {
    let descriptor = pidfd.as_raw_fd().cast_unsigned();
    let path = ProcPath::below_proc(b"thread-self/fdinfo/").number(descriptor);
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let told = rustix::fs::open(path.as_c_str(), flags, Mode::empty()).ok()?;
    let mut space = [MaybeUninit::uninit(); FDINFO_BYTES];
    let (bytes, _) = rustix::io::read(&told, &mut space).ok()?;
    pid_in(bytes)
}

/// The number in a line of its own that begins with `Pid:`.
fn pid_in(fdinfo: &[u8]) -> Option<u32> {
    const HEAD: &[u8; 6] = b"\nPid:\t";
    let at = fdinfo.windows(HEAD.len()).position(|bytes| bytes.iter().eq(HEAD))? + HEAD.len();
    let digits = fdinfo[at..].iter().take_while(|byte| **byte != b'\n');
    let append = |number: u32, digit: &u8| {
        let digit = digit.is_ascii_digit().then(|| u32::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    };
    // One that is not to be seen from here has none: 0.
    digits.copied().try_fold(0, |number, digit| append(number, &digit)).filter(|pid| *pid != 0)
}

/// Whether /proc is the kernel's, and has the numbers that this process knows.
fn is_own_proc() -> bool {
    const PROC_SUPER_MAGIC: FsWord = 0x9fa0;
    let mut target = [MaybeUninit::uninit(); PATH_BYTES];
    let own = ProcPath::of(rustix::process::getpid().as_raw_nonzero().get().unsigned_abs());
    let own = own.as_c_str().to_bytes().iter().skip(b"/proc/".len());
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

    use rustix::process::PidfdFlags;

    use super::*;

    fn pidfd_of(pid: u32) -> OwnedFd {
        let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
        rustix::process::pidfd_open(pid, PidfdFlags::empty()).unwrap()
    }

    #[test]
    fn paths_end_with_a_zero() {
        assert_eq!(ProcPath::of(0).as_c_str(), c"/proc/0");
        let longest = ProcPath::below_proc(b"thread-self/fdinfo/").number(u32::MAX);
        assert_eq!(longest.as_c_str(), c"/proc/thread-self/fdinfo/4294967295");
        assert_eq!(longest.text(b"/more").as_c_str(), longest.as_c_str());
    }

    #[test]
    fn a_pidfd_tells_the_number_of_its_process() {
        let told =
            |pid: &str| format!("pos:\t0\nflags:\t02000002\nmnt_id:\t15\nPid:\t{pid}\nNSpid:\t7\n");
        assert_eq!(pid_in(told("4294967295").as_bytes()), Some(u32::MAX));
        for none in ["-1", "0", "4294967296", "1x"] {
            assert_eq!(pid_in(told(none).as_bytes()), None, "{none}");
        }
        assert_eq!(pid_in(b"pos:\t0\nNSpid:\t7\n"), None, "it is none");
        let own = std::process::id();
        assert_eq!(process_of(&pidfd_of(own)), Some(own));
        let other = rustix::fs::open("/dev/null", OFlags::CLOEXEC, Mode::empty()).unwrap();
        assert_eq!(process_of(&other), None);
    }

    #[test]
    fn a_thread_is_told_from_one_that_gets_its_number() {
        assert!(is_own_proc(), "tests run with a /proc of their own");
        let pid = std::process::id();
        let uid = std::fs::metadata("/proc/self").unwrap().uid();
        let own = pidfd_of(pid);
        let by_number = CallerThread::of(&own, pid).unwrap();
        assert_eq!(by_number.uid(), Some(uid));
        assert!(CallerThread::of(&own, 1).is_none(), "another process's");
        let tid = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        assert_ne!(CallerThread::of(&own, tid).unwrap().directory, by_number.directory);
        // An older kernel does not tell what it is of.
        if ThreadInfo::of(own.as_fd()).is_ok() {
            let caller = CallerThread::of(&own, 0).unwrap();
            assert_eq!((caller.path, caller.directory), (by_number.path, by_number.directory));
        }
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let of_child = pidfd_of(child.id());
        assert!(CallerThread::of(&of_child, pid).is_none(), "it is another's");
        let caller = CallerThread::of(&of_child, child.id()).unwrap();
        assert_ne!(caller.directory, by_number.directory);
        assert_eq!(caller.uid(), Some(uid));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(caller.uid(), None);
        assert!(CallerThread::of(&of_child, child.id()).is_none());
    }
}
