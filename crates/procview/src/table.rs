//! A table of processes without a kernel behind them: all that changes, changes here.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, RwLock, Weak};

use pidns::{AllocError, Pid, PidNamespace, TooDeep};

use crate::files::Text;
use crate::machine::Machine;
use crate::node::{FD_MAX, SERIAL_MAX};
use crate::task::{Facts, Leader, LedBy, State, Task, leader_number};

/// The number that names the root's pid namespace, as the kernel's first.
const FIRST_NAMESPACE: u32 = 4_026_531_836;
/// Where numbers of further namespaces begin.
const FURTHER_NAMESPACES: u32 = 4_026_532_400;

/// Processes, the namespaces that they are in, and the watchers of changes.
pub struct ProcessTable {
    root: Arc<PidNamespace<Task>>,
    machine: Machine,
    by_serial: RwLock<HashMap<u32, Arc<Pid<Task>>>>,
    next_serial: AtomicU32,
    namespaces: Mutex<Vec<(Weak<PidNamespace<Task>>, u32)>>,
    watchers: RwLock<Vec<Weak<dyn Watcher>>>,
    /// One change at a time, and with it all that is told of it.
    changing: Mutex<()>,
    changes: AtomicU64,
    forks: AtomicU64,
    resident_pages: AtomicU64,
}

/// A listener for changes: it is told after they have come about and before the thread that made
/// them goes on.
///
/// A listener must not change the table.
pub(crate) trait Watcher: Send + Sync {
    /// A process, or a thread, is there.
    fn born(&self, task: &Pid<Task>);
    /// These files of a process tell something else.
    fn changed(&self, task: &Pid<Task>, files: &[Text]);
    /// All of its files tell something else, or may be read by others.
    fn all_changed(&self, task: &Pid<Task>);
    /// It is gone.
    fn ended(&self, task: &Pid<Task>);
}

/// Why a table refuses a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// There is no number for a new process.
    #[error(transparent)]
    NoNumber(#[from] AllocError),
    /// There are too many namespaces inside each other.
    #[error(transparent)]
    TooDeep(#[from] TooDeep),
    /// No process has the number.
    #[error("no process has number {0} in the root")]
    NoProcess(u32),
}

impl ProcessTable {
    /// Makes a table without processes.
    #[must_use]
    pub fn new(machine: Machine) -> Arc<Self> {
        let root = PidNamespace::root();
        let namespaces = vec![(Arc::downgrade(&root), FIRST_NAMESPACE)];
        Arc::new(Self {
            root,
            machine,
            by_serial: RwLock::default(),
            next_serial: AtomicU32::new(1),
            namespaces: Mutex::new(namespaces),
            watchers: RwLock::default(),
            changing: Mutex::default(),
            changes: AtomicU64::new(0),
            forks: AtomicU64::new(0),
            resident_pages: AtomicU64::new(0),
        })
    }

    /// The namespace in which every process has a number.
    #[must_use]
    pub fn root(&self) -> &Arc<PidNamespace<Task>> {
        &self.root
    }

    /// The machine that the processes run on.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Makes a namespace inside `parent`.
    ///
    /// # Errors
    ///
    /// [`TableError::TooDeep`].
    pub fn namespace(
        &self,
        parent: &Arc<PidNamespace<Task>>,
    ) -> Result<Arc<PidNamespace<Task>>, TableError> {
        let made = parent.child()?;
        let mut namespaces = self.namespaces();
        namespaces.retain(|(namespace, _)| namespace.strong_count() > 0);
        let last = namespaces.last().map_or(0, |(_, number)| *number);
        namespaces.push((Arc::downgrade(&made), last.max(FURTHER_NAMESPACES) + 1));
        Ok(made)
    }

    /// Adds a process to `namespace`, the child of the process that `facts` name; its program and
    /// all else are as they say, too. To name a thread there is to name its process.
    ///
    /// # Errors
    ///
    /// [`TableError::NoNumber`]; [`TableError::NoProcess`] for a parent, or a leader of its group or
    /// session, that is not there.
    pub fn spawn(
        &self,
        namespace: &Arc<PidNamespace<Task>>,
        mut facts: Facts,
    ) -> Result<Arc<Pid<Task>>, TableError> {
        let _changing = self.change();
        let process = |pid: Option<u32>| pid.map(|pid| self.leader(pid)).transpose();
        let parent = process(facts.parent)?;
        facts.parent = parent.as_ref().map(|parent| parent.global_nr());
        let led_by = LedBy {
            process_group: process(facts.process_group)?,
            session: process(facts.session)?,
        };
        let comm = std::mem::take(&mut facts.comm);
        facts.set_comm(&comm);
        facts.descriptors.retain(|fd, _| *fd <= FD_MAX);
        let resident_pages = facts.resident_pages;
        let child = self.add(namespace, Leader::Itself, led_by, facts)?;
        self.resident_pages.fetch_add(resident_pages, Ordering::Relaxed);
        if let Some(parent) = parent {
            parent.process().relatives_mut().children.insert(child.global_nr());
        }
        self.tell(|watcher| watcher.born(&child));
        Ok(child)
    }

    /// Adds a thread to process `pid`, or to that of which this is a thread.
    ///
    /// # Errors
    ///
    /// As [`spawn`](Self::spawn).
    pub fn spawn_thread(&self, pid: u32, comm: &[u8]) -> Result<Arc<Pid<Task>>, TableError> {
        let _changing = self.change();
        let process = self.leader(pid)?;
        let mut facts = process.process().facts().clone();
        facts.set_comm(comm);
        let (leader, led_by) = (process.global_nr(), process.process().led_by.clone());
        let thread = self.add(process.namespace(), Leader::Other(leader), led_by, facts)?;
        process.process().relatives_mut().threads.insert(thread.global_nr());
        self.tell(|watcher| watcher.born(&thread));
        self.tell_threads_of(&process);
        Ok(thread)
    }

    /// Has process `pid` execute another program, or that of which this is a thread. Its further
    /// threads end.
    ///
    /// # Errors
    ///
    /// [`TableError::NoProcess`].
    pub fn exec(
        &self,
        pid: u32,
        exe: &[u8],
        argv: Vec<Vec<u8>>,
        environ: Vec<Vec<u8>>,
    ) -> Result<(), TableError> {
        let base = exe.rsplit(|byte| *byte == b'/').next().unwrap_or_default().to_vec();
        let exe = exe.to_vec();
        let _changing = self.change();
        let task = self.leader(pid)?;
        self.remove_threads(&task);
        let mut facts = task.process().facts_mut();
        facts.set_comm(&base);
        (facts.exe, facts.argv, facts.environ) = (exe, argv, environ);
        drop(facts);
        let files =
            &[Text::Stat, Text::Status, Text::Statm, Text::Cmdline, Text::Comm, Text::Environ];
        self.tell(|watcher| watcher.changed(&task, files));
        Ok(())
    }

    /// Gives a process, or a thread, another short name.
    ///
    /// # Errors
    ///
    /// [`TableError::NoProcess`].
    pub fn rename(&self, pid: u32, comm: &[u8]) -> Result<(), TableError> {
        let files = &[Text::Stat, Text::Status, Text::Comm];
        self.update(pid, files, |facts| facts.set_comm(comm))
    }

    /// Says whether a process runs. A [zombie](State::Zombie) keeps its name and numbers, and nothing
    /// else.
    ///
    /// # Errors
    ///
    /// [`TableError::NoProcess`].
    pub fn set_state(&self, pid: u32, state: State) -> Result<(), TableError> {
        let _changing = self.change();
        let task = self.process(pid)?;
        let mut facts = task.process().facts_mut();
        let before = std::mem::replace(&mut facts.state, state);
        let given_up = if state == State::Zombie { facts.end() } else { 0 };
        drop(facts);
        if task.process().leader == Leader::Itself {
            self.resident_pages.fetch_sub(given_up, Ordering::Relaxed);
        }
        self.tell(|watcher| match (before, state) {
            (State::Zombie, _) | (_, State::Zombie) => watcher.all_changed(&task),
            _ => watcher.changed(&task, &[Text::Stat, Text::Status]),
        });
        Ok(())
    }

    /// Counts time that a process has run.
    ///
    /// # Errors
    ///
    /// [`TableError::NoProcess`].
    pub fn charge(&self, pid: u32, user: u64, system: u64) -> Result<(), TableError> {
        self.update(pid, &[Text::Stat], |facts| {
            facts.user_ticks = facts.user_ticks.saturating_add(user);
            facts.system_ticks = facts.system_ticks.saturating_add(system);
        })
    }

    /// Gives a process another user and group.
    ///
    /// # Errors
    ///
    /// [`TableError::NoProcess`].
    pub fn set_owner(&self, pid: u32, uid: u32, gid: u32) -> Result<(), TableError> {
        let _changing = self.change();
        let task = self.process(pid)?;
        let mut facts = task.process().facts_mut();
        (facts.uids, facts.gids) = (uid.into(), gid.into());
        drop(facts);
        self.tell(|watcher| watcher.all_changed(&task));
        Ok(())
    }

    /// Ends a process. Its children become those of the first process of its namespace, and if it
    /// is that itself, all processes of the namespace end with it.
    ///
    /// # Errors
    ///
    /// [`TableError::NoProcess`].
    pub fn exit(&self, pid: u32) -> Result<(), TableError> {
        let _changing = self.change();
        let task = self.process(pid)?;
        if task.nr() == 1 {
            task.namespace().disable_pid_allocation();
            let mut next = 2;
            loop {
                let found = task.namespace().find_ge_pid(next, &pidns::pin()).map(|(nr, _)| nr);
                let Some(nr) = found else { break };
                if let Some(other) = task.namespace().get_pid(nr) {
                    self.remove(&other);
                }
                next = nr + 1;
            }
        }
        self.remove(&task);
        Ok(())
    }

    /// Finds a process, or a thread, by its number in the root.
    ///
    /// # Errors
    ///
    /// [`TableError::NoProcess`].
    pub fn process(&self, pid: u32) -> Result<Arc<Pid<Task>>, TableError> {
        self.root.get_pid(pid).ok_or(TableError::NoProcess(pid))
    }

    /// How many changes there have been.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// How many processes have ever been added.
    #[must_use]
    pub fn forks(&self) -> u64 {
        self.forks.load(Ordering::Relaxed)
    }

    /// Memory that all processes use, in pages.
    #[must_use]
    pub fn resident_pages(&self) -> u64 {
        self.resident_pages.load(Ordering::Relaxed)
    }

    pub(crate) fn by_serial(&self, serial: u32) -> Option<Arc<Pid<Task>>> {
        let by_serial = self.by_serial.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        by_serial.get(&serial).cloned()
    }

    pub(crate) fn watch(&self, watcher: Weak<dyn Watcher>) {
        let mut watchers = self.watchers.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        watchers.retain(|watcher| watcher.strong_count() > 0);
        watchers.push(watcher);
    }

    fn add(
        &self,
        namespace: &Arc<PidNamespace<Task>>,
        leader: Leader,
        led_by: LedBy,
        facts: Facts,
    ) -> Result<Arc<Pid<Task>>, TableError> {
        let serial = self.new_serial();
        let inside = self.number_of(namespace);
        let pid = namespace.alloc_pid(Task::new(serial, leader, led_by, inside, facts))?;
        let mut by_serial = self.by_serial.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        by_serial.insert(serial, pid.clone());
        self.forks.fetch_add(1, Ordering::Relaxed);
        Ok(pid)
    }

    /// A serial that no process has: they come round, and a process of an earlier round may have it
    /// still.
    fn new_serial(&self) -> u32 {
        loop {
            let serial = self.next_serial.fetch_add(1, Ordering::Relaxed) & SERIAL_MAX;
            if self.by_serial(serial).is_none() {
                return serial;
            }
        }
    }

    fn update(
        &self,
        pid: u32,
        files: &[Text],
        update: impl FnOnce(&mut Facts),
    ) -> Result<(), TableError> {
        let _changing = self.change();
        let task = self.process(pid)?;
        update(&mut task.process().facts_mut());
        self.tell(|watcher| watcher.changed(&task, files));
        Ok(())
    }

    /// The process of number `pid`, or that of which this is a thread.
    pub(crate) fn leader(&self, pid: u32) -> Result<Arc<Pid<Task>>, TableError> {
        self.process(leader_number(&*self.process(pid)?))
    }

    /// All threads of the process that a task is, or is a thread of, the first before the others.
    pub(crate) fn threads_with(&self, task: &Pid<Task>) -> Vec<Arc<Pid<Task>>> {
        let Ok(process) = self.leader(task.global_nr()) else { return Vec::new() };
        let others = process.process().relatives().threads.clone();
        let others = others.iter().filter_map(|thread| self.root.get_pid(*thread)).collect();
        [vec![process], others].concat()
    }

    /// Tells that something else is true of a process, which each of its threads says as well: how
    /// many they are, whose child.
    fn tell_threads_of(&self, process: &Pid<Task>) {
        for thread in self.threads_with(process) {
            self.tell(|watcher| watcher.changed(&thread, &[Text::Stat, Text::Status]));
        }
    }

    /// Takes a process and its threads out.
    fn remove(&self, task: &Arc<Pid<Task>>) {
        self.remove_threads(task);
        let (leader, facts) = (task.process().leader, task.process().facts());
        let (parent, resident_pages) = (facts.parent, facts.resident_pages);
        drop(facts);
        // A caller with access to the namespaces may have freed it already.
        let _ = task.free();
        let mut by_serial = self.by_serial.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        by_serial.remove(&task.process().serial);
        drop(by_serial);
        match leader {
            Leader::Itself => {
                self.resident_pages.fetch_sub(resident_pages, Ordering::Relaxed);
                if let Some(parent) = parent.and_then(|it| self.root.get_pid(it)) {
                    parent.process().relatives_mut().children.remove(&task.global_nr());
                }
                self.hand_over(task);
            }
            Leader::Other(leader) => {
                if let Some(process) = self.root.get_pid(leader) {
                    process.process().relatives_mut().threads.remove(&task.global_nr());
                    self.tell_threads_of(&process);
                }
            }
        }
        self.tell(|watcher| watcher.ended(task));
    }

    fn remove_threads(&self, process: &Pid<Task>) {
        // Gone at once, so that none of them is told of each.
        let threads = std::mem::take(&mut process.process().relatives_mut().threads);
        for thread in threads.iter().filter_map(|thread| self.root.get_pid(*thread)) {
            self.remove(&thread);
        }
    }

    /// Gives children whose parent is gone to the first process of its namespace.
    fn hand_over(&self, gone: &Pid<Task>) {
        let children = std::mem::take(&mut gone.process().relatives_mut().children);
        let reaper = gone.namespace().get_pid(1);
        for child in children.iter().filter_map(|child| self.root.get_pid(*child)) {
            let adopter = reaper.as_ref().map(|reaper| reaper.global_nr());
            for thread in self.threads_with(&child) {
                thread.process().facts_mut().parent = adopter;
            }
            if let Some(reaper) = &reaper {
                reaper.process().relatives_mut().children.insert(child.global_nr());
            }
            self.tell_threads_of(&child);
        }
    }

    fn change(&self) -> MutexGuard<'_, ()> {
        let changing = self.changing.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.changes.fetch_add(1, Ordering::Release);
        changing
    }

    fn tell(&self, tell: impl Fn(&dyn Watcher)) {
        // What was read before the change and is told of after it must differ.
        self.changes.fetch_add(1, Ordering::Release);
        let watchers = self.watchers.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        for watcher in watchers.iter().filter_map(Weak::upgrade) {
            tell(&*watcher);
        }
    }

    fn number_of(&self, namespace: &Arc<PidNamespace<Task>>) -> u32 {
        let known = |(it, _): &&(Weak<PidNamespace<Task>>, u32)| {
            std::ptr::eq(it.as_ptr(), Arc::as_ptr(namespace))
        };
        self.namespaces().iter().find(known).map_or(0, |(_, number)| *number)
    }

    fn namespaces(&self) -> MutexGuard<'_, Vec<(Weak<PidNamespace<Task>>, u32)>> {
        self.namespaces.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl std::fmt::Debug for ProcessTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let processes = self.root.processes();
        f.debug_struct("Table").field("processes", &processes).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use binder_os::ProcDir;

    use super::*;

    #[test]
    fn a_serial_is_found_as_nodes_tell_it_and_nobody_elses() {
        let machine = Machine::like_this_one(&ProcDir::open().unwrap(), Duration::ZERO).unwrap();
        let table = ProcessTable::new(machine);
        let spawn = || table.spawn(table.root(), Facts::default()).unwrap();
        let mut tasks = vec![spawn()];
        table.next_serial.store(SERIAL_MAX, Ordering::Relaxed);
        tasks.extend([spawn(), spawn(), spawn()]);
        for task in &tasks {
            let serial = task.process().serial;
            assert!(serial <= SERIAL_MAX);
            assert!(Arc::ptr_eq(&table.by_serial(serial).unwrap(), task), "{serial}");
        }
    }
}
