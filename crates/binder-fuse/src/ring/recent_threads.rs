//! Whether more threads make calls than there are processors.
//!
//! Then a thread that looks for its answer, instead of sleeping, keeps another from a processor. The driver's own thread may:
//! all of them wait for it.

use std::sync::LazyLock;
use std::thread;

/// After this many requests it is looked at anew.
const PERIOD: u32 = 64;

/// How many processors the driver may use.
pub(super) fn processors() -> u32 {
    static COUNT: LazyLock<u32> = LazyLock::new(|| {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        u32::try_from(processors).unwrap_or(u32::MAX)
    });
    *COUNT
}

/// The threads that have made the last requests.
#[derive(Debug)]
pub(super) struct RecentThreads {
    processors: u32,
    requests: u32,
    threads: u32,
    exceed_processors: bool,
}

impl Default for RecentThreads {
    fn default() -> Self {
        Self::new(processors())
    }
}

impl RecentThreads {
    fn new(processors: u32) -> Self {
        Self { processors, requests: 0, threads: 0, exceed_processors: processors == 1 }
    }

    /// Notes requests, and how many of their threads had made none in this period. Says whether another period begins.
    pub(super) fn note(&mut self, requests: u32, newcomers: u32) -> bool {
        self.requests += requests;
        self.threads += newcomers;
        if self.requests < PERIOD {
            return false;
        }
        self.exceed_processors = self.processors == 1 || self.threads > self.processors;
        (self.requests, self.threads) = (0, 0);
        true
    }

    pub(super) fn exceed_processors(&self) -> bool {
        self.exceed_processors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A period in which that many threads take turns.
    fn period(recent: &mut RecentThreads, threads: u32) -> bool {
        assert!(!recent.note(threads, threads));
        assert!((threads..PERIOD).all(|at| recent.note(1, 0) == (at == PERIOD - 1)));
        recent.exceed_processors()
    }

    #[test]
    fn threads_are_counted_anew_in_each_period() {
        let mut recent = RecentThreads::new(2);
        assert!(!recent.exceed_processors());
        assert!(!period(&mut recent, 2));
        assert!(period(&mut recent, 3));
        assert!(!period(&mut recent, 1), "each period tells anew");
    }

    #[test]
    fn one_thread_exceeds_one_processor() {
        let mut recent = RecentThreads::new(1);
        assert!(recent.exceed_processors());
        assert!(period(&mut recent, 1));
    }
}
