//! The lock of a map's writers, who hold it for a moment each.

use core::hint::spin_loop;
#[cfg(not(loom))]
use std::sync::{Mutex, MutexGuard};
use std::sync::{PoisonError, TryLockError};

#[cfg(loom)]
use loom::sync::{Mutex, MutexGuard};

/// How many pauses there are before each further look at a lock that is held; then its thread goes to sleep.
///
/// They take longer than a change, so that who has the lock makes several before another does. Where it goes to
/// another processor at each change, so does the part of the tree that is changed: by four threads that do nothing else,
/// a change then takes three times as long. For the model checker a pause is nothing.
const PAUSES: &[u32] = if cfg!(loom) { &[] } else { &[32, 64, 128] };

/// A lock that is never poisoned: nothing panics between the steps of a change.
pub(crate) struct WriterLock<T>(Mutex<T>);

impl<T> WriterLock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// Waits until no other writer has it.
    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.try_lock().unwrap_or_else(|| self.lock_held())
    }

    #[inline]
    fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    #[cold]
    fn lock_held(&self) -> MutexGuard<'_, T> {
        let freed = PAUSES.iter().find_map(|pauses| {
            (0..*pauses).for_each(|_| spin_loop());
            self.try_lock()
        });
        freed.unwrap_or_else(|| self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
