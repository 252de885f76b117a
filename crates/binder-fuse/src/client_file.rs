//! An open file of a device and the process that opened it, as threads of ours know it without the device's
//! lock: its threads, its memory, what /proc says of it.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use binder_core::{Errno, MappingArea, Opener, ProcessKey, UidMap, UidRange};
use binder_frontend::{CallingThread, Cancelled, RequestContext};
use binder_os::client_files::{self, TakeError};
use binder_os::{
    CancelToken, ClientThread, FileId, PinnedMemory, ThreadStatus, ThreadWatch, client_thread,
    credentials, proc_files,
};

use crate::blocking_pool::BlockingPool;
use crate::descriptors::{PER_FILE, PER_MEMORY, PER_THREAD};
use crate::device::Device;
use crate::files::HeldFile;
use crate::memory_handle::MemoryHandle;
use crate::open_mode::OpenMode;
use crate::pids::Pids;
use crate::process_handles::ProcessHandle;
use crate::quota::{Account, Charge};
use crate::read_ahead::Habits;
use crate::ring::file::RingFile;
use crate::served;
use crate::watched::{ThreadName, Watched};

/// How often a process with too many threads may have the ended ones among them looked for.
const COUNT_EVERY: Duration = Duration::from_secs(1);

/// How often a process that lets a call wait is looked at: it may have its receive buffer no more.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// As many memory handles of a client are kept for the next calls.
const KEPT_MEMORIES: usize = 2;

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
struct Thread {
    thread: ClientThread,
    /// For the descriptor by which its end is told, if it is.
    _charge: Option<Charge>,
    can_add_fds: CanAddFds,
}

/// The threads of a process that have called.
#[derive(Debug, Default)]
struct Threads {
    by_tid: BTreeMap<u32, Thread>,
    /// When those were last asked whether they live.
    counted_at: Option<Instant>,
}

/// The memory handles of a client.
#[derive(Debug, Default)]
struct Memories {
    places: Vec<MemoryPlace>,
    /// Requests that are to get no handle any more.
    given_up: Vec<u64>,
}

/// The place of a memory handle, which is lent in its box: that moves cheaply.
#[derive(Debug)]
struct MemoryPlace {
    /// None while it is in use, for this request.
    handle: Option<Box<MemoryHandle>>,
    unique: u64,
    token: Arc<CancelToken>,
}

/// Where the receive buffer is mapped, as far as that is known.
#[derive(Debug, Default)]
struct MappingPlace {
    base: Option<u64>,
    /// When it was last looked at whether it is there still.
    looked_at: Option<Instant>,
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
    /// It must be known in which memory the receive buffer is mapped, and where.
    needs_place: bool,
    /// It restricts its own system calls, or some of its threads do.
    has_filter: AtomicBool,
    /// Its threads have waited for work otherwise than by reads.
    polls: AtomicBool,
    is_closed: AtomicBool,
    memories: Mutex<Memories>,
    place: Mutex<MappingPlace>,
    /// Held by a look at the mapping that is under way.
    look: Arc<()>,
    mode: Mutex<OpenMode>,
    ring: RwLock<Option<Arc<RingFile>>>,
}

/// A look at whether a process still has its receive buffer mapped. It takes as long as others keep the
/// process's mappings to themselves.
#[derive(Debug)]
pub(crate) struct MappingLook {
    pub(crate) payer: Account,
    threads: Vec<u32>,
    file: FileId,
    /// Where it was mapped, if that is known.
    base: Option<u64>,
    _under_way: Arc<()>,
}

impl MappingLook {
    /// Whether it is sure that it has not, or not where it was: what it was told to find there is not.
    pub(crate) fn finds_none(&self) -> bool {
        // All threads have the same memory; one that has ended shows none.
        let find = |tid: &u32| proc_files::find_mapping(self.payer.pid, *tid, self.file).ok();
        self.threads.iter().find_map(find).is_some_and(|found| match found {
            Some((base, _)) => self.base.is_some_and(|known| known != base),
            None => true,
        })
    }
}

impl MemoryPlace {
    fn is_used_for(&self, unique: u64) -> bool {
        self.handle.is_none() && self.unique == unique
    }
}

impl ClientFile {
    pub(crate) fn new(
        device: Arc<Device>,
        known: Arc<ProcessHandle>,
        id: FileId,
        needs_place: bool,
        is_nonblocking: bool,
    ) -> Self {
        Self {
            device,
            pid: known.charge.payer().pid,
            id,
            known,
            threads: Mutex::default(),
            needs_place,
            has_filter: AtomicBool::new(false),
            polls: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
            memories: Mutex::default(),
            place: Mutex::default(),
            look: Arc::default(),
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
        let is_same = |known: &Thread| tid == self.pid || known.thread.is_alive(&self.known.memory);
        let mut calling = CallingThread::default();
        let mut threads = self.threads();
        if !threads.by_tid.get(&tid).is_some_and(is_same) {
            let thread = self.find_thread(process, tid, watch).ok_or(Foreign)?;
            calling.replaces_ended = threads.by_tid.insert(tid, thread).is_some();
        }
        Ok(calling)
    }

    fn find_thread(&self, process: ProcessKey, tid: u32, watch: &ThreadWatch) -> Option<Thread> {
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
        Some(Thread { thread, _charge: charge, can_add_fds: CanAddFds::Unknown })
    }

    /// The uid, at this moment, of a thread that has called. `None` if it has ended, or cannot be asked.
    pub(crate) fn caller_uid(&self, tid: u32) -> Option<u32> {
        let threads = self.threads();
        let pidfd = match threads.by_tid.get(&tid)?.thread.pidfd() {
            Some(pidfd) => pidfd,
            // That of a process is its first thread's.
            None if tid == self.pid => self.known.pidfd.as_fd(),
            None => return None,
        };
        credentials::fsuid(pidfd).ok()
    }

    /// A pidfd by which the uids of a thread that has called can be asked for. None where there is none.
    pub(crate) fn thread_pidfd(&self, tid: u32) -> Option<OwnedFd> {
        let threads = self.threads();
        let pidfd = match threads.by_tid.get(&tid)?.thread.pidfd() {
            Some(pidfd) => pidfd,
            // That of a process is its first thread's.
            None if tid == self.pid => self.known.pidfd.as_fd(),
            None => return None,
        };
        pidfd.try_clone_to_owned().ok()
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
        let ended = |(tid, known): (&u32, &Thread)| {
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
            |(tid, known): (&u32, &Thread)| known.thread.pidfd().is_none().then_some(*tid);
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
        self.lend(self.memories(), unique, tid)
    }

    /// The same, unless the access for that request was [given up](Self::cancel) before it was begun.
    pub(crate) fn lend_memory_if_wanted(&self, unique: u64, tid: u32) -> Option<Box<MemoryHandle>> {
        let mut memories = self.memories();
        if let Some(at) = memories.given_up.iter().position(|it| *it == unique) {
            memories.given_up.swap_remove(at);
            return None;
        }
        Some(self.lend(memories, unique, tid))
    }

    fn lend(
        &self,
        mut memories: MutexGuard<'_, Memories>,
        unique: u64,
        tid: u32,
    ) -> Box<MemoryHandle> {
        let idle = memories.places.iter_mut().find_map(|place| {
            let handle = place.handle.take()?;
            place.unique = unique;
            Some(handle)
        });
        let mut handle = idle.unwrap_or_else(|| {
            let handle = self.make_memory();
            let token = handle.memory.cancel_token().clone();
            memories.places.push(MemoryPlace { handle: None, unique, token });
            handle
        });
        drop(memories);
        handle.memory.use_thread(tid);
        handle
    }

    /// Takes it back, for the next. Says whether it was cut off meanwhile.
    pub(crate) fn take_back_memory(&self, unique: u64, handle: Box<MemoryHandle>) -> bool {
        let mut memories = self.memories();
        let is_cut = handle.memory.cancel_token().is_cancelled();
        if let Some(at) = memories.places.iter().position(|place| place.is_used_for(unique)) {
            if is_cut || at >= KEPT_MEMORIES {
                memories.places.swap_remove(at);
            } else {
                memories.places[at].handle = Some(handle);
            }
        }
        is_cut
    }

    fn make_memory(&self) -> Box<MemoryHandle> {
        let mut memory = self.known.memory.another();
        let charge = self.known.charge.another_if_plenty(PER_MEMORY);
        if charge.is_none() {
            memory.forgo_descriptor();
        }
        Box::new(MemoryHandle { memory, _charge: charge, habits: Habits::default() })
    }

    /// Gives up an access for a request whose thread has a signal to handle, as far as can be. Says whether
    /// it did.
    pub(crate) fn cancel(&self, unique: u64, tid: u32, what: Cancelled) -> bool {
        let is_killed = is_killed(tid);
        let mut memories = self.memories();
        match memories.places.iter().find(|place| place.is_used_for(unique)) {
            Some(MemoryPlace { token, .. }) => {
                let may_end = is_killed || (what == Cancelled::Fetch && token.is_in_use());
                may_end && token.cancel()
            }
            None => {
                if is_killed {
                    memories.given_up.push(unique);
                }
                is_killed
            }
        }
    }

    /// Takes the file that thread `tid` has open as `fd`: threads may have tables of their own.
    pub(crate) fn take_file(
        &self,
        tid: u32,
        fd: u32,
        charge: Charge,
        pool: Arc<BlockingPool>,
    ) -> Result<HeldFile, Errno> {
        self.take(tid, fd, |client, place| {
            HeldFile::take(client, place, charge, self.payer(), pool)
        })
    }

    /// Takes a reference to a file of the system that thread `tid` has open as `fd`, for the moment: none of ours.
    pub(crate) fn take_memfd(&self, tid: u32, fd: u32) -> Result<OwnedFd, Errno> {
        self.take(tid, fd, |client, (tid, number)| match proc_files::id_of_descriptor(tid, fd) {
            Ok(id) if !served::is_served(id.device) => client_files::take(client, number),
            Ok(_) | Err(_) => Err(TakeError::NotOpen(number)),
        })
    }

    /// Has a file taken by the pidfd of a thread, in the table of which it is open.
    fn take<T>(
        &self,
        tid: u32,
        fd: u32,
        take: impl FnOnce(BorrowedFd<'_>, (u32, i32)) -> Result<T, TakeError>,
    ) -> Result<T, Errno> {
        let number = i32::try_from(fd).map_err(|_| Errno::EBADF)?;
        let threads = self.threads();
        let thread = threads.by_tid.get(&tid).and_then(|known| known.thread.pidfd());
        // Without a pidfd of its own the table of the first thread stands for the thread's.
        let (client, tid) = thread.map_or((self.known.pidfd.as_fd(), self.pid), |it| (it, tid));
        let taken = take(client, (tid, number));
        drop(threads);
        taken.map_err(|error| match error {
            TakeError::NotOpen(_) => Errno::EBADF,
            TakeError::NoRoom(_) => Errno::ENOMEM,
            TakeError::OutOfReach(_) => {
                tracing::debug!(%error, pid = self.pid, "a file could not be taken");
                Errno::EPERM
            }
        })
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
        let mut place = self.place();
        let is_due = place.looked_at.is_none_or(|at| at.elapsed() >= LOOK_EVERY);
        if !is_due || Arc::strong_count(&self.look) > 1 {
            return None;
        }
        place.looked_at = Some(Instant::now());
        let base = place.base;
        drop(place);
        Some(MappingLook {
            payer: self.payer(),
            threads: self.tids(),
            file: self.id,
            base,
            _under_way: self.look.clone(),
        })
    }

    /// Finds out where the process mapped its receive buffer; with its memory, pinned before the search, if that
    /// is needed: not for every receive buffer, for the memory of an undumpable process is not ours to open.
    pub(crate) fn locate_mapping(&self) -> io::Result<Option<(Option<PinnedMemory>, MappingArea)>> {
        let (mut refused, mut is_unmapped) = (None, false);
        for tid in self.tids() {
            let search = || {
                let pinned = self.needs_place.then(|| self.known.memory.pin(tid)).transpose()?;
                let found = proc_files::find_mapping(self.pid, tid, self.id)?;
                Ok(found.map(|place| (pinned, place)))
            };
            match search() {
                Ok(Some((pinned, (base, len_bytes)))) => {
                    self.place().base = Some(base);
                    return Ok(Some((pinned, MappingArea { base, len_bytes })));
                }
                Ok(None) => is_unmapped = true,
                // This thread has ended; another may live.
                Err(error) if is_gone(&error) => {}
                // It may have as well: what /proc has of a first thread that has ended is root's.
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        if let Some(error) = refused.filter(|_| !is_unmapped) {
            return Err(error);
        }
        Ok(None)
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

    fn memories(&self) -> MutexGuard<'_, Memories> {
        self.memories.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn place(&self) -> MutexGuard<'_, MappingPlace> {
        self.place.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Whether a thread whose request is unanswered has been killed, and ends as soon as that is answered.
pub(crate) fn is_killed(tid: u32) -> bool {
    ThreadStatus::of(tid).is_ok_and(|status| status.is_killed)
}

/// Identifies the process that opens a file as user `uid`, with these `numbers` from the daemon's namespace
/// to its own; `default_label` is for one without a label.
pub(crate) fn identify(
    numbers: &[u32],
    uid: u32,
    pids: &Pids,
    default_label: &str,
) -> io::Result<Opener> {
    let pid = numbers.first().copied().ok_or(io::ErrorKind::NotFound)?;
    let label = proc_files::security_label(pid).unwrap_or_else(|| default_label.into());
    Ok(Opener {
        pid: pids.adopt(numbers)?,
        uid,
        uids: uids_of(pid),
        security_label: label.into_boxed_slice(),
    })
}

/// The uids that a process knows. A process of the daemon's own user namespace knows the same.
fn uids_of(pid: u32) -> UidMap {
    let in_same_namespace = proc_files::shares_user_namespace(pid).unwrap_or(true);
    match proc_files::uid_map(pid) {
        Ok(ranges) if !in_same_namespace => UidMap::new(
            ranges
                .iter()
                .map(|range| UidRange {
                    inside: range.inside,
                    outside: range.outside,
                    len: range.count,
                })
                .collect(),
        ),
        Ok(_) | Err(_) => UidMap::identity(),
    }
}

/// Whether a thread's files answered that it has ended: a zombie's stand, without a memory.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(Errno::ESRCH.number())
}
