//! Which machines serve which names, as of a revision.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Bound;

use crate::keys::{Claim, ClaimError, MachineAddress, Ownership, ServiceKey};
use crate::store::{LeaseId, StoreChange, StoredKey};

/// A service of one machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// Its name.
    pub name: String,
    /// Whether it is one of many.
    pub ownership: Ownership,
    /// Where it is served.
    pub address: MachineAddress,
    /// The revision at which its machine came by the name: of two that say they are the owner, the later is.
    pub generation: i64,
    /// The lease that it ends with.
    pub lease: LeaseId,
    /// Since when, in seconds of its machine's clock since 1970.
    pub since_s: u64,
}

/// What has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirectoryChange {
    /// An instance is there.
    Added(Instance),
    /// An instance is gone.
    Removed(Instance),
}

/// All instances.
#[derive(Debug, Default)]
pub struct Directory {
    instances: BTreeMap<ServiceKey, Instance>,
}

impl Directory {
    /// The instances of a name: its one owner, or of many all.
    pub fn of<'d>(&'d self, name: &'d str) -> impl Iterator<Item = &'d Instance> {
        let first = ServiceKey { name: name.into(), instance: None };
        self.instances.range(first..).map(|(_, it)| it).take_while(move |it| it.name == name)
    }

    /// All instances behind that of a key, or all.
    pub fn behind(&self, key: Option<&ServiceKey>) -> impl Iterator<Item = &Instance> {
        let from = key.map_or(Bound::Unbounded, |key| Bound::Excluded(key.clone()));
        self.instances.range((from, Bound::Unbounded)).map(|(_, it)| it)
    }

    /// How many instances there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.instances.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.instances.is_empty()
    }

    /// The instance of a key.
    #[must_use]
    pub fn get(&self, key: &ServiceKey) -> Option<&Instance> {
        self.instances.get(key)
    }

    /// Takes what the store says of one key; what was there before it tells of as removed, if it is another.
    ///
    /// # Errors
    ///
    /// [`ClaimError`] for a text that is not in our form: there is nothing then.
    pub(crate) fn apply(
        &mut self,
        change: StoreChange,
        changed: &mut Vec<DirectoryChange>,
    ) -> Result<(), (Vec<u8>, ClaimError)> {
        let (bytes, stored) = match change {
            StoreChange::Put(stored) => (stored.key.clone(), Some(stored)),
            StoreChange::Deleted { key } => (key, None),
        };
        let key = match (ServiceKey::parse(&bytes), &stored) {
            (Ok(key), _) => key,
            // There was nothing before either.
            (Err(_), None) => return Ok(()),
            (Err(error), Some(_)) => return Err((bytes, error)),
        };
        let (found, outcome) = match stored.map(|stored| instance(&key, &stored)).transpose() {
            Ok(found) => (found, Ok(())),
            Err(error) => (None, Err((bytes, error))),
        };
        if self.instances.get(&key) == found.as_ref() {
            return outcome;
        }
        let before = match found {
            Some(found) => {
                let before = self.instances.insert(key, found.clone());
                changed.extend(before.map(DirectoryChange::Removed));
                changed.push(DirectoryChange::Added(found));
                return outcome;
            }
            None => self.instances.remove(&key),
        };
        changed.extend(before.map(DirectoryChange::Removed));
        outcome
    }

    /// The keys that a list of all lacks, as their deletions.
    pub(crate) fn missing_in(&self, keys: &[StoredKey]) -> Vec<StoreChange> {
        let listed: alloc::collections::BTreeSet<&[u8]> =
            keys.iter().map(|stored| stored.key.as_slice()).collect();
        let known = self.instances.keys().map(|key| String::from(key).into_bytes());
        let missing = known.filter(|key| !listed.contains(key.as_slice()));
        missing.map(|key| StoreChange::Deleted { key }).collect()
    }
}

fn instance(key: &ServiceKey, stored: &StoredKey) -> Result<Instance, ClaimError> {
    let Claim { address, since_s } = Claim::parse(key, &stored.value)?;
    Ok(Instance {
        name: key.name.clone(),
        ownership: key.ownership(),
        address,
        generation: stored.created,
        lease: stored.lease,
        since_s,
    })
}
