//! Durations of many calls in little memory, with percentiles that are true to three percent.

use alloc::vec;
use alloc::vec::Vec;

/// Each doubling is told in as many steps.
const STEPS: usize = 1 << STEP_BITS;
const STEP_BITS: u32 = 5;
/// One row of steps for each bit that a duration may have, and one for those below the first.
const COUNTERS: usize = (65 - STEP_BITS as usize) * STEPS;

/// Counts durations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LatencyHistogram {
    counters: Vec<u64>,
    count: u64,
    total_ns: u64,
    longest_ns: u64,
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self { counters: vec![0; COUNTERS], count: 0, total_ns: 0, longest_ns: 0 }
    }
}

impl LatencyHistogram {
    /// Counts one.
    pub fn add(&mut self, ns: u64) {
        self.counters[place(ns)] += 1;
        self.count += 1;
        self.total_ns = self.total_ns.saturating_add(ns);
        self.longest_ns = self.longest_ns.max(ns);
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// All of them together.
    pub fn total_ns(&self) -> u64 {
        self.total_ns
    }

    /// Their mean; 0 of none.
    pub fn mean_ns(&self) -> u64 {
        self.total_ns.checked_div(self.count).unwrap_or_default()
    }

    /// The duration that `percent` of them do not exceed, to three percent; 0 of none.
    pub fn percentile_ns(&self, percent: u64) -> u64 {
        let wanted = self.count.saturating_mul(percent).div_ceil(100).max(1);
        let mut met = 0;
        for (at, counter) in self.counters.iter().enumerate() {
            met += counter;
            if met >= wanted {
                return longest_in(at).min(self.longest_ns);
            }
        }
        0
    }
}

/// The counter of a duration.
fn place(ns: u64) -> usize {
    let exponent = (u64::BITS - ns.leading_zeros()).saturating_sub(STEP_BITS + 1);
    let step = ns >> exponent;
    // Below twice the steps there is a counter for each.
    let step = usize::try_from(step).unwrap_or(STEPS);
    (exponent as usize * STEPS + step).min(COUNTERS - 1)
}

/// The longest duration that a counter counts.
fn longest_in(place: usize) -> u64 {
    let exponent = (place / STEPS).saturating_sub(1);
    let step = (place - exponent * STEPS) as u64;
    ((step + 1) << exponent).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_is_counted_near_itself() {
        for ns in (0..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + bit]) {
            let told = longest_in(place(ns));
            assert!(told >= ns && told - ns <= ns / 16, "{ns} is told as {told}");
        }
        assert_eq!(longest_in(place(u64::MAX)), u64::MAX);
    }

    #[test]
    fn percentiles_are_those_of_what_was_counted() {
        let mut histogram = LatencyHistogram::default();
        assert_eq!((histogram.mean_ns(), histogram.percentile_ns(50)), (0, 0));
        (1..=100).for_each(|us| histogram.add(us * 1000));
        assert_eq!((histogram.count(), histogram.mean_ns()), (100, 50_500));
        let near = |told: u64, truth: u64| told >= truth && told - truth <= truth / 16;
        assert!(near(histogram.percentile_ns(50), 50_000));
        assert!(near(histogram.percentile_ns(99), 99_000));
        assert_eq!(histogram.percentile_ns(100), 100_000);
    }
}
