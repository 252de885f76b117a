//! The word of a slot: which side owns the slot.

use core::sync::atomic::compiler_fence;
#[cfg(not(all(test, loom)))]
use core::sync::atomic::{AtomicU32, Ordering};

#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicU32, Ordering};

/// The word of a slot. Its thread sleeps on it while the driver has the slot.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct SlotWord(AtomicU32);

/// The client has the slot.
const IDLE: u32 = 0;
/// The driver has it.
const POSTED: u32 = 1;
/// The client has it, with an answer.
const ANSWERED: u32 = 2;
/// The client has it, and writes a request.
const WRITING: u32 = 3;
/// The client's thread sleeps, or is about to: it must be woken.
const SLEEPS: u32 = 4;

impl SlotWord {
    /// The word to sleep on.
    pub fn word(&self) -> &AtomicU32 {
        &self.0
    }

    /// Takes the slot, to write a request. False if a call has it already: one of the same thread, which a signal
    /// handler has interrupted, or has left for good. For the client.
    #[must_use = "another call has it"]
    pub fn take(&self) -> bool {
        // Only the thread changes the word while the client owns the slot, and a signal handler that interrupts it here
        // leaves the word as it was.
        let is_idle = self.0.load(Ordering::Relaxed) == IDLE;
        if is_idle {
            self.0.store(WRITING, Ordering::Relaxed);
            compiler_fence(Ordering::SeqCst);
        }
        is_idle
    }

    /// Hands the slot to the driver, with all that was written to it. For the client.
    pub fn post(&self) {
        self.0.store(POSTED, Ordering::Release);
    }

    /// Whether the driver has the slot.
    pub fn is_posted(&self) -> bool {
        self.0.load(Ordering::Relaxed) & !SLEEPS == POSTED
    }

    /// Whether the answer is there, with all that was written for it. For the client.
    pub fn is_answered(&self) -> bool {
        self.0.load(Ordering::Acquire) & !SLEEPS == ANSWERED
    }

    /// Says that the thread will sleep: as long as the word has the value that this returns. None if the answer is
    /// there. For the client.
    pub fn prepare_to_sleep(&self) -> Option<u32> {
        let value = POSTED | SLEEPS;
        match self.0.compare_exchange(POSTED, value, Ordering::Acquire, Ordering::Acquire) {
            Ok(_) => Some(value),
            Err(now) => (now == value).then_some(value),
        }
    }

    /// Takes the slot back, answered or not. For the client.
    pub fn reset(&self) {
        // Release: all reads of the answer come before a signal handler can take the slot.
        self.0.store(IDLE, Ordering::Release);
    }

    /// Hands the slot back to the client, with all that was written to it. Says whether a waiter on the word is to be
    /// woken. For the driver.
    #[must_use = "the thread may sleep"]
    pub fn answer(&self) -> bool {
        self.0.swap(ANSWERED, Ordering::Release) & SLEEPS != 0
    }
}
