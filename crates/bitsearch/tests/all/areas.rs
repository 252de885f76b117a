//! Zero areas are the lowest there are, whatever way they were looked for.

use bitsearch::{Alignment, next_zero_area, next_zero_area_aligned};
use proptest::collection::vec;
use proptest::prelude::*;

/// A map by the lengths of its runs, which are alternately clear and set.
fn map_of_runs(runs: &[usize]) -> Vec<u64> {
    let bits: usize = runs.iter().sum();
    let mut words = vec![0; bits.div_ceil(64)];
    let mut bit = 0;
    for (number, run) in runs.iter().enumerate() {
        for bit in bit..bit + run {
            words[bit / 64] |= ((number % 2) as u64) << (bit % 64);
        }
        bit += run;
    }
    words
}

/// Maps of all kinds: random bits, few bits, and runs of about the lengths that are looked for.
fn map() -> impl Strategy<Value = Vec<u64>> {
    let sparse = (1..300usize, vec(any::<prop::sample::Index>(), 0..100));
    prop_oneof![
        vec(any::<u64>(), 0..300),
        (vec(any::<u64>(), 0..300), vec(any::<u64>(), 0..300)).prop_map(|(a, b)| a
            .iter()
            .zip(b)
            .map(|(a, b)| a & b)
            .collect()),
        sparse.prop_map(|(words, bits)| {
            let mut map = vec![0; words];
            for bit in bits {
                let bit = bit.index(words * 64);
                map[bit / 64] |= 1 << (bit % 64);
            }
            map
        }),
        vec(prop_oneof![3 => 1..20usize, 2 => 1..140usize, 1 => 1..700usize], 0..80)
            .prop_map(|runs| map_of_runs(&runs)),
    ]
}

/// Lengths for every way of looking.
fn len() -> impl Strategy<Value = usize> {
    prop_oneof![0..16usize, 14..32usize, 30..64usize, 62..128usize, 126..330usize, 300..5000usize]
}

/// Offsets, those included with which a place has none but by coming round.
fn offset() -> impl Strategy<Value = usize> {
    let last = (0..5000usize).prop_map(|less| usize::MAX - less);
    prop_oneof![4 => 0..5000usize, 1 => any::<usize>(), 2 => last]
}

fn is_clear(words: &[u64], bit: usize) -> bool {
    words[bit / 64] >> (bit % 64) & 1 == 0
}

/// Looks at every place, one after the other.
fn naive(
    words: &[u64],
    size: usize,
    start: usize,
    len: usize,
    mask: usize,
    offset: usize,
) -> Option<usize> {
    let size = size.min(words.len() * 64);
    let mut clear = 0;
    // How many bits are clear from each place on.
    let mut room: Vec<usize> = (0..size)
        .rev()
        .map(|bit| {
            clear = if is_clear(words, bit) { clear + 1 } else { 0 };
            clear
        })
        .collect();
    room.reverse();
    if len == 0 {
        let zero = (start..size).find(|bit| room[*bit] > 0).unwrap_or(size);
        return (zero..=size).find(|place| place.wrapping_add(offset) & mask == 0);
    }
    (start..size).find(|place| room[*place] >= len && place.wrapping_add(offset) & mask == 0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 5 } else { 1500 }))]

    #[test]
    fn areas_are_first_fit(words in map(), cut in prop_oneof![3 => 0..70usize, 1 => 0..9000usize], start in 0..2000usize, len in len()) {
        let size = (words.len() * 64).saturating_sub(cut);
        for start in [0, start, start % (size + 2)] {
            let expected = naive(&words, size, start, len, 0, 0);
            prop_assert_eq!(next_zero_area(&words, size, start, len), expected);
        }
    }

    #[test]
    fn areas_that_leave_few_places_are_first_fit(words in map(), left in 0..130usize, start in 0..130usize) {
        let size = words.len() * 64;
        let len = size.saturating_sub(left).max(1);
        let expected = naive(&words, size, start, len, 0, 0);
        prop_assert_eq!(next_zero_area(&words, size, start, len), expected);
    }

    #[test]
    fn aligned_areas_are_first_fit(
        words in map(), cut in 0..70usize, start in 0..2000usize, len in len(),
        power in prop_oneof![4 => 1..4u32, 4 => 0..12u32, 1 => 0..64u32], offset in offset(),
    ) {
        let size = (words.len() * 64).saturating_sub(cut);
        let bits = 1 << power;
        let alignment = Alignment::to(bits).unwrap().with_offset(offset);
        for start in [start, start % (size + 2)] {
            let expected = naive(&words, size, start, len, bits - 1, offset);
            let found = next_zero_area_aligned(&words, size, start, len, alignment);
            prop_assert_eq!(found, expected);
        }
    }

    /// One gap of a length around the one looked for, in a map that is full otherwise: nothing but
    /// the right place will do, and the search has nothing to stumble upon it by.
    #[test]
    fn a_single_gap_is_found_if_it_suffices(
        before in 0..3000usize, gap in prop_oneof![1..40usize, 1..1500usize],
        after in prop_oneof![Just(0), 0..1500usize], longer in 0..3usize,
    ) {
        let words = map_of_runs(&[0, before, gap, after]);
        let len = (gap + longer).saturating_sub(1).max(1);
        let found = next_zero_area(&words, before + gap + after, 0, len);
        prop_assert_eq!(found, (len <= gap).then_some(before));
    }
}

/// The bits 0 to 4, and 10.
const MAP: [u64; 1] = [0b100_0001_1111];

#[test]
fn the_examples_of_the_specification_hold() {
    let area = |len, mask: usize, offset, start| {
        let alignment = Alignment::to(mask + 1).unwrap().with_offset(offset);
        next_zero_area_aligned(&MAP, 32, start, len, alignment)
    };
    assert_eq!(area(4, 0, 0, 0), Some(5));
    assert_eq!(area(6, 0, 0, 0), Some(11));
    assert_eq!(area(4, 3, 0, 0), Some(12));
    assert_eq!(area(4, 7, 0, 0), Some(16));
    assert_eq!(area(4, 7, 2, 0), Some(6));
    assert_eq!(area(4, 7, 5, 0), Some(11));
    assert_eq!(area(21, 0, 0, 0), Some(11));
    assert_eq!(area(22, 0, 0, 0), None);
    assert_eq!(area(0, 0, 0, 0), Some(5));
    assert_eq!(area(4, 0, 0, 40), None);
}

#[test]
fn an_offset_counts_modulo_the_alignment() {
    let area = |offset| {
        let alignment = Alignment::to(256).unwrap().with_offset(offset);
        next_zero_area_aligned(&[0_u64; 8], 512, 0, 6, alignment)
    };
    assert_eq!(area(usize::MAX), Some(1));
    assert_eq!(area(usize::MAX - 255), Some(0));
    assert_eq!(area(usize::MAX - 256), area(255));
    assert_eq!(area(256), area(0));
}

#[test]
fn nothing_overflows() {
    let whole = Alignment::to(1 << 63).unwrap();
    assert_eq!(next_zero_area(&MAP, usize::MAX, usize::MAX, usize::MAX), None);
    assert_eq!(next_zero_area(&MAP, usize::MAX, 1, usize::MAX), None);
    assert_eq!(next_zero_area_aligned(&[0_u64], 64, 0, 1, whole.with_offset(usize::MAX)), Some(1));
    assert_eq!(next_zero_area_aligned(&[0_u64], 64, 2, 1, whole.with_offset(usize::MAX)), None);
    assert_eq!(next_zero_area_aligned(&[0_u64], 64, 1, 1, whole), None);
    assert_eq!(next_zero_area_aligned(&[0_u64], 64, 0, 64, whole), Some(0));
    assert_eq!(next_zero_area::<u64>(&[], 0, 0, 1), None);
    assert_eq!(next_zero_area::<u64>(&[], 0, 0, 0), Some(0));
}
