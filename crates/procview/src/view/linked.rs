//! Files that lead on to the kernel's own, in a view of which its /proc is a part.
//!
//! Of most processes the kernel may tell a reader all that it would tell it anyway. Their directories are
//! ours, for we say who is there; their entries are links, so that a reader who follows one asks the kernel,
//! which knows best what it may tell whom, and we are not asked at all.

mod targets;

use std::io;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use binder_os::ProcDir;
use fuse_wire::Attr;

use super::kernel_side::{devices, read_link_for};
use super::{FOREVER, Found, Listing, S_IFDIR, S_IFLNK, View, ViewReader, process_number};
use crate::errno::{ViewErrno, found};
use crate::files::{FileLink, Text};
use crate::kernel::{ListedProcess, Showing, number};
use crate::node::{LinkedNode, ViewNode, What};
pub(super) use targets::Targets;

/// Where the kernel's /proc is to be mounted in a view with [links](KernelFiles::Linked) to it; in the directory
/// of a process, the link to the one that it has there. No listing has either.
pub const KERNEL_DIR: &str = ".kernel";

/// How a view shows files of the kernel's processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelFiles {
    /// The view's process reads them, for each reader each time. The view is all that has to be mounted.
    Served,
    /// They are links to those of the kernel's /proc, which is to be mounted at [`KERNEL_DIR`] of the view.
    /// Where it is not, as in a copy of the mount without the mounts below it, they are served.
    Linked {
        /// How long a name, an owner or a listing may be believed.
        age: Duration,
    },
}

/// The links of a view.
pub(super) struct KernelLinks {
    pub(super) age: Duration,
    /// What the kernel has in the directory of a process, and beside those.
    in_process: Vec<String>,
    in_root: Vec<String>,
    targets: Mutex<Targets>,
}

/// KernelLinks of the root that lead each reader to its own.
const OF_READER: [(&str, &str); 2] = [("mounts", "self/mounts"), ("net", "self/net")];

/// KernelLinks that are ours.
const SELVES: [&str; 2] = ["self", "thread-self"];

const FD: &str = "fd";

/// The shortest time that is not none: the kernel makes a tick of its clock of it.
const TICK: Duration = Duration::from_nanos(1);

/// What names its parent: not links where that is not shown.
const TOLD: [(&str, What); 3] = [
    ("stat", What::Text(Text::Stat)),
    ("status", What::Text(Text::Status)),
    ("task", What::TaskDir),
];

impl KernelLinks {
    /// Links to what `proc` has.
    pub(super) fn new(proc: &ProcDir, age: Duration) -> io::Result<Self> {
        let names = |path: &str| {
            let names = proc.names(path)?.into_iter();
            Ok::<_, io::Error>(names.filter_map(|name| String::from_utf8(name).ok()).collect())
        };
        let mut in_root: Vec<String> = names(".")?;
        in_root.retain(|it| number(it.as_bytes()).is_none() && !SELVES.contains(&&**it));
        Ok(Self { age, in_process: names("self")?, in_root, targets: Mutex::default() })
    }

    /// How long the kernel may keep a name, and what it is told with it.
    pub(super) fn valid(&self, node: ViewNode) -> (Duration, Duration) {
        match node {
            ViewNode::Root | ViewNode::KernelRoot => (FOREVER, FOREVER),
            ViewNode::Linked(node) => match node {
                // A reader that has just looked the name up knows the attributes that came with it.
                LinkedNode::Dir(_) => (self.age, self.age.max(TICK)),
                LinkedNode::File(name) if self.in_process(name) == Some(FD) => {
                    (self.age.max(TICK), FOREVER)
                }
                LinkedNode::KernelDir(_) | LinkedNode::File(_) | LinkedNode::Root(_) => {
                    (FOREVER, FOREVER)
                }
                // Another for each reader, and then the same.
                LinkedNode::Target(_) => (Duration::ZERO, FOREVER),
            },
            ViewNode::SelfLink(_) | ViewNode::ThreadSelfLink(_) => (Duration::ZERO, FOREVER),
            _ => (Duration::ZERO, Duration::ZERO),
        }
    }

    fn in_process(&self, place: u32) -> Option<&str> {
        self.in_process.get(place as usize).map(|it| &**it)
    }

    /// A link with where it leads, or why its reader is not told.
    pub(super) fn found_target(&self, attr: Attr, target: Result<Vec<u8>, ViewErrno>) -> Found {
        let attr = Attr { size: target.as_ref().map_or(0, |it| it.len() as u64), ..attr };
        let node = ViewNode::Linked(LinkedNode::Target(self.targets().learn(attr, target)));
        Found { node, attr, valid: self.valid(node) }
    }

    pub(super) fn targets(&self) -> MutexGuard<'_, Targets> {
        self.targets.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

fn place_of(names: &[String], name: &[u8]) -> Option<u32> {
    let place = names.iter().position(|it| it.as_bytes() == name)?;
    u32::try_from(place).ok()
}

impl View {
    /// Finds a name in the root; `None` stands for one that is no link.
    pub(super) fn lookup_linked_root(
        &self,
        links: &KernelLinks,
        name: &[u8],
    ) -> Result<Option<Found>, ViewErrno> {
        if name == KERNEL_DIR.as_bytes() {
            return self.found(ViewNode::KernelRoot).map(Some);
        }
        let Some(place) = place_of(&links.in_root, name) else { return Ok(None) };
        self.found(ViewNode::Linked(LinkedNode::Root(place))).map(Some)
    }

    /// Finds a process in the root.
    pub(super) fn lookup_linked_process(
        &self,
        links: &KernelLinks,
        pid: u32,
        caller: ViewReader,
    ) -> Result<Found, ViewErrno> {
        let stat = self.kernel.proc().stat(pid.to_string()).map_err(ViewErrno::absent)?;
        match self.showing(ListedProcess { pid, inode: stat.inode }, caller)? {
            Showing::Nothing => Err(ViewErrno::NoEnt),
            Showing::Passed | Showing::Told => {
                let node = ViewNode::Linked(LinkedNode::Dir(pid));
                let attr = self.attr_from(stat, S_IFDIR | 0o555);
                Ok(Found { node, attr, valid: links.valid(node) })
            }
        }
    }

    fn showing(&self, listed: ListedProcess, caller: ViewReader) -> Result<Showing, ViewErrno> {
        Ok(self.kernel.showing(listed, || self.kernel.tgid_of(caller.tid))?)
    }

    /// A process in the root's listing.
    pub(super) fn linked_entry(
        &self,
        links: &KernelLinks,
        listed: ListedProcess,
        listing: Listing,
    ) -> Option<Found> {
        let linked = LinkedNode::Dir(listed.pid);
        let node = ViewNode::Linked(linked);
        let attr = match (listing, listed.inode) {
            (Listing::Names, 1..) => Attr { ino: listed.inode, mode: S_IFDIR, ..Attr::default() },
            // Looked up with it.
            (Listing::Names, 0) | (Listing::Entries, _) => {
                self.attr_of_linked(links, linked).ok()?
            }
        };
        Some(Found { node, attr, valid: links.valid(node) })
    }

    pub(super) fn attr_of_linked(
        &self,
        links: &KernelLinks,
        node: LinkedNode,
    ) -> Result<Attr, ViewErrno> {
        let len = match node {
            LinkedNode::Dir(pid) => {
                let stat = self.kernel.proc().stat(pid.to_string()).map_err(ViewErrno::absent)?;
                return Ok(self.attr_from(stat, S_IFDIR | 0o555));
            }
            LinkedNode::Target(nth) => return links.targets().attr(nth).ok_or(ViewErrno::Srch),
            LinkedNode::KernelDir(_) | LinkedNode::File(_) | LinkedNode::Root(_) => {
                self.link_of_linked(links, node)?.len()
            }
        };
        // As long as it is, for kernels before 6.14 cut what they keep of a link there.
        let attr = self.plain_attr(S_IFLNK | 0o777, len);
        Ok(Attr { ino: ViewNode::Linked(node).number(), ..attr })
    }

    /// Where a link leads: from the root, or from the directory of a process.
    pub(super) fn link_of_linked(
        &self,
        links: &KernelLinks,
        node: LinkedNode,
    ) -> Result<Vec<u8>, ViewErrno> {
        let target = match node {
            LinkedNode::KernelDir(pid) => format!("../{KERNEL_DIR}/{pid}"),
            LinkedNode::File(name) => {
                let name = links.in_process(name).ok_or(ViewErrno::NoEnt)?;
                format!("{KERNEL_DIR}/{name}")
            }
            LinkedNode::Root(name) => {
                let name = links.in_root.get(name as usize).ok_or(ViewErrno::NoEnt)?;
                match OF_READER.into_iter().find(|(link, _)| link == name) {
                    Some((_, target)) => target.to_owned(),
                    None => format!("{KERNEL_DIR}/{name}"),
                }
            }
            LinkedNode::Target(nth) => return links.targets().read(nth).ok_or(ViewErrno::Srch)?,
            LinkedNode::Dir(_) => return Err(ViewErrno::Inval),
        };
        Ok(target.into_bytes())
    }

    /// Finds a name in the directory of a process; `None` stands for one that no process has.
    pub(super) fn lookup_of_linked(
        &self,
        links: &KernelLinks,
        node: LinkedNode,
        name: &[u8],
        caller: ViewReader,
    ) -> Result<Option<Found>, ViewErrno> {
        let LinkedNode::Dir(pid) = node else { return Err(ViewErrno::NotDir) };
        if name == KERNEL_DIR.as_bytes() {
            return self.found(ViewNode::Linked(LinkedNode::KernelDir(pid))).map(Some);
        }
        let Some(place) = place_of(&links.in_process, name) else { return Ok(None) };
        if let Some(link) = FileLink::named(name) {
            // All of one process, even if another has its number meanwhile.
            let dir = self.kernel.proc().dir(pid.to_string()).map_err(ViewErrno::absent)?;
            let stat = dir.stat(link.name()).map_err(ViewErrno::absent)?;
            let target = read_link_for(caller, &dir, What::Link(link));
            return Ok(Some(links.found_target(self.attr_from(stat, S_IFLNK | 0o777), target)));
        }
        if let Some((_, what)) = TOLD.into_iter().find(|(told, _)| told.as_bytes() == name) {
            let stat = self.kernel.proc().stat(pid.to_string()).map_err(ViewErrno::absent)?;
            if self.showing(ListedProcess { pid, inode: stat.inode }, caller)? == Showing::Told {
                let process = self.kernel.adopt(pid).map_err(ViewErrno::absent)?;
                return self.found_of_kernel(process.slot, what, caller).map(Some);
            }
        }
        if name == FD.as_bytes()
            && found(has_renamed_device(self.kernel.proc(), pid))? == Some(true)
        {
            let process = self.kernel.adopt(pid).map_err(ViewErrno::absent)?;
            return self.found_of_kernel(process.slot, What::FdDir, caller).map(Some);
        }
        self.found(ViewNode::Linked(LinkedNode::File(place))).map(Some)
    }

    /// Lists the directory of a process.
    pub(super) fn list_linked(
        &self,
        links: &KernelLinks,
        node: LinkedNode,
        offset: u64,
        push: &mut dyn FnMut(Found, u64, &[u8]) -> bool,
    ) -> Result<(), ViewErrno> {
        let LinkedNode::Dir(pid) = node else { return Err(ViewErrno::NotDir) };
        self.kernel.proc().stat(pid.to_string()).map_err(ViewErrno::absent)?;
        let dots = [(".", ViewNode::Linked(node)), ("..", ViewNode::Root)];
        let dots = dots.map(|(name, node)| (name, node, S_IFDIR));
        let names = (0..).zip(&links.in_process).map(|(place, name)| {
            // Whether that is ours depends on its entries.
            let kind = if name == FD { 0 } else { S_IFLNK };
            (&**name, ViewNode::Linked(LinkedNode::File(place)), kind)
        });
        for (at, (name, node, kind)) in (1..).zip(dots.into_iter().chain(names)) {
            let attr = Attr { ino: node.number(), mode: kind, ..Attr::default() };
            let found = Found { node, attr, valid: links.valid(node) };
            if at > offset && !push(found, at, name.as_bytes()) {
                break;
            }
        }
        Ok(())
    }

    /// The links of the root, as its listing has them.
    pub(super) fn linked_entries(links: &KernelLinks) -> impl Iterator<Item = (&[u8], ViewNode)> {
        let names = (0..).zip(&links.in_root);
        names.map(|(place, name)| (name.as_bytes(), ViewNode::Linked(LinkedNode::Root(place))))
    }

    /// Finds a name where the kernel's /proc is not mounted though it should be.
    pub(super) fn lookup_unmounted(
        &self,
        name: &[u8],
        caller: ViewReader,
    ) -> Result<Found, ViewErrno> {
        let Some(pid) = process_number(name) else { return self.lookup_mirror(None, name) };
        let reader = self.kernel.tgid_of(caller.tid)?;
        if !self.kernel.shows(pid, reader)? {
            return Err(ViewErrno::NoEnt);
        }
        let process = self.kernel.adopt(pid).map_err(ViewErrno::absent)?;
        self.found_of_kernel(process.slot, What::Dir, caller)
    }
}

/// Whether a process has a file of a binderfs open of which the kernel says that it was deleted.
fn has_renamed_device(proc: &ProcDir, pid: u32) -> io::Result<bool> {
    let dir = proc.dir(pid.to_string())?;
    for fd in dir.numbers(FD)? {
        // It may have been closed meanwhile.
        let Some(target) = found(dir.read_link(format!("{FD}/{fd}")))? else { continue };
        if devices::target_of(&dir, fd, target.clone())? != target {
            return Ok(true);
        }
    }
    Ok(false)
}
