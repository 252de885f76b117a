//! How long the driver has searched in vain for mappings of users' processes, while everybody waited.
//!
//! A search reads all that a process has mapped, and a process may have mapped much, and its receive
//! buffer not at all. A user on whom that was spent waits before it is spent again for a process that was
//! searched before: the last answer stands meanwhile.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Searches in vain may take one part in so many of the time.
const SHARE: u32 = 20;
/// So much at once is nobody's offence.
const BURST: Duration = Duration::from_millis(5);
/// As many users as are kept without a look at who has paid his debt.
const SWEEP_AT: usize = 64;

/// What was spent on users, less what time has paid back.
#[derive(Debug, Default)]
pub(crate) struct SearchTime {
    by_user: HashMap<u32, Debt>,
}

#[derive(Debug, Clone, Copy)]
struct Debt {
    time: Duration,
    at: Instant,
}

impl Debt {
    fn left(self, now: Instant) -> Duration {
        self.time.saturating_sub(now.saturating_duration_since(self.at) / SHARE)
    }
}

impl SearchTime {
    /// Whether user `uid` must wait for the next search.
    pub(crate) fn is_spent(&self, uid: u32, now: Instant) -> bool {
        self.by_user.get(&uid).is_some_and(|debt| debt.left(now) > BURST)
    }

    /// Notes a search in vain that took so long and ended `now`.
    pub(crate) fn note(&mut self, uid: u32, took: Duration, now: Instant) {
        if self.by_user.len() >= SWEEP_AT {
            self.by_user.retain(|_, debt| !debt.left(now).is_zero());
        }
        let before = self.by_user.get(&uid).map_or(Duration::ZERO, |debt| debt.left(now));
        self.by_user.insert(uid, Debt { time: before + took, at: now });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn who_has_searches_made_in_vain_waits_and_others_do_not() {
        let (mut all, now) = (SearchTime::default(), Instant::now());
        for _ in 0..5 {
            all.note(1, MS, now);
            assert!(!all.is_spent(1, now), "a few are nobody's offence");
        }
        all.note(1, 15 * MS, now);
        assert!(all.is_spent(1, now) && !all.is_spent(2, now));
        assert!(all.is_spent(1, now + 299 * MS), "15 ms are a twentieth of 300");
        assert!(!all.is_spent(1, now + 300 * MS));
    }

    #[test]
    fn those_who_have_paid_are_forgotten() {
        let (mut all, now) = (SearchTime::default(), Instant::now());
        for uid in 0..1000 {
            all.note(uid, MS, now + uid * 1000 * MS);
        }
        assert!(all.by_user.len() <= SWEEP_AT, "{}", all.by_user.len());
    }
}
