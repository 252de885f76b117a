//! A segment of a lane in the memory of this process.

#![expect(
    unsafe_code,
    reason = "memory that another process changes is copied through raw pointers"
)]

use core::fmt;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};

use binder_ring::SlotIndex;

use crate::layout::{
    CallerHeader, DATA_BYTES, DATA_START, ReplyHead, RequestHead, SLOT_BYTES, SLOTS_START,
    ServerHeader,
};

/// That which a caller's threads write, and server and driver read.
pub type CallerSegment = LaneSegment<CallerHeader, RequestHead>;

/// That which a server's threads and the driver write, and the caller reads.
pub type ServerSegment = LaneSegment<ServerHeader, ReplyHead>;

/// A segment that is mapped. All of it may change at any moment: what is read of it is copied, and numbers are atomic.
///
/// It is as good as a pointer: who made it sees to the mapping. Who may only read it must call nothing that is for others.
pub struct LaneSegment<Header, Head> {
    start: NonNull<u8>,
    of: PhantomData<fn() -> (Header, Head)>,
}

// SAFETY: the mapping belongs to the process, not to a thread, as the caller of `new` says.
unsafe impl<Header, Head> Send for LaneSegment<Header, Head> {}

// SAFETY: heads are of atomics alone, and bytes are copied through raw pointers, never lent: what races in them are bytes
// that either side takes for claims of the other's.
unsafe impl<Header, Head> Sync for LaneSegment<Header, Head> {}

impl<Header, Head> Clone for LaneSegment<Header, Head> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Header, Head> Copy for LaneSegment<Header, Head> {}

impl<Header, Head> fmt::Debug for LaneSegment<Header, Head> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LaneSegment").field(&self.start).finish()
    }
}

impl<Header, Head> LaneSegment<Header, Head> {
    /// A place within a slot.
    fn place(&self, slot: SlotIndex, at: usize) -> NonNull<u8> {
        debug_assert!(at <= SLOT_BYTES);
        let offset = SLOTS_START + slot.number() as usize * SLOT_BYTES + at;
        // SAFETY: a slot lies within the segment, and `at` within the slot or at its end.
        unsafe { self.start.add(offset) }
    }

    /// Copies `bytes` to the beginning of a slot's data. Says whether they have room. For who writes the segment.
    #[must_use]
    pub fn write_data(&self, slot: SlotIndex, bytes: &[u8]) -> bool {
        let has_room = bytes.len() <= DATA_BYTES;
        if has_room {
            let to = self.place(slot, DATA_START).as_ptr();
            // SAFETY: the range lies within the slot, as was checked, and `bytes` in no segment: those are never lent.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) }
        }
        has_room
    }

    /// Fills `into` from the beginning of a slot's data. Says whether there is so much.
    #[must_use]
    pub fn read_data(&self, slot: SlotIndex, into: &mut [u8]) -> bool {
        let is_there = into.len() <= DATA_BYTES;
        if is_there {
            let from = self.place(slot, DATA_START).as_ptr();
            // SAFETY: the range lies within the slot, as was checked, and `into` in no segment.
            unsafe { ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) }
        }
        is_there
    }
}

/// One for each kind of segment, whose heads are of atomics.
macro_rules! heads {
    ($segment:ident, $header:ident, $head:ident) => {
        impl $segment {
            /// The segment at `start`.
            ///
            /// # Safety
            ///
            /// At `start` [`SEGMENT_BYTES`](crate::layout::SEGMENT_BYTES) are mapped, from the beginning of a page on, for as
            /// long as this value or a copy of it is used; to be written, if anything is called that writes; and no
            /// reference to any of that memory exists but through this type.
            pub const unsafe fn new(start: NonNull<u8>) -> Self {
                Self { start, of: PhantomData }
            }

            /// Its beginning.
            pub fn header(&self) -> &$header {
                // SAFETY: a header lies there, aligned since the segment is; it is of atomics alone, for which any bytes do.
                unsafe { self.start.cast().as_ref() }
            }

            /// The beginning of a slot.
            pub fn slot(&self, slot: SlotIndex) -> &$head {
                // SAFETY: as for the header; slots start at multiples of 64 bytes within the segment.
                unsafe { self.place(slot, 0).cast().as_ref() }
            }
        }
    };
}

heads!(CallerSegment, CallerHeader, RequestHead);
heads!(ServerSegment, ServerHeader, ReplyHead);
