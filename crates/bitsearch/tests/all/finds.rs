//! Searches agree with a look at every single bit.

use bitsearch::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// Words that are often empty or full, as real bitmaps are.
fn words() -> impl Strategy<Value = Vec<u64>> {
    let word = prop_oneof![
        3 => Just(0),
        2 => Just(u64::MAX),
        2 => (0..64u32).prop_map(|bit| 1 << bit),
        1 => (0..64u32).prop_map(|bit| !(1 << bit)),
        2 => any::<u64>(),
    ];
    // And long ones with next to nothing in them.
    let far = (0..120usize, prop_oneof![Just(0), Just(u64::MAX)], 0..120usize, 0..64u32).prop_map(
        |(words, fill, index, bit)| {
            let mut map = vec![fill; words];
            if let Some(word) = map.get_mut(index) {
                *word ^= 1 << bit;
            }
            map
        },
    );
    prop_oneof![2 => vec(word, 0..16), 1 => far]
}

/// Sizes and places: in a map, at its end and past it, and at the borders of words.
fn place() -> impl Strategy<Value = usize> {
    prop_oneof![
        8 => 0..1100usize,
        2 => 0..8000usize,
        2 => (0..120usize, 0..3usize).prop_map(|(word, off)| (word * 64 + off).saturating_sub(1)),
        1 => Just(usize::MAX),
    ]
}

fn is_set(words: &[u64], bit: usize) -> bool {
    words[bit / 64] >> (bit % 64) & 1 == 1
}

/// The bits below `size` at which all three maps look like this.
fn bits(size: usize, maps: [&[u64]; 3], wanted: fn(bool, bool, bool) -> bool) -> Vec<usize> {
    let words = maps.map(<[u64]>::len).into_iter().min().unwrap_or_default();
    let look = |bit: usize| maps.map(|map| is_set(map, bit));
    let is_wanted = |bit: &usize| {
        let [a, b, c] = look(*bit);
        wanted(a, b, c)
    };
    (0..size.min(words * 64)).filter(is_wanted).collect()
}

fn at_or_after(bits: &[usize], start: usize) -> Option<usize> {
    bits.iter().copied().find(|bit| *bit >= start)
}

fn wrapped(bits: &[usize], start: usize) -> Vec<usize> {
    let before = bits.partition_point(|bit| *bit < start);
    bits[before..].iter().chain(&bits[..before]).copied().collect()
}

/// Joins neighbours.
pub(crate) fn runs(bits: impl IntoIterator<Item = usize>) -> Vec<std::ops::Range<usize>> {
    let mut runs: Vec<std::ops::Range<usize>> = Vec::new();
    for bit in bits {
        match runs.last_mut() {
            Some(run) if run.end == bit => run.end += 1,
            _ => runs.push(bit..bit + 1),
        }
    }
    runs
}

proptest! {
    #[test]
    fn forward_searches_find_the_lowest(
        a in words(), b in words(), c in words(), size in place(), start in place(),
    ) {
        let expected = |maps, wanted| at_or_after(&bits(size, maps, wanted), start);
        let first = |maps, wanted| bits(size, maps, wanted).first().copied();
        let (one, two, three) = ([&a[..]; 3], [&a[..], &b, &b], [&a[..], &b, &c]);
        prop_assert_eq!(next_bit(&a, size, start), expected(one, |a, _, _| a));
        prop_assert_eq!(next_zero_bit(&a, size, start), expected(one, |a, _, _| !a));
        prop_assert_eq!(next_and_bit(&a, &b, size, start), expected(two, |a, b, _| a && b));
        prop_assert_eq!(next_andnot_bit(&a, &b, size, start), expected(two, |a, b, _| a && !b));
        prop_assert_eq!(next_or_bit(&a, &b, size, start), expected(two, |a, b, _| a || b));
        prop_assert_eq!(first_bit(&a, size), first(one, |a, _, _| a));
        prop_assert_eq!(first_zero_bit(&a, size), first(one, |a, _, _| !a));
        prop_assert_eq!(first_and_bit(&a, &b, size), first(two, |a, b, _| a && b));
        prop_assert_eq!(first_andnot_bit(&a, &b, size), first(two, |a, b, _| a && !b));
        prop_assert_eq!(first_and_and_bit(&a, &b, &c, size), first(three, |a, b, c| a && b && c));
    }

    #[test]
    fn backward_searches_find_the_highest(a in words(), size in place(), start in place()) {
        let (set, clear) = (bits(size, [&a; 3], |a, _, _| a), bits(size, [&a; 3], |a, _, _| !a));
        prop_assert_eq!(last_bit(&a, size), set.last().copied());
        prop_assert_eq!(last_zero_bit(&a, size), clear.last().copied());
        let in_range = set.last().copied().filter(|bit| *bit >= start);
        prop_assert_eq!(last_bit_range(&a, start, size), in_range);
    }

    #[test]
    fn a_range_can_be_searched_in_two_halves(a in words(), bounds in vec(place(), 3)) {
        let mut bounds = bounds;
        bounds.sort_unstable();
        let [start, middle, end] = bounds[..] else { unreachable!("three bounds") };
        let halves = last_bit_range(&a, middle, end).or_else(|| last_bit_range(&a, start, middle));
        prop_assert_eq!(last_bit_range(&a, start, end), halves);
    }

    #[test]
    fn ranks_count_what_lies_below(
        a in words(), b in words(), c in words(), size in place(), n in place(),
    ) {
        let (one, two, three) = ([&a[..]; 3], [&a[..], &b, &b], [&a[..], &b, &c]);
        let set = bits(size, one, |a, _, _| a);
        let clear = bits(size, one, |a, _, _| !a);
        let both = bits(size, two, |a, b, _| a && b);
        let only_a = bits(size, two, |a, b, _| a && !b);
        let not_c = bits(size, three, |a, b, c| a && b && !c);
        for n in (0..70).chain([n]) {
            let nth = |bits: &[usize]| bits.get(n).copied();
            prop_assert_eq!(nth_bit(&a, size, n), nth(&set));
            prop_assert_eq!(nth_zero_bit(&a, size, n), nth(&clear));
            prop_assert_eq!(nth_and_bit(&a, &b, size, n), nth(&both));
            prop_assert_eq!(nth_andnot_bit(&a, &b, size, n), nth(&only_a));
            prop_assert_eq!(nth_and_andnot_bit(&a, &b, &c, size, n), nth(&not_c));
        }
        prop_assert_eq!(count_bits(&a, size), set.len());
        let picked = random_bit(&a, size, |ranks| n % ranks);
        prop_assert_eq!(picked, (!set.is_empty()).then(|| set[n % set.len()]));
    }

    #[test]
    fn wrapping_searches_go_on_at_the_beginning(
        a in words(), b in words(), size in place(), start in place(),
    ) {
        let (set, both) =
            (bits(size, [&a; 3], |a, _, _| a), bits(size, [&a, &b, &b], |a, b, _| a && b));
        prop_assert_eq!(next_bit_wrap(&a, size, start), wrapped(&set, start).first().copied());
        let first_of_both = wrapped(&both, start).first().copied();
        prop_assert_eq!(next_and_bit_wrap(&a, &b, size, start), first_of_both);
        prop_assert_eq!(set_bits_wrap(&a, size, start).collect::<Vec<_>>(), wrapped(&set, start));
    }

    #[test]
    fn iterators_visit_every_hit_once(
        a in words(), b in words(), size in place(), start in place(),
    ) {
        let all = |maps, wanted| -> Vec<usize> {
            bits(size, maps, wanted).into_iter().filter(|bit| *bit >= start).collect()
        };
        let (one, two) = ([&a[..]; 3], [&a[..], &b, &b]);
        prop_assert!(set_bits(&a, size, start).eq(all(one, |a, _, _| a)));
        prop_assert!(zero_bits(&a, size, start).eq(all(one, |a, _, _| !a)));
        prop_assert!(and_bits(&a, &b, size, start).eq(all(two, |a, b, _| a && b)));
        prop_assert!(andnot_bits(&a, &b, size, start).eq(all(two, |a, b, _| a && !b)));
        prop_assert!(or_bits(&a, &b, size, start).eq(all(two, |a, b, _| a || b)));
        prop_assert!(set_ranges(&a, size).eq(runs(bits(size, one, |a, _, _| a))));
        prop_assert!(zero_ranges(&a, size).eq(runs(bits(size, one, |a, _, _| !a))));
    }

    #[test]
    fn clumps_are_the_bytes_with_something_in_them(
        a in words(), size in place(), start in place(),
    ) {
        let set = bits(size, [&a; 3], |a, _, _| a);
        let clump = |bit: usize| {
            let eight = bit / 8 * 8..bit / 8 * 8 + 8;
            let byte = set.iter().filter(|bit| eight.contains(bit)).map(|bit| 1 << (bit % 8)).sum();
            Clump8 { bit: eight.start, byte }
        };
        prop_assert_eq!(next_clump8(&a, size, start), at_or_after(&set, start).map(clump));
        let mut all: Vec<_> = set.iter().map(|bit| clump(*bit)).collect();
        all.dedup();
        prop_assert_eq!(clumps8(&a, size).collect::<Vec<_>>(), all);
    }
}

/// The bits 0, 3, 64, 65 and 99.
const MAP: [u64; 2] = [1 | 1 << 3, 1 | 1 << 1 | 1 << 35];

#[test]
fn the_next_bit_is_the_lowest_set_one_from_the_start() {
    for (start, bit) in [(0, 0), (1, 3), (4, 64), (66, 99)] {
        assert_eq!(next_bit(&MAP, 100, start), Some(bit));
    }
    assert_eq!(next_bit(&MAP, 100, 100), None);
    assert_eq!(next_bit(&MAP, 99, 66), None);
    assert_eq!(next_bit(&MAP, 64, 4), None);
}

#[test]
fn the_next_zero_bit_is_the_lowest_clear_one_from_the_start() {
    for (start, bit) in [(0, 1), (3, 4), (64, 66)] {
        assert_eq!(next_zero_bit(&MAP, 100, start), Some(bit));
    }
    assert_eq!(next_zero_bit(&MAP, 100, 99), None);
    assert_eq!(next_zero_bit(&[u64::MAX, 0x3f], 70, 5), None);
}

#[test]
fn the_last_bit_is_the_highest_set_one_below_the_size() {
    for (size, bit) in [(100, 99), (99, 65), (64, 3), (1, 0)] {
        assert_eq!(last_bit(&MAP, size), Some(bit));
    }
    assert_eq!(last_bit(&MAP, 0), None);
    assert_eq!(last_bit(&[0_u64, 0], 128), None);
}

#[test]
fn the_last_bit_of_a_range_ignores_its_neighbours_in_the_same_words() {
    for (start, end, bit) in [(0, 100, 99), (0, 64, 3), (65, 66, 65), (64, 99, 65)] {
        assert_eq!(last_bit_range(&MAP, start, end), Some(bit));
    }
    assert_eq!(last_bit_range(&MAP, 4, 64), None);
    assert_eq!(last_bit_range(&MAP, 66, 66), None);
    assert_eq!(last_bit_range(&MAP, 70, 60), None);
}

#[test]
fn ranks_begin_at_zero() {
    for (n, bit) in [(0, 0), (1, 3), (2, 64), (3, 65), (4, 99)] {
        assert_eq!(nth_bit(&MAP, 100, n), Some(bit));
    }
    assert_eq!(nth_bit(&MAP, 100, 5), None);
}

#[test]
fn a_size_beyond_the_slice_means_the_whole_slice() {
    assert_eq!(next_bit(&MAP, usize::MAX, 100), None);
    assert_eq!(next_zero_bit(&MAP, 1000, 99), Some(100));
    assert_eq!(next_zero_bit(&MAP, 1000, 128), None);
    assert_eq!(last_bit(&MAP, usize::MAX), Some(99));
    assert_eq!(next_bit::<u64>(&[], 5, 0), None);
    assert_eq!(last_bit::<u64>(&[], 5), None);
}

#[test]
fn a_single_bit_is_found_in_every_word() {
    let (words, bits) = (100, 6400);
    for bit in (5..bits).step_by(61) {
        let mut map = vec![0_u64; words];
        map[bit / 64] = 1 << (bit % 64);
        let full: Vec<_> = map.iter().map(|word| !word).collect();
        for found in [
            first_bit(&map, bits),
            next_bit(&map, bits, bit / 2),
            next_zero_bit(&full, bits, 1),
            next_and_bit(&map, &map, bits, 1),
            next_bit_wrap(&map, bits, bits - 1),
            last_bit(&map, bits),
            last_zero_bit(&full, bits),
            nth_bit(&map, bits, 0),
        ] {
            assert_eq!(found, Some(bit));
        }
        assert_eq!((next_bit(&map, bit, 1), last_bit_range(&map, bit + 1, bits)), (None, None));
    }
}

#[test]
fn one_set_bit_is_the_random_one() {
    for rank in 0..1 {
        assert_eq!(random_bit(&[0_u64, 1 << 7], 128, |ranks| rank % ranks), Some(71));
    }
}
