//! When the thread that watches rings is put before others.
//!
//! On an idle machine it is an ordinary thread, which looks for requests for a moment before it sleeps: its clients go to sleep
//! right after they have woken it, and to be put in front of them would cost two switches more. On a busy one it would
//! wait for a processor each time, behind threads that never sleep, and the time for which it looks in vain counts against
//! it. So it notes how long it waits. If that is long it is a real-time thread for a while, where it may be, and does not
//! look.

use std::time::{Duration, Instant};

use binder_os::{RunDelay, processes, realtime};

/// How many wake-ups are looked at together.
const WAKE_UPS: u32 = 32;
/// A wait for a processor that is longer than this is long, in the mean.
const LONG_NS: u64 = 100_000;
/// How long the thread is urgent, before it is looked at anew.
const URGENT_FOR: Duration = Duration::from_secs(1);

/// Whether the thread is put before others.
#[derive(Debug, Default)]
pub(super) struct Urgency {
    /// The thread, and its waits; another may take its place.
    delays: Option<(u32, RunDelay)>,
    meter: DelayMeter,
    urgent_until: Option<Instant>,
}

/// How long the thread waits for a processor, in the mean of some wake-ups.
#[derive(Debug, Default)]
struct DelayMeter {
    wake_ups: u32,
    /// The sum of all waits when they were looked at last.
    total_ns: Option<u64>,
}

impl Urgency {
    /// Whether the thread is to sleep as soon as there is nothing to do.
    pub(super) fn is_urgent(&self) -> bool {
        self.urgent_until.is_some()
    }

    /// Notes that the calling thread has woken up.
    pub(super) fn note_wake_up(&mut self, now: Instant) {
        match self.urgent_until {
            Some(until) if now < until => {}
            Some(_) => {
                self.urgent_until = None;
                self.meter = DelayMeter::default();
                // It may have run for so long that it is an ordinary one already.
                let _ = realtime::demote(processes::own_thread());
            }
            None => {
                let delays = &mut self.delays;
                if self.meter.is_long(|| total_ns(delays)) {
                    self.hurry(now);
                }
            }
        }
    }

    fn hurry(&mut self, now: Instant) {
        match realtime::promote(processes::own_thread()) {
            Ok(()) => self.urgent_until = Some(now + URGENT_FOR),
            // It goes on as others do.
            Err(error) => tracing::debug!(%error, "rings are watched by an ordinary thread"),
        }
    }
}

/// How long the calling thread has waited so far, if the kernel counts that.
fn total_ns(delays: &mut Option<(u32, RunDelay)>) -> Option<u64> {
    let own = processes::own_thread();
    if delays.as_ref().is_none_or(|(thread, _)| *thread != own) {
        *delays = Some((own, RunDelay::of_own_thread().ok()?));
    }
    delays.as_ref()?.1.total_ns().ok()
}

impl DelayMeter {
    /// Notes a wake-up. Says whether the waits before the last ones were long.
    fn is_long(&mut self, total_ns: impl FnOnce() -> Option<u64>) -> bool {
        self.wake_ups += 1;
        if self.wake_ups < WAKE_UPS {
            return false;
        }
        self.wake_ups = 0;
        let total_ns = total_ns();
        let before = std::mem::replace(&mut self.total_ns, total_ns);
        let waited = before.zip(total_ns).map(|(before, now)| now.saturating_sub(before));
        waited.is_some_and(|waited| waited > u64::from(WAKE_UPS) * LONG_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Notes as many wake-ups as are looked at together, with this sum at the last.
    fn note(meter: &mut DelayMeter, total_ns: Option<u64>) -> bool {
        for _ in 1..WAKE_UPS {
            assert!(!meter.is_long(|| panic!("it is not asked for at every wake-up")));
        }
        meter.is_long(|| total_ns)
    }

    #[test]
    fn waits_are_long_in_the_mean_or_not() {
        let mut meter = DelayMeter::default();
        let long = u64::from(WAKE_UPS) * LONG_NS;
        assert!(!note(&mut meter, Some(50 * long)), "what was before is not known");
        assert!(!note(&mut meter, Some(51 * long)));
        assert!(note(&mut meter, Some(52 * long + 1)));
        assert!(!note(&mut meter, None), "a kernel that does not count");
        assert!(!note(&mut meter, Some(99 * long)));
    }
}
