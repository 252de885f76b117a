//! The memory of lanes: segments that two programs share, and the buffers of what came by them.

#![expect(unsafe_code, reason = "segments are mapped, and received bytes are copied and lent")]

use std::io;
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use binder_lane::LaneSegment;
use binder_lane::layout::{DATA_BYTES, SEGMENT_BYTES};
use binder_ring::layout::LANES;
use binder_ring_client::lane::{ReceivedBuffers, create_segment, map_segment};

use crate::fork_count;

/// The segment of a lane.
#[derive(Debug)]
pub(crate) struct LaneMemory {
    segment: LaneSegment,
    start: NonNull<u8>,
    /// How many forks there had been: a child has no segment, and maybe something else there.
    forks: u32,
}

// SAFETY: the mapping belongs to the process, not to a thread: it is there until `drop`, whichever thread that runs on.
unsafe impl Send for LaneMemory {}

// SAFETY: all access goes through `segment`, which may be shared.
unsafe impl Sync for LaneMemory {}

impl LaneMemory {
    /// Makes a segment, and the file to offer.
    ///
    /// # Errors
    ///
    /// As [`create_segment`].
    pub(crate) fn create() -> io::Result<(Self, OwnedFd)> {
        let (start, file) =
            create_segment().map_err(|error| io::Error::from_raw_os_error(error.number()))?;
        // SAFETY: that many bytes are mapped there for this process alone, and nothing else knows the address.
        Ok((unsafe { Self::at(start) }, file))
    }

    /// Maps a segment.
    ///
    /// # Errors
    ///
    /// As [`map_segment`].
    pub(crate) fn map(file: &OwnedFd) -> io::Result<Self> {
        let start =
            map_segment(file).map_err(|error| io::Error::from_raw_os_error(error.number()))?;
        // SAFETY: that many bytes are mapped there for this process alone, and nothing else knows the address.
        Ok(unsafe { Self::at(start) })
    }

    /// # Safety
    ///
    /// A whole segment is mapped there to be read and written, and is this value's from now on.
    unsafe fn at(start: NonNull<u8>) -> Self {
        // SAFETY: the caller's promise: it is there until `drop`.
        let segment = unsafe { LaneSegment::new(start) };
        Self { segment, start, forks: fork_count::forks() }
    }

    pub(crate) fn segment(&self) -> &LaneSegment {
        &self.segment
    }
}

impl Drop for LaneMemory {
    fn drop(&mut self) {
        if self.forks != fork_count::forks() {
            return;
        }
        // SAFETY: the whole mapping that `map` has made; `segment` is lent for no longer than this lives.
        let unmapped = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), SEGMENT_BYTES) };
        debug_assert_eq!(unmapped, Ok(()), "a whole mapping can always be unmapped");
    }
}

/// How many buffers a device has for what comes by lanes: one for each lane that it may have, and some that stay in use for longer.
const MAX_BUFFERS: usize = LANES + 8;

/// The buffers of a device for what comes by lanes: each has what came by one lane last. They are there as long as the device.
#[derive(Debug)]
pub(crate) struct LaneBuffers([OnceLock<LaneBuffer>; MAX_BUFFERS]);

/// One of them, and who has it.
#[derive(Debug)]
pub(crate) struct LaneBuffer {
    start: NonNull<u8>,
    state: AtomicU32,
}

/// A lane has it.
const OWNED: u32 = 1;
/// What lies in it was delivered, and not freed.
const IN_USE: u32 = 2;

// SAFETY: the memory belongs to the process, and to this value alone.
unsafe impl Send for LaneBuffer {}

// SAFETY: its bytes are written by the one thread that `fill` lets, and read while they are in use: `state` keeps the two apart.
unsafe impl Sync for LaneBuffer {}

impl LaneBuffers {
    pub(crate) const fn new() -> Self {
        Self([const { OnceLock::new() }; MAX_BUFFERS])
    }

    /// Takes a buffer for a lane; none if all are in use.
    pub(crate) fn take(&self) -> Option<usize> {
        (0..MAX_BUFFERS).find(|at| {
            let state = &self.0[*at].get_or_init(LaneBuffer::new).state;
            state.compare_exchange(0, OWNED, Ordering::Acquire, Ordering::Relaxed).is_ok()
        })
    }

    /// Gives back a buffer that a lane had. What is in use of it stays so.
    pub(crate) fn give_back(&self, buffer: usize) {
        if let Some(buffer) = self.at(buffer) {
            buffer.state.fetch_and(!OWNED, Ordering::Release);
        }
    }

    /// A buffer that was taken.
    pub(crate) fn at(&self, buffer: usize) -> Option<&LaneBuffer> {
        self.0.get(buffer)?.get()
    }

    /// Where the bytes of this range are, if they lie in a buffer.
    pub(crate) fn find(&self, address: u64, len: usize) -> Option<NonNull<u8>> {
        self.made().find_map(|buffer| {
            let at = usize::try_from(address.checked_sub(buffer.address())?).ok()?;
            (at.checked_add(len)? <= DATA_BYTES)
                // SAFETY: the range lies within the buffer.
                .then(|| unsafe { buffer.start.add(at) })
        })
    }

    fn starting_at(&self, address: u64) -> Option<&LaneBuffer> {
        self.made().find(|buffer| buffer.address() == address)
    }

    /// Those that were made, the first ones.
    fn made(&self) -> impl Iterator<Item = &LaneBuffer> {
        self.0.iter().map_while(OnceLock::get)
    }
}

impl ReceivedBuffers for LaneBuffers {
    fn has_buffer_at(&self, address: u64) -> bool {
        self.starting_at(address).is_some()
    }

    fn free(&self, address: u64) {
        if let Some(buffer) = self.starting_at(address) {
            buffer.free();
        }
    }
}

impl LaneBuffer {
    fn new() -> Self {
        let bytes: Box<[u8]> = vec![0; DATA_BYTES].into();
        Self { start: NonNull::from(Box::leak(bytes)).cast(), state: AtomicU32::new(0) }
    }

    pub(crate) fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    /// Whether what lies in it was not freed.
    pub(crate) fn is_in_use(&self) -> bool {
        self.state.load(Ordering::Acquire) & IN_USE != 0
    }

    /// Has a lane fill that many bytes of it, which is in use until it is [freed](Self::free). Says whether it did: not while it
    /// is in use. For the thread that has the lane which has it.
    #[must_use]
    pub(crate) fn fill(&self, len: usize, copy: impl FnOnce(*mut u8)) -> bool {
        if len > DATA_BYTES || self.is_in_use() {
            return false;
        }
        copy(self.start.as_ptr());
        self.state.fetch_or(IN_USE, Ordering::Release);
        true
    }

    /// Takes it back: its receiver has freed it.
    pub(crate) fn free(&self) {
        self.state.fetch_and(!IN_USE, Ordering::Release);
    }
}

impl Drop for LaneBuffer {
    fn drop(&mut self) {
        let bytes = ptr::slice_from_raw_parts_mut(self.start.as_ptr(), DATA_BYTES);
        // SAFETY: `new` has leaked a box of that many bytes, which nothing else has: the device is gone.
        drop(unsafe { Box::from_raw(bytes) });
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::MemfdFlags;

    use super::*;

    #[test]
    fn a_buffer_is_filled_once_it_is_freed() {
        let buffers = LaneBuffers::new();
        let at = buffers.take().unwrap();
        let buffer = buffers.at(at).unwrap();
        // SAFETY: that many bytes can be written there.
        let fill = |byte| buffer.fill(2, |to| unsafe { ptr::write_bytes(to, byte, 2) });
        assert!(fill(7) && !fill(8));
        let address = buffer.address();
        // SAFETY: it was filled.
        assert_eq!(unsafe { *buffers.find(address + 1, 1).unwrap().as_ref() }, 7);
        for (address, len) in [
            (address - 1, 1),
            (address + DATA_BYTES as u64, 1),
            (address, DATA_BYTES + 1),
            (address, usize::MAX),
        ] {
            assert_eq!(buffers.find(address, len), None, "{address:#x} {len}");
        }
        buffers.give_back(at);
        assert_ne!(buffers.take(), Some(at), "its receiver still has it");
        buffers.starting_at(address).unwrap().free();
        assert_eq!(buffers.take(), Some(at));
        assert!(fill(9));
        assert_eq!(std::iter::from_fn(|| buffers.take()).count(), MAX_BUFFERS - 2);
    }

    #[test]
    fn a_segment_is_memory_that_keeps_its_size() {
        let (memory, file) = LaneMemory::create().unwrap();
        let same = LaneMemory::map(&file).unwrap();
        assert!(memory.segment().head().word.warm());
        assert!(same.segment().head().word.post().is_some());
        let shorter = rustix::fs::ftruncate(&file, 4096);
        assert_eq!(shorter, Err(rustix::io::Errno::PERM));
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let other = rustix::fs::memfd_create(c"unsealed", flags).unwrap();
        rustix::fs::ftruncate(&other, SEGMENT_BYTES as u64).unwrap();
        assert!(LaneMemory::map(&other).is_err());
    }
}
