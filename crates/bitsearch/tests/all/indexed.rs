//! An index changes nothing but the time.

use bitsearch::{Alignment, IndexedBitmap, next_zero_area, next_zero_area_aligned, zero_ranges};
use proptest::collection::vec;
use proptest::prelude::*;

/// A change of a map.
#[derive(Debug, Clone)]
enum Step {
    Set(prop::sample::Index, usize),
    Clear(prop::sample::Index, usize),
    /// Looks for an area that just fits somewhere, or just does not.
    Fit {
        start: prop::sample::Index,
        run: prop::sample::Index,
        longer: usize,
    },
    Find {
        start: prop::sample::Index,
        len: usize,
        power: u32,
        offset: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let bit = any::<prop::sample::Index>;
    let len = prop_oneof![0..20usize, 1..300usize, 1..9000usize, 1..60_000usize];
    prop_oneof![
        (bit(), 1..6000usize).prop_map(|(bit, count)| Step::Set(bit, count)),
        (bit(), 1..6000usize).prop_map(|(bit, count)| Step::Clear(bit, count)),
        (bit(), Just(1)).prop_map(|(bit, count)| Step::Set(bit, count)),
        (bit(), Just(1)).prop_map(|(bit, count)| Step::Clear(bit, count)),
        (bit(), bit(), 0..2usize).prop_map(|(start, run, longer)| Step::Fit { start, run, longer }),
        (bit(), len, 0..14u32, 0..5000usize).prop_map(|(start, len, power, offset)| Step::Find {
            start,
            len,
            power,
            offset
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 300 }))]

    #[test]
    fn an_index_finds_what_a_search_finds(
        bits in prop_oneof![0..200u32, 3900..4300u32, 1..70_000u32],
        garbage in any::<u64>(),
        fill in prop_oneof![Just(0), Just(u64::MAX), any::<u64>()],
        steps in vec(step(), 1..60),
    ) {
        let mut words = vec![fill; (bits as usize).div_ceil(64)];
        if let (Some(last), 1..) = (words.last_mut(), bits % 64) {
            *last = *last & !(u64::MAX << (bits % 64)) | garbage << (bits % 64);
        }
        let mut map = IndexedBitmap::from_words(words.clone(), bits);
        prop_assert_eq!((map.len(), map.is_empty()), (bits as usize, bits == 0));
        for step in steps {
            let range = |bit: prop::sample::Index, count: usize| {
                let first = bit.index(bits as usize + 1);
                first..(first + count).min(bits as usize)
            };
            match step {
                Step::Set(bit, count) => {
                    let range = range(bit, count);
                    range.clone().for_each(|bit| words[bit / 64] |= 1 << (bit % 64));
                    map.set_range(range);
                }
                Step::Clear(bit, count) => {
                    let range = range(bit, count);
                    range.clone().for_each(|bit| words[bit / 64] &= !(1 << (bit % 64)));
                    map.clear_range(range);
                }
                Step::Fit { start, run, longer } => {
                    let size = bits as usize;
                    let runs: Vec<_> = zero_ranges(&words, size).map(|run| run.len()).collect();
                    if !runs.is_empty() {
                        let len = runs[run.index(runs.len())] + longer;
                        for start in [0, start.index(size)] {
                            prop_assert_eq!(
                                map.next_zero_area(start, len, Alignment::NONE),
                                next_zero_area(&words, size, start, len)
                            );
                        }
                    }
                }
                Step::Find { start, len, power, offset } => {
                    let start = start.index(bits as usize + 2);
                    for power in [0, power] {
                        let alignment = Alignment::to(1 << power).unwrap().with_offset(offset);
                        let size = bits as usize;
                        prop_assert_eq!(
                            map.next_zero_area(start, len, alignment),
                            next_zero_area_aligned(&words, size, start, len, alignment)
                        );
                    }
                }
            }
            prop_assert_eq!(map.words(), &words[..]);
        }
    }
}

#[test]
fn bits_that_do_not_exist_cannot_be_changed() {
    let mut map = IndexedBitmap::new(70);
    for bit in [70, 127, 128, usize::MAX] {
        map.set(bit);
        assert!(!map.contains(bit));
    }
    #[expect(clippy::reversed_empty_ranges, reason = "an empty range is no error")]
    for range in [70..90, 5..5, 9..3, usize::MAX - 1..usize::MAX] {
        map.set_range(range);
    }
    assert_eq!(map.words(), [0, 0]);
    map.set_range(63..usize::MAX);
    assert_eq!(map.words(), [1 << 63, 0x3f]);
    map.clear_range(0..69);
    assert_eq!(map.words(), [0, 0x20]);
    map.clear(69);
    map.set(69);
    assert!(map.contains(69) && !map.contains(68));
    assert_eq!(map.next_zero_area(0, 70, Alignment::NONE), None);
    map.clear(69);
    assert_eq!(map.next_zero_area(0, 70, Alignment::NONE), Some(0));
}

#[test]
fn words_and_bits_may_disagree() {
    assert_eq!(IndexedBitmap::from_words(vec![0; 3], 70).words().len(), 2);
    assert_eq!(IndexedBitmap::from_words(vec![0], 70).len(), 64);
}
