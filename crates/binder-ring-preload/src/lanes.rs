//! The lanes by which threads of the program call, and by which the program is called, past the driver.
//!
//! A thread has what belongs to its lane beside its slot in the ring, in the same table: a handler of a signal that makes a call
//! of its own finds it there. A lane costs no descriptor: its segment is mapped, and the file closed.

#![expect(unsafe_code, reason = "lanes lie in a table without a lock, and their memory is mapped")]

use core::cell::UnsafeCell;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use binder_lane::layout::SEGMENT_BYTES;
use binder_lane::{CallLeft, LaneId, LaneSegment};
use binder_ring::SlotIndex;
use binder_ring::layout::SLOTS;
use binder_ring_client::lane::{
    ServedLanes, ServedPlace as _, ThreadLanes, create_segment, map_segment,
};
use binder_ring_client::{CallerThread, ClientRing};
use binder_uapi::LaneAccept;
use rustix::fd::OwnedFd;

use crate::program_memory::thread_pointer;
use crate::room::Room;
use crate::room_buffers::{RoomBuffers, TakenBuffer};
use crate::served::ProgramServed;

/// What the threads with slots in a ring have of lanes.
pub(crate) struct RingLanes {
    slots: [SlotLanes; SLOTS as usize],
    served: ServedLanes<ProgramServed>,
    buffers: RoomBuffers,
}

/// What a thread has of lanes. The thread alone uses it, and handlers of its signals in between.
#[repr(align(64))]
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
    thread: UnsafeCell<ThreadLanes<LanePlace>>,
}

// SAFETY: `thread` is touched by the thread of the slot alone, while it has the slot busy, or by one that has the table, and no
// thread the slot. All else is atomic.
unsafe impl Sync for SlotLanes {}

/// What the program has of a lane by which a thread calls.
#[derive(Debug)]
pub(crate) struct LanePlace {
    segment: MappedSegment,
    /// Where what comes back lies.
    buffer: TakenBuffer,
}

/// The segment of a lane.
#[derive(Debug)]
pub(crate) struct MappedSegment {
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
            buffers: RoomBuffers::new(),
        }
    }

    /// The lanes by which the program is called.
    pub(crate) fn served(&self) -> &ServedLanes<ProgramServed> {
        &self.served
    }

    /// Where what comes past the driver lies.
    pub(crate) fn buffers(&self) -> &RoomBuffers {
        &self.buffers
    }

    fn of(&self, slot: SlotIndex) -> &SlotLanes {
        &self.slots[slot.number() as usize]
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
        self.buffers.has_any_in_use().then(|| SlotIndex::all().find(is_own))?
    }

    /// Forgets the lanes of a thread that has ended. The slot is this thread's.
    pub(crate) fn clear(&self, ring: &ClientRing, slot: SlotIndex) {
        // SAFETY: no thread has the slot but this one, which makes no call.
        let thread = unsafe { &mut *self.of(slot).thread.get() };
        if let Some(place) = thread.end(ring, slot, &self.served) {
            self.give_back(place);
        }
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
        self.served.drain().for_each(|served| self.give_back_served(served));
        self.buffers.end();
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
        self.buffers.forget();
    }

    /// Makes a segment for a lane, with a file to offer, and has a buffer for replies of that many bytes, or fewer if there is no room:
    /// `make` makes that.
    pub(crate) fn create_place(
        &self,
        reply_bytes: u32,
        make: impl Fn(u32) -> Option<Room>,
    ) -> Option<(LanePlace, OwnedFd)> {
        let buffer = self.buffers.take(reply_bytes, make)?;
        match create_segment() {
            Ok((start, file)) => {
                Some((LanePlace { segment: MappedSegment { start }, buffer }, file))
            }
            Err(_) => {
                self.buffers.release(buffer);
                None
            }
        }
    }

    /// Ends what the program had of a lane.
    pub(crate) fn give_back(&self, place: LanePlace) {
        self.buffers.release(place.buffer);
    }

    /// What the program has of a lane by which it is called, with these files. None if it cannot have it.
    pub(crate) fn serve(
        &self,
        accepted: &LaneAccept,
        [segment, caller]: [OwnedFd; 2],
        make: impl Fn(u32) -> Option<Room>,
    ) -> Option<ProgramServed> {
        let caller = CallerThread::of(&caller, accepted.sender_tid)?;
        let segment = MappedSegment { start: map_segment(&segment).ok()? };
        let longest = segment.get().head().request.longest.load(Ordering::Relaxed);
        let buffer = self.buffers.take(longest, make)?;
        Some(ProgramServed { segment, buffer, caller })
    }

    /// Ends what the program had of a lane by which it was called.
    pub(crate) fn give_back_served(&self, served: ProgramServed) {
        self.buffers.release(served.buffer);
    }

    /// Copies the first `len` bytes of a call to the buffer of its lane, which is in use then. Returns where it lies; None if they have no
    /// room, or it is in use already.
    pub(crate) fn receive_call(&self, served: &ProgramServed, len: usize) -> Option<u64> {
        let segment = served.segment();
        // SAFETY: `fill` lets that many bytes be written, and a buffer is no segment.
        self.buffers.fill(&served.buffer, len, |to| unsafe { segment.copy_request(to, len) })
    }

    /// The same with a reply.
    pub(crate) fn receive_reply(&self, place: &LanePlace, len: usize) -> bool {
        let segment = place.segment();
        // SAFETY: as above.
        let copy = |to| unsafe { segment.copy_reply(to, len) };
        self.buffers.fill(&place.buffer, len, copy).is_some()
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

impl LanePlace {
    pub(crate) fn segment(&self) -> LaneSegment {
        self.segment.get()
    }

    pub(crate) fn buffer(&self) -> &TakenBuffer {
        &self.buffer
    }
}

impl MappedSegment {
    pub(crate) fn get(&self) -> LaneSegment {
        // SAFETY: a whole segment is mapped there until `drop`, and nothing else knows the address.
        unsafe { LaneSegment::new(self.start) }
    }
}

// SAFETY: the mapping belongs to the process, not to a thread: it is there until `drop`, whichever thread that runs on.
unsafe impl Send for MappedSegment {}

impl Drop for MappedSegment {
    fn drop(&mut self) {
        // SAFETY: a whole segment is mapped at `start`, and this value alone has it.
        let unmapped = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), SEGMENT_BYTES) };
        debug_assert_eq!(unmapped, Ok(()), "a whole mapping can always be unmapped");
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
