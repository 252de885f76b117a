//! The process behind an open file: who it is, its memory, its receive buffer.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use binder_core::{
    CapturedFile, CopyFault, Errno, MappingArea, Opener, ProcessKey, ReceiveBuffers, UidMap,
    UidRange,
};
use binder_os::client_files::{self, TakeError};
use binder_os::{
    CancelToken, ClientThread, FileId, FuseDevice, ThreadWatch, client_thread, proc_files,
    processes,
};

use crate::blocking_pool::BlockingPool;
use crate::descriptors::{PER_FILE, PER_MEMORY, PER_THREAD};
use crate::files::HeldFile;
use crate::mapping::ReceiveBuffer;
use crate::memory_op::MemoryHandle;
use crate::open_mode::OpenMode;
use crate::pids::Pids;
use crate::process_handles::ProcessHandle;
use crate::quota::{Account, Charge};
use crate::read_ahead::Habits;
use crate::search_time::SearchTime;
use crate::seccomp_add_fd::CanAddFds;

/// How often a process with too many threads may have the ended ones among them looked for.
const COUNT_EVERY: Duration = Duration::from_secs(1);

/// How often a process that lets a call wait is looked at: it may have its receive buffer no more.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Whose call was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallerFound {
    /// A thread's of another process.
    Foreign,
    /// A thread's that has called before.
    Known,
    /// A thread's that has not, whose number may have been that of one that has ended.
    New {
        /// Whether that one has called.
        follows_another: bool,
    },
}

/// A thread that has called.
#[derive(Debug)]
struct Thread {
    thread: ClientThread,
    /// For the descriptor by which its end is told, if it is.
    permit: Option<Charge>,
    divertible: CanAddFds,
}

/// A way into the memory of a client, for somebody to use, and what ends that.
#[derive(Debug)]
pub(crate) struct LentMemory {
    pub(crate) way: Box<MemoryHandle>,
    pub(crate) token: Arc<CancelToken>,
}

/// The memory of a process for whoever accesses it next.
#[derive(Debug, Default)]
pub(crate) struct MemoryCache(Mutex<Option<LentMemory>>);

impl MemoryCache {
    /// Keeps a way into the memory that nobody uses at present, with what was learned about it.
    pub(crate) fn put(&self, lent: LentMemory) {
        *self.lock() = Some(lent);
    }

    fn lock(&self) -> MutexGuard<'_, Option<LentMemory>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
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

/// One open file and the process that opened it.
#[derive(Debug)]
pub(crate) struct Client {
    /// Thread-group id of the opener, in the daemon's pid namespace.
    pub(crate) pid: u32,
    /// The inode by which /proc shows this file.
    pub(crate) file: FileId,
    /// The process, which may have other files.
    known: Arc<ProcessHandle>,
    /// By which its memory is accessed, unless somebody does so.
    at_hand: Option<LentMemory>,
    /// The same, put back without the driver.
    spare: Arc<MemoryCache>,
    pub(crate) buffer: ReceiveBuffer,
    /// Threads that were seen to belong to the opener, by number.
    threads: BTreeMap<u32, Thread>,
    /// It restricts its own system calls, or some of its threads do.
    has_filter: bool,
    /// When those were last asked whether they live.
    counted_at: Option<Instant>,
    /// For the mapping of the receive buffer.
    _mapping: Charge,
    /// The thread that calls, or called last.
    caller: u32,
    /// A mapping was looked for.
    was_searched: bool,
    /// It was in vain, and the process has made no call since.
    is_known_unmapped: bool,
    /// Where the receive buffer is mapped, once that is known.
    base: Option<u64>,
    /// When it was last looked at whether it has its receive buffer still.
    looked_at: Option<Instant>,
    /// Held by a look that is under way.
    look: Arc<()>,
    pub(crate) open_mode: OpenMode,
    /// Whom to notify when poll(2) may have something new.
    pub(crate) poll_handle: Option<u64>,
}

impl Client {
    pub(crate) fn new(
        known: Arc<ProcessHandle>,
        file: FileId,
        buffer: ReceiveBuffer,
        is_nonblocking: bool,
        mapping: Charge,
    ) -> Self {
        let pid = known.permit.payer().pid;
        Self {
            pid,
            file,
            known,
            at_hand: None,
            spare: Arc::default(),
            buffer,
            threads: BTreeMap::new(),
            has_filter: false,
            counted_at: None,
            _mapping: mapping,
            caller: pid,
            was_searched: false,
            is_known_unmapped: false,
            base: None,
            looked_at: None,
            look: Arc::default(),
            open_mode: OpenMode::new(is_nonblocking),
            poll_handle: None,
        }
    }

    /// Who pays for what it takes.
    pub(crate) fn payer(&self) -> Account {
        self.known.permit.payer()
    }

    /// Makes bytes that were stored in the receive buffer visible.
    fn publish(&mut self, device: &FuseDevice, offset: u32, len: u32) -> io::Result<()> {
        self.buffer.publish(device, offset as usize, len as usize)
    }

    /// Notes a call by thread `tid`, if that belongs to the process that opened the file. Others are
    /// refused, since the addresses they name lie in memory of their own.
    ///
    /// A number alone does not tell: a thread may have ended, and a process that inherited the file
    /// may have come to its number.
    pub(crate) fn begin_call(&mut self, tid: u32) -> CallerFound {
        // The first thread's number is another's only once the whole process is gone, and with it the
        // memory that could be reached.
        let is_same = |known: &Thread| tid == self.pid || known.thread.is_alive(&self.known.memory);
        let mut begun = CallerFound::Known;
        if !self.threads.get(&tid).is_some_and(is_same) {
            // Nobody is told of the end of the first thread while others live.
            let is_watchable = tid != self.pid;
            let permit =
                is_watchable.then(|| self.known.permit.another_if_plenty(PER_THREAD)).flatten();
            let found = match permit {
                Some(_) => ClientThread::find(&self.known.memory, tid),
                None => ClientThread::find_by_number(&self.known.memory, tid),
            };
            let Some(thread) = found else { return CallerFound::Foreign };
            let known = Thread { thread, permit, divertible: CanAddFds::Unknown };
            let before = self.threads.insert(tid, known);
            begun = CallerFound::New { follows_another: before.is_some() };
        }
        self.is_known_unmapped = false;
        self.caller = tid;
        begun
    }

    /// Has the end of a thread told, by `name`. One that cannot be watched is looked at.
    pub(crate) fn watch_thread(&mut self, tid: u32, watch: &ThreadWatch, name: Option<u64>) {
        let Some(Thread { thread, permit, .. }) = self.threads.get_mut(&tid) else { return };
        if permit.is_some() && !name.is_some_and(|name| watch.add(thread, name)) {
            *permit = None;
            thread.forgo_descriptor();
        }
    }

    /// Whether a thread that called once has ended.
    pub(crate) fn has_ended(&self, tid: u32) -> bool {
        self.threads.get(&tid).is_some_and(|known| known.thread.has_ended(&self.known.memory))
    }

    /// Whether a thread may be sent to the supervisor for its files.
    pub(crate) fn divertible(&self, tid: u32) -> CanAddFds {
        let known = self.threads.get(&tid).map_or(CanAddFds::No, |known| known.divertible);
        if self.has_filter { CanAddFds::No } else { known }
    }

    /// Notes whether it may.
    pub(crate) fn note_divertible(&mut self, tid: u32, divertible: CanAddFds) {
        if let Some(known) = self.threads.get_mut(&tid) {
            known.divertible = divertible;
        }
    }

    /// The threads that nobody watches.
    pub(crate) fn unwatched_threads(&self) -> impl Iterator<Item = u32> {
        let is_unwatched =
            |(tid, known): (&u32, &Thread)| known.thread.pidfd().is_none().then_some(*tid);
        self.threads.iter().filter_map(is_unwatched)
    }

    /// Goes on with a call of thread `tid` that was begun before and has not been answered.
    pub(crate) fn resume_call(&mut self, tid: u32) {
        self.caller = tid;
    }

    /// Lends its memory, as thread `tid` has it, one of whose requests is unanswered. Several may access
    /// it at the same time.
    pub(crate) fn lend_memory(&mut self, tid: u32) -> LentMemory {
        let kept = self.at_hand.take().or_else(|| self.spare.lock().take());
        let mut lent = kept.unwrap_or_else(|| self.make_spare());
        lent.way.memory.use_thread(tid);
        lent
    }

    /// Keeps a way into its memory for the next, with what was learned about it.
    pub(crate) fn take_back_memory(&mut self, lent: LentMemory) {
        self.at_hand = Some(lent);
    }

    fn make_spare(&mut self) -> LentMemory {
        let mut memory = self.known.memory.another();
        let permit = self.known.permit.another_if_plenty(PER_MEMORY);
        if permit.is_none() {
            memory.forgo_descriptor();
        }
        let token = memory.cancel_token().clone();
        LentMemory {
            way: Box::new(MemoryHandle {
                memory,
                _permit: permit,
                habits: Habits::default(),
                reach: None,
            }),
            token,
        }
    }

    /// Where lent memory is put back.
    pub(crate) fn spare(&self) -> Arc<MemoryCache> {
        self.spare.clone()
    }

    /// Takes the file that the calling thread has open as `fd`: threads may have tables of their own.
    fn take_file(
        &self,
        fd: u32,
        permit: Charge,
        runners: Arc<BlockingPool>,
    ) -> Result<HeldFile, Errno> {
        let number = i32::try_from(fd).map_err(|_| Errno::EBADF)?;
        let thread = self.threads.get(&self.caller).and_then(|known| known.thread.pidfd());
        let taken = match thread {
            Some(thread) => client_files::take(thread, number),
            None => client_files::take(&self.known.pidfd, number),
        };
        let file = taken.map_err(|error| match error {
            TakeError::NotOpen(_) => Errno::EBADF,
            TakeError::NoRoom(_) => Errno::ENOMEM,
            TakeError::OutOfReach(_) => {
                tracing::debug!(%error, pid = self.pid, "a file could not be taken");
                Errno::EPERM
            }
        })?;
        HeldFile::new(file, permit, self.payer(), runners).map_err(|error| {
            tracing::debug!(%error, pid = self.pid, "a file of ours could not be in flight");
            Errno::ENOMEM
        })
    }

    /// Leave to hold another file, for which this one pays.
    fn another_permit(&self) -> Result<Charge, Errno> {
        self.known.permit.another(PER_FILE).map_err(|exhausted| {
            tracing::debug!(%exhausted, pid = self.pid, "no more files are held");
            Errno::ENOMEM
        })
    }

    /// Whether all of the process has ended: nobody else may use its file.
    pub(crate) fn has_process_ended(&self) -> bool {
        client_thread::has_ended(&self.known.pidfd)
    }

    /// Begins a look at whether the process still has its receive buffer mapped; none while there was one
    /// a moment ago, or one is under way.
    pub(crate) fn begin_look(&mut self) -> Option<MappingLook> {
        let is_due = self.looked_at.is_none_or(|at| at.elapsed() >= LOOK_EVERY);
        if !is_due || Arc::strong_count(&self.look) > 1 {
            return None;
        }
        self.looked_at = Some(Instant::now());
        let others = self.threads.keys().copied().filter(|tid| *tid != self.pid);
        Some(MappingLook {
            payer: self.payer(),
            threads: std::iter::once(self.pid).chain(others).collect(),
            file: self.file,
            base: self.base,
            _under_way: self.look.clone(),
        })
    }

    /// Finds out where the process mapped its receive buffer.
    fn locate_mapping(&mut self) -> io::Result<Option<MappingArea>> {
        if self.is_known_unmapped {
            return Ok(None);
        }
        let others = self.threads.keys().copied().filter(|tid| *tid != self.pid);
        let threads = std::iter::once(self.pid).chain(others);
        let (mut refused, mut is_unmapped) = (None, false);
        for tid in threads {
            let search = || {
                // Not for every receive buffer: the memory of an undumpable process is not ours to open.
                let is_needed = self.buffer.needs_place();
                let pinned = is_needed.then(|| self.known.memory.pin(tid)).transpose()?;
                let found = proc_files::find_mapping(self.pid, tid, self.file)?;
                Ok(found.map(|place| (pinned, place)))
            };
            match search() {
                Ok(Some((pinned, (base, len_bytes)))) => {
                    if let Some(pinned) = pinned {
                        self.buffer.set_place(pinned, base);
                    }
                    self.base = Some(base);
                    return Ok(Some(MappingArea { base, len_bytes }));
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
        // The search reads all that a process has mapped: not again at every send to it.
        self.is_known_unmapped = true;
        Ok(None)
    }

    /// Lists the threads that have ended without a word; none if that was asked a moment ago.
    pub(crate) fn ended_threads(&mut self) -> Vec<u32> {
        if self.counted_at.is_some_and(|at| at.elapsed() < COUNT_EVERY) {
            return Vec::new();
        }
        self.counted_at = Some(Instant::now());
        let ended = |(tid, known): (&u32, &Thread)| {
            (!known.thread.is_alive(&self.known.memory)).then_some(*tid)
        };
        self.threads.iter().filter_map(ended).collect()
    }

    /// The thread said that it ends; its number may come back as somebody else's.
    pub(crate) fn forget_thread(&mut self, tid: u32) {
        self.threads.remove(&tid);
    }
}

/// Finds out who the process is that opens a file as user `uid`, with these `numbers` from the daemon's namespace
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

/// All open files of a device.
pub(crate) struct Clients {
    device: Arc<FuseDevice>,
    runners: Arc<BlockingPool>,
    search_time: SearchTime,
    /// By the slot of their process.
    by_slot: Vec<Option<(ProcessKey, Client)>>,
}

impl Clients {
    pub(crate) fn new(device: Arc<FuseDevice>, runners: Arc<BlockingPool>) -> Self {
        Self { device, runners, search_time: SearchTime::default(), by_slot: Vec::new() }
    }

    pub(crate) fn insert(&mut self, process: ProcessKey, client: Client) {
        let slot = process.slot();
        if slot >= self.by_slot.len() {
            self.by_slot.resize_with(slot + 1, || None);
        }
        self.by_slot[slot] = Some((process, client));
    }

    pub(crate) fn get(&self, process: ProcessKey) -> Option<&Client> {
        match self.by_slot.get(process.slot())? {
            Some((key, client)) if *key == process => Some(client),
            Some(_) | None => None,
        }
    }

    pub(crate) fn get_mut(&mut self, process: ProcessKey) -> Option<&mut Client> {
        match self.by_slot.get_mut(process.slot())? {
            Some((key, client)) if *key == process => Some(client),
            Some(_) | None => None,
        }
    }

    /// Forgets the open file and gives back what the kernel holds for it.
    pub(crate) fn remove(&mut self, process: ProcessKey) {
        let place = self.by_slot.get_mut(process.slot());
        if let Some((_, client)) = place.and_then(|place| place.take_if(|(key, _)| *key == process))
        {
            client.buffer.close(&self.device);
        }
    }

    /// Gives back room behind the last open file.
    pub(crate) fn shrink(&mut self) {
        shrink_slots(&mut self.by_slot);
    }

    /// Has the threads of process `pid` be left to restrict themselves.
    pub(crate) fn note_filter(&mut self, pid: u32) {
        let clients = self.by_slot.iter_mut().flatten().map(|(_, client)| client);
        clients.filter(|client| client.pid == pid).for_each(|client| client.has_filter = true);
    }

    /// Lists the open files of process `pid` if that has ended.
    pub(crate) fn of_ended(&self, pid: u32) -> Vec<ProcessKey> {
        let is_it = |client: &Client| client.pid == pid && client.has_process_ended();
        let files = self.by_slot.iter().flatten();
        files.filter_map(|(process, client)| is_it(client).then_some(*process)).collect()
    }

    /// Finds an open file by its slot.
    pub(crate) fn in_slot(&self, slot: usize) -> Option<(ProcessKey, &Client)> {
        self.by_slot.get(slot)?.as_ref().map(|(process, client)| (*process, client))
    }

    /// What a slot has, if there is such a one.
    pub(crate) fn place(&self, slot: usize) -> Option<Option<&(ProcessKey, Client)>> {
        self.by_slot.get(slot).map(Option::as_ref)
    }

    pub(crate) fn processes(&self) -> impl Iterator<Item = ProcessKey> {
        self.by_slot.iter().flatten().map(|(process, _)| *process)
    }

    /// Finds the process of a file by its inode. Where that has several, as a node that is bound
    /// elsewhere, `pid` tells.
    pub(crate) fn with_inode(&self, inode: u64, pid: u32) -> Option<ProcessKey> {
        let of_inode = || self.by_slot.iter().flatten().filter(|(_, it)| it.file.inode == inode);
        let found = of_inode().find(|(_, it)| it.pid == pid).or_else(|| of_inode().next());
        found.map(|(process, _)| *process)
    }

    fn client(&mut self, process: ProcessKey) -> Result<&mut Client, CopyFault> {
        self.get_mut(process).ok_or(CopyFault)
    }
}

impl ReceiveBuffers for Clients {
    fn locate_mapping(&mut self, process: ProcessKey) -> Option<MappingArea> {
        let client = self.get(process)?;
        let uid = client.payer().uid;
        // Whoever maps what he opens is found at once, whatever others of his user do.
        if client.was_searched && self.search_time.is_spent(uid, Instant::now()) {
            tracing::debug!(uid, "a mapping is not searched for again, which keeps others waiting");
            return None;
        }
        let client = self.get_mut(process)?;
        client.was_searched = true;
        let start = processes::own_thread_time();
        let found = client.locate_mapping().unwrap_or_else(|error| {
            tracing::warn!(%error, pid = client.pid, "a mapping could not be looked for");
            None
        });
        if found.is_none() {
            let took = processes::own_thread_time().saturating_sub(start);
            self.search_time.note(uid, took, Instant::now());
        }
        found
    }

    fn store(&mut self, to: ProcessKey, offset: u32, bytes: &[u8]) -> Result<(), CopyFault> {
        self.client(to)?.buffer.memory().write(offset as usize, bytes).map_err(|_| CopyFault)
    }

    fn publish(&mut self, to: ProcessKey, offset: u32, len: u32) -> Result<(), CopyFault> {
        let device = self.device.clone();
        let client = self.client(to)?;
        client.publish(&device, offset, len).map_err(|error| {
            tracing::warn!(%error, pid = client.pid, "a receive buffer is out of reach");
            CopyFault
        })
    }

    fn clear(&mut self, to: ProcessKey, offset: u32, len: u32) {
        let device = self.device.clone();
        let Ok(client) = self.client(to) else { return };
        let cleared = client
            .buffer
            .memory()
            .clear(offset as usize, len as usize)
            .map_err(io::Error::other)
            .and_then(|()| client.publish(&device, offset, len));
        if let Err(error) = cleared {
            tracing::warn!(%error, pid = client.pid, "a buffer could not be cleared");
        }
    }

    fn release(&mut self, of: ProcessKey, pages: Range<u32>) {
        let device = self.device.clone();
        let Some(client) = self.get_mut(of) else { return };
        let places = pages.start as usize..pages.end as usize;
        if let Err(error) = client.buffer.release_pages(&device, places) {
            tracing::warn!(%error, pid = client.pid, ?pages, "idle pages could not be given back");
        }
    }

    fn capture_file(
        &mut self,
        from: ProcessKey,
        fd: u32,
        payer: ProcessKey,
    ) -> Result<CapturedFile, Errno> {
        let permit = self.get(payer).ok_or(Errno::ESRCH)?.another_permit()?;
        let client = self.get(from).ok_or(Errno::EBADF)?;
        Ok(CapturedFile::new(client.take_file(fd, permit, self.runners.clone())?))
    }
}

/// Gives back room behind the last slot in use.
pub(crate) fn shrink_slots<T>(slots: &mut Vec<Option<T>>) {
    let used = slots.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    slots.truncate(used);
    slots.shrink_to(2 * used);
}

/// Whether a thread's files answered that it has ended: a zombie's stand, without a memory.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(Errno::ESRCH.number())
}
