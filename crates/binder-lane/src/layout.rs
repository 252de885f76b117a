//! Where things lie in a lane's segment, which the caller makes and both parties write.
//!
//! | offset | what |
//! |---|---|
//! | 0 | the [`LaneHead`] |
//! | [`REQUEST_START`] | [`DATA_BYTES`] of a call's data |
//! | [`REPLY_START`] | as much of its reply's |
//!
//! Numbers are those of the machine. Pages that were never touched cost nothing.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::word::LaneWord;

/// Where a call's data starts.
pub const REQUEST_START: usize = size_of::<LaneHead>();
/// Where the data of its reply starts.
pub const REPLY_START: usize = 72 << 10;
/// How much room there is for the bytes of a call, and for those of its reply.
pub const DATA_BYTES: usize = REPLY_START - REQUEST_START;
/// Of a whole segment.
pub const SEGMENT_BYTES: usize = 2 * REPLY_START;

/// The beginning of a segment.
#[derive(Debug, Default)]
#[repr(C)]
pub struct LaneHead {
    /// How far the call has come.
    pub word: LaneWord,
    _to_line: [u32; 15],
    /// Written by the caller.
    pub request: RequestHead,
    /// Written by the server.
    pub reply: ReplyHead,
}

/// What a call is, beside its data.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct RequestHead {
    /// What is called.
    pub code: AtomicU32,
    /// The flags of the transaction.
    pub flags: AtomicU32,
    /// Bytes of data.
    pub len: AtomicU32,
    /// The processor on which the caller's thread was.
    pub cpu: AtomicU32,
    /// How many bytes of a reply the caller has room for, or 0 for all that the segment has.
    pub room: AtomicU32,
    /// The number of the call: the next one has another.
    pub number: AtomicU32,
    /// The longest call that the caller expects to make. Written before the server has the segment.
    pub longest: AtomicU32,
}

/// What came of a call.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct ReplyHead {
    /// An [`CallOutcome`].
    pub outcome: AtomicU32,
    /// The code of the reply.
    pub code: AtomicU32,
    /// The flags of the transaction.
    pub flags: AtomicU32,
    /// Bytes of data, also of a reply for which the caller has no room.
    pub len: AtomicU32,
    /// The processor on which the server's thread was, or `u32::MAX` if its callers are not to spin.
    pub cpu: AtomicU32,
    /// How many bytes of a call the server has room for, or 0 for all that the segment has.
    pub room: AtomicU32,
}

/// Whether that many bytes fit into the room that the other party claims to have.
pub fn fits(room: &AtomicU32, bytes: u64) -> bool {
    let room = match room.load(Ordering::Relaxed) {
        0 => DATA_BYTES as u64,
        room => u64::from(room).min(DATA_BYTES as u64),
    };
    bytes <= room
}

/// How a call ended that its caller has not left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum CallOutcome {
    /// The server would not have it: it was not made.
    Declined = 0,
    /// There is a reply.
    Replied = 1,
    /// The driver has it.
    Adopted = 2,
}

impl CallOutcome {
    /// The outcome of this number; what is none counts as adopted, of which the driver knows.
    pub fn of_number(number: u32) -> Self {
        match number {
            0 => Self::Declined,
            1 => Self::Replied,
            _ => Self::Adopted,
        }
    }
}

// Both sides may have been built apart.
const _: () = assert!(size_of::<LaneHead>() == 192 && DATA_BYTES > 64 << 10);
