//! The places of the threads that read requests: where each stands, which do not read now, and how reading ended.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread;

use binder_os::processes;

use crate::error::ServeError;

/// More readers than these would wait for one another, as a rule.
const MAX_DEFAULT_READERS: usize = 8;
/// More than these there are in no case.
const MAX_READERS: usize = 64;

/// How reading came to its end.
#[derive(Default)]
pub(crate) struct SessionEnd {
    result: Mutex<Option<Result<(), ServeError>>>,
    has_come: Condvar,
}

impl SessionEnd {
    pub(crate) fn come(&self, result: Result<(), ServeError>) {
        *self.result.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(result);
        self.has_come.notify_all();
    }

    /// Waits for it.
    pub(crate) fn wait(&self) -> Result<(), ServeError> {
        let mut result = self.result.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        loop {
            match result.take() {
                Some(result) => return result,
                None => {
                    let waited = self.has_come.wait(result);
                    result = waited.unwrap_or_else(|poisoned| poisoned.into_inner());
                }
            }
        }
    }
}

/// The places of all readers of a session.
pub(crate) struct Readers {
    pub(crate) places: Vec<ReaderPlace>,
    /// So many of the last places are those of threads that watch rings.
    ring_threads: usize,
    pub(crate) parked: ParkedReaders,
}

/// Where a reader stands, as the housekeeper sees it.
#[derive(Debug)]
pub(crate) struct ReaderPlace {
    /// Odd while it answers a request, even while it waits for one. Only the reader takes steps, and
    /// the thread that takes its place.
    pub(crate) steps: AtomicU64,
    /// The number of its thread.
    pub(crate) tid: AtomicU32,
    /// The process in whose memory it is; 0 if in none.
    pub(crate) client: AtomicU32,
}

/// The further readers that do not read now.
#[derive(Default)]
pub(crate) struct ParkedReaders {
    /// How many of them are to read again, and whether all are to end.
    state: Mutex<ParkedState>,
    /// How many there are, for a look without the lock.
    count: AtomicUsize,
    changed: Condvar,
}

#[derive(Default)]
struct ParkedState {
    wanted: usize,
    is_over: bool,
}

impl Default for ReaderPlace {
    fn default() -> Self {
        // The first thread takes over from no other.
        Self { steps: AtomicU64::new(1), tid: AtomicU32::new(0), client: AtomicU32::new(0) }
    }
}

impl Readers {
    /// Places for that many readers, or without a number for one for every two processors: what a call takes of the
    /// driver's time, and of its clients', is about the same. And for so many threads that watch rings.
    pub(crate) fn new(wanted: Option<NonZeroUsize>, ring_threads: usize) -> Self {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let count = wanted
            .map_or((processors / 2).min(MAX_DEFAULT_READERS), usize::from)
            .clamp(1, MAX_READERS);
        let places = (0..count + ring_threads).map(|_| ReaderPlace::default()).collect();
        Self { places, ring_threads, parked: ParkedReaders::default() }
    }

    /// How far all readers are, together.
    pub(crate) fn steps(&self) -> u64 {
        self.places.iter().map(|place| place.steps.load(Ordering::SeqCst)).sum()
    }

    /// Where each is that answers a request; the others are at 0.
    pub(crate) fn busy_steps(&self, steps: &mut Vec<u64>) {
        let busy = |place: &ReaderPlace| match place.steps.load(Ordering::Acquire) {
            step if step % 2 == 1 => step,
            _ => 0,
        };
        steps.clear();
        steps.extend(self.places.iter().map(busy));
    }

    /// Which of the threads that watch rings a place is that of, if it is.
    pub(crate) fn ring_thread(&self, at: usize) -> Option<usize> {
        at.checked_sub(self.places.len() - self.ring_threads)
    }

    /// Lets the further readers end that do not read now.
    pub(crate) fn end(&self) {
        self.parked.state().is_over = true;
        self.parked.changed.notify_all();
    }
}

impl ParkedReaders {
    /// Waits until another reader is wanted. Says whether to go on.
    pub(crate) fn park(&self) -> bool {
        let mut state = self.state();
        self.count.fetch_add(1, Ordering::Relaxed);
        while state.wanted == 0 && !state.is_over {
            state = self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        state.wanted = state.wanted.saturating_sub(1);
        self.count.fetch_sub(1, Ordering::Relaxed);
        !state.is_over
    }

    /// Whether there is a further reader that does not read now.
    pub(crate) fn has_one(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    /// Has a further reader read, if there is one.
    pub(crate) fn want_another(&self) {
        if self.has_one() {
            self.state().wanted = 1;
            self.changed.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, ParkedState> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl ReaderPlace {
    /// Puts the calling thread in the place of the reader that is busy with `step`, if it still is.
    /// Returns where it begins, and in whose memory the other is stuck.
    pub(crate) fn take_over(&self, step: u64) -> Option<(u64, Option<u32>)> {
        let client = self.client.load(Ordering::Acquire);
        let next = step + 2;
        self.steps.compare_exchange(step, next, Ordering::AcqRel, Ordering::Relaxed).ok()?;
        self.client.store(0, Ordering::Release);
        self.tid.store(processes::own_thread(), Ordering::Relaxed);
        Some((next, (client != 0).then_some(client)))
    }
}

#[cfg(test)]
mod tests;
