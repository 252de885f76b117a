//! Which threads make calls, and where they run.
//!
//! If they are more than there are processors, a thread that looks for its answer, instead of sleeping, keeps another from a
//! processor. The driver's own thread may: all of them wait for it.
//!
//! If they are two at most, of one processor, and wait for each other, they and the driver take turns, wherever the driver runs. On
//! another processor it would be woken there, and wake them across, which takes several times as long. Threads that send one-ways do not
//! wait: they go on while the driver works on another processor.

use std::sync::LazyLock;
use std::thread;

use binder_ring::layout::NO_CPU;

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

/// A caller and its server.
const PAIR: u32 = 2;

/// The threads that have made the last requests.
#[derive(Debug)]
pub(super) struct RecentThreads {
    processors: u32,
    requests: u32,
    threads: u32,
    place: ThreadPlace,
    exceed_processors: bool,
    /// Where the driver had better run, too.
    common_cpu: Option<u32>,
}

/// Where threads run.
#[derive(Debug, Clone, Copy)]
enum ThreadPlace {
    Unknown,
    On(u32),
    Apart,
}

impl Default for RecentThreads {
    fn default() -> Self {
        Self::new(processors())
    }
}

impl RecentThreads {
    fn new(processors: u32) -> Self {
        let exceed_processors = processors == 1;
        let (place, common_cpu) = (ThreadPlace::Unknown, None);
        Self { processors, requests: 0, threads: 0, place, exceed_processors, common_cpu }
    }

    /// Notes where the threads of requests ran, which are counted next: `NO_CPU` if that is not known, or is not one processor.
    pub(super) fn note_cpu(&mut self, cpu: u32) {
        self.place = match self.place {
            ThreadPlace::Unknown if cpu != NO_CPU => ThreadPlace::On(cpu),
            ThreadPlace::On(known) if known == cpu => ThreadPlace::On(cpu),
            ThreadPlace::Unknown | ThreadPlace::On(_) | ThreadPlace::Apart => ThreadPlace::Apart,
        };
    }

    /// Notes requests, and how many of their threads had made none in this period. Says whether another period begins.
    ///
    /// `elsewhere` says how many clients other threads of the driver's watch, whose threads need processors, too. It is asked at the end of
    /// a period.
    pub(super) fn note(
        &mut self,
        requests: u32,
        newcomers: u32,
        elsewhere: impl FnOnce() -> usize,
    ) -> bool {
        self.requests += requests;
        self.threads += newcomers;
        if self.requests < PERIOD {
            return false;
        }
        let threads = self.threads as usize + elsewhere();
        self.exceed_processors = self.processors == 1 || threads > self.processors as usize;
        self.common_cpu = match self.place {
            ThreadPlace::On(cpu) if self.threads <= PAIR => Some(cpu),
            ThreadPlace::Unknown | ThreadPlace::On(_) | ThreadPlace::Apart => None,
        };
        (self.requests, self.threads, self.place) = (0, 0, ThreadPlace::Unknown);
        true
    }

    /// The processor on which a pair of threads made all requests of the last period, if it is one.
    pub(super) fn common_cpu(&self) -> Option<u32> {
        self.common_cpu
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
        period_beside(recent, threads, 0)
    }

    /// The same, while other threads of the driver's watch that many clients.
    fn period_beside(recent: &mut RecentThreads, threads: u32, elsewhere: usize) -> bool {
        assert!(!recent.note(threads, threads, || elsewhere));
        assert!((threads..PERIOD).all(|at| recent.note(1, 0, || elsewhere) == (at == PERIOD - 1)));
        recent.exceed_processors()
    }

    #[test]
    fn threads_are_counted_anew_in_each_period() {
        let mut recent = RecentThreads::new(2);
        assert!(!recent.exceed_processors());
        assert!(!period(&mut recent, 2));
        assert!(period(&mut recent, 3));
        assert!(!period(&mut recent, 1), "each period tells anew");
        assert!(!period_beside(&mut recent, 1, 1) && period_beside(&mut recent, 1, 2));
    }

    #[test]
    fn a_pair_of_one_processor_has_that_in_common() {
        let mut recent = RecentThreads::new(4);
        let mut common = |threads: u32, cpus: &[u32]| {
            cpus.iter().for_each(|cpu| recent.note_cpu(*cpu));
            period(&mut recent, threads);
            recent.common_cpu()
        };
        assert_eq!([common(2, &[3, 3, 3]), common(1, &[1])], [Some(3), Some(1)]);
        assert_eq!(common(3, &[1, 1]), None, "their work goes on meanwhile");
        assert_eq!([common(2, &[1, 0, 1]), common(2, &[0, NO_CPU]), common(2, &[])], [None; 3]);
        assert_eq!([common(2, &[NO_CPU, 0]), common(2, &[0, 0])], [None, Some(0)]);
    }

    #[test]
    fn one_thread_exceeds_one_processor() {
        let mut recent = RecentThreads::new(1);
        assert!(recent.exceed_processors());
        assert!(period(&mut recent, 1));
    }
}
