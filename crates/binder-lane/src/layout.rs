//! Where things lie in the two segments of a lane.
//!
//! | offset | in the caller's segment | in the server's |
//! |---|---|---|
//! | 0 | [`CallerHeader`] | [`ServerHeader`] |
//! | 4096 + n x [`SLOT_BYTES`] | [`RequestHead`], then [`DATA_BYTES`] of data | [`ReplyHead`], then as much |
//!
//! n is the slot of the caller's thread in its ring. Numbers are those of the machine. Pages that were never touched cost nothing.

use core::sync::atomic::AtomicU32;

use binder_ring::layout::SLOTS;

use crate::attention::{AwakeCount, CallBell};
use crate::posted::PostedWord;
use crate::served::ServedWord;

/// Where slot 0 starts.
pub const SLOTS_START: usize = 4096;
/// From one slot to the next: as much as in a ring.
pub const SLOT_BYTES: usize = 72 << 10;
/// Of a whole segment.
pub const SEGMENT_BYTES: usize = SLOTS_START + SLOTS as usize * SLOT_BYTES;
/// Where a slot's data starts.
pub const DATA_START: usize = size_of::<RequestHead>();
/// As much room there is for the bytes of a call, and of its reply.
pub const DATA_BYTES: usize = SLOT_BYTES - DATA_START;

/// The beginning of a caller's segment.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct CallerHeader {
    /// On which idle threads of the server sleep.
    pub bell: CallBell,
}

/// The beginning of a server's segment.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct ServerHeader {
    /// How many threads will look for calls.
    pub awake: AwakeCount,
}

/// The beginning of a slot of a caller's segment.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct RequestHead {
    /// Which call was made last.
    pub posted: PostedWord,
    /// What is called.
    pub code: AtomicU32,
    /// The flags of the transaction.
    pub flags: AtomicU32,
    /// Bytes of data.
    pub len: AtomicU32,
}

/// The beginning of a slot of a server's segment.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct ReplyHead {
    /// What has become of the call.
    pub served: ServedWord,
    /// The flags of the transaction.
    pub flags: AtomicU32,
    /// Bytes of data.
    pub len: AtomicU32,
}

// Both sides may have been built apart.
const _: () = assert!(size_of::<RequestHead>() == 64 && size_of::<ReplyHead>() == 64);
const _: () = assert!(size_of::<CallerHeader>() == 64 && size_of::<ServerHeader>() == 64);
