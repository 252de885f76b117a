//! The processes that have devices open, on whatever mount: one table, for the numbers are the
//! kernel's.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use binder_core::{HeldPid, KernelProcess, NamespaceId, PidTable};
use binder_os::proc_files;
use pidns::{PidNamespace, Resident};

/// The table of processes. A process that opens a device is taken in; the last file of a process takes it
/// out again, by itself.
#[derive(Debug)]
pub struct Pids {
    /// The namespace of the daemon.
    own: NamespaceId,
    /// Locked by the thread that opens a device, and never within another lock.
    table: Mutex<PidTable>,
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
        Self { own, table: Mutex::new(PidTable::new(own)) }
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

    #[test]
    fn our_own_process_is_there_while_it_has_a_device_open() {
        let pids = Pids::of(NamespaceId(proc_files::own_pid_namespace().unwrap()));
        let own = std::process::id();
        let numbers = proc_files::pid_numbers(own).unwrap();
        let held = pids.adopt(&numbers[..1]).unwrap();
        let again = pids.adopt(&numbers[..1]).unwrap();
        assert_eq!((held.number(), held.seen_by(&again)), (own, own));
        assert!(pids.root().get_pid(own).is_some() && pids.namespace(NamespaceId(0)).is_none());
        drop(held);
        assert_eq!(pids.root().processes(), 1);
        drop(again);
        assert_eq!(pids.root().processes(), 0);
    }

    #[test]
    fn a_process_that_has_ended_is_not_taken_in() {
        let pids = Pids::of(NamespaceId(1));
        assert!(pids.adopt(&[]).is_err() && pids.adopt(&[u32::MAX]).is_err());
        assert_eq!(pids.root().processes(), 0);
    }
}
