//! How long a thread looks for its answer before it sleeps.

use core::hint;
use core::sync::atomic::{AtomicU32, Ordering};

use binder_ring::layout::NO_CPU;

/// The most looks of a thread. With a pause in between they take some tens of microseconds, about as long as it takes to wake
/// an idle processor.
const MAX_LOOKS: u32 = 3000;

/// One in this many waits of a slot is given all looks, even if the last ones were in vain. That adds less than half a
/// microsecond to each wait.
const RETRIAL: u32 = 256;

/// How the last waits of a slot, or of a lane, ended.
///
/// Looking pays if the driver's thread runs meanwhile on another processor. It does not pay if that thread waits for the
/// very processor that the waiting thread occupies, nor if other threads wait for it, nor if no answer comes for a long
/// time, as in an idle server. The first two are known: the driver tells where it runs, and whether to look at all. The third
/// is learned: each answer that does not come in time halves the looks of the next wait, down to none; an answer in
/// time restores them. Since no answer can come in time without a look, once in a while there are all looks again.
#[derive(Debug, Default)]
pub struct SpinHistory {
    /// How many waits in a row have looked in vain.
    failures: AtomicU32,
}

impl SpinHistory {
    /// That of a thread that has not waited yet.
    pub const fn new() -> Self {
        Self { failures: AtomicU32::new(0) }
    }

    /// Looks until `is_answered`, as long as that is worth while. Says whether it is.
    #[inline(always)]
    pub fn spin(&self, own_cpu: u32, driver_cpu: u32, is_answered: impl Fn() -> bool) -> bool {
        let Some(looks) = self.looks(own_cpu, driver_cpu) else { return is_answered() };
        for _ in 0..looks {
            if is_answered() {
                self.note(true);
                return true;
            }
            hint::spin_loop();
        }
        self.note(false);
        is_answered()
    }

    /// How often the thread is to look before it sleeps. None if what it waits for cannot come meanwhile.
    #[inline(always)]
    pub(crate) fn looks(&self, own_cpu: u32, other_cpu: u32) -> Option<u32> {
        // The slot has one thread, so no other changes the count.
        let failures = self.failures.load(Ordering::Relaxed);
        (own_cpu != other_cpu && other_cpu != NO_CPU).then(|| looks(failures))
    }

    /// Notes whether what the thread has waited for came while it looked.
    #[inline(always)]
    pub(crate) fn note(&self, is_in_time: bool) {
        let failures = self.failures.load(Ordering::Relaxed);
        if !is_in_time {
            self.failures.store(failures.wrapping_add(1), Ordering::Relaxed);
        } else if failures != 0 {
            self.failures.store(0, Ordering::Relaxed);
        }
    }
}

#[inline(always)]
fn looks(failures: u32) -> u32 {
    if failures.is_multiple_of(RETRIAL) {
        MAX_LOOKS
    } else {
        MAX_LOOKS.checked_shr(failures).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::*;

    /// Waits for an answer that never comes, and counts the looks.
    fn wait_in_vain(history: &SpinHistory, own_cpu: u32) -> u32 {
        let count = Cell::new(0);
        let looked = || {
            count.set(count.get() + 1);
            false
        };
        assert!(!history.spin(own_cpu, 0, looked));
        count.get()
    }

    #[test]
    fn a_thread_on_the_drivers_processor_looks_once() {
        let history = SpinHistory::default();
        assert_eq!(wait_in_vain(&history, 0), 1);
        assert_eq!(wait_in_vain(&history, 1), MAX_LOOKS + 1, "that was no failure");
    }

    #[test]
    fn no_thread_looks_where_the_driver_says_so() {
        let is_answered = || true;
        let looked = Cell::new(0);
        let history = SpinHistory::default();
        assert!(!history.spin(0, NO_CPU, || {
            looked.set(looked.get() + 1);
            false
        }));
        assert_eq!(looked.get(), 1);
        assert!(history.spin(0, NO_CPU, is_answered));
    }

    #[test]
    fn a_thread_that_looks_in_vain_looks_less_and_tries_again_later() {
        let history = SpinHistory::default();
        let looks: std::vec::Vec<_> = (0..RETRIAL + 2).map(|_| wait_in_vain(&history, 1)).collect();
        assert_eq!(looks[..4], [3001, 1501, 751, 376]);
        assert!(looks[12..256].iter().all(|looks| *looks == 1), "{looks:?}");
        assert_eq!(looks[256..], [3001, 1]);
        // The wait after the next trial is answered in time.
        for _ in RETRIAL + 2..2 * RETRIAL {
            wait_in_vain(&history, 1);
        }
        assert!(history.spin(1, 0, || true));
        assert_eq!(wait_in_vain(&history, 1), 3001);
    }
}
