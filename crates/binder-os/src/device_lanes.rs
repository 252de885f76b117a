//! The lanes of an open device: calls that pass the driver by (`binder-lane`), as a [caller](calling) and as a [server](serving).
//!
//! What is done with them `binder-ring-client/lane` decides; here is what the process does for that.

mod calling;
mod serving;
#[cfg(test)]
mod tests;

use std::io;
use std::os::fd::BorrowedFd;

use binder_lane::LaneId;
use binder_ring::SlotIndex;
use binder_ring_client::lane::{LaneCommands, ServedLanes, ThreadLanes};
use binder_ring_client::{ClientRing, KernelCalls, RingOutcome};
use binder_uapi::{ANYBINDER_LANE_ADOPT, BinderWriteRead, Errno};

use self::calling::DevicePlace;
use self::serving::DeviceServed;
use crate::binder_device::ioctl;
use crate::borrowed_memory::BorrowedMemory;
use crate::lane_memory::LaneBuffers;

/// The variable by which a user has programs use lanes: after this many calls in a row to an object.
pub(crate) const LANES: &str = "ANYBINDER_LANES";

/// What all threads of a device share of its lanes.
#[derive(Debug)]
pub(crate) struct DeviceLanes {
    pub(crate) buffers: LaneBuffers,
    /// How many calls in a row to an object a thread makes before it asks for a lane.
    busy_calls: u32,
    served: ServedLanes<DeviceServed>,
}

/// What a thread has of a device's lanes.
pub(crate) type DeviceThread = ThreadLanes<DevicePlace>;

/// A `BINDER_WRITE_READ` of a thread with a slot.
pub(crate) struct LaneContext<'a, 'm> {
    pub(crate) device: BorrowedFd<'a>,
    pub(crate) ring: &'a ClientRing,
    pub(crate) slot: SlotIndex,
    pub(crate) lanes: &'a DeviceLanes,
    pub(crate) memory: &'a BorrowedMemory<'m>,
}

impl DeviceLanes {
    pub(crate) const fn new(busy_calls: u32) -> Self {
        Self { buffers: LaneBuffers::new(), busy_calls, served: ServedLanes::new() }
    }

    /// Ends what a thread has of them, which uses them no more.
    pub(crate) fn end(&self, thread: &mut DeviceThread, ring: &ClientRing, slot: SlotIndex) {
        if let Some(place) = thread.end(ring, slot, &self.served) {
            place.give_back(self);
        }
    }

    /// Frees the buffers of lanes that commands free. They may have been run: so each is run once.
    fn free_run(&self, commands: &[u8]) {
        LaneCommands::parse(commands, &self.buffers).free(&self.buffers);
    }
}

impl LaneContext<'_, '_> {
    /// Makes a call of the thread, by a lane if it can be.
    pub(crate) fn exchange(
        &self,
        thread: &mut DeviceThread,
        call: &mut BinderWriteRead,
    ) -> RingOutcome {
        let commands = self.memory.commands_between(call.write_consumed, call.write_size);
        let parsed = LaneCommands::parse(commands, &self.lanes.buffers);
        thread.exchange(self, call, &parsed, self.lanes.busy_calls)
    }

    fn system(&self) -> KernelCalls<'_> {
        KernelCalls::new(self.device)
    }

    /// Has the driver take over what the thread does by a lane.
    fn take_over(&self, lane: LaneId) -> io::Result<()> {
        ioctl(self.device, ANYBINDER_LANE_ADOPT, &mut lane.number())
    }
}

fn errno(error: &io::Error) -> Errno {
    error.raw_os_error().and_then(Errno::from_number).unwrap_or(Errno::EIO)
}
