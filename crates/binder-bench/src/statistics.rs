//! Statistics of many measurements.

/// Measurements of one thing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples(Vec<u64>);

impl Samples {
    pub(crate) fn extend(&mut self, values: &[u64]) {
        self.0.extend(values);
    }

    pub(crate) fn append(&mut self, other: &Self) {
        self.extend(&other.0);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> {
        self.0.iter().copied()
    }

    /// Returns the mean; 0 of no samples.
    pub(crate) fn mean(&self) -> u64 {
        let sum: u128 = self.iter().map(u128::from).sum();
        u64::try_from(sum / (self.len().max(1) as u128)).unwrap_or(u64::MAX)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the smallest value that at least `percent` of all do not exceed; 0 of no samples.
    pub(crate) fn percentile(&mut self, percent: usize) -> u64 {
        debug_assert!((1..=100).contains(&percent), "{percent} is not a rank");
        let rank = (self.0.len() * percent).div_ceil(100);
        let Some(index) = rank.checked_sub(1) else { return 0 };
        *self.0.select_nth_unstable(index).1
    }
}

/// Returns how many times `b` is contained in `a`; `None` if `b` is nothing.
#[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
pub(crate) fn ratio(a: u64, b: u64) -> Option<f64> {
    (b != 0).then(|| a as f64 / b as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_nearest_rank() {
        let mut samples = Samples::default();
        samples.extend(&(1..=200).rev().collect::<Vec<_>>());
        assert_eq!([1, 50, 99, 100].map(|percent| samples.percentile(percent)), [2, 100, 198, 200]);
        assert_eq!((samples.mean(), Samples::default().mean()), (100, 0));
    }

    #[test]
    fn few_samples_have_percentiles_too() {
        let mut samples = Samples::default();
        assert_eq!(samples.percentile(50), 0);
        samples.extend(&[7]);
        assert_eq!([1, 50, 99].map(|percent| samples.percentile(percent)), [7; 3]);
        samples.extend(&[9]);
        assert_eq!([50, 99].map(|percent| samples.percentile(percent)), [7, 9]);
        assert_eq!(samples.len(), 2);
    }

    #[test]
    fn nothing_is_no_measure_for_a_ratio() {
        assert_eq!(ratio(3, 2), Some(1.5));
        assert_eq!(ratio(3, 0), None);
    }
}
