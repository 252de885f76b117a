//! Until when this machine may act as the owner of its names.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;

/// The end of a lease, by the clock of this machine, as the threads that serve see it.
///
/// The caller says what time it is: a process that was stopped and wakes finds the fence closed before any message has told
/// it so. The clock must go on while the machine sleeps (`CLOCK_BOOTTIME`).
#[derive(Debug, Default)]
pub struct Fence {
    /// In nanoseconds; 0 if there is no lease.
    until_ns: AtomicU64,
}

impl Fence {
    /// Whether this machine may act as an owner at that time.
    #[must_use]
    pub fn is_open(&self, now: Duration) -> bool {
        nanoseconds(now) < self.until_ns.load(Ordering::Acquire)
    }

    /// Lets this machine act until then.
    pub fn open_until(&self, until: Duration) {
        self.until_ns.store(nanoseconds(until), Ordering::Release);
    }

    /// Closes it.
    pub fn close(&self) {
        self.until_ns.store(0, Ordering::Release);
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_closes_by_time_alone() {
        let fence = Fence::default();
        assert!(!fence.is_open(Duration::ZERO));
        fence.open_until(Duration::from_secs(3));
        assert!(fence.is_open(Duration::from_millis(2999)));
        assert!(!fence.is_open(Duration::from_secs(3)));
        fence.close();
        assert!(!fence.is_open(Duration::from_millis(1)));
    }
}
