//! Words of every kind have the bits that words of 64 have.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};

use bitsearch::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// What searches of all families find in two maps.
#[derive(Debug, PartialEq)]
struct Findings {
    places: [Option<usize>; 18],
    hits: [Vec<usize>; 7],
    count: usize,
}

fn findings<W: Word>(a: &[W], b: &[W], size: usize, start: usize, n: usize) -> Findings {
    Findings {
        places: [
            first_bit(a, size),
            first_zero_bit(a, size),
            first_and_bit(a, b, size),
            first_andnot_bit(a, b, size),
            first_and_and_bit(a, b, a, size),
            next_bit(a, size, start),
            next_zero_bit(a, size, start),
            next_and_bit(a, b, size, start),
            next_andnot_bit(a, b, size, start),
            next_or_bit(a, b, size, start),
            next_bit_wrap(a, size, start),
            last_bit(a, size),
            last_zero_bit(a, size),
            last_bit_range(a, start, size),
            nth_bit(a, size, n),
            nth_zero_bit(a, size, n),
            nth_andnot_bit(a, b, size, n),
            random_bit(a, size, |ranks| n % ranks),
        ],
        hits: [
            set_bits(a, size, start).collect(),
            zero_bits(a, size, start).rev().collect(),
            andnot_bits(a, b, size, start).collect(),
            or_bits(a, b, size, start).rev().collect(),
            set_bits_wrap(a, size, start).collect(),
            set_ranges(a, size).map(|range| range.len()).collect(),
            zero_ranges(a, size).map(|range| range.start).collect(),
        ],
        count: count_bits(a, size),
    }
}

/// Halves of words, mostly empty or full, and often an odd number of them.
fn halves() -> impl Strategy<Value = Vec<u32>> {
    let half = prop_oneof![
        4 => Just(0),
        3 => Just(u32::MAX),
        1 => (0..32u32).prop_map(|bit| 1 << bit),
        2 => any::<u32>(),
    ];
    prop_oneof![3 => vec(half.clone(), 0..12), 1 => vec(half, 60..160)]
}

fn whole(halves: &[u32]) -> Vec<u64> {
    halves
        .chunks(2)
        .map(|pair| pair.iter().rev().fold(0, |word, half| word << 32 | u64::from(*half)))
        .collect()
}

proptest! {
    #[test]
    fn the_same_is_found_in_words_of_every_kind(
        (a, b) in (halves(), halves()),
        size in prop_oneof![8 => 0..5200usize, 1 => Just(usize::MAX)],
        (start, n) in (0..600usize, 0..300usize),
    ) {
        let (whole_a, whole_b) = (whole(&a), whole(&b));
        let bits = 32 * a.len().min(b.len());
        // As long as the shorter one: where only one map is asked, the other must not be what ends it.
        let (a, b) = (&a[..bits / 32], &b[..bits / 32]);
        let expected = findings(&whole_a, &whole_b, size.min(bits), start, n);
        prop_assert_eq!(&findings(a, b, size, start, n), &expected);
        let [atomic_a, atomic_b] = [a, b].map(|map| map.iter().copied().map(AtomicU32::new).collect::<Vec<_>>());
        prop_assert_eq!(&findings(&atomic_a, &atomic_b, size, start, n), &expected);
        let [atomic_a, atomic_b] = [&whole_a, &whole_b].map(|map| map.iter().copied().map(AtomicU64::new).collect::<Vec<_>>());
        prop_assert_eq!(&findings(&atomic_a, &atomic_b, size.min(bits), start, n), &expected);
        #[cfg(target_pointer_width = "64")]
        {
            let usizes = |map: &Vec<u64>| map.iter().map(|word| usize::try_from(*word).unwrap()).collect::<Vec<_>>();
            let [a, b] = [&whole_a, &whole_b].map(usizes);
            prop_assert_eq!(&findings(&a, &b, size.min(bits), start, n), &expected);
            let [a, b] = [a, b].map(|map| map.into_iter().map(AtomicUsize::new).collect::<Vec<_>>());
            prop_assert_eq!(&findings(&a, &b, size.min(bits), start, n), &expected);
        }
    }
}
