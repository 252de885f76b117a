//! Room in the receive buffer of a device for what comes past the driver.
//!
//! A program may take what it receives for part of what it has mapped. So the driver sets pages of the buffer aside, and the library maps
//! memory of its own in their place: the program reads it there, as it reads all else, and the library writes it elsewhere.

#![expect(unsafe_code, reason = "memory is mapped in the place of other memory")]

use core::ptr::{self, NonNull};

use binder_uapi::LANE_PAGE_BYTES;
use rustix::fd::BorrowedFd;
use rustix::mm::{Advice, MapFlags, MprotectFlags, MremapFlags, ProtFlags};

use crate::program_mapping::ProgramMapping;

/// Pages of a device's buffer that the driver has set aside, with memory of the library's in their place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Where the library writes.
    pub(crate) start: NonNull<u8>,
    /// Where the program reads.
    pub(crate) address: u64,
    /// Its length in bytes.
    pub(crate) bytes: u32,
}

impl Room {
    /// Maps memory in the place of that many pages. None if the device is not mapped there.
    pub(crate) fn map(device: BorrowedFd<'_>, address: u64, pages: u32) -> Option<Self> {
        let bytes = pages.checked_mul(LANE_PAGE_BYTES)?;
        let len = bytes as usize;
        if !is_mapped(device, address, bytes) {
            return None;
        }
        let place = ptr::with_exposed_provenance_mut(usize::try_from(address).ok()?);
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a null hint lets the kernel choose a free range.
        let start =
            unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), len, access, MapFlags::SHARED) };
        let start = start.ok()?;
        let flags = MremapFlags::MAYMOVE;
        // SAFETY: of shared memory, nothing of which is moved, the same pages are mapped a second time. What was there is the
        // device's, as was seen, and the driver, which uses it no more, has given it to us.
        let mapped = unsafe { rustix::mm::mremap_fixed(start, 0, len, flags, place) };
        let is_ready = mapped.is_ok_and(|mapped| {
            // SAFETY: the range was mapped above. The program may read there, and no more, as in all of the buffer.
            let protected = unsafe { rustix::mm::mprotect(mapped, len, MprotectFlags::READ) };
            // As of a device's own mapping, a child has none of either.
            let advised = [start, mapped].map(|range| {
                // SAFETY: the ranges are the two mappings. The advice concerns children alone.
                unsafe { rustix::mm::madvise(range, len, Advice::LinuxDontFork) }
            });
            protected.is_ok() && advised.iter().all(Result::is_ok)
        });
        let room = Self { start: NonNull::new(start.cast())?, address, bytes };
        if is_ready {
            return Some(room);
        }
        // SAFETY: nothing else knows where the library writes.
        unsafe { room.unmap() };
        None
    }

    /// Gives the library's end up. What lies there stays where the program reads, as long as it has that mapped.
    ///
    /// # Safety
    ///
    /// Nothing is written there any more.
    pub(crate) unsafe fn unmap(self) {
        // SAFETY: `map` has mapped as much there; the other is the caller's promise.
        let unmapped =
            unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.bytes as usize) };
        debug_assert_eq!(unmapped, Ok(()), "a whole mapping can always be unmapped");
    }
}

/// Whether a device is mapped at an address, with that many bytes. The driver may have heard of that long ago.
fn is_mapped(device: BorrowedFd<'_>, address: u64, bytes: u32) -> bool {
    let Some(found) = ProgramMapping::at(address) else { return false };
    let Ok(file) = rustix::fs::fstat(device) else { return false };
    let is_device = found.inode == file.st_ino
        && found.device == [rustix::fs::major(file.st_dev), rustix::fs::minor(file.st_dev)];
    is_device && address.saturating_add(bytes.into()) <= found.end
}

#[cfg(test)]
mod tests {
    use rustix::fd::AsFd;
    use rustix::fs::MemfdFlags;

    use super::*;

    #[test]
    fn what_is_written_is_read_where_a_file_was_mapped() {
        let file = rustix::fs::memfd_create(c"device", MemfdFlags::CLOEXEC).unwrap();
        let other = rustix::fs::memfd_create(c"other", MemfdFlags::CLOEXEC).unwrap();
        const PAGES: u32 = 4;
        const ROOM_BYTES: usize = (PAGES * LANE_PAGE_BYTES) as usize;
        let bytes = 3 * ROOM_BYTES;
        rustix::fs::ftruncate(&file, bytes as u64).unwrap();
        // SAFETY: a null hint lets the kernel choose a free range.
        let mapped = unsafe {
            rustix::mm::mmap(ptr::null_mut(), bytes, ProtFlags::READ, MapFlags::PRIVATE, &file, 0)
        };
        let mapped = mapped.unwrap();
        let base = mapped.expose_provenance() as u64;
        let room_bytes = ROOM_BYTES as u64;
        assert!(is_mapped(file.as_fd(), base, 3 * PAGES * LANE_PAGE_BYTES));
        assert!(Room::map(other.as_fd(), base, PAGES).is_none(), "it is another file's");
        assert!(
            Room::map(file.as_fd(), base + 2 * room_bytes, PAGES + 1).is_none(),
            "it is too long"
        );
        let room = Room::map(file.as_fd(), base + room_bytes, PAGES).unwrap();
        // SAFETY: as much is mapped there to be written, and nothing else is.
        unsafe { ptr::write_bytes(room.start.as_ptr(), 7, ROOM_BYTES) };
        let read = |at: usize| {
            // SAFETY: the place lies in the mapping, which can be read.
            unsafe { ptr::read_volatile(mapped.cast::<u8>().wrapping_add(at)) }
        };
        assert_eq!([ROOM_BYTES - 1, ROOM_BYTES, 2 * ROOM_BYTES - 1].map(read), [0, 7, 7]);
        assert_eq!(read(2 * ROOM_BYTES), 0);
        // SAFETY: nothing is written there any more.
        unsafe { room.unmap() };
        assert_eq!(read(ROOM_BYTES), 7, "it stays for the program");
        assert!(
            Room::map(file.as_fd(), base + room_bytes, PAGES).is_none(),
            "it is a room already"
        );
        // SAFETY: no reference into it is left.
        unsafe { rustix::mm::munmap(mapped, bytes) }.unwrap();
    }
}
