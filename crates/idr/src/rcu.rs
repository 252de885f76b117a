//! A place that holds a shared value or none, read without a lock.
//!
//! A thread that takes a value out of its place gives up the place's count of it only when every reader
//! of that moment has finished (crossbeam's epochs). This is all of the crate's `unsafe`; the tree
//! above is made of such places and needs none.

#![expect(unsafe_code, reason = "a reader follows a pointer that a writer may take away meanwhile")]

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::Cell;
#[cfg(not(loom))]
use core::cell::RefCell;
use core::fmt;
use core::ops::Deref;
#[cfg(not(loom))]
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::mem::ManuallyDrop;

#[cfg(loom)]
use loom::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// Keeps values alive that this thread reads, until the guard is dropped.
///
/// Pinning takes longer than a lookup, so pin once for many. A value that is removed meanwhile, by
/// any thread and from anything that uses epochs, keeps its memory: do not keep a guard for long.
pub struct ReadGuard(crossbeam_epoch::Guard);

/// Begins to read.
#[inline]
#[must_use]
pub fn pin() -> ReadGuard {
    ReadGuard(crossbeam_epoch::pin())
}

/// Keeps values alive that this thread reads and removes while it changes maps.
pub struct ChangeGuard(ReadGuard);

/// Begins a change, before any map is locked: drops some of what this thread removed long ago, and that may use
/// the maps.
#[inline]
#[must_use]
pub fn pin_to_change() -> ChangeGuard {
    if IS_DUE.get() {
        tidy();
    }
    ChangeGuard(pin())
}

/// Drops as many counts as were added lately; and has the readers of now tell when they have finished, once there
/// are enough for that, unless this thread is one of them.
#[cold]
#[inline(never)]
fn tidy() {
    IS_DUE.set(false);
    drop(RemovedObjects::of_this_thread(RemovedObjects::take_some_unread));
    let is_batch = RemovedObjects::of_this_thread(|removed| removed.fresh.len() >= BATCH);
    if is_batch && !crossbeam_epoch::is_pinned() {
        drop(RemovedObjects::of_this_thread(RemovedObjects::take_unread_but_a_batch));
        seal(&pin());
    }
}

impl Deref for ChangeGuard {
    type Target = ReadGuard;

    #[inline]
    fn deref(&self) -> &ReadGuard {
        &self.0
    }
}

impl fmt::Debug for ChangeGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChangeGuard")
    }
}

/// Drops what this thread removed and is not being read any more, as far as that can be known.
///
/// Removals do this by themselves, some dozens at a time. A thread that has removed its last for a
/// while and wants the memory, or what goes with the values, calls this a few times, without a
/// guard: it takes three to see that all other threads have moved on.
pub fn reclaim() {
    give_up(&pin());
}

/// Has the readers of now tell when they have finished, and drops what those before were reading.
fn give_up(guard: &ReadGuard) {
    seal(guard);
    // Dropped when the list is ours no more: values may remove others.
    drop(RemovedObjects::of_this_thread(RemovedObjects::take_unread));
}

fn seal(guard: &ReadGuard) {
    RemovedObjects::of_this_thread(|removed| removed.seal(guard));
    guard.0.flush();
}

/// How many removals are sealed together, and so wait for their readers together.
const BATCH: usize = 64;

/// How many removals share one look at what can be dropped, and how many counts are dropped then: few enough for an
/// allocator that keeps some blocks at hand to have one for each value that comes.
const STEP: usize = 4;

/// A count that a place had.
type PlaceCount = Arc<dyn Send + Sync>;

/// What a thread has taken out of places and others might still be reading.
///
/// Readers tell when they have finished, and the thread that removed a value drops its count. Were
/// the counts themselves handed to crossbeam, readers would drop them as they pin: beside a busy
/// writer, a lookup would take several times as long.
struct RemovedObjects {
    fresh: Vec<PlaceCount>,
    /// The oldest first.
    batches: VecDeque<RemovalBatch>,
    /// A batch that no other thread is reading any more, or the rest of it.
    unread: Vec<PlaceCount>,
}

struct RemovalBatch {
    counts: Vec<PlaceCount>,
    is_unread: Arc<AtomicBool>,
}

impl RemovalBatch {
    fn is_unread(&self) -> bool {
        self.is_unread.load(Ordering::Acquire)
    }
}

std::thread_local! {
    /// Whether there is something to do for [`tidy`].
    static IS_DUE: Cell<bool> = const { Cell::new(false) };
}

#[cfg(not(loom))]
std::thread_local! {
    static REMOVED: RefCell<RemovedObjects> = const { RefCell::new(RemovedObjects::new()) };
}

impl RemovedObjects {
    const fn new() -> Self {
        Self { fresh: Vec::new(), batches: VecDeque::new(), unread: Vec::new() }
    }

    /// Looks at the list of this thread; at one that is given up at once, if the thread is ending.
    #[cfg(not(loom))]
    fn of_this_thread<R>(mut look: impl FnMut(&mut Self) -> R) -> R {
        REMOVED
            .try_with(|removed| look(&mut removed.borrow_mut()))
            .unwrap_or_else(|_| look(&mut Self::new()))
    }

    /// The model checker cannot follow the end of a thread that has more to itself than its epoch.
    #[cfg(loom)]
    fn of_this_thread<R>(mut look: impl FnMut(&mut Self) -> R) -> R {
        look(&mut Self::new())
    }

    /// Finds out when no thread can be reading any more what was taken until now.
    fn seal(&mut self, guard: &ReadGuard) {
        if self.fresh.is_empty() {
            return;
        }
        let is_unread = Arc::new(AtomicBool::new(false));
        let theirs = is_unread.clone();
        guard.0.defer(move || theirs.store(true, Ordering::Release));
        // With room for the next batch: a thread that removes once removes again.
        let counts = core::mem::replace(&mut self.fresh, Vec::with_capacity(BATCH));
        self.batches.push_back(RemovalBatch { counts, is_unread });
    }

    /// Adds the count of a place.
    #[inline]
    fn add(&mut self, count: PlaceCount) {
        self.fresh.push(count);
        if self.fresh.len().is_multiple_of(STEP) {
            IS_DUE.set(true);
        }
    }

    fn take_some_unread(&mut self) -> [Option<PlaceCount>; STEP] {
        core::array::from_fn(|_| self.unread.pop())
    }

    /// Takes all that no thread is reading any more but the last batch of it, which is to be dropped bit by bit.
    fn take_unread_but_a_batch(&mut self) -> Vec<Vec<PlaceCount>> {
        let mut unread = self.take_unread();
        if let Some(last) = unread.pop_if(|last| !last.is_empty()) {
            self.unread = last;
        }
        unread
    }

    fn take_unread(&mut self) -> Vec<Vec<PlaceCount>> {
        let unread = self.batches.iter().take_while(|batch| batch.is_unread()).count();
        let rest = core::mem::take(&mut self.unread);
        let batches = self.batches.drain(..unread).map(|batch| batch.counts);
        core::iter::once(rest).chain(batches).collect()
    }
}

impl Drop for RemovedObjects {
    fn drop(&mut self) {
        // Another thread has to drop what this thread leaves behind.
        let counts = core::mem::take(&mut self.fresh);
        let batches = core::mem::take(&mut self.batches);
        let unread = core::mem::take(&mut self.unread);
        if !(counts.is_empty() && batches.is_empty() && unread.is_empty()) {
            pin().0.defer(move || drop((counts, batches, unread)));
        }
    }
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
        // be before 'g ends, or through `RemovedObjects`, where `swap` leaves it. What lies there is dropped
        // by a function, or when a function has run, that was deferred later; and that runs when all
        // guards have been dropped that existed when it was deferred. The guard that we hold is one
        // of them, for we found the pointer before `swap` took it away. A `ReadGuard` comes from `pin`
        // alone, so it is of the collector to which `RemovedObjects` defers.
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

    /// Puts a value into the place, which must be empty: what else was there would never be dropped.
    #[inline]
    pub(crate) fn fill(&self, value: Arc<T>) {
        debug_assert!(self.0.load(Ordering::Relaxed).is_null(), "the place is empty");
        self.0.store(Arc::into_raw(value).cast_mut(), Ordering::Release);
    }

    /// Puts a value into the place and returns what was there.
    #[inline]
    pub(crate) fn replace(&self, value: Arc<T>) -> Option<Arc<T>> {
        // Only one thread at a time changes a map, and a locked instruction takes as long as all the rest.
        if self.0.load(Ordering::Relaxed).is_null() {
            self.fill(value);
            return None;
        }
        self.swap(Some(value))
    }

    /// Puts a value or none into the place and returns what was there.
    ///
    /// The place's own count of that is dropped later, as a rule by this thread.
    #[inline]
    pub(crate) fn swap(&self, value: Option<Arc<T>>) -> Option<Arc<T>> {
        self.swap_into(value, |count| {
            let mut count = Some(count);
            RemovedObjects::of_this_thread(|removed| {
                if let Some(count) = count.take() {
                    removed.add(count);
                }
            });
        })
    }

    /// As [`Self::swap`]; the place's own count is left to `keep`, which adds it to [`RemovedObjects`].
    #[inline]
    fn swap_into(&self, value: Option<Arc<T>>, keep: impl FnOnce(PlaceCount)) -> Option<Arc<T>> {
        let new = value.map_or(core::ptr::null_mut(), |value| Arc::into_raw(value).cast_mut());
        let old = self.0.swap(new, Ordering::AcqRel);
        if old.is_null() {
            return None;
        }
        // SAFETY: a pointer of ours that is not null came from `Arc::into_raw` and stands for one
        // count. It is no longer in the place, and a swap hands it to no other thread, so the count is
        // ours to give up; readers may still follow it, which is why `keep` keeps it.
        let places = unsafe { Arc::from_raw(old) };
        let ours = Arc::clone(&places);
        keep(places);
        Some(ours)
    }
}

impl<T: Send + Sync + 'static> Drop for Rcu<T> {
    fn drop(&mut self) {
        // No other thread has the place, and threads that had it before passed it on in order.
        let pointer = self.0.load(Ordering::Relaxed);
        if !pointer.is_null() {
            // SAFETY: the pointer came from `Arc::into_raw` and stands for one count. No reader is
            // left that got it from here: `load` borrows the place for as long as its result.
            drop(unsafe { Arc::from_raw(pointer) });
        }
    }
}

#[cfg(all(test, loom))]
mod interleavings {
    use loom::thread;

    use super::*;

    #[test]
    fn what_is_removed_is_dropped_when_its_readers_have_told_that_they_have_finished() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(|| {
            let (value, place) = (Arc::new(2), Arc::new(Rcu::empty()));
            place.swap(Some(value.clone()));
            let theirs = place.clone();
            let writer = thread::spawn(move || {
                let mut removed = RemovedObjects::new();
                let ours = theirs.swap_into(None, |count| removed.fresh.push(count));
                assert_eq!(ours.as_deref(), Some(&2));
                removed.seal(&pin());
                for _ in 0..2 {
                    pin().0.flush();
                    drop(removed.take_unread());
                }
            });
            let guard = pin();
            if place.load(&guard).is_some() {
                assert!(Arc::strong_count(&value) > 1, "the place's count is not given up yet");
            }
            drop(guard);
            writer.join().expect("no thread panics");
        });
    }
}
