//! Runs of some length: each has a clear lane, and clear lanes are rare.
//!
//! A lane is `L` neighbouring bits at a multiple of `L`. A run of `2 * L - 1` bits contains one,
//! wherever it begins.

use crate::area::window::Runs;
use crate::backward::last_bit_range;
use crate::bits::WORD_BITS;
use crate::cpu::{BLOCK, Cpu, lowest_of_lanes};

/// A place that no run from `start` on begins before; runs are of `2 * L - 1` bits at least.
#[inline(always)]
pub(super) fn skip<const L: usize>(cpu: impl Cpu, runs: Runs<'_>, start: usize) -> Option<usize> {
    let words = &runs.words[..runs.size.div_ceil(WORD_BITS)];
    let lane = next_clear_lane::<L>(cpu, words, start)?;
    // No lane before it is clear, so the run can only begin after the last set bit.
    Some(last_bit_range(words, start, lane).map_or(start, |bit| bit + 1))
}

/// The lowest clear lane from `start` on.
#[inline(always)]
fn next_clear_lane<const L: usize>(cpu: impl Cpu, words: &[u64], start: usize) -> Option<usize> {
    let start = start.next_multiple_of(L);
    let first = start / WORD_BITS;
    let in_first = clear_lanes::<L>(*words.get(first)?) >> (start % WORD_BITS);
    if in_first != 0 {
        return Some(start + in_first.trailing_zeros() as usize);
    }
    let rest = &words[first + 1..];
    // A register that is loaded from two cache lines takes longer.
    let (head, rest) = rest.split_at(rest.as_ptr().align_offset(32).min(rest.len()));
    let mut index = first + 1;
    for word in head {
        if let Some(lane) = clear_lane_in::<L>(index, *word) {
            return Some(lane);
        }
        index += 1;
    }
    for block in rest.as_chunks::<BLOCK>().0 {
        if cpu.has_clear_lane::<L>(block) {
            break;
        }
        index += BLOCK;
    }
    // The last words make a block with some that were looked at before.
    if let Some(last) = rest.last_chunk()
        && words.len() - index < BLOCK
        && !cpu.has_clear_lane::<L>(last)
    {
        return None;
    }
    (index..words.len()).find_map(|index| clear_lane_in::<L>(index, words[index]))
}

/// The lowest clear lane in a word, by its place in the map.
#[inline(always)]
fn clear_lane_in<const L: usize>(index: usize, word: u64) -> Option<usize> {
    let lanes = clear_lanes::<L>(word);
    (lanes != 0).then(|| index * WORD_BITS + lanes.trailing_zeros() as usize)
}

/// The lowest bits of the lanes that are clear.
#[inline(always)]
fn clear_lanes<const L: usize>(word: u64) -> u64 {
    let highest = const { lowest_of_lanes::<L>() << (L - 1) };
    // A lane with a set bit below its highest carries into that, and nothing leaves the lane.
    let filled = ((word & !highest) + !highest) | word;
    (!filled & highest) >> (L - 1)
}
