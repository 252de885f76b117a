//! The processes that have devices open, on whatever mount: one table, for the numbers are the
//! kernel's.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, RwLock, Weak};

use binder_core::{HeldPid, KernelProcess, NamespaceId, PidTable};
use binder_os::proc_files;
use pidns::{Pid, PidNamespace, PidWatcher, Resident, pin};

/// The table of processes. Whoever opens a device is taken in; the last file of a process takes it
/// out again, by itself.
#[derive(Debug)]
pub struct Pids {
    /// The namespace of the daemon.
    own: NamespaceId,
    /// Locked by who opens a device, and never within another lock.
    table: Mutex<PidTable>,
    watchers: Arc<Watchers>,
}

impl Pids {
    /// The table of all that this process serves.
    ///
    /// # Errors
    ///
    /// As reading /proc, which the numbers come from.
    pub fn of_this_process() -> io::Result<Arc<Self>> {
        static ALL: OnceLock<Arc<Pids>> = OnceLock::new();
        if let Some(known) = ALL.get() {
            return Ok(known.clone());
        }
        let own = NamespaceId(proc_files::own_pid_namespace()?);
        Ok(ALL.get_or_init(|| Arc::new(Self::of(own))).clone())
    }

    fn of(own: NamespaceId) -> Self {
        let watchers = Arc::<Watchers>::default();
        let table = Mutex::new(PidTable::new(own, Some(watchers.clone())));
        Self { own, table, watchers }
    }

    /// The namespace of the daemon, in which all have a number, to be looked at without a lock.
    #[must_use]
    pub fn root(&self) -> Arc<PidNamespace<Resident>> {
        self.table().root().clone()
    }

    /// The namespace that the kernel knows by `id`, while processes in it have a device open.
    #[must_use]
    pub fn namespace(&self, id: NamespaceId) -> Option<Arc<PidNamespace<Resident>>> {
        self.table().namespace(id)
    }

    /// Lets a watcher hear of all that the daemon's namespace sees, in order of their numbers, and
    /// then of those that come and go, until it is dropped. It hears of nobody's coming twice, and
    /// may hear of the going of one that it has not heard of.
    ///
    /// It is called by whoever opens or closes a device, and must not ask this table.
    pub fn watch(&self, watcher: &Arc<dyn PidWatcher>) {
        // Nobody comes while this is locked.
        let table = self.table();
        let mut watchers = self.watchers.0.write().unwrap_or_else(|it| it.into_inner());
        let root = table.root();
        let present: Vec<u32> = root.pids_from(1, &pin()).map(|(number, _)| number).collect();
        for pid in present.into_iter().filter_map(|number| root.get_pid(number)) {
            watcher.came(&pid);
        }
        watchers.retain(|it| it.strong_count() > 0);
        watchers.push(Arc::downgrade(watcher));
    }

    /// Takes in the process that has these numbers, from the daemon's namespace to its own.
    pub(crate) fn adopt(&self, numbers: &[u32]) -> io::Result<HeldPid> {
        let pid = numbers.first().copied().ok_or(io::ErrorKind::NotFound)?;
        let levels = match numbers {
            // It is where we are.
            [number] => vec![(Some(self.own), *number)],
            _ => levels(self.own, numbers, &proc_files::pid_namespaces(pid).unwrap_or_default()),
        };
        let started_at = proc_files::start_time(pid)?;
        let found = KernelProcess { pid, levels, started_at };
        self.table().adopt(found, None).map_err(io::Error::other)
    }

    fn table(&self) -> MutexGuard<'_, PidTable> {
        self.table.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// All who watch the table. Locked within the table's lock or without it.
#[derive(Default)]
struct Watchers(RwLock<Vec<Weak<dyn PidWatcher>>>);

impl Watchers {
    fn tell(&self, news: impl Fn(&dyn PidWatcher)) {
        let watchers = self.0.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        watchers.iter().filter_map(Weak::upgrade).for_each(|watcher| news(&*watcher));
    }
}

impl PidWatcher for Watchers {
    fn came(&self, pid: &Arc<Pid<Resident>>) {
        self.tell(|watcher| watcher.came(pid));
    }

    fn went(&self, pid: &Pid<Resident>) {
        self.tell(|watcher| watcher.went(pid));
    }
}

impl fmt::Debug for Watchers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watchers").finish_non_exhaustive()
    }
}

/// Says of each number in which namespace it counts. Both lists end with the process's own; what is
/// further out than either knows is cut off. Namespaces that could not be inspected have no id.
fn levels(own: NamespaceId, numbers: &[u32], ids: &[u64]) -> Vec<(Option<NamespaceId>, u32)> {
    let numbers = numbers.iter().copied();
    if ids.is_empty() {
        let unknown = std::iter::repeat(None);
        return std::iter::once(Some(own)).chain(unknown).zip(numbers).collect();
    }
    let known = ids.len().min(numbers.len());
    let ids = ids[ids.len() - known..].iter().map(|id| Some(NamespaceId(*id)));
    ids.zip(numbers.clone().skip(numbers.len() - known)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_inspected_has_a_number_and_no_name() {
        let own = NamespaceId(1);
        let named = |id| Some(NamespaceId(id));
        let all = levels(own, &[30, 20, 10], &[1, 2, 3]);
        assert_eq!(all, [(named(1), 30), (named(2), 20), (named(3), 10)]);
        assert_eq!(levels(own, &[30, 20], &[]), [(named(1), 30), (None, 20)]);
        assert_eq!(levels(own, &[30, 20], &[7, 1, 2]), [(named(1), 30), (named(2), 20)]);
        assert_eq!(levels(own, &[30, 20, 10], &[3]), [(named(3), 10)]);
    }
    #[derive(Default)]
    struct Diary(Mutex<Vec<(char, u32)>>);

    impl PidWatcher for Diary {
        fn came(&self, pid: &Arc<Pid<Resident>>) {
            self.0.lock().unwrap().push(('+', pid.nr()));
        }

        fn went(&self, pid: &Pid<Resident>) {
            self.0.lock().unwrap().push(('-', pid.nr()));
        }
    }

    #[test]
    fn our_own_process_opens_and_closes_before_the_eyes_of_all_watchers() {
        let pids = Pids::of(NamespaceId(proc_files::own_pid_namespace().unwrap()));
        let own = std::process::id();
        let numbers = proc_files::pid_numbers(own).unwrap();
        let early = Arc::new(Diary::default());
        let as_watcher: Arc<dyn PidWatcher> = early.clone();
        pids.watch(&as_watcher);
        let held = pids.adopt(&numbers[..1]).unwrap();
        let again = pids.adopt(&numbers[..1]).unwrap();
        assert_eq!((held.number(), held.seen_by(&again)), (own, own));
        let late: Arc<Diary> = Arc::default();
        let late_watcher: Arc<dyn PidWatcher> = late.clone();
        pids.watch(&late_watcher);
        assert!(pids.root().get_pid(own).is_some() && pids.namespace(NamespaceId(0)).is_none());
        drop((held, again, late_watcher));
        for diary in [early, late] {
            assert_eq!(*diary.0.lock().unwrap(), [('+', own), ('-', own)]);
        }
        assert_eq!(pids.root().processes(), 0);
    }

    #[test]
    fn a_process_that_has_ended_is_not_taken_in() {
        let pids = Pids::of(NamespaceId(1));
        assert!(pids.adopt(&[]).is_err() && pids.adopt(&[u32::MAX]).is_err());
        assert_eq!(pids.root().processes(), 0);
    }
}
