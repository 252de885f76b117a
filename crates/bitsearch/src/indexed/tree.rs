//! The runs of clear bits in blocks of a bitmap, and in pairs of blocks, up to the whole of it.

use alloc::vec::Vec;

use crate::area;
use crate::backward::last_bit_range;
use crate::bits::WORD_BITS;
use crate::forward::next_bit;

/// How many words a leaf of the tree stands for.
const BLOCK_WORDS: usize = 64;

const BLOCK_BITS: usize = BLOCK_WORDS * WORD_BITS;

/// The runs of clear bits in a part of a bitmap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ClearRuns {
    /// How many bits are clear before the first that is set,
    prefix: u32,
    /// behind the last that is set,
    suffix: u32,
    /// and at most between two of them, the former two included.
    longest: u32,
}

impl ClearRuns {
    /// A part that does not exist, or is full.
    const NONE: Self = Self { prefix: 0, suffix: 0, longest: 0 };

    /// Those of some words; every bit counts, also of the last word.
    #[expect(clippy::cast_possible_truncation, reason = "a block has far fewer bits")]
    fn of(words: &[u64]) -> Self {
        let bits = words.len() * WORD_BITS;
        let Some(first) = next_bit(words, bits, 0) else {
            return Self { prefix: bits as u32, suffix: bits as u32, longest: bits as u32 };
        };
        let last = last_bit_range(words, first, bits).unwrap_or(first);
        let (prefix, suffix) = (first, bits - 1 - last);
        let mut longest = prefix.max(suffix);
        // From one run to the next that could be longer.
        let mut place = first + 1;
        while let Some(longer) = area::next_zero_area(words, last, place, longest + 1) {
            let end = next_bit(words, bits, longer).unwrap_or(bits);
            (longest, place) = (end - longer, end);
        }
        Self { prefix: prefix as u32, suffix: suffix as u32, longest: longest as u32 }
    }

    /// Those of two neighbours of `bits` each.
    fn joined(left: Self, right: Self, bits: u32) -> Self {
        // Only the whole of the largest map has a bit too many, and no search asks for the whole.
        let [prefix, suffix, middle] =
            [(bits, right.prefix), (bits, left.suffix), (left.suffix, right.prefix)]
                .map(|(left, right)| left.saturating_add(right));
        Self {
            prefix: if left.prefix == bits { prefix } else { left.prefix },
            suffix: if right.suffix == bits { suffix } else { right.suffix },
            longest: left.longest.max(right.longest).max(middle),
        }
    }
}

/// Runs by parts; node 1 is the whole, and nodes `2 * n` and `2 * n + 1` are the halves of node `n`.
#[derive(Clone, Debug)]
pub(super) struct RunTree {
    nodes: Vec<ClearRuns>,
    /// How many leaves there are, those included that make it a power of two.
    leaves: usize,
    /// The blocks that changed since they were looked at, as a bitmap,
    is_marked: Vec<u64>,
    /// and as nodes.
    marked: Vec<usize>,
}

impl RunTree {
    /// Makes a tree for a bitmap, of which nothing is known.
    pub(super) fn new(words: usize) -> Self {
        let blocks = words.div_ceil(BLOCK_WORDS);
        let leaves = blocks.next_power_of_two();
        Self {
            nodes: alloc::vec![ClearRuns::NONE; 2 * leaves],
            leaves,
            is_marked: alloc::vec![u64::MAX; blocks.div_ceil(WORD_BITS)],
            marked: (leaves..leaves + blocks).collect(),
        }
    }

    /// Notes that a word has changed.
    pub(super) fn mark(&mut self, word: usize) {
        let block = word / BLOCK_WORDS;
        let (marks, mark) = (&mut self.is_marked[block / WORD_BITS], 1 << (block % WORD_BITS));
        if *marks & mark == 0 {
            *marks |= mark;
            self.marked.push(self.leaves + block);
        }
    }

    /// Looks again at what has changed.
    pub(super) fn refresh(&mut self, words: &[u64]) {
        let Self { nodes, leaves, is_marked, marked } = self;
        marked.sort_unstable();
        for node in &*marked {
            let block = node - *leaves;
            let first = block * BLOCK_WORDS;
            let end = words.len().min(first + BLOCK_WORDS);
            nodes[*node] = ClearRuns::of(&words[first..end]);
            is_marked[block / WORD_BITS] &= !(1 << (block % WORD_BITS));
        }
        let mut bits = BLOCK_BITS;
        while marked.first().is_some_and(|node| *node > 1) {
            marked.iter_mut().for_each(|node| *node /= 2);
            marked.dedup();
            for node in &*marked {
                let bits = u32::try_from(bits).unwrap_or(u32::MAX);
                nodes[*node] = ClearRuns::joined(nodes[2 * node], nodes[2 * node + 1], bits);
            }
            bits *= 2;
        }
        marked.clear();
    }

    /// The lowest place in `start..size` from which `len` bits are clear, in a map that has not
    /// changed since the tree was refreshed.
    pub(super) fn next_run(
        &self,
        words: &[u64],
        size: usize,
        start: usize,
        len: usize,
    ) -> Option<usize> {
        let is_within = |place: &usize| place.checked_add(len).is_some_and(|end| end <= size);
        if !is_within(&start) {
            return None;
        }
        let block = start / BLOCK_BITS;
        let block_end = size.min((block + 1) * BLOCK_BITS);
        if let Some(place) = area::next_zero_area(words, block_end, start, len) {
            return Some(place);
        }
        // Where the run begins that reaches the end of what has been looked at.
        let mut run = last_bit_range(words, start, block_end).map_or(start, |bit| bit + 1);
        let mut node = self.leaves + block;
        let mut bits = BLOCK_BITS;
        // Up to the next part on the right, and into it if there is room.
        loop {
            while node % 2 == 1 {
                node /= 2;
                bits *= 2;
                if node <= 1 {
                    return None;
                }
            }
            node += 1;
            let first = (node - self.leaves_at(bits)) * bits;
            let runs = self.nodes[node];
            if first - run + runs.prefix as usize >= len {
                return Some(run).filter(is_within);
            }
            if runs.longest as usize >= len {
                return self.first_run(words, node, bits, len).filter(is_within);
            }
            if runs.suffix as usize != bits {
                run = first + bits - runs.suffix as usize;
            }
        }
    }

    /// The lowest run within a part that has one of `len`.
    fn first_run(&self, words: &[u64], node: usize, bits: usize, len: usize) -> Option<usize> {
        let (mut node, mut bits) = (node, bits);
        while bits > BLOCK_BITS {
            bits /= 2;
            let (left, right) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
            if left.longest as usize >= len {
                node *= 2;
            } else if (left.suffix + right.prefix) as usize >= len {
                let middle = (2 * node + 1 - self.leaves_at(bits)) * bits;
                return Some(middle - left.suffix as usize);
            } else {
                node = 2 * node + 1;
            }
        }
        let first = (node - self.leaves) * BLOCK_BITS;
        area::next_zero_area(words, first + bits, first, len)
    }

    /// The first node of the level whose nodes stand for `bits`.
    fn leaves_at(&self, bits: usize) -> usize {
        self.leaves * BLOCK_BITS / bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Full words with gaps of all lengths, some over the borders of blocks, and less and less often.
    fn gaps(words: usize) -> Vec<u64> {
        let mut map = alloc::vec![u64::MAX; words];
        let mut place = 100;
        for gap in 1.. {
            let end = place + gap * gap % 5000 + 1;
            if end > words * WORD_BITS {
                return map;
            }
            (place..end).for_each(|bit| map[bit / WORD_BITS] &= !(1 << (bit % WORD_BITS)));
            place = end + gap * 97 % 9000 + 1;
        }
        map
    }

    /// The bitmap corrects a tree that promises too much, so this asks the tree itself.
    #[test]
    fn a_tree_leads_to_the_lowest_run() {
        let step = if cfg!(miri) { 20_011 } else { 997 };
        for words in [1, 63, 64, 65, 640, 1111] {
            let map = gaps(words);
            let size = words * WORD_BITS - 3;
            let mut tree = RunTree::new(words);
            tree.refresh(&map);
            for start in (0..size).step_by(step) {
                for len in (1..40).chain((40..5200).step_by(119)) {
                    let found = tree.next_run(&map, size, start, len);
                    let expected = area::next_zero_area(&map, size, start, len);
                    assert_eq!(found, expected, "{words} words, {len} from {start}");
                }
            }
        }
    }
}
