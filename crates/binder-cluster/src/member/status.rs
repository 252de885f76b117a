//! A member in numbers.

use core::time::Duration;

use super::{ClusterMember, LeaseState, ServicePhase};
use crate::keys::Ownership;

/// A member at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberStatus {
    /// For how long its lease lasts if it is not renewed; zero without one.
    pub lease_left: Duration,
    /// How often a lease has ended before this machine wanted that.
    pub lost_leases: u64,
    /// Names that this machine owns.
    pub owned: usize,
    /// Services of this machine whose name is another's, or not claimed yet.
    pub awaited: usize,
    /// Claims and withdrawals that are under way.
    pub writes: usize,
    /// Names with one owner that all machines have.
    pub single: usize,
    /// Instances of names that have many.
    pub many: usize,
    /// The store's revision of what was heard last.
    pub revision: i64,
    /// For how long changes have not been told.
    pub stale_for: Duration,
}

impl ClusterMember {
    /// How it is at that time.
    #[must_use]
    pub fn status(&self, now: Duration) -> MemberStatus {
        let lease_left = match self.lease {
            LeaseState::Held { until, .. } => until.saturating_sub(now),
            LeaseState::None { .. } | LeaseState::Asking { .. } => Duration::ZERO,
        };
        let shared = || self.services.values().filter(|service| service.wanted.is_some());
        let is_owned = |phase| matches!(phase, ServicePhase::Owned { .. });
        let owned = shared().filter(|service| is_owned(service.phase)).count();
        let all = self.directory.behind(None);
        let single = all.filter(|instance| instance.ownership == Ownership::Single).count();
        MemberStatus {
            lease_left,
            lost_leases: self.lost_leases,
            owned,
            awaited: shared().count() - owned,
            writes: self.writes.len(),
            single,
            many: self.directory.len() - single,
            revision: self.revision,
            stale_for: self.stale_since.map_or(Duration::ZERO, |since| now.saturating_sub(since)),
        }
    }
}
