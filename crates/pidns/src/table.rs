//! The processes that are in use: the kernel's with the kernel's numbers, others with
//! numbers of our own.
//!
//! A process of the kernel's is adopted when it is first met, and has one [`Pid`] however often that
//! is; it leaves the table when no code holds it any more. The kernel does not tell when a process
//! ends. One that has, and is held still, stays until the kernel gives a number of it to another:
//! then it loses all of them, and is seen in no namespace.
//!
//! ```
//! use pidns::{KernelProcess, NamespaceId, PidTable, pin};
//!
//! let (host, container) = (NamespaceId(1), NamespaceId(2));
//! let found = |pid, levels| KernelProcess { pid, levels, started_at: 0 };
//! let mut table = PidTable::new(host);
//! let shell = table.adopt(found(40, vec![(Some(host), 40)]), None)?;
//! let inner = table.adopt(found(77, vec![(Some(host), 77), (Some(container), 1)]), None)?;
//! assert_eq!((inner.seen_by(&shell), shell.seen_by(&inner)), (77, 0));
//! let peer = table.allocate(None)?;
//! let numbers: Vec<u32> = table.root().pids_from(1, &pin()).map(|(nr, _)| nr).collect();
//! assert_eq!(numbers, [peer.number(), 40, 77]);
//! drop((shell, inner, peer));
//! assert_eq!((table.root().processes(), table.namespaces()), (0, 0));
//! # Ok::<(), pidns::AdoptError>(())
//! ```

use alloc::collections::BTreeMap;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::fmt;

use crate::allocation::AllocError;
use crate::limits::{PID_MAX_LIMIT, TooDeep};
use crate::namespace::PidNamespace;
use crate::pid::Pid;
use crate::resident::{HeldPid, Record, Resident, supersede};

/// A pid namespace of the kernel's, by any number that is unique on the machine (its inode).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct NamespaceId(pub u64);

/// A process of the kernel's, as it was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelProcess {
    /// Its number, as the finder knows it.
    pub pid: u32,
    /// Its namespaces, from the table's root, or as far out as is known, to its own, and its number
    /// in each. A namespace without an id is one that could not be inspected: no other process is
    /// in it.
    pub levels: Vec<(Option<NamespaceId>, u32)>,
    /// When it started, by any clock: this tells it from others that had its numbers.
    pub started_at: u64,
}

impl KernelProcess {
    /// Whether it is certainly not the process that `other` is.
    fn is_other_than(&self, other: &Self) -> bool {
        self.started_at != other.started_at
    }
}

/// All processes that are held.
pub struct PidTable {
    root: Arc<Namespace>,
    /// The namespaces besides the root, by the kernel's number. A namespace lives by its processes.
    by_id: BTreeMap<NamespaceId, Weak<Namespace>>,
    root_id: NamespaceId,
    /// How many namespaces there may be before those are looked for that are gone.
    sweep_at: usize,
}

type Namespace = PidNamespace<Resident>;

/// The fewest namespaces among which those are looked for that are gone.
const SWEEP_MIN: usize = 16;

impl PidTable {
    /// A table without processes, whose owner is in the namespace `root`.
    #[must_use]
    pub fn new(root: NamespaceId) -> Self {
        let by_id = BTreeMap::new();
        Self { root: outermost(), by_id, root_id: root, sweep_at: SWEEP_MIN }
    }

    /// The namespace of the table's owner. What it tells of its pids is told of the table: by number
    /// ([`find_pid`](PidNamespace::find_pid), [`get_pid`](PidNamespace::get_pid)) and in order of
    /// the numbers ([`find_ge_pid`](PidNamespace::find_ge_pid),
    /// [`pids_from`](PidNamespace::pids_from)). It outlives the table.
    #[must_use]
    pub fn root(&self) -> &Arc<PidNamespace<Resident>> {
        &self.root
    }

    /// The namespace that the kernel knows by `id`, while there are processes in it.
    #[must_use]
    pub fn namespace(&self, id: NamespaceId) -> Option<Arc<PidNamespace<Resident>>> {
        if id == self.root_id {
            return Some(self.root.clone());
        }
        self.by_id.get(&id)?.upgrade().filter(|namespace| namespace.processes() > 0)
    }

    /// How many namespaces there are besides the root, all with processes in them.
    #[must_use]
    pub fn namespaces(&self) -> usize {
        self.by_id.keys().filter(|id| self.namespace(**id).is_some()).count()
    }

    /// Takes a process of the kernel's in, with the kernel's numbers, or holds it once more.
    ///
    /// A process that has one of the numbers has ended unnoticed, and loses all its numbers.
    /// `record` is kept if the process is new.
    ///
    /// # Errors
    ///
    /// [`AdoptError`], when the kernel's numbers cannot be those of a process.
    pub fn adopt(
        &mut self,
        found: KernelProcess,
        record: Option<Record>,
    ) -> Result<HeldPid, AdoptError> {
        let outermost = found.levels.first().ok_or(AdoptError::NoNumber { pid: found.pid })?;
        let former = self.known(outermost.0).and_then(|top| top.get_pid(outermost.1));
        let former = former.filter(|pid| pid.process().found() == Some(&found));
        if let Some(held) = former.and_then(HeldPid::join) {
            return Ok(held);
        }
        let set_tid: Vec<u32> = found.levels.iter().rev().map(|(_, number)| *number).collect();
        let mut path = self.find_path(&found)?;
        loop {
            let resident = Resident::new(Some(found.clone()), record.clone());
            let namespace = &path.namespace;
            match namespace.alloc_pid_at(&set_tid, |_| true, resident) {
                Ok(pid) => {
                    self.remember(&path.fresh);
                    return Ok(HeldPid::of(pid));
                }
                Err(AllocError::Taken { level, number }) => {
                    let Some(former) = holder(namespace, level, number) else { continue };
                    let is_first = number == 1 && level > 0 && level == namespace.level();
                    let is_other =
                        former.process().found().is_some_and(|it| it.is_other_than(&found));
                    if is_first && is_other {
                        // A namespace has one first process: the kernel uses the id for another.
                        path = path.beside(found.levels.last().and_then(|(id, _)| *id))?;
                    } else {
                        supersede(&former);
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Takes a process in that the kernel does not know, or not as one: it gets the next number of
    /// the root. Should the kernel use that for another, it loses it.
    ///
    /// # Errors
    ///
    /// [`AdoptError::Alloc`] when there is none.
    pub fn allocate(&mut self, record: Option<Record>) -> Result<HeldPid, AdoptError> {
        let resident = Resident::new(None, record);
        Ok(HeldPid::of(self.root.alloc_pid(resident)?))
    }

    /// Finds the namespace of a process, and makes those that no process was in before.
    fn find_path(&self, found: &KernelProcess) -> Result<NamespacePath, AdoptError> {
        let mut path: Option<NamespacePath> = None;
        for (id, _) in &found.levels {
            let is_next = |it: &Arc<Namespace>| match (it.parent(), &path) {
                (Some(parent), Some(path)) => Arc::ptr_eq(parent, &path.namespace),
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            };
            // One that is somewhere else is gone, and the kernel uses its id for another.
            path = Some(match (self.known(*id).filter(is_next), path) {
                (Some(namespace), Some(path)) => NamespacePath { namespace, ..path },
                (Some(namespace), None) => NamespacePath { namespace, fresh: Vec::new() },
                (None, Some(path)) => path.inwards(*id)?,
                (None, None) => NamespacePath::from(outermost(), *id),
            });
        }
        path.ok_or(AdoptError::NoNumber { pid: found.pid })
    }

    /// Keeps namespaces that were made, and now and then forgets those that are gone.
    fn remember(&mut self, fresh: &[(NamespaceId, Arc<Namespace>)]) {
        if self.by_id.len() + fresh.len() > self.sweep_at {
            self.by_id.retain(|_, namespace| namespace.strong_count() > 0);
            self.sweep_at = SWEEP_MIN.max(2 * self.by_id.len());
        }
        self.by_id.extend(fresh.iter().map(|(id, namespace)| (*id, Arc::downgrade(namespace))));
    }

    /// The namespace that is known by `id`.
    fn known(&self, id: Option<NamespaceId>) -> Option<Arc<Namespace>> {
        let id = id?;
        if id == self.root_id {
            return Some(self.root.clone());
        }
        self.by_id.get(&id)?.upgrade()
    }
}

/// The namespace of a process, and those on the way to it that are not known yet.
struct NamespacePath {
    namespace: Arc<Namespace>,
    fresh: Vec<(NamespaceId, Arc<Namespace>)>,
}

impl NamespacePath {
    /// The way to a namespace that was made.
    fn from(namespace: Arc<Namespace>, id: Option<NamespaceId>) -> Self {
        let fresh = id.map(|id| (id, namespace.clone()));
        Self { namespace, fresh: fresh.into_iter().collect() }
    }

    /// Goes on into a namespace that no process was in before.
    fn inwards(mut self, id: Option<NamespaceId>) -> Result<Self, TooDeep> {
        let namespace = self.namespace.child()?;
        namespace.assume_reaper();
        self.fresh.extend(id.map(|id| (id, namespace.clone())));
        self.namespace = namespace;
        Ok(self)
    }

    /// Ends in another namespace of the same id, beside the one in which it ends.
    fn beside(self, id: Option<NamespaceId>) -> Result<Self, TooDeep> {
        match self.namespace.parent().cloned() {
            Some(namespace) => Self { namespace, ..self }.inwards(id),
            None => Ok(self),
        }
    }
}

/// A namespace that is inside no other, of processes whose numbers are the kernel's.
fn outermost() -> Arc<Namespace> {
    let namespace = PidNamespace::root();
    let limit = namespace.set_pid_max(PID_MAX_LIMIT);
    debug_assert!(limit.is_ok(), "the limit is within the limits");
    namespace.assume_reaper();
    namespace
}

/// Whose a number is in the namespace of level `level` that `namespace` is inside of.
fn holder(namespace: &Arc<Namespace>, level: u32, number: u32) -> Option<Arc<Pid<Resident>>> {
    namespace.lineage().find(|it| it.level() == level)?.get_pid(number)
}

impl fmt::Debug for PidTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PidTable")
            .field("processes", &self.root.processes())
            .field("namespaces", &self.namespaces())
            .finish_non_exhaustive()
    }
}

/// Why a process has no pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdoptError {
    /// No number of it is known.
    #[error("process {pid} has no number in any pid namespace")]
    NoNumber {
        /// As its finder knows it.
        pid: u32,
    },
    /// There are too many namespaces around it.
    #[error(transparent)]
    TooDeep(#[from] TooDeep),
    /// It cannot have the numbers.
    #[error(transparent)]
    Alloc(#[from] AllocError),
}

#[cfg(all(test, not(loom)))]
mod tests;
