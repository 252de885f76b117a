//! Looking for room in maps of every kind, and where that is the slowest beside the other ways.

use std::hint::black_box;

use serde::Serialize;

use super::baselines;
use super::map::{Fill, SeededNumbers};
use crate::error::BenchError;
use crate::repeat::batch_ns;

/// How many bits the maps have, and beyond these what the user asks for.
pub(super) const SIZES: [usize; 5] = [64, 640, 4096, 32_768, super::lines::BITS];

/// How many clear bits are looked for: those around which a search may change its way, and some between.
const LENS: [usize; 39] = [
    1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 30, 31, 32, 33, 48, 62, 63, 64, 65, 96, 127, 128,
    192, 256, 319, 320, 321, 512, 640, 1024, 1500, 2047, 2048, 2049, 3000, 4096,
];

/// The ways take turns this often, and the shortest time of each counts;
const ROUNDS: u32 = 5;

/// of one search, or if that is too short for the clock,
const SHORT_NS: f64 = 5e3;

/// of this many;
const REPEATS: u32 = 64;

/// but what takes longer than this is not repeated.
const LONG_NS: f64 = 1e6;

/// In maps larger than this only what was proposed is compared: the others take too long.
const SMALL_BITS: usize = 32_768;

/// What a map is filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MapFill {
    Empty,
    /// Bit 0 alone, as in most maps of an allocator.
    FirstBit,
    /// All bits up to a random one.
    Prefix,
    Sparse,
    Random,
    /// Every other bit.
    Bits,
    /// Every other word.
    Words,
    Full,
}

impl MapFill {
    pub(super) const ALL: [Self; 8] = [
        Self::Empty,
        Self::FirstBit,
        Self::Prefix,
        Self::Sparse,
        Self::Random,
        Self::Bits,
        Self::Words,
        Self::Full,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::FirstBit => "bit 0",
            Self::Prefix => "prefix",
            Self::Sparse => "sparse",
            Self::Random => "random",
            Self::Bits => "every other bit",
            Self::Words => "every other word",
            Self::Full => "full",
        }
    }

    fn map(self, bits: usize, random: &mut SeededNumbers) -> Vec<u64> {
        let words = bits.div_ceil(64);
        let mut map = match self {
            Self::Sparse => Fill::Sparse.map(bits, random),
            Self::Random => Fill::Random.map(bits, random),
            Self::Bits => vec![0x5555_5555_5555_5555; words],
            Self::Full => vec![u64::MAX; words],
            Self::Empty | Self::FirstBit | Self::Prefix | Self::Words => vec![0; words],
        };
        match self {
            Self::FirstBit => map[0] = 1,
            Self::Words => map.iter_mut().step_by(2).for_each(|word| *word = u64::MAX),
            Self::Prefix => {
                let end = random.below(bits);
                map[..end / 64].fill(u64::MAX);
                map[end / 64] = (1 << (end % 64)) - 1;
            }
            Self::Empty | Self::Sparse | Self::Random | Self::Bits | Self::Full => {}
        }
        map
    }
}

/// A way to look for an area that is not ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Other {
    Old,
    New,
    Naive,
}

impl Other {
    pub(super) const ALL: [Self; 3] = [Self::Old, Self::New, Self::Naive];
}

/// Where ours is the slowest beside another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Worst {
    pub(super) than: Other,
    /// How many times as long the other takes.
    pub(super) ratio: f64,
    pub(super) cnt: usize,
    pub(super) start: usize,
    pub(super) seed: u64,
    pub(super) theirs_ns: f64,
    pub(super) ours_ns: f64,
}

/// Looks for areas of all lengths, from 0 and from a random place on, in maps made of each of the seeds.
///
/// # Errors
///
/// [`BenchError::WrongArea`] if the ways lead to different places.
pub(super) fn measure(shape: MapFill, bits: usize, seeds: u64) -> Result<Vec<Worst>, BenchError> {
    let mut worst: Vec<Worst> = Vec::new();
    for seed in 1..=seeds {
        let random = &mut SeededNumbers::new(seed);
        let map = shape.map(bits, random);
        for cnt in LENS {
            for start in [0, random.below(bits)] {
                let (ours_ns, others) = compare(&map, bits, start, cnt)?;
                for (than, theirs_ns) in others {
                    let here = Worst {
                        than,
                        ratio: theirs_ns / ours_ns,
                        cnt,
                        start,
                        seed,
                        theirs_ns,
                        ours_ns,
                    };
                    match worst.iter_mut().find(|worst| worst.than == than) {
                        Some(worst) if worst.ratio <= here.ratio => {}
                        Some(worst) => *worst = here,
                        None => worst.push(here),
                    }
                }
            }
        }
    }
    Ok(worst)
}

/// The time of our search, and of the others.
fn compare(
    map: &[u64],
    bits: usize,
    start: usize,
    cnt: usize,
) -> Result<(f64, Vec<(Other, f64)>), BenchError> {
    let act = |way: Option<Other>| {
        let (map, bits) = (black_box(map), black_box(bits));
        let (start, cnt) = (black_box(start), black_box(cnt));
        match way {
            None => ours(map, bits, start, cnt),
            Some(Other::Old) => baselines::old_area(map, bits, start, cnt).place,
            Some(Other::New) => baselines::new_area(map, bits, start, cnt).place,
            Some(Other::Naive) => baselines::naive_area(map, bits, start, cnt),
        }
    };
    let found = |place: usize| (place < bits && place + cnt <= bits).then_some(place);
    let expected = found(act(Some(Other::New)));
    let mut ways = vec![(None, f64::MAX)];
    for other in Other::ALL {
        if bits <= SMALL_BITS || other == Other::New {
            ways.push((Some(other), f64::MAX));
        }
    }
    if ways.iter().any(|(way, _)| found(act(*way)) != expected) {
        return Err(BenchError::WrongArea { cnt, bits, expected });
    }
    for round in 0..ROUNDS {
        for (way, least_ns) in &mut ways {
            if round == 0 || *least_ns < LONG_NS {
                *least_ns = least_ns.min(time(|| act(*way)));
            }
        }
    }
    let others = ways.iter().filter_map(|(way, ns)| way.map(|way| (way, *ns)));
    Ok((ways[0].1, others.collect()))
}

/// Ours, as a function that is called, as the others are.
#[inline(never)]
fn ours(map: &[u64], bits: usize, start: usize, cnt: usize) -> usize {
    bitsearch::next_zero_area(map, bits, start, cnt).unwrap_or(usize::MAX)
}

/// The time of a search, of as many as the clock needs.
fn time(act: impl Fn() -> usize) -> f64 {
    match batch_ns(1, &act) {
        ns if ns > SHORT_NS => ns,
        _ => batch_ns(REPEATS, &act) / f64::from(REPEATS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_is_compared_in_maps_of_every_shape() {
        for shape in MapFill::ALL {
            for bits in [64, 200] {
                let worst = measure(shape, bits, 1).unwrap();
                let than: Vec<_> = worst.iter().map(|worst| worst.than).collect();
                assert_eq!(than, Other::ALL, "{shape:?}");
                assert!(worst.iter().all(|worst| worst.ratio > 0.0), "{worst:?}");
            }
        }
    }

    #[test]
    fn large_maps_are_spared_what_takes_long() {
        let worst = measure(MapFill::Empty, SMALL_BITS + 64, 1).unwrap();
        assert_eq!(worst.iter().map(|worst| worst.than).collect::<Vec<_>>(), [Other::New]);
    }

    #[test]
    fn a_prefix_ends_within_the_map() {
        for seed in 0..20 {
            let map = MapFill::Prefix.map(640, &mut SeededNumbers::new(seed));
            let ones: u32 = map.iter().map(|word| word.count_ones()).sum();
            assert_eq!(baselines::next_zero_bit(&map, 640, 0), ones as usize);
            assert!(ones < 640);
        }
    }
}
