//! The number by which a thread knows an open file.

use core::sync::atomic::{AtomicU64, Ordering};

/// The number of an open file that a thread has looked at, and how often numbers of that file had been closed before. As
/// long as none is closed since, the number means the file: a number comes to mean another file, or none, by a close of
/// the one that it meant, whichever call makes it, and the kernel tells the driver before that call returns.
///
/// The thread alone changes it, and handlers of its signals in between. Threads with descriptors of their own each know theirs.
#[derive(Debug)]
pub(crate) struct KnownNumber(AtomicU64);

impl KnownNumber {
    /// None is known.
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub(crate) fn forget(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    pub(crate) fn set(&self, fd: i32, closes: u32) {
        self.0.store(of(fd, closes), Ordering::Relaxed);
    }

    /// Whether it is this one, with that many closes before.
    pub(crate) fn is(&self, fd: i32, closes: u32) -> bool {
        self.0.load(Ordering::Relaxed) == of(fd, closes)
    }
}

/// Both in one word, which is not 0.
fn of(fd: i32, closes: u32) -> u64 {
    u64::from(fd.cast_unsigned().wrapping_add(1)) << 32 | u64::from(closes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_known_until_one_of_the_file_is_closed() {
        let known = KnownNumber::new();
        assert!(!known.is(0, 0) && !known.is(3, 0), "no number is known at first");
        known.set(0, 0);
        assert!(known.is(0, 0) && !known.is(0, 1) && !known.is(1, 0));
        known.set(3, u32::MAX);
        assert!(known.is(3, u32::MAX) && !known.is(3, 0) && !known.is(0, 0));
        known.forget();
        assert!(!known.is(3, u32::MAX));
    }
}
