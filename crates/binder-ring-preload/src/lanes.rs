//! The lanes by which threads of the program call, and by which the program is called, past the driver.
//!
//! A thread has what belongs to its lane beside its slot in the ring, in the same table: a handler of a signal that makes a call
//! of its own finds it there. A lane costs no descriptor: its segment is mapped, and the file closed.

#![expect(unsafe_code, reason = "lanes lie in a table without a lock, and their memory is mapped")]

use core::cell::UnsafeCell;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use binder_lane::layout::SEGMENT_BYTES;
use binder_lane::{CallLeft, LaneId, LaneSegment};
use binder_ring::SlotIndex;
use binder_ring::layout::SLOTS;
use binder_ring_client::ClientRing;
use binder_ring_client::lane::{
    MOST_SERVED, ReceivedBuffers, ServedLanes, ServedPlace as _, ThreadLanes, create_segment,
};
use rustix::fd::OwnedFd;

use crate::program_memory::thread_pointer;
use crate::room::{ROOM_BYTES, Room};
use crate::served::ProgramServed;

/// What the threads with slots in a ring have of lanes.
pub(crate) struct RingLanes {
    slots: [SlotLanes; SLOTS as usize],
    served: ServedLanes<ProgramServed>,
    /// Where the calls lie that came by those.
    calls: [LaneBuffer; MOST_SERVED],
    /// Whether anything has come by a lane: else no buffer can be freed.
    has_lent: AtomicBool,
}

/// Room for what comes by a lane. It is made when it is first needed, and stays for the next lane.
struct LaneBuffer {
    /// Where the library writes.
    start: AtomicPtr<u8>,
    /// Where the program reads: in its receive buffer.
    address: AtomicU64,
    /// Whether a lane has it.
    is_taken: AtomicBool,
    /// Whether what lies there was not freed.
    is_lent: AtomicBool,
}

/// What a thread has of lanes. The thread alone uses it, and handlers of its signals in between.
struct SlotLanes {
    /// Whether the thread makes a call, or has left one by a jump.
    is_busy: AtomicBool,
    /// The lane by which it makes a call at this moment, and the segment of that.
    lane: AtomicU32,
    segment: AtomicPtr<u8>,
    /// How a handler, which has made a call of its own meanwhile, has left that call: a [`CallLeft`], or [`NOT_LEFT`].
    left: AtomicU32,
    /// The thread pointer of the thread while it serves a call that came by a lane, or 0.
    serving: AtomicUsize,
    /// Where what comes back lies.
    buffer: LaneBuffer,
    thread: UnsafeCell<ThreadLanes<LanePlace>>,
}

// SAFETY: `thread` is touched by the thread of the slot alone, while it has the slot busy, or by one that has the table, and no
// thread the slot. All else is atomic.
unsafe impl Sync for SlotLanes {}

/// The segment of a lane.
#[derive(Debug)]
pub(crate) struct LanePlace {
    start: NonNull<u8>,
}

/// The lanes of a thread that makes a call, which has its slot busy until this is dropped.
pub(crate) struct BusySlot<'t> {
    lanes: &'t RingLanes,
    slot: SlotIndex,
}

const NOT_LEFT: u32 = 0;
const TAKEN_BACK: u32 = 1;
const TO_DRIVER: u32 = 2;

impl RingLanes {
    pub(crate) const fn new() -> Self {
        Self {
            slots: [const { SlotLanes::new() }; SLOTS as usize],
            served: ServedLanes::new(),
            calls: [const { LaneBuffer::new() }; MOST_SERVED],
            has_lent: AtomicBool::new(false),
        }
    }

    /// The lanes by which the program is called.
    pub(crate) fn served(&self) -> &ServedLanes<ProgramServed> {
        &self.served
    }

    fn of(&self, slot: SlotIndex) -> &SlotLanes {
        &self.slots[slot.number() as usize]
    }

    /// Whether anything has come by a lane.
    pub(crate) fn has_lent(&self) -> bool {
        self.has_lent.load(Ordering::Relaxed)
    }

    /// Has the slot of this thread busy. None if it is: a handler has interrupted a call, or left one by a jump.
    pub(crate) fn enter(&self, slot: SlotIndex) -> Option<BusySlot<'_>> {
        let is_busy = &self.of(slot).is_busy;
        // Handlers run between two instructions of the thread, never beside it.
        if is_busy.load(Ordering::Relaxed) {
            return None;
        }
        is_busy.store(true, Ordering::Relaxed);
        Some(BusySlot { lanes: self, slot })
    }

    /// Leaves the call that this thread has under way by a lane, for a handler that makes one of its own. Returns the lane of one
    /// that the driver is to take over.
    #[cold]
    pub(crate) fn leave_call_below(&self, slot: SlotIndex) -> Option<LaneId> {
        let SlotLanes { lane, segment, left, .. } = self.of(slot);
        let lane = LaneId::new(lane.load(Ordering::Relaxed))?;
        let start = NonNull::new(segment.load(Ordering::Relaxed))?;
        // SAFETY: the thread has a call under way there, so it is mapped.
        let segment = unsafe { LaneSegment::new(start) };
        match segment.head().word.leave() {
            CallLeft::TakenBack => left.store(TAKEN_BACK, Ordering::Relaxed),
            CallLeft::ToDriver => {
                left.store(TO_DRIVER, Ordering::Relaxed);
                return Some(lane);
            }
            CallLeft::Over => {}
        }
        None
    }

    /// The slot of this thread if it serves a call that came by a lane, without a system call.
    pub(crate) fn serving_slot(&self) -> Option<SlotIndex> {
        let own = thread_pointer();
        let is_own = |slot: &SlotIndex| self.of(*slot).serving.load(Ordering::Relaxed) == own;
        self.has_lent().then(|| SlotIndex::all().find(is_own))?
    }

    /// Forgets the lanes of a thread that has ended. The slot is this thread's.
    pub(crate) fn clear(&self, ring: &ClientRing, slot: SlotIndex) {
        // SAFETY: no thread has the slot but this one, which makes no call.
        let thread = unsafe { &mut *self.of(slot).thread.get() };
        drop(thread.end(ring, slot, &self.served));
        self.of(slot).reset();
    }

    /// Takes the lanes back of threads that have ended and whose slots no thread has claimed since. Signals are blocked: this thread has
    /// those slots meanwhile.
    #[cold]
    pub(crate) fn clear_ended(&self, ring: &ClientRing, own: SlotIndex) {
        ring.clear_unused(own, |slot| self.clear(ring, slot));
    }

    /// Unmaps all that the program does not need. No thread has a slot.
    pub(crate) fn end(&self, ring: &ClientRing) {
        SlotIndex::all().for_each(|slot| self.clear(ring, slot));
        self.served.drain().for_each(|served| self.give_back(served));
        self.buffers().for_each(LaneBuffer::end);
        self.has_lent.store(false, Ordering::Relaxed);
    }

    /// Forgets what another process has: nothing of it is mapped in its child.
    pub(crate) fn forget(&self) {
        for slot in &self.slots {
            // SAFETY: the child has one thread, which makes no call by a lane before this.
            let thread = unsafe { &mut *slot.thread.get() };
            core::mem::forget(core::mem::take(thread));
            slot.reset();
        }
        // SAFETY: as above.
        unsafe { self.served.forget() };
        self.buffers().for_each(LaneBuffer::forget);
        self.has_lent.store(false, Ordering::Relaxed);
    }

    fn buffers(&self) -> impl Iterator<Item = &LaneBuffer> {
        self.calls.iter().chain(self.slots.iter().map(|slot| &slot.buffer))
    }

    /// What the program has of a lane by which it is called, with these files. None if it cannot have it.
    pub(crate) fn serve(
        &self,
        files: [OwnedFd; 2],
        make: impl FnOnce() -> Option<Room>,
    ) -> Option<ProgramServed> {
        let buffer = self.calls.iter().position(LaneBuffer::take)?;
        let is_there = self.calls[buffer].prepare(make);
        let served = is_there.then(|| ProgramServed::new(files, buffer)).flatten();
        if served.is_none() {
            self.calls[buffer].is_taken.store(false, Ordering::Release);
        }
        served
    }

    /// Ends what the program had of a lane.
    pub(crate) fn give_back(&self, served: ProgramServed) {
        self.calls[served.buffer].is_taken.store(false, Ordering::Release);
    }

    /// Whether the last call of a lane was not freed.
    pub(crate) fn is_call_lent(&self, served: &ProgramServed) -> bool {
        self.calls[served.buffer].is_lent()
    }

    /// Copies the first `len` bytes of a call to the buffer of its lane, and lends that. Returns where it lies; None if they have no
    /// room, or it is lent.
    pub(crate) fn receive_call(&self, served: &ProgramServed, len: usize) -> Option<u64> {
        let segment = served.segment();
        // SAFETY: `fill` lets so many bytes be written, and a buffer is no segment.
        let address =
            self.calls[served.buffer].fill(len, |to| unsafe { segment.copy_request(to, len) })?;
        self.has_lent.store(true, Ordering::Relaxed);
        Some(address)
    }
}

impl SlotLanes {
    const fn new() -> Self {
        Self {
            is_busy: AtomicBool::new(false),
            lane: AtomicU32::new(0),
            segment: AtomicPtr::new(ptr::null_mut()),
            left: AtomicU32::new(NOT_LEFT),
            serving: AtomicUsize::new(0),
            buffer: LaneBuffer::new(),
            thread: UnsafeCell::new(ThreadLanes::new()),
        }
    }

    fn reset(&self) {
        self.lane.store(0, Ordering::Relaxed);
        self.left.store(NOT_LEFT, Ordering::Relaxed);
        self.serving.store(0, Ordering::Relaxed);
        self.is_busy.store(false, Ordering::Relaxed);
    }
}

impl LaneBuffer {
    const fn new() -> Self {
        Self {
            start: AtomicPtr::new(ptr::null_mut()),
            address: AtomicU64::new(0),
            is_taken: AtomicBool::new(false),
            is_lent: AtomicBool::new(false),
        }
    }

    /// Takes it for a lane, if none has it and nothing is lent of it.
    fn take(&self) -> bool {
        !self.is_lent() && !self.is_taken.swap(true, Ordering::Acquire)
    }

    fn address(&self) -> u64 {
        self.address.load(Ordering::Relaxed)
    }

    fn room(&self) -> Option<Room> {
        let start = NonNull::new(self.start.load(Ordering::Relaxed))?;
        Some(Room { start, address: self.address() })
    }

    fn is_lent(&self) -> bool {
        self.is_lent.load(Ordering::Acquire)
    }

    /// Has a lane fill so many bytes of it, and lends it. Returns where it is; None if it is too small, or lent. For the thread that has
    /// the lane.
    fn fill(&self, len: usize, copy: impl FnOnce(*mut u8)) -> Option<u64> {
        let room = self.room()?;
        if len > ROOM_BYTES || self.is_lent() {
            return None;
        }
        copy(room.start.as_ptr());
        self.is_lent.store(true, Ordering::Release);
        Some(room.address)
    }

    /// Ends it. No lane has it. What lies there stays where the program reads: it may look at that after it has closed the device.
    fn end(&self) {
        let room = self.room();
        self.forget();
        if let Some(room) = room {
            // SAFETY: no lane has it, and none will.
            unsafe { room.unmap() };
        }
    }

    /// Forgets that of another process.
    fn forget(&self) {
        self.start.store(ptr::null_mut(), Ordering::Relaxed);
        self.address.store(0, Ordering::Relaxed);
        self.is_taken.store(false, Ordering::Relaxed);
        self.is_lent.store(false, Ordering::Relaxed);
    }

    /// Has it be there. Says whether it is: `make` makes it if it is not.
    fn prepare(&self, make: impl FnOnce() -> Option<Room>) -> bool {
        if self.room().is_some() {
            return true;
        }
        let Some(Room { start, address }) = make() else { return false };
        self.address.store(address, Ordering::Relaxed);
        self.start.store(start.as_ptr(), Ordering::Relaxed);
        true
    }
}

/// # Safety
///
/// So many bytes are mapped there, and nothing uses them any more.
pub(crate) unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller's promise.
    let unmapped = unsafe { rustix::mm::munmap(start.as_ptr().cast(), bytes) };
    debug_assert_eq!(unmapped, Ok(()), "a whole mapping can always be unmapped");
}

impl LanePlace {
    pub(crate) fn segment(&self) -> LaneSegment {
        // SAFETY: a whole segment is mapped there until `drop`, and nothing else knows the address.
        unsafe { LaneSegment::new(self.start) }
    }
}

impl Drop for LanePlace {
    fn drop(&mut self) {
        // SAFETY: `create_place` has mapped a whole segment there, and this value alone has it.
        unsafe { unmap(self.start, SEGMENT_BYTES) }
    }
}

impl BusySlot<'_> {
    fn own(&self) -> &SlotLanes {
        self.lanes.of(self.slot)
    }

    /// What the thread has of lanes.
    ///
    /// # Safety
    ///
    /// No value that this has returned is there.
    #[expect(
        clippy::mut_from_ref,
        reason = "the slot is busy as long as this lives, for this thread"
    )]
    pub(crate) unsafe fn thread(&self) -> &mut ThreadLanes<LanePlace> {
        // SAFETY: the thread of the slot alone uses it, and its handlers find it busy; the other is the caller's promise.
        unsafe { &mut *self.own().thread.get() }
    }

    pub(crate) fn create_place(
        &self,
        make: impl FnOnce() -> Option<Room>,
    ) -> Option<(LanePlace, OwnedFd)> {
        if !self.own().buffer.prepare(make) {
            return None;
        }
        let (start, file) = create_segment().ok()?;
        Some((LanePlace { start }, file))
    }

    /// Where the thread's buffer is.
    pub(crate) fn address(&self) -> u64 {
        self.own().buffer.address()
    }

    pub(crate) fn is_lent(&self) -> bool {
        self.own().buffer.is_lent()
    }

    /// Copies the first `len` bytes of a reply to the thread's buffer, and lends that. Says whether they have room, and it was not
    /// lent.
    pub(crate) fn receive(&self, place: &LanePlace, len: usize) -> bool {
        let segment = place.segment();
        // SAFETY: `fill` lets so many bytes be written, and a buffer is no segment.
        let filled = self.own().buffer.fill(len, |to| unsafe { segment.copy_reply(to, len) });
        if filled.is_some() {
            self.lanes.has_lent.store(true, Ordering::Relaxed);
        }
        filled.is_some()
    }

    #[inline(always)]
    pub(crate) fn note_lane(&self, lane: Option<(LaneId, LaneSegment)>) {
        let SlotLanes { lane: number, segment, left, .. } = self.own();
        match lane {
            Some((lane, of_lane)) => {
                left.store(NOT_LEFT, Ordering::Relaxed);
                segment.store(of_lane.start().as_ptr(), Ordering::Relaxed);
                number.store(lane.number(), Ordering::Relaxed);
            }
            None => number.store(0, Ordering::Relaxed),
        }
    }

    #[inline(always)]
    pub(crate) fn call_left_within(&self) -> Option<CallLeft> {
        match self.own().left.load(Ordering::Relaxed) {
            TAKEN_BACK => Some(CallLeft::TakenBack),
            TO_DRIVER => Some(CallLeft::ToDriver),
            _ => None,
        }
    }
}

impl Drop for BusySlot<'_> {
    fn drop(&mut self) {
        // SAFETY: what `thread` has returned is not used any more: it does not outlive this.
        let serves = unsafe { &*self.own().thread.get() }.is_serving();
        let serving = if serves { thread_pointer() } else { 0 };
        self.own().serving.store(serving, Ordering::Relaxed);
        self.own().is_busy.store(false, Ordering::Relaxed);
    }
}

impl ReceivedBuffers for RingLanes {
    fn has_buffer_at(&self, address: u64) -> bool {
        self.buffer_at(address).is_some()
    }

    fn free(&self, address: u64) {
        if let Some(buffer) = self.buffer_at(address) {
            buffer.is_lent.store(false, Ordering::Release);
        }
    }
}

impl RingLanes {
    fn buffer_at(&self, address: u64) -> Option<&LaneBuffer> {
        // Those that have none have null.
        let is_any = address != 0 && self.has_lent();
        is_any.then(|| self.buffers().find(|buffer| buffer.address() == address))?
    }
}
