//! Who looks for calls, and how a thread that sleeps is told of one.

use binder_ring::SlotIndex;

use crate::atomic::{AtomicU32, Ordering, fence};

/// As many threads of a server will look for calls before they sleep. Written by the server's threads, read by callers.
///
/// A thread [enters](Self::enter) before it replies, so that a caller that calls again sees it. One that
/// [leaves](Self::leave), to sleep or to serve, looks once more afterwards: either it sees a call that was made meanwhile, or
/// that call's maker [sees](Self::is_nobody_awake) that it has to ring.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct AwakeCount(AtomicU32);

impl AwakeCount {
    /// A thread will look. For the server.
    pub fn enter(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// A thread will not look again, but this once: it sleeps or serves. For the server.
    pub fn leave(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Whether a call that was made before this may be seen by nobody unless its caller rings. For the caller.
    pub fn is_nobody_awake(&self) -> bool {
        fence(Ordering::SeqCst);
        self.0.load(Ordering::Relaxed) == 0
    }
}

/// On which the threads of a server sleep, and which callers have a call under way. Written by the callers' threads, read by the
/// server.
#[derive(Debug, Default)]
#[repr(C)]
pub struct CallBell {
    word: AtomicU32,
    /// A bit for each caller's slot.
    calls: AtomicU32,
}

impl CallBell {
    /// The word to sleep on.
    pub fn word(&self) -> &AtomicU32 {
        &self.word
    }

    /// Notes that the thread of this slot is about to make a call. For the caller.
    pub fn begin(&self, slot: SlotIndex) {
        self.calls.fetch_or(slot.bit(), Ordering::Relaxed);
    }

    /// Notes that its call is over. For the caller.
    pub fn end(&self, slot: SlotIndex) {
        self.calls.fetch_and(!(slot.bit()), Ordering::Relaxed);
    }

    /// The slots that may have a call. For the server.
    pub fn calls(&self) -> impl Iterator<Item = SlotIndex> + use<> {
        SlotIndex::of_bits(self.calls.load(Ordering::Relaxed))
    }

    /// Has threads that are about to sleep look again; one that sleeps is to be woken afterwards. For the caller.
    pub fn ring(&self) {
        self.word.fetch_add(1, Ordering::Release);
    }

    /// The value to sleep with, taken before a thread looks for the last time. For the server.
    pub fn value(&self) -> u32 {
        self.word.load(Ordering::Acquire)
    }
}
