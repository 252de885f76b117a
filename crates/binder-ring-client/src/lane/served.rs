//! The lanes by which a process is called.
//!
//! Its threads share them: a thread takes those that no other has, looks at them, and gives them back. So each lane is one
//! thread's at any time, or no one's, without a lock: the table serves programs whose signal handlers make calls.

#![expect(unsafe_code, reason = "lanes lie in a table without a lock")]

use core::cell::{Cell, UnsafeCell};
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use binder_lane::layout::{CallOutcome, fits};
use binder_lane::{LaneId, LaneSegment, LaneState, LeftToDriver, NoteKind, Woken};
use binder_uapi::{BinderTransactionData, LANE_FLAGS, LaneAccept};

use super::system::{LaneServing, header, is_granted, note};
use crate::kernel::wake;

/// As many lanes lead to a process. The driver grants fewer; others may not be taken back yet.
pub const MOST_SERVED: usize = 15;

/// The lanes by which a process is called.
#[derive(Debug)]
pub struct ServedLanes<P> {
    entries: [ServedEntry<P>; MOST_SERVED],
    /// As many there are, for a look without more.
    count: AtomicUsize,
    /// As many threads sleep that look for calls.
    sleepers: AtomicU32,
}

#[derive(Debug)]
struct ServedEntry<P> {
    /// [`VACANT`], [`FREE`] or [`HELD`].
    holder: AtomicU32,
    lane: UnsafeCell<Option<ServedLane<P>>>,
}

/// There is no lane, or one is being put here.
const VACANT: u32 = 0;
/// No thread has the lane.
const FREE: u32 = 1;
/// A thread has it, or its place.
const HELD: u32 = 2;

// SAFETY: what an entry has is touched by whom `holder` lets alone: who has brought it to `HELD`, by a `HeldLane` that is no two
// threads'.
unsafe impl<P: Send> Sync for ServedLanes<P> {}

/// A lane by which the process is called.
#[derive(Debug)]
pub(super) struct ServedLane<P> {
    pub(super) id: LaneId,
    /// In the ring's list of lanes.
    pub(super) at: usize,
    pub(super) place: P,
    sender_pid: u32,
    ptr: u64,
    cookie: u64,
    /// How often in a row it has woken the thread that looks at it, or had a call, and none was served.
    wakes_in_vain: Cell<u32>,
    /// The number of a call that was found while the driver had work, and the end of the driver's line then.
    found: Cell<Option<(u32, u32)>>,
}

/// What a process has of a lane by which it is called.
pub trait ServedPlace {
    /// The segment. It stays as long as the value.
    fn segment(&self) -> LaneSegment;

    /// Who calls at this moment. None if that cannot be told: the thread has ended, as a rule.
    fn caller_uid(&self) -> Option<u32>;
}

/// A lane that this thread has taken, of one table.
#[derive(Debug)]
pub(super) struct HeldLane {
    at: usize,
    table: usize,
    _of_one_thread: PhantomData<Cell<()>>,
}

impl HeldLane {
    /// Its place in the table.
    pub(super) fn place(&self) -> usize {
        self.at
    }
}

/// A lane that has woken a thread so often in a row for nothing is used no more.
const MOST_IN_VAIN: u32 = 1000;

impl<P> Default for ServedLanes<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P> ServedLanes<P> {
    /// No lanes.
    pub const fn new() -> Self {
        Self {
            entries: [const { ServedEntry::new() }; MOST_SERVED],
            count: AtomicUsize::new(0),
            sleepers: AtomicU32::new(0),
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Counts this thread among those that sleep, or no more.
    #[inline(always)]
    pub(super) fn count_sleeper(&self, sleeps: bool) {
        let change = if sleeps { 1 } else { u32::MAX };
        self.sleepers.fetch_add(change, Ordering::Relaxed);
    }

    /// Whether another thread sleeps that looks for calls.
    pub(super) fn has_sleeper(&self) -> bool {
        self.sleepers.load(Ordering::Relaxed) > 0
    }

    fn held(&self, at: usize) -> HeldLane {
        HeldLane { at, table: (&raw const *self).addr(), _of_one_thread: PhantomData }
    }

    fn entry(&self, lane: &HeldLane) -> &ServedEntry<P> {
        assert_eq!(lane.table, (&raw const *self).addr(), "the lane is of another table");
        &self.entries[lane.at]
    }

    /// Takes a lane that no thread has.
    pub(super) fn take_free(&self) -> Option<HeldLane> {
        let is_free = |entry: &ServedEntry<P>| entry.holder.load(Ordering::Relaxed) == FREE;
        let take = |entry: &ServedEntry<P>| is_free(entry) && entry.change(FREE, HELD);
        let at = self.entries.iter().position(take)?;
        Some(self.held(at))
    }

    /// Puts a lane here, of which the driver has told this, for any thread to take.
    ///
    /// # Errors
    ///
    /// What the process has of it, if there is no room, or it is none.
    pub fn add(&self, accepted: &LaneAccept, place: P) -> Result<(), P> {
        let LaneAccept { id, place: at, sender_pid, ptr, cookie, .. } = *accepted;
        let Some(id) = LaneId::new(id) else { return Err(place) };
        let Some(entry) = self.entries.iter().find(|entry| entry.change(VACANT, HELD)) else {
            return Err(place);
        };
        let (at, wakes_in_vain, found) = (at as usize, Cell::new(0), Cell::new(None));
        let lane = ServedLane { id, at, place, sender_pid, ptr, cookie, wakes_in_vain, found };
        // SAFETY: the entry was vacant, and this thread has it.
        unsafe { *entry.lane.get() = Some(lane) };
        self.count.fetch_add(1, Ordering::Relaxed);
        entry.holder.store(FREE, Ordering::Release);
        Ok(())
    }

    /// The lane that was taken.
    pub(super) fn get(&self, lane: &HeldLane) -> &ServedLane<P> {
        // SAFETY: this thread alone has the lane, and changes it by value alone (`remove`): not as long as `lane` is lent.
        let lane = unsafe { &*self.entry(lane).lane.get() };
        lane.as_ref().expect("a lane that is held is there")
    }

    /// Gives a lane back, for any thread to take.
    pub(super) fn release(&self, lane: HeldLane) {
        self.entry(&lane).holder.store(FREE, Ordering::Release);
    }

    /// Takes a lane out. Returns what the process had of it.
    pub(super) fn remove(&self, lane: HeldLane) -> P {
        let entry = self.entry(&lane);
        // SAFETY: this thread alone has the lane, and nothing is lent of it, since `lane` is not.
        let removed = unsafe { (*entry.lane.get()).take() };
        self.count.fetch_sub(1, Ordering::Relaxed);
        entry.holder.store(VACANT, Ordering::Release);
        removed.expect("a lane that is held is there").place
    }

    /// Forgets all lanes, without an end of what the process had of them: a child that was made by fork(2) has nothing of that.
    ///
    /// # Safety
    ///
    /// No other thread uses this, and no thread has a lane.
    pub unsafe fn forget(&self) {
        for entry in &self.entries {
            // SAFETY: nothing else uses it, as the caller says.
            core::mem::forget(unsafe { (*entry.lane.get()).take() });
            entry.holder.store(VACANT, Ordering::Relaxed);
        }
        self.count.store(0, Ordering::Relaxed);
        self.sleepers.store(0, Ordering::Relaxed);
    }

    /// Takes all lanes out that no thread has. Returns what the process had of them.
    pub fn drain(&self) -> impl Iterator<Item = P> {
        core::iter::from_fn(|| Some(self.remove(self.take_free()?)))
    }
}

impl<P> ServedEntry<P> {
    const fn new() -> Self {
        Self { holder: AtomicU32::new(VACANT), lane: UnsafeCell::new(None) }
    }

    fn change(&self, from: u32, to: u32) -> bool {
        self.holder.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }
}

impl<P: ServedPlace> ServedLane<P> {
    /// Notes that it has woken its thread, or had a call, and none was served.
    pub(super) fn note_in_vain(&self) {
        self.wakes_in_vain.set(self.wakes_in_vain.get() + 1);
    }

    /// Whether it has disturbed its thread so often for nothing that it is used no more.
    pub(super) fn is_useless(&self) -> bool {
        self.wakes_in_vain.get() > MOST_IN_VAIN
    }

    /// Has no thread look. A call that is there is declined.
    pub(super) fn cool(&self) {
        if !self.place.segment().head().word.cool() {
            self.decline();
        }
    }

    /// Declines a call to which no thread has come, if there is one. Of any other the caller may not have seen the outcome yet.
    fn decline(&self) {
        let segment = self.place.segment();
        let head = segment.head();
        if head.word.state() != LaneState::Posted {
            return;
        }
        head.reply.outcome.store(CallOutcome::Declined as u32, Ordering::Relaxed);
        if let Some(woken) = head.word.decline() {
            self.wake_caller(woken);
        }
    }

    fn wake_caller(&self, woken: Woken) {
        if woken == Woken::Wake {
            wake(self.place.segment().head().word.word());
        }
    }

    /// Ends a call that was claimed otherwise than by a reply of this lane.
    pub(super) fn finish_as(&self, outcome: CallOutcome) {
        let segment = self.place.segment();
        let head = segment.head();
        head.reply.outcome.store(outcome as u32, Ordering::Relaxed);
        match head.word.finish(false) {
            Ok(woken) => self.wake_caller(woken),
            Err(LeftToDriver) => head.word.settle(),
        }
    }

    /// Replies to the call that the thread serves, and says whether the thread will look for another.
    pub(super) fn reply(
        &self,
        system: &impl LaneServing<Served = P>,
        reply: &BinderTransactionData,
        will_look: bool,
    ) -> Result<(), LeftToDriver> {
        let segment = self.place.segment();
        let len = u32::try_from(reply.data_size).map_err(|_| LeftToDriver)?;
        if !fits(&segment.head().request.room, reply.data_size) {
            segment.head().reply.len.store(len, Ordering::Relaxed);
            return Err(LeftToDriver);
        }
        if !system.copy_reply(&segment, reply) {
            return Err(LeftToDriver);
        }
        let head = segment.head();
        head.reply.outcome.store(CallOutcome::Replied as u32, Ordering::Relaxed);
        head.reply.code.store(reply.code, Ordering::Relaxed);
        head.reply.flags.store(reply.flags, Ordering::Relaxed);
        head.reply.len.store(len, Ordering::Relaxed);
        let replies = header(system).lane_calls.get(self.at);
        // A caller that has its reply may ask at once how many there were.
        if let Some(replies) = replies {
            replies.count();
        }
        let ended = head.word.finish(will_look).and_then(|woken| {
            let own = note(system).end(self.id, NoteKind::Serves);
            self.wake_caller(woken);
            // The driver was told by a caller that lies, and waits for a reply as well.
            if own { Ok(()) } else { Err(LeftToDriver) }
        });
        if let (Some(replies), Err(LeftToDriver)) = (replies, ended) {
            replies.take_back();
        }
        ended
    }

    /// Whether the call that is there comes before all that the driver has in line: what is in line when a call is found is before
    /// it.
    pub(super) fn is_next(&self, system: &impl LaneServing<Served = P>) -> bool {
        let header = header(system);
        if header.gate.load(Ordering::Acquire) == 0 {
            return true;
        }
        let number = self.place.segment().head().request.number.load(Ordering::Relaxed);
        let found = self.found.get().filter(|(found, _)| *found == number);
        let (_, end) = found.unwrap_or_else(|| (number, header.line.end()));
        self.found.set(Some((number, end)));
        header.line.has_passed(end)
    }

    /// Takes the call that is there, if it can be served now.
    pub(super) fn take(
        &self,
        system: &impl LaneServing<Served = P>,
    ) -> Option<BinderTransactionData> {
        let taken = self.try_take(system);
        match taken {
            Some(_) => self.wakes_in_vain.set(0),
            None => self.note_in_vain(),
        }
        taken
    }

    fn try_take(&self, system: &impl LaneServing<Served = P>) -> Option<BinderTransactionData> {
        let note = note(system);
        note.begin(self.id, NoteKind::Serves);
        let may_serve = is_granted(system, self.id, self.at) && !system.is_call_lent(&self.place);
        let segment = self.place.segment();
        let head = segment.head();
        if !may_serve || !self.is_next(system) || !head.word.claim() {
            let _ = note.end(self.id, NoteKind::Serves);
            if !may_serve {
                self.decline();
            }
            return None;
        }
        let request = &head.request;
        let code = request.code.load(Ordering::Relaxed);
        let flags = request.flags.load(Ordering::Relaxed) & LANE_FLAGS;
        let len = request.len.load(Ordering::Relaxed) as usize;
        let received = self.place.caller_uid().and_then(|uid| {
            let buffer = system.receive_call(&self.place, len)?;
            Some((uid, buffer))
        });
        let Some((sender_euid, buffer)) = received else {
            // The caller has ended, or lies.
            let _ = note.end(self.id, NoteKind::Serves);
            self.finish_as(CallOutcome::Declined);
            return None;
        };
        Some(BinderTransactionData {
            target: self.ptr,
            cookie: self.cookie,
            code,
            flags,
            sender_pid: self.sender_pid.cast_signed(),
            sender_euid,
            data_size: len as u64,
            buffer,
            ..Default::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::vec::Vec;

    use super::*;

    fn lane(id: u32) -> LaneAccept {
        LaneAccept { id, ..Default::default() }
    }

    #[test]
    fn a_lane_is_one_threads_until_it_is_given_back() {
        let (table, place) = (ServedLanes::new(), Arc::new(()));
        for id in (1..).take(MOST_SERVED) {
            assert!(table.add(&lane(id), place.clone()).is_ok());
        }
        assert!(table.add(&lane(99), place.clone()).is_err(), "there is no room");
        assert!(ServedLanes::new().add(&lane(0), ()).is_err(), "that is none");
        let mut held: Vec<HeldLane> = core::iter::from_fn(|| table.take_free()).collect();
        assert_eq!((held.len(), table.count()), (MOST_SERVED, MOST_SERVED));
        let one = held.pop().expect("one of them");
        let id = table.get(&one).id;
        table.release(one);
        let again = table.take_free().expect("it is free");
        assert_eq!(table.get(&again).id, id);
        drop(table.remove(again));
        assert!(table.take_free().is_none());
        assert_eq!((table.count(), Arc::strong_count(&place)), (MOST_SERVED - 1, MOST_SERVED));
        held.into_iter().for_each(|lane| table.release(lane));
        assert_eq!((table.drain().count(), table.count()), (MOST_SERVED - 1, 0));
        assert_eq!(Arc::strong_count(&place), 1);
    }

    #[test]
    #[should_panic(expected = "another table")]
    fn a_lane_of_another_table_is_refused() {
        let (table, other) = (ServedLanes::new(), ServedLanes::<Arc<()>>::new());
        assert!(table.add(&lane(1), Arc::new(())).is_ok());
        let held = table.take_free().expect("it is there");
        other.release(held);
    }
}
