//! A futex, for words that loom knows.

use loom::sync::atomic::{AtomicU32, Ordering};

/// What a futex does: it sleeps unless the word has changed, and is woken.
#[derive(Default)]
pub(super) struct Futex {
    is_woken: loom::sync::Mutex<bool>,
    woken: loom::sync::Condvar,
}

impl Futex {
    pub(super) fn sleep(&self, word: &AtomicU32, value: u32) {
        let mut is_woken = self.is_woken.lock().unwrap();
        if word.load(Ordering::Relaxed) != value {
            return;
        }
        while !*is_woken {
            is_woken = self.woken.wait(is_woken).unwrap();
        }
        *is_woken = false;
    }

    pub(super) fn wake(&self) {
        *self.is_woken.lock().unwrap() = true;
        self.woken.notify_one();
    }
}
