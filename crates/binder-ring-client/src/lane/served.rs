//! The lanes by which a process is called.
//!
//! Its threads share them: a thread takes those that no other has, looks at them, and gives them back. So each lane is one
//! thread's at any time, or no one's, without a lock: the table serves programs whose signal handlers make calls.

#![expect(unsafe_code, reason = "lanes lie in a table without a lock")]

use core::cell::{Cell, UnsafeCell};
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU32, Ordering};

use binder_lane::layout::{CallOutcome, fits};
use binder_lane::{LaneId, LaneSegment, LaneState, LeftToDriver, NoteKind, Woken};
use binder_uapi::{BinderTransactionData, LANE_FLAGS, LaneAccept};

use super::system::{LaneServing, header, is_granted, note};
use crate::kernel::wake;

/// How many lanes may lead to a process. The driver grants fewer; others may not be taken back yet.
pub const MAX_SERVED: usize = u32::BITS as usize;

/// The lanes by which a process is called.
#[derive(Debug)]
pub struct ServedLanes<P> {
    lanes: [UnsafeCell<Option<ServedLane<P>>>; MAX_SERVED],
    /// The places at which there is a lane, or one is being put: a bit for each.
    used: AtomicU32,
    /// The places of lanes that no thread has.
    free: AtomicU32,
    /// How many threads that look for calls are asleep.
    sleepers: AtomicU32,
    /// How many threads have released lanes warm, and will look again.
    returning: AtomicU32,
}

// SAFETY: what lies at a place is touched by whom its bits let alone: who has brought it into `used`, until that has put it into
// `free`, and who has taken it from there, by a `HeldLane` or `HeldLanes` that have it for no two threads.
unsafe impl<P: Send> Sync for ServedLanes<P> {}

/// A lane by which the process is called. It takes no other's line of memory.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct ServedLane<P> {
    pub(super) id: LaneId,
    /// In the ring's list of lanes.
    pub(super) at: usize,
    pub(super) place: P,
    sender_pid: u32,
    sender_euid: u32,
    ptr: u64,
    cookie: u64,
    /// How often in a row it has woken the thread that looks at it, or had a call, and none was served.
    spurious_wakes: Cell<u32>,
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

/// Lanes that this thread has taken, of one table.
#[derive(Debug)]
pub(super) struct HeldLanes {
    places: Places,
    table: usize,
    _of_one_thread: PhantomData<Cell<()>>,
}

/// Places in a table: a bit for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Places(u32);

impl Places {
    pub(super) const NONE: Self = Self(0);
    pub(super) const ALL: Self = Self(u32::MAX);

    pub(super) fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// These and others.
    pub(super) fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    fn has(self, at: usize) -> bool {
        self.0 & bit(at) != 0
    }

    /// Those from `at` on.
    fn behind(self, at: usize) -> Self {
        let first = u32::try_from(at).ok().and_then(|at| u32::MAX.checked_shl(at));
        Self(self.0 & first.unwrap_or(0))
    }
}

impl Iterator for Places {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let at = self.0.trailing_zeros() as usize;
        self.0 &= self.0.wrapping_sub(1);
        (at < MAX_SERVED).then_some(at)
    }
}

impl FromIterator<usize> for Places {
    fn from_iter<I: IntoIterator<Item = usize>>(places: I) -> Self {
        Self(places.into_iter().fold(0, |all, at| all | bit(at)))
    }
}

fn bit(at: usize) -> u32 {
    1 << at
}

impl HeldLanes {
    pub(super) const NONE: Self =
        Self { places: Places::NONE, table: 0, _of_one_thread: PhantomData };

    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.places.0.count_ones() as usize
    }

    /// Their places in the table.
    pub(super) fn places(&self) -> Places {
        self.places
    }

    /// The same, those from `at` on first.
    pub(super) fn places_from(&self, at: usize) -> impl Iterator<Item = usize> + use<> {
        let behind = self.places.behind(at);
        behind.chain(Places(self.places.0 & !behind.0))
    }

    /// Puts a lane to them.
    pub(super) fn put(&mut self, lane: HeldLane) {
        self.put_all(Self { places: Places(bit(lane.at)), table: lane.table, ..Self::NONE });
    }

    fn put_all(&mut self, lanes: Self) {
        assert!(self.is_empty() || self.table == lanes.table, "the lanes are of two tables");
        self.places.0 |= lanes.places.0;
        self.table = lanes.table;
    }

    /// Takes some of them out.
    pub(super) fn take_out_all(&mut self, places: Places) -> Self {
        let places = Places(self.places.0 & places.0);
        self.places.0 &= !places.0;
        Self { places, ..*self }
    }

    /// Takes one out of them.
    pub(super) fn take_out(&mut self, at: usize) -> Option<HeldLane> {
        let is_there = self.places.has(at);
        self.places.0 &= !bit(at);
        let Self { table, _of_one_thread, .. } = *self;
        is_there.then_some(HeldLane { at, table, _of_one_thread })
    }
}

/// Counts one more thread, or one less.
#[inline(always)]
fn count(threads: &AtomicU32, is_more: bool) {
    let change = if is_more { 1 } else { u32::MAX };
    threads.fetch_add(change, Ordering::Relaxed);
}

/// A lane that has woken a thread this often in a row for nothing is used no more.
const MAX_SPURIOUS_WAKES: u32 = 1000;

impl<P> Default for ServedLanes<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P> ServedLanes<P> {
    /// No lanes.
    pub const fn new() -> Self {
        Self {
            lanes: [const { UnsafeCell::new(None) }; MAX_SERVED],
            used: AtomicU32::new(0),
            free: AtomicU32::new(0),
            sleepers: AtomicU32::new(0),
            returning: AtomicU32::new(0),
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.used.load(Ordering::Relaxed).count_ones() as usize
    }

    /// Counts this thread among those that sleep, or no more.
    #[inline(always)]
    pub(super) fn count_sleeper(&self, sleeps: bool) {
        count(&self.sleepers, sleeps);
    }

    /// Whether another thread sleeps that looks for calls.
    pub(super) fn has_sleeper(&self) -> bool {
        self.sleepers.load(Ordering::Relaxed) > 0
    }

    /// Counts this thread among those that will look again at lanes which they have released warm, or no more.
    pub(super) fn count_returning(&self, returns: bool) {
        count(&self.returning, returns);
    }

    /// Whether there is one. One that has ended in between may still be counted: callers give up a call that no thread comes for.
    pub(super) fn has_returning(&self) -> bool {
        self.returning.load(Ordering::Relaxed) > 0
    }

    fn address(&self) -> usize {
        (&raw const *self).addr()
    }

    /// Where a lane of `table` lies, which is this one.
    fn place(&self, table: usize, at: usize) -> &UnsafeCell<Option<ServedLane<P>>> {
        assert_eq!(table, self.address(), "the lane is of another table");
        &self.lanes[at]
    }

    /// Takes the lanes at these places that no thread has.
    pub(super) fn take_free(&self, into: &mut HeldLanes, among: Places) {
        if self.free.load(Ordering::Relaxed) & among.0 != 0 {
            let free = self.free.fetch_and(!among.0, Ordering::Acquire);
            let places = Places(free & among.0);
            into.put_all(HeldLanes { places, table: self.address(), ..HeldLanes::NONE });
        }
    }

    /// Puts a lane here, of which the driver has told this, for any thread to take.
    ///
    /// # Errors
    ///
    /// What the process has of it, if there is no room, or it is none.
    pub fn add(&self, accepted: &LaneAccept, place: P) -> Result<(), P> {
        let LaneAccept { id, place: at, sender_pid, sender_euid, ptr, cookie, .. } = *accepted;
        let Some(id) = LaneId::new(id) else { return Err(place) };
        let Some(vacant) = self.claim_place() else { return Err(place) };
        let (at, spurious_wakes, found) = (at as usize, Cell::new(0), Cell::new(None));
        let lane = ServedLane {
            id,
            at,
            place,
            sender_pid,
            sender_euid,
            ptr,
            cookie,
            spurious_wakes,
            found,
        };
        // SAFETY: the place was vacant, and this thread has it.
        unsafe { *self.lanes[vacant].get() = Some(lane) };
        self.free.fetch_or(bit(vacant), Ordering::Release);
        Ok(())
    }

    /// Has a place that was vacant.
    fn claim_place(&self) -> Option<usize> {
        loop {
            let vacant = Places(!self.used.load(Ordering::Relaxed)).next()?;
            if self.used.fetch_or(bit(vacant), Ordering::Acquire) & bit(vacant) == 0 {
                return Some(vacant);
            }
        }
    }

    /// The lane that was taken.
    pub(super) fn get(&self, lane: &HeldLane) -> &ServedLane<P> {
        // SAFETY: this thread alone has the lane, and changes it by value alone (`remove`): not as long as `lane` is lent.
        let lane = unsafe { &*self.place(lane.table, lane.at).get() };
        lane.as_ref().expect("a lane that is held is there")
    }

    /// One of the lanes that were taken.
    pub(super) fn get_of(&self, lanes: &HeldLanes, at: usize) -> &ServedLane<P> {
        assert!(lanes.places.has(at), "it is none of them");
        // SAFETY: as above, with `lanes`.
        let lane = unsafe { &*self.place(lanes.table, at).get() };
        lane.as_ref().expect("a lane that is held is there")
    }

    /// Gives a lane back, for any thread to take.
    pub(super) fn release(&self, lane: HeldLane) {
        let mut lanes = HeldLanes::NONE;
        lanes.put(lane);
        self.release_all(lanes);
    }

    /// Gives lanes back, for any thread to take.
    pub(super) fn release_all(&self, lanes: HeldLanes) {
        if !lanes.is_empty() {
            assert_eq!(lanes.table, self.address(), "the lanes are of another table");
            self.free.fetch_or(lanes.places.0, Ordering::Release);
        }
    }

    /// Takes a lane out. Returns what the process had of it.
    pub(super) fn remove(&self, lane: HeldLane) -> P {
        // SAFETY: this thread alone has the lane, and nothing is lent of it, since `lane` is not.
        let removed = unsafe { (*self.place(lane.table, lane.at).get()).take() };
        self.used.fetch_and(!bit(lane.at), Ordering::Release);
        removed.expect("a lane that is held is there").place
    }

    /// Forgets all lanes, without an end of what the process had of them: a child that was made by fork(2) has nothing of that.
    ///
    /// # Safety
    ///
    /// No other thread uses this, and no thread has a lane.
    pub unsafe fn forget(&self) {
        for lane in &self.lanes {
            // SAFETY: nothing else uses it, as the caller says.
            core::mem::forget(unsafe { (*lane.get()).take() });
        }
        self.used.store(0, Ordering::Relaxed);
        self.free.store(0, Ordering::Relaxed);
        self.sleepers.store(0, Ordering::Relaxed);
        self.returning.store(0, Ordering::Relaxed);
    }

    /// Takes all lanes out that no thread has. Returns what the process had of them.
    pub fn drain(&self) -> impl Iterator<Item = P> {
        let mut held = HeldLanes::NONE;
        self.take_free(&mut held, Places::ALL);
        held.places().filter_map(move |at| Some(self.remove(held.take_out(at)?)))
    }
}

impl<P: ServedPlace> ServedLane<P> {
    /// Notes that it has woken its thread, or had a call, and none was served.
    pub(super) fn note_spurious_wake(&self) {
        self.spurious_wakes.set(self.spurious_wakes.get() + 1);
    }

    /// Whether it has disturbed its thread that often for nothing that it is used no more.
    pub(super) fn is_useless(&self) -> bool {
        self.spurious_wakes.get() > MAX_SPURIOUS_WAKES
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
            Some(_) => self.spurious_wakes.set(0),
            None => self.note_spurious_wake(),
        }
        taken
    }

    fn try_take(&self, system: &impl LaneServing<Served = P>) -> Option<BinderTransactionData> {
        let note = note(system);
        note.begin(self.id, NoteKind::Serves);
        let may_serve = is_granted(system, self.id, self.at) && !system.is_call_in_use(&self.place);
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
        // Another process may write to the segment as well, also when the thread has executed a program of another user's.
        let is_its = self.place.caller_uid() == Some(self.sender_euid);
        let Some(buffer) = is_its.then(|| system.receive_call(&self.place, len)).flatten() else {
            // The caller has ended, is another user by now, or lies.
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
            sender_euid: self.sender_euid,
            data_size: len as u64,
            buffer,
            ..Default::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::vec;
    use std::vec::Vec;

    use super::*;

    fn lane(id: u32) -> LaneAccept {
        LaneAccept { id, ..Default::default() }
    }

    #[test]
    fn a_lane_is_one_threads_until_it_is_given_back() {
        let (table, place) = (ServedLanes::new(), Arc::new(()));
        for id in (1..).take(MAX_SERVED) {
            assert!(table.add(&lane(id), place.clone()).is_ok());
        }
        assert!(table.add(&lane(99), place.clone()).is_err(), "there is no room");
        assert!(ServedLanes::new().add(&lane(0), ()).is_err(), "that is none");
        let mut held = HeldLanes::NONE;
        table.take_free(&mut held, Places::ALL);
        assert_eq!((held.len(), table.count()), (MAX_SERVED, MAX_SERVED));
        let one = held.take_out(7).expect("one of them");
        assert!(held.take_out(7).is_none());
        let id = table.get(&one).id;
        table.release(one);
        let mut again = HeldLanes::NONE;
        table.take_free(&mut again, Places::ALL);
        assert_eq!((again.places().collect::<Vec<_>>(), table.get_of(&again, 7).id), (vec![7], id));
        drop(table.remove(again.take_out(7).expect("it is free")));
        table.take_free(&mut again, Places::ALL);
        assert!(again.is_empty());
        assert_eq!((table.count(), Arc::strong_count(&place)), (MAX_SERVED - 1, MAX_SERVED));
        table.release_all(held);
        assert_eq!((table.drain().count(), table.count()), (MAX_SERVED - 1, 0));
        assert_eq!(Arc::strong_count(&place), 1);
    }

    #[test]
    fn the_places_of_lanes_begin_where_they_are_to() {
        let table = ServedLanes::new();
        let mut held = HeldLanes::NONE;
        for id in (1..).take(MAX_SERVED) {
            assert!(table.add(&lane(id), ()).is_ok());
        }
        table.take_free(&mut held, Places::ALL);
        for at in (1..MAX_SERVED - 1).filter(|at| at % 10 != 0) {
            table.release(held.take_out(at).expect("it is there"));
        }
        for (first, places) in [
            (0, [0, 10, 20, 30, 31]),
            (1, [10, 20, 30, 31, 0]),
            (31, [31, 0, 10, 20, 30]),
            (32, [0, 10, 20, 30, 31]),
        ] {
            assert!(held.places_from(first).eq(places), "from {first}");
        }
    }

    #[test]
    #[should_panic(expected = "another table")]
    fn a_lane_of_another_table_is_refused() {
        let (table, other) = (ServedLanes::new(), ServedLanes::<Arc<()>>::new());
        assert!(table.add(&lane(1), Arc::new(())).is_ok());
        let mut held = HeldLanes::NONE;
        table.take_free(&mut held, Places::ALL);
        other.release_all(held);
    }
}
