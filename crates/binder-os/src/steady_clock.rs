//! A clock that is read often: no more than the kernel's page of the time, and one subtraction.

use rustix::time::{ClockId, clock_gettime};

/// Counts nanoseconds from when it was started.
#[derive(Clone, Copy, Debug)]
pub struct SteadyClock {
    start_ns: u64,
}

impl SteadyClock {
    /// Starts one.
    pub fn start() -> Self {
        Self { start_ns: monotonic_ns() }
    }

    /// Nanoseconds since then; after 584 years it begins again.
    pub fn now_ns(self) -> u64 {
        monotonic_ns().wrapping_sub(self.start_ns)
    }
}

fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned().wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn it_goes_as_other_clocks_do() {
        let before = Instant::now();
        let clock = SteadyClock::start();
        let after = Instant::now();
        let least = after.elapsed();
        let passed = Duration::from_nanos(clock.now_ns());
        assert!(least <= passed && passed <= before.elapsed());
    }
}
