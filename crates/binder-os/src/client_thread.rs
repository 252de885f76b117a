//! A thread of a client, told from others that come to have its number.

#![expect(unsafe_code, reason = "pidfds of threads have no safe wrapper")]

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec};

use crate::client_memory::ClientMemory;

/// PIDFD_THREAD: a pidfd of one thread, since Linux 6.9.
const PIDFD_THREAD: libc::c_uint = libc::O_EXCL as libc::c_uint;

/// A thread that was seen to belong to a process.
#[derive(Debug)]
pub struct ClientThread {
    tid: u32,
    /// Absent where the kernel has no such thing, or we have too many; every look is then one into
    /// /proc.
    pidfd: Option<ThreadFd>,
}

/// A pidfd of a thread, one of a limited number.
#[derive(Debug)]
struct ThreadFd(OwnedFd);

/// How many there are in this process.
static OPEN: AtomicUsize = AtomicUsize::new(0);

impl ThreadFd {
    /// Opens one, unless all together would take half of the descriptors that this process may have.
    fn open(tid: u32) -> Option<Self> {
        static MAX: OnceLock<usize> = OnceLock::new();
        let max = *MAX.get_or_init(|| {
            let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
            limit.and_then(|limit| usize::try_from(limit / 2).ok()).unwrap_or(usize::MAX)
        });
        if OPEN.load(Ordering::Relaxed) >= max {
            return None;
        }
        let fd = open(tid).ok()?;
        OPEN.fetch_add(1, Ordering::Relaxed);
        Some(Self(fd))
    }
}

impl Drop for ThreadFd {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ClientThread {
    /// Finds thread `tid`, one of whose requests is unanswered, among those of a process.
    #[must_use]
    pub fn find(process: &ClientMemory, tid: u32) -> Option<Self> {
        process.has_thread(tid).then(|| Self { tid, pidfd: ThreadFd::open(tid) })
    }

    /// A descriptor that becomes readable when it ends, if there is one.
    pub(crate) fn pidfd(&self) -> Option<&OwnedFd> {
        self.pidfd.as_ref().map(|ThreadFd(fd)| fd)
    }

    /// Whether it still lives, so that its number cannot be another's.
    #[must_use]
    pub fn is_alive(&self, process: &ClientMemory) -> bool {
        let Some(ThreadFd(pidfd)) = &self.pidfd else { return process.has_thread(self.tid) };
        // It becomes readable when the thread ends, before its number is free.
        let mut watched = [PollFd::new(pidfd, PollFlags::IN)];
        let ended = rustix::event::poll(&mut watched, Some(&Timespec::default()));
        ended.is_ok_and(|ended| ended == 0)
    }
}

fn open(tid: u32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes no memory.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, tid, PIDFD_THREAD) };
    let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: a descriptor that the kernel has just given us, and nobody else knows.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn a_thread_is_alive_until_it_ends() {
        let process = ClientMemory::open(std::process::id()).unwrap();
        let (tell, told) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()).unwrap();
            let _ = ended.recv();
        });
        let tid = told.recv().unwrap();
        let found = ClientThread::find(&process, tid).unwrap();
        assert!(found.is_alive(&process));
        // What a kernel without such descriptors leaves to look at.
        let unwatched = ClientThread { tid, pidfd: None };
        assert!(unwatched.is_alive(&process));
        drop(end);
        thread.join().unwrap();
        while process.has_thread(tid) {
            thread::yield_now();
        }
        assert!(!found.is_alive(&process) && !unwatched.is_alive(&process));
        assert!(ClientThread::find(&process, tid).is_none());
        assert!(ClientThread::find(&process, 1).is_none(), "process 1 is not ours");
    }
}
