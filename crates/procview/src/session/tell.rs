//! Tells the kernel what it must not believe any more.
//!
//! A change has come about when the kernel is told of it, and the thread that made it goes on when
//! the kernel has been told. What the kernel asked for before, and has not taken in yet, must not
//! stay: it takes an entry in with the directory locked, and to forget one waits for that lock; a
//! page is locked while it is read; attributes that were asked for before a notice are dropped
//! after it. So names are forgotten first, which waits for the threads that look them up, and then
//! the nodes behind them.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};

use fuse_wire::notify;
use pidns::Pid;

use super::ViewShared;
use crate::files::{FileLink, Text};
use crate::machine::MachineFile;
use crate::node::{ViewNode, What};
use crate::table::Watcher;
use crate::task::{Leader, Task};
use crate::view::Caching;

/// What the kernel has asked for since it was told last; the rest it need not be told.
#[derive(Default)]
pub(super) struct Known {
    root: AtomicBool,
    machine: AtomicBool,
}

impl Known {
    /// The kernel asks for a node: noted before it is answered, so that either the answer is the
    /// new one or the kernel is told.
    pub(super) fn ask(&self, node: ViewNode) {
        match node {
            // A process that finds or lists the machine's files learns how long they are.
            ViewNode::Root => {
                self.root.store(true, Ordering::SeqCst);
                self.machine.store(true, Ordering::SeqCst);
            }
            ViewNode::MachineFile(_) => self.machine.store(true, Ordering::SeqCst),
            _ => {}
        }
    }
}

impl ViewShared {
    /// Tells the kernel that the time is another, as long as processes ask for it.
    pub(super) fn tell_time(&self) {
        let machine = self.view.table().machine();
        while self.view.clock().tick(machine) {
            for file in MachineFile::ALL.into_iter().filter(|file| file.follows_time()) {
                self.forget_node(ViewNode::MachineFile(file));
            }
        }
    }

    /// The number of a process here, if the kernel may have been told of it.
    fn nr_if_kept(&self, task: &Pid<Task>) -> Option<u32> {
        let nr = task.nr_ns(self.view.namespace());
        (self.view.caching() == Caching::Kept && nr != 0).then_some(nr)
    }

    fn forget_name(&self, parent: ViewNode, name: &str) {
        let name = CString::new(name).expect("names of ours have no NUL");
        self.send(&notify::inval_entry(parent.number(), &name, 0));
    }

    fn forget_node(&self, node: ViewNode) {
        self.send(&notify::inval_inode(node.number(), 0, 0));
    }

    fn forget_files(&self, task: &Pid<Task>, files: &[Text]) {
        let serial = task.process().serial;
        for file in files {
            for dir in [What::Dir, What::ThreadDir] {
                self.forget_name(ViewNode::Task(serial, dir), file.name());
            }
            self.forget_node(ViewNode::Task(serial, What::Text(*file)));
        }
        // The program is another exactly when the arguments are.
        if files.contains(&Text::Cmdline) {
            for dir in [What::Dir, What::ThreadDir] {
                self.forget_name(ViewNode::Task(serial, dir), FileLink::Exe.name());
            }
            self.forget_node(ViewNode::Task(serial, What::Link(FileLink::Exe)));
        }
    }

    /// The list of processes and the files about all of them have changed.
    fn forget_lists(&self) {
        if self.known.root.swap(false, Ordering::SeqCst) {
            self.forget_node(ViewNode::Root);
        }
        if self.known.machine.swap(false, Ordering::SeqCst) {
            for file in MachineFile::ALL.into_iter().filter(|file| file.follows_processes()) {
                self.forget_name(ViewNode::Root, file.name());
                self.forget_node(ViewNode::MachineFile(file));
            }
        }
    }

    /// The process and the threads of it are listed in the `task/` of each.
    fn forget_threads_of(&self, task: &Pid<Task>) {
        let Leader::Other(leader) = task.process().leader else { return };
        let Ok(leader) = self.view.table().process(leader) else { return };
        for thread in self.view.table().threads_with(&leader) {
            let task_dir = ViewNode::Task(thread.process().serial, What::TaskDir);
            self.forget_name(task_dir, &task.nr_ns(self.view.namespace()).to_string());
            self.forget_node(task_dir);
        }
    }

    /// All that tells of a task; names first, where it and its threads are listed.
    fn forget_task(&self, task: &Pid<Task>) {
        let Some(nr) = self.nr_if_kept(task) else { return };
        self.forget_name(ViewNode::Root, &nr.to_string());
        self.forget_threads_of(task);
        self.forget_files(task, &Text::OF_RECORDS);
        let links = FileLink::ALL.map(What::Link);
        let dirs = [What::Dir, What::ThreadDir, What::TaskDir, What::NsDir, What::FdDir];
        let descriptors: Vec<u32> = task.process().facts().descriptors.keys().copied().collect();
        let descriptors = descriptors.into_iter().map(What::Fd);
        for what in links.into_iter().chain(descriptors).chain(dirs) {
            self.forget_node(ViewNode::Task(task.process().serial, what));
        }
        self.forget_lists();
    }
}

impl Watcher for ViewShared {
    fn born(&self, task: &Pid<Task>) {
        if self.nr_if_kept(task).is_some() {
            // The kernel never keeps that a number was free.
            self.forget_threads_of(task);
            self.forget_lists();
        }
    }

    fn changed(&self, task: &Pid<Task>, files: &[Text]) {
        if self.nr_if_kept(task).is_some() {
            self.forget_files(task, files);
        }
    }

    fn all_changed(&self, task: &Pid<Task>) {
        self.forget_task(task);
    }

    fn ended(&self, task: &Pid<Task>) {
        self.forget_task(task);
    }
}
