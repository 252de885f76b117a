//! Numbers in no order, the same in every run.

/// A linear congruential generator: cheap beside the operation measured.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u32) -> Self {
        Self(u64::from(seed) + 1)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        // The high bits are the better ones.
        (((self.0 >> 32) * u64::from(end)) >> 32) as u32
    }

    /// An index into something of length `len`.
    pub(crate) fn index(&mut self, len: usize) -> usize {
        self.below(u32::try_from(len).unwrap_or(u32::MAX)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_below_the_end_and_reach_all_of_it() {
        let mut random = Random::new(7);
        let mut hits = [0; 10];
        for _ in 0..10_000 {
            hits[random.below(10) as usize] += 1;
        }
        assert!(hits.iter().all(|hits| (800..1200).contains(hits)), "{hits:?}");
    }
}
