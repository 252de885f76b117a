//! Keys that no later value answers to.

use alloc::sync::Arc;
use core::fmt;
use core::ops::{Deref, RangeInclusive};
#[cfg(not(loom))]
use core::sync::atomic::{AtomicU32, Ordering};

#[cfg(loom)]
use loom::sync::atomic::{AtomicU32, Ordering};

use crate::idr::{Idr, NoFreeId};
use crate::rcu::{ReadGuard, pin_to_change};

/// An id, and which of the values that have it one after the other is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdKey {
    /// The id, the lowest that was free.
    pub id: u32,
    /// Another one for each value, until there have been 2^32.
    pub generation: u32,
}

impl From<IdKey> for u64 {
    /// The generation in the high half.
    fn from(key: IdKey) -> Self {
        Self::from(key.generation) << 32 | Self::from(key.id)
    }
}

impl From<u64> for IdKey {
    #[expect(clippy::cast_possible_truncation, reason = "the halves of a number")]
    fn from(number: u64) -> Self {
        Self { id: number as u32, generation: (number >> 32) as u32 }
    }
}

/// A map as [`Idr`] whose keys have a generation: a key that was kept for longer than its value finds nothing, though
/// its id has been given to another.
///
/// Lookups take no lock. A value takes four bytes more, or eight where it is aligned to as many.
///
/// ```
/// use idr::{KeyedIdr, pin};
///
/// let sessions = KeyedIdr::new();
/// let first = sessions.insert(1..=9, "first")?;
/// assert!(sessions.remove(first).is_some_and(|session| **session == "first"));
/// let second = sessions.insert(1..=9, "second")?;
/// assert_eq!((first.id, second.id), (1, 1));
/// assert_eq!(sessions.find(first, &pin()), None);
/// assert_eq!(sessions.find(second, &pin()), Some(&"second"));
/// # Ok::<(), idr::NoFreeId>(())
/// ```
pub struct KeyedIdr<T: Send + Sync + 'static> {
    values: Idr<Keyed<T>>,
    next_generation: AtomicU32,
}

/// A value of a [`KeyedIdr`], shared.
#[derive(Debug)]
pub struct Keyed<T> {
    generation: u32,
    value: T,
}

impl<T> Deref for Keyed<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Send + Sync + 'static> KeyedIdr<T> {
    /// Makes a map without ids, and without memory from the heap.
    #[must_use]
    pub fn new() -> Self {
        Self { values: Idr::new(), next_generation: AtomicU32::new(0) }
    }

    /// Gives a value the lowest free id of `range`.
    ///
    /// # Errors
    ///
    /// [`NoFreeId`] if all of `range` is taken; an empty one always is.
    pub fn insert(&self, range: RangeInclusive<u32>, value: T) -> Result<IdKey, NoFreeId> {
        // Numbers that differ are all that is asked of it.
        let generation = self.next_generation.fetch_add(1, Ordering::Relaxed);
        let id = self.values.alloc(range, Some(Arc::new(Keyed { generation, value })))?;
        Ok(IdKey { id, generation })
    }

    /// Finds the value of `key`, if it has not been removed.
    #[inline]
    pub fn find<'g>(&'g self, key: IdKey, guard: &'g ReadGuard) -> Option<&'g T> {
        let found = self.values.find(key.id, guard)?;
        (found.generation == key.generation).then_some(&found.value)
    }

    /// Finds the value of `key`, to be kept for longer than a [`ReadGuard`] should be.
    #[must_use]
    pub fn get(&self, key: IdKey) -> Option<Arc<Keyed<T>>> {
        self.values.get(key.id).filter(|found| found.generation == key.generation)
    }

    /// Removes the value of `key`, if it has not been, and frees its id.
    pub fn remove(&self, key: IdKey) -> Option<Arc<Keyed<T>>> {
        let guard = pin_to_change();
        let mut locked = self.values.lock(&guard);
        if locked.find(key.id)?.generation != key.generation {
            return None;
        }
        locked.remove(key.id).ok().flatten()
    }

    /// Visits all values, from the lowest id to the highest.
    pub fn iter<'g>(&'g self, guard: &'g ReadGuard) -> impl Iterator<Item = (IdKey, &'g T)> {
        self.values.iter(guard).map(|(id, found)| {
            let key = IdKey { id, generation: found.generation };
            (key, &found.value)
        })
    }

    /// How many values there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.values.len()
    }

    /// Whether there is no value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

impl<T: Send + Sync + 'static> Default for KeyedIdr<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for KeyedIdr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedIdr").finish_non_exhaustive()
    }
}
