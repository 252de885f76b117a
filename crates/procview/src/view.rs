//! The nodes behind names, as one namespace sees them.

mod kernel_side;
mod linked;
mod table_side;

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use fuse_wire::{Attr, Entry, Timestamp};
use pidns::PidNamespace;

use crate::clock::Clock;
use crate::errno::ViewErrno;
use crate::kernel::{Kernel, ListedProcess, number};
use crate::machine::{MachineDir, MachineFile};
use crate::node::{FD_MAX, LinkedNode, ViewNode, What};
use crate::table::ProcessTable;
use crate::task::Task;
use kernel_side::{Mirror, Snapshots};
use linked::KernelLinks;
pub use linked::{KERNEL_DIR, KernelFiles};

const S_IFMT: u32 = 0o170_000;
const S_IFDIR: u32 = 0o040_000;
const S_IFREG: u32 = 0o100_000;
const S_IFLNK: u32 = 0o120_000;

/// What does not change, or whose changes we tell.
const FOREVER: Duration = Duration::from_secs(1 << 30);

/// The link to the mounts of its reader.
const MOUNTS: &str = "mounts";

/// The directory that is ours beside the kernel's processes, too: its content is each reader's own.
const NET: MachineDir = MachineDir::Net;

/// No name of a reader is as long.
const LINK_BOUND: usize = 64;

/// In a listing, numbers of processes come after the other names.
const FIRST_NUMBER: u64 = 1 << 16;

/// The process that asks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ViewReader {
    /// Its thread, as the mount's namespace numbers it; 0 if that does not see it.
    pub(crate) tid: u32,
    /// Its user.
    pub(crate) uid: u32,
}

/// Whether the kernel may keep what it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caching {
    /// It may: the processes are those of the table, and each change is told.
    Kept,
    /// It may not: the processes are the kernel's own, and change unheard.
    Asked,
}

/// The facts listed for each entry of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listing {
    Names,
    Entries,
}

/// A name and its node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    pub(crate) node: ViewNode,
    pub(crate) attr: Attr,
    /// How long the name may be kept, and the attributes.
    pub(crate) valid: (Duration, Duration),
}

/// A text: of what, after how many changes, and itself.
type RememberedText = (ViewNode, u64, Arc<Vec<u8>>);

/// The processes as one namespace sees them.
pub(crate) struct View {
    table: Arc<ProcessTable>,
    namespace: Arc<PidNamespace<Task>>,
    kernel: Kernel,
    caching: Caching,
    /// Of a view of the kernel's processes, if it has any.
    links: Option<KernelLinks>,
    next_link: AtomicU32,
    snapshots: Mutex<Snapshots>,
    mirror: Mutex<Mirror>,
    last_text: Mutex<Option<RememberedText>>,
    clock: Clock,
}

impl View {
    pub(crate) fn new(
        table: Arc<ProcessTable>,
        namespace: Arc<PidNamespace<Task>>,
        kernel: Kernel,
        caching: Caching,
    ) -> Self {
        Self {
            table,
            namespace,
            kernel,
            caching,
            links: None,
            next_link: AtomicU32::new(0),
            snapshots: Mutex::default(),
            mirror: Mutex::default(),
            last_text: Mutex::default(),
            clock: Clock::default(),
        }
    }

    /// The same with `files` of the kernel's processes.
    pub(crate) fn with(self, files: KernelFiles) -> io::Result<Self> {
        let links = match files {
            KernelFiles::Served => None,
            KernelFiles::Linked { age } => Some(KernelLinks::new(self.kernel.proc(), age)?),
        };
        Ok(Self { links, ..self })
    }

    /// Whether links are told with where they lead, which the kernel may keep.
    pub(crate) fn has_links(&self) -> bool {
        self.links.is_some()
    }

    pub(crate) fn caching(&self) -> Caching {
        self.caching
    }

    pub(crate) fn table(&self) -> &Arc<ProcessTable> {
        &self.table
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(crate) fn namespace(&self) -> &PidNamespace<Task> {
        &self.namespace
    }

    /// Finds a name in a directory. `None` stands for a name that will never be there.
    pub(crate) fn lookup(
        &self,
        parent: ViewNode,
        name: &[u8],
        caller: ViewReader,
    ) -> Result<Option<Found>, ViewErrno> {
        match parent {
            ViewNode::Root => self.lookup_in_root(name, caller),
            ViewNode::MachineDir(dir) => Ok(self.lookup_machine(Some(dir), name)),
            ViewNode::Task(serial, what) => self.lookup_of_task(serial, what, name),
            ViewNode::Kernel(slot, what) => self.lookup_of_kernel(slot, what, name, caller),
            ViewNode::Mirror(path) => self.lookup_mirror(Some(path), name).map(Some),
            ViewNode::Linked(node) => self.lookup_of_linked(self.links()?, node, name, caller),
            ViewNode::KernelRoot => self.lookup_unmounted(name, caller).map(Some),
            ViewNode::MachineFile(_)
            | ViewNode::SelfLink(_)
            | ViewNode::ThreadSelfLink(_)
            | ViewNode::NsFile(..)
            | ViewNode::Snapshot(_) => Err(ViewErrno::NotDir),
        }
    }

    fn lookup_in_root(&self, name: &[u8], caller: ViewReader) -> Result<Option<Found>, ViewErrno> {
        if let Some(nr) = process_number(name) {
            if let Some(task) = self.namespace.get_pid(nr) {
                return Ok(Some(self.found_task(&task, What::Dir)));
            }
            if let Some(links) = &self.links {
                return self.lookup_linked_process(links, nr, caller).map(Some);
            }
            let reader = self.kernel.tgid_of(caller.tid)?;
            if self.kernel.shows(nr, reader)? {
                let process = self.kernel.adopt(nr).map_err(ViewErrno::absent)?;
                return self.found_of_kernel(process.slot, What::Dir, caller).map(Some);
            }
            return Err(ViewErrno::NoEnt);
        }
        if let Some(nr) = name.strip_prefix(b".").and_then(process_number) {
            let reader = self.kernel.tgid_of(caller.tid)?;
            let process =
                self.kernel.adopt(reader.filter(|it| *it == nr).ok_or(ViewErrno::NoEnt)?)?;
            return self.found_of_kernel(process.slot, What::Dir, caller).map(Some);
        }
        if let Some(links) = &self.links
            && let Some(found) = self.lookup_linked_root(links, name)?
        {
            return Ok(Some(found));
        }
        let fresh = || self.next_link.fetch_add(1, Ordering::Relaxed);
        match name {
            b"self" => Ok(Some(self.found(ViewNode::SelfLink(fresh()))?)),
            b"thread-self" => Ok(Some(self.found(ViewNode::ThreadSelfLink(fresh()))?)),
            _ => match self.caching {
                // Each reader's own, as in the kernel's.
                Caching::Kept if name == MOUNTS.as_bytes() => self.found(self.mounts()).map(Some),
                Caching::Kept => Ok(self.lookup_machine(None, name)),
                // What the kernel does not have now it may have when a module has been loaded.
                Caching::Asked if self.has_links() => Err(ViewErrno::NoEnt),
                Caching::Asked if name == NET.name().as_bytes() => {
                    self.found(ViewNode::MachineDir(NET)).map(Some)
                }
                Caching::Asked => self.lookup_mirror(None, name).map(Some),
            },
        }
    }

    fn lookup_machine(&self, dir: Option<MachineDir>, name: &[u8]) -> Option<Found> {
        let is_here = |it: &MachineFile| it.dir() == dir && it.name().as_bytes() == name;
        let file = MachineFile::ALL.into_iter().find(is_here).map(ViewNode::MachineFile);
        let is_here = |it: &MachineDir| it.dir() == dir && it.name().as_bytes() == name;
        let dir = MachineDir::ALL.into_iter().find(is_here).map(ViewNode::MachineDir);
        self.found(file.or(dir)?).ok()
    }

    /// A node with its attributes, and how long the kernel may keep them.
    fn found(&self, node: ViewNode) -> Result<Found, ViewErrno> {
        Ok(Found { node, attr: self.attr(node)?, valid: self.valid(node) })
    }

    /// How long the kernel may keep the name of a node, and its attributes.
    pub(crate) fn valid(&self, node: ViewNode) -> (Duration, Duration) {
        match (self.caching, node) {
            (
                Caching::Kept,
                ViewNode::SelfLink(_) | ViewNode::ThreadSelfLink(_) | ViewNode::Snapshot(_),
            ) => (Duration::ZERO, FOREVER),
            (Caching::Kept, ViewNode::Kernel(..)) => (Duration::ZERO, Duration::ZERO),
            (Caching::Kept, _) => (FOREVER, FOREVER),
            (Caching::Asked, _) => match &self.links {
                Some(links) => links.valid(node),
                None => (Duration::ZERO, Duration::ZERO),
            },
        }
    }

    /// The links that a node is of.
    fn links(&self) -> Result<&KernelLinks, ViewErrno> {
        self.links.as_ref().ok_or(ViewErrno::NoEnt)
    }

    /// The attributes of a node, and how long they may be kept is the same as at its look-up.
    pub(crate) fn attr(&self, node: ViewNode) -> Result<Attr, ViewErrno> {
        let (mode, size) = match node {
            ViewNode::Root | ViewNode::MachineDir(_) | ViewNode::KernelRoot => (S_IFDIR | 0o555, 0),
            ViewNode::MachineFile(_) => {
                (S_IFREG | 0o444, self.size_of(self.kept_text(node)?.len()))
            }
            ViewNode::SelfLink(_) | ViewNode::ThreadSelfLink(_) => {
                (S_IFLNK | 0o777, self.size_of(LINK_BOUND))
            }
            ViewNode::NsFile(..) => (S_IFREG | 0o444, 0),
            ViewNode::Task(serial, what) => return self.attr_of_task(serial, what),
            ViewNode::Kernel(slot, what) => return self.attr_of_kernel(slot, what),
            ViewNode::Snapshot(nth) => return self.attr_of_snapshot(nth),
            ViewNode::Mirror(path) => return self.attr_of_mirror(path),
            ViewNode::Linked(node) => return self.attr_of_linked(self.links()?, node),
        };
        let ino = match node {
            ViewNode::NsFile(_, number) => number.into(),
            _ => node.number(),
        };
        let links = if node == ViewNode::Root { 2 + self.namespace.processes() } else { 1 };
        Ok(Attr { ino, nlink: links, ..self.plain_attr(mode, size) })
    }

    /// The size of a file that is so long, or of a link that leads so far. Where the kernel keeps links, those
    /// before 6.14 cut them there; its own /proc says 0.
    fn size_of(&self, len: usize) -> usize {
        match self.caching {
            Caching::Kept => len,
            Caching::Asked => 0,
        }
    }

    fn plain_attr(&self, mode: u32, size: usize) -> Attr {
        let changed = self.changed_at();
        let (atime, mtime, ctime) = (changed, changed, changed);
        let size = size as u64;
        Attr { mode, size, nlink: 1, blksize: 1024, atime, mtime, ctime, ..Attr::default() }
    }

    /// No two changes at the same time: the kernel takes what it has of a directory for good while
    /// its time is the same.
    fn changed_at(&self) -> Timestamp {
        const BILLION: u64 = 1_000_000_000;
        let changes = self.table.changes();
        let seconds = self.table.machine().boot_seconds() + changes / BILLION;
        Timestamp {
            seconds: i64::try_from(seconds).unwrap_or(i64::MAX),
            nanoseconds: u32::try_from(changes % BILLION).unwrap_or(0),
        }
    }

    /// Where a link leads.
    pub(crate) fn read_link(
        &self,
        node: ViewNode,
        caller: ViewReader,
    ) -> Result<Vec<u8>, ViewErrno> {
        match node {
            ViewNode::SelfLink(_) => Ok(self.name_of_reader(caller)?.into_bytes()),
            ViewNode::ThreadSelfLink(_) => {
                Ok(format!("{}/task/{}", self.name_of_reader(caller)?, caller.tid).into_bytes())
            }
            ViewNode::Task(serial, what) => self.read_link_of_task(serial, what),
            ViewNode::Kernel(slot, what) => self.read_link_of_kernel(slot, what, caller),
            ViewNode::Mirror(path) => self.read_link_mirror(path),
            ViewNode::Snapshot(nth) => Ok(self.text_of_snapshot(nth)?.to_vec()),
            ViewNode::Linked(node) => self.link_of_linked(self.links()?, node),
            ViewNode::Root
            | ViewNode::KernelRoot
            | ViewNode::MachineDir(_)
            | ViewNode::MachineFile(_)
            | ViewNode::NsFile(..) => Err(ViewErrno::Inval),
        }
    }

    /// By which name a reader finds itself: its number, or one that is not listed where the table
    /// has that number for another.
    fn name_of_reader(&self, caller: ViewReader) -> Result<String, ViewErrno> {
        let tgid = self.kernel.tgid_of(caller.tid)?.ok_or(ViewErrno::NoEnt)?;
        let is_anothers = self.namespace.get_pid(tgid).is_some();
        Ok(if is_anothers { format!(".{tgid}") } else { tgid.to_string() })
    }

    /// Hands the entries of a directory from `offset` on to `push`, with the offset behind each,
    /// until that says that it has no room. `processes` are the kernel's that a listing of the root has.
    pub(crate) fn list(
        &self,
        node: ViewNode,
        offset: u64,
        (listing, processes): (Listing, &[ListedProcess]),
        push: &mut dyn FnMut(Found, u64, &[u8]) -> bool,
    ) -> Result<(), ViewErrno> {
        // A name that lives as long as this call, with those of the links.
        let shorter =
            |(name, node): (&'static [u8], ViewNode)| -> (&[u8], ViewNode) { (name, node) };
        let mut fixed: Vec<(&[u8], ViewNode)> = vec![(b".", node), (b"..", ViewNode::Root)];
        match node {
            ViewNode::Root => {
                fixed.push((b"self", ViewNode::SelfLink(u32::MAX)));
                fixed.push((b"thread-self", ViewNode::ThreadSelfLink(u32::MAX)));
                match (self.caching, &self.links) {
                    (_, Some(links)) => fixed.extend(Self::linked_entries(links)),
                    (Caching::Kept, None) => {
                        fixed.push((MOUNTS.as_bytes(), self.mounts()));
                        fixed.extend(machine_entries(None).map(shorter));
                    }
                    (Caching::Asked, None) => {
                        fixed.push((NET.name().as_bytes(), ViewNode::MachineDir(NET)));
                    }
                }
            }
            ViewNode::MachineDir(dir) => fixed.extend(machine_entries(Some(dir)).map(shorter)),
            ViewNode::Task(serial, what) => return self.list_of_task(serial, what, offset, push),
            ViewNode::Kernel(slot, what) => {
                return self.list_of_kernel(slot, what, offset, push);
            }
            ViewNode::Mirror(path) => return self.list_mirror(Some(path), 0, offset, push),
            ViewNode::Linked(node) => return self.list_linked(self.links()?, node, offset, push),
            ViewNode::KernelRoot => {}
            ViewNode::MachineFile(_)
            | ViewNode::SelfLink(_)
            | ViewNode::ThreadSelfLink(_)
            | ViewNode::NsFile(..)
            | ViewNode::Snapshot(_) => return Err(ViewErrno::NotDir),
        }
        for (at, (name, node)) in (1..).zip(&fixed) {
            if at > offset && !push(self.found(*node)?, at, name) {
                return Ok(());
            }
        }
        if node != ViewNode::Root {
            return Ok(());
        }
        if self.caching == Caching::Asked && self.links.is_none() && offset < FIRST_NUMBER {
            let mut is_full = false;
            self.list_mirror(None, fixed.len() as u64, offset, &mut |found, at, name| {
                is_full = !push(found, at, name);
                !is_full
            })?;
            if is_full {
                return Ok(());
            }
        }
        let after = offset.saturating_sub(FIRST_NUMBER);
        self.list_processes(after, (listing, processes), push)
    }

    /// The kernel's processes that a listing of the root has from now on.
    pub(crate) fn processes(
        &self,
        caller: ViewReader,
    ) -> Result<Arc<Vec<ListedProcess>>, ViewErrno> {
        match self.caching {
            // The kernel keeps the listing for all readers: no process may be in it for one reader
            // alone.
            Caching::Kept => Ok(Arc::default()),
            Caching::Asked => {
                let age = self.links.as_ref().map_or(Duration::ZERO, |links| links.age);
                Ok(self.kernel.list(self.kernel.tgid_of(caller.tid)?, age)?)
            }
        }
    }

    /// Lists the processes whose numbers are `after` or higher.
    fn list_processes(
        &self,
        after: u64,
        (listing, processes): (Listing, &[ListedProcess]),
        push: &mut dyn FnMut(Found, u64, &[u8]) -> bool,
    ) -> Result<(), ViewErrno> {
        let first = u32::try_from(after).map_err(|_| ViewErrno::Inval)?.max(1);
        let kernels = &processes[processes.partition_point(|it| it.pid < first)..];
        let mut kernels = kernels.iter().peekable();
        let mut next = first;
        loop {
            let ours = self.next_process(next);
            let (nr, found) = match (ours, kernels.peek()) {
                (Some(task), other)
                    if other.is_none_or(|it| task.nr_ns(&self.namespace) <= it.pid) =>
                {
                    (task.nr_ns(&self.namespace), self.found_task(&task, What::Dir))
                }
                (_, Some(&&listed)) => match self.kernel_entry(listed, listing) {
                    Some(found) => (listed.pid, found),
                    None => {
                        kernels.next();
                        continue;
                    }
                },
                (_, None) => return Ok(()),
            };
            let offset = FIRST_NUMBER + u64::from(nr) + 1;
            if !push(found, offset, nr.to_string().as_bytes()) {
                return Ok(());
            }
            next = nr + 1;
            while kernels.peek().is_some_and(|it| it.pid <= nr) {
                kernels.next();
            }
        }
    }

    /// The content of a file, made anew.
    pub(crate) fn text(
        &self,
        node: ViewNode,
        caller: ViewReader,
    ) -> Result<Arc<Vec<u8>>, ViewErrno> {
        match node {
            ViewNode::MachineFile(MachineFile::Net(file)) if self.caching == Caching::Asked => {
                self.net_of_reader(file, caller).map(Arc::new)
            }
            ViewNode::MachineFile(_) | ViewNode::Task(_, What::Text(_)) => self.kept_text(node),
            ViewNode::NsFile(..) => Ok(Arc::default()),
            ViewNode::Snapshot(nth) => self.text_of_snapshot(nth),
            ViewNode::Kernel(slot, what @ (What::Text(_) | What::FdInfo(_))) => {
                self.text_of_kernel(slot, what, caller).map(Arc::new)
            }
            ViewNode::Mirror(path) => self.text_of_mirror(path).map(Arc::new),
            ViewNode::Root
            | ViewNode::MachineDir(_)
            | ViewNode::SelfLink(_)
            | ViewNode::ThreadSelfLink(_)
            | ViewNode::Task(..)
            | ViewNode::Kernel(..)
            | ViewNode::Linked(_)
            | ViewNode::KernelRoot => Err(ViewErrno::Inval),
        }
    }

    /// The kernel is told of a node once more; false if that is to be looked for again.
    #[must_use = "the kernel must not be told of a file that is not kept"]
    pub(crate) fn remember(&self, node: ViewNode) -> bool {
        match node {
            ViewNode::Kernel(slot, _) => self.kernel.remember(slot),
            _ => true,
        }
    }

    /// The kernel has forgotten a node, as often as it had been told of it.
    pub(crate) fn forget(&self, node: ViewNode, lookups: u64) {
        match node {
            ViewNode::Kernel(slot, _) => self.kernel.forget(slot, lookups),
            ViewNode::Snapshot(nth) => drop(self.snapshots().remove(nth)),
            ViewNode::Linked(LinkedNode::Target(nth)) => {
                if let Some(links) = &self.links {
                    links.targets().forget(nth, lookups);
                }
            }
            _ => {}
        }
    }

    /// A text of the table, or of its machine. Attributes come first, with the length, and then
    /// the text itself, so the last one is kept until something changes.
    fn kept_text(&self, node: ViewNode) -> Result<Arc<Vec<u8>>, ViewErrno> {
        if let ViewNode::MachineFile(file) = node {
            let machine = self.table.machine();
            let up = if file.follows_time() { self.clock.read(machine) } else { Duration::ZERO };
            let pid_max = self.namespace.pid_max();
            return Ok(Arc::new(crate::machine::render(&self.table, file, up, pid_max)));
        }
        let changes = self.table.changes();
        let mut last = self.last_text.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((of, at, text)) = &*last
            && (*of, *at) == (node, changes)
        {
            return Ok(text.clone());
        }
        let text = Arc::new(match node {
            ViewNode::Task(serial, What::Text(text)) => self.text_of_task(serial, text)?,
            _ => return Err(ViewErrno::Inval),
        });
        *last = Some((node, changes, text.clone()));
        Ok(text)
    }

    fn snapshots(&self) -> MutexGuard<'_, Snapshots> {
        self.snapshots.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn mirror(&self) -> MutexGuard<'_, Mirror> {
        self.mirror.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Names like those of processes: a number without a sign or leading zeros.
fn process_number(name: &[u8]) -> Option<u32> {
    plain_number(name).filter(|nr| *nr != 0)
}

/// Names like those of descriptors.
fn descriptor(name: &[u8]) -> Option<u32> {
    plain_number(name).filter(|fd| *fd <= FD_MAX)
}

fn plain_number(name: &[u8]) -> Option<u32> {
    let is_plain =
        name.iter().all(u8::is_ascii_digit) && (name.len() == 1 || !name.starts_with(b"0"));
    is_plain.then(|| number(name)).flatten()
}

fn machine_entries(dir: Option<MachineDir>) -> impl Iterator<Item = (&'static [u8], ViewNode)> {
    let files = MachineFile::ALL.into_iter().filter(move |it| it.dir() == dir);
    let files = files.map(|file| (file.name().as_bytes(), ViewNode::MachineFile(file)));
    let dirs = MachineDir::ALL.into_iter().filter(move |it| it.dir() == dir);
    files.chain(dirs.map(|dir| (dir.name().as_bytes(), ViewNode::MachineDir(dir))))
}

/// Builds the entry that the kernel is told.
pub(crate) fn entry(found: &Found) -> Entry {
    Entry {
        node: found.node.number(),
        generation: 0,
        entry_valid: found.valid.0,
        attr_valid: found.valid.1,
        attr: found.attr,
    }
}

#[cfg(test)]
mod tests;
