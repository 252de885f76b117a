//! A mounted view: reads FUSE requests and answers them.

mod tell;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use binder_os::mounts::DetachedMount;
use binder_os::{FuseDevice, MountOptions, ProcDir, ReadError, ReplyOutcome};
use fuse_wire::flags::{
    FOPEN_DIRECT_IO, FUSE_ASYNC_READ, FUSE_AUTO_INVAL_DATA, FUSE_CACHE_SYMLINKS,
    FUSE_DO_READDIRPLUS, FUSE_MAX_PAGES, FUSE_NO_OPEN_SUPPORT, FUSE_NO_OPENDIR_SUPPORT,
    FUSE_PARALLEL_DIROPS, FUSE_READDIRPLUS_AUTO,
};
use fuse_wire::{
    DirentBuffer, Entry, Header, InitOffer, InitTerms, Message, OpenedFile, Operation, Read,
    Request, StatFs, reply,
};
use pidns::PidNamespace;
use slab::Slab;

use crate::errno::ViewErrno;
use crate::kernel::{Kernel, ListedProcess, Members};
use crate::node::{LinkedNode, ViewNode, What};
use crate::table::{ProcessTable, Watcher};
use crate::task::Task;
use crate::view::{Caching, Found, KernelFiles, Listing, View, ViewReader, entry};
use tell::Known;

/// Room for one request; the kernel wants 8 KiB at least.
const REQUEST_BYTES: usize = 16 << 10;

/// The most that is told in one answer: pages, as the kernel counts them, and what the smallest of these hold.
const MAX_PAGES: u16 = 256;
const MAX_LISTED_BYTES: usize = MAX_PAGES as usize * 4096;

/// Threads that answer where an answer may have to wait for the kernel.
const THREADS: usize = 4;

/// Why a view could not be mounted.
#[derive(Debug, thiserror::Error)]
pub enum ViewMountError {
    /// The device of FUSE cannot be opened.
    #[error("/dev/fuse cannot be opened: {0}")]
    Open(#[source] io::Error),
    /// The kernel refuses the file system.
    #[error("the view cannot be made: {0}")]
    Create(#[source] io::Error),
    /// The kernel's /proc cannot be read, to which files are to be links.
    #[error("/proc cannot be read: {0}")]
    Links(#[source] io::Error),
}

/// Why serving ended other than by unmounting.
#[derive(Debug, thiserror::Error)]
pub enum ViewServeError {
    /// The kernel refused a read of /dev/fuse.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A thread could not be started.
    #[error("a thread could not be started: {0}")]
    Thread(#[source] io::Error),
}

/// A view that has a mount. It answers while [`serve`](ViewSession::serve) runs.
pub struct ViewSession {
    shared: Arc<ViewShared>,
}

/// What all threads of a session share.
struct ViewShared {
    fuse: FuseDevice,
    view: View,
    /// Open files, of a view whose answers may not be kept.
    files: Mutex<Slab<UncachedFile>>,
    known: Known,
}

/// A file that is read without the kernel's cache.
struct UncachedFile {
    node: ViewNode,
    begun: Begun,
}

/// What a reader has begun to read: it goes on in that.
#[derive(Clone)]
enum Begun {
    Nothing,
    Text(Arc<Vec<u8>>),
    Processes(Arc<Vec<ListedProcess>>),
}

impl ViewSession {
    /// Makes a view of the processes of `table` that `namespace` sees. What it tells may be kept
    /// by the kernel. A reader finds itself at `self` and at its number, though no listing has it.
    ///
    /// # Errors
    ///
    /// [`ViewMountError`] without access to /dev/fuse or the right to mount.
    pub fn of_table(
        table: Arc<ProcessTable>,
        namespace: Arc<PidNamespace<Task>>,
        proc: ProcDir,
    ) -> Result<(Self, DetachedMount), ViewMountError> {
        let kernel = Kernel::new(proc, Members::None);
        Self::new(View::new(table, namespace, kernel, Caching::Kept))
    }

    /// Makes a view of the kernel's processes that are `members`, and beside them of those in
    /// `table`. Every answer is the present one, and none is kept but for the age that `files` may have.
    ///
    /// # Errors
    ///
    /// As [`of_table`](Self::of_table).
    pub fn of_kernel(
        table: Arc<ProcessTable>,
        members: Members,
        files: KernelFiles,
        proc: ProcDir,
    ) -> Result<(Self, DetachedMount), ViewMountError> {
        let namespace = table.root().clone();
        let kernel = Kernel::new(proc, members);
        let view = View::new(table, namespace, kernel, Caching::Asked);
        Self::new(view.with(files).map_err(ViewMountError::Links)?)
    }

    fn new(view: View) -> Result<(Self, DetachedMount), ViewMountError> {
        let fuse = FuseDevice::open().map_err(ViewMountError::Open)?;
        let (user_id, group_id) = binder_os::processes::user();
        let options = MountOptions {
            source: b"procview".into(),
            kind: "fuse.procview".into(),
            user_id,
            group_id,
            allow_other: true,
            default_permissions: true,
            max_read_bytes: None,
            read_only: true,
        };
        let mount = fuse.mount(&options).map_err(ViewMountError::Create)?;
        let shared =
            Arc::new(ViewShared { fuse, view, files: Mutex::default(), known: Known::default() });
        let watcher: Arc<dyn Watcher> = shared.clone();
        shared.view.table().watch(Arc::downgrade(&watcher));
        Ok((Self { shared }, mount))
    }

    /// Answers requests until the file system is unmounted.
    ///
    /// # Errors
    ///
    /// [`ViewServeError`] if it ends in any other way.
    pub fn serve(self) -> Result<(), ViewServeError> {
        let shared = &self.shared;
        let threads = match shared.view.caching() {
            // Nothing that is answered waits for anything.
            Caching::Kept => 1,
            Caching::Asked => THREADS,
        };
        let clock = shared.clone();
        let mut helpers = vec![helper("procview-clock", move || clock.tell_time())?];
        for _ in 1..threads {
            let shared = shared.clone();
            helpers.push(helper("procview", move || drop(shared.answer_requests()))?);
        }
        let result = shared.answer_requests();
        shared.view.clock().close();
        // Otherwise they may sleep in a read of a mount that is still there.
        if result.is_ok() {
            helpers.into_iter().for_each(|helper| drop(helper.join()));
        }
        Ok(result?)
    }
}

impl ViewShared {
    fn answer_requests(&self) -> Result<(), ReadError> {
        let mut buffer = vec![0; REQUEST_BYTES];
        let mut room = Vec::new();
        loop {
            match self.fuse.read(&mut buffer) {
                Ok(len) => self.answer_request(&buffer[..len], &mut room),
                Err(ReadError::Unmounted) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    fn answer_request(&self, bytes: &[u8], room: &mut Vec<u8>) {
        let request = match Request::parse(bytes) {
            Ok(request) => request,
            Err(error) => {
                tracing::error!(%error, "a request of the kernel was not understood");
                if let Some(unique) = error.reply_to() {
                    self.refuse(unique, ViewErrno::Io);
                }
                return;
            }
        };
        let unique = request.header.unique;
        // A panic ends the one request.
        let guarded = std::panic::AssertUnwindSafe(|| self.handle(&request, room));
        match std::panic::catch_unwind(guarded) {
            Ok(Ok(())) => {}
            Ok(Err(errno)) => self.refuse(unique, errno),
            Err(_) => {
                tracing::error!(opcode = request.header.opcode, "a request met a bug");
                self.refuse(unique, ViewErrno::Io);
            }
        }
    }

    fn handle(&self, request: &Request<'_>, room: &mut Vec<u8>) -> Result<(), ViewErrno> {
        let header = &request.header;
        let unique = header.unique;
        let caller = ViewReader { tid: header.pid, uid: header.uid };
        let is_kept = self.view.caching() == Caching::Kept;
        match request.operation {
            Operation::Init(offer) => self.init(unique, &offer),
            Operation::Lookup { name } => self.lookup(header, name, caller)?,
            Operation::Forget { lookups } => self.forget(header.node, lookups),
            Operation::BatchForget(batch) => {
                for one in batch {
                    self.forget(one.node, one.lookups);
                }
            }
            Operation::GetAttr { .. } => {
                let node = node(header)?;
                self.known.ask(node);
                let attr = self.view.attr(node)?;
                let (_, valid) = self.view.valid(node);
                self.send(&reply::attr(unique, &attr, valid));
            }
            Operation::ReadLink => {
                let link = self.view.read_link(node(header)?, caller)?;
                self.send(&reply::data(unique, &link));
            }
            // Without an answer the kernel opens files and directories itself, and keeps what it
            // reads of them until it is told.
            Operation::Open { .. } | Operation::OpenDir { .. } if is_kept => {
                return Err(ViewErrno::NoSys);
            }
            Operation::Open { .. } => {
                self.open(header, FOPEN_DIRECT_IO)?;
            }
            Operation::OpenDir { .. } => self.open(header, 0)?,
            Operation::Read(read) => self.read(header, &read, caller)?,
            Operation::ReadDir(read) => {
                self.read_dir(header, &read, caller, room, Listing::Names)?
            }
            Operation::ReadDirPlus(read) => {
                self.read_dir(header, &read, caller, room, Listing::Entries)?;
            }
            Operation::Release(release) | Operation::ReleaseDir(release) => {
                let fh = usize::try_from(release.fh).unwrap_or(usize::MAX);
                self.files().try_remove(fh);
                self.send(&reply::empty(unique));
            }
            Operation::Destroy => self.send(&reply::empty(unique)),
            Operation::StatFs => {
                let figures = StatFs { block_size: 4096, name_max: 255, ..StatFs::default() };
                self.send(&reply::statfs(unique, &figures));
            }
            // Answers come at once anyway.
            Operation::Interrupt { .. } => {}
            Operation::SetAttr(_)
            | Operation::Write { .. }
            | Operation::Mknod { .. }
            | Operation::Mkdir { .. }
            | Operation::Unlink { .. }
            | Operation::Rmdir { .. }
            | Operation::Symlink { .. }
            | Operation::Link { .. }
            | Operation::Rename { .. }
            | Operation::Create { .. } => return Err(ViewErrno::RoFs),
            Operation::Access { .. }
            | Operation::Flush { .. }
            | Operation::Fsync { .. }
            | Operation::FsyncDir { .. }
            | Operation::Lseek { .. }
            | Operation::Fallocate { .. }
            | Operation::Ioctl { .. }
            | Operation::Poll { .. }
            | Operation::GetXattr { .. }
            | Operation::ListXattr { .. }
            | Operation::Other(_) => return Err(ViewErrno::NoSys),
        }
        Ok(())
    }

    fn init(&self, unique: u64, offer: &InitOffer) {
        let kept = match self.view.caching() {
            Caching::Kept => {
                FUSE_AUTO_INVAL_DATA
                    | FUSE_CACHE_SYMLINKS
                    | FUSE_DO_READDIRPLUS
                    | FUSE_NO_OPEN_SUPPORT
                    | FUSE_NO_OPENDIR_SUPPORT
                    | FUSE_READDIRPLUS_AUTO
            }
            Caching::Asked if self.view.has_links() => {
                FUSE_ASYNC_READ | FUSE_CACHE_SYMLINKS | FUSE_DO_READDIRPLUS | FUSE_READDIRPLUS_AUTO
            }
            Caching::Asked => FUSE_ASYNC_READ,
        };
        let wish = InitTerms {
            features: FUSE_PARALLEL_DIROPS | FUSE_MAX_PAGES | kept,
            max_readahead: 0,
            max_write: 4096,
            max_pages: MAX_PAGES,
            max_background: 0,
            congestion_threshold: 0,
            time_granularity_ns: 1,
            max_stack_depth: 0,
        };
        match offer.agree(&wish) {
            Ok(agreed) => self.send(&reply::init(unique, &agreed)),
            Err(error) => {
                tracing::error!(%error, "this kernel's FUSE is too old");
                self.refuse(unique, ViewErrno::Io);
            }
        }
    }

    fn lookup(&self, header: &Header, name: &[u8], caller: ViewReader) -> Result<(), ViewErrno> {
        let parent = node(header)?;
        self.known.ask(parent);
        let found = loop {
            let found = self.view.lookup(parent, name, caller)?;
            // It may have been given up by now, forgotten by the kernel just before it was found.
            if found.is_none_or(|found| self.view.remember(found.node)) {
                break found;
            }
        };
        let answer = match &found {
            Some(found) => entry(found),
            // The kernel may remember that there is nothing, and never will be.
            None => Entry { entry_valid: Duration::from_secs(1 << 30), ..Entry::default() },
        };
        if found.is_none() && self.view.caching() == Caching::Asked && !self.view.has_links() {
            return Err(ViewErrno::NoEnt);
        }
        self.send(&reply::entry(header.unique, &answer));
        Ok(())
    }

    fn forget(&self, number: u64, lookups: u64) {
        if let Some(node) = ViewNode::from_number(number) {
            self.view.forget(node, lookups);
        }
    }

    fn read(&self, header: &Header, read: &Read, caller: ViewReader) -> Result<(), ViewErrno> {
        let text = match self.view.caching() {
            Caching::Kept => {
                let node = node(header)?;
                self.known.ask(node);
                self.view.text(node, caller)?
            }
            Caching::Asked => self.open_text(read, caller)?,
        };
        let start = usize::try_from(read.offset).unwrap_or(usize::MAX).min(text.len());
        let end = start.saturating_add(read.size as usize).min(text.len());
        self.send(&reply::data(header.unique, &text[start..end]));
        Ok(())
    }

    /// The text of an open file: a reader that begins at the beginning gets a new one.
    fn open_text(&self, read: &Read, caller: ViewReader) -> Result<Arc<Vec<u8>>, ViewErrno> {
        let fh = usize::try_from(read.fh).unwrap_or(usize::MAX);
        let (node, begun) = self.begun(fh)?;
        if let Begun::Text(text) = begun
            && read.offset > 0
        {
            return Ok(text);
        }
        // Not with the lock: the kernel may take its time.
        let text = self.view.text(node, caller)?;
        self.begin(fh, Begun::Text(text.clone()));
        Ok(text)
    }

    fn open(&self, header: &Header, flags: u32) -> Result<(), ViewErrno> {
        let file = UncachedFile { node: node(header)?, begun: Begun::Nothing };
        let fh = self.files().insert(file) as u64;
        self.send(&reply::open(header.unique, &OpenedFile { fh, flags, backing_id: 0 }));
        Ok(())
    }

    fn begun(&self, fh: usize) -> Result<(ViewNode, Begun), ViewErrno> {
        let files = self.files();
        let file = files.get(fh).ok_or(ViewErrno::Inval)?;
        Ok((file.node, file.begun.clone()))
    }

    fn begin(&self, fh: usize, begun: Begun) {
        if let Some(file) = self.files().get_mut(fh) {
            file.begun = begun;
        }
    }

    /// The processes that a listing of the root has: one that begins at the beginning has those of now.
    fn listed(
        &self,
        read: &Read,
        caller: ViewReader,
    ) -> Result<Arc<Vec<ListedProcess>>, ViewErrno> {
        // The kernel opens no directory of what it keeps: there is no number to remember anything by.
        if self.view.caching() == Caching::Kept {
            return self.view.processes(caller);
        }
        let fh = usize::try_from(read.fh).unwrap_or(usize::MAX);
        if read.offset > 0
            && let (_, Begun::Processes(processes)) = self.begun(fh)?
        {
            return Ok(processes);
        }
        let processes = self.view.processes(caller)?;
        self.begin(fh, Begun::Processes(processes.clone()));
        Ok(processes)
    }

    fn read_dir(
        &self,
        header: &Header,
        read: &Read,
        caller: ViewReader,
        room: &mut Vec<u8>,
        listing: Listing,
    ) -> Result<(), ViewErrno> {
        let dir = node(header)?;
        self.known.ask(dir);
        room.resize((read.size as usize).min(MAX_LISTED_BYTES), 0);
        let mut listed = DirentBuffer::new(room);
        let processes = match dir {
            ViewNode::Root => self.listed(read, caller)?,
            _ => Arc::default(),
        };
        let processes = (listing, &**processes);
        self.view.list(dir, read.offset, processes, &mut |found: Found, next, name| {
            let Found { node, attr, .. } = found;
            let pushed = match listing {
                Listing::Names => listed.push(attr.ino, next, attr.mode, name),
                Listing::Entries => {
                    let is_dots = name == b"." || name == b"..";
                    // Files that are made anew each time, and those that count how often the kernel was told of them.
                    let is_fresh = matches!(
                        node,
                        ViewNode::SelfLink(_)
                            | ViewNode::ThreadSelfLink(_)
                            | ViewNode::Kernel(..)
                            | ViewNode::Linked(LinkedNode::File(_) | LinkedNode::Root(_))
                    );
                    // Who lists threads mostly counts them.
                    let is_thread = matches!(node, ViewNode::Task(_, What::ThreadDir));
                    // Only named: not looked up with it.
                    let mut entry = entry(&found);
                    if is_dots || is_fresh || is_thread {
                        entry.node = 0;
                    }
                    listed.push_plus(&entry, next, name)
                }
            };
            pushed.is_ok()
        })?;
        self.send(&reply::data(header.unique, listed.into_bytes()));
        Ok(())
    }

    fn files(&self) -> MutexGuard<'_, Slab<UncachedFile>> {
        self.files.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn refuse(&self, unique: u64, errno: ViewErrno) {
        self.send(&reply::error(unique, errno.raw()));
    }

    /// Writes one message. The process that asked, or the file that is told of, may be gone.
    fn send(&self, message: &Message<'_>) {
        match self.fuse.send(message.slices()) {
            Ok(ReplyOutcome::Delivered | ReplyOutcome::Gone) => {}
            Err(error) => tracing::error!(%error, ?message, "the kernel refused a reply"),
        }
    }
}

fn helper(
    name: &str,
    run: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, ViewServeError> {
    std::thread::Builder::new().name(name.into()).spawn(run).map_err(ViewServeError::Thread)
}

fn node(header: &Header) -> Result<ViewNode, ViewErrno> {
    ViewNode::from_number(header.node).ok_or(ViewErrno::NoEnt)
}

impl std::fmt::Debug for ViewSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("table", self.shared.view.table()).finish()
    }
}
