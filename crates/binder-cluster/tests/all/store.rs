//! A store as etcd is: revisions, leases by its own clock, a history that is forgotten.

use std::collections::BTreeMap;
use std::time::Duration;

use binder_cluster::{ClaimOutcome, LeaseId, StoreChange, StoredKey};

#[derive(Default)]
pub(crate) struct Store {
    pub(crate) revision: i64,
    pub(crate) keys: BTreeMap<Vec<u8>, StoredKey>,
    leases: BTreeMap<LeaseId, (Duration, Duration)>,
    history: Vec<(i64, StoreChange)>,
    compacted: i64,
    last_lease: i64,
}

impl Store {
    pub(crate) fn grant(&mut self, now: Duration, ttl: Duration) -> LeaseId {
        self.last_lease += 1;
        let lease = LeaseId(self.last_lease);
        self.leases.insert(lease, (now + ttl, ttl));
        lease
    }

    /// Whether there is such a lease, which lives on then.
    pub(crate) fn keep_alive(&mut self, now: Duration, lease: LeaseId) -> bool {
        let found = self.leases.get_mut(&lease);
        if let Some((until, ttl)) = found {
            *until = now + *ttl;
            return true;
        }
        false
    }

    pub(crate) fn revoke(&mut self, lease: LeaseId) {
        self.leases.remove(&lease);
        let of_it = self.keys.values().filter(|stored| stored.lease == lease);
        let of_it: Vec<_> = of_it.map(|stored| stored.key.clone()).collect();
        of_it.iter().for_each(|key| self.delete(key));
    }

    pub(crate) fn expire(&mut self, now: Duration) {
        let over = self.leases.iter().filter(|(_, (until, _))| now >= *until);
        let over: Vec<_> = over.map(|(lease, _)| *lease).collect();
        over.into_iter().for_each(|lease| self.revoke(lease));
    }

    pub(crate) fn claim(&mut self, key: Vec<u8>, value: Vec<u8>, lease: LeaseId) -> ClaimOutcome {
        if !self.leases.contains_key(&lease) {
            return ClaimOutcome::NoLease;
        }
        if let Some(found) = self.keys.get(&key) {
            return ClaimOutcome::Taken(found.lease, found.created);
        }
        self.revision += 1;
        let stored = StoredKey { key: key.clone(), value, created: self.revision, lease };
        self.history.push((self.revision, StoreChange::Put(stored.clone())));
        self.keys.insert(key, stored);
        ClaimOutcome::Won(self.revision)
    }

    pub(crate) fn withdraw(&mut self, key: &[u8], generation: i64) {
        if self.keys.get(key).is_some_and(|found| found.created == generation) {
            self.delete(key);
        }
    }

    fn delete(&mut self, key: &[u8]) {
        if self.keys.remove(key).is_some() {
            self.revision += 1;
            self.history.push((self.revision, StoreChange::Deleted { key: key.to_vec() }));
        }
    }

    /// Forgets the history so far.
    pub(crate) fn compact(&mut self) {
        self.compacted = self.revision;
    }

    /// What has changed from a revision on; `None` if that is forgotten.
    pub(crate) fn changes_from(&self, from: i64) -> Option<Vec<(i64, StoreChange)>> {
        let told = self.history.iter().filter(|(revision, _)| *revision >= from);
        (from > self.compacted).then(|| told.cloned().collect())
    }
}
