//! `BINDER_WRITE_READ` of a program that uses lanes.

#![expect(unsafe_code, reason = "ioctls of lanes are made")]

use core::cell::Cell;
use core::num::NonZero;
use core::sync::atomic::AtomicU32;

use binder_lane::{CallLeft, LaneId, LaneSegment};
use binder_ring::SlotIndex;
use binder_ring_client::lane::{
    LaneCommands, LaneServing, LaneSystem, LaneWaits, ServedLanes, ThreadLanes, take_offer,
};
use binder_ring_client::{ClientRing, ReadWait, RingOutcome, RingSystem, SleepEnd};
use binder_uapi::{
    ANYBINDER_LANE_ACCEPT, ANYBINDER_LANE_ADOPT, ANYBINDER_LANE_CLOSE, ANYBINDER_LANE_OPEN,
    ANYBINDER_LANE_ROOM, BinderTransactionData, BinderWriteRead, Errno, LaneAccept, LaneOpen,
    LaneRoom,
};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::thread::Timespec;

use crate::canary::{self, OtherCanary};
use crate::lanes::{BusySlot, LanePlace, RingLanes};
use crate::program_memory::ProgramMemory;
use crate::room::Room;
use crate::room_buffers::RoomBuffers;
use crate::served::ProgramServed;
use crate::syscall;
use crate::write_read::DeviceCalls;

/// Makes a call, by a lane if it can be. A thread asks for a lane after `busy_calls` in a row to an object.
pub(crate) fn exchange(
    device: DeviceCalls<'_, '_>,
    slot: SlotIndex,
    memory: &ProgramMemory<'_>,
    call: &mut BinderWriteRead,
    busy_calls: NonZero<u32>,
) -> RingOutcome {
    let lanes = device.ring.lanes();
    let Some(busy) = lanes.enter(slot) else {
        // A handler has interrupted a call of this thread, or left it.
        if let Some(lane) = lanes.leave_call_below(slot) {
            let _ = adopt(&device, lane);
        }
        return by_ring(ReadWait::UntilReady, &device, slot, memory, call);
    };
    let parsed = commands_from(call.write_consumed, call, memory, lanes.buffers());
    let system = LaneCall::new(device, slot, memory, busy);
    // SAFETY: this function found the slot free, and asks for it once.
    let thread = unsafe { system.busy.thread() };
    let outcome = thread.exchange(&system, call, &parsed, busy_calls.get());
    system.device.release_signals();
    outcome
}

/// Has the driver take over what the thread serves, which is about to make an ioctl.
#[cold]
pub(crate) fn leave(device: DeviceCalls<'_, '_>, slot: SlotIndex, memory: &ProgramMemory<'_>) {
    with_thread(device, slot, memory, |thread, system| thread.leave(system));
}

/// Has the driver take over what the thread serves, which the driver is to forget.
#[cold]
pub(crate) fn exit(device: DeviceCalls<'_, '_>, slot: SlotIndex, memory: &ProgramMemory<'_>) {
    with_thread(device, slot, memory, |thread, system| thread.exit(system));
}

/// Does something with what the thread has of lanes, unless it is in a call.
fn with_thread(
    device: DeviceCalls<'_, '_>,
    slot: SlotIndex,
    memory: &ProgramMemory<'_>,
    act: impl FnOnce(&mut ThreadLanes<LanePlace>, &LaneCall<'_, '_>),
) {
    if let Some(busy) = device.ring.lanes().enter(slot) {
        let system = LaneCall::new(device, slot, memory, busy);
        // SAFETY: this function found the slot free, and asks for it once.
        act(unsafe { system.busy.thread() }, &system);
    }
}

/// Frees the buffers of lanes that commands have freed which were run, from `start` on.
#[cold]
pub(crate) fn free_run(
    lanes: &RingLanes,
    memory: &ProgramMemory<'_>,
    call: &BinderWriteRead,
    start: u64,
) {
    if lanes.buffers().has_any_in_use() {
        let run = BinderWriteRead { write_size: call.write_consumed, ..*call };
        commands_from(start, &run, memory, lanes.buffers()).free(lanes.buffers());
    }
}

fn by_ring(
    waits: ReadWait,
    device: &DeviceCalls<'_, '_>,
    slot: SlotIndex,
    memory: &ProgramMemory<'_>,
    call: &mut BinderWriteRead,
) -> RingOutcome {
    let ring = device.ring;
    let before = call.write_consumed;
    let outcome = ring.ring().exchange_waiting(waits, slot, call, device, memory);
    if outcome != RingOutcome::Done(Ok(())) {
        ring.forget_standing(slot);
    }
    free_run(ring.lanes(), memory, call, before);
    outcome
}

fn adopt(device: &DeviceCalls<'_, '_>, lane: LaneId) -> Result<(), Errno> {
    // SAFETY: the driver reads the number of a lane.
    unsafe { device.ask(ANYBINDER_LANE_ADOPT, &mut lane.number()) }
}

/// The commands of a call from `start` on, as they were when they were copied. Of many there are none: those are mostly references and
/// buffers that are given back.
#[inline(always)]
fn commands_from(
    start: u64,
    call: &BinderWriteRead,
    memory: &ProgramMemory<'_>,
    buffers: &RoomBuffers,
) -> LaneCommands {
    let mut bytes = [0; COPIED_BYTES];
    let len = usize::try_from(call.write_size.saturating_sub(start)).ok();
    let copied = len.and_then(|len| {
        let into = bytes.get_mut(..len)?;
        memory.read_bytes(call.write_buffer.wrapping_add(start), into).then_some(&*into)
    });
    match copied {
        Some(commands) => LaneCommands::parse(commands, buffers),
        None => LaneCommands::unread(),
    }
}

const COPIED_BYTES: usize = 256;

/// A call of a thread that may take a lane.
struct LaneCall<'c, 't> {
    device: DeviceCalls<'c, 't>,
    slot: SlotIndex,
    memory: &'c ProgramMemory<'c>,
    busy: BusySlot<'t>,
    /// That of a thread that waits for calls.
    other_canary: Cell<OtherCanary>,
}

impl<'c, 't> LaneCall<'c, 't> {
    fn new(
        device: DeviceCalls<'c, 't>,
        slot: SlotIndex,
        memory: &'c ProgramMemory<'c>,
        busy: BusySlot<'t>,
    ) -> Self {
        Self { device, slot, memory, busy, other_canary: Cell::new(OtherCanary::NONE) }
    }

    fn lanes(&self) -> &RingLanes {
        self.device.ring.lanes()
    }

    /// Makes room of that many pages in the receive buffer, or of some more.
    fn make_room(&self, pages: u32) -> Option<Room> {
        let mut room = LaneRoom { pages: pages.into(), ..Default::default() };
        // SAFETY: the driver reads and writes a `LaneRoom`, which is of numbers alone.
        unsafe { self.device.ask(ANYBINDER_LANE_ROOM, &mut room) }.ok()?;
        // SAFETY: it is open, or was a moment ago; a number that is not is refused by the kernel.
        let device = unsafe { BorrowedFd::borrow_raw(self.device.fd) };
        Room::map(device, room.address, u32::try_from(room.pages).ok()?)
    }
}

impl RingSystem for LaneCall<'_, '_> {
    fn cpu(&self) -> u32 {
        self.device.cpu()
    }

    #[inline(always)]
    fn wake(&self, word: &AtomicU32) {
        self.device.wake(word);
    }

    #[inline(always)]
    fn sleep(&self, word: &AtomicU32, value: u32) -> SleepEnd {
        self.device.sleep(word, value)
    }

    #[inline(always)]
    fn ring_wait(&self, slot: SlotIndex, flags: u32) -> Result<(), Errno> {
        self.device.ring_wait(slot, flags)
    }

    fn block_signals(&self) -> u64 {
        self.device.block_signals()
    }

    fn restore_signals(&self, blocked: u64) {
        self.device.restore_signals(blocked);
    }

    #[inline(always)]
    fn watch_signals(&self) {
        self.other_canary.get().put();
        self.device.watch_signals();
    }

    #[inline(always)]
    fn has_handled_signal(&self) -> bool {
        self.device.has_handled_signal() || self.other_canary.get().is_gone()
    }
}

impl LaneSystem for LaneCall<'_, '_> {
    type Place = LanePlace;
    type Buffers = RoomBuffers;

    fn ring(&self) -> &ClientRing {
        self.device.ring.ring()
    }

    fn slot(&self) -> SlotIndex {
        self.slot
    }

    fn buffers(&self) -> &RoomBuffers {
        self.lanes().buffers()
    }

    fn create_place(&self, reply_bytes: u32) -> Option<(LanePlace, OwnedFd)> {
        self.lanes().create_place(reply_bytes, |pages| self.make_room(pages))
    }

    fn give_back(&self, place: LanePlace) {
        self.lanes().give_back(place);
    }

    fn segment(&self, place: &LanePlace) -> LaneSegment {
        place.segment()
    }

    fn address(&self, place: &LanePlace) -> u64 {
        self.buffers().address(place.buffer())
    }

    fn is_in_use(&self, place: &LanePlace) -> bool {
        self.buffers().is_in_use(place.buffer())
    }

    fn receive(&self, place: &LanePlace, len: usize) -> bool {
        self.lanes().receive_reply(place, len)
    }

    fn room(&self, place: &LanePlace) -> u32 {
        self.buffers().room(place.buffer())
    }

    fn copy_request(&self, segment: &LaneSegment, head: &BinderTransactionData) -> bool {
        self.memory.copy_to_lane(segment, head.buffer, head.data_size)
    }

    fn write_returns(&self, address: u64, returns: &[u8]) -> Result<(), Errno> {
        if self.memory.write_bytes(address, returns) { Ok(()) } else { Err(Errno::EFAULT) }
    }

    fn by_ring_waiting(&self, waits: ReadWait, call: &mut BinderWriteRead) -> RingOutcome {
        by_ring(waits, &self.device, self.slot, self.memory, call)
    }

    fn open_lane(&self, wish: &mut LaneOpen) -> Result<(), Errno> {
        // SAFETY: the driver reads and writes a `LaneOpen`, which is of numbers alone.
        unsafe { self.device.ask(ANYBINDER_LANE_OPEN, wish) }
    }

    fn close_lane(&self, lane: LaneId) {
        // SAFETY: the driver reads the number of a lane. One that is gone has no lanes.
        let _ = unsafe { self.device.ask(ANYBINDER_LANE_CLOSE, &mut lane.number()) };
    }

    fn adopt(&self, lane: LaneId) -> Result<(), Errno> {
        adopt(&self.device, lane)
    }

    fn hold_signals(&self) {
        self.device.hold_signals();
    }

    #[inline(always)]
    fn note_lane(&self, lane: Option<(LaneId, LaneSegment)>) {
        self.busy.note_lane(lane);
    }

    #[inline(always)]
    fn call_left_within(&self) -> Option<CallLeft> {
        self.busy.call_left_within()
    }
}

impl LaneServing for LaneCall<'_, '_> {
    type Served = ProgramServed;

    fn served(&self) -> &ServedLanes<ProgramServed> {
        self.lanes().served()
    }

    fn accept(&self) -> Option<(LaneAccept, ProgramServed)> {
        // SAFETY: the driver reads and writes a `LaneAccept`, which is of numbers alone.
        let ask = |wish: &mut LaneAccept| unsafe { self.device.ask(ANYBINDER_LANE_ACCEPT, wish) };
        let (accepted, files) = take_offer(ask)?;
        let served = self.lanes().serve(&accepted, files, |pages| self.make_room(pages))?;
        Some((accepted, served))
    }

    fn give_back_served(&self, served: ProgramServed) {
        self.lanes().give_back_served(served);
    }

    fn clear_ended(&self) {
        self.lanes().clear_ended(self.ring(), self.slot);
    }

    fn is_call_in_use(&self, served: &ProgramServed) -> bool {
        self.buffers().is_in_use(&served.buffer)
    }

    fn call_room(&self, served: &ProgramServed) -> u32 {
        self.buffers().room(&served.buffer)
    }

    fn receive_call(&self, served: &ProgramServed, len: usize) -> Option<u64> {
        self.lanes().receive_call(served, len)
    }

    fn copy_reply(&self, segment: &LaneSegment, head: &BinderTransactionData) -> bool {
        self.memory.copy_reply_to_lane(segment, head.buffer, head.data_size)
    }

    fn is_open(&self) -> bool {
        self.device.ring.is_of(self.device.fd)
    }

    fn may_wait(&self) -> bool {
        // It is asked before each wait: the program may change it.
        let other = OtherCanary::of_thread();
        self.other_canary.set(other.unwrap_or(OtherCanary::NONE));
        other.is_some()
    }

    #[inline(always)]
    fn now(&self) -> Timespec {
        syscall::now()
    }

    #[inline(always)]
    fn signal_words(&self) -> [Option<(*const AtomicU32, u32)>; 2] {
        [canary::word(), self.other_canary.get().word()]
    }

    #[inline(always)]
    fn sleep_on(&self, words: &LaneWaits, until: &Timespec) -> (SleepEnd, Option<usize>) {
        const INTERRUPTED: isize = -(Errno::EINTR.number() as isize);
        const CHANGED: isize = -(Errno::EAGAIN.number() as isize);
        match syscall::futex_waitv(words.waits(), until) {
            // Not negative.
            woken @ 0.. => (SleepEnd::Woken, Some(woken.cast_unsigned())),
            CHANGED => (SleepEnd::Woken, None),
            INTERRUPTED => (SleepEnd::Interrupted, None),
            // A kernel that cannot wait on several words has no lanes.
            _ => (SleepEnd::TimedOut, None),
        }
    }
}
