//! The caller's word: which call it has made last.

use crate::atomic::{AtomicU32, Ordering, fence};
use crate::served::{CallProgress, ServedWord};

/// The number of a call, among those of one thread in one lane. It comes again after 16 million others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CallNumber(u32);

impl CallNumber {
    /// As many bits it has.
    pub(crate) const BITS: u32 = 24;

    pub(crate) fn of_bits(bits: u32) -> Self {
        Self(bits & ((1 << Self::BITS) - 1))
    }

    pub(crate) fn bits(self) -> u32 {
        self.0
    }

    /// The number of the call after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self::of_bits(self.0 + 1)
    }

    /// The number of the call before this one.
    pub(crate) fn before(self) -> Self {
        Self::of_bits(self.0.wrapping_sub(1))
    }
}

/// Written by a caller's thread, and read by server and driver.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct PostedWord(AtomicU32);

/// The caller sleeps, or is about to: it must be woken.
const SLEEPS: u32 = 1 << CallNumber::BITS;

impl PostedWord {
    /// Makes a call, with all that was written for it. The one before is over. For the caller.
    pub fn post(&self, number: CallNumber) {
        self.0.store(number.bits(), Ordering::Release);
    }

    /// The call that was made last, with all that was written for it.
    pub fn number(&self) -> CallNumber {
        CallNumber::of_bits(self.0.load(Ordering::Acquire))
    }

    /// Says that the caller will sleep on the other word: as long as that has the value that this returns. None if its call
    /// is not [pending](CallProgress::Pending) any more. For the caller.
    pub fn prepare_to_sleep(&self, number: CallNumber, served: &ServedWord) -> Option<u32> {
        self.0.store(number.bits() | SLEEPS, Ordering::Relaxed);
        // Who ends the call looks at this word after it has changed the other: one of the two sees the other's.
        fence(Ordering::SeqCst);
        let (value, progress) = served.seen_by_caller(number);
        (progress == CallProgress::Pending).then_some(value)
    }

    /// Whether the caller of call `number` must be woken, after the other word has been changed. For server and driver.
    #[must_use = "the caller may sleep"]
    pub fn must_wake(&self, number: CallNumber) -> bool {
        fence(Ordering::SeqCst);
        self.0.load(Ordering::Relaxed) == number.bits() | SLEEPS
    }
}
