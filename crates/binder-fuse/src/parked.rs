//! Reads that sleep in the daemon: who sleeps, and which FUSE request waits for the answer.

use std::collections::HashMap;
use std::time::Instant;

use binder_core::{ProcessKey, ThreadKey};
use binder_uapi::BinderWriteRead;

use crate::driver::DeviceId;

/// A read that sleeps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parked {
    pub(crate) device: DeviceId,
    pub(crate) process: ProcessKey,
    pub(crate) thread: ThreadKey,
    /// The FUSE request to answer.
    pub(crate) unique: u64,
    /// The caller's struct, with the progress so far.
    pub(crate) request: BinderWriteRead,
    pub(crate) since: Instant,
    /// Whether its file has been looked at for a change to `O_NONBLOCK` while it slept.
    pub(crate) was_checked: bool,
}

/// All sleeping reads, found by thread (to wake it) and by request (a signal names only that).
#[derive(Debug, Default)]
pub(crate) struct ParkedReads {
    by_thread: HashMap<(DeviceId, ThreadKey), Parked>,
    by_unique: HashMap<u64, (DeviceId, ThreadKey)>,
}

impl ParkedReads {
    pub(crate) fn insert(&mut self, parked: Parked) {
        let place = (parked.device, parked.thread);
        self.by_unique.insert(parked.unique, place);
        self.by_thread.insert(place, parked);
    }

    pub(crate) fn take_thread(&mut self, device: DeviceId, thread: ThreadKey) -> Option<Parked> {
        let parked = self.by_thread.remove(&(device, thread))?;
        self.by_unique.remove(&parked.unique);
        Some(parked)
    }

    pub(crate) fn take_request(&mut self, unique: u64) -> Option<Parked> {
        let place = self.by_unique.remove(&unique)?;
        self.by_thread.remove(&place)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Parked> {
        self.by_thread.values_mut()
    }
}
