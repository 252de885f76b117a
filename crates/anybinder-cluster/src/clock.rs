//! The clock of leases: it never goes back, and goes on while the machine sleeps or this process is stopped.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// What time it is, since the machine was started.
pub(crate) fn now() -> Duration {
    let now = clock_gettime(ClockId::Boottime);
    // This clock has no negative times.
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// What time people think it is, in seconds since 1970.
pub(crate) fn wall_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
