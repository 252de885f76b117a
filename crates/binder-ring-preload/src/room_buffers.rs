//! The buffers in which what comes past the driver lies, in the receive buffer of a device.
//!
//! A lane has one of them. It goes to another lane afterwards, and what was not freed in it stays where it is until it is.

use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use binder_lane::layout::DATA_BYTES;
use binder_ring::layout::SLOTS;
use binder_ring_client::lane::{MAX_SERVED, ReceivedBuffers};
use binder_uapi::LANE_PAGE_BYTES;

use crate::room::Room;

/// The buffers of a device.
pub(crate) struct RoomBuffers {
    /// Where the program reads each of them. They do not change while the buffers do.
    addresses: [AtomicU64; MOST],
    buffers: [RoomBuffer; MOST],
    /// How many of them, from the first, threads that wanted one have looked at.
    used: AtomicUsize,
    /// Whether anything has come by a lane: else no buffer can be freed.
    has_any_in_use: AtomicBool,
}

/// A buffer, which is made when it is first needed. It is of one thread at a time, which takes no other's line of memory.
#[repr(align(64))]
struct RoomBuffer {
    /// Where the library writes.
    start: AtomicPtr<u8>,
    /// Its length in bytes.
    bytes: AtomicU32,
    /// Whether a lane has it.
    is_taken: AtomicBool,
    /// Whether what lies there was not freed.
    is_in_use: AtomicBool,
}

/// A buffer that a lane has.
#[derive(Debug)]
pub(crate) struct TakenBuffer(usize);

/// One for each lane, with some for those that had too short a one before.
const MOST: usize = MAX_SERVED + SLOTS as usize + 17;
/// The pages of a buffer: usually as many as the first, of which a device of the usual size has 63, or as few as will do of the others.
const PAGES: [u32; 3] = [1, 4, MAX_PAGES];
/// Those for the longest calls.
#[expect(clippy::cast_possible_truncation, reason = "a segment has less than 4 GiB")]
const MAX_PAGES: u32 = DATA_BYTES.div_ceil(LANE_PAGE_BYTES as usize) as u32;

impl RoomBuffers {
    pub(crate) const fn new() -> Self {
        Self {
            addresses: [const { AtomicU64::new(0) }; MOST],
            buffers: [const { RoomBuffer::new() }; MOST],
            used: AtomicUsize::new(0),
            has_any_in_use: AtomicBool::new(false),
        }
    }

    /// Takes a buffer with room for that many bytes, or a shorter one if there is none. `make` makes room of at least that
    /// many pages. None if there is nothing.
    pub(crate) fn take(
        &self,
        bytes: u32,
        make: impl Fn(u32) -> Option<Room>,
    ) -> Option<TakenBuffer> {
        let bytes = bytes.min(MAX_PAGES * LANE_PAGE_BYTES);
        let has_room = |pages: &u32| bytes <= pages * LANE_PAGE_BYTES;
        let pages = PAGES.into_iter().find(has_room).unwrap_or(MAX_PAGES);
        self.take_made(bytes)
            .or_else(|| self.make(pages, &make))
            .or_else(|| self.take_made(0))
            .or_else(|| self.make(PAGES[0], &make))
    }

    /// Takes the shortest that has room for that many bytes.
    fn take_made(&self, bytes: u32) -> Option<TakenBuffer> {
        let has_room = |at: &usize| {
            let buffer = &self.buffers[*at];
            buffer.is_made() && buffer.is_free() && buffer.bytes() >= bytes
        };
        let used = 0..self.used.load(Ordering::Relaxed);
        let shortest = used.filter(has_room).min_by_key(|at| self.buffers[*at].bytes())?;
        self.buffers[shortest].take().then_some(TakenBuffer(shortest))
    }

    /// Makes one, and takes it.
    fn make(&self, pages: u32, make: impl Fn(u32) -> Option<Room>) -> Option<TakenBuffer> {
        let is_taken = |buffer: &RoomBuffer| !buffer.is_made() && buffer.take();
        let at = self.buffers.iter().position(is_taken)?;
        self.used.fetch_max(at + 1, Ordering::Relaxed);
        let taken = TakenBuffer(at);
        // Another thread may have made it between two looks.
        if !self.buffers[at].is_made() {
            let Some(room) = make(pages) else {
                self.release(taken);
                return None;
            };
            self.addresses[at].store(room.address, Ordering::Relaxed);
            self.buffers[at].put(&room);
        }
        Some(taken)
    }

    /// Leaves a buffer to other lanes. What is in use of it stays so.
    pub(crate) fn release(&self, buffer: TakenBuffer) {
        self.buffers[buffer.0].is_taken.store(false, Ordering::Release);
    }

    /// Where it is.
    pub(crate) fn address(&self, buffer: &TakenBuffer) -> u64 {
        self.address_at(buffer.0)
    }

    fn address_at(&self, at: usize) -> u64 {
        self.addresses[at].load(Ordering::Relaxed)
    }

    /// How many bytes have room in it.
    pub(crate) fn room(&self, buffer: &TakenBuffer) -> u32 {
        self.buffers[buffer.0].bytes()
    }

    /// Whether what lies there was not freed.
    pub(crate) fn is_in_use(&self, buffer: &TakenBuffer) -> bool {
        self.buffers[buffer.0].is_in_use()
    }

    /// Has that many bytes of it filled; it is in use then. Returns where it is; None if it is too short, or in use.
    pub(crate) fn fill(
        &self,
        buffer: &TakenBuffer,
        len: usize,
        copy: impl FnOnce(*mut u8),
    ) -> Option<u64> {
        let address = self.address(buffer);
        let buffer = &self.buffers[buffer.0];
        let start = NonNull::new(buffer.start.load(Ordering::Relaxed))?;
        if len > buffer.bytes() as usize || buffer.is_in_use() {
            return None;
        }
        copy(start.as_ptr());
        buffer.is_in_use.store(true, Ordering::Release);
        if !self.has_any_in_use() {
            self.has_any_in_use.store(true, Ordering::Relaxed);
        }
        Some(address)
    }

    /// Whether anything has come by a lane.
    pub(crate) fn has_any_in_use(&self) -> bool {
        self.has_any_in_use.load(Ordering::Relaxed)
    }

    /// Ends them all. No lane has one.
    pub(crate) fn end(&self) {
        self.buffers.iter().zip(&self.addresses).for_each(|(buffer, address)| {
            buffer.end(address.swap(0, Ordering::Relaxed));
        });
        self.has_any_in_use.store(false, Ordering::Relaxed);
    }

    /// Forgets those of another process.
    pub(crate) fn forget(&self) {
        self.addresses.iter().for_each(|address| address.store(0, Ordering::Relaxed));
        self.buffers.iter().for_each(RoomBuffer::forget);
        self.has_any_in_use.store(false, Ordering::Relaxed);
    }

    fn at(&self, address: u64) -> Option<&RoomBuffer> {
        // Those that have none have null.
        let is_any = address != 0 && self.has_any_in_use();
        let mut used = 0..self.used.load(Ordering::Relaxed);
        let at = is_any.then(|| used.find(|at| self.address_at(*at) == address))??;
        Some(&self.buffers[at])
    }
}

impl ReceivedBuffers for RoomBuffers {
    fn has_buffer_at(&self, address: u64) -> bool {
        self.at(address).is_some()
    }

    fn free(&self, address: u64) {
        if let Some(buffer) = self.at(address) {
            buffer.is_in_use.store(false, Ordering::Release);
        }
    }
}

impl RoomBuffer {
    const fn new() -> Self {
        Self {
            start: AtomicPtr::new(ptr::null_mut()),
            bytes: AtomicU32::new(0),
            is_taken: AtomicBool::new(false),
            is_in_use: AtomicBool::new(false),
        }
    }

    fn bytes(&self) -> u32 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn is_made(&self) -> bool {
        !self.start.load(Ordering::Acquire).is_null()
    }

    fn is_in_use(&self) -> bool {
        self.is_in_use.load(Ordering::Acquire)
    }

    /// Whether no lane has it, and nothing of it is in use.
    fn is_free(&self) -> bool {
        !self.is_in_use() && !self.is_taken.load(Ordering::Relaxed)
    }

    fn take(&self) -> bool {
        !self.is_taken.swap(true, Ordering::Acquire)
    }

    /// Has it be there.
    fn put(&self, room: &Room) {
        self.bytes.store(room.bytes, Ordering::Relaxed);
        self.start.store(room.start.as_ptr(), Ordering::Release);
    }

    /// Ends it. What lies there stays where the program reads: it may look at that after it has closed the device.
    #[expect(unsafe_code, reason = "it is unmapped")]
    fn end(&self, address: u64) {
        let bytes = self.bytes();
        let start = NonNull::new(self.start.load(Ordering::Relaxed));
        self.forget();
        if let Some(start) = start {
            // SAFETY: no lane has it, and none will.
            unsafe { Room { start, address, bytes }.unmap() };
        }
    }

    fn forget(&self) {
        self.start.store(ptr::null_mut(), Ordering::Relaxed);
        self.bytes.store(0, Ordering::Relaxed);
        self.is_taken.store(false, Ordering::Relaxed);
        self.is_in_use.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::*;

    /// Memory of a receive buffer with that many pages for this, of which none is mapped anywhere.
    struct Aside {
        buffers: RoomBuffers,
        pages: Cell<u32>,
    }

    impl Aside {
        fn new(pages: u32) -> Self {
            Self { buffers: RoomBuffers::new(), pages: Cell::new(pages) }
        }

        fn take(&self, bytes: u32) -> Option<TakenBuffer> {
            self.buffers.take(bytes, |pages| {
                self.pages.set(self.pages.get().checked_sub(pages)?);
                let address = u64::from(1 + self.pages.get()) << 12;
                let start =
                    NonNull::without_provenance(usize::try_from(address).ok()?.try_into().ok()?);
                Some(Room { start, address, bytes: pages * LANE_PAGE_BYTES })
            })
        }

        fn fill_some(&self, buffer: &TakenBuffer, bytes: u32) -> Option<u64> {
            self.buffers.fill(buffer, bytes as usize, |_| {})
        }
    }

    #[test]
    fn a_buffer_has_room_for_what_is_wanted_if_it_can() {
        let aside = Aside::new(1 + 1 + 4 + 18 + 18 + 1);
        let taken = [(0, 1), (4096, 1), (16384, 4), (16385, 18), (u32::MAX, 18), (65536, 1)].map(
            |(bytes, pages)| {
                let buffer = aside.take(bytes).expect("there are pages");
                assert_eq!(aside.buffers.room(&buffer), pages * LANE_PAGE_BYTES);
                buffer
            },
        );
        assert!(aside.take(0).is_none());
        taken.into_iter().for_each(|it| aside.buffers.release(it));
        // They are there for others, the shortest that will do first.
        for (bytes, pages) in [(4097, 4), (4097, 18), (0, 1), (65537, 18), (20000, 1), (0, 1)] {
            let buffer = aside.take(bytes).expect("one is free");
            assert_eq!(aside.buffers.room(&buffer), pages * LANE_PAGE_BYTES, "{bytes}");
        }
        assert!(aside.take(0).is_none());
    }

    #[test]
    fn what_is_lent_stays_until_it_is_freed() {
        let aside = Aside::new(1);
        let buffer = aside.take(1).expect("there are pages");
        let address = aside.buffers.address(&buffer);
        assert!(!aside.buffers.has_buffer_at(address), "nothing has come yet");
        assert_eq!(aside.fill_some(&buffer, LANE_PAGE_BYTES + 1), None, "it is too long");
        assert_eq!(aside.fill_some(&buffer, LANE_PAGE_BYTES), Some(address));
        assert_eq!(aside.fill_some(&buffer, 1), None, "it is in use");
        aside.buffers.release(buffer);
        assert!(aside.take(1).is_none());
        assert!(aside.buffers.has_buffer_at(address) && !aside.buffers.has_buffer_at(0));
        aside.buffers.free(address);
        let buffer = aside.take(1).expect("it is free");
        assert_eq!(aside.fill_some(&buffer, 1), Some(address));
        aside.buffers.forget();
        assert!(!aside.buffers.has_buffer_at(address) && aside.take(1).is_none());
    }
}
