//! The processes that have devices open: what the daemon needs of each, once however often it opens.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use binder_os::{ClientMemory, client_files};

use crate::descriptors::{PER_PROCESS, descriptors};
use crate::quota::{Account, Charge};

/// A process, for as long as files of it are open.
#[derive(Debug)]
pub(crate) struct ProcessHandle {
    /// Its memory; by this one, none of it is accessed.
    pub(crate) memory: ClientMemory,
    /// By which its end is told, and its files are taken.
    pub(crate) pidfd: OwnedFd,
    /// For its directory in /proc and its pidfd; of all else that is spent for its files, too.
    pub(crate) charge: Charge,
}

/// The fewest processes among which those are looked for that are gone.
const SWEEP_MIN: usize = 16;

/// All of them, by the number of the process and the user that opened: each user pays for his own.
#[derive(Debug, Default)]
pub(crate) struct ProcessHandles {
    by_payer: HashMap<(u32, u32), Weak<ProcessHandle>>,
    sweep_at: usize,
}

impl ProcessHandles {
    /// The processes that this one serves.
    fn of_this_process() -> &'static Mutex<Self> {
        static ALL: OnceLock<Mutex<ProcessHandles>> = OnceLock::new();
        ALL.get_or_init(Mutex::default)
    }

    /// Finds a process again, or makes its acquaintance: it is about to open a device.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is no such process, or what stands for a spent share.
    pub(crate) fn get(payer: Account) -> io::Result<Arc<ProcessHandle>> {
        let all = Self::of_this_process();
        all.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).find_or_add(payer)
    }

    /// Forgets those that are gone: even the place of one keeps its page.
    pub(crate) fn shrink() {
        let all = Self::of_this_process();
        all.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).sweep();
    }

    fn find_or_add(&mut self, payer: Account) -> io::Result<Arc<ProcessHandle>> {
        let Account { pid, uid } = payer;
        let known = self.by_payer.get(&(pid, uid)).and_then(Weak::upgrade);
        // The number may have been another's, whose file is open still.
        if let Some(known) = known.filter(|known| known.memory.has_thread(pid)) {
            return Ok(known);
        }
        let charge = descriptors().take(payer, PER_PROCESS)?;
        let (memory, pidfd) = (ClientMemory::open(pid)?, client_files::of_process(pid)?);
        let met = Arc::new(ProcessHandle { memory, pidfd, charge });
        if self.by_payer.len() >= self.sweep_at {
            self.sweep();
        }
        self.by_payer.insert((pid, uid), Arc::downgrade(&met));
        Ok(met)
    }

    fn sweep(&mut self) {
        self.by_payer.retain(|_, known| known.strong_count() > 0);
        self.sweep_at = SWEEP_MIN.max(2 * self.by_payer.len());
        self.by_payer.shrink_to(self.sweep_at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_met_once_while_it_has_files_open() {
        let mut all = ProcessHandles::default();
        let payer = |uid| Account { pid: std::process::id(), uid };
        let met = all.find_or_add(payer(1)).expect("it is ours");
        let again = all.find_or_add(payer(1)).expect("it is ours");
        assert!(Arc::ptr_eq(&met, &again));
        let for_another = all.find_or_add(payer(2)).expect("it is ours");
        assert!(!Arc::ptr_eq(&met, &for_another));
        let first = Arc::downgrade(&met);
        drop((met, again));
        assert!(first.upgrade().is_none(), "nothing is kept of a process that is not in use");
        assert!(all.find_or_add(payer(1)).is_ok());
    }

    #[test]
    fn those_who_are_gone_leave_no_trace() {
        let mut all = ProcessHandles::default();
        for uid in 0..100 {
            let met = all.find_or_add(Account { pid: std::process::id(), uid });
            drop(met.expect("it is ours"));
        }
        assert!(all.by_payer.len() <= 2 * SWEEP_MIN, "{}", all.by_payer.len());
        all.sweep();
        assert!(all.by_payer.is_empty(), "{:?}", all.by_payer);
        assert!(all.find_or_add(Account { pid: u32::MAX, uid: 0 }).is_err());
    }
}
