//! Tables of a context's objects, and the typed keys by which objects name each other.

use core::cmp::Ordering;
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Index, IndexMut};

use slab::Slab;

/// Names one entry of a table for as long as that entry lives.
///
/// The generation tells a later tenant of the same slot from this one. It repeats after 2^32
/// insertions: a key that a client can keep for that long is checked against its owner as well.
pub struct Key<T> {
    slot: u32,
    generation: u32,
    of: PhantomData<fn() -> T>,
}

impl<T> Key<T> {
    /// No key comes before it.
    pub(crate) const MIN: Self = Self { slot: 0, generation: 0, of: PhantomData };

    /// The key as one number, for maps and logs of a front end.
    pub fn to_u64(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.slot)
    }

    /// The place of the entry in its table: small numbers that are used again. A front end may
    /// index its own tables by it, if it compares the whole key.
    pub fn slot(self) -> usize {
        self.slot as usize
    }
}

impl<T> Clone for Key<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Key<T> {}
impl<T> PartialEq for Key<T> {
    fn eq(&self, other: &Self) -> bool {
        self.to_u64() == other.to_u64()
    }
}
impl<T> Eq for Key<T> {}
impl<T> PartialOrd for Key<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Key<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.to_u64().cmp(&other.to_u64())
    }
}
impl<T> core::hash::Hash for Key<T> {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.to_u64().hash(state);
    }
}
impl<T> fmt::Debug for Key<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.slot, self.generation)
    }
}

/// Slots that a table keeps in any case.
const KEPT_SLOTS: usize = 64;
/// A table is shrunk when fewer of its slots have entries: one in this many.
const SPARSE: usize = 4;

/// Objects of one kind, found by key in constant time.
#[derive(Debug)]
pub(crate) struct Table<T> {
    slots: Slab<(u32, T)>,
    next_generation: u32,
}

impl<T> Table<T> {
    pub(crate) fn new() -> Self {
        Self { slots: Slab::new(), next_generation: 0 }
    }

    /// Adds `value` and names it. Inlined, so that a large one is made where it is to lie.
    #[inline]
    pub(crate) fn insert(&mut self, value: T) -> Key<T> {
        let generation = self.next_generation;
        self.next_generation = generation.wrapping_add(1);
        let slot = self.slots.insert((generation, value));
        let slot = u32::try_from(slot).expect("fewer than 2^32 objects fit into memory");
        Key { slot, generation, of: PhantomData }
    }

    /// Takes the entry out, if it still lives.
    pub(crate) fn remove(&mut self, key: Key<T>) -> Option<T> {
        self.get(key)?;
        let (_, value) = self.slots.remove(key.slot());
        Some(value)
    }

    /// Gives back the memory that a burst has left, up to the last entry that lives.
    pub(crate) fn shrink(&mut self) {
        let capacity = self.slots.capacity();
        if capacity > KEPT_SLOTS && self.slots.len() < capacity / SPARSE {
            self.slots.shrink_to_fit();
        }
    }

    pub(crate) fn get(&self, key: Key<T>) -> Option<&T> {
        let (generation, value) = self.slots.get(key.slot())?;
        (*generation == key.generation).then_some(value)
    }

    pub(crate) fn get_mut(&mut self, key: Key<T>) -> Option<&mut T> {
        let (generation, value) = self.slots.get_mut(key.slot())?;
        (*generation == key.generation).then_some(value)
    }

    pub(crate) fn contains(&self, key: Key<T>) -> bool {
        self.get(key).is_some()
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// How many slots there are, at least those up to the last entry.
    pub(crate) fn slots(&self) -> usize {
        self.slots.capacity()
    }

    /// The entry in a slot.
    pub(crate) fn at(&self, slot: usize) -> Option<(Key<T>, &T)> {
        let (generation, value) = self.slots.get(slot)?;
        let slot = u32::try_from(slot).expect("as it was when the entry was added");
        Some((Key { slot, generation: *generation, of: PhantomData }, value))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = Key<T>> {
        self.iter().map(|(key, _)| key)
    }

    /// How many entries there ever were, modulo 2^32.
    pub(crate) fn total(&self) -> u32 {
        self.next_generation
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Key<T>, &T)> {
        self.slots.iter().map(|(slot, (generation, value))| {
            let slot = u32::try_from(slot).expect("as it was when the entry was added");
            (Key { slot, generation: *generation, of: PhantomData }, value)
        })
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().map(|(_, (_, value))| value)
    }
}

impl<T> Index<Key<T>> for Table<T> {
    type Output = T;
    fn index(&self, key: Key<T>) -> &T {
        self.get(key).expect("objects that name each other live equally long")
    }
}

impl<T> IndexMut<Key<T>> for Table<T> {
    fn index_mut(&mut self, key: Key<T>) -> &mut T {
        self.get_mut(key).expect("objects that name each other live equally long")
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn a_key_does_not_find_a_later_tenant_of_its_slot() {
        let mut table = Table::new();
        let first = table.insert('a');
        assert_eq!(table.remove(first), Some('a'));
        let second = table.insert('b');
        assert_eq!(table.get(first), None);
        assert_eq!(table.remove(first), None);
        assert_eq!(table[second], 'b');
        assert_eq!(table.len(), 1);
    }

    #[test]
    fn a_burst_leaves_no_memory_behind_its_last_survivor() {
        let mut table = Table::new();
        let burst: Vec<_> = (0..100 * KEPT_SLOTS).map(|number| table.insert(number)).collect();
        let (gone, survivors) = (&burst[10..], &burst[..10]);
        for key in gone {
            table.remove(*key);
        }
        table.shrink();
        assert!(table.slots.capacity() <= KEPT_SLOTS, "{}", table.slots.capacity());
        assert!(survivors.iter().zip(0..).all(|(key, number)| table[*key] == number));
        let late = table.insert(7);
        assert_eq!((late.slot(), table.get(burst[late.slot()])), (10, None));
    }

    #[test]
    fn a_table_in_use_keeps_its_memory() {
        let mut table = Table::new();
        let mut last = None;
        for number in 0..2 * KEPT_SLOTS {
            last = Some(table.insert(number));
        }
        let capacity = table.slots.capacity();
        table.shrink();
        assert_eq!(table.slots.capacity(), capacity);
        assert!(last.is_some_and(|key| table.contains(key)));
    }
}
