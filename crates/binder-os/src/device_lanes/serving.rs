//! What this process does for the lanes by which it is called.

#![expect(unsafe_code, reason = "a buffer is filled through a pointer")]

use std::os::fd::OwnedFd;

use binder_lane::LaneSegment;
use binder_ring_client::SleepEnd;
use binder_ring_client::lane::{LaneServing, LaneWaits, ServedLanes, ServedPlace, take_offer};
use binder_uapi::{ANYBINDER_LANE_ACCEPT, BinderTransactionData, LaneAccept};
use rustix::thread::futex;
use rustix::time::{ClockId, Timespec};

use super::{LaneContext, errno};
use crate::binder_device::ioctl;
use crate::credentials::KnownCaller;
use crate::lane_memory::{LaneBuffers, LaneMemory};

/// What this process has of a lane by which it is called.
#[derive(Debug)]
pub(crate) struct DeviceServed {
    memory: LaneMemory,
    /// Where the call lies, until it is freed.
    buffer: usize,
    /// The thread that calls.
    caller: KnownCaller,
}

impl DeviceServed {
    /// That of a lane with this segment, and this thread that calls.
    pub(super) fn new(
        accepted: &LaneAccept,
        [file, caller]: [OwnedFd; 2],
        buffers: &LaneBuffers,
    ) -> Option<Self> {
        let memory = LaneMemory::map(&file).ok()?;
        let caller = KnownCaller::of(caller, accepted.sender_tid)?;
        let buffer = buffers.take()?;
        Some(Self { memory, buffer, caller })
    }
}

impl ServedPlace for DeviceServed {
    fn segment(&self) -> LaneSegment {
        *self.memory.segment()
    }

    fn caller_uid(&self) -> Option<u32> {
        self.caller.uid()
    }
}

impl LaneServing for LaneContext<'_, '_> {
    type Served = DeviceServed;

    fn served(&self) -> &ServedLanes<DeviceServed> {
        &self.lanes.served
    }

    fn accept(&self) -> Option<(LaneAccept, DeviceServed)> {
        let ask = |wish: &mut LaneAccept| {
            ioctl(self.device, ANYBINDER_LANE_ACCEPT, wish).map_err(|error| errno(&error))
        };
        let (accepted, files) = take_offer(ask)?;
        let served = DeviceServed::new(&accepted, files, &self.lanes.buffers)?;
        Some((accepted, served))
    }

    fn give_back_served(&self, served: DeviceServed) {
        self.lanes.buffers.give_back(served.buffer);
    }

    fn is_call_in_use(&self, served: &DeviceServed) -> bool {
        self.lanes.buffers.at(served.buffer).is_none_or(|buffer| buffer.is_in_use())
    }

    fn receive_call(&self, served: &DeviceServed, len: usize) -> Option<u64> {
        let (buffer, segment) = (self.lanes.buffers.at(served.buffer)?, served.segment());
        // SAFETY: `fill` lets that many bytes be written, and a buffer is no segment.
        let is_there = buffer.fill(len, |to| unsafe { segment.copy_request(to, len) });
        is_there.then(|| buffer.address())
    }

    fn copy_reply(&self, segment: &LaneSegment, head: &BinderTransactionData) -> bool {
        let data = self.memory.payload(head.buffer, head.data_size);
        data.is_some_and(|data| segment.write_reply(data))
    }

    fn now(&self) -> Timespec {
        rustix::time::clock_gettime(ClockId::Monotonic)
    }

    fn sleep_on(&self, words: &LaneWaits, until: &Timespec) -> (SleepEnd, Option<usize>) {
        let flags = futex::WaitvFlags::empty();
        match futex::waitv(words.waits(), flags, Some(until), ClockId::Monotonic) {
            Ok(woken) => (SleepEnd::Woken, Some(woken)),
            // The library's threads are interrupted by no one.
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => (SleepEnd::Woken, None),
            // A kernel that cannot wait on several words has no lanes.
            Err(_) => (SleepEnd::TimedOut, None),
        }
    }
}
