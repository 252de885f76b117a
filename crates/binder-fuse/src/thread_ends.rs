//! Notices threads that end without a word.
//!
//! A thread of a client may be killed, or end without `BINDER_THREAD_EXIT`. Whoever waits for its
//! reply is told, and what it was handed goes back to its process.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crate::driver::{DeviceId, Job};
use crate::session::Shared;

/// A thread that called through an open file: where the driver finds it, if it is there still.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CallerName {
    pub(crate) device: DeviceId,
    /// The slot of the process.
    pub(crate) slot: usize,
    pub(crate) tid: u32,
}

/// The kernel's threads have numbers of 22 bits at most, as the parts of a name do here.
const PART_BITS: u32 = 21;
const TID_BITS: u32 = 22;

impl CallerName {
    /// Puts the name into a number; `None` if a part is too large for that.
    pub(crate) fn to_u64(self) -> Option<u64> {
        let fits = |part: usize| u64::try_from(part).ok().filter(|part| part >> PART_BITS == 0);
        let tid = u64::from(self.tid);
        let packed =
            fits(self.device)? << (PART_BITS + TID_BITS) | fits(self.slot)? << TID_BITS | tid;
        // The last number of all has a meaning of its own.
        (tid >> TID_BITS == 0 && packed != u64::MAX).then_some(packed)
    }

    /// Takes it out again.
    pub(crate) fn from_u64(packed: u64) -> Self {
        let part = |shift: u32, bits: u32| (packed >> shift) & ((1 << bits) - 1);
        let index = |part| usize::try_from(part).unwrap_or(usize::MAX);
        Self {
            device: index(part(PART_BITS + TID_BITS, PART_BITS)),
            slot: index(part(TID_BITS, PART_BITS)),
            tid: u32::try_from(part(0, TID_BITS)).unwrap_or(u32::MAX),
        }
    }
}

/// The thread that waits for the ends of others.
pub(crate) struct Mourner {
    thread: JoinHandle<()>,
    shared: Arc<Shared>,
}

impl Mourner {
    /// Starts the one of a session.
    pub(crate) fn start(shared: &Arc<Shared>) -> io::Result<Self> {
        let kept = shared.clone();
        let mourn = move || {
            loop {
                match kept.threads.wait() {
                    Ok(Some(names)) => {
                        for name in names {
                            kept.submit(Job::EndThread(CallerName::from_u64(name)));
                        }
                    }
                    Ok(None) => return,
                    Err(error) => {
                        return tracing::error!(%error, "ends of threads are noticed no more");
                    }
                }
            }
        };
        let thread = thread::Builder::new().name("mourner".into()).spawn(mourn)?;
        Ok(Self { thread, shared: shared.clone() })
    }

    /// Ends it and waits for its end.
    pub(crate) fn stop(self) {
        self.shared.threads.stop();
        if self.thread.join().is_err() {
            tracing::error!("the thread that waits for the ends of others met a bug");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_survives_as_a_number() {
        let most = (1 << 21) - 1;
        for (device, slot, tid) in
            [(0, 0, 1), (3, 70_000, 4_194_303), (most, 5, 7), (most, most, 1)]
        {
            let name = CallerName { device, slot, tid };
            assert_eq!(name.to_u64().map(CallerName::from_u64), Some(name));
        }
        for (device, slot, tid) in
            [(most + 1, 0, 1), (0, most + 1, 1), (0, 0, 1 << 22), (most, most, (1 << 22) - 1)]
        {
            assert_eq!(CallerName { device, slot, tid }.to_u64(), None);
        }
    }
}
