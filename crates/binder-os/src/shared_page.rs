//! Memory that a process shares with the children it forks.

#![expect(unsafe_code, reason = "memory that others may change is copied through raw pointers")]

use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU32;

use rustix::mm::{MapFlags, ProtFlags};

use crate::OutOfBounds;

/// A word to wait on with futex(2), and room for bytes beside it.
///
/// A child sees the same memory at the same address. The word says whose turn the bytes are: they
/// are copied in and out and never lent as a slice, for the other process may not keep to it. The
/// value stays on the thread that made it, so within one process the copies never race.
#[derive(Debug)]
pub struct SharedPage {
    start: NonNull<u8>,
    room_bytes: usize,
}

/// The word has a cache line to itself.
const WORD_BYTES: usize = 64;

impl SharedPage {
    /// Maps a word of 0 and `room_bytes` zeros.
    ///
    /// # Errors
    ///
    /// As mmap(2); `InvalidInput` for more room than there are addresses.
    pub fn new(room_bytes: usize) -> io::Result<Self> {
        let len_bytes = WORD_BYTES.checked_add(room_bytes).ok_or(io::ErrorKind::InvalidInput)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a null hint lets the kernel choose a free range, so no existing mapping changes.
        let start = unsafe {
            rustix::mm::mmap_anonymous(ptr::null_mut(), len_bytes, protection, MapFlags::SHARED)
        }?;
        let start = NonNull::new(start.cast()).expect("mmap without MAP_FIXED never returns 0");
        Ok(Self { start, room_bytes })
    }

    /// Returns the word.
    #[must_use]
    pub fn word(&self) -> &AtomicU32 {
        // SAFETY: the mapping begins with `WORD_BYTES` bytes of their own, aligned to a page, which
        // stay mapped as long as `self` is borrowed; any bits are an `AtomicU32`, and every access
        // to them, in whichever process, goes through one.
        unsafe { self.start.cast().as_ref() }
    }

    /// Copies `bytes` to the start of the room.
    ///
    /// # Errors
    ///
    /// [`OutOfBounds`], having written nothing.
    pub fn write(&self, bytes: &[u8]) -> Result<(), OutOfBounds> {
        let room = self.room(bytes.len())?;
        // SAFETY: `room` is valid for `bytes.len()` bytes, of which no reference exists; `bytes` is
        // a slice, so it lies elsewhere.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), room, bytes.len()) };
        Ok(())
    }

    /// Fills `into` from the start of the room.
    ///
    /// # Errors
    ///
    /// [`OutOfBounds`], having read nothing.
    pub fn read(&self, into: &mut [u8]) -> Result<(), OutOfBounds> {
        let room = self.room(into.len())?;
        // SAFETY: `room` is valid for `into.len()` bytes, of which no reference exists; `into` is
        // a slice, so it lies elsewhere.
        unsafe { ptr::copy_nonoverlapping(room, into.as_mut_ptr(), into.len()) };
        Ok(())
    }

    /// Returns the address of the room if `len_bytes` fit.
    fn room(&self, len_bytes: usize) -> Result<*mut u8, OutOfBounds> {
        if len_bytes > self.room_bytes {
            return Err(OutOfBounds { offset: 0, len_bytes, mapping_bytes: self.room_bytes });
        }
        Ok(self.start.as_ptr().wrapping_add(WORD_BYTES))
    }
}

impl Drop for SharedPage {
    fn drop(&mut self) {
        let len_bytes = WORD_BYTES + self.room_bytes;
        // SAFETY: start and length are those of the mmap that made this value; the word is borrowed
        // from `self`, and no pointer to the room outlives its call.
        let unmapped = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), len_bytes) };
        debug_assert_eq!(unmapped, Ok(()), "a whole mapping can always be unmapped");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn the_word_and_the_room_lie_apart() {
        let page = SharedPage::new(5000).unwrap();
        page.write(&[0xff; 5000]).unwrap();
        assert_eq!(page.word().load(Ordering::Relaxed), 0);
        page.word().store(u32::MAX, Ordering::Relaxed);
        page.write(b"other").unwrap();
        let mut seen = [0; 6];
        page.read(&mut seen).unwrap();
        assert_eq!(&seen, b"other\xff");
    }

    #[test]
    fn more_than_the_room_is_refused() {
        let page = SharedPage::new(8).unwrap();
        let refused = Err(OutOfBounds { offset: 0, len_bytes: 9, mapping_bytes: 8 });
        assert_eq!(page.write(&[0; 9]), refused);
        assert_eq!(page.read(&mut [0; 9]), refused);
        assert!(SharedPage::new(usize::MAX).is_err());
    }
}
