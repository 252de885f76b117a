//! What a process does for the lanes by which its threads call.

#![expect(unsafe_code, reason = "a counter of the processor's is an instruction")]

use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};

use binder_lane::layout::SEGMENT_BYTES;
use binder_lane::{CallLeft, LaneId, LaneNote, LaneSegment};
use binder_ring::SlotIndex;
use binder_ring::layout::{SegmentHeader, SlotHead};
use binder_uapi::{BinderTransactionData, BinderWriteRead, Errno, LaneAccept, LaneOpen};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::IoSliceMut;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType,
};
use rustix::thread::Timespec;

use super::commands::ReceivedBuffers;
use super::poller::LaneWaits;
use super::served::{ServedLanes, ServedPlace};
use crate::caller::{RingSystem, SleepEnd};
use crate::exchange::{ReadWait, RingOutcome};
use crate::ring::{ClientRing, create_shared, map_shared};

/// A thread that makes a call, in its process.
///
/// As for [`RingSystem`], what is done while the thread waits is inlined.
pub trait LaneSystem: RingSystem {
    /// What a lane has of the process's memory: its segment, and a buffer for what comes back.
    type Place;
    /// The buffers of the device.
    type Buffers: ReceivedBuffers;

    /// The ring of the device.
    fn ring(&self) -> &ClientRing;
    /// The thread's slot in it.
    fn slot(&self) -> SlotIndex;
    /// The buffers of the device.
    fn buffers(&self) -> &Self::Buffers;

    /// Makes a segment, with a file to offer, and finds a buffer, for replies of that many bytes if it can be. None if there is no memory
    /// for either.
    fn create_place(&self, reply_bytes: u32) -> Option<(Self::Place, OwnedFd)>;
    /// Gives the memory of a lane back. What is in use of its buffer stays so.
    fn give_back(&self, place: Self::Place);
    /// The segment of a lane.
    fn segment(&self, place: &Self::Place) -> LaneSegment;
    /// Where the buffer of a lane is.
    fn address(&self, place: &Self::Place) -> u64;
    /// Whether what lies in the buffer of a lane was not freed.
    fn is_in_use(&self, place: &Self::Place) -> bool;
    /// Copies the first `len` bytes of a reply from the segment of a lane to its buffer, which is in use then. Says whether it did: not
    /// if they exceed it.
    fn receive(&self, place: &Self::Place, len: usize) -> bool;

    /// How many bytes the buffer of a lane has room for, or 0 for all that a segment has.
    fn room(&self, _: &Self::Place) -> u32 {
        0
    }
    /// Copies the data of a call to a segment. Says whether it did: not if they exceed it, or cannot be read.
    fn copy_request(&self, segment: &LaneSegment, head: &BinderTransactionData) -> bool;
    /// Copies returns to `address`.
    ///
    /// # Errors
    ///
    /// `EFAULT` if they cannot be written there.
    fn write_returns(&self, address: u64, returns: &[u8]) -> Result<(), Errno>;

    /// Makes a call by the ring, and frees what it has freed. What the driver tells of the thread's standing is forgotten if it
    /// does not end well.
    fn by_ring_waiting(&self, waits: ReadWait, call: &mut BinderWriteRead) -> RingOutcome;

    /// Makes a call by the ring, with a read that waits.
    fn by_ring(&self, call: &mut BinderWriteRead) -> RingOutcome {
        self.by_ring_waiting(ReadWait::UntilReady, call)
    }

    /// Has the driver run the commands of a call up to `until`, and reads nothing.
    ///
    /// Where it wants an ioctl, to close what lay in a buffer that is freed, they are run: it closes that at the end of what the thread
    /// does next there, and no read of that waits.
    fn run_commands(&self, call: &mut BinderWriteRead, until: u64) -> RingOutcome {
        let (write_size, read_size) = (call.write_size, call.read_size);
        (call.write_size, call.read_size) = (until, call.read_consumed);
        let outcome = self.by_ring(call);
        (call.write_size, call.read_size) = (write_size, read_size);
        outcome
    }

    /// Asks for a lane.
    ///
    /// # Errors
    ///
    /// As the driver answers.
    fn open_lane(&self, wish: &mut LaneOpen) -> Result<(), Errno>;
    /// Gives a lane back.
    fn close_lane(&self, lane: LaneId);
    /// Has the driver take over the call of a lane.
    ///
    /// # Errors
    ///
    /// As the driver answers.
    fn adopt(&self, lane: LaneId) -> Result<(), Errno>;

    /// Holds signals back until the thread next waits for the driver, or its call is over: in between nothing would notice them.
    fn hold_signals(&self) {}

    /// Notes that the thread is about to make a call by a lane, or makes none any more.
    #[inline(always)]
    fn note_lane(&self, _lane: Option<(LaneId, LaneSegment)>) {}

    /// Whether a handler of a signal, which has made a call of its own meanwhile, has left the thread's call.
    #[inline(always)]
    fn call_left_within(&self) -> Option<CallLeft> {
        None
    }
}

/// A thread that serves calls, in its process.
pub trait LaneServing: LaneSystem {
    /// What the process has of a lane by which it is called.
    type Served: ServedPlace;

    /// The lanes by which the process is called.
    fn served(&self) -> &ServedLanes<Self::Served>;
    /// Takes a lane that the process is offered. None if there is none, or it cannot be taken.
    fn accept(&self) -> Option<(LaneAccept, Self::Served)>;
    /// Ends what the process had of a lane. A call that is in use stays so.
    fn give_back_served(&self, served: Self::Served);
    /// Whether the last call of a lane was not freed.
    fn is_call_in_use(&self, served: &Self::Served) -> bool;
    /// How many bytes of a call there is room for, or 0 for all that a segment has.
    fn call_room(&self, _: &Self::Served) -> u32 {
        0
    }
    /// Copies the first `len` bytes of a call from the segment of a lane to its buffer, which is in use then. Returns where it lies; none if it
    /// exceeds the segment.
    fn receive_call(&self, served: &Self::Served, len: usize) -> Option<u64>;
    /// Copies the data of a reply to a segment. Says whether it did: not if they exceed it, or cannot be read.
    fn copy_reply(&self, segment: &LaneSegment, head: &BinderTransactionData) -> bool;

    /// Leaves the lanes to other threads that threads have which have ended, if those did not do so themselves. Signals are blocked.
    fn clear_ended(&self) {}

    /// Whether the file by which the thread reads is open still: another thread may close it meanwhile.
    fn is_open(&self) -> bool {
        true
    }

    /// Whether the thread can wait for calls: it hears of signals meanwhile.
    fn may_wait(&self) -> bool {
        true
    }

    /// The monotonic clock.
    fn now(&self) -> Timespec;

    /// A counter of the processor's, for what cannot take a system call.
    #[inline(always)]
    fn ticks(&self) -> u64 {
        ticks()
    }

    /// Words of the thread's own, and their values since signals are watched: a signal that is handled changes one.
    #[inline(always)]
    fn signal_words(&self) -> [Option<(*const AtomicU32, u32)>; 2] {
        [None; 2]
    }

    /// Sleeps while all words have these values, until a time at most. Says which one woke it, if that is known.
    fn sleep_on(&self, words: &LaneWaits, until: &Timespec) -> (SleepEnd, Option<usize>);
}

#[cfg(target_arch = "x86_64")]
fn ticks() -> u64 {
    // SAFETY: all processors of the architecture have the instruction, and a kernel that forbids it is none that runs programs.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "aarch64")]
fn ticks() -> u64 {
    let ticks;
    // SAFETY: it reads a register, which Linux lets programs read.
    unsafe {
        core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags));
    }
    ticks
}

/// Others know no lanes that are worth while.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn ticks() -> u64 {
    0
}

pub(super) fn header(system: &impl LaneSystem) -> &SegmentHeader {
    system.ring().segment.header()
}

pub(super) fn slot_head(system: &impl LaneSystem) -> &SlotHead {
    system.ring().segment.slot(system.slot())
}

pub(super) fn note(system: &impl LaneSystem) -> LaneNote<'_> {
    LaneNote::new(&slot_head(system).lane_note)
}

pub(super) fn standing(system: &impl LaneSystem) -> u32 {
    slot_head(system).standing.load(Ordering::Relaxed)
}

/// Whether the driver has not taken a lane back.
pub(super) fn is_granted(system: &impl LaneSystem, lane: LaneId, at: usize) -> bool {
    let granted = header(system).lanes.get(at);
    granted.is_some_and(|granted| granted.load(Ordering::Acquire) == lane.number())
}

/// Makes a segment for a lane. Returns where it is mapped, and the file to offer; children do not have it.
///
/// # Errors
///
/// As memfd_create(2), mmap(2) and madvise(2); EFBIG if files may not be so long.
pub fn create_segment() -> Result<(NonNull<u8>, OwnedFd), Errno> {
    create_shared(c"binder-lane", SEGMENT_BYTES)
}

/// Maps a segment that another process has made. Returns where; children do not have it.
///
/// # Errors
///
/// `EINVAL` if it is no memory that keeps its size; as mmap(2) and madvise(2).
pub fn map_segment(file: &OwnedFd) -> Result<NonNull<u8>, Errno> {
    map_shared(file, SEGMENT_BYTES)
}

/// Takes a lane that the driver offers, by `ask`ing it: it sends the lane's segment and a pidfd of the caller's thread, or process, to a socket. None
/// if there is none.
pub fn take_offer(
    ask: impl FnOnce(&mut LaneAccept) -> Result<(), Errno>,
) -> Option<(LaneAccept, [OwnedFd; 2])> {
    let (stream, flags) = (SocketType::STREAM, SocketFlags::CLOEXEC);
    let (own, drivers) = rustix::net::socketpair(AddressFamily::UNIX, stream, flags, None).ok()?;
    let socket = drivers.as_raw_fd().cast_unsigned();
    let mut accepted = LaneAccept { socket, ..Default::default() };
    ask(&mut accepted).ok()?;
    Some((accepted, receive(&own)?))
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
