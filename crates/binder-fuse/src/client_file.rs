//! An open file of a device and the process that opened it, as threads of ours know it without the device's
//! lock: its threads, its memory, and what was seen of how it uses the file.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use binder_core::{CopyFault, Errno, MappingArea, ProcessKey};
use binder_frontend::{CallingThread, Cancelled, RequestContext};
use binder_os::client_files::{self, TakeError};
use binder_os::credentials::ThreadReference;
use binder_os::{
    ClientThread, FileId, FuseDevice, PinnedMemory, ThreadStatus, ThreadUser, ThreadWatch,
    client_thread,
};

use crate::blocking_pool::BlockingPool;
use crate::descriptors::{PER_FILE, PER_MEMORY, PER_THREAD};
use crate::device::Device;
use crate::files::HeldFile;
use crate::filter_verdict::FilterVerdict;
use crate::mapping_place::{MappingLook, MappingPlace};
use crate::memory_handle::{MemoryHandle, MemoryHandles};
use crate::open_mode::OpenMode;
use crate::private_mapping::PrivateMapping;
use crate::process_handles::ProcessHandle;
use crate::quota::{Account, Charge};
use crate::read_ahead::ReadAheadCache;
use crate::ring::file::RingFile;
use crate::served;
use crate::watched::{ThreadName, Watched};

/// How often a process with too many threads, or with more than its ring has slots, may have the ended ones among them looked for.
const COUNT_EVERY: Duration = Duration::from_secs(1);

/// A thread of another process has called: the addresses it names lie in memory of its own.
#[derive(Debug)]
pub(crate) struct Foreign;

/// Whether a thread's calls are known to be trapped, and by our filter only.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum CanAddFds {
    /// It was not tried yet.
    #[default]
    Unknown,
    Yes,
    No,
}

/// A thread that has called.
#[derive(Debug)]
struct FileThread {
    thread: ClientThread,
    /// For the descriptor by which its end is told, if it is.
    _charge: Option<Charge>,
    can_add_fds: CanAddFds,
}

/// The threads of a process that have called.
#[derive(Debug, Default)]
struct Threads {
    by_tid: BTreeMap<u32, FileThread>,
    /// When those were last asked whether they live.
    counted_at: Option<Instant>,
}

/// An open file of a device.
#[derive(Debug)]
pub(crate) struct ClientFile {
    pub(crate) device: Arc<Device>,
    /// Thread-group id of the opener, in the daemon's pid namespace.
    pub(crate) pid: u32,
    /// The inode by which /proc shows this file.
    pub(crate) id: FileId,
    /// The process, which may have other files.
    known: Arc<ProcessHandle>,
    /// Those that were seen to belong to the opener.
    threads: Mutex<Threads>,
    /// Pages of the client's own, for which it must be known in which memory the receive buffer is mapped, and where.
    private_mapping: Option<Arc<PrivateMapping>>,
    /// It restricts its own system calls, or some of its threads do.
    has_filter: AtomicBool,
    /// What the filters let pass with which it was started.
    filter_verdict: Mutex<FilterVerdict>,
    /// Its threads have waited for work otherwise than by reads.
    polls: AtomicBool,
    is_closed: AtomicBool,
    memories: MemoryHandles,
    place: MappingPlace,
    mode: Mutex<OpenMode>,
    ring: RwLock<Option<Arc<RingFile>>>,
}

impl ClientFile {
    pub(crate) fn new(
        device: Arc<Device>,
        known: Arc<ProcessHandle>,
        id: FileId,
        private_mapping: Option<Arc<PrivateMapping>>,
        is_nonblocking: bool,
    ) -> Self {
        Self {
            device,
            pid: known.charge.payer().pid,
            id,
            known,
            threads: Mutex::default(),
            private_mapping,
            has_filter: AtomicBool::new(false),
            filter_verdict: Mutex::default(),
            polls: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            memories: MemoryHandles::default(),
            place: MappingPlace::default(),
            mode: Mutex::new(OpenMode::new(is_nonblocking)),
            ring: RwLock::default(),
        }
    }

    /// The account that its costs are charged to.
    pub(crate) fn payer(&self) -> Account {
        self.known.charge.payer()
    }

    /// The account that the costs of a call are charged to.
    pub(crate) fn payer_of(&self, request: &RequestContext) -> Account {
        Account { pid: self.pid, uid: request.uid }
    }

    /// Notes a call by thread `tid`, whose end is told from its first call on.
    ///
    /// A number alone does not tell: a thread may have ended, and a process that inherited the file
    /// may have come to its number.
    ///
    /// # Errors
    ///
    /// [`Foreign`] for a thread that does not belong to the process that opened the file.
    pub(crate) fn begin_call(
        &self,
        process: ProcessKey,
        tid: u32,
        watch: &ThreadWatch,
    ) -> Result<CallingThread, Foreign> {
        // The first thread's number is another's only once the whole process is gone, and with it the
        // memory that could be reached.
        let is_same =
            |known: &FileThread| tid == self.pid || known.thread.is_alive(&self.known.memory);
        let mut calling = CallingThread::default();
        let mut threads = self.threads();
        if !threads.by_tid.get(&tid).is_some_and(is_same) {
            let thread = self.find_thread(process, tid, watch).ok_or(Foreign)?;
            calling.replaces_ended = threads.by_tid.insert(tid, thread).is_some();
        }
        Ok(calling)
    }

    fn find_thread(
        &self,
        process: ProcessKey,
        tid: u32,
        watch: &ThreadWatch,
    ) -> Option<FileThread> {
        // The kernel does not report the end of the first thread while others live.
        let is_watchable = tid != self.pid;
        let charge =
            is_watchable.then(|| self.known.charge.another_if_plenty(PER_THREAD)).flatten();
        let mut thread = match charge {
            Some(_) => ClientThread::find(&self.known.memory, tid)?,
            None => ClientThread::find_by_number(&self.known.memory, tid)?,
        };
        let name = ThreadName { device: self.device.id, slot: process.slot(), tid };
        let is_watched = || {
            let name = Watched::Thread(name).to_u64();
            name.is_some_and(|name| watch.add(&thread, name))
        };
        // One that cannot be watched is looked at.
        let charge = charge.filter(|_| is_watched());
        if charge.is_none() {
            thread.forgo_descriptor();
        }
        Some(FileThread { thread, _charge: charge, can_add_fds: CanAddFds::Unknown })
    }

    /// The user, at this moment, of a thread that has called. `None` if it has ended, or cannot be asked.
    pub(crate) fn caller(&self, tid: u32) -> Option<ThreadUser> {
        self.with_pidfd(tid, |pidfd| ThreadUser::of(&self.known.memory, tid, pidfd))
    }

    /// Whether a thread that has called is that user at this moment.
    pub(crate) fn is_caller(&self, tid: u32, uid: u32) -> bool {
        self.caller(tid).is_some_and(|user| user.uid == uid)
    }

    /// By what a server can ask for the user of a thread that has called, and waits for the answer.
    pub(crate) fn reference_to_caller(&self, tid: u32) -> Option<ThreadReference> {
        let process = self.known.pidfd.as_fd();
        self.with_pidfd(tid, |pidfd| ThreadReference::of(tid, pidfd, process).ok())
    }

    /// Uses the pidfd, if there is one, of a thread that has called.
    fn with_pidfd<T>(
        &self,
        tid: u32,
        by: impl FnOnce(Option<BorrowedFd<'_>>) -> Option<T>,
    ) -> Option<T> {
        let threads = self.threads();
        let pidfd = threads.by_tid.get(&tid)?.thread.pidfd();
        // That of a process is its first thread's.
        by(pidfd.or_else(|| (tid == self.pid).then(|| self.known.pidfd.as_fd())))
    }

    /// The ring of its process, if there is one.
    pub(crate) fn ring(&self) -> Option<Arc<RingFile>> {
        self.ring.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Gives it another ring, or none. Returns the one before.
    pub(crate) fn set_ring(&self, ring: Option<Arc<RingFile>>) -> Option<Arc<RingFile>> {
        let mut place = self.ring.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut place, ring)
    }

    /// Whether a thread that called has ended: it is forgotten then.
    pub(crate) fn take_ended(&self, tid: u32) -> bool {
        let mut threads = self.threads();
        let thread = threads.by_tid.get(&tid);
        let has_ended = thread.is_some_and(|it| it.thread.has_ended(&self.known.memory));
        if has_ended {
            threads.by_tid.remove(&tid);
        }
        has_ended
    }

    /// Lists the threads that have ended without a word; none if that was asked a moment ago.
    pub(crate) fn ended_threads(&self) -> Vec<u32> {
        let mut threads = self.threads();
        if threads.counted_at.is_some_and(|at| at.elapsed() < COUNT_EVERY) {
            return Vec::new();
        }
        threads.counted_at = Some(Instant::now());
        let ended = |(tid, known): (&u32, &FileThread)| {
            (!known.thread.is_alive(&self.known.memory)).then_some(*tid)
        };
        threads.by_tid.iter().filter_map(ended).collect()
    }

    /// The thread said that it ends; its number may come back as another thread's.
    pub(crate) fn forget_thread(&self, tid: u32) {
        self.threads().by_tid.remove(&tid);
    }

    /// The threads that cannot be watched.
    pub(crate) fn unwatched_threads(&self) -> Vec<u32> {
        let is_unwatched =
            |(tid, known): (&u32, &FileThread)| known.thread.pidfd().is_none().then_some(*tid);
        self.threads().by_tid.iter().filter_map(is_unwatched).collect()
    }

    /// Notes that no process has it open any more.
    pub(crate) fn note_closed(&self) {
        self.is_closed.store(true, Ordering::Release);
    }

    /// Whether no process has it open any more: calls of a ring may be under way still.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Has its threads be left to restrict themselves.
    pub(crate) fn note_filter(&self) {
        self.has_filter.store(true, Ordering::Relaxed);
    }

    /// Whether its threads were seen to restrict their own system calls.
    pub(crate) fn has_filter(&self) -> bool {
        self.has_filter.load(Ordering::Relaxed)
    }

    /// Notes what its filters let pass.
    pub(crate) fn note_filter_verdict(&self, verdict: FilterVerdict) {
        *self.filter_verdict.lock().unwrap_or_else(PoisonError::into_inner) = verdict;
    }

    /// What its filters let pass, of those that were looked at.
    pub(crate) fn filter_verdict(&self) -> FilterVerdict {
        *self.filter_verdict.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a thread has polled it.
    pub(crate) fn note_poll(&self) {
        self.polls.store(true, Ordering::Relaxed);
    }

    /// Whether its threads wait for work by reads, and by nothing else, as far as was seen.
    pub(crate) fn waits_in_reads(&self) -> bool {
        !self.polls.load(Ordering::Relaxed) && !self.mode().is_nonblocking()
    }

    /// Whether a thread may be sent to the supervisor for its files.
    pub(crate) fn can_add_fds(&self, tid: u32) -> CanAddFds {
        if self.has_filter.load(Ordering::Relaxed) {
            return CanAddFds::No;
        }
        self.threads().by_tid.get(&tid).map_or(CanAddFds::No, |known| known.can_add_fds)
    }

    /// Notes whether it may.
    pub(crate) fn note_can_add_fds(&self, tid: u32, can_add_fds: CanAddFds) {
        if let Some(known) = self.threads().by_tid.get_mut(&tid) {
            known.can_add_fds = can_add_fds;
        }
    }

    /// Lends its memory, as thread `tid` has it, whose request is unanswered. Several may access it at the
    /// same time.
    pub(crate) fn lend_memory(&self, unique: u64, tid: u32) -> Box<MemoryHandle> {
        self.memories.lend(unique, tid, || self.make_memory())
    }

    /// The same, unless the access for that request was [given up](Self::cancel) before it was begun.
    pub(crate) fn lend_memory_if_wanted(&self, unique: u64, tid: u32) -> Option<Box<MemoryHandle>> {
        self.memories.lend_if_wanted(unique, tid, || self.make_memory())
    }

    /// Takes it back, for the next. Says whether it was cut off meanwhile.
    pub(crate) fn take_back_memory(&self, unique: u64, handle: Box<MemoryHandle>) -> bool {
        self.memories.take_back(unique, handle)
    }

    fn make_memory(&self) -> Box<MemoryHandle> {
        let mut memory = self.known.memory.another();
        let charge = self.known.charge.another_if_plenty(PER_MEMORY);
        if charge.is_none() {
            memory.forgo_descriptor();
        }
        Box::new(MemoryHandle { memory, _charge: charge, read_ahead: ReadAheadCache::default() })
    }

    /// Gives up an access for a request whose thread has a signal to handle, as far as can be. Says whether
    /// it did.
    pub(crate) fn cancel(&self, unique: u64, tid: u32, what: Cancelled) -> bool {
        self.memories.cancel(unique, is_killed(tid), what == Cancelled::Fetch)
    }

    /// Takes the file that thread `tid` has open as `fd`: threads may have tables of their own.
    pub(crate) fn take_file(
        &self,
        tid: u32,
        fd: u32,
        charge: Charge,
        pool: Arc<BlockingPool>,
    ) -> Result<HeldFile, Errno> {
        let taken = self.take(tid, fd, |client, place| {
            HeldFile::take(client, place, charge, self.payer(), pool)
        });
        taken.map_err(|error| {
            if let TakeError::OutOfReach(_) = error {
                tracing::warn!(%error, pid = self.pid, "a call cannot bring a file");
            }
            errno_of(&error)
        })
    }

    /// Takes a reference to a file of the system that thread `tid` has open as `fd`, for the moment: none of ours.
    pub(crate) fn take_memfd(&self, tid: u32, fd: u32) -> Result<OwnedFd, Errno> {
        let taken = self.take(tid, fd, |client, (tid, number)| {
            if served::has_other_file(tid, fd) {
                client_files::take(client, number)
            } else {
                Err(TakeError::NotOpen(number))
            }
        });
        // Without it calls go by FUSE.
        taken.map_err(|error| {
            tracing::debug!(%error, pid = self.pid, "a program's memory cannot be shared");
            errno_of(&error)
        })
    }

    /// Has a file taken by the pidfd of a thread, in the table of which it is open.
    fn take<T>(
        &self,
        tid: u32,
        fd: u32,
        take: impl FnOnce(BorrowedFd<'_>, (u32, i32)) -> Result<T, TakeError>,
    ) -> Result<T, TakeError> {
        let number = i32::try_from(fd).map_err(|_| TakeError::NotOpen(fd.cast_signed()))?;
        let threads = self.threads();
        let thread = threads.by_tid.get(&tid).and_then(|known| known.thread.pidfd());
        // Without a pidfd of its own the table of the first thread stands for the thread's.
        let (client, tid) = thread.map_or((self.known.pidfd.as_fd(), self.pid), |it| (it, tid));
        let taken = take(client, (tid, number));
        drop(threads);
        taken
    }

    /// Leave to hold another file, for which this one pays.
    pub(crate) fn another_charge(&self) -> Result<Charge, Errno> {
        self.known.charge.another(PER_FILE).map_err(|exhausted| {
            tracing::debug!(%exhausted, pid = self.pid, "no more files are held");
            Errno::ENOMEM
        })
    }

    /// Whether all of the process has ended: no other process may use its file.
    pub(crate) fn has_process_ended(&self) -> bool {
        client_thread::has_ended(&self.known.pidfd)
    }

    /// The mode of the file, as it was last seen.
    pub(crate) fn mode(&self) -> MutexGuard<'_, OpenMode> {
        self.mode.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Begins a look at whether the process still has its receive buffer mapped; none while there was one
    /// a moment ago, or one is under way.
    pub(crate) fn begin_look(&self) -> Option<MappingLook> {
        self.place.begin_look(self.payer(), || self.tids(), self.id)
    }

    /// Finds out where the process mapped its receive buffer; with its memory, pinned before the search, if that
    /// is needed: not for every receive buffer, for the memory of an undumpable process is not ours to open.
    pub(crate) fn locate_mapping(&self) -> io::Result<Option<(Option<PinnedMemory>, MappingArea)>> {
        let is_private = self.private_mapping.is_some();
        let pin = |tid| is_private.then(|| self.known.memory.pin(tid)).transpose();
        self.place.locate(self.pid, &self.tids(), self.id, pin)
    }

    /// Whether the client gets pages of its own, which must be written before it is told of what lies there.
    pub(crate) fn has_private_mapping(&self) -> bool {
        self.private_mapping.is_some()
    }

    /// Writes what was stored to pages of the client's own, if it gets such, and has not unmapped them. It takes as long as
    /// the client's memory makes it take.
    pub(crate) fn write_private_pages(&self, device: &FuseDevice) -> Result<(), CopyFault> {
        let Some(mapping) = &self.private_mapping else { return Ok(()) };
        mapping.write_marked(device).or_else(|fault| {
            let look = self.place.look(self.payer(), self.tids(), self.id);
            if !look.finds_none() {
                return Err(fault);
            }
            mapping.set_gone();
            Ok(())
        })
    }

    /// The numbers of its threads, the first one in front.
    fn tids(&self) -> Vec<u32> {
        let threads = self.threads();
        let others = threads.by_tid.keys().copied().filter(|tid| *tid != self.pid);
        std::iter::once(self.pid).chain(others).collect()
    }

    fn threads(&self) -> MutexGuard<'_, Threads> {
        self.threads.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Whether a thread whose request is unanswered has been killed, and ends as soon as that is answered.
pub(crate) fn is_killed(tid: u32) -> bool {
    ThreadStatus::of(tid).is_ok_and(|status| status.is_killed)
}

/// What a client is told of a file that was not taken.
fn errno_of(error: &TakeError) -> Errno {
    match error {
        TakeError::NotOpen(_) => Errno::EBADF,
        TakeError::NoRoom(_) => Errno::ENOMEM,
        TakeError::OutOfReach(_) => Errno::EPERM,
    }
}
