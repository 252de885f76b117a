//! The processes that have devices open, on whatever mount: one table, for the numbers are the
//! kernel's.

use std::io;
use std::sync::{Arc, Mutex, OnceLock};

use binder_core::{HeldPid, KernelProcess, NamespaceId, PidTable};
use binder_os::proc_files;

/// The table of processes. Whoever opens a device is taken in; the last file of a process takes it
/// out again, by itself.
#[derive(Debug)]
pub(crate) struct Pids {
    /// The namespace of the daemon.
    own: NamespaceId,
    table: Mutex<PidTable>,
}

impl Pids {
    /// The table of all that this process serves.
    pub(crate) fn of_this_process() -> io::Result<Arc<Self>> {
        static ALL: OnceLock<Arc<Pids>> = OnceLock::new();
        if let Some(known) = ALL.get() {
            return Ok(known.clone());
        }
        let own = NamespaceId(proc_files::own_pid_namespace()?);
        let table = Mutex::new(PidTable::new(own, None));
        Ok(ALL.get_or_init(|| Arc::new(Self { own, table })).clone())
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
        let mut table = self.table.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        table.adopt(found, None).map_err(io::Error::other)
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
}
