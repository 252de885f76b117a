//! A place that holds a shared value or none, read without a lock.
//!
//! Whoever takes a value out of its place gives up the place's count of it only when every reader
//! of that moment has finished (crossbeam's epochs). This is all of the crate's `unsafe`; the tree
//! above is made of such places and needs none.

#![expect(unsafe_code, reason = "a reader follows a pointer that a writer may take away meanwhile")]

use alloc::sync::Arc;
use core::fmt;
#[cfg(not(loom))]
use core::sync::atomic::{AtomicPtr, Ordering};
use std::mem::ManuallyDrop;

#[cfg(loom)]
use loom::sync::atomic::{AtomicPtr, Ordering};

/// Makes what is read outlive the reading, on this thread and until it is dropped.
///
/// Pinning takes longer than a lookup, so pin once for many. What is removed meanwhile, by
/// anybody and from anything that uses epochs, keeps its memory: do not keep a guard for long.
pub struct ReadGuard(crossbeam_epoch::Guard);

/// Begins to read.
#[must_use]
pub fn pin() -> ReadGuard {
    ReadGuard(crossbeam_epoch::pin())
}

/// Drops what was removed and is not being read any more, as far as that can be known.
///
/// Removals do this by themselves, some dozens at a time. Who has removed his last for a while and
/// wants the memory, or what goes with the values, calls this a few times: it takes three to see
/// that all other threads have moved on.
pub fn reclaim() {
    crossbeam_epoch::pin().flush();
}

impl fmt::Debug for ReadGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReadGuard")
    }
}

/// A place for a value or none.
///
/// Its pointer is null or came from [`Arc::into_raw`], and then stands for one count.
pub(crate) struct Rcu<T: Send + Sync + 'static>(AtomicPtr<T>);

impl<T: Send + Sync + 'static> Rcu<T> {
    /// Makes an empty place.
    pub(crate) fn empty() -> Self {
        Self(AtomicPtr::new(core::ptr::null_mut()))
    }

    /// The value, for as long as its reader stays pinned and the place exists.
    #[inline]
    pub(crate) fn load<'g>(&'g self, _guard: &'g ReadGuard) -> Option<&'g T> {
        let pointer = self.0.load(Ordering::Acquire);
        // SAFETY: a pointer that is not null stands for a count of an `Arc`, so what it leads to
        // exists and is only read. The count is given up when the place is dropped, which cannot
        // be before 'g ends, or by the function that `swap` defers. That runs when all guards
        // have been dropped that existed when it was deferred; the guard that we hold is one of
        // them, for we found the pointer before `swap` took it away. A `ReadGuard` comes from
        // `pin` alone, so it is of the collector to which `swap` defers.
        unsafe { pointer.as_ref() }
    }

    /// The value, with a count of the caller's own.
    pub(crate) fn share(&self, _guard: &ReadGuard) -> Option<Arc<T>> {
        // The pointer as it was put here: one made from a reference to the value would not lead to
        // its counts.
        let pointer = self.0.load(Ordering::Acquire).cast_const();
        if pointer.is_null() {
            return None;
        }
        // SAFETY: a pointer that is not null came from `Arc::into_raw`, and the guard keeps the count
        // it stands for, as in `load`. We do not give that count up: the `Arc` made of it here is
        // never dropped.
        let places = ManuallyDrop::new(unsafe { Arc::from_raw(pointer) });
        Some(Arc::clone(&places))
    }

    /// Puts a value or none into the place and returns what was there.
    ///
    /// The place's own count of that is dropped later, on any thread.
    pub(crate) fn swap(&self, value: Option<Arc<T>>, guard: &ReadGuard) -> Option<Arc<T>> {
        let new = value.map_or(core::ptr::null_mut(), |value| Arc::into_raw(value).cast_mut());
        let old = self.0.swap(new, Ordering::AcqRel);
        if old.is_null() {
            return None;
        }
        // SAFETY: a pointer of ours that is not null came from `Arc::into_raw` and stands for one
        // count. It is no longer in the place, and a swap hands it to nobody else, so the count is
        // ours to give up; readers may still follow it, which is why that is deferred.
        let places = unsafe { Arc::from_raw(old) };
        let ours = Arc::clone(&places);
        guard.0.defer(move || drop(places));
        Some(ours)
    }
}

impl<T: Send + Sync + 'static> Drop for Rcu<T> {
    fn drop(&mut self) {
        // Nobody else has the place, and whoever had it passed it on in order.
        let pointer = self.0.load(Ordering::Relaxed);
        if !pointer.is_null() {
            // SAFETY: the pointer came from `Arc::into_raw` and stands for one count. No reader is
            // left that got it from here: `load` borrows the place for as long as its result.
            drop(unsafe { Arc::from_raw(pointer) });
        }
    }
}
