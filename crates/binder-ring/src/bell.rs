//! The bell: how the threads of a client tell the driver that they have posted a request.

#[cfg(not(all(test, loom)))]
use core::sync::atomic::{AtomicU32, Ordering, fence};

#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicU32, Ordering, fence};

/// A segment's bell: a word for the driver to sleep on, and a bit for each slot.
///
/// A thread that posts sets its slot's bit and then looks at the word; the driver sets the word and then looks at the bits.
/// Each has a sequentially consistent fence in between, so that one of them sees the other.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Bell {
    /// A [`BellState`].
    word: AtomicU32,
    /// A bit for each slot that was posted since the driver looked.
    posted: AtomicU32,
}

/// How the driver attends to a bell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum BellState {
    /// Nothing. Only the ioctl tells it that something is posted.
    Unwatched = 0,
    /// It looks at the bits soon.
    Awake = 1,
    /// It sleeps on the word.
    Asleep = 2,
}

/// The next step of a thread that has posted a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ring {
    /// Nothing: the driver looks.
    Heard,
    /// To wake the driver, one waiter on the [word](Bell::word).
    Wake,
    /// To tell the driver by the ioctl.
    Unwatched,
}

impl Bell {
    /// The word that the driver sleeps on.
    pub fn word(&self) -> &AtomicU32 {
        &self.word
    }

    /// Says that this slot was posted.
    pub fn ring(&self, slot: u32) -> Ring {
        self.posted.fetch_or(1 << slot, Ordering::Release);
        fence(Ordering::SeqCst);
        let asleep = BellState::Asleep as u32;
        match self.word.load(Ordering::Relaxed) {
            state if state == asleep => {
                let awake = BellState::Awake as u32;
                let woken =
                    self.word.compare_exchange(asleep, awake, Ordering::Relaxed, Ordering::Relaxed);
                match woken {
                    Ok(_) => Ring::Wake,
                    // Another has woken it, or it woke by itself; if it has gone for good, the ioctl is due.
                    Err(state) if state == BellState::Unwatched as u32 => Ring::Unwatched,
                    Err(_) => Ring::Heard,
                }
            }
            state if state == BellState::Unwatched as u32 => Ring::Unwatched,
            _ => Ring::Heard,
        }
    }

    /// Takes the slots that were posted since it was last asked, as bits. For the driver.
    pub fn take_posted(&self) -> u32 {
        // Mostly none was, and the line stays where it is.
        if self.posted.load(Ordering::Relaxed) == 0 {
            0
        } else {
            self.posted.swap(0, Ordering::Acquire)
        }
    }

    /// Says that the driver looks. For the driver.
    pub fn set_awake(&self) {
        self.word.store(BellState::Awake as u32, Ordering::Relaxed);
    }

    /// Says that the driver sleeps, or looks no longer; slots may be posted before that is seen, so they are to be
    /// [looked at](Self::has_posted) once more before it does. For the driver.
    pub fn set(&self, state: BellState) {
        self.word.store(state as u32, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Whether it was rung since the driver fell asleep, or says so. For the driver.
    pub fn is_rung(&self) -> bool {
        self.word.load(Ordering::Relaxed) != BellState::Asleep as u32
    }

    /// Whether there are slots to take. For the driver.
    pub fn has_posted(&self) -> bool {
        self.posted.load(Ordering::Relaxed) != 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn who_rings_is_told_what_the_driver_needs() {
        let bell = Bell::default();
        assert_eq!(bell.ring(0), Ring::Unwatched);
        bell.set_awake();
        assert_eq!(bell.ring(3), Ring::Heard);
        assert!(bell.has_posted());
        assert_eq!((bell.take_posted(), bell.take_posted()), (0b1001, 0));
        assert!(!bell.has_posted());
        bell.set(BellState::Asleep);
        assert!(!bell.is_rung());
        assert_eq!([30, 2].map(|slot| bell.ring(slot)), [Ring::Wake, Ring::Heard], "one wakes it");
        assert!(bell.is_rung());
        assert_eq!(bell.take_posted(), 1 << 30 | 0b100);
        bell.set(BellState::Unwatched);
        assert_eq!(bell.ring(1), Ring::Unwatched);
        // A client may write whatever it likes there.
        bell.word().store(77, Ordering::Relaxed);
        assert_eq!(bell.ring(1), Ring::Heard);
    }
}
