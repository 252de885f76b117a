//! Tells of threads of other processes that end, and of whole processes.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;

use crate::client_thread::ClientThread;

/// The name of the wish to stop; no thread has it.
const STOP: u64 = u64::MAX;

/// How many ends are told at once.
const BATCH: usize = 64;

/// Threads that are watched, each by the name that it was given.
///
/// A thread is watched until it ends or its [`ClientThread`] is dropped.
#[derive(Debug)]
pub struct ThreadWatch {
    epoll: OwnedFd,
    stop: OwnedFd,
}

impl ThreadWatch {
    /// Makes a watch of no threads yet.
    ///
    /// # Errors
    ///
    /// As epoll_create(2).
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let stop = eventfd(0, EventfdFlags::CLOEXEC)?;
        epoll::add(&epoll, &stop, EventData::new_u64(STOP), EventFlags::IN)?;
        Ok(Self { epoll, stop })
    }

    /// Watches a thread, whose end is told once, by `name`. Says whether it can be watched; if not,
    /// the caller must [look](ClientThread::is_alive) from time to time.
    pub fn add(&self, thread: &ClientThread, name: u64) -> bool {
        thread.pidfd().is_some_and(|pidfd| self.watch(pidfd, name).is_ok())
    }

    /// The same for a process by its pidfd, which may be watched already. All of its threads have ended
    /// when its end is told, and none of their calls is unanswered.
    ///
    /// # Errors
    ///
    /// As epoll_ctl(2).
    pub fn add_process(&self, pidfd: BorrowedFd<'_>, name: u64) -> io::Result<()> {
        match self.watch(pidfd, name) {
            Err(Errno::EXIST) => Ok(()),
            watched => Ok(watched?),
        }
    }

    fn watch(&self, pidfd: BorrowedFd<'_>, name: u64) -> Result<(), Errno> {
        let once = EventFlags::IN | EventFlags::ONESHOT;
        epoll::add(&self.epoll, pidfd, EventData::new_u64(name), once)
    }

    /// Waits until threads end, but not for longer than `most`, and returns their names; `None` after
    /// [`stop`](Self::stop).
    ///
    /// # Errors
    ///
    /// As epoll_wait(2).
    pub fn wait(&self, most: Option<Duration>) -> io::Result<Option<Vec<u64>>> {
        let most = most.and_then(|most| Timespec::try_from(most).ok());
        let mut room = [MaybeUninit::uninit(); BATCH];
        let ended = loop {
            match epoll::wait(&self.epoll, &mut room, most.as_ref()) {
                Ok((events, _)) => break events,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        };
        let names: Vec<u64> = ended.iter().map(|event| event.data.u64()).collect();
        Ok((!names.contains(&STOP)).then_some(names))
    }

    /// Ends all waiting, now and later.
    pub fn stop(&self) {
        // It fails only if a number overflows, which then is as readable.
        let _ = rustix::io::write(self.stop.as_fd(), &1_u64.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;
    use crate::ClientMemory;

    #[test]
    fn the_end_of_a_watched_thread_is_told_once() {
        let process = ClientMemory::open(std::process::id()).unwrap();
        let watch = ThreadWatch::new().unwrap();
        let start = || {
            let (tell, told) = mpsc::channel();
            let (end, ended) = mpsc::channel::<()>();
            let thread = thread::spawn(move || {
                tell.send(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()).unwrap();
                let _ = ended.recv();
            });
            (told.recv().unwrap(), end, thread)
        };
        let (first, end_first, first_thread) = start();
        let (second, end_second, second_thread) = start();
        let first = ClientThread::find(&process, first).unwrap();
        let second = ClientThread::find(&process, second).unwrap();
        if !watch.add(&first, 7) {
            return binder_testkit::skip("this kernel has no descriptors of threads");
        }
        assert!(watch.add(&second, 9));
        drop(end_first);
        assert_eq!(watch.wait(None).unwrap(), Some(vec![7]));
        first_thread.join().unwrap();
        // The first is not told again, and one that is forgotten is not told at all.
        drop(second);
        drop(end_second);
        second_thread.join().unwrap();
        assert_eq!(watch.wait(Some(Duration::from_millis(1))).unwrap(), Some(Vec::new()));
        watch.stop();
        assert_eq!(watch.wait(None).unwrap(), None);
    }
}
