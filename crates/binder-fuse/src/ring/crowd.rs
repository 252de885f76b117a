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
pub(super) struct Crowd {
    processors: u32,
    requests: u32,
    threads: u32,
    is_crowd: bool,
}

impl Default for Crowd {
    fn default() -> Self {
        Self::new(processors())
    }
}

impl Crowd {
    fn new(processors: u32) -> Self {
        Self { processors, requests: 0, threads: 0, is_crowd: processors == 1 }
    }

    /// Notes requests, and how many of their threads had made none in this period. Says whether another period begins.
    pub(super) fn note(&mut self, requests: u32, newcomers: u32) -> bool {
        self.requests += requests;
        self.threads += newcomers;
        if self.requests < PERIOD {
            return false;
        }
        self.is_crowd = self.processors == 1 || self.threads > self.processors;
        (self.requests, self.threads) = (0, 0);
        true
    }

    pub(super) fn is_crowd(&self) -> bool {
        self.is_crowd
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A period in which that many threads take turns.
    fn period(crowd: &mut Crowd, threads: u32) -> bool {
        assert!(!crowd.note(threads, threads));
        assert!((threads..PERIOD).all(|at| crowd.note(1, 0) == (at == PERIOD - 1)));
        crowd.is_crowd()
    }

    #[test]
    fn threads_are_a_crowd_if_they_are_more_than_the_processors() {
        let mut crowd = Crowd::new(2);
        assert!(!crowd.is_crowd());
        assert!(!period(&mut crowd, 2));
        assert!(period(&mut crowd, 3));
        assert!(!period(&mut crowd, 1), "each period tells anew");
    }

    #[test]
    fn on_one_processor_one_is_a_crowd() {
        let mut crowd = Crowd::new(1);
        assert!(crowd.is_crowd());
        assert!(period(&mut crowd, 1));
    }
}
