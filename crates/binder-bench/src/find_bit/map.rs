//! The bitmaps that are searched.

use serde::Serialize;

/// What a bitmap is filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Fill {
    /// Random bits, half of them set.
    Random,
    /// A bit of 500, at random places.
    Sparse,
}

impl Fill {
    pub(super) const ALL: [Self; 2] = [Self::Random, Self::Sparse];

    /// Makes a bitmap of `bits`.
    pub(super) fn map(self, bits: usize, random: &mut SeededNumbers) -> Vec<u64> {
        let words = bits.div_ceil(64);
        match self {
            Self::Random => (0..words).map(|_| random.word()).collect(),
            Self::Sparse => {
                let mut map = vec![0; words];
                for _ in 0..bits / SPARSE {
                    let bit = random.below(bits);
                    map[bit / 64] |= 1 << (bit % 64);
                }
                map
            }
        }
    }
}

/// One bit in this many of a sparse map is set, or fewer: places may be drawn twice.
const SPARSE: usize = 500;

/// Numbers that look random, and are the same for the same seed.
#[derive(Debug, Clone)]
pub(super) struct SeededNumbers(u64);

impl SeededNumbers {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A step of `SplitMix64`, good and short.
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    /// A number below `end`.
    #[expect(clippy::cast_possible_truncation, reason = "the high half is below `end`")]
    pub(super) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.word()) * end as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ones(map: &[u64]) -> u32 {
        map.iter().map(|word| word.count_ones()).sum()
    }

    #[test]
    fn maps_are_as_full_as_they_should_be() {
        let random = &mut SeededNumbers::new(1);
        assert!((48_000..52_000).contains(&ones(&Fill::Random.map(100_000, random))));
        assert!((190..=200).contains(&ones(&Fill::Sparse.map(100_000, random))));
    }

    #[test]
    fn the_same_seed_makes_the_same_map() {
        let map = |seed| Fill::Random.map(640, &mut SeededNumbers::new(seed));
        assert_eq!(map(7), map(7));
        assert_ne!(map(7), map(8));
    }
}
