//! What this process does for the lanes by which its threads call.

#![expect(unsafe_code, reason = "a buffer is filled through a pointer")]

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

use binder_lane::{LaneId, LaneSegment};
use binder_ring::SlotIndex;
use binder_ring_client::lane::LaneSystem;
use binder_ring_client::{ClientRing, ReadWait, RingOutcome, RingSystem, SleepEnd};
use binder_uapi::{
    ANYBINDER_LANE_CLOSE, ANYBINDER_LANE_OPEN, BinderTransactionData, BinderWriteRead, Errno,
    LaneOpen,
};

use super::{DeviceLanes, LaneContext, errno};
use crate::binder_device::ioctl;
use crate::lane_memory::{LaneBuffer, LaneBuffers, LaneMemory};

/// The memory of a lane by which a thread calls.
#[derive(Debug)]
pub(crate) struct DevicePlace {
    memory: LaneMemory,
    /// Where what comes back lies, until it is freed.
    buffer: usize,
}

impl DevicePlace {
    pub(super) fn give_back(self, lanes: &DeviceLanes) {
        lanes.buffers.give_back(self.buffer);
    }
}

impl LaneContext<'_, '_> {
    fn buffer_of(&self, place: &DevicePlace) -> Option<&LaneBuffer> {
        self.lanes.buffers.at(place.buffer)
    }
}

impl RingSystem for LaneContext<'_, '_> {
    fn cpu(&self) -> u32 {
        self.system().cpu()
    }

    fn wake(&self, word: &AtomicU32) {
        self.system().wake(word);
    }

    fn sleep(&self, word: &AtomicU32, value: u32) -> SleepEnd {
        self.system().sleep(word, value)
    }

    fn ring_wait(&self, slot: SlotIndex, flags: u32) -> Result<(), Errno> {
        self.system().ring_wait(slot, flags)
    }
}

impl LaneSystem for LaneContext<'_, '_> {
    type Place = DevicePlace;
    type Buffers = LaneBuffers;

    fn ring(&self) -> &ClientRing {
        self.ring
    }

    fn slot(&self) -> SlotIndex {
        self.slot
    }

    fn buffers(&self) -> &LaneBuffers {
        &self.lanes.buffers
    }

    fn create_place(&self, _: u32) -> Option<(DevicePlace, OwnedFd)> {
        let (memory, file) = LaneMemory::create().ok()?;
        let buffer = self.lanes.buffers.take()?;
        Some((DevicePlace { memory, buffer }, file))
    }

    fn give_back(&self, place: DevicePlace) {
        place.give_back(self.lanes);
    }

    fn segment(&self, place: &DevicePlace) -> LaneSegment {
        *place.memory.segment()
    }

    fn address(&self, place: &DevicePlace) -> u64 {
        self.buffer_of(place).map_or(0, LaneBuffer::address)
    }

    fn is_in_use(&self, place: &DevicePlace) -> bool {
        self.buffer_of(place).is_none_or(LaneBuffer::is_in_use)
    }

    fn receive(&self, place: &DevicePlace, len: usize) -> bool {
        let segment = place.memory.segment();
        // SAFETY: `fill` lets that many bytes be written, and a buffer is no segment.
        let copy = |to| unsafe { segment.copy_reply(to, len) };
        self.buffer_of(place).is_some_and(|buffer| buffer.fill(len, copy))
    }

    fn copy_request(&self, segment: &LaneSegment, head: &BinderTransactionData) -> bool {
        let data = self.memory.payload(head.buffer, head.data_size);
        data.is_some_and(|data| segment.write_request(data))
    }

    fn write_returns(&self, address: u64, returns: &[u8]) -> Result<(), Errno> {
        if self.memory.write_returns(address, returns) { Ok(()) } else { Err(Errno::EFAULT) }
    }

    fn by_ring_waiting(&self, waits: ReadWait, call: &mut BinderWriteRead) -> RingOutcome {
        let before = call.write_consumed;
        let (slot, system) = (self.slot, self.system());
        let outcome = self.ring.exchange_waiting(waits, slot, call, &system, self.memory);
        if outcome != RingOutcome::Done(Ok(())) {
            // An ioctl may change where the thread stands.
            self.ring.segment().slot(slot).standing.store(0, Ordering::Relaxed);
        }
        self.lanes.free_run(self.memory.commands_between(before, call.write_consumed));
        outcome
    }

    fn open_lane(&self, wish: &mut LaneOpen) -> Result<(), Errno> {
        ioctl(self.device, ANYBINDER_LANE_OPEN, wish).map_err(|error| errno(&error))
    }

    fn close_lane(&self, lane: LaneId) {
        // A driver that is gone has no lanes.
        let _ = ioctl(self.device, ANYBINDER_LANE_CLOSE, &mut lane.number());
    }

    fn adopt(&self, lane: LaneId) -> Result<(), Errno> {
        self.take_over(lane).map_err(|error| errno(&error))
    }
}
