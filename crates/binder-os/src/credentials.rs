//! Who a thread is at this moment.
//!
//! From Linux 6.13 on a pidfd tells the user by whom its thread accesses files, as FUSE does with each request. Before, the
//! thread's directory in /proc tells its effective user. The two differ for a thread that calls setfsuid(2).

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;

use binder_ring_client::{CallerThread, ProcEntry, ThreadInfo};
use rustix::process::PidfdFlags;

use crate::client_memory::ClientMemory;
use crate::proc_files;

/// The user of a thread.
///
/// Of the same thread that is the same user, two are equal. They may differ even so: then it has to be found out anew who calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadUser {
    /// The uid that the thread has.
    pub uid: u32,
    /// What tells the thread from another one that gets its number, where no pidfd does.
    directory: Option<ProcEntry>,
}

impl ThreadUser {
    /// That of thread `tid` of a process, of which there may be a pidfd. `None` if the thread has ended, or cannot be asked.
    #[must_use]
    pub fn of(process: &ClientMemory, tid: u32, pidfd: Option<BorrowedFd<'_>>) -> Option<Self> {
        match pidfd {
            Some(pidfd) if pidfds_tell() => {
                fsuid(pidfd).ok().map(|uid| Self { uid, directory: None })
            }
            _ => process
                .thread_directory(tid)
                .map(|(directory, uid)| Self { uid, directory: Some(directory) }),
        }
    }

    /// The same thread as another user: a request of its own, which is unanswered, says who it is.
    #[must_use]
    pub fn with_uid(self, uid: u32) -> Self {
        Self { uid, ..self }
    }
}

/// By what another process can find a living thread, to ask who it is. The thread's directory in our /proc would be a way to all of
/// that.
#[derive(Debug)]
pub struct ThreadReference {
    /// A pidfd.
    pub pidfd: OwnedFd,
    /// What the pidfd of the process leaves open: the thread's numbers, from our namespace to its own. `None` if it is the thread's.
    pub numbers: Option<Vec<u32>>,
}

impl ThreadReference {
    /// That of thread `tid`, of which there may be a pidfd, and of whose process there is one.
    ///
    /// # Errors
    ///
    /// As fcntl(2); `NotFound` if the thread has ended.
    pub fn of(
        tid: u32,
        pidfd: Option<BorrowedFd<'_>>,
        process: BorrowedFd<'_>,
    ) -> io::Result<Self> {
        match pidfd {
            Some(pidfd) if pidfds_tell() => {
                Ok(Self { pidfd: pidfd.try_clone_to_owned()?, numbers: None })
            }
            _ => {
                let numbers = Some(proc_files::thread_numbers(tid)?);
                Ok(Self { pidfd: process.try_clone_to_owned()?, numbers })
            }
        }
    }
}

/// A thread of another process that calls this one.
#[derive(Debug)]
pub(crate) enum KnownCaller {
    Pidfd(OwnedFd),
    Directory(CallerThread),
}

impl KnownCaller {
    /// The thread that a pidfd of the driver's tells of, or which is `tid` here, if that is not 0, of the process that the pidfd tells of.
    pub(crate) fn of(pidfd: OwnedFd, tid: u32) -> Option<Self> {
        if tid == 0 && fsuid(pidfd.as_fd()).is_ok() {
            return Some(Self::Pidfd(pidfd));
        }
        CallerThread::of(&pidfd, tid).map(Self::Directory)
    }

    /// Its user at this moment. `None` if it has ended.
    pub(crate) fn uid(&self) -> Option<u32> {
        match self {
            Self::Pidfd(pidfd) => fsuid(pidfd.as_fd()).ok(),
            Self::Directory(thread) => thread.uid(),
        }
    }
}

/// The uid that the kernel shows in place of all those that the reader's user namespace does not know.
#[must_use]
pub fn overflow_uid() -> u32 {
    /// As the kernel has it, unless it is told otherwise.
    const USUAL: u32 = 65534;
    static UID: OnceLock<u32> = OnceLock::new();
    *UID.get_or_init(|| {
        let told = fs::read_to_string("/proc/sys/kernel/overflowuid").ok();
        told.and_then(|told| told.trim().parse().ok()).unwrap_or(USUAL)
    })
}

/// The uid by which a thread, or a process's first one, accesses files: its effective one, as a rule.
fn fsuid(pidfd: BorrowedFd<'_>) -> io::Result<u32> {
    let info = ThreadInfo::of(pidfd);
    info.map(|info| info.fsuid).map_err(|error| io::Error::from_raw_os_error(error.number()))
}

/// Whether the kernel has pidfds tell.
fn pidfds_tell() -> bool {
    static TELL: OnceLock<bool> = OnceLock::new();
    *TELL.get_or_init(|| {
        let own = rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty());
        own.is_ok_and(|own| fsuid(own.as_fd()).is_ok())
    })
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::mpsc;
    use std::thread;

    use super::*;
    use crate::client_thread::pidfd;

    fn own_tid() -> u32 {
        rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
    }

    /// Both ways of asking that this kernel has.
    fn ways(process: &ClientMemory, tid: u32) -> Vec<Option<u32>> {
        let pidfd = pidfd(tid).ok();
        let by = |pidfd| ThreadUser::of(process, tid, pidfd).map(|user| user.uid);
        vec![by(None), by(pidfd.as_ref().map(AsFd::as_fd))]
    }

    #[test]
    fn a_thread_is_who_it_is() {
        let process = ClientMemory::open(std::process::id()).unwrap();
        let own = rustix::process::geteuid().as_raw();
        assert_eq!(ways(&process, own_tid()), [Some(own); 2]);
        assert!(ThreadUser::of(&process, 1, None).is_none(), "process 1 is not ours");
    }

    #[test]
    fn a_thread_that_becomes_another_user_is_that() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: only root can become another user");
            return;
        }
        const NOBODY: u32 = 65534;
        let process = ClientMemory::open(std::process::id()).unwrap();
        let (tell, told) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            tell.send(own_tid()).unwrap();
            may_go_on.recv().unwrap();
            let nobody = Some(rustix::process::Uid::from_raw(NOBODY));
            // Of this thread alone.
            rustix::thread::set_thread_res_uid(None, nobody, None).unwrap();
            tell.send(own_tid()).unwrap();
            let _ = may_go_on.recv();
        });
        let tid = told.recv().unwrap();
        assert_eq!(ways(&process, tid), [Some(0); 2]);
        let before = ThreadUser::of(&process, tid, None).unwrap();
        go_on.send(()).unwrap();
        told.recv().unwrap();
        assert_eq!(ways(&process, tid), [Some(NOBODY); 2]);
        assert_ne!(ThreadUser::of(&process, tid, None), Some(before));
        assert_eq!(ways(&process, own_tid()), [Some(0); 2], "the others are who they were");
        drop(go_on);
        thread.join().unwrap();
        while process.has_thread(tid) {
            thread::yield_now();
        }
        assert_eq!(ThreadUser::of(&process, tid, None), None);
    }

    #[test]
    fn another_process_can_ask_by_either_pidfd() {
        let tid = own_tid();
        let own = Some(rustix::process::geteuid().as_raw());
        let process =
            rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty()).unwrap();
        let pidfd = pidfd(tid).ok();
        for pidfd in [None, pidfd.as_ref().map(AsFd::as_fd)] {
            let thread = ThreadReference::of(tid, pidfd, process.as_fd()).unwrap();
            let number = thread.numbers.map_or(0, |numbers| numbers.last().copied().unwrap());
            let thread = KnownCaller::of(thread.pidfd, number).unwrap();
            assert_eq!(thread.uid(), own);
        }
        let file = File::open("/dev/null").unwrap().into();
        assert!(KnownCaller::of(file, tid).is_none(), "it tells of no process");
    }
}
