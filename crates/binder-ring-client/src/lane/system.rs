//! What a process does for the lanes by which its threads call.

use core::ptr::NonNull;

use binder_lane::layout::SEGMENT_BYTES;
use binder_lane::{CallLeft, LaneId, LaneSegment};
use binder_ring::SlotIndex;
use binder_uapi::{BinderTransactionData, BinderWriteRead, Errno, LaneOpen};
use rustix::fd::OwnedFd;

use super::commands::ReceivedBuffers;
use crate::caller::RingSystem;
use crate::exchange::RingOutcome;
use crate::ring::{ClientRing, create_shared};

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

    /// Makes a segment, with a file to offer, and finds a buffer. None if there is no memory for either.
    fn create_place(&self) -> Option<(Self::Place, OwnedFd)>;
    /// Gives the memory of a lane back. What is lent of its buffer stays so.
    fn give_back(&self, place: Self::Place);
    /// The segment of a lane.
    fn segment(&self, place: &Self::Place) -> LaneSegment;
    /// Where the buffer of a lane is.
    fn address(&self, place: &Self::Place) -> u64;
    /// Whether what lies in the buffer of a lane was not freed.
    fn is_lent(&self, place: &Self::Place) -> bool;
    /// Copies the first `len` bytes of a reply from the segment of a lane to its buffer, and lends that. Says whether it did: not
    /// if they exceed it.
    fn receive(&self, place: &Self::Place, len: usize) -> bool;

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
    fn by_ring(&self, call: &mut BinderWriteRead) -> RingOutcome;
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

    /// Notes that the thread is about to make a call by a lane, or makes none any more.
    #[inline(always)]
    fn note_lane(&self, _lane: Option<(LaneId, LaneSegment)>) {}

    /// Whether a handler of a signal, which has made a call of its own meanwhile, has left the thread's call.
    #[inline(always)]
    fn call_left_within(&self) -> Option<CallLeft> {
        None
    }
}

/// Makes a segment for a lane. Returns where it is mapped, and the file to offer; children do not have it.
///
/// # Errors
///
/// As memfd_create(2), mmap(2) and madvise(2); EFBIG if files may not be so long.
pub fn create_segment() -> Result<(NonNull<u8>, OwnedFd), Errno> {
    create_shared(c"binder-lane", SEGMENT_BYTES)
}
