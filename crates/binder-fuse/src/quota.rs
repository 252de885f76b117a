//! Resources that the daemon has a limited amount of, and the accounts of the clients that make it spend them.
//!
//! No process may take more than a quarter of all, and no user more than half. So a client that opens
//! the device for ever is refused, and others still can.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use binder_core::Errno;
use binder_report::records::Share;

use crate::warnings::{LIMIT_INTERVAL, Warnings};

/// What a process may take: one part in this many of all.
const PER_PROCESS: u32 = 4;
/// The same of a user.
const PER_USER: u32 = 2;

/// For whom something is spent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Account {
    pub(crate) pid: u32,
    pub(crate) uid: u32,
}

/// Whose share is spent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum QuotaExhausted {
    #[error("a process has a quarter of all the daemon's {0}, and may have no more")]
    Process(&'static str),
    #[error("a user has half of all the daemon's {0}, and may have no more")]
    User(&'static str),
    #[error("of the daemon's {0}, none are left")]
    All(&'static str),
}

impl From<QuotaExhausted> for io::Error {
    fn from(exhausted: QuotaExhausted) -> Self {
        let errno = match exhausted {
            QuotaExhausted::Process(_) | QuotaExhausted::User(_) => Errno::EMFILE,
            QuotaExhausted::All(_) => Errno::ENFILE,
        };
        Self::from_raw_os_error(errno.number())
    }
}

/// All of one kind that there are to spend.
#[derive(Debug)]
pub(crate) struct Quota {
    /// What is spent, for messages.
    name: &'static str,
    total: u32,
    warnings: Warnings,
    usage: Mutex<QuotaUsage>,
}

#[derive(Debug, Default)]
struct QuotaUsage {
    by_all: u32,
    by_user: HashMap<u32, u32>,
    by_process: HashMap<u32, u32>,
}

/// Leave to use some, for as long as it lives.
#[derive(Debug)]
pub(crate) struct Charge {
    supply: Arc<Quota>,
    payer: Account,
    count: u32,
}

impl Quota {
    pub(crate) fn new(name: &'static str, total: u64) -> Arc<Self> {
        let total = u32::try_from(total).unwrap_or(u32::MAX);
        let warnings = Warnings::one_in(LIMIT_INTERVAL);
        Arc::new(Self { name, total, warnings, usage: Mutex::default() })
    }

    /// How many there are.
    pub(crate) fn total(&self) -> u32 {
        self.total
    }

    /// Takes leave for `count` of them.
    pub(crate) fn take(
        self: &Arc<Self>,
        payer: Account,
        count: u32,
    ) -> Result<Charge, QuotaExhausted> {
        let taken = self.spend(payer, count, 1);
        if let Err(exhausted) = taken
            && self.warnings.is_due()
        {
            tracing::warn!(pid = payer.pid, uid = payer.uid, "{exhausted}");
        }
        taken.map(|()| Charge { supply: self.clone(), payer, count })
    }

    /// Spends some, if the process, the user and all then have spent no more than one `part`th of their shares.
    fn spend(&self, payer: Account, count: u32, part: u32) -> Result<(), QuotaExhausted> {
        let mut usage = self.usage();
        let held = |by: &HashMap<u32, u32>, who| by.get(&who).copied().unwrap_or(0);
        let fits = |held: u32, share: u32| {
            (share / part).checked_sub(held).is_some_and(|left| count <= left)
        };
        if !fits(held(&usage.by_process, payer.pid), self.total / PER_PROCESS) {
            return Err(QuotaExhausted::Process(self.name));
        }
        if !fits(held(&usage.by_user, payer.uid), self.total / PER_USER) {
            return Err(QuotaExhausted::User(self.name));
        }
        if !fits(usage.by_all, self.total) {
            return Err(QuotaExhausted::All(self.name));
        }
        usage.by_all += count;
        *usage.by_user.entry(payer.uid).or_default() += count;
        *usage.by_process.entry(payer.pid).or_default() += count;
        Ok(())
    }

    /// What each user has spent.
    pub(crate) fn shares(&self) -> impl Iterator<Item = Share> {
        let (name, limit) = (self.name, self.total / PER_USER);
        let mut usage: Vec<_> =
            self.usage().by_user.iter().map(|(uid, used)| (*uid, *used)).collect();
        usage.sort_unstable();
        let share = move |(uid, used)| Share { uid, name: name.to_owned(), used, limit };
        usage.into_iter().map(share)
    }

    fn usage(&self) -> MutexGuard<'_, QuotaUsage> {
        self.usage.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Charge {
    /// The account that pays.
    pub(crate) fn payer(&self) -> Account {
        self.payer
    }

    /// Takes leave for more, for the same payer.
    pub(crate) fn another(&self, count: u32) -> Result<Self, QuotaExhausted> {
        self.supply.take(self.payer, count)
    }

    /// The same for what can be done without: half of each share stays for what cannot.
    pub(crate) fn another_if_plenty(&self, count: u32) -> Option<Self> {
        let Self { supply, payer, .. } = self;
        supply.spend(*payer, count, 2).ok()?;
        Some(Self { supply: supply.clone(), payer: *payer, count })
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let mut usage = self.supply.usage();
        usage.by_all -= self.count;
        give_back(&mut usage.by_user, self.payer.uid, self.count);
        give_back(&mut usage.by_process, self.payer.pid, self.count);
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
        let all = Quota::new("things", 48);
        let payer = |pid, uid| Account { pid, uid };
        let flood = |pid, uid| -> (Vec<Charge>, QuotaExhausted) {
            let mut charges = Vec::new();
            loop {
                match all.take(payer(pid, uid), 3) {
                    Ok(charge) => charges.push(charge),
                    Err(exhausted) => return (charges, exhausted),
                }
            }
        };
        let of_process = QuotaExhausted::Process("things");
        let (first, refused) = flood(1, 1000);
        assert_eq!((first.len(), refused), (4, of_process));
        assert_eq!(first[0].another(1).unwrap_err(), of_process);
        assert!(first[0].another_if_plenty(1).is_none());
        let one = all.take(payer(9, 1009), 1).unwrap();
        let spare: Vec<_> = std::iter::from_fn(|| one.another_if_plenty(1)).collect();
        assert_eq!(spare.len(), 5, "half of the share of a process");
        drop((one, spare));
        let (second, refused) = flood(2, 1000);
        assert_eq!((second.len(), refused), (4, of_process));
        let (third, refused) = flood(3, 1000);
        assert_eq!((third.len(), refused), (0, QuotaExhausted::User("things")));
        let (others, _) = flood(4, 1001);
        assert_eq!(others.len(), 4);
        let (rest, _) = flood(5, 1001);
        let (none, refused) = flood(6, 1002);
        assert_eq!((rest.len(), none.len(), refused), (4, 0, QuotaExhausted::All("things")));
        drop((first, second, others, rest));
        let usage = all.usage();
        assert_eq!((usage.by_all, usage.by_user.len(), usage.by_process.len()), (0, 0, 0));
    }
}
