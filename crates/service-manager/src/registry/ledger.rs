//! What each user has in a registry, within limits, and by which names that refers to each object.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use super::objects::ObjectTable;
use crate::request::{Denial, ObjectId};

/// How many services and listeners one user may have.
const ENTRIES_PER_USER: u32 = 8192;
/// How many objects one user may have in these: the driver tells of the death of each, before other callers' requests.
const OBJECTS_PER_USER: u32 = 2048;

/// The entries of a registry, services and listeners, by their users and by their objects.
#[derive(Debug, Default)]
pub(super) struct EntryLedger {
    /// How often the registry refers to each object by each name, so that a death concerns these names alone.
    references: BTreeMap<ObjectId, References>,
    /// How many services and listeners each user has.
    entries: BTreeMap<u32, u32>,
    /// How many objects each user has brought.
    objects: BTreeMap<u32, u32>,
}

/// The entries of an object.
#[derive(Debug)]
struct References {
    /// The user who brought it.
    uid: u32,
    names: BTreeMap<String, u32>,
}

impl EntryLedger {
    pub(super) fn refers_to(&self, object: ObjectId) -> bool {
        self.references.contains_key(&object)
    }

    /// The names by which there are entries of an object.
    pub(super) fn names_of(&self, object: ObjectId) -> Vec<String> {
        let references = self.references.get(&object);
        references.map(|it| it.names.keys().cloned().collect()).unwrap_or_default()
    }

    /// Refuses one more entry of a user who has many.
    pub(super) fn require_room(&self, uid: u32) -> Result<(), Denial> {
        let has_room = self.entries.get(&uid).is_none_or(|count| *count < ENTRIES_PER_USER);
        let full = Denial::illegal_state("Too many services and listeners of this user.");
        has_room.then_some(()).ok_or(full)
    }

    /// Adds an entry of a user's: an object, whose death is told from now on, by a name.
    pub(super) fn add(
        &mut self,
        uid: u32,
        object: ObjectId,
        name: &str,
        objects: &mut impl ObjectTable,
    ) -> Result<(), Denial> {
        if !self.refers_to(object) {
            let count = self.objects.get(&uid).copied().unwrap_or_default();
            if count >= OBJECTS_PER_USER {
                return Err(Denial::illegal_state("Too many objects of this user."));
            }
            if !objects.link_to_death(object) {
                return Err(Denial::illegal_state("Couldn't linkToDeath."));
            }
            self.objects.insert(uid, count + 1);
        }
        let new = || References { uid, names: BTreeMap::new() };
        let references = self.references.entry(object).or_insert_with(new);
        *references.names.entry(name.to_owned()).or_default() += 1;
        *self.entries.entry(uid).or_default() += 1;
        Ok(())
    }

    /// Takes an entry out. Says whether it was the last of its object.
    pub(super) fn remove(&mut self, uid: u32, object: ObjectId, name: &str) -> bool {
        decrease(&mut self.entries, &uid);
        let Some(references) = self.references.get_mut(&object) else { return false };
        decrease(&mut references.names, name);
        let is_last = references.names.is_empty();
        if is_last {
            decrease(&mut self.objects, &references.uid);
            self.references.remove(&object);
        }
        is_last
    }
}

/// Counts one less, and forgets what is not there any more.
fn decrease<K: Ord + Borrow<Q>, Q: Ord + ?Sized>(counts: &mut BTreeMap<K, u32>, key: &Q) {
    let Some(count) = counts.get_mut(key) else { return };
    *count -= 1;
    if *count == 0 {
        counts.remove(key);
    }
}
