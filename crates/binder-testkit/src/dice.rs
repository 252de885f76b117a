//! Numbers that look random and are the same for a seed, on every machine.

/// A generator of 64 bits of state (splitmix64).
#[derive(Debug)]
pub struct Dice(u64);

impl Dice {
    /// A generator that begins as every other with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5eed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `sides`.
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.next() % sides
    }

    /// A number below `sides`.
    pub fn roll_index(&mut self, sides: usize) -> usize {
        usize::try_from(self.roll(sides as u64)).expect("below a usize")
    }

    /// Whether one of that many chances was met.
    pub fn one_in(&mut self, sides: u64) -> bool {
        self.roll(sides) == 0
    }

    /// One of some.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.roll_index(of.len())]
    }
}
