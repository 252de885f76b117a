//! What this process does for the lanes by which it is called.

#![expect(unsafe_code, reason = "a buffer is filled through a pointer")]

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use binder_lane::LaneSegment;
use binder_ring_client::SleepEnd;
use binder_ring_client::lane::{LaneServing, LaneWaits, ServedLanes, ServedPlace};
use binder_uapi::{ANYBINDER_LANE_ACCEPT, BinderTransactionData, LaneAccept};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType,
};
use rustix::thread::futex;
use rustix::time::{ClockId, Timespec};

use super::{LaneContext, ask};
use crate::credentials;
use crate::lane_memory::{LaneBuffers, LaneMemory};

/// What this process has of a lane by which it is called.
#[derive(Debug)]
pub(crate) struct DeviceServed {
    memory: LaneMemory,
    /// Where the call lies, until it is freed.
    buffer: usize,
    /// The thread that calls.
    caller: OwnedFd,
}

impl DeviceServed {
    /// That of a lane with this segment, and this thread that calls.
    pub(super) fn new([file, caller]: [OwnedFd; 2], buffers: &LaneBuffers) -> Option<Self> {
        let memory = LaneMemory::map(&file).ok()?;
        // A kernel that does not tell who calls has no lanes.
        credentials::fsuid(caller.as_fd()).ok()?;
        let buffer = buffers.take()?;
        Some(Self { memory, buffer, caller })
    }
}

impl ServedPlace for DeviceServed {
    fn segment(&self) -> LaneSegment {
        *self.memory.segment()
    }

    fn caller_uid(&self) -> Option<u32> {
        credentials::fsuid(self.caller.as_fd()).ok()
    }
}

impl LaneServing for LaneContext<'_, '_> {
    type Served = DeviceServed;

    fn served(&self) -> &ServedLanes<DeviceServed> {
        &self.lanes.served
    }

    fn accept(&self) -> Option<(LaneAccept, DeviceServed)> {
        let (stream, flags) = (SocketType::STREAM, SocketFlags::CLOEXEC);
        let (own, drivers) =
            rustix::net::socketpair(AddressFamily::UNIX, stream, flags, None).ok()?;
        let socket = drivers.as_raw_fd().cast_unsigned();
        let mut accepted = LaneAccept { socket, ..Default::default() };
        ask(self.device, ANYBINDER_LANE_ACCEPT, &mut accepted).ok()?;
        Some((accepted, DeviceServed::new(receive(&own)?, &self.lanes.buffers)?))
    }

    fn give_back_served(&self, served: DeviceServed) {
        self.lanes.buffers.give_back(served.buffer);
    }

    fn is_call_lent(&self, served: &DeviceServed) -> bool {
        self.lanes.buffers.at(served.buffer).is_none_or(|buffer| buffer.is_lent())
    }

    fn receive_call(&self, served: &DeviceServed, len: usize) -> Option<u64> {
        let (buffer, segment) = (self.lanes.buffers.at(served.buffer)?, served.segment());
        // SAFETY: `fill` lets so many bytes be written, and a buffer is no segment.
        let is_there = buffer.fill(len, |to| unsafe { segment.copy_request(to, len) });
        is_there.then(|| buffer.address())
    }

    fn copy_reply(&self, segment: &LaneSegment, head: &BinderTransactionData) -> bool {
        let data = self.memory.lent(head.buffer, head.data_size);
        data.is_some_and(|data| segment.write_reply(data))
    }

    fn now(&self) -> Timespec {
        rustix::time::clock_gettime(ClockId::Monotonic)
    }

    fn sleep_on(&self, words: &mut LaneWaits, until: &Timespec) -> (SleepEnd, Option<usize>) {
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

/// Receives the two files of a lane.
fn receive(socket: &OwnedFd) -> Option<[OwnedFd; 2]> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    rustix::net::recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, flags).ok()?;
    let mut files = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    let mut files = files.next()?;
    Some([files.next()?, files.next()?])
}
