//! From an integer to a shared value.
//!
//! Ids come lowest first or in a circle. An id may be allocated without a value and get it later:
//! until then no reader finds it and no other caller can have it, so that a value with several ids
//! appears only when it is complete.
//!
//! ```
//! use std::sync::Arc;
//! use idr::{Idr, pin};
//!
//! let idr = Idr::new();
//! let id = idr.alloc(1..=9, None)?;
//! assert_eq!((id, idr.find(id, &pin())), (1, None));
//! idr.replace(id, Arc::new("complete"))?;
//! assert_eq!(idr.find(id, &pin()), Some(&"complete"));
//! assert_eq!(idr.remove(id)?.as_deref(), Some(&"complete"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use alloc::sync::Arc;
use core::fmt;
use core::ops::RangeInclusive;
#[cfg(not(loom))]
use std::sync::MutexGuard;

#[cfg(loom)]
use loom::sync::MutexGuard;

use crate::rcu::{ChangeGuard, Rcu, ReadGuard, pin, pin_to_change};
use crate::tree::{NODE_BITS, TreeNode, WORDS};
use crate::writer_lock::WriterLock;

/// Ids of 32 bits, and what they stand for.
///
/// Lookups and iteration take no lock and wait for no thread; changes wait for each other. A value
/// that is removed lives on until all have finished that might be reading it. Then the thread that
/// removed it drops its last count, in a later change of any map; or any other thread, if that one
/// has ended: `T` must not mind.
///
/// There is no error for want of memory, as [`IdPool`](crate::IdPool) has one: values and nodes are
/// `Arc`s, for which stable Rust has no way to fail, so a heap that is exhausted ends the process.
pub struct Idr<T: Send + Sync + 'static> {
    root: Rcu<TreeNode<T>>,
    writer: CachePadded<WriterLock<WriterState>>,
}

/// A value in cache lines of its own, which processors fetch in pairs: threads that change it do
/// not hold up readers of its neighbours.
#[repr(align(128))]
struct CachePadded<T>(T);

/// What only the writer needs to know.
#[derive(Debug)]
struct WriterState {
    cursor: u32,
    len: u64,
    /// A leaf that may be empty and has been kept: taking and freeing one id over and over must
    /// not make and free its leaf each time. Every other leaf has an id.
    lingering: Option<u32>,
}

impl<T: Send + Sync + 'static> Idr<T> {
    /// Makes a map without ids, and without memory from the heap.
    #[must_use]
    pub fn new() -> Self {
        let writer = WriterState { cursor: 0, len: 0, lingering: None };
        Self { root: Rcu::empty(), writer: CachePadded(WriterLock::new(writer)) }
    }

    /// Finds the value of `id`; `None` if `id` is free or has no value yet.
    #[inline]
    pub fn find<'g>(&'g self, id: u32, guard: &'g ReadGuard) -> Option<&'g T> {
        self.root.load(guard)?.find(id, guard)
    }

    /// Finds the value of `id`, to be kept for longer than a [`ReadGuard`] should be.
    #[must_use]
    pub fn get(&self, id: u32) -> Option<Arc<T>> {
        let guard = pin();
        self.root.load(&guard)?.share(id, &guard)
    }

    /// Finds the lowest id at or after `start` that has a value.
    pub fn get_next<'g>(&'g self, start: u32, guard: &'g ReadGuard) -> Option<(u32, &'g T)> {
        self.iter_from(start, guard).next()
    }

    /// Visits the values of all ids from the lowest to the highest.
    pub fn iter<'g>(&'g self, guard: &'g ReadGuard) -> Iter<'g, T> {
        self.iter_from(0, guard)
    }

    /// Visits the values of the ids from `start` on, from the lowest to the highest.
    ///
    /// A value that is there all the while is visited once; one that comes or goes meanwhile may be visited.
    pub fn iter_from<'g>(&'g self, start: u32, guard: &'g ReadGuard) -> Iter<'g, T> {
        Iter { idr: self, guard, leaf: None, next: Some(start) }
    }

    /// How many ids are allocated, with values or without.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.lock(&pin_to_change()).len()
    }

    /// Whether no id is allocated.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As [`LockedIdr::cursor`].
    #[must_use]
    pub fn cursor(&self) -> u32 {
        self.lock(&pin_to_change()).cursor()
    }

    /// As [`LockedIdr::set_cursor`].
    pub fn set_cursor(&self, id: u32) {
        self.lock(&pin_to_change()).set_cursor(id);
    }

    /// Locks the map against other writers, for several changes at once.
    ///
    /// Pinned before, by [`pin_to_change`], and once for several maps: that may drop values that were removed long
    /// ago, and these may have ids here to free. While a thread has the map locked, it makes changes through that: those of the map itself would wait for
    /// ever, and so would [`len`](Self::len), [`cursor`](Self::cursor) and their kin.
    pub fn lock<'a>(&'a self, guard: &'a ChangeGuard) -> LockedIdr<'a, T> {
        LockedIdr { idr: self, writer: self.writer.0.lock(), guard }
    }

    /// As [`LockedIdr::alloc`].
    ///
    /// # Errors
    ///
    /// [`NoFreeId`] if all of `range` is taken.
    pub fn alloc(
        &self,
        range: RangeInclusive<u32>,
        value: Option<Arc<T>>,
    ) -> Result<u32, NoFreeId> {
        self.lock(&pin_to_change()).alloc(range, value)
    }

    /// As [`LockedIdr::alloc_cyclic`].
    ///
    /// # Errors
    ///
    /// [`NoFreeId`] if all of `range` is taken.
    pub fn alloc_cyclic(
        &self,
        range: RangeInclusive<u32>,
        value: Option<Arc<T>>,
    ) -> Result<u32, NoFreeId> {
        self.lock(&pin_to_change()).alloc_cyclic(range, value)
    }

    /// As [`LockedIdr::replace`].
    ///
    /// # Errors
    ///
    /// [`NotAllocated`] if `id` is free.
    pub fn replace(&self, id: u32, value: Arc<T>) -> Result<Option<Arc<T>>, NotAllocated> {
        self.lock(&pin_to_change()).replace(id, value)
    }

    /// As [`LockedIdr::remove`].
    ///
    /// # Errors
    ///
    /// [`NotAllocated`] if `id` is free.
    pub fn remove(&self, id: u32) -> Result<Option<Arc<T>>, NotAllocated> {
        self.lock(&pin_to_change()).remove(id)
    }
}

impl<T: Send + Sync + 'static> Default for Idr<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for Idr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Idr").finish_non_exhaustive()
    }
}

/// A map that no other writer can change meanwhile; readers do not notice.
pub struct LockedIdr<'a, T: Send + Sync + 'static> {
    idr: &'a Idr<T>,
    writer: MutexGuard<'a, WriterState>,
    guard: &'a ChangeGuard,
}

/// An id that is allocated, and waits for its value.
///
/// Dropped, the id stays allocated.
pub struct ReservedId<'a, T: Send + Sync + 'static> {
    id: u32,
    leaf: &'a TreeNode<T>,
}

impl<T: Send + Sync + 'static> ReservedId<'_, T> {
    /// The id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for ReservedId<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReservedId").field(&self.id).finish()
    }
}

impl<'a, T: Send + Sync + 'static> LockedIdr<'a, T> {
    /// Allocates the lowest free id of `range`, for `value` or for one that comes later.
    ///
    /// # Errors
    ///
    /// [`NoFreeId`] if all of `range` is taken; an empty one always is.
    pub fn alloc(
        &mut self,
        range: RangeInclusive<u32>,
        value: Option<Arc<T>>,
    ) -> Result<u32, NoFreeId> {
        let (first, last) = range.into_inner();
        let allocated = self.alloc_lowest(first, last, &mut { value });
        allocated.map(|allocated| allocated.id).ok_or(NoFreeId { first, last })
    }

    /// As [`alloc`](Self::alloc), for a value that comes later: it need not look for the id again.
    ///
    /// # Errors
    ///
    /// [`NoFreeId`] if all of `range` is taken; an empty one always is.
    pub fn reserve(&mut self, range: RangeInclusive<u32>) -> Result<ReservedId<'a, T>, NoFreeId> {
        let (first, last) = range.into_inner();
        self.alloc_lowest(first, last, &mut None).ok_or(NoFreeId { first, last })
    }

    /// Allocates the first free id of `range` from the cursor on, or else the lowest, and puts the
    /// cursor behind it: an id that is freed comes again only when all others have had their turn.
    ///
    /// # Errors
    ///
    /// [`NoFreeId`] if all of `range` is taken; the cursor stays.
    pub fn alloc_cyclic(
        &mut self,
        range: RangeInclusive<u32>,
        value: Option<Arc<T>>,
    ) -> Result<u32, NoFreeId> {
        self.alloc_next(range, value).map(|allocated| allocated.id)
    }

    /// As [`alloc_cyclic`](Self::alloc_cyclic), for a value that comes later: it need not look for the id again.
    ///
    /// # Errors
    ///
    /// [`NoFreeId`] if all of `range` is taken; the cursor stays.
    pub fn reserve_cyclic(
        &mut self,
        range: RangeInclusive<u32>,
    ) -> Result<ReservedId<'a, T>, NoFreeId> {
        self.alloc_next(range, None)
    }

    fn alloc_next(
        &mut self,
        range: RangeInclusive<u32>,
        mut value: Option<Arc<T>>,
    ) -> Result<ReservedId<'a, T>, NoFreeId> {
        let (first, last) = range.into_inner();
        let start = first.max(self.writer.cursor);
        let free = self
            .alloc_lowest(start, last, &mut value)
            .or_else(|| self.alloc_lowest(first, last, &mut value))
            .ok_or(NoFreeId { first, last })?;
        self.writer.cursor = free.id.wrapping_add(1);
        Ok(free)
    }

    /// Gives `value` to an id of this map that was reserved since it has been locked.
    ///
    /// # Errors
    ///
    /// [`NotAllocated`] if the id has been freed since.
    pub fn fill(
        &mut self,
        reserved: &ReservedId<'a, T>,
        value: Arc<T>,
    ) -> Result<(), NotAllocated> {
        let ReservedId { id, leaf } = *reserved;
        let filled = leaf.replace_in_leaf(id as usize, value);
        filled.map(|_| ()).map_err(|_| NotAllocated { id })
    }

    /// Gives `value` to an id that is allocated, and returns what it had.
    ///
    /// # Errors
    ///
    /// [`NotAllocated`] if `id` is free.
    pub fn replace(&mut self, id: u32, value: Arc<T>) -> Result<Option<Arc<T>>, NotAllocated> {
        let root = self.idr.root.load(self.guard).ok_or(NotAllocated { id })?;
        root.replace(id, value, self.guard).map_err(|_| NotAllocated { id })
    }

    /// Frees `id`, and returns what it had.
    ///
    /// # Errors
    ///
    /// [`NotAllocated`] if `id` is free.
    pub fn remove(&mut self, id: u32) -> Result<Option<Arc<T>>, NotAllocated> {
        let root = self.idr.root.load(self.guard);
        let removed = root.and_then(|root| root.remove(id, self.guard));
        let removed = removed.ok_or(NotAllocated { id })?;
        self.writer.len -= 1;
        if removed.left_leaf_empty {
            let leaf = id >> NODE_BITS;
            let lingering = self.writer.lingering.replace(leaf).filter(|other| *other != leaf);
            if let Some(other) = lingering {
                self.prune(other << NODE_BITS);
            }
        }
        Ok(removed.value)
    }

    /// Frees all ids; the cursor stays.
    pub fn clear(&mut self) {
        self.idr.root.swap(None);
        self.writer.len = 0;
        self.writer.lingering = None;
    }

    /// Finds the value of `id`.
    #[must_use]
    pub fn find(&self, id: u32) -> Option<&T> {
        self.idr.find(id, self.guard)
    }

    /// Whether `id` is allocated, with a value or without.
    #[must_use]
    pub fn is_allocated(&self, id: u32) -> bool {
        self.idr.root.load(self.guard).is_some_and(|root| root.is_taken(id, self.guard))
    }

    /// How many ids are allocated.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.writer.len
    }

    /// Whether no id is allocated.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// From where the next id of [`Self::alloc_cyclic`] is looked for.
    #[must_use]
    pub fn cursor(&self) -> u32 {
        self.writer.cursor
    }

    /// Moves the cursor.
    pub fn set_cursor(&mut self, id: u32) {
        self.writer.cursor = id;
    }

    fn alloc_lowest(
        &mut self,
        first: u32,
        last: u32,
        value: &mut Option<Arc<T>>,
    ) -> Option<ReservedId<'a, T>> {
        let (root, guard) = (&self.idr.root, self.guard);
        let alloc_from = |first: u32, value: &mut _| {
            let root = root.load(guard).filter(|root| root.reaches(first))?;
            root.alloc(first, last, value, guard)
        };
        let mut allocated = alloc_from(first, value);
        if allocated.is_none() {
            // All that the root reaches is taken, from the first on.
            let span = root.load(guard).map_or(0, TreeNode::span);
            let lowest = first.max(u32::try_from(span).ok()?);
            if lowest <= last {
                self.grow(lowest);
                allocated = alloc_from(lowest, value);
            }
        }
        let (id, leaf) = allocated?;
        self.writer.len += 1;
        Some(ReservedId { id, leaf })
    }

    /// Makes the tree as high as it must be to reach `id`, which it does not so far.
    fn grow(&self, id: u32) {
        let (root, guard) = (&self.idr.root, self.guard);
        if root.load(guard).is_none() {
            root.swap(Some(Arc::new(TreeNode::new(0))));
        }
        while root.load(guard).is_some_and(|lower| !lower.reaches(id)) {
            let higher = root.share(guard).map(|lower| Arc::new(TreeNode::above(lower)));
            root.swap(higher);
        }
    }

    /// Lets go of the nodes on the way to `id` that are empty, and of roots that only lead to one.
    fn prune(&self, id: u32) {
        let (root, guard) = (&self.idr.root, self.guard);
        if root.load(guard).is_some_and(|root| root.reaches(id) && root.prune(id, guard)) {
            root.swap(None);
        }
        while let Some(lower) = root.load(guard).and_then(|root| root.below(guard)) {
            root.swap(Some(lower));
        }
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for LockedIdr<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockedIdr")
            .field("len", &self.len())
            .field("cursor", &self.cursor())
            .finish_non_exhaustive()
    }
}

/// The ids of a map and their values, in order.
///
/// Goes from leaf to leaf, and through a leaf by its mask.
pub struct Iter<'g, T: Send + Sync + 'static> {
    idr: &'g Idr<T>,
    guard: &'g ReadGuard,
    leaf: Option<Leaf<'g, T>>,
    /// Where the next leaf is looked for.
    next: Option<u32>,
}

/// The leaf that is being visited.
struct Leaf<'g, T: Send + Sync + 'static> {
    node: &'g TreeNode<T>,
    base: u32,
    word: u32,
    /// The places of the word that are still to be visited.
    rest: u64,
}

impl<'g, T: Send + Sync + 'static> Iter<'g, T> {
    fn next_leaf(&mut self) -> Option<Leaf<'g, T>> {
        let start = self.next?;
        let root = self.idr.root.load(self.guard)?;
        if !root.reaches(start) {
            return None;
        }
        let (base, node) = root.next_leaf(start, self.guard)?;
        self.next = base.checked_add(1 << NODE_BITS);
        let first = start.saturating_sub(base);
        let word = first / u64::BITS;
        let rest = node.values_in(word) & (u64::MAX << (first % u64::BITS));
        Some(Leaf { node, base, word, rest })
    }
}

impl<'g, T: Send + Sync + 'static> Iterator for Iter<'g, T> {
    type Item = (u32, &'g T);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some(leaf) = &mut self.leaf else {
                self.leaf = Some(self.next_leaf()?);
                continue;
            };
            while leaf.rest == 0 {
                leaf.word += 1;
                if leaf.word as usize >= WORDS {
                    break;
                }
                leaf.rest = leaf.node.values_in(leaf.word);
            }
            if leaf.rest == 0 {
                self.leaf = None;
                continue;
            }
            let index = leaf.word * u64::BITS + leaf.rest.trailing_zeros();
            leaf.rest &= leaf.rest - 1;
            // Its value may have been removed since the mask was read.
            if let Some(value) = leaf.node.value(index as usize, self.guard) {
                return Some((leaf.base | index, value));
            }
        }
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for Iter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").field("next", &self.next).finish_non_exhaustive()
    }
}

/// All ids of a range are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no id is free from {first} to {last}")]
pub struct NoFreeId {
    /// The lowest id that would do.
    pub first: u32,
    /// The highest.
    pub last: u32,
}

/// An id that should be allocated is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("id {id} is not allocated")]
pub struct NotAllocated {
    /// The id.
    pub id: u32,
}

#[cfg(all(test, loom))]
mod interleavings;
#[cfg(all(test, not(loom)))]
mod tests;
