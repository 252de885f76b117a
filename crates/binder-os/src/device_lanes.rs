//! The lanes of an open device: calls that pass the driver by (`binder-lane`), as a caller and as a server.
//!
//! A thread has one lane at most by which it [calls](caller), to the object that it has called most of late, and serves the calls
//! of others' [lanes](server). Both see a thread's `BINDER_WRITE_READ` before the ring does, and leave to that whatever is not
//! plain: one call or one reply without objects, or a read of an idle thread.

mod caller;
mod commands;
mod server;

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::sync::atomic::Ordering;

use binder_lane::{LaneId, LaneNote, NoteKind};
use binder_ring::layout::{IN_NO_CALL, SegmentHeader, SlotHead};
use binder_ring::{Segment, SlotIndex};
use binder_ring_client::{ClientRing, KernelCalls, RingOutcome};
use binder_uapi::{ANYBINDER_LANE_ADOPT, BinderWriteRead, Errno, payload_len};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use self::caller::CallerLane;
use self::commands::LaneCommands;
use self::server::{OwnedLanes, ServedLanes, Serving};
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
    caller: Option<CallerLane>,
    traffic: caller::Traffic,
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

/// What became of a call that could take a lane.
enum LaneEnd {
    /// It is over.
    Done,
    /// Its commands are to be run by the driver, and its returns read there.
    ByRing,
    /// Its commands were run; its returns are to be read.
    ReadByRing,
    /// The driver is gone.
    Lost,
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
    fn adopt(&self, lane: LaneId) -> io::Result<()> {
        ask(self.device, ANYBINDER_LANE_ADOPT, &mut lane.number())
    }

    /// Has the driver run the first commands of a call, of so many bytes. Says whether the thread can go on with the others as if
    /// it had not.
    fn run_first(&self, call: &mut BinderWriteRead, bytes: usize) -> bool {
        let (write_size, read_size) = (call.write_size, call.read_size);
        let until = call.write_consumed + bytes as u64;
        (call.write_size, call.read_size) = (until, call.read_consumed);
        let outcome = self.by_ring(call);
        (call.write_size, call.read_size) = (write_size, read_size);
        outcome == RingOutcome::Done(Ok(()))
            && call.write_consumed == until
            && self.standing() & IN_NO_CALL != 0
    }

    /// Makes a call by the ring, and frees what it has freed.
    fn by_ring(&self, call: &mut BinderWriteRead) -> RingOutcome {
        let before = call.write_consumed;
        let outcome = self.ring.exchange(self.slot, call, &self.system(), self.memory);
        if outcome != RingOutcome::Done(Ok(())) {
            // An ioctl may change where the thread stands.
            self.slot_head().standing.store(0, Ordering::Relaxed);
        }
        self.lanes.free_run(self.memory.commands_between(before, call.write_consumed));
        outcome
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
            self.call(context, call, &parsed)
        };
        let outcome = match end {
            LaneEnd::Done => return RingOutcome::Done(Ok(())),
            LaneEnd::ByRing => context.by_ring(call),
            LaneEnd::ReadByRing => {
                call.write_consumed = call.write_size;
                context.by_ring(call)
            }
            LaneEnd::Lost => return RingOutcome::Done(Err(Errno::ECONNABORTED)),
        };
        if context.header().offered_lanes.load(Ordering::Relaxed) != 0 {
            context.lanes.served.accept(context);
        }
        self.open_if_worthwhile(context);
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
        if let Some(caller) = self.caller.take() {
            caller.give_back_buffer(lanes);
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
