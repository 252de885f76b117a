//! A radix tree of ids, changed by one writer and read by many.
//!
//! A node has a place for each of 128 values or children, and two masks beside them. `taken` is
//! the writer's: which ids are allocated, and which children have no free id. `present` is for
//! readers, who otherwise would look into every place: where there is a value, or a child. No
//! reader trusts a mask: a place may have been emptied since.

use alloc::sync::Arc;
#[cfg(not(loom))]
use core::sync::atomic::{AtomicU64, Ordering};

#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, Ordering};

use crate::rcu::{Rcu, ReadGuard};

/// How many bits of an id a node decodes. With eight, maps of 16,384 to 65,536 ids would have a level less, and those of
/// a hundred, or of ids far apart, twice the memory. Few for the model checker, which counts every place.
pub(crate) const NODE_BITS: u32 = if cfg!(loom) { 1 } else { 7 };

/// How many places a node has.
const WIDTH: usize = 1 << NODE_BITS;

/// A node, and with it all below.
pub(crate) struct TreeNode<T: Send + Sync + 'static> {
    /// 0 for a leaf.
    level: u32,
    taken: Mask,
    present: Mask,
    places: TreePlaces<T>,
}

enum TreePlaces<T: Send + Sync + 'static> {
    Values([Rcu<T>; WIDTH]),
    Children([Rcu<TreeNode<T>>; WIDTH]),
}

/// What a removal found out.
pub(crate) struct Removed<T> {
    /// What had been stored, if anything.
    pub(crate) value: Option<Arc<T>>,
    /// Whether that was the last id of its leaf.
    pub(crate) left_leaf_empty: bool,
}

/// A free id in a leaf, which is the `nth` child of its parent.
struct FreePlace<'g, T: Send + Sync + 'static> {
    id: u32,
    leaf: &'g TreeNode<T>,
    parent: &'g TreeNode<T>,
    nth: usize,
}

impl<T: Send + Sync + 'static> TreeNode<T> {
    /// Makes an empty node.
    pub(crate) fn new(level: u32) -> Self {
        let places = match level {
            0 => TreePlaces::Values(core::array::from_fn(|_| Rcu::empty())),
            _ => TreePlaces::Children(core::array::from_fn(|_| Rcu::empty())),
        };
        Self { level, taken: Mask::new(), present: Mask::new(), places }
    }

    /// Makes a root above the present one.
    pub(crate) fn above(root: Arc<Self>) -> Self {
        let node = Self::new(root.level + 1);
        if let TreePlaces::Children(children) = &node.places {
            if root.taken.is_full() {
                node.taken.set(0);
            }
            node.present.set(0);
            children[0].swap(Some(root));
        }
        node
    }

    /// The only child, if it could be the root instead of this one.
    pub(crate) fn below(&self, guard: &ReadGuard) -> Option<Arc<Self>> {
        let TreePlaces::Children(children) = &self.places else { return None };
        if self.present.next_set(1).is_some() { None } else { children[0].share(guard) }
    }

    /// Whether this node, as the root, reaches `id`.
    pub(crate) fn reaches(&self, id: u32) -> bool {
        u64::from(id) < self.span()
    }

    /// How many ids the node reaches.
    pub(crate) fn span(&self) -> u64 {
        1 << (NODE_BITS * (self.level + 1))
    }

    /// Finds the value of `id`; the node must be the root.
    #[inline]
    pub(crate) fn find<'g>(&'g self, id: u32, guard: &'g ReadGuard) -> Option<&'g T> {
        let (leaf, index) = self.leaf_of(id, guard)?;
        leaf.value(index, guard)
    }

    /// Finds the value of `id`, with a count of the caller's own.
    pub(crate) fn share(&self, id: u32, guard: &ReadGuard) -> Option<Arc<T>> {
        let (leaf, index) = self.leaf_of(id, guard)?;
        let TreePlaces::Values(values) = &leaf.places else { return None };
        values[index].share(guard)
    }

    /// Whether `id` is allocated, with a value or without.
    pub(crate) fn is_taken(&self, id: u32, guard: &ReadGuard) -> bool {
        self.leaf_of(id, guard).is_some_and(|(leaf, index)| leaf.taken.contains(index))
    }

    /// Puts a value to an id that is allocated; `Err` gives it back if it is not.
    pub(crate) fn replace(
        &self,
        id: u32,
        value: Arc<T>,
        guard: &ReadGuard,
    ) -> Result<Option<Arc<T>>, Arc<T>> {
        let Some((leaf, index)) = self.leaf_of(id, guard) else { return Err(value) };
        leaf.replace_in_leaf(index, value)
    }

    /// The same in a leaf.
    #[inline]
    pub(crate) fn replace_in_leaf(
        &self,
        id: usize,
        value: Arc<T>,
    ) -> Result<Option<Arc<T>>, Arc<T>> {
        let TreePlaces::Values(values) = &self.places else { return Err(value) };
        let index = id % WIDTH;
        if !self.taken.contains(index) {
            return Err(value);
        }
        let old = values[index].replace(value);
        self.present.set(index);
        Ok(old)
    }

    /// Allocates the lowest free id from `start` to `last` for the value, if there is one; the node must be the root.
    /// Returns the leaf, too.
    #[inline]
    pub(crate) fn alloc<'g>(
        &'g self,
        start: u32,
        last: u32,
        value: &mut Option<Arc<T>>,
        guard: &'g ReadGuard,
    ) -> Option<(u32, &'g Self)> {
        match &self.places {
            TreePlaces::Values(_) => self.alloc_in_leaf(start, last, value),
            TreePlaces::Children(_) => self.alloc_nearby(start, last, value, guard),
        }
    }

    /// The same in a leaf; ids count from its first.
    #[inline]
    fn alloc_in_leaf(
        &self,
        start: u32,
        last: u32,
        value: &mut Option<Arc<T>>,
    ) -> Option<(u32, &Self)> {
        let index = self.taken.next_clear(start as usize % WIDTH)?;
        let id = number(index);
        if id > last {
            return None;
        }
        self.take(index, value);
        Some((id, self))
    }

    /// The same from a root that is no leaf.
    #[inline(never)]
    fn alloc_nearby<'g>(
        &'g self,
        start: u32,
        last: u32,
        value: &mut Option<Arc<T>>,
        guard: &'g ReadGuard,
    ) -> Option<(u32, &'g Self)> {
        let Some(FreePlace { id, leaf, parent, nth }) = self.straight_down(start, guard) else {
            return self.alloc_below(start, last, value, guard);
        };
        if id > last {
            return None;
        }
        leaf.take(id as usize % WIDTH, value);
        if leaf.taken.is_full() {
            parent.taken.set(nth);
            if parent.taken.is_full() {
                self.note_full(id, guard);
            }
        }
        Some((id, leaf))
    }

    /// The lowest free id from `start` on, if it is in the first leaf that may have one, and that is there.
    #[inline]
    fn straight_down<'g>(&'g self, start: u32, guard: &'g ReadGuard) -> Option<FreePlace<'g, T>> {
        let (mut leaf, mut shift, mut lowest) = (self, self.shift(), start);
        let (mut parent, mut nth) = (self, 0);
        while let TreePlaces::Children(children) = &leaf.places {
            let first = (lowest >> shift) as usize % WIDTH;
            nth = leaf.taken.next_clear(first)?;
            if nth != first {
                // The highest node has places for more ids than there are.
                let child = (u64::from(lowest) >> shift) + u64::from(number(nth - first));
                lowest = u32::try_from(child << shift).ok()?;
            }
            parent = leaf;
            leaf = children[nth].load(guard)?;
            shift -= NODE_BITS;
        }
        let index = leaf.taken.next_clear(lowest as usize % WIDTH)?;
        Some(FreePlace { id: lowest & !(number(WIDTH) - 1) | number(index), leaf, parent, nth })
    }

    /// Takes an id of a leaf, which is free.
    #[inline]
    fn take(&self, index: usize, value: &mut Option<Arc<T>>) {
        let TreePlaces::Values(values) = &self.places else { return };
        let (word, bit) = (index / 64, bit(index));
        // Without one, the id is taken for a value that comes later.
        if let Some(value) = value.take() {
            values[index].fill(value);
            self.present.write(word, self.present.word(word) | bit);
        }
        self.taken.write(word, self.taken.word(word) | bit);
    }

    /// Notes that the leaf of `id` is full, and what is full above; returns whether the node is.
    #[cold]
    #[inline(never)]
    fn note_full(&self, id: u32, guard: &ReadGuard) -> bool {
        if let TreePlaces::Children(children) = &self.places {
            let index = self.index(id);
            if children[index].load(guard).is_some_and(|child| child.note_full(id, guard)) {
                self.taken.set(index);
            }
        }
        self.taken.is_full()
    }

    /// Allocates the lowest free id from `start` to `last`, wherever it is; all count from the node's first.
    #[cold]
    #[inline(never)]
    fn alloc_below<'g>(
        &'g self,
        start: u32,
        last: u32,
        value: &mut Option<Arc<T>>,
        guard: &'g ReadGuard,
    ) -> Option<(u32, &'g Self)> {
        let TreePlaces::Children(children) = &self.places else {
            return self.alloc_in_leaf(start, last, value);
        };
        let first = self.index(start);
        let mut index = self.taken.next_clear(first)?;
        let shift = self.shift();
        loop {
            // The highest node has places for more ids than there are.
            let base = u32::try_from(u64::from(number(index)) << shift).ok()?;
            let last_below = last.checked_sub(base)?;
            let start_below = if index == first { start & ((1 << shift) - 1) } else { 0 };
            if start_below > last_below {
                return None;
            }
            if children[index].load(guard).is_none() {
                self.make_child(index);
            }
            let child = children[index].load(guard)?;
            // At most the first child may be without a free id from its start on.
            if let Some((id, leaf)) = child.alloc_below(start_below, last_below, value, guard) {
                if child.taken.is_full() {
                    self.taken.set(index);
                }
                return Some((base | id, leaf));
            }
            index = self.taken.next_clear(index + 1)?;
        }
    }

    /// Puts an empty child where there is none.
    #[cold]
    #[inline(never)]
    fn make_child(&self, index: usize) {
        let TreePlaces::Children(children) = &self.places else { return };
        children[index].swap(Some(Arc::new(Self::new(self.level - 1))));
        self.present.set(index);
    }

    /// Frees `id`; `None` if it is free. The node must be the root.
    #[inline]
    pub(crate) fn remove(&self, id: u32, guard: &ReadGuard) -> Option<Removed<T>> {
        if !self.reaches(id) {
            return None;
        }
        let (mut leaf, mut shift) = (self, self.shift());
        while let TreePlaces::Children(children) = &leaf.places {
            let index = (id >> shift) as usize % WIDTH;
            let child = children[index].load(guard)?;
            // If the id is free, this says so already.
            leaf.taken.clear(index);
            leaf = child;
            shift -= NODE_BITS;
        }
        let TreePlaces::Values(values) = &leaf.places else { return None };
        let index = id as usize % WIDTH;
        let (word, bit) = (index / 64, bit(index));
        let taken = leaf.taken.word(word);
        if taken & bit == 0 {
            return None;
        }
        leaf.taken.write(word, taken & !bit);
        leaf.present.write(word, leaf.present.word(word) & !bit);
        let value = values[index].swap(None);
        Some(Removed { value, left_leaf_empty: taken == bit && leaf.taken.is_empty() })
    }

    /// Drops the empty nodes on the way to `id`, and returns whether the node itself is.
    pub(crate) fn prune(&self, id: u32, guard: &ReadGuard) -> bool {
        let TreePlaces::Children(children) = &self.places else { return self.taken.is_empty() };
        let index = self.index(id);
        if children[index].load(guard).is_some_and(|child| child.prune(id, guard)) {
            self.present.clear(index);
            children[index].swap(None);
        }
        self.present.is_empty()
    }

    /// The first leaf that has a value from `start` on, and its first id; both ids count from the
    /// node's first.
    pub(crate) fn next_leaf<'g>(
        &'g self,
        start: u32,
        guard: &'g ReadGuard,
    ) -> Option<(u32, &'g Self)> {
        let shift = self.shift();
        let first = self.index(start);
        let mut next = self.present.next_set(first);
        let TreePlaces::Children(children) = &self.places else { return next.map(|_| (0, self)) };
        while let Some(index) = next {
            let start_below = if index == first { start & ((1 << shift) - 1) } else { 0 };
            let child = children[index].load(guard);
            if let Some((base, leaf)) = child.and_then(|child| child.next_leaf(start_below, guard))
            {
                return Some(((number(index) << shift) | base, leaf));
            }
            next = self.present.next_set(index + 1);
        }
        None
    }

    /// Where a leaf has values, as it says in its `word`th word.
    #[inline]
    pub(crate) fn values_in(&self, word: u32) -> u64 {
        self.present.word(word as usize)
    }

    /// A leaf's value.
    #[inline]
    pub(crate) fn value<'g>(&'g self, index: usize, guard: &'g ReadGuard) -> Option<&'g T> {
        let TreePlaces::Values(values) = &self.places else { return None };
        values[index % WIDTH].load(guard)
    }

    /// The leaf in which `id` is, and where; the node must be the root.
    #[inline]
    fn leaf_of<'g>(&'g self, id: u32, guard: &'g ReadGuard) -> Option<(&'g Self, usize)> {
        if !self.reaches(id) {
            return None;
        }
        let (mut node, mut shift) = (self, self.shift());
        while let TreePlaces::Children(children) = &node.places {
            node = children[(id >> shift) as usize % WIDTH].load(guard)?;
            shift -= NODE_BITS;
        }
        Some((node, id as usize % WIDTH))
    }

    fn shift(&self) -> u32 {
        NODE_BITS * self.level
    }

    fn index(&self, id: u32) -> usize {
        (id >> self.shift()) as usize % WIDTH
    }
}

/// An index as part of an id.
#[expect(clippy::cast_possible_truncation, reason = "an index is below the width of a node")]
fn number(index: usize) -> u32 {
    index as u32
}

/// The words of a mask.
pub(crate) const WORDS: usize = WIDTH.div_ceil(64);

/// A bit for each place of a node. Only the one writer changes it.
struct Mask([AtomicU64; WORDS]);

impl Mask {
    /// A word whose places are all set.
    const FULL: u64 = if WIDTH < 64 { (1 << WIDTH) - 1 } else { u64::MAX };

    #[inline]
    fn new() -> Self {
        Self(core::array::from_fn(|_| AtomicU64::new(0)))
    }

    #[inline]
    fn word(&self, index: usize) -> u64 {
        // A hint to readers; values are published by their places.
        self.0[index].load(Ordering::Relaxed)
    }

    #[inline]
    fn contains(&self, index: usize) -> bool {
        self.word(index / 64) & bit(index) != 0
    }

    #[inline]
    fn set(&self, index: usize) {
        self.change(index / 64, self.word(index / 64) | bit(index));
    }

    #[inline]
    fn clear(&self, index: usize) {
        self.change(index / 64, self.word(index / 64) & !bit(index));
    }

    /// Writes a word that differs.
    #[inline]
    fn write(&self, index: usize, word: u64) {
        self.0[index].store(word, Ordering::Relaxed);
    }

    /// Writes what differs: even the same word would take its cache line away from all readers.
    #[inline]
    fn change(&self, index: usize, word: u64) {
        if self.word(index) != word {
            self.0[index].store(word, Ordering::Relaxed);
        }
    }

    #[inline]
    fn is_full(&self) -> bool {
        (0..WORDS).all(|index| self.word(index) == Self::FULL)
    }

    #[inline]
    fn is_empty(&self) -> bool {
        (0..WORDS).all(|index| self.word(index) == 0)
    }

    #[inline]
    fn next_set(&self, start: usize) -> Option<usize> {
        self.next_difference(start, 0)
    }

    #[inline]
    fn next_clear(&self, start: usize) -> Option<usize> {
        self.next_difference(start, Self::FULL)
    }

    /// The lowest place from `start` on whose bit differs from that of `background`.
    #[inline]
    fn next_difference(&self, start: usize, background: u64) -> Option<usize> {
        let mut from = u64::MAX << (start % 64);
        for index in start / 64..WORDS {
            let word = (self.word(index) ^ background) & from;
            if word != 0 {
                return Some(index * 64 + word.trailing_zeros() as usize);
            }
            from = u64::MAX;
        }
        None
    }
}

fn bit(index: usize) -> u64 {
    1 << (index % 64)
}
