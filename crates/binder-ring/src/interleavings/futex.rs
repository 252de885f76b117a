//! A futex, for words that loom knows.

use loom::sync::atomic::{AtomicU32, Ordering};

/// A futex: a thread sleeps unless the word has changed, and is woken. A wake without a sleeper has no effect.
#[derive(Default)]
pub(super) struct Futex {
    sleepers: loom::sync::Mutex<Sleepers>,
    woken: loom::sync::Condvar,
}

#[derive(Default)]
struct Sleepers {
    asleep: u32,
    /// How many of those were woken.
    woken: u32,
}

impl Futex {
    pub(super) fn sleep(&self, word: &AtomicU32, value: u32) {
        let mut sleepers = self.sleepers.lock().unwrap();
        if word.load(Ordering::Relaxed) != value {
            return;
        }
        sleepers.asleep += 1;
        while sleepers.woken == 0 {
            sleepers = self.woken.wait(sleepers).unwrap();
        }
        sleepers.asleep -= 1;
        sleepers.woken -= 1;
    }

    pub(super) fn wake(&self) {
        let mut sleepers = self.sleepers.lock().unwrap();
        if sleepers.woken < sleepers.asleep {
            sleepers.woken += 1;
            self.woken.notify_one();
        }
    }
}
