//! A thread of a client, told from others that come to have its number.

#![expect(unsafe_code, reason = "pidfds of threads have no safe wrapper")]

use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec};

use crate::client_memory::ClientMemory;

/// PIDFD_THREAD: a pidfd of one thread, since Linux 6.9.
const PIDFD_THREAD: libc::c_uint = libc::O_EXCL as libc::c_uint;

/// A thread that was seen to belong to a process.
#[derive(Debug)]
pub struct ClientThread {
    tid: u32,
    /// Absent where the kernel has no such thing, or none can be spared.
    pidfd: Option<OwnedFd>,
}

impl ClientThread {
    /// Finds thread `tid`, one of whose requests is unanswered, among those of a process.
    #[must_use]
    pub fn find(process: &ClientMemory, tid: u32) -> Option<Self> {
        process.has_thread(tid).then(|| Self { tid, pidfd: pidfd(tid).ok() })
    }

    /// The same, without a descriptor: every look at it is then one into /proc.
    #[must_use]
    pub fn find_by_number(process: &ClientMemory, tid: u32) -> Option<Self> {
        process.has_thread(tid).then_some(Self { tid, pidfd: None })
    }

    /// Goes on without a descriptor.
    pub fn forgo_descriptor(&mut self) {
        self.pidfd = None;
    }

    /// The pidfd of this very thread, where the kernel has such a thing.
    #[must_use]
    pub fn pidfd(&self) -> Option<BorrowedFd<'_>> {
        self.pidfd.as_ref().map(AsFd::as_fd)
    }

    /// Whether it still lives, so that its number cannot be another's.
    #[must_use]
    pub fn is_alive(&self, process: &ClientMemory) -> bool {
        let Some(pidfd) = &self.pidfd else { return process.has_thread(self.tid) };
        !has_ended(pidfd)
    }

    /// Whether it has ended. The first thread of a process may have although it
    /// [is alive](Self::is_alive): its number stays with the process.
    #[must_use]
    pub fn has_ended(&self, process: &ClientMemory) -> bool {
        self.pidfd.as_ref().map_or_else(|| !process.runs_thread(self.tid), has_ended)
    }
}

/// Whether the thread, or all of the process, behind a pidfd has ended. It has before its number is free.
#[must_use]
pub fn has_ended(pidfd: &OwnedFd) -> bool {
    let mut watched = [PollFd::new(pidfd, PollFlags::IN)];
    let ended = rustix::event::poll(&mut watched, Some(&Timespec::default()));
    ended.is_ok_and(|ended| ended > 0)
}

/// Opens a pidfd of thread `tid`, where the kernel has such a thing.
pub(crate) fn pidfd(tid: u32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes no memory.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, tid, PIDFD_THREAD) };
    let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: a descriptor that the kernel has just given us, and no other code knows.
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
        assert!(unwatched.is_alive(&process) && !unwatched.has_ended(&process));
        drop(end);
        thread.join().unwrap();
        while process.has_thread(tid) {
            thread::yield_now();
        }
        assert!(!found.is_alive(&process) && !unwatched.is_alive(&process));
        assert!(found.has_ended(&process) && unwatched.has_ended(&process));
        assert!(ClientThread::find(&process, tid).is_none());
        assert!(ClientThread::find(&process, 1).is_none(), "process 1 is not ours");
    }
}
