//! The seven lines of Linux's `find_bit_benchmark`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::baselines;
use super::map::Fill;
use crate::repeat::rounds;

/// How many bits its maps have.
pub(super) const BITS: usize = 4096 * 8 * 10;

/// How often each line is measured at least, both ways in turns; the shortest time counts,
const MIN_ROUNDS: u32 = 9;
/// of as many as fit into this time.
const BUDGET: Duration = Duration::from_millis(100);

/// A line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::enum_variant_names, reason = "the names that the benchmark prints")]
pub(super) enum Line {
    FindNextBit,
    FindNextZeroBit,
    FindLastBit,
    FindNthBit,
    FindFirstBit,
    FindFirstAndBit,
    FindNextAndBit,
}

impl Line {
    pub(super) const ALL: [Self; 7] = [
        Self::FindNextBit,
        Self::FindNextZeroBit,
        Self::FindLastBit,
        Self::FindNthBit,
        Self::FindFirstBit,
        Self::FindFirstAndBit,
        Self::FindNextAndBit,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::FindNextBit => "find_next_bit",
            Self::FindNextZeroBit => "find_next_zero_bit",
            Self::FindLastBit => "find_last_bit",
            Self::FindNthBit => "find_nth_bit",
            Self::FindFirstBit => "find_first_bit",
            Self::FindFirstAndBit => "find_first_and_bit",
            Self::FindNextAndBit => "find_next_and_bit",
        }
    }

    /// How many of the bits it looks at: what takes quadratic time is given fewer.
    fn bits(self, fill: Fill) -> usize {
        match (self, fill) {
            (Self::FindNthBit | Self::FindFirstBit, Fill::Random) => BITS / 10,
            (Self::FindFirstAndBit, Fill::Random) => BITS / 2,
            _ => BITS,
        }
    }

    /// Does what the line measures, and returns the time in nanoseconds and the steps.
    fn run<F: FindFamily>(self, fill: Fill, a: &[u64], b: &[u64]) -> (u64, u64) {
        let size = black_box(self.bits(fill));
        let (words, steps) = (size.div_ceil(64), &mut 0);
        let start;
        match self {
            Self::FindNextBit => {
                start = Instant::now();
                let mut bit = 0;
                while bit < size {
                    bit = F::next(a, size, bit) + 1;
                    *steps += 1;
                }
            }
            Self::FindNextZeroBit => {
                start = Instant::now();
                let mut bit = 0;
                while bit < size {
                    bit = F::next_zero(a, size, bit) + 1;
                    *steps += 1;
                }
            }
            Self::FindLastBit => {
                start = Instant::now();
                let mut end = size;
                while end > 0 {
                    *steps += 1;
                    let bit = F::last(a, end);
                    if bit >= end {
                        break;
                    }
                    end = bit;
                }
            }
            Self::FindNthBit => {
                let weight: u32 = a[..words].iter().map(|word| word.count_ones()).sum();
                start = Instant::now();
                for n in 0..weight as usize {
                    black_box(F::nth(a, size, n));
                    *steps += 1;
                }
            }
            Self::FindFirstBit => {
                let mut left = a[..words].to_vec();
                start = Instant::now();
                while clear(&mut left, size, F::first, steps) {}
            }
            Self::FindFirstAndBit => {
                let mut left = a[..words].to_vec();
                start = Instant::now();
                while clear(&mut left, size, |left, size| F::first_and(left, b, size), steps) {}
            }
            Self::FindNextAndBit => {
                start = Instant::now();
                let mut bit = 0;
                while bit < size {
                    bit = F::next_and(a, b, size, bit + 1);
                    *steps += 1;
                }
            }
        }
        (u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX), *steps)
    }
}

/// Clears the bit found, if any.
#[inline(always)]
fn clear(
    map: &mut [u64],
    size: usize,
    find: impl Fn(&[u64], usize) -> usize,
    steps: &mut u64,
) -> bool {
    let bit = find(map, size);
    *steps += 1;
    if bit < size {
        map[bit / 64] &= !(1 << (bit % 64));
    }
    bit < size
}

/// What a line took.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineTimes {
    pub(super) plain_ns: u64,
    pub(super) ours_ns: u64,
    pub(super) iterations: u64,
    pub(super) plain_iterations: u64,
}

/// Measures a line over two maps.
pub(super) fn measure(line: Line, fill: Fill, a: &[u64], b: &[u64]) -> LineTimes {
    let (mut plain_ns, mut ours_ns) = (u64::MAX, u64::MAX);
    let (mut plain_iterations, mut iterations) = (0, 0);
    for _ in rounds(MIN_ROUNDS, BUDGET) {
        let (a, b) = (black_box(a), black_box(b));
        let (ns, steps) = line.run::<Plain>(fill, a, b);
        (plain_ns, plain_iterations) = (plain_ns.min(ns), steps);
        let (ns, steps) = line.run::<OurSearch>(fill, a, b);
        (ours_ns, iterations) = (ours_ns.min(ns), steps);
    }
    LineTimes { plain_ns, ours_ns, iterations, plain_iterations }
}

/// A find family; answers `size` where there is nothing.
trait FindFamily {
    fn next(words: &[u64], size: usize, start: usize) -> usize;
    fn next_zero(words: &[u64], size: usize, start: usize) -> usize;
    fn last(words: &[u64], size: usize) -> usize;
    fn nth(words: &[u64], size: usize, n: usize) -> usize;
    fn first(words: &[u64], size: usize) -> usize;
    fn first_and(a: &[u64], b: &[u64], size: usize) -> usize;
    fn next_and(a: &[u64], b: &[u64], size: usize, start: usize) -> usize;
}

/// A word at a time.
enum Plain {}

impl FindFamily for Plain {
    fn next(words: &[u64], size: usize, start: usize) -> usize {
        baselines::next_bit(words, size, start)
    }

    fn next_zero(words: &[u64], size: usize, start: usize) -> usize {
        baselines::next_zero_bit(words, size, start)
    }

    fn last(words: &[u64], size: usize) -> usize {
        baselines::last_bit(words, size)
    }

    fn nth(words: &[u64], size: usize, n: usize) -> usize {
        baselines::nth_bit(words, size, n)
    }

    fn first(words: &[u64], size: usize) -> usize {
        baselines::first_bit(words, size)
    }

    fn first_and(a: &[u64], b: &[u64], size: usize) -> usize {
        baselines::first_and_bit(a, b, size)
    }

    fn next_and(a: &[u64], b: &[u64], size: usize, start: usize) -> usize {
        baselines::next_and_bit(a, b, size, start)
    }
}

enum OurSearch {}

impl FindFamily for OurSearch {
    fn next(words: &[u64], size: usize, start: usize) -> usize {
        bitsearch::next_bit(words, size, start).unwrap_or(size)
    }

    fn next_zero(words: &[u64], size: usize, start: usize) -> usize {
        bitsearch::next_zero_bit(words, size, start).unwrap_or(size)
    }

    fn last(words: &[u64], size: usize) -> usize {
        bitsearch::last_bit(words, size).unwrap_or(size)
    }

    fn nth(words: &[u64], size: usize, n: usize) -> usize {
        bitsearch::nth_bit(words, size, n).unwrap_or(size)
    }

    fn first(words: &[u64], size: usize) -> usize {
        bitsearch::first_bit(words, size).unwrap_or(size)
    }

    fn first_and(a: &[u64], b: &[u64], size: usize) -> usize {
        bitsearch::first_and_bit(a, b, size).unwrap_or(size)
    }

    fn next_and(a: &[u64], b: &[u64], size: usize, start: usize) -> usize {
        bitsearch::next_and_bit(a, b, size, start).unwrap_or(size)
    }
}

#[cfg(test)]
mod tests {
    use super::super::map::SeededNumbers;
    use super::*;

    /// How many steps the lines take, by the bits that are set.
    #[test]
    fn lines_take_the_steps_that_linux_counts() {
        let random = &mut SeededNumbers::new(3);
        let [a, b] = [(); 2].map(|()| Fill::Sparse.map(BITS, random));
        let is_set = |map: &[u64], bit: usize| map[bit / 64] >> (bit % 64) & 1 == 1;
        let count = |wanted: &dyn Fn(usize) -> bool| (0..BITS).filter(|bit| wanted(*bit)).count();
        let set = count(&|bit| is_set(&a, bit));
        let both = count(&|bit| is_set(&a, bit) && is_set(&b, bit));
        let not_last = usize::from(!is_set(&a, BITS - 1));
        let expected = [
            set + not_last,
            BITS - set + usize::from(is_set(&a, BITS - 1)),
            set + usize::from(!is_set(&a, 0)),
            set,
            set + 1,
            both + 1,
            both + usize::from(!(is_set(&a, 0) && is_set(&b, 0))),
        ];
        for (line, expected) in Line::ALL.into_iter().zip(expected) {
            let expected = expected as u64;
            assert_eq!(line.run::<Plain>(Fill::Sparse, &a, &b).1, expected, "{line:?}");
            assert_eq!(line.run::<OurSearch>(Fill::Sparse, &a, &b).1, expected, "{line:?}");
        }
    }
}
