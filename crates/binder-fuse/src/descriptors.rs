//! The daemon's descriptors, and who makes it spend them.
//!
//! An open file of a device costs the daemon some, and so does each thread that calls through it,
//! and each file that is sent and not received.
//! No process may take more than a quarter of all, and no user more than half; and some are kept
//! back for what the daemon opens for a moment. So a client that opens the device for ever is
//! refused, and others still can.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use binder_os::{proc_files, processes};

/// What an open takes: its process's directory and memory in /proc, and its receive buffer.
pub(crate) const PER_OPEN: u32 = 3;
/// What a thread takes.
pub(crate) const PER_THREAD: u32 = 1;
/// What a file on its way takes, and a process's pidfd.
pub(crate) const PER_FILE: u32 = 1;
/// Kept back for the daemon itself.
const RESERVED: u64 = 64;
/// Each open maps its receive buffer; of the mappings that the kernel allows, this part stays for
/// the daemon itself.
const RESERVED_MAPPINGS: u64 = 8;

const ENFILE: i32 = 23;
const EMFILE: i32 = 24;

/// For whom a descriptor is spent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Payer {
    pub(crate) pid: u32,
    pub(crate) uid: u32,
}

/// Whose descriptors are all spent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum Exhausted {
    #[error("the process has all the descriptors that it may")]
    Process,
    #[error("its user has all the descriptors that it may")]
    User,
    #[error("no descriptor is left")]
    All,
}

impl From<Exhausted> for io::Error {
    fn from(exhausted: Exhausted) -> Self {
        Self::from_raw_os_error(match exhausted {
            Exhausted::Process => EMFILE,
            Exhausted::User | Exhausted::All => ENFILE,
        })
    }
}

/// All that there are to spend.
#[derive(Debug)]
pub(crate) struct Descriptors {
    total: u32,
    spent: Mutex<Spent>,
}

#[derive(Debug, Default)]
struct Spent {
    by_all: u32,
    by_user: HashMap<u32, u32>,
    by_process: HashMap<u32, u32>,
}

/// Leave to have some descriptors open, for as long as it lives.
#[derive(Debug)]
pub(crate) struct Permit {
    descriptors: Arc<Descriptors>,
    payer: Payer,
    count: u32,
}

impl Descriptors {
    /// As many as this process may open, shared by all that it serves.
    pub(crate) fn of_this_process() -> Arc<Self> {
        static ALL: OnceLock<Arc<Descriptors>> = OnceLock::new();
        ALL.get_or_init(|| Arc::new(Self::counted())).clone()
    }

    fn counted() -> Self {
        let by_limit = processes::open_file_limit().saturating_sub(RESERVED);
        let mappings = proc_files::max_mappings().unwrap_or(u64::MAX);
        let opens = mappings - mappings / RESERVED_MAPPINGS;
        let by_mappings = opens.saturating_mul(PER_OPEN.into());
        Self::new(u32::try_from(by_limit.min(by_mappings)).unwrap_or(u32::MAX))
    }

    fn new(total: u32) -> Self {
        Self { total, spent: Mutex::default() }
    }

    /// Takes leave for `count` descriptors.
    pub(crate) fn take(self: &Arc<Self>, payer: Payer, count: u32) -> Result<Permit, Exhausted> {
        let mut spent = self.spent();
        let held = |by: &HashMap<u32, u32>, who| by.get(&who).copied().unwrap_or(0);
        let fits =
            |held: u32, share: u32| share.checked_sub(held).is_some_and(|left| count <= left);
        if !fits(held(&spent.by_process, payer.pid), self.total / 4) {
            return Err(Exhausted::Process);
        }
        if !fits(held(&spent.by_user, payer.uid), self.total / 2) {
            return Err(Exhausted::User);
        }
        if !fits(spent.by_all, self.total) {
            return Err(Exhausted::All);
        }
        spent.by_all += count;
        *spent.by_user.entry(payer.uid).or_default() += count;
        *spent.by_process.entry(payer.pid).or_default() += count;
        Ok(Permit { descriptors: self.clone(), payer, count })
    }

    fn spent(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Permit {
    /// Who pays.
    pub(crate) fn payer(&self) -> Payer {
        self.payer
    }

    /// Takes leave for more, for the same payer.
    pub(crate) fn another(&self, count: u32) -> Result<Self, Exhausted> {
        self.descriptors.take(self.payer, count)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut spent = self.descriptors.spent();
        spent.by_all -= self.count;
        give_back(&mut spent.by_user, self.payer.uid, self.count);
        give_back(&mut spent.by_process, self.payer.pid, self.count);
    }
}

fn give_back(by: &mut HashMap<u32, u32>, who: u32, count: u32) {
    if let Some(held) = by.get_mut(&who) {
        *held -= count;
        if *held == 0 {
            by.remove(&who);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_leaves_some_for_others_and_all_come_back() {
        let all = Arc::new(Descriptors::new(48));
        let payer = |pid, uid| Payer { pid, uid };
        let flood = |pid, uid| -> (Vec<Permit>, Exhausted) {
            let mut permits = Vec::new();
            loop {
                match all.take(payer(pid, uid), PER_OPEN) {
                    Ok(permit) => permits.push(permit),
                    Err(exhausted) => return (permits, exhausted),
                }
            }
        };
        let (first, refused) = flood(1, 1000);
        assert_eq!((first.len(), refused), (4, Exhausted::Process));
        assert_eq!(first[0].another(PER_THREAD).unwrap_err(), Exhausted::Process);
        let (second, refused) = flood(2, 1000);
        assert_eq!((second.len(), refused), (4, Exhausted::Process));
        let (third, refused) = flood(3, 1000);
        assert_eq!((third.len(), refused), (0, Exhausted::User));
        let (others, _) = flood(4, 1001);
        assert_eq!(others.len(), 4);
        let (rest, _) = flood(5, 1001);
        let (none, refused) = flood(6, 1002);
        assert_eq!((rest.len(), none.len(), refused), (4, 0, Exhausted::All));
        drop((first, second, others, rest));
        let spent = all.spent();
        assert_eq!((spent.by_all, spent.by_user.len(), spent.by_process.len()), (0, 0, 0));
    }
}
