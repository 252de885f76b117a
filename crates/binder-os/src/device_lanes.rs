//! The lanes of an open device: calls that pass the driver by (`binder-lane`), as a caller and as a server.
//!
//! A thread has one lane at most by which it [calls](caller), to the object that it has called most of late. It serves the calls of
//! others' lanes as a [server], of all that come to its [process](served) those that [it looks at](owned). Either sees a thread's
//! `BINDER_WRITE_READ` before the ring does, and leaves to that whatever is not plain: one call or one reply without objects, or a
//! read of an idle thread.

mod caller;
mod owned;
mod served;
mod server;
#[cfg(test)]
mod tests;

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::sync::atomic::Ordering;

use binder_lane::{LaneId, LaneNote, NoteKind};
use binder_ring::layout::{SegmentHeader, SlotHead};
use binder_ring::{Segment, SlotIndex};
use binder_ring_client::lane::{LaneCaller, LaneCommands, LaneEnd, LaneSystem};
use binder_ring_client::{ClientRing, KernelCalls, RingOutcome};
use binder_uapi::{ANYBINDER_LANE_ADOPT, BinderWriteRead, payload_len};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use self::caller::DevicePlace;
use self::owned::OwnedLanes;
use self::served::ServedLanes;
use self::server::Serving;
use crate::lane_memory::LaneBuffers;
use crate::lent_memory::LentMemory;

/// The variable by which a user has programs use lanes: after so many calls in a row to an object.
pub(crate) const LANES: &str = "ANYBINDER_LANES";

/// What all threads of a device share of its lanes.
#[derive(Debug)]
pub(crate) struct DeviceLanes {
    pub(crate) buffers: LaneBuffers,
    /// After so many calls in a row to an object a thread asks for a lane.
    busy_calls: u32,
    served: ServedLanes,
}

/// What a thread has of a device's lanes.
#[derive(Debug, Default)]
pub(crate) struct ThreadLanes {
    caller: LaneCaller<DevicePlace>,
    owned: OwnedLanes,
    /// The call that it serves, which came by a lane.
    serving: Option<Serving>,
}

/// A `BINDER_WRITE_READ` of a thread with a slot.
pub(crate) struct LaneContext<'a, 'm> {
    pub(crate) device: BorrowedFd<'a>,
    pub(crate) ring: &'a ClientRing,
    pub(crate) slot: SlotIndex,
    pub(crate) lanes: &'a DeviceLanes,
    pub(crate) memory: &'a LentMemory<'m>,
}

impl DeviceLanes {
    pub(crate) const fn new(busy_calls: u32) -> Self {
        Self { buffers: LaneBuffers::new(), busy_calls, served: ServedLanes::new() }
    }

    /// Frees the buffers of lanes that commands free. They may have been run: so each is run once.
    fn free_run(&self, commands: &[u8]) {
        LaneCommands::parse(commands, &self.buffers).free(&self.buffers);
    }
}

impl LaneContext<'_, '_> {
    fn segment(&self) -> &Segment {
        self.ring.segment()
    }

    fn header(&self) -> &SegmentHeader {
        self.segment().header()
    }

    fn slot_head(&self) -> &SlotHead {
        self.segment().slot(self.slot)
    }

    fn note(&self) -> LaneNote<'_> {
        LaneNote::new(&self.slot_head().lane_note)
    }

    fn standing(&self) -> u32 {
        self.slot_head().standing.load(Ordering::Relaxed)
    }

    /// Whether the driver has not taken a lane back.
    fn is_granted(&self, lane: LaneId, place: usize) -> bool {
        let granted = self.header().lanes.get(place);
        granted.is_some_and(|granted| granted.load(Ordering::Acquire) == lane.number())
    }

    fn system(&self) -> KernelCalls<'_> {
        KernelCalls::new(self.device)
    }

    /// Has the driver take over what the thread does by a lane.
    fn take_over(&self, lane: LaneId) -> io::Result<()> {
        ask(self.device, ANYBINDER_LANE_ADOPT, &mut lane.number())
    }
}

impl ThreadLanes {
    /// Makes a call of this thread, by a lane if it can be.
    pub(crate) fn exchange(
        &mut self,
        context: &LaneContext<'_, '_>,
        call: &mut BinderWriteRead,
    ) -> RingOutcome {
        let commands = context.memory.commands_between(call.write_consumed, call.write_size);
        let parsed = LaneCommands::parse(commands, &context.lanes.buffers);
        let end = if self.serving.is_some() {
            self.go_on_serving(context, call, &parsed)
        } else if self.may_look(context, call, &parsed) {
            self.look(context, call, &parsed)
        } else {
            self.owned.leave(context);
            self.caller.call(context, call, &parsed)
        };
        let outcome = match end {
            LaneEnd::Done => return RingOutcome::Done(Ok(())),
            LaneEnd::ByRing => context.by_ring(call),
            LaneEnd::ReadByRing => {
                call.write_consumed = call.write_size;
                context.by_ring(call)
            }
            LaneEnd::Ended(outcome) => return outcome,
        };
        if context.header().offered_lanes.load(Ordering::Relaxed) != 0 {
            context.lanes.served.accept(context);
            self.owned.note_offer();
        }
        self.caller.open_if_worthwhile(context, context.lanes.busy_calls);
        outcome
    }

    /// Ends what the thread has of a device whose lanes it uses no more.
    pub(crate) fn end(&mut self, ring: &ClientRing, slot: SlotIndex, lanes: &DeviceLanes) {
        let note = LaneNote::new(&ring.segment().slot(slot).lane_note);
        if let Some(serving) = self.serving.take() {
            // The caller has the driver look for its server.
            let _ = note.end(serving.lane.id, NoteKind::Serves);
        }
        self.owned.give_up();
        if let Some(place) = self.caller.end() {
            place.give_back(lanes);
        }
    }
}

/// Makes an ioctl of the lanes.
fn ask<T: FromBytes + IntoBytes + Immutable>(
    device: BorrowedFd<'_>,
    request: u32,
    argument: &mut T,
) -> io::Result<()> {
    assert_eq!(payload_len(request), size_of::<T>(), "the argument of this request");
    #[expect(unsafe_code, reason = "the ioctls of lanes have no safe wrapper")]
    // SAFETY: a device that knows the request reads and writes as many bytes behind its argument as its number tells, which is the
    // size of `T`, where any bytes are valid. One that does not know it refuses.
    let result =
        unsafe { libc::ioctl(device.as_raw_fd(), request as libc::Ioctl, ptr::from_mut(argument)) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
