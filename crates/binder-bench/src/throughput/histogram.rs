//! How many calls took how long, in ranges that double.

use std::fmt;

use crate::statistics::Samples;
use crate::table;

/// Counts of samples: the n-th of those below 2^n and not below half of that.
#[derive(Debug, Clone)]
pub(super) struct Histogram([u64; 65]);

/// The length of the longest bar.
const BAR: u64 = 50;

impl Histogram {
    pub(super) fn new(samples: &Samples) -> Self {
        let mut counts = [0; 65];
        for sample in samples.iter() {
            counts[(u64::BITS - sample.leading_zeros()) as usize] += 1;
        }
        Self(counts)
    }
}

impl fmt::Display for Histogram {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = self.0.iter().max().copied().unwrap_or(0).max(1);
        let first = self.0.iter().position(|count| *count > 0).unwrap_or(0);
        let last = self.0.iter().rposition(|count| *count > 0).unwrap_or(0);
        // The end of the last range is beyond what a number can hold, and no call takes so long.
        let ends = (0..u64::BITS).map(|range| 1_u64 << range).chain([u64::MAX]);
        for (count, end) in self.0.iter().zip(ends).take(last + 1).skip(first) {
            let bar: String = (0..(count * BAR).div_ceil(most)).map(|_| '#').collect();
            writeln!(formatter, "  < {:>8}  {count:>9}  {bar}", table::duration(Some(end)))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_counted_in_ranges_that_double() {
        let mut samples = Samples::default();
        samples.extend(&[512, 600, 1023, 1024, 5000]);
        let lines = Histogram::new(&samples).to_string();
        let lines: Vec<_> = lines.lines().map(str::split_whitespace).collect();
        let words: Vec<Vec<_>> = lines.into_iter().map(Iterator::collect).collect();
        let bar = "#".repeat(50);
        let third = "#".repeat(17);
        assert_eq!(words[0], ["<", "1.0", "us", "3", &bar]);
        assert_eq!(words[1], ["<", "2.0", "us", "1", &third]);
        assert_eq!(words[2], ["<", "4.1", "us", "0"]);
        assert_eq!(words[3], ["<", "8.2", "us", "1", &third]);
        assert_eq!(words.len(), 4);
    }

    #[test]
    fn nothing_is_drawn_of_no_samples_and_the_longest_has_a_range() {
        assert_eq!(Histogram::new(&Samples::default()).to_string().matches('#').count(), 0);
        let mut samples = Samples::default();
        samples.extend(&[u64::MAX]);
        assert_eq!(Histogram::new(&samples).to_string().matches('#').count(), 50);
    }
}
