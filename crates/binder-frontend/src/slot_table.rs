//! What belongs to the open files of a device, found by the slots of their processes.

use alloc::vec::Vec;

use binder_core::ProcessKey;

/// One value for each open file.
#[derive(Debug)]
pub struct SlotTable<T> {
    by_slot: Vec<Option<(ProcessKey, T)>>,
    len: usize,
}

impl<T> Default for SlotTable<T> {
    fn default() -> Self {
        Self { by_slot: Vec::new(), len: 0 }
    }
}

impl<T> SlotTable<T> {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds one, in the place of any that had its slot.
    pub fn insert(&mut self, process: ProcessKey, value: T) {
        let slot = process.slot();
        if slot >= self.by_slot.len() {
            self.by_slot.resize_with(slot + 1, || None);
        }
        let before = self.by_slot[slot].replace((process, value));
        self.len += usize::from(before.is_none());
    }

    /// Finds one.
    pub fn get(&self, process: ProcessKey) -> Option<&T> {
        match self.by_slot.get(process.slot())? {
            Some((key, value)) if *key == process => Some(value),
            Some(_) | None => None,
        }
    }

    /// Finds one.
    pub fn get_mut(&mut self, process: ProcessKey) -> Option<&mut T> {
        match self.by_slot.get_mut(process.slot())? {
            Some((key, value)) if *key == process => Some(value),
            Some(_) | None => None,
        }
    }

    /// Takes one out.
    pub fn remove(&mut self, process: ProcessKey) -> Option<T> {
        let place = self.by_slot.get_mut(process.slot())?;
        let (_, value) = place.take_if(|(key, _)| *key == process)?;
        self.len -= 1;
        Some(value)
    }

    /// All slots from `first` on, with what each has.
    pub fn starting_at_slot(
        &self,
        first: usize,
    ) -> impl Iterator<Item = (usize, Option<(ProcessKey, &T)>)> {
        let places = self.by_slot.iter().enumerate().skip(first);
        places.map(|(slot, place)| (slot, place.as_ref().map(|(key, value)| (*key, value))))
    }

    /// Whose values there are.
    pub fn processes(&self) -> impl Iterator<Item = ProcessKey> {
        self.by_slot.iter().flatten().map(|(process, _)| *process)
    }

    /// Shrinks the table to the last one.
    pub fn shrink(&mut self) {
        let used = self.by_slot.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        self.by_slot.truncate(used);
        self.by_slot.shrink_to(2 * used);
    }
}

#[cfg(test)]
mod tests {
    use binder_core::{Context, ReleaseProgress};

    use super::*;
    use crate::test_frontend::{NoMemory, opener};

    #[test]
    fn a_key_of_before_finds_nothing_of_who_has_its_slot_now() {
        let mut context = Context::new();
        let before = context.open(opener()).expect("the first");
        assert_eq!(context.release(before, &mut NoMemory), ReleaseProgress::Done);
        let now = context.open(opener()).expect("the second");
        assert!(before != now && before.slot() == now.slot());

        let mut table = SlotTable::default();
        assert!(table.is_empty());
        table.insert(before, 1);
        table.insert(now, 2);
        assert!(table.get(before).is_none() && table.get_mut(before).is_none());
        assert!(table.remove(before).is_none());
        assert!(!table.is_empty());
        assert_eq!(table.get(now).copied(), table.get_mut(now).copied());
        assert_eq!(table.get(now), Some(&2));
        assert_eq!((table.remove(now), table.remove(now)), (Some(2), None));
        assert!(table.is_empty(), "it took the place of the other");
    }

    #[test]
    fn a_table_shrinks_to_its_last_value() {
        let mut context = Context::new();
        let keys: Vec<_> = (0..100).map(|_| context.open(opener()).expect("few files")).collect();
        let mut table = SlotTable::default();
        keys.iter().for_each(|key| table.insert(*key, ()));
        keys[10..].iter().for_each(|key| assert!(table.remove(*key).is_some()));
        table.shrink();
        assert!(table.by_slot.len() == 10 && table.by_slot.capacity() <= 20);
        assert!(table.processes().eq(keys[..10].iter().copied()));
        assert_eq!(table.starting_at_slot(8).count(), 2);
    }
}
