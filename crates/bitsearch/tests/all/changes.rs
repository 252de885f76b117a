//! Changes of ranges, areas of the other fits, and ranks agree with a look at every single bit.

use std::ops::Range;

use bitsearch::*;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::finds::runs;

/// Maps with bits at random, and with long runs.
fn words() -> impl Strategy<Value = Vec<u64>> {
    let word = prop_oneof![3 => Just(0), 2 => Just(u64::MAX), 2 => any::<u64>(), 1 => (0..64u32).prop_map(|bit| 1 << bit)];
    vec(word, 0..40)
}

fn range() -> impl Strategy<Value = Range<usize>> {
    let end = prop_oneof![8 => 0..2700usize, 1 => Just(usize::MAX)];
    (0..2700usize, end).prop_map(|(start, end)| start..end)
}

/// The bits of a map, changed one by one.
fn changed(words: &[u64], range: Range<usize>, change: impl Fn(usize, bool) -> bool) -> Vec<bool> {
    let bits = (0..words.len() * 64).map(|bit| (bit, is_set(words, bit)));
    bits.map(|(bit, was)| if range.contains(&bit) { change(bit, was) } else { was }).collect()
}

fn bits(words: &[u64]) -> Vec<bool> {
    (0..words.len() * 64).map(|bit| words[bit / 64] >> (bit % 64) & 1 == 1).collect()
}

/// All longest runs of clear bits below `size`.
fn clear_runs(words: &[u64], size: usize) -> Vec<Range<usize>> {
    runs((0..size.min(words.len() * 64)).filter(|bit| !is_set(words, *bit)))
}

proptest! {
    #[test]
    fn ranges_are_changed_and_nothing_else(words in words(), range in range()) {
        let mut set = words.clone();
        set_range(&mut set, range.clone());
        prop_assert_eq!(bits(&set), changed(&words, range.clone(), |_, _| true));
        let mut cleared = words.clone();
        clear_range(&mut cleared, range.clone());
        prop_assert_eq!(bits(&cleared), changed(&words, range, |_, _| false));
    }

    #[test]
    fn ranges_are_combined_where_both_maps_have_bits(words in words(), other in words(), range in range()) {
        let common = range.start..range.end.min(other.len() * 64);
        let combined = |combine: fn(&mut [u64], &[u64], Range<usize>)| {
            let mut words = words.clone();
            combine(&mut words, &other, range.clone());
            bits(&words)
        };
        let expected = |combine: fn(bool, bool) -> bool| {
            changed(&words, common.clone(), |bit, was| combine(was, is_set(&other, bit)))
        };
        prop_assert_eq!(combined(and_range), expected(|a, b| a && b));
        prop_assert_eq!(combined(or_range), expected(|a, b| a || b));
        prop_assert_eq!(combined(andnot_range), expected(|a, b| a && !b));
    }

    #[test]
    fn areas_are_last_best_and_next_fit(
        words in words(), size in 0..2700usize, start in 0..2700usize, len in prop_oneof![0..10usize, 0..700usize],
    ) {
        let runs = clear_runs(&words, size);
        let fitting = || runs.iter().filter(|run| run.len() >= len);
        let last = fitting().next_back().map(|run| run.end - len);
        prop_assert_eq!(last_zero_area(&words, size, len), last.or((len == 0).then_some(0)));
        let best = fitting().min_by_key(|run| (run.len(), run.start));
        prop_assert_eq!(best_zero_area(&words, size, len), best.cloned());
        let next = next_zero_area(&words, size, start, len).or(next_zero_area(&words, size, 0, len));
        prop_assert_eq!(next_zero_area_wrap(&words, size, start, len), next);
    }

    #[test]
    fn an_index_knows_all_ranks(words in words(), repeats in 1..6usize, cut in 0..100u32) {
        let words = words.repeat(repeats);
        let size = u32::try_from(words.len() * 64).unwrap().saturating_sub(cut);
        let index = RankIndex::new(&words, size);
        let set: Vec<usize> = set_bits(&words, size as usize, 0).collect();
        prop_assert_eq!(index.ones(), set.len());
        for (n, bit) in set.iter().enumerate().step_by(7) {
            prop_assert_eq!(index.select(&words, n), Some(*bit));
            prop_assert_eq!((index.rank(&words, *bit), index.rank(&words, bit + 1)), (n, n + 1));
        }
        prop_assert_eq!(index.select(&words, set.len()), None);
        prop_assert_eq!(index.rank(&words, usize::MAX), set.len());
        // Of other words, the answers mean nothing, and come all the same.
        let _ = (index.rank(&[], 5), index.select(&[], 5));
    }

    #[test]
    fn an_index_knows_ranks_however_far_apart(
        stretches in vec((0..900usize, prop_oneof![1..4usize, 30..70usize, 100..300usize]), 1..6), offset in 0..600usize,
    ) {
        let gaps = stretches.into_iter().flat_map(|(count, gap)| std::iter::repeat_n(gap, count));
        // Not at the same distance each: the next one is put off, and the one behind it comes as much earlier.
        let gaps = gaps.enumerate().map(|(nth, gap)| if nth % 2 == 0 { gap + gap / 3 } else { gap - gap / 3 });
        let set: Vec<usize> = gaps.scan(offset, |at, gap| { *at += gap; Some(*at) }).collect();
        let words = set.iter().copied().collect::<BitSet>().into_words();
        let index = RankIndex::new(&words, u32::MAX);
        for (n, bit) in set.iter().enumerate() {
            prop_assert_eq!((index.select(&words, n), index.rank(&words, *bit)), (Some(*bit), n));
        }
        prop_assert_eq!(index.select(&words, set.len()), None);
        let other: Vec<u64> = words.iter().map(|word| !word).collect();
        for n in 0..set.len() {
            let _ = (index.select(&other, n), index.select(&words[1..], n));
        }
    }
}
