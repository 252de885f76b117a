//! The threads that watch bells: one for all clients, or, where a thread can sleep on one bell alone, one for each client.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use binder_os::ring_memory;

use super::bell_places::BellPlaces;
use super::file::RingFile;
use super::watcher::RingWatcher;
use crate::client_file::ClientFile;

/// So many clients are watched at once where each takes a thread.
const CLIENTS_WITH_A_THREAD: usize = 16;

/// The threads of a session that watch bells.
#[derive(Debug)]
pub(crate) struct RingWatchers {
    watchers: Box<[RingWatcher]>,
    places: BellPlaces,
}

impl RingWatchers {
    pub(crate) fn new() -> Self {
        let bells = ring_memory::bells_of_thread();
        let threads = if bells == 1 { CLIENTS_WITH_A_THREAD } else { 1 };
        let watchers = (0..threads).map(|_| RingWatcher::default()).collect();
        Self { watchers, places: BellPlaces::new(threads, bells) }
    }

    /// How many threads there are.
    pub(crate) fn count(&self) -> usize {
        self.watchers.len()
    }

    /// What one of them watches.
    pub(crate) fn of_thread(&self, thread: usize) -> &RingWatcher {
        &self.watchers[thread]
    }

    /// Has a ring watched if it is busy, after one of its threads has told of a request by an ioctl.
    pub(super) fn note_rung(&self, file: &Arc<ClientFile>, ring: &Arc<RingFile>) {
        if !ring.note_rung() || ring.is_watched.swap(true, Ordering::AcqRel) {
            return;
        }
        match self.places.take(file.payer().uid) {
            Some(place) => self.watchers[place.thread].add(place, file.clone(), ring.clone()),
            None => ring.is_watched.store(false, Ordering::Release),
        }
    }

    /// Has a ring that has ended be forgotten.
    pub(super) fn forget(&self, ring: &RingFile) {
        ring.is_over.store(true, Ordering::Release);
        if ring.is_watched.load(Ordering::Acquire) {
            self.watchers.iter().for_each(RingWatcher::tell);
        }
    }

    /// Has all threads end.
    pub(crate) fn stop(&self) {
        self.watchers.iter().for_each(RingWatcher::stop);
    }
}
