//! Ids in use, as a tree: a node has 64 parts, each a word of 64 ids or a node again.
//!
//! A node has memory for parts up to the highest that was in use since it was empty, and none while it is empty.
//! So no step takes longer than it takes to make and drop 64 parts on each of four levels.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::pool::{AcquireError, FirstIds};

/// How many bits of an id choose a part, and how many choose a bit of a word.
pub(crate) const PART_BITS: u32 = 6;

/// How many parts a node has, and how many bits a word.
const PARTS: u32 = 1 << PART_BITS;

/// A node, and with it all below.
///
/// Its ids are numbered from 0 on. Where there is an argument `shift`, each part has `1 << shift` ids.
#[derive(Clone)]
pub(crate) struct IdNode {
    /// Which parts have no free id.
    full: u64,
    /// Which parts have an id in use.
    in_use: u64,
    parts: NodeParts,
}

/// The parts that there is memory for.
#[derive(Clone)]
enum NodeParts {
    /// Ids, a bit each.
    Words(Vec<u64>),
    Nodes(Vec<Option<BoxedNode>>),
}

/// In a box for which memory can be asked with an answer.
type BoxedNode = Box<[IdNode; 1]>;

impl IdNode {
    /// Makes a node without ids in use, and without memory from the heap.
    pub(crate) const fn new(shift: u32) -> Self {
        let parts = if shift == PART_BITS {
            NodeParts::Words(Vec::new())
        } else {
            NodeParts::Nodes(Vec::new())
        };
        Self { full: 0, in_use: 0, parts }
    }

    fn boxed(shift: u32) -> Result<BoxedNode, AcquireError> {
        let mut node = Vec::new();
        reserve_exact(&mut node, 1)?;
        node.push(Self::new(shift));
        let bytes = size_of::<Self>();
        node.into_boxed_slice().try_into().map_err(|_| AcquireError::NoMemory { bytes })
    }

    /// Makes a node whose first part is `first`, which has parts of `1 << shift` ids.
    ///
    /// # Errors
    ///
    /// [`AcquireError::NoMemory`], and `first` is as it was.
    pub(crate) fn above(first: &mut Self, shift: u32) -> Result<Self, AcquireError> {
        let mut part = Self::boxed(shift)?;
        let mut nodes = Vec::new();
        grow(&mut nodes, 0)?;
        let (full, in_use) = (u64::from(first.is_full()), u64::from(!first.is_empty()));
        core::mem::swap(&mut part[0], first);
        nodes[0] = Some(part);
        Ok(Self { full, in_use, parts: NodeParts::Nodes(nodes) })
    }

    /// Gives up its first part, if that is a node and no other has an id in use.
    pub(crate) fn take_first(&mut self) -> Option<Self> {
        let NodeParts::Nodes(nodes) = &mut self.parts else { return None };
        if self.in_use > 1 {
            return None;
        }
        nodes.first_mut()?.take().map(|first| {
            let [first] = *first;
            first
        })
    }

    /// Puts the first ids into an empty node of words that has memory for them.
    pub(crate) fn set_first(&mut self, few: &FirstIds) {
        let NodeParts::Words(words) = &mut self.parts else { return };
        for (index, (word, few)) in words.iter_mut().zip(few).enumerate() {
            *word = *few;
            self.in_use |= u64::from(*word != 0) << index;
            self.full |= u64::from(*word == u64::MAX) << index;
        }
    }

    /// The first ids.
    pub(crate) fn first_words(&self, shift: u32) -> FirstIds {
        core::array::from_fn(|index| {
            self.word(shift, first_id(PART_BITS, index)).unwrap_or_default()
        })
    }

    /// Whether no id is free.
    const fn is_full(&self) -> bool {
        self.full == u64::MAX
    }

    /// Whether no id is in use.
    const fn is_empty(&self) -> bool {
        self.in_use == 0
    }

    /// Whether `id` is in use.
    pub(crate) fn contains(&self, shift: u32, id: u32) -> bool {
        self.word(shift, id).is_some_and(|word| word & bit(id) != 0)
    }

    /// The word of `id`, if there is memory for it, of a root; none is there for ids that it does not reach.
    fn word(&self, shift: u32, id: u32) -> Option<u64> {
        let (mut node, mut shift) = (self, shift);
        let mut index = (id >> shift) as usize;
        loop {
            match &node.parts {
                NodeParts::Words(words) => return words.get(index).copied(),
                NodeParts::Nodes(nodes) => node = &nodes.get(index)?.as_ref()?[0],
            }
            shift -= PART_BITS;
            index = self::index(shift, id);
        }
    }

    /// The same, to be changed.
    #[inline]
    fn word_mut(&mut self, shift: u32, id: u32) -> Option<&mut u64> {
        let (mut node, mut shift) = (self, shift);
        let mut index = (id >> shift) as usize;
        loop {
            match &mut node.parts {
                NodeParts::Words(words) => return words.get_mut(index),
                NodeParts::Nodes(nodes) => node = &mut nodes.get_mut(index)?.as_mut()?[0],
            }
            shift -= PART_BITS;
            index = self::index(shift, id);
        }
    }

    /// The same, with memory for it.
    fn make_word(&mut self, shift: u32, id: u32) -> Result<&mut u64, AcquireError> {
        let index = index(shift, id);
        match &mut self.parts {
            NodeParts::Words(words) => {
                if index >= words.len() {
                    grow(words, index)?;
                }
                Ok(&mut words[index])
            }
            NodeParts::Nodes(nodes) => {
                let shift = shift - PART_BITS;
                if index >= nodes.len() {
                    grow(nodes, index)?;
                }
                let node = match &mut nodes[index] {
                    Some(node) => node,
                    none => none.insert(Self::boxed(shift)?),
                };
                node[0].make_word(shift, id)
            }
        }
    }

    /// Notes on the way to the word of `id` what became of it. Memory goes that is needed for none of the first
    /// `reserved` ids, and for none in use.
    #[inline(never)]
    fn note(&mut self, shift: u32, id: u32, reserved: u32) {
        let index = index(shift, id);
        let (is_full, is_empty) = match &mut self.parts {
            NodeParts::Words(words) => {
                let word = words.get(index).copied().unwrap_or_default();
                (word == u64::MAX, word == 0)
            }
            NodeParts::Nodes(nodes) => {
                let Some(part) = nodes.get_mut(index) else { return };
                let Some(node) = part else { return };
                let reserved = reserved.saturating_sub(first_id(shift, index));
                node[0].note(shift - PART_BITS, id, reserved);
                let marks = (node[0].is_full(), node[0].is_empty());
                if node[0].is_empty() && reserved == 0 {
                    *part = None;
                }
                marks
            }
        };
        let part = 1 << index;
        self.full = if is_full { self.full | part } else { self.full & !part };
        self.in_use = if is_empty { self.in_use & !part } else { self.in_use | part };
        if self.is_empty() && reserved == 0 {
            match &mut self.parts {
                NodeParts::Words(words) => *words = Vec::new(),
                NodeParts::Nodes(nodes) => *nodes = Vec::new(),
            }
        }
    }

    /// Takes the lowest free id of the word that `start` is in, from there on, if there is memory for that word.
    #[inline]
    pub(crate) fn take_near(&mut self, shift: u32, start: u32) -> Option<u32> {
        let word = self.word_mut(shift, start)?;
        let before = *word;
        let free = !before & u64::MAX << (start % PARTS);
        let lowest = free & free.wrapping_neg();
        if lowest == 0 {
            return None;
        }
        *word |= lowest;
        let id = start - start % PARTS + lowest.trailing_zeros();
        if before == 0 || *word == u64::MAX {
            self.note(shift, id, 0);
        }
        Some(id)
    }

    /// Takes `id`, which is free.
    ///
    /// # Errors
    ///
    /// [`AcquireError::NoMemory`], and no id has been taken.
    pub(crate) fn take(&mut self, shift: u32, id: u32) -> Result<(), AcquireError> {
        *self.make_word(shift, id)? |= bit(id);
        self.note(shift, id, 0);
        Ok(())
    }

    /// Frees `id`, and returns whether it was in use. Memory goes that is needed for none of the first `reserved`
    /// ids, and for none in use.
    #[inline]
    pub(crate) fn free(&mut self, shift: u32, id: u32, reserved: u32) -> bool {
        let Some(word) = self.word_mut(shift, id) else { return false };
        let before = *word;
        *word &= !bit(id);
        if before == u64::MAX || *word == 0 {
            self.note(shift, id, reserved);
        }
        before & bit(id) != 0
    }

    /// The lowest free id at or after `start`.
    pub(crate) fn next_free(&self, shift: u32, start: u32) -> Option<u32> {
        let index = index(shift, start);
        if let Some(id) = self.next_free_in(shift, index, start) {
            return Some(id);
        }
        let index = lowest(!self.full & behind(index))? as usize;
        self.next_free_in(shift, index, 0)
    }

    /// The lowest free id of a part; of `start`, what counts is its place in the part.
    fn next_free_in(&self, shift: u32, index: usize, start: u32) -> Option<u32> {
        let below = match &self.parts {
            NodeParts::Words(words) => {
                let word = words.get(index).copied().unwrap_or_default();
                lowest(!word & u64::MAX << (start % PARTS))?
            }
            NodeParts::Nodes(nodes) => {
                let start = start & ((1 << shift) - 1);
                match nodes.get(index) {
                    Some(Some(node)) => node[0].next_free(shift - PART_BITS, start)?,
                    _ => start,
                }
            }
        };
        Some(first_id(shift, index) | below)
    }

    /// The lowest id in use at or after `start`.
    pub(crate) fn next_used(&self, shift: u32, start: u32) -> Option<u32> {
        let index = index(shift, start);
        if let Some(id) = self.next_used_in(shift, index, start) {
            return Some(id);
        }
        let index = lowest(self.in_use & behind(index))? as usize;
        self.next_used_in(shift, index, 0)
    }

    fn next_used_in(&self, shift: u32, index: usize, start: u32) -> Option<u32> {
        let below = match &self.parts {
            NodeParts::Words(words) => lowest(words.get(index)? & u64::MAX << (start % PARTS))?,
            NodeParts::Nodes(nodes) => {
                let start = start & ((1 << shift) - 1);
                nodes.get(index)?.as_ref()?[0].next_used(shift - PART_BITS, start)?
            }
        };
        Some(first_id(shift, index) | below)
    }

    /// The highest id in use.
    pub(crate) fn last_used(&self, shift: u32) -> Option<u32> {
        let index = self.in_use.checked_ilog2()? as usize;
        let below = match &self.parts {
            NodeParts::Words(words) => words.get(index)?.checked_ilog2()?,
            NodeParts::Nodes(nodes) => {
                nodes.get(index)?.as_ref()?[0].last_used(shift - PART_BITS)?
            }
        };
        Some(first_id(shift, index) | below)
    }

    /// Gets memory for the first `ids`.
    ///
    /// # Errors
    ///
    /// [`AcquireError::NoMemory`], and there may be memory for some.
    pub(crate) fn reserve(&mut self, shift: u32, ids: u32) -> Result<(), AcquireError> {
        // The last word of each node of words, so that the memory of these is made once.
        (0..ids).step_by(1 << (2 * PART_BITS)).try_for_each(|first| {
            let last = (first | ((1 << (2 * PART_BITS)) - 1)).min(ids - 1);
            self.make_word(shift, last).map(|_| ())
        })
    }

    /// How much memory is from the heap, in bytes.
    pub(crate) fn heap_bytes(&self) -> usize {
        match &self.parts {
            NodeParts::Words(words) => words.capacity() * size_of::<u64>(),
            NodeParts::Nodes(nodes) => {
                let below =
                    nodes.iter().flatten().map(|node| size_of::<Self>() + node[0].heap_bytes());
                nodes.capacity() * size_of::<Option<BoxedNode>>() + below.sum::<usize>()
            }
        }
    }
}

/// Makes room for parts up to `index`, and for so many more that this is rare.
#[cold]
#[inline(never)]
fn grow<T: Default>(parts: &mut Vec<T>, index: usize) -> Result<(), AcquireError> {
    let len = (index + 1).next_power_of_two();
    reserve_exact(parts, len - parts.len())?;
    parts.resize_with(len, T::default);
    Ok(())
}

fn reserve_exact<T>(parts: &mut Vec<T>, more: usize) -> Result<(), AcquireError> {
    let bytes = (parts.len() + more) * size_of::<T>();
    parts.try_reserve_exact(more).map_err(|_| AcquireError::NoMemory { bytes })
}

/// The bit of an id in its word.
const fn bit(id: u32) -> u64 {
    1 << (id % PARTS)
}

/// The part in which an id is.
const fn index(shift: u32, id: u32) -> usize {
    (id >> shift & (PARTS - 1)) as usize
}

/// The first id of a part.
#[expect(clippy::cast_possible_truncation, reason = "there are 64 parts")]
const fn first_id(shift: u32, index: usize) -> u32 {
    (index as u32) << shift
}

/// The parts behind one.
const fn behind(index: usize) -> u64 {
    u64::MAX << index << 1
}

/// The lowest bit of some.
const fn lowest(bits: u64) -> Option<u32> {
    if bits == 0 { None } else { Some(bits.trailing_zeros()) }
}
