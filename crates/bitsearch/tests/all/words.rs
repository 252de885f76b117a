//! Words of every kind have the bits that words of 64 have.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize};

use bitsearch::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// What searches of all families find in two maps.
#[derive(Debug, PartialEq)]
struct Findings {
    places: [Option<usize>; 23],
    best: Option<Range<usize>>,
    hits: [Vec<usize>; 7],
    count: usize,
}

const ALIGNMENT: Alignment = Alignment::to(8).expect("a power of two").with_offset(3);

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
            next_zero_area(a, size, start, n),
            next_zero_area_wrap(a, size, start, n),
            next_zero_area_aligned(a, size, start, n, ALIGNMENT),
            last_zero_area(a, size, n),
            (start < size && is_set(a, start)).then_some(start),
        ],
        best: best_zero_area(a, size, n),
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

/// The bits of a map after changes of a range with those of another map.
fn changes<W: Word>(
    copy: impl Fn() -> Vec<W>,
    other: &[W],
    range: &Range<usize>,
) -> [Vec<usize>; 5] {
    let changed = |change: &dyn Fn(&mut [W])| {
        let mut words = copy();
        change(&mut words);
        set_bits(&words, usize::MAX, 0).collect()
    };
    [
        changed(&|words| set_range(words, range.clone())),
        changed(&|words| clear_range(words, range.clone())),
        changed(&|words| and_range(words, other, range.clone())),
        changed(&|words| or_range(words, other, range.clone())),
        changed(&|words| andnot_range(words, other, range.clone())),
    ]
}

proptest! {
    #[test]
    fn words_of_every_kind_are_changed_alike(
        (a, b) in (halves(), halves()), (start, end) in (0..5200usize, prop_oneof![8 => 0..5200usize, 1 => Just(usize::MAX)]),
    ) {
        // Whole words of 64 bits, so that all kinds have the same.
        let [a, b] = [a, b].map(|mut map| { map.truncate(map.len() & !1); map });
        let (whole_a, whole_b) = (whole(&a), whole(&b));
        let range = start..end;
        let expected = changes(|| whole_a.clone(), &whole_b, &range);
        prop_assert_eq!(&changes(|| a.clone(), &b, &range), &expected);
        let atomic = |map: &[u32]| map.iter().copied().map(AtomicU32::new).collect::<Vec<_>>();
        prop_assert_eq!(&changes(|| atomic(&a), &atomic(&b), &range), &expected);
        let atomic = |map: &[u64]| map.iter().copied().map(AtomicU64::new).collect::<Vec<_>>();
        prop_assert_eq!(&changes(|| atomic(&whole_a), &atomic(&whole_b), &range), &expected);
        #[cfg(target_pointer_width = "64")]
        {
            let usizes = |map: &[u64]| map.iter().map(|word| usize::try_from(*word).unwrap()).collect::<Vec<_>>();
            prop_assert_eq!(&changes(|| usizes(&whole_a), &usizes(&whole_b), &range), &expected);
            let atomic = |map: &[u64]| usizes(map).into_iter().map(AtomicUsize::new).collect::<Vec<_>>();
            prop_assert_eq!(&changes(|| atomic(&whole_a), &atomic(&whole_b), &range), &expected);
        }
    }

    #[test]
    fn the_same_is_found_in_words_of_every_kind(
        (a, b) in (halves(), halves()),
        size in prop_oneof![8 => 0..5200usize, 1 => Just(usize::MAX)],
        (start, n) in (0..600usize, 0..300usize),
    ) {
        let (whole_a, whole_b) = (whole(&a), whole(&b));
        let bits = 32 * a.len().min(b.len());
        // The length of the shorter one: where only one map is asked, the other must not be what ends it.
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
