//! Searches agree with a look at every single bit.

use bitsearch::{last_bit, last_bit_range, next_bit, next_zero_bit};
use proptest::collection::vec;
use proptest::prelude::*;

/// Words that are often empty or full, as real bitmaps are.
fn words() -> impl Strategy<Value = Vec<u64>> {
    let word = prop_oneof![Just(0), Just(u64::MAX), (0..64u32).prop_map(|b| 1 << b), any::<u64>()];
    vec(word, 0..6)
}

fn is_set(words: &[u64], bit: usize) -> bool {
    words[bit / 64] >> (bit % 64) & 1 == 1
}

proptest! {
    #[test]
    fn searches_agree_with_a_look_at_every_bit(
        words in words(), size in 0..400usize, start in 0..400usize,
    ) {
        let end = size.min(words.len() * 64);
        prop_assert_eq!(next_bit(&words, size, start), (start..end).find(|b| is_set(&words, *b)));
        prop_assert_eq!(
            next_zero_bit(&words, size, start),
            (start..end).find(|b| !is_set(&words, *b))
        );
        prop_assert_eq!(last_bit(&words, size), (0..end).rev().find(|b| is_set(&words, *b)));
        prop_assert_eq!(
            last_bit_range(&words, start, size),
            (start..end).rev().find(|b| is_set(&words, *b))
        );
    }

    #[test]
    fn a_range_can_be_searched_in_two_halves(
        words in words(), bounds in vec(0..400usize, 3),
    ) {
        let mut bounds = bounds;
        bounds.sort_unstable();
        let [start, middle, end] = bounds[..] else { unreachable!("three bounds") };
        let halves = last_bit_range(&words, middle, end)
            .or_else(|| last_bit_range(&words, start, middle));
        prop_assert_eq!(last_bit_range(&words, start, end), halves);
    }
}
