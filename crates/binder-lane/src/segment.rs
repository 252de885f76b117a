//! A segment of a lane in the memory of this process.

#![expect(
    unsafe_code,
    reason = "memory that another process changes is copied through raw pointers"
)]

use core::ptr::{self, NonNull};

use crate::layout::{DATA_BYTES, LaneHead, REPLY_START, REQUEST_START};

/// A segment that is mapped. All of it may change at any moment: what is read of it is copied, and numbers are atomic.
///
/// It is as good as a pointer: who made it sees to the mapping.
#[derive(Clone, Copy, Debug)]
pub struct LaneSegment {
    start: NonNull<u8>,
}

// SAFETY: the mapping belongs to the process, not to a thread, as the caller of `new` says.
unsafe impl Send for LaneSegment {}

// SAFETY: the head is of atomics alone, and bytes are copied through raw pointers, never lent: what races in them are bytes
// that either side takes for claims of the other's.
unsafe impl Sync for LaneSegment {}

/// Which data of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SegmentPart {
    Request = REQUEST_START as isize,
    Reply = REPLY_START as isize,
}

impl LaneSegment {
    /// The segment at `start`.
    ///
    /// # Safety
    ///
    /// At `start` [`SEGMENT_BYTES`](crate::layout::SEGMENT_BYTES) are mapped to be read and written, from the
    /// beginning of a page on, for as long as this value or a copy of it is used; and no reference to any of that memory
    /// exists but through this type.
    pub const unsafe fn new(start: NonNull<u8>) -> Self {
        Self { start }
    }

    /// Where it is mapped.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Its beginning.
    #[inline]
    pub fn head(&self) -> &LaneHead {
        // SAFETY: a head lies there, aligned since the segment is; it is of atomics alone, for which any bytes do.
        unsafe { self.start.cast().as_ref() }
    }

    /// Writes a call's data. Says whether it has room. For the caller.
    #[must_use]
    pub fn write_request(&self, bytes: &[u8]) -> bool {
        self.write(SegmentPart::Request, bytes)
    }

    /// Copies `len` bytes from `from` to a call's data. Says whether they have room. For a caller whose bytes may change
    /// meanwhile.
    ///
    /// # Safety
    ///
    /// At `from` that many bytes can be read, and they are not of a segment.
    #[must_use]
    pub unsafe fn copy_request_in(&self, from: *const u8, len: usize) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.copy_in(SegmentPart::Request, from, len) }
    }

    /// Copies `len` bytes from `from` to a reply's data. Says whether they have room. For a server whose bytes may change
    /// meanwhile.
    ///
    /// # Safety
    ///
    /// As [`copy_request_in`](Self::copy_request_in).
    #[must_use]
    pub unsafe fn copy_reply_in(&self, from: *const u8, len: usize) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.copy_in(SegmentPart::Reply, from, len) }
    }

    /// Writes a reply's data. Says whether it has room. For the server.
    #[must_use]
    pub fn write_reply(&self, bytes: &[u8]) -> bool {
        self.write(SegmentPart::Reply, bytes)
    }

    /// Copies the first `len` bytes of a call's data to `to`. For the server.
    ///
    /// # Safety
    ///
    /// At `to` that many bytes can be written, and they are not of a segment.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub unsafe fn copy_request(&self, to: *mut u8, len: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.copy(SegmentPart::Request, to, len) }
    }

    /// Copies the first `len` bytes of a reply's data to `to`. For the caller.
    ///
    /// # Safety
    ///
    /// As [`copy_request`](Self::copy_request).
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub unsafe fn copy_reply(&self, to: *mut u8, len: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.copy(SegmentPart::Reply, to, len) }
    }

    fn place(&self, part: SegmentPart) -> *mut u8 {
        // SAFETY: both parts start within the segment.
        unsafe { self.start.as_ptr().offset(part as isize) }
    }

    fn write(&self, part: SegmentPart, bytes: &[u8]) -> bool {
        // SAFETY: `bytes` lies in no segment: those are never lent.
        unsafe { self.copy_in(part, bytes.as_ptr(), bytes.len()) }
    }

    unsafe fn copy_in(&self, part: SegmentPart, from: *const u8, len: usize) -> bool {
        let has_room = len <= DATA_BYTES;
        if has_room {
            // SAFETY: the range lies within the segment, as was checked; the other is the caller's promise.
            unsafe { ptr::copy_nonoverlapping(from, self.place(part), len) }
        }
        has_room
    }

    unsafe fn copy(&self, part: SegmentPart, to: *mut u8, len: usize) {
        assert!(len <= DATA_BYTES, "{len} bytes exceed a lane's data");
        // SAFETY: the range lies within the segment, as was checked; the other is the caller's promise.
        unsafe { ptr::copy_nonoverlapping(self.place(part), to, len) }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::boxed::Box;
    use std::vec;

    use super::*;
    use crate::layout::SEGMENT_BYTES;

    #[repr(C, align(4096))]
    struct Memory([u8; SEGMENT_BYTES]);

    #[test]
    fn a_call_and_its_reply_have_room_of_their_own() {
        // SAFETY: zeros are what such an array may be of.
        let memory: Box<Memory> = unsafe { Box::new_zeroed().assume_init() };
        let start = NonNull::from(Box::leak(memory)).cast();
        // SAFETY: it is as long, page-aligned, and leaked.
        let segment = unsafe { LaneSegment::new(start) };
        let (call, reply) = (vec![1; DATA_BYTES], vec![2; DATA_BYTES]);
        assert!(segment.write_request(&call) && segment.write_reply(&reply));
        assert!(!segment.write_request(&vec![3; DATA_BYTES + 1]));
        let mut read = vec![0; DATA_BYTES];
        // SAFETY: a vector of that length can be written.
        unsafe { segment.copy_request(read.as_mut_ptr(), DATA_BYTES) };
        assert_eq!(read, call);
        // SAFETY: as above.
        unsafe { segment.copy_reply(read.as_mut_ptr(), DATA_BYTES) };
        assert_eq!(read, reply);
        assert_eq!(segment.head().word.state(), crate::LaneState::Cold, "the head is its own");
        let beyond = std::panic::catch_unwind(|| {
            // SAFETY: it panics before it writes anything.
            unsafe { segment.copy_reply(NonNull::dangling().as_ptr(), DATA_BYTES + 1) };
        });
        assert!(beyond.is_err());
    }
}
