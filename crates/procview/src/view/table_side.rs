//! Processes of the table.

use std::sync::Arc;

use fuse_wire::Attr;
use pidns::Pid;

use super::{FOREVER, Found, S_IFDIR, S_IFLNK, S_IFREG, View, descriptor, process_number};
use crate::errno::ViewErrno;
use crate::files::{FileLink, NsKind, Text};
use crate::node::{ViewNode, What};
use crate::render::TaskView;
use crate::task::{Leader, Task, leader_number};

impl View {
    /// The process, if it is still there.
    fn task(&self, serial: u32) -> Result<Arc<Pid<Task>>, ViewErrno> {
        self.table().by_serial(serial).ok_or(ViewErrno::Srch)
    }

    fn seen<'a>(&'a self, task: &'a Pid<Task>) -> TaskView<'a> {
        TaskView { table: self.table(), namespace: self.namespace(), task }
    }

    /// The process of number `nr` or the next one; threads have no entries.
    pub(super) fn next_process(&self, nr: u32) -> Option<Arc<Pid<Task>>> {
        let mut next = nr;
        loop {
            let guard = pidns::pin();
            let (nr, pid) = self.namespace().find_ge_pid(next, &guard)?;
            let is_process = pid.process().leader == Leader::Itself;
            if is_process && let Some(pid) = self.namespace().get_pid(nr) {
                return Some(pid);
            }
            next = nr + 1;
        }
    }

    pub(super) fn found_task(&self, task: &Pid<Task>, what: What) -> Found {
        let node = ViewNode::Task(task.process().serial, what);
        Found { node, attr: self.attr_of(task, what), valid: (FOREVER, FOREVER) }
    }

    pub(super) fn lookup_of_task(
        &self,
        serial: u32,
        what: What,
        name: &[u8],
    ) -> Result<Option<Found>, ViewErrno> {
        let task = self.task(serial).map_err(|_| ViewErrno::NoEnt)?;
        let found = match what {
            What::Dir | What::ThreadDir => entry_of_process(what, name),
            What::TaskDir => {
                let nr = process_number(name).ok_or(ViewErrno::NoEnt)?;
                let thread = self.namespace().get_pid(nr);
                let is_its = |it: &Arc<Pid<Task>>| leader_number(it) == leader_number(&task);
                let thread = thread.filter(is_its).ok_or(ViewErrno::NoEnt)?;
                return Ok(Some(self.found_task(&thread, What::ThreadDir)));
            }
            What::NsDir => {
                let Some(kind) = NsKind::named(name) else { return Ok(None) };
                return self.found(self.namespace_file(&task, kind)).map(Some);
            }
            What::FdDir => {
                let fd = descriptor(name).ok_or(ViewErrno::NoEnt)?;
                if !task.process().facts().descriptors.contains_key(&fd) {
                    return Err(ViewErrno::NoEnt);
                }
                Some(What::Fd(fd))
            }
            What::AttrDir
            | What::Fd(_)
            | What::FdInfoDir
            | What::FdInfo(_)
            | What::Text(_)
            | What::Link(_)
            | What::Ns(_) => return Err(ViewErrno::NotDir),
        };
        Ok(found.map(|what| self.found_task(&task, what)))
    }

    /// A namespace, by one file for all that are in it. With the kernel this is a link to one, which
    /// would cost each process another name.
    fn namespace_file(&self, task: &Pid<Task>, kind: NsKind) -> ViewNode {
        ViewNode::NsFile(kind, self.seen(task).namespace_number(kind))
    }

    pub(super) fn attr_of_task(&self, serial: u32, what: What) -> Result<Attr, ViewErrno> {
        Ok(self.attr_of(&*self.task(serial)?, what))
    }

    fn attr_of(&self, task: &Pid<Task>, what: What) -> Attr {
        let node = ViewNode::Task(task.process().serial, what);
        let text_len = || self.kept_text(node).map_or(0, |text| text.len());
        let (mode, size) = match what {
            What::Dir | What::ThreadDir | What::TaskDir | What::AttrDir => (S_IFDIR | 0o555, 0),
            What::NsDir => (S_IFDIR | 0o511, 0),
            What::FdInfoDir => (S_IFDIR | 0o500, 0),
            What::FdInfo(_) => (S_IFREG | 0o400, 0),
            What::FdDir => (S_IFDIR | 0o500, task.process().facts().descriptors.len()),
            What::Fd(fd) => {
                let target = task.process().facts().descriptors.get(&fd).map_or(0, Vec::len);
                (S_IFLNK | 0o700, self.size_of(target))
            }
            What::Text(text) => (S_IFREG | text.permissions(), text_len()),
            What::Link(link) => {
                let target = self.seen(task).link(link).map_or(0, |target| target.len());
                (S_IFLNK | 0o777, self.size_of(target))
            }
            What::Ns(_) => (S_IFLNK | 0o777, 0),
        };
        let facts = task.process().facts();
        let nlink = match what {
            What::Dir => 9,
            What::ThreadDir => 7,
            What::NsDir | What::FdDir => 2,
            What::TaskDir => {
                let process = self.table().process(leader_number(task));
                let others = process.map_or(0, |it| it.process().relatives().threads.len());
                3 + u32::try_from(others).unwrap_or(0)
            }
            _ => 1,
        };
        let (uid, gid) = (facts.uids.effective, facts.gids.effective);
        Attr { ino: node.number(), uid, gid, nlink, ..self.plain_attr(mode, size) }
    }

    pub(super) fn text_of_task(&self, serial: u32, text: Text) -> Result<Vec<u8>, ViewErrno> {
        let task = self.task(serial)?;
        self.seen(&task).text(text).ok_or(ViewErrno::NoEnt)
    }

    pub(super) fn read_link_of_task(&self, serial: u32, what: What) -> Result<Vec<u8>, ViewErrno> {
        let task = self.task(serial)?;
        match what {
            What::Link(link) => self.seen(&task).link(link).ok_or(ViewErrno::NoEnt),
            What::Fd(fd) => {
                task.process().facts().descriptors.get(&fd).cloned().ok_or(ViewErrno::NoEnt)
            }
            _ => Err(ViewErrno::Inval),
        }
    }

    pub(super) fn list_of_task(
        &self,
        serial: u32,
        what: What,
        offset: u64,
        push: &mut dyn FnMut(Found, u64, &[u8]) -> bool,
    ) -> Result<(), ViewErrno> {
        let task = self.task(serial).map_err(|_| ViewErrno::NoEnt)?;
        let above =
            if what == What::Dir { ViewNode::Root } else { ViewNode::Task(serial, What::Dir) };
        let here = self.found_task(&task, what);
        let dots = [(&b"."[..], here), (b"..", Found { node: above, ..here })];
        let mut entries: Vec<(Vec<u8>, Found)> =
            dots.map(|(name, found)| (name.to_vec(), found)).to_vec();
        match what {
            What::Dir | What::ThreadDir => {
                for (name, inner) in entries_of_process(what) {
                    entries.push((name.as_bytes().to_vec(), self.found_task(&task, inner)));
                }
            }
            What::TaskDir => {
                for thread in self.table().threads_with(&task) {
                    let nr = thread.nr_ns(self.namespace()).to_string().into_bytes();
                    entries.push((nr, self.found_task(&thread, What::ThreadDir)));
                }
            }
            What::NsDir => {
                for kind in NsKind::ALL {
                    let found = self.found(self.namespace_file(&task, kind))?;
                    entries.push((kind.name().as_bytes().to_vec(), found));
                }
            }
            What::FdDir => {
                let descriptors: Vec<u32> =
                    task.process().facts().descriptors.keys().copied().collect();
                for fd in descriptors {
                    let found = self.found_task(&task, What::Fd(fd));
                    entries.push((fd.to_string().into_bytes(), found));
                }
            }
            What::AttrDir
            | What::Fd(_)
            | What::FdInfoDir
            | What::FdInfo(_)
            | What::Text(_)
            | What::Link(_)
            | What::Ns(_) => return Err(ViewErrno::NotDir),
        }
        for (at, (name, found)) in (1..).zip(entries) {
            if at > offset && !push(found, at, &name) {
                break;
            }
        }
        Ok(())
    }
}

/// What a name in the directory of a process, or of a thread, stands for.
fn entry_of_process(dir: What, name: &[u8]) -> Option<What> {
    if let Some(text) = Text::named(name) {
        return Text::OF_RECORDS.contains(&text).then_some(What::Text(text));
    }
    match name {
        b"task" if dir == What::Dir => Some(What::TaskDir),
        b"ns" => Some(What::NsDir),
        b"fd" => Some(What::FdDir),
        _ => FileLink::named(name).map(What::Link),
    }
}

fn entries_of_process(dir: What) -> Vec<(&'static str, What)> {
    let texts = Text::OF_RECORDS.into_iter().map(|text| (text.name(), What::Text(text)));
    let links = FileLink::ALL.into_iter().map(|link| (link.name(), What::Link(link)));
    let mut entries: Vec<_> = texts.chain(links).collect();
    if dir == What::Dir {
        entries.push(("task", What::TaskDir));
    }
    entries.extend([("ns", What::NsDir), ("fd", What::FdDir)]);
    entries
}
