//! A client's segment, and the calls in its slots.

use std::array;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use binder_core::{Errno, FdWork, ProcessKey, Standing};
use binder_frontend::RequestContext;
use binder_lane::LaneNote;
use binder_os::{RingMemory, ThreadUser, ring_memory};
use binder_ring::layout::{
    CALLS_BY_LANES, CallCount, DATA_BYTES, IN_NO_CALL, IS_LOOPER, LANES, SERVES_LANES, SLOTS,
    SlotHead,
};
use binder_ring::{
    Bell, MAX_FILES, MemoryWindows, RequestKind, RingAnswer, RingRequest, SlotIndex,
};
use binder_uapi::BinderWriteRead;

use super::recent_threads::processors;
use crate::quota::Charge;

/// The number of a ring's request, among those of FUSE: the kernel's own are below.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RingCallId(u64);

const OF_RINGS: u64 = 1 << 63;
const FILE_SHIFT: u32 = 40;
const SLOT_SHIFT: u32 = 32;

impl RingCallId {
    fn new(file: usize, slot: SlotIndex, sequence: u32) -> Self {
        let file = (file as u64) << FILE_SHIFT;
        Self(OF_RINGS | file | u64::from(slot.number()) << SLOT_SHIFT | u64::from(sequence))
    }

    /// The call behind a request, if it came by a ring.
    pub(crate) fn of_unique(unique: u64) -> Option<Self> {
        (unique & OF_RINGS != 0).then_some(Self(unique))
    }

    pub(crate) fn to_unique(self) -> u64 {
        self.0
    }

    /// The number of the ring.
    pub(super) fn file(self) -> usize {
        usize::try_from((self.0 & !OF_RINGS) >> FILE_SHIFT).unwrap_or(usize::MAX)
    }

    fn slot(self) -> Option<SlotIndex> {
        SlotIndex::new((self.0 >> SLOT_SHIFT) as u32 & 0xff)
    }
}

/// The ring of an open file.
#[derive(Debug)]
pub(crate) struct RingFile {
    number: usize,
    process: ProcessKey,
    memory: RingMemory,
    /// Of those that are bound to a thread.
    slots: [Mutex<Option<Box<RingSlot>>>; SLOTS as usize],
    /// The slots of threads.
    bound: Mutex<BTreeMap<u32, SlotIndex>>,
    /// Whether it is on its way to the list of the watched, or there.
    pub(super) is_watched: AtomicBool,
    /// Its file is closed, or has another ring.
    pub(super) is_over: AtomicBool,
    /// When a thread last posted something of which only its ioctl told.
    rung_at: Mutex<Option<Instant>>,
    /// Which places in the list of lanes are taken, how many lanes are offered, and whether threads are to come to the driver:
    /// what the segment says of it the client may change.
    has_lane: [AtomicBool; LANES],
    offers: AtomicU32,
    is_gate_shut: AtomicBool,
    /// Whose threads have waited for what others do.
    waited: AtomicU32,
    _mapping: Charge,
}

/// A slot of a thread.
#[derive(Debug)]
struct RingSlot {
    tid: u32,
    /// The user as whom the thread was bound.
    user: ThreadUser,
    /// The owner that the client had noted then.
    owner: u32,
    /// The call under way.
    call: Option<RingCall>,
    /// The request in which the thread waits for the answer.
    wait: Option<u64>,
    /// Descriptor work with which the next ioctl of the thread goes on.
    moved: Option<Box<MovedFdWork>>,
}

#[derive(Debug)]
struct RingCall {
    id: RingCallId,
    request: RingRequest,
    /// A signal wants to end it, and it may be on its way to the front end still.
    was_interrupted: bool,
}

/// Descriptor work of a call that goes on in an ioctl, or once its thread has taken the files.
#[derive(Debug)]
pub(crate) struct MovedFdWork {
    /// The request of the ring.
    pub(crate) request: RequestContext,
    /// The caller's struct, as the ioctl is to have it.
    pub(crate) call: BinderWriteRead,
    pub(crate) work: Box<FdWork>,
}

/// Memory of a call's client that lies in its slot.
pub(super) struct SlotData<'r> {
    pub(super) memory: &'r RingMemory,
    pub(super) slot: SlotIndex,
    windows: MemoryWindows,
}

impl SlotData<'_> {
    /// Where the bytes at an address of the client lie.
    pub(super) fn find(&self, address: u64, len: usize) -> Option<usize> {
        self.windows.find(address, len, DATA_BYTES)
    }
}

/// A request that was taken out of a slot.
pub(super) struct TakenRequest {
    pub(super) process: ProcessKey,
    pub(super) id: RingCallId,
    /// The thread of the slot.
    pub(super) tid: u32,
    /// The user that it was when it made itself known, by an ioctl.
    pub(super) user: ThreadUser,
    pub(super) kind: RequestKind,
    pub(super) call: BinderWriteRead,
    /// The files that the call before it brings.
    pub(super) moved: Option<Box<MovedFdWork>>,
}

/// The work under way in a slot that has lost its thread or its file.
#[derive(Default)]
pub(super) struct Unbound {
    pub(super) call: Option<RingCallId>,
    /// The request in which the thread waited for the answer.
    pub(super) wait: Option<u64>,
    pub(super) moved: Option<Box<MovedFdWork>>,
}

/// How a thread's wait for its answer begins.
pub(super) enum WaitBegun {
    /// The call is under way. Another thread may have waited in its place.
    Waits {
        id: RingCallId,
        replaced: Option<u64>,
    },
    Over,
}

/// A ring is watched once it was rung by ioctls twice within this time.
const BUSY_WITHIN: Duration = Duration::from_millis(20);

impl RingFile {
    pub(super) fn new(
        number: usize,
        process: ProcessKey,
        memory: RingMemory,
        mapping: Charge,
    ) -> Self {
        memory.segment().header().processors.store(processors(), Ordering::Relaxed);
        Self {
            number,
            process,
            memory,
            slots: array::from_fn(|_| Mutex::default()),
            bound: Mutex::default(),
            is_watched: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            rung_at: Mutex::default(),
            has_lane: [const { AtomicBool::new(false) }; LANES],
            offers: AtomicU32::new(0),
            is_gate_shut: AtomicBool::new(false),
            waited: AtomicU32::new(0),
            _mapping: mapping,
        }
    }

    /// Whose it is, as its device names the open file.
    pub(super) fn process(&self) -> ProcessKey {
        self.process
    }

    pub(super) fn number(&self) -> usize {
        self.number
    }

    pub(super) fn bell(&self) -> &Bell {
        &self.memory.segment().header().bell
    }

    /// Tells the client's threads where the driver's thread runs.
    pub(super) fn set_driver_cpu(&self, cpu: u32) {
        self.memory.segment().header().driver_cpu.store(cpu, Ordering::Relaxed);
    }

    /// Tells the client's threads that a number of the file is closed: it may mean another.
    pub(super) fn count_close(&self) {
        self.memory.segment().header().closes.fetch_add(1, Ordering::Release);
    }

    /// Where a thread of the client ran when it posted in this slot.
    pub(super) fn client_cpu(&self, slot: SlotIndex) -> u32 {
        self.memory.segment().slot(slot).client_cpu.load(Ordering::Relaxed)
    }

    pub(super) fn take_posted(&self) -> u32 {
        self.bell().take_posted()
    }

    /// Notes that a thread posted something of which its ioctl told. Says whether the client is busy.
    pub(super) fn note_rung(&self) -> bool {
        let now = Instant::now();
        let before = self.rung_at.lock().unwrap_or_else(PoisonError::into_inner).replace(now);
        before.is_some_and(|before| now - before < BUSY_WITHIN)
    }

    /// Makes a slot that of thread `tid`, for good, which is this user until it says otherwise.
    pub(super) fn bind(&self, slot: SlotIndex, tid: u32, user: ThreadUser) {
        let SlotHead { owner, lane_note, .. } = self.memory.segment().slot(slot);
        let owner = owner.load(Ordering::Relaxed);
        if let Some(known) = self.slot(slot).as_mut().filter(|it| it.tid == tid) {
            (known.user, known.owner) = (user, owner);
            return;
        }
        let mut bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        bound.retain(|_, its| *its != slot);
        // A thread that had another slot has two: that harms its client alone.
        bound.insert(tid, slot);
        drop(bound);
        // Another thread has done what is noted there.
        lane_note.store(0, Ordering::Relaxed);
        match &mut *self.slot(slot) {
            Some(known) => (known.tid, known.user, known.owner) = (tid, user, owner),
            unbound => {
                let slot = RingSlot { tid, user, owner, call: None, wait: None, moved: None };
                *unbound = Some(Box::new(slot));
            }
        }
    }

    /// Whether all slots are threads' own.
    pub(super) fn is_full(&self) -> bool {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner).len() >= SLOTS as usize
    }

    /// The slot of a thread.
    pub(super) fn slot_of(&self, tid: u32) -> Option<SlotIndex> {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner).get(&tid).copied()
    }

    /// Takes the request out of a slot, if there is one.
    pub(super) fn take_request(&self, slot: SlotIndex, sequence: u32) -> Option<TakenRequest> {
        let segment = self.memory.segment();
        let mut bound = self.slot(slot);
        // The thread of a slot that is not bound makes the ioctl that binds it; and a thread makes one call at a time.
        let RingSlot { tid, user, owner, call, moved, .. } =
            bound.as_deref_mut().filter(|it| it.call.is_none())?;
        let head = segment.slot(slot);
        if !head.word.is_posted() {
            return None;
        }
        // Who was told of the slot may come so late that its thread has given it back, and another has posted there. Made as a
        // call of the former, that would never be answered. The other makes itself known first.
        fence(Ordering::Acquire);
        if head.owner.load(Ordering::Relaxed) != *owner {
            return None;
        }
        let id = RingCallId::new(self.number, slot, sequence);
        let request = segment.read_request(slot);
        *call = Some(RingCall { id, request, was_interrupted: false });
        let (process, tid, user, moved) = (self.process, *tid, *user, moved.take());
        let RingRequest { kind, call, .. } = request;
        Some(TakenRequest { process, id, tid, user, kind, call, moved })
    }

    /// Notes that a signal wants to end a call.
    pub(super) fn note_interruption(&self, id: RingCallId) {
        self.with_call(id, |call| call.was_interrupted = true);
    }

    /// Whether a signal wants to end a call that is under way.
    pub(super) fn was_interrupted(&self, id: RingCallId) -> bool {
        self.with_call(id, |call| call.was_interrupted).unwrap_or(false)
    }

    /// The struct that was posted with a call.
    pub(super) fn posted_call(&self, id: RingCallId) -> Option<BinderWriteRead> {
        self.with_call(id, |call| call.request.call)
    }

    /// The client's memory in the slot of a call.
    pub(super) fn data_of(&self, id: RingCallId) -> Option<SlotData<'_>> {
        let slot = id.slot()?;
        let windows = self.with_call(id, |call| call.request.windows)?;
        Some(SlotData { memory: &self.memory, slot, windows })
    }

    /// Has something done with a call, unless it is over.
    fn with_call<T>(&self, id: RingCallId, work: impl FnOnce(&mut RingCall) -> T) -> Option<T> {
        let mut slot = self.slot(id.slot()?);
        slot.as_mut()?.call.as_mut().filter(|call| call.id == id).map(work)
    }

    /// A call has been run. If it was not answered, its thread waits for what another does.
    pub(super) fn note_whether_waits(&self, id: RingCallId) {
        if let (Some(slot), Some(())) = (id.slot(), self.with_call(id, |_| ())) {
            self.waited.fetch_or(slot.bit(), Ordering::Relaxed);
        }
    }

    /// The slots whose threads have waited so since this was last asked.
    pub(super) fn take_waited(&self) -> u32 {
        self.waited.swap(0, Ordering::Relaxed)
    }

    /// Answers a call, unless it is over. Returns the request in which its thread waits for that.
    pub(super) fn answer(
        &self,
        id: RingCallId,
        result: i32,
        call: &BinderWriteRead,
        returns: &[u8],
        standing: Standing,
    ) -> Option<u64> {
        let index = id.slot()?;
        let mut slot = self.slot(index);
        let state = slot.as_mut()?;
        state.call.take_if(|call| call.id == id)?;
        let segment = self.memory.segment();
        let returns_len = if segment.write_returns(index, 0, returns) { returns.len() } else { 0 };
        segment.write_answer(index, &RingAnswer { result, call: *call, returns_len });
        let SlotHead { word, standing: told, .. } = segment.slot(index);
        let Standing { is_in_no_call, is_looper } = standing;
        let bits = (u32::from(is_in_no_call) * IN_NO_CALL) | (u32::from(is_looper) * IS_LOOPER);
        told.store(bits, Ordering::Relaxed);
        let sleeps = word.answer();
        let wait = state.wait.take();
        drop(slot);
        if sleeps && wait.is_none() {
            ring_memory::wake_one(word.word());
        }
        wait
    }

    /// Returns the work under way in a slot of a ring that is over. The slot has no thread then, unless a call is under way
    /// there.
    pub(super) fn end(&self, index: SlotIndex) -> Unbound {
        if let Some(RingSlot { call: Some(call), wait, moved, .. }) =
            self.slot(index).as_deref_mut()
        {
            return Unbound { call: Some(call.id), wait: wait.take(), moved: moved.take() };
        }
        self.unbind(index, None)
    }

    /// Whether it is over, and all calls are answered.
    pub(super) fn is_done(&self) -> bool {
        let has_call =
            |slot| self.slot(slot).as_deref().is_some_and(|RingSlot { call, .. }| call.is_some());
        self.is_over.load(Ordering::Acquire) && !SlotIndex::all().any(has_call)
    }

    /// Ends the requests in slots that have no thread any more.
    ///
    /// The kernel ends a file when no ioctl uses it, but knows nothing of slots: a thread may have posted something just when
    /// another has closed the file.
    pub(super) fn end_posted(&self) {
        let segment = self.memory.segment();
        for index in SlotIndex::all() {
            let slot = self.slot(index);
            let word = &segment.slot(index).word;
            if slot.is_some() || !word.is_posted() {
                continue;
            }
            let RingRequest { call, .. } = segment.read_request(index);
            let result = -Errno::EINTR.number();
            segment.write_answer(index, &RingAnswer { result, call, returns_len: 0 });
            if word.answer() {
                ring_memory::wake_one(word.word());
            }
        }
    }

    /// Has request `unique` wait for the answer in a slot.
    pub(super) fn wait(&self, slot: SlotIndex, unique: u64) -> WaitBegun {
        match self.slot(slot).as_deref_mut() {
            Some(RingSlot { call: Some(call), wait, .. }) => {
                WaitBegun::Waits { id: call.id, replaced: wait.replace(unique) }
            }
            Some(_) | None => WaitBegun::Over,
        }
    }

    /// Whether a request waits for the answer to a call still.
    pub(super) fn is_waited_for(&self, id: RingCallId, unique: u64) -> bool {
        let Some(slot) = id.slot() else { return false };
        let slot = self.slot(slot);
        slot.as_ref().is_some_and(|it| it.wait == Some(unique))
    }

    /// Ends the wait of request `unique` for the answer to a call, unless that has ended.
    pub(super) fn end_wait(&self, id: RingCallId, unique: u64) -> bool {
        let Some(slot) = id.slot() else { return false };
        let mut slot = self.slot(slot);
        slot.as_mut().is_some_and(|it| it.wait.take_if(|wait| *wait == unique).is_some())
    }

    /// Keeps what the next request of a call's thread goes on with.
    pub(super) fn move_out(&self, id: RingCallId, moved: Box<MovedFdWork>) {
        let Some(slot) = id.slot() else { return };
        if let Some(slot) = &mut *self.slot(slot) {
            slot.moved = Some(moved);
        }
    }

    /// The first `count` numbers in the data of a call's slot.
    pub(super) fn read_numbers(&self, id: RingCallId, count: usize) -> Option<Vec<u32>> {
        let mut bytes = vec![0; count.min(MAX_FILES) * size_of::<u32>()];
        self.memory.segment().read_data(id.slot()?, 0, &mut bytes);
        Some(bytes.as_chunks().0.iter().map(|number| u32::from_ne_bytes(*number)).collect())
    }

    /// The call that is under way in a slot whose thread makes an ioctl, and the descriptor work that is to go on elsewhere, which the
    /// slot forgets. Where the thread stands is not known there until the next answer.
    pub(super) fn leave(&self, slot: SlotIndex) -> (Option<RingCallId>, Option<Box<MovedFdWork>>) {
        self.memory.segment().slot(slot).standing.store(0, Ordering::Relaxed);
        match &mut *self.slot(slot) {
            Some(slot) => (slot.call.as_ref().map(|call| call.id), slot.moved.take()),
            None => (None, None),
        }
    }

    /// Whether it is the ring of its file still.
    pub(super) fn is_current(&self) -> bool {
        !self.is_over.load(Ordering::Acquire)
    }

    /// Whether its client's threads may ask for lanes.
    pub(super) fn calls_by_lanes(&self) -> bool {
        self.known_of_lanes() & CALLS_BY_LANES != 0
    }

    /// Whether its client's threads may look for calls of lanes.
    pub(super) fn serves_lanes(&self) -> bool {
        self.known_of_lanes() & SERVES_LANES != 0
    }

    fn known_of_lanes(&self) -> u32 {
        self.memory.segment().header().knows_lanes.load(Ordering::Relaxed)
    }

    /// Puts a lane's number in the list, or 0.
    pub(super) fn set_lane(&self, place: usize, number: u32) {
        if let Some(lane) = self.memory.segment().header().lanes.get(place) {
            lane.store(number, Ordering::Release);
            self.has_lane[place].store(number != 0, Ordering::Relaxed);
        }
    }

    /// How many calls the client says that it has made or answered by the lane at a place.
    pub(super) fn lane_calls(&self, place: usize) -> u32 {
        let header = self.memory.segment().header();
        header.lane_calls.get(place).map_or(0, CallCount::total)
    }

    /// A place in the list that no lane has. With the device's lock.
    pub(super) fn free_lane_place(&self) -> Option<usize> {
        self.has_lane.iter().position(|has_lane| !has_lane.load(Ordering::Relaxed))
    }

    /// Counts lanes that are offered to the client. With the device's lock.
    pub(super) fn count_offers(&self, change: i32) {
        let offers = self.offers.load(Ordering::Relaxed).saturating_add_signed(change);
        self.offers.store(offers, Ordering::Relaxed);
        self.memory.segment().header().offered_lanes.store(offers, Ordering::Relaxed);
    }

    /// Tells how far the line of work is, and how many threads wait for it. With the device's lock.
    pub(super) fn tell_work(&self, [first, next]: [u32; 2], idle_threads: usize) {
        let header = self.memory.segment().header();
        header.line.set(first, next);
        let idle_threads = u32::try_from(idle_threads).unwrap_or(u32::MAX);
        header.idle_threads.store(idle_threads, Ordering::Relaxed);
    }

    /// Has threads that look for calls of lanes come to the driver first, or not. With the device's lock.
    pub(super) fn set_gate(&self, is_shut: bool) {
        if self.is_gate_shut.swap(is_shut, Ordering::Relaxed) != is_shut {
            let gate = &self.memory.segment().header().gate;
            gate.store(is_shut.into(), Ordering::Release);
            if is_shut {
                ring_memory::wake_all(gate);
            }
        }
    }

    /// What the thread of a slot says that it does by a lane.
    pub(super) fn lane_note(&self, slot: SlotIndex) -> LaneNote<'_> {
        LaneNote::new(&self.memory.segment().slot(slot).lane_note)
    }

    /// The code and the flags of the call that the thread of a slot makes by a lane.
    pub(super) fn lane_call(&self, slot: SlotIndex) -> [u32; 2] {
        let call = &self.memory.segment().slot(slot).lane_call;
        call.each_ref().map(|word| word.load(Ordering::Relaxed))
    }

    /// The thread of a slot.
    pub(super) fn tid_of(&self, slot: SlotIndex) -> Option<u32> {
        self.slot(slot).as_ref().map(|slot| slot.tid)
    }

    /// Takes a slot from its thread, if that is `tid` or `tid` is none. Returns the work under way there.
    pub(super) fn unbind(&self, slot: SlotIndex, tid: Option<u32>) -> Unbound {
        let is_its = |it: &mut Box<RingSlot>| tid.is_none_or(|tid| it.tid == tid);
        let Some(was_bound) = self.slot(slot).take_if(is_its) else { return Unbound::default() };
        let mut bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        bound.retain(|tid, its| *its != slot || *tid != was_bound.tid);
        drop(bound);
        // The client's own note, unless the thread gave the slot back and another has it that was not heard of yet.
        let owner = &self.memory.segment().slot(slot).owner;
        let _ = owner.compare_exchange(was_bound.owner, 0, Ordering::Release, Ordering::Relaxed);
        let RingSlot { call, wait, moved, .. } = *was_bound;
        Unbound { call: call.map(|call| call.id), wait, moved }
    }

    fn slot(&self, slot: SlotIndex) -> MutexGuard<'_, Option<Box<RingSlot>>> {
        self.slots[slot.number() as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
