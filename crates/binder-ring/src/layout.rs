//! Where things lie in a segment.
//!
//! | offset | what |
//! |---|---|
//! | 0 | the [`SegmentHeader`]: the bell, the driver's processor |
//! | 4096 + n x [`SLOT_BYTES`] | slot n: its [`SlotHead`], then [`RETURNS_BYTES`] of returns, then [`DATA_BYTES`] of data |
//!
//! Numbers are those of the machine. Pages that were never touched cost nothing, so a thread that makes small calls takes
//! one.

use core::mem::{offset_of, size_of};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::bell::Bell;
use crate::slot::SlotWord;
use crate::windows::MemoryWindows;

/// How many threads of an open file can have a slot; further ones use ioctls.
pub const SLOTS: u32 = 31;
/// Where slot 0 starts.
pub const SLOTS_START: usize = 4096;
/// From one slot to the next.
pub const SLOT_BYTES: usize = 72 << 10;
/// Of a whole segment.
pub const SEGMENT_BYTES: usize = SLOTS_START + SLOTS as usize * SLOT_BYTES;
/// Where a slot's returns start.
pub const RETURNS_START: usize = size_of::<SlotHead>();
/// The room for returns. More than that the driver writes to the client's memory itself.
pub const RETURNS_BYTES: usize = 1024 - RETURNS_START;
/// Where a slot's data starts.
pub const DATA_START: usize = RETURNS_START + RETURNS_BYTES;
/// The room for commands and the data they point to.
pub const DATA_BYTES: usize = SLOT_BYTES - DATA_START;

/// Stands for the driver's processor when no thread is to spin for its answer, since other threads wait for processors.
pub const NO_CPU: u32 = u32::MAX;

/// The thread neither waits for a reply nor serves a call, and nothing waits for it alone.
pub const IN_NO_CALL: u32 = 1;
/// The thread serves its process.
pub const IS_LOOPER: u32 = 2;

/// The words of a `binder_write_read`.
pub(crate) const CALL_WORDS: usize = 6;

/// The beginning of a segment.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct SegmentHeader {
    /// Rung by all threads of the client.
    pub bell: Bell,
    /// The processor on which the driver's thread was when it last fell asleep or woke up, or [`NO_CPU`].
    pub driver_cpu: AtomicU32,
    /// What the client knows of lanes (`binder-lane`): [`CALLS_BY_LANES`], [`SERVES_LANES`]. Written by the client.
    pub knows_lanes: AtomicU32,
    /// Not 0 while the client's threads are to come to the driver for what they serve next. Threads that look for calls of
    /// lanes sleep on it.
    pub gate: AtomicU32,
    /// How many lanes to the client's objects it has not taken yet.
    pub offered_lanes: AtomicU32,
    /// The client's line of work, as the driver has it: how much of it was taken, and how much has come.
    pub line: WorkLine,
    /// How many of the client's threads wait in the driver for what comes next.
    pub idle_threads: AtomicU32,
    /// How many processors there are. Written by the driver, once.
    pub processors: AtomicU32,
    /// How often a number of the file was closed, by any of its processes. Written by the driver, before close(2) returns.
    pub closes: AtomicU32,
    _unused: [u32; 5],
    /// The numbers of the lanes that the client calls or is called by, or 0: one that is not here is taken back.
    pub lanes: [AtomicU32; LANES],
    /// How many calls the client has made or answered by each, of which the driver does not know.
    pub lane_calls: [CallCount; LANES],
}

/// A line of work, from which threads take what comes first.
#[derive(Debug, Default)]
#[repr(C)]
pub struct WorkLine {
    first: AtomicU32,
    next: AtomicU32,
}

impl WorkLine {
    /// Tells how far it is: the number of the first item, and that which the next one gets that comes. For the driver.
    pub fn set(&self, first: u32, next: u32) {
        self.next.store(next, Ordering::Relaxed);
        self.first.store(first, Ordering::Release);
    }

    /// The end of the line at this moment.
    pub fn end(&self) -> u32 {
        self.next.load(Ordering::Relaxed)
    }

    /// Whether all has been taken that was in line when this was its [end](Self::end).
    pub fn has_passed(&self, end: u32) -> bool {
        self.first.load(Ordering::Acquire).wrapping_sub(end).cast_signed() >= 0
    }
}

/// Counts the calls of a lane on one side. Written by the client, by one thread at a time.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct CallCount(AtomicU32);

impl CallCount {
    /// Counts a call.
    #[inline(always)]
    pub fn count(&self) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Takes back a call that was counted: the driver counts it.
    pub fn take_back(&self) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_sub(1), Ordering::Relaxed);
    }

    /// How many there were. It begins anew after 2^32.
    pub fn total(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The client's threads may ask for lanes.
pub const CALLS_BY_LANES: u32 = 1;
/// The client's threads may look for calls of lanes.
pub const SERVES_LANES: u32 = 2;

/// How many lanes a ring may have: one for each slot to call by, and 24 to be called by.
pub const LANES: usize = SLOTS as usize + 24;

/// The beginning of a slot.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct SlotHead {
    /// Which side owns the slot.
    pub word: SlotWord,
    /// The thread of the client that has the slot, or 0. For the client alone. Constant from the ioctl that binds the slot
    /// until the thread gives it back; the driver does that for one that has ended.
    pub owner: AtomicU32,
    /// The processor on which the thread was when it posted.
    pub client_cpu: AtomicU32,
    /// The kind of request, and its number.
    pub(crate) kind: [AtomicU32; 2],
    /// What the thread does by a lane: a note of `binder-lane`. Written by the client and, of what it takes over, the driver.
    pub lane_note: AtomicU32,
    /// The code and the flags of the call that the thread makes by a lane.
    pub lane_call: [AtomicU32; 2],
    /// Where the thread stands after the last answer: [`IN_NO_CALL`], [`IS_LOOPER`].
    pub standing: AtomicU32,
    _unused: [u32; 7],
    /// The caller's struct.
    pub(crate) request: [AtomicU64; CALL_WORDS],
    /// Address and length of each window.
    pub(crate) windows: [[AtomicU64; 2]; MemoryWindows::COUNT],
    /// The result of the ioctl, or [`DECLINED`](crate::RingAnswer::DECLINED).
    pub(crate) result: AtomicU64,
    /// How many bytes of returns are to be copied to the beginning of the read buffer.
    pub(crate) returns_len: AtomicU64,
    /// The caller's struct as it goes back.
    pub(crate) reply: [AtomicU64; CALL_WORDS],
}

// Both sides may have been built apart.
const _: () =
    assert!(size_of::<SlotHead>() == 256 && RETURNS_BYTES == 768 && DATA_BYTES == 71 << 10);
const _: () = assert!(size_of::<SegmentHeader>() <= SLOTS_START);
const _: () = assert!(offset_of!(SlotHead, request) == 64 && offset_of!(SlotHead, result) == 176);
