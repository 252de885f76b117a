//! The system calls and the memory accesses that a call needs.

use core::sync::atomic::AtomicU32;

use binder_ring::{MemoryWindow, SLEEPS, Segment, SlotIndex};
use binder_uapi::Errno;

/// The system calls of a call.
///
/// Between [`watch_signals`](Self::watch_signals) and the answer, a call makes them from one function that calls no other,
/// but for those that are inlined.
pub trait RingSystem {
    /// The processor that the thread runs on.
    fn cpu(&self) -> u32;

    /// Wakes one thread that sleeps on a word, of any process.
    fn wake(&self, word: &AtomicU32);

    /// Sleeps while the word has this value, for [`SLEEP_MS`](binder_ring::SLEEP_MS) at most.
    fn sleep(&self, word: &AtomicU32, value: u32) -> SleepEnd;

    /// The same, for [`PATIENCE_MS`](binder_ring::PATIENCE_MS).
    #[inline(always)]
    fn sleep_long(&self, word: &AtomicU32, value: u32) -> SleepEnd {
        let mut end = SleepEnd::TimedOut;
        for _ in 0..SLEEPS {
            end = self.sleep(word, value);
            if end != SleepEnd::TimedOut {
                break;
            }
        }
        end
    }

    /// Makes the ioctl [`ANYBINDER_RING_WAIT`](binder_uapi::ANYBINDER_RING_WAIT).
    ///
    /// # Errors
    ///
    /// As the device answers, or the kernel in its place.
    fn ring_wait(&self, slot: SlotIndex, flags: u32) -> Result<(), Errno>;

    /// Blocks all signals of the thread that may have a handler which leaves by a jump. Returns those that were blocked
    /// before.
    fn block_signals(&self) -> u64 {
        0
    }

    /// Blocks these signals and no others, after [`block_signals`](Self::block_signals).
    fn restore_signals(&self, _blocked: u64) {}

    /// From here on, notes whether the thread handles a signal outside of its system calls.
    #[inline(always)]
    fn watch_signals(&self) {}

    /// Whether the thread has handled a signal since. False where the caller does not mind.
    #[inline(always)]
    fn has_handled_signal(&self) -> bool {
        false
    }
}

/// Why a thread sleeps no longer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SleepEnd {
    /// It was woken, or the word has another value.
    Woken,
    /// The time is over.
    TimedOut,
    /// It had a signal to handle.
    Interrupted,
}

/// The caller's memory. The addresses are those of the call and of its commands, so they may be wrong.
pub trait CallMemory {
    /// Copies the bytes of a window to offset `at` of a slot's data, where there is room for them. Says whether it did:
    /// the driver reads the others from the process itself.
    fn copy_in(&self, segment: &Segment, slot: SlotIndex, at: usize, window: MemoryWindow) -> bool;

    /// Copies the first `len` bytes of a slot's returns to `address`.
    ///
    /// # Errors
    ///
    /// `EFAULT` if they cannot be written there.
    fn copy_returns(
        &self,
        segment: &Segment,
        slot: SlotIndex,
        address: u64,
        len: usize,
    ) -> Result<(), Errno>;
}
