//! The thread that watches the bells of busy clients.
//!
//! It never touches the memory of a client but for segments, so no client can hold it up; what it finds to be done elsewhere
//! it leaves to the pool. Clients that post nothing for a while are watched no longer: their next call comes by an ioctl.

use std::hint;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use binder_os::processes;
use binder_os::ring_memory::{self, MOST_BELLS};
use binder_ring::{BellState, SlotIndex};

use super::file::RingFile;
use crate::client_file::ClientFile;
use crate::device::Batch;
use crate::readers;
use crate::session::SessionShared;

/// A client that has posted nothing for so long is watched no longer.
const IDLE_AFTER: Duration = Duration::from_millis(50);
/// So many wake-ups in a row for nothing, and a client is never watched again.
const PATIENCE: u32 = 1000;
/// So often it looks once more before it sleeps, when clients run on other processors: to be woken there takes longer.
const LOOKS: u32 = 2000;

/// What others tell the thread.
#[derive(Debug, Default)]
pub(crate) struct RingWatcher {
    /// What it sleeps on, beside the bells: not 0 if there is news.
    news: AtomicU32,
    newcomers: Mutex<Vec<Watched>>,
    is_over: AtomicBool,
    /// Whether there is such a thread.
    pub(super) runs: AtomicBool,
    tid: AtomicU32,
    /// How often it has found something.
    steps: AtomicU64,
}

/// A client that is watched.
#[derive(Debug)]
struct Watched {
    file: Arc<ClientFile>,
    ring: Arc<RingFile>,
    /// When it last posted something.
    seen_at: Instant,
    /// Where its thread ran then.
    cpu: u32,
    /// Wake-ups in a row for nothing.
    in_vain: u32,
}

impl RingWatcher {
    /// Has a ring watched if it is busy, after one of its threads has told of a request by an ioctl.
    pub(super) fn note_rung(&self, file: &Arc<ClientFile>, ring: &Arc<RingFile>) {
        let is_busy = ring.note_rung();
        if !is_busy
            || !self.runs.load(Ordering::Acquire)
            || ring.is_watched.swap(true, Ordering::AcqRel)
        {
            return;
        }
        let (file, ring) = (file.clone(), ring.clone());
        let watched = Watched { file, ring, seen_at: Instant::now(), cpu: 0, in_vain: 0 };
        self.newcomers().push(watched);
        self.tell();
    }

    /// Has a ring that has ended be forgotten.
    pub(super) fn forget(&self, ring: &RingFile) {
        ring.is_over.store(true, Ordering::Release);
        if ring.is_watched.load(Ordering::Acquire) {
            self.tell();
        }
    }

    /// The number of the thread, once it runs.
    pub(crate) fn tid(&self) -> Option<u32> {
        Some(self.tid.load(Ordering::Relaxed)).filter(|tid| *tid != 0)
    }

    /// How far the thread is.
    pub(crate) fn steps(&self) -> u64 {
        self.steps.load(Ordering::SeqCst)
    }

    /// Has the thread end.
    pub(crate) fn stop(&self) {
        self.is_over.store(true, Ordering::Release);
        self.tell();
    }

    fn tell(&self) {
        self.news.store(1, Ordering::Release);
        ring_memory::wake_one(&self.news);
    }

    fn newcomers(&self) -> MutexGuard<'_, Vec<Watched>> {
        self.newcomers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts the thread.
pub(crate) fn start(shared: &Arc<SessionShared>) -> std::io::Result<JoinHandle<()>> {
    let kept = shared.clone();
    thread::Builder::new().name("ring".into()).spawn(move || run(&kept))
}

fn run(shared: &SessionShared) {
    let watcher = &shared.rings.watcher;
    watcher.tid.store(processes::own_thread(), Ordering::Relaxed);
    readers::promote_one(shared, processes::own_thread());
    watcher.runs.store(true, Ordering::Release);
    let mut thread = WatcherThread { shared, watched: Vec::new(), batch: Batch::default(), cpu: 0 };
    while !watcher.is_over.load(Ordering::Acquire) {
        if watcher.news.swap(0, Ordering::Acquire) != 0 {
            thread.take_news();
        }
        if !thread.look() && !thread.look_longer() {
            thread.sleep();
        }
    }
    watcher.runs.store(false, Ordering::Release);
    for watched in thread.watched {
        unwatch(&watched);
    }
}

struct WatcherThread<'s> {
    shared: &'s SessionShared,
    watched: Vec<Watched>,
    batch: Batch,
    /// Where it ran when it last told its clients.
    cpu: u32,
}

impl WatcherThread<'_> {
    fn take_news(&mut self) {
        self.watched.retain(|it| !it.ring.is_over.load(Ordering::Acquire));
        let newcomers = std::mem::take(&mut *self.shared.rings.watcher.newcomers());
        for watched in newcomers {
            if self.watched.len() < MOST_BELLS {
                watched.ring.set_driver_cpu(self.cpu);
                watched.ring.bell().set_awake();
                self.watched.push(watched);
            } else {
                unwatch(&watched);
            }
        }
    }

    /// Runs what was posted. Says whether anything was.
    fn look(&mut self) -> bool {
        let mut found = false;
        for watched in &mut self.watched {
            let posted = watched.ring.take_posted();
            if posted == 0 {
                continue;
            }
            found = true;
            watched.seen_at = Instant::now();
            if let Some(slot) = SlotIndex::of_bits(posted).next() {
                watched.cpu = watched.ring.client_cpu(slot);
            }
            let Watched { file, ring, .. } = watched;
            let is_any = self.shared.run_posted(file, ring, posted, &mut self.batch);
            watched.in_vain = if is_any { 0 } else { watched.in_vain + 1 };
        }
        if found {
            self.shared.rings.watcher.steps.fetch_add(1, Ordering::SeqCst);
            self.shared.housekeeping.note_request();
        }
        found
    }

    /// Waits for a moment whether something is posted, if to sleep would take longer. Says whether it is.
    fn look_longer(&self) -> bool {
        let Some(latest) = self.watched.iter().max_by_key(|it| it.seen_at) else { return false };
        if latest.cpu == self.cpu {
            return false;
        }
        for _ in 0..LOOKS {
            if self.watched.iter().any(|it| it.ring.bell().has_posted()) {
                return true;
            }
            hint::spin_loop();
        }
        false
    }

    fn sleep(&mut self) {
        self.tell_cpu();
        for watched in &self.watched {
            watched.ring.bell().set(BellState::Asleep);
        }
        if !self.watched.iter().any(|it| it.ring.bell().has_posted()) {
            let bells = self.watched.iter().map(|it| it.ring.bell().word());
            let within = (!self.watched.is_empty()).then_some(IDLE_AFTER);
            if let Err(error) = ring_memory::sleep(&self.shared.rings.watcher.news, bells, within) {
                tracing::warn!(%error, "rings cannot be watched");
                self.watched.iter().for_each(unwatch);
                self.watched.clear();
                self.shared.rings.watcher.stop();
                return;
            }
        }
        let now = Instant::now();
        for watched in &mut self.watched {
            watched.in_vain += u32::from(watched.ring.bell().is_rung());
        }
        self.tell_cpu();
        self.watched.retain(|watched| {
            let is_idle = now - watched.seen_at >= IDLE_AFTER;
            if !is_idle && watched.in_vain < PATIENCE {
                watched.ring.bell().set_awake();
                return true;
            }
            unwatch(watched);
            // What was posted in this moment is run here; a thread that comes later makes the ioctl.
            if watched.ring.bell().has_posted() && is_idle {
                let posted = watched.ring.take_posted();
                let Watched { file, ring, .. } = watched;
                self.shared.run_posted(file, ring, posted, &mut self.batch);
            }
            false
        });
    }

    /// Tells clients where this thread runs.
    fn tell_cpu(&mut self) {
        let cpu = processes::own_cpu();
        if cpu != self.cpu {
            self.cpu = cpu;
            for watched in &self.watched {
                watched.ring.set_driver_cpu(cpu);
            }
        }
    }
}

/// Tells a client's threads that their bell is not heard.
fn unwatch(watched: &Watched) {
    watched.ring.bell().set(BellState::Unwatched);
    let is_trusted = watched.in_vain < PATIENCE;
    watched.ring.is_watched.store(!is_trusted, Ordering::Release);
}
