//! Processes of the kernel's, and what else its /proc tells.

pub(super) mod devices;
mod redact;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use binder_os::{ProcDir, ProcStat};
use fuse_wire::{Attr, Timestamp};

use super::{
    Caching, Found, Listing, MOUNTS, S_IFDIR, S_IFLNK, S_IFMT, S_IFREG, View, ViewReader,
    descriptor, process_number,
};
use crate::errno::{ViewErrno, found};
use crate::files::{FileLink, NsKind, Text};
use crate::kernel::ListedProcess;
use crate::net::NetFile;
use crate::node::{FD_MAX, ViewNode, What};
use redact::ReaderRelation;

/// Texts, and where links lead, as they were when they were looked up.
#[derive(Default)]
pub(super) struct Snapshots {
    texts: HashMap<u32, (Attr, Arc<Vec<u8>>)>,
    next: u32,
}

/// Paths in the kernel's /proc that readers have asked for. There are as many as there are files in
/// `sys`, at most.
#[derive(Default)]
pub(super) struct Mirror {
    paths: Vec<Arc<str>>,
    by_path: HashMap<Arc<str>, u32>,
}

/// What of the kernel's /proc is shown beside the processes: files that tell all readers the same.
const MIRRORED: [&str; 21] = [
    "buddyinfo",
    "cgroups",
    "cmdline",
    "consoles",
    "cpuinfo",
    "crypto",
    "devices",
    "diskstats",
    "filesystems",
    "interrupts",
    "loadavg",
    "meminfo",
    "misc",
    MOUNTS,
    "partitions",
    "softirqs",
    "stat",
    "swaps",
    "uptime",
    "version",
    "vmstat",
];
/// And the directory of which everything is.
const MIRRORED_DIR: &str = "sys";

impl Snapshots {
    pub(super) fn remove(&mut self, nth: u32) -> Option<(Attr, Arc<Vec<u8>>)> {
        self.texts.remove(&nth)
    }
}

impl View {
    fn process_dir(&self, slot: u32) -> Result<(u32, Arc<ProcDir>), ViewErrno> {
        self.kernel.dir(slot)?.ok_or(ViewErrno::Srch)
    }

    pub(super) fn kernel_entry(&self, listed: ListedProcess, listing: Listing) -> Option<Found> {
        if let Some(links) = &self.links {
            return self.linked_entry(links, listed, listing);
        }
        // ListedProcess, not looked up: the kernel learns no node of ours from it.
        let stat = self.kernel.proc().stat(listed.pid.to_string()).ok()?;
        let node = ViewNode::Kernel(0, What::Dir);
        let attr = self.attr_from(stat, S_IFDIR | 0o555);
        Some(Found { node, attr, valid: (Duration::ZERO, Duration::ZERO) })
    }

    pub(super) fn found_of_kernel(
        &self,
        slot: u32,
        what: What,
        caller: ViewReader,
    ) -> Result<Found, ViewErrno> {
        let attr = self.attr_of_kernel(slot, what).map_err(|errno| match errno {
            ViewErrno::Srch => ViewErrno::NoEnt,
            other => other,
        })?;
        let kind = attr.mode & S_IFMT;
        let node = match (self.caching, &self.links) {
            (Caching::Kept, _) if kind != S_IFDIR => self.snapshot(slot, what, attr, caller)?,
            (Caching::Asked, Some(links)) if kind == S_IFLNK => {
                return Ok(links.found_target(attr, self.read_link_of_kernel(slot, what, caller)));
            }
            (Caching::Kept | Caching::Asked, _) => ViewNode::Kernel(slot, what),
        };
        let attr = match node {
            ViewNode::Snapshot(nth) => self.attr_of_snapshot(nth)?,
            _ => attr,
        };
        Ok(Found { node, attr, valid: self.valid(node) })
    }

    pub(super) fn lookup_of_kernel(
        &self,
        slot: u32,
        what: What,
        name: &[u8],
        caller: ViewReader,
    ) -> Result<Option<Found>, ViewErrno> {
        let (_, dir) = self.kernel.dir(slot)?.ok_or(ViewErrno::NoEnt)?;
        let inner = match what {
            What::Dir | What::ThreadDir => match name {
                b"task" if what == What::Dir => What::TaskDir,
                b"ns" => What::NsDir,
                b"fd" => What::FdDir,
                b"fdinfo" => What::FdInfoDir,
                b"attr" => What::AttrDir,
                _ => Text::named(name)
                    .map(What::Text)
                    .or_else(|| FileLink::named(name).map(What::Link))
                    .ok_or(ViewErrno::NoEnt)?,
            },
            What::TaskDir => {
                let tid = process_number(name).ok_or(ViewErrno::NoEnt)?;
                let thread = self.kernel.adopt_thread(&dir, tid).map_err(ViewErrno::absent)?;
                return self.found_of_kernel(thread.slot, What::ThreadDir, caller).map(Some);
            }
            What::NsDir => {
                let number_of = |kind: NsKind| {
                    let behind = dir.stat_behind(format!("ns/{}", kind.name())).ok()?;
                    u32::try_from(behind.inode).ok()
                };
                // The link's target is a name here, too: so a process that follows it gets to a
                // file with the namespace's number, and one that reads it sees what the kernel's
                // own says.
                if let Some((kind, number)) = NsKind::parse_target(name) {
                    let is_its_own = number_of(kind) == Some(number);
                    let file = is_its_own.then_some(ViewNode::NsFile(kind, number));
                    return self.found(file.ok_or(ViewErrno::NoEnt)?).map(Some);
                }
                What::Ns(NsKind::named(name).ok_or(ViewErrno::NoEnt)?)
            }
            What::FdDir => What::Fd(descriptor(name).ok_or(ViewErrno::NoEnt)?),
            What::FdInfoDir => What::FdInfo(descriptor(name).ok_or(ViewErrno::NoEnt)?),
            What::AttrDir if name == b"current" => What::Text(Text::AttrCurrent),
            What::AttrDir => return Err(ViewErrno::NoEnt),
            What::Fd(_) | What::FdInfo(_) | What::Text(_) | What::Link(_) | What::Ns(_) => {
                return Err(ViewErrno::NotDir);
            }
        };
        self.found_of_kernel(slot, inner, caller).map(Some)
    }

    pub(super) fn attr_of_kernel(&self, slot: u32, what: What) -> Result<Attr, ViewErrno> {
        let (_, dir) = self.process_dir(slot)?;
        let stat = dir.stat(path_of(what)).map_err(|error| match error.raw_os_error() {
            // The directory is there, and the process is not.
            Some(2) if !matches!(what, What::Fd(_) | What::FdInfo(_)) => ViewErrno::Srch,
            _ => error.into(),
        })?;
        let mode = match what {
            What::Dir | What::ThreadDir | What::TaskDir | What::AttrDir => S_IFDIR | 0o555,
            What::NsDir => S_IFDIR | 0o511,
            What::FdDir | What::FdInfoDir => S_IFDIR | 0o500,
            What::FdInfo(_) => S_IFREG | 0o400,
            What::Fd(_) => S_IFLNK | stat.mode & 0o777,
            What::Text(text) => S_IFREG | text.permissions() & stat.mode,
            What::Link(_) | What::Ns(_) => S_IFLNK | 0o777,
        };
        Ok(self.attr_from(stat, mode))
    }

    pub(super) fn attr_from(&self, stat: ProcStat, mode: u32) -> Attr {
        let ProcStat { uid, gid, inode: ino, links: nlink, size, changed_at, .. } = stat;
        let changed_at = match self.caching {
            Caching::Asked => changed_at,
            // Another each time, so that the kernel does not take a directory for the one it has listed.
            Caching::Kept => SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
        };
        let at = Timestamp {
            seconds: i64::try_from(changed_at.as_secs()).unwrap_or(i64::MAX),
            nanoseconds: changed_at.subsec_nanos(),
        };
        let (atime, mtime, ctime) = (at, at, at);
        Attr { ino, uid, gid, nlink, size, atime, mtime, ctime, ..self.plain_attr(mode, 0) }
    }

    pub(super) fn text_of_kernel(
        &self,
        slot: u32,
        what: What,
        caller: ViewReader,
    ) -> Result<Vec<u8>, ViewErrno> {
        let (own, dir) = self.process_dir(slot)?;
        let bytes = dir.read(path_of(what)).map_err(gone)?;
        let is_reader = own == caller.tid;
        let text = match what {
            What::Text(text @ (Text::Stat | Text::Status)) => text,
            What::Text(Text::Wchan) if is_reader => return Ok(b"0".to_vec()),
            _ => return Ok(bytes),
        };
        let numbers = self.kernel.numbers();
        let tgid = self.kernel.tgid_of(caller.tid)?;
        // Group and session are mostly the same, and often the process's own.
        let mut seen_as = HashMap::from([(own, own)]);
        let mut failure = None;
        let mut look = |number| {
            let seen = self.kernel.as_seen(number, tgid);
            seen.unwrap_or_else(|error| {
                failure = Some(error);
                0
            })
        };
        let as_seen = |number| *seen_as.entry(number).or_insert_with(|| look(number));
        let is_owner = || {
            let owner = dir.stat(text.name()).map_err(gone)?.uid;
            Ok::<_, ViewErrno>(caller.uid == 0 || caller.uid == owner)
        };
        let reader = match is_reader {
            true => ReaderRelation::Itself,
            false if text == Text::Status || is_owner()? => ReaderRelation::Owner,
            false => ReaderRelation::Other,
        };
        let told = match text {
            Text::Status => Some(redact::status(&bytes, reader, numbers, as_seen)),
            _ => redact::stat(&bytes, reader, numbers, as_seen),
        };
        match failure {
            Some(error) => Err(error.into()),
            None => told.ok_or(ViewErrno::Io),
        }
    }

    pub(super) fn read_link_of_kernel(
        &self,
        slot: u32,
        what: What,
        caller: ViewReader,
    ) -> Result<Vec<u8>, ViewErrno> {
        let (_, dir) = self.process_dir(slot)?;
        read_link_for(caller, &dir, what)
    }

    pub(super) fn list_of_kernel(
        &self,
        slot: u32,
        what: What,
        offset: u64,
        push: &mut dyn FnMut(Found, u64, &[u8]) -> bool,
    ) -> Result<(), ViewErrno> {
        let (_, dir) = self.kernel.dir(slot)?.ok_or(ViewErrno::NoEnt)?;
        let kind = |what: What| match what {
            What::Text(_) | What::FdInfo(_) => S_IFREG,
            What::Link(_) | What::Ns(_) | What::Fd(_) => S_IFLNK,
            _ => S_IFDIR,
        };
        let here = path_of(what);
        let mut entries: Vec<(String, What)> = vec![(".".into(), what), ("..".into(), What::Dir)];
        match what {
            What::Dir | What::ThreadDir => {
                let texts = Text::ALL.into_iter().map(|text| (text.name(), What::Text(text)));
                let links = FileLink::ALL.into_iter().map(|link| (link.name(), What::Link(link)));
                let texts = texts.filter(|(name, _)| !name.contains('/'));
                let dirs = [
                    ("ns", What::NsDir),
                    ("fd", What::FdDir),
                    ("fdinfo", What::FdInfoDir),
                    ("attr", What::AttrDir),
                    ("task", What::TaskDir),
                ];
                let dirs =
                    dirs.into_iter().filter(|(_, it)| what == What::Dir || *it != What::TaskDir);
                let names = texts.chain(links).chain(dirs);
                entries.extend(names.map(|(name, what)| (name.to_owned(), what)));
            }
            What::TaskDir => {
                let threads = dir.numbers("task").map_err(ViewErrno::absent)?;
                entries.extend(threads.iter().map(|tid| (tid.to_string(), What::ThreadDir)));
            }
            What::NsDir => {
                let kinds = NsKind::ALL.into_iter();
                entries.extend(kinds.map(|kind| (kind.name().to_owned(), What::Ns(kind))));
            }
            What::AttrDir => entries.push(("current".into(), What::Text(Text::AttrCurrent))),
            What::FdDir | What::FdInfoDir => {
                let file = if what == What::FdDir { What::Fd } else { What::FdInfo };
                let shown = dir.numbers(&*here)?.into_iter().filter(|fd| *fd <= FD_MAX);
                entries.extend(shown.map(|fd| (fd.to_string(), file(fd))));
            }
            What::Fd(_) | What::FdInfo(_) | What::Text(_) | What::Link(_) | What::Ns(_) => {
                return Err(ViewErrno::NotDir);
            }
        }
        for (at, (name, what)) in (1..).zip(entries).skip_while(|(at, _)| *at <= offset) {
            // Not every kernel has all of them, and some go meanwhile.
            let Ok(stat) = dir.stat(format!("{here}/{name}")) else { continue };
            let node = ViewNode::Kernel(slot, what);
            let attr = Attr { ino: stat.inode, ..self.plain_attr(kind(what), 0) };
            let found = Found { node, attr, valid: (Duration::ZERO, Duration::ZERO) };
            if !push(found, at, name.as_bytes()) {
                break;
            }
        }
        Ok(())
    }

    /// Notes a text, or the target of a link, for the reader that looks it up.
    fn snapshot(
        &self,
        slot: u32,
        what: What,
        attr: Attr,
        caller: ViewReader,
    ) -> Result<ViewNode, ViewErrno> {
        let bytes = match what {
            What::Text(_) | What::FdInfo(_) => self.text_of_kernel(slot, what, caller),
            _ => self.read_link_of_kernel(slot, what, caller),
        };
        let bytes = bytes.map_err(|errno| match errno {
            ViewErrno::Other(raw) => ViewErrno::absent(io::Error::from_raw_os_error(raw)),
            _ => ViewErrno::NoEnt,
        })?;
        let mut snapshots = self.snapshots();
        let nth = snapshots.next;
        snapshots.next = nth.wrapping_add(1);
        let node = ViewNode::Snapshot(nth);
        let attr = Attr { size: bytes.len() as u64, ..attr };
        snapshots.texts.insert(nth, (attr, Arc::new(bytes)));
        Ok(node)
    }

    pub(super) fn attr_of_snapshot(&self, nth: u32) -> Result<Attr, ViewErrno> {
        self.snapshots().texts.get(&nth).map(|(attr, _)| *attr).ok_or(ViewErrno::Srch)
    }

    /// The text, or where the link leads.
    pub(super) fn text_of_snapshot(&self, nth: u32) -> Result<Arc<Vec<u8>>, ViewErrno> {
        self.snapshots().texts.get(&nth).map(|(_, text)| text.clone()).ok_or(ViewErrno::Srch)
    }

    /// Finds a name beside the processes, or below a directory there.
    pub(super) fn lookup_mirror(&self, dir: Option<u32>, name: &[u8]) -> Result<Found, ViewErrno> {
        let name = std::str::from_utf8(name).map_err(|_| ViewErrno::NoEnt)?;
        let path = match dir {
            Some(dir) => format!("{}/{name}", self.mirrored(dir)?),
            None if MIRRORED.contains(&name) || name == MIRRORED_DIR => name.to_owned(),
            None => return Err(ViewErrno::NoEnt),
        };
        // Before it is given a number, for a file that does not exist needs none.
        self.kernel.proc().stat(&*path)?;
        let nth = self.mirror().number_of(&path);
        let attr = self.attr_of_mirror(nth)?;
        Ok(Found { node: ViewNode::Mirror(nth), attr, valid: (Duration::ZERO, Duration::ZERO) })
    }

    fn mirrored(&self, nth: u32) -> Result<Arc<str>, ViewErrno> {
        self.mirror().paths.get(nth as usize).cloned().ok_or(ViewErrno::NoEnt)
    }

    /// The link to the reader's mounts.
    pub(super) fn mounts(&self) -> ViewNode {
        ViewNode::Mirror(self.mirror().number_of(MOUNTS))
    }

    pub(super) fn attr_of_mirror(&self, nth: u32) -> Result<Attr, ViewErrno> {
        let stat = self.kernel.proc().stat(&*self.mirrored(nth)?)?;
        Ok(self.attr_from(stat, stat.mode & !0o222))
    }

    pub(super) fn text_of_mirror(&self, nth: u32) -> Result<Vec<u8>, ViewErrno> {
        Ok(self.kernel.proc().read(&*self.mirrored(nth)?)?)
    }

    /// A file of the network that the reader is in, as its own /proc/net has it.
    pub(super) fn net_of_reader(
        &self,
        file: NetFile,
        caller: ViewReader,
    ) -> Result<Vec<u8>, ViewErrno> {
        let reader = self.kernel.adopt(caller.tid).map_err(ViewErrno::absent)?;
        let text = found(reader.dir.read(format!("net/{}", file.name())))?;
        // A kernel may be without IPv6, for one.
        Ok(text.map_or_else(|| file.header().into_bytes(), |text| file.without_addresses(text)))
    }

    pub(super) fn read_link_mirror(&self, nth: u32) -> Result<Vec<u8>, ViewErrno> {
        Ok(self.kernel.proc().read_link(&*self.mirrored(nth)?)?)
    }

    /// Lists a directory of the kernel's; the first `before` places are taken.
    pub(super) fn list_mirror(
        &self,
        dir: Option<u32>,
        before: u64,
        offset: u64,
        push: &mut dyn FnMut(Found, u64, &[u8]) -> bool,
    ) -> Result<(), ViewErrno> {
        let path = dir.map(|dir| self.mirrored(dir)).transpose()?;
        let names = match &path {
            Some(path) => {
                let mut names = vec![b".".to_vec(), b"..".to_vec()];
                names.extend(self.kernel.proc().names(&**path)?);
                names
            }
            None => {
                MIRRORED.iter().chain([&MIRRORED_DIR]).map(|it| it.as_bytes().to_vec()).collect()
            }
        };
        for (at, name) in (before + 1..).zip(names) {
            if at <= offset {
                continue;
            }
            let Ok(text) = std::str::from_utf8(&name) else { continue };
            let full = path.as_ref().map_or(text.to_owned(), |path| format!("{path}/{text}"));
            let Ok(stat) = self.kernel.proc().stat(&*full) else { continue };
            let node = ViewNode::Mirror(u32::MAX);
            let attr = self.attr_from(stat, stat.mode & !0o222);
            let found = Found { node, attr, valid: (Duration::ZERO, Duration::ZERO) };
            if !push(found, at, &name) {
                break;
            }
        }
        Ok(())
    }
}

impl Mirror {
    fn number_of(&mut self, path: &str) -> u32 {
        if let Some(nth) = self.by_path.get(path) {
            return *nth;
        }
        let (path, nth) = (Arc::<str>::from(path), u32::try_from(self.paths.len()).unwrap_or(0));
        self.paths.push(path.clone());
        self.by_path.insert(path, nth);
        nth
    }
}

/// Where a link of a process leads, if `caller` may know.
pub(super) fn read_link_for(
    caller: ViewReader,
    dir: &ProcDir,
    what: What,
) -> Result<Vec<u8>, ViewErrno> {
    if !matches!(what, What::Link(_) | What::Fd(_) | What::Ns(_)) {
        return Err(ViewErrno::Inval);
    }
    // Only the process's user may know where its links lead; the directory belongs to root for
    // a process that others may not look into.
    let owner = dir.stat("environ").map_err(|_| ViewErrno::NoEnt)?.uid;
    if caller.uid != 0 && caller.uid != owner {
        return Err(ViewErrno::Acces);
    }
    let target = dir.read_link(path_of(what))?;
    Ok(match what {
        What::Fd(fd) => devices::target_of(dir, fd, target)?,
        _ => target,
    })
}

/// The directory of a process is there, and the process is not.
fn gone(error: io::Error) -> ViewErrno {
    match error.kind() {
        io::ErrorKind::NotFound => ViewErrno::Srch,
        _ => error.into(),
    }
}

fn path_of(what: What) -> String {
    match what {
        What::Dir | What::ThreadDir => ".".into(),
        What::TaskDir => "task".into(),
        What::NsDir => "ns".into(),
        What::FdDir => "fd".into(),
        What::FdInfoDir => "fdinfo".into(),
        What::AttrDir => "attr".into(),
        What::Fd(fd) => format!("fd/{fd}"),
        What::FdInfo(fd) => format!("fdinfo/{fd}"),
        What::Text(text) => text.name().into(),
        What::Link(link) => link.name().into(),
        What::Ns(kind) => format!("ns/{}", kind.name()),
    }
}
