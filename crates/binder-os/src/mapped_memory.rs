//! The receive buffer of one binder process, as the driver sees it.

#![expect(unsafe_code, reason = "memory that others may change is copied through raw pointers")]

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags};

/// The receive buffer of one binder process.
///
/// A *shared* mapping is a sealed memfd whose pages the client maps too, so data stored here
/// appears there; a *private* one is the driver's own copy of pages that it pushes into the page
/// cache. Either way bytes are copied in and out and never lent as a slice: the kernel, and the
/// client, may change them at any moment.
#[derive(Debug)]
pub struct MappedMemory {
    start: NonNull<u8>,
    len_bytes: usize,
    is_shared: bool,
    file: Option<OwnedFd>,
    /// Held while a thread of ours touches the bytes, so that two of them never race.
    access: Mutex<()>,
}

/// A range that does not lie within the mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{len_bytes} bytes at offset {offset} exceed a mapping of {mapping_bytes} bytes")]
pub struct OutOfBounds {
    /// Where the range starts.
    pub offset: usize,
    /// How long it is.
    pub len_bytes: usize,
    /// How long the mapping is.
    pub mapping_bytes: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread: `start` stays mapped until `drop`,
// whichever thread that runs on.
unsafe impl Send for MappedMemory {}

// SAFETY: every access of ours to the bytes goes through `with_range`, which holds `access`; `range` is
// for the kernel, as which others may write at any moment anyway. The other fields do not change.
unsafe impl Sync for MappedMemory {}

impl MappedMemory {
    /// Creates a mapping backed by a memfd, zeroed, which can neither shrink nor grow.
    ///
    /// Sealing matters to the driver itself: were the file cut short, its next store would be a
    /// SIGBUS.
    ///
    /// # Errors
    ///
    /// As memfd_create(2) and mmap(2); `InvalidInput` for a length of 0.
    pub fn shared(len_bytes: usize) -> io::Result<Self> {
        let file = new_memfd()?;
        rustix::fs::ftruncate(&file, len_bytes as u64)?;
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        // SAFETY: a null hint lets the kernel choose a free range, so no existing mapping changes.
        let start = unsafe {
            rustix::mm::mmap(ptr::null_mut(), len_bytes, READ_WRITE, MapFlags::SHARED, &file, 0)
        }?;
        Ok(Self::new(start.cast(), len_bytes, Some(file)))
    }

    /// Creates an anonymous mapping of this process alone, zeroed, which costs only touched pages.
    ///
    /// # Errors
    ///
    /// As mmap(2); `InvalidInput` for a length of 0.
    pub fn private(len_bytes: usize) -> io::Result<Self> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a null hint lets the kernel choose a free range, so no existing mapping changes.
        let start =
            unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), len_bytes, READ_WRITE, flags) }?;
        Ok(Self::new(start.cast(), len_bytes, None))
    }

    fn new(start: *mut u8, len_bytes: usize, file: Option<OwnedFd>) -> Self {
        let start = NonNull::new(start).expect("mmap without MAP_FIXED never returns address 0");
        Self { start, len_bytes, is_shared: file.is_some(), file, access: Mutex::new(()) }
    }

    /// Returns the length in bytes.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a mapping of no bytes cannot be made")]
    pub fn len(&self) -> usize {
        self.len_bytes
    }

    /// Returns the memfd of a shared mapping, unless it was [closed](Self::close_file).
    #[must_use]
    pub fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        self.file.as_ref().map(AsFd::as_fd)
    }

    /// Closes the memfd of a shared mapping, whose pages others may have by it.
    pub fn close_file(&mut self) {
        self.file = None;
    }

    /// Copies `bytes` to `offset`.
    ///
    /// # Errors
    ///
    /// [`OutOfBounds`], having written nothing.
    pub fn write(&self, offset: usize, bytes: &[u8]) -> Result<(), OutOfBounds> {
        self.with_range(offset, bytes.len(), |start| {
            // SAFETY: `start` is valid for `bytes.len()` bytes, `with_range` keeps our threads
            // out, and `bytes` is a slice elsewhere: no `&[u8]` to the mapping ever exists.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len()) }
        })
    }

    /// Copies from `offset` into `into`.
    ///
    /// # Errors
    ///
    /// [`OutOfBounds`], having read nothing.
    pub fn read(&self, offset: usize, into: &mut [u8]) -> Result<(), OutOfBounds> {
        self.with_range(offset, into.len(), |start| {
            // SAFETY: `start` is valid for `into.len()` bytes, `with_range` keeps our threads
            // out, and `into` is a slice elsewhere: no `&mut [u8]` to the mapping ever exists.
            unsafe { ptr::copy_nonoverlapping(start, into.as_mut_ptr(), into.len()) }
        })
    }

    /// Overwrites `len_bytes` at `offset` with zeros.
    ///
    /// # Errors
    ///
    /// [`OutOfBounds`], having written nothing.
    pub fn clear(&self, offset: usize, len_bytes: usize) -> Result<(), OutOfBounds> {
        self.with_range(offset, len_bytes, |start| {
            // SAFETY: `start` is valid for `len_bytes` and `with_range` keeps our threads out.
            unsafe { ptr::write_bytes(start, 0, len_bytes) }
        })
    }

    /// Gives the whole pages inside the range back to the system; they read as zeros afterwards.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for a range outside the mapping, else as madvise(2).
    pub fn release_pages(&self, offset: usize, len_bytes: usize) -> io::Result<()> {
        let outside = |error: OutOfBounds| io::Error::new(io::ErrorKind::InvalidInput, error);
        let page_bytes = page_bytes();
        // A range within bounds ends below usize::MAX, and so do its roundings.
        self.with_range(offset, len_bytes, |_| ()).map_err(outside)?;
        let first = offset.next_multiple_of(page_bytes);
        let end = (offset + len_bytes) / page_bytes * page_bytes;
        if first >= end {
            return Ok(());
        }
        // Those of a file must go from the file.
        let advice = if self.is_shared { Advice::LinuxRemove } else { Advice::LinuxDontNeed };
        self.with_range(first, end - first, |start| {
            // SAFETY: `start` begins whole pages of our own mapping, as long as asked; dropping them
            // changes their bytes, which no code borrows.
            unsafe { rustix::mm::madvise(start.cast(), end - first, advice) }
        })
        .map_err(outside)??;
        Ok(())
    }

    /// Offers pages of a private mapping to the system, which takes them when it is short of memory;
    /// the pages taken read as zeros, until it is written to again.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for a range outside the mapping, else as madvise(2).
    pub fn offer_pages(&self, offset: usize, len_bytes: usize) -> io::Result<()> {
        let outside = |error: OutOfBounds| io::Error::new(io::ErrorKind::InvalidInput, error);
        self.with_range(offset, len_bytes, |start| {
            // SAFETY: `start` is valid for `len_bytes` of our own mapping; the bytes may become zeros
            // at any moment, and no code borrows them.
            unsafe { rustix::mm::madvise(start.cast(), len_bytes, Advice::LinuxFree) }
        })
        .map_err(outside)??;
        Ok(())
    }

    /// Runs `act` with the address of a range within bounds, alone among our threads.
    ///
    /// `act` may access exactly `len_bytes` bytes through the pointer, and only until it returns.
    pub(crate) fn with_range<T>(
        &self,
        offset: usize,
        len_bytes: usize,
        act: impl FnOnce(*mut u8) -> T,
    ) -> Result<T, OutOfBounds> {
        let start = self.range(offset, len_bytes)?;
        let _alone = self.access.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(act(start))
    }

    /// The address of a range within bounds, for the kernel to access: it is no thread of ours. It is
    /// mapped as long as the mapping lives.
    pub(crate) fn range(&self, offset: usize, len_bytes: usize) -> Result<*mut u8, OutOfBounds> {
        let fits = offset.checked_add(len_bytes).is_some_and(|end| end <= self.len_bytes);
        if !fits {
            return Err(OutOfBounds { offset, len_bytes, mapping_bytes: self.len_bytes });
        }
        Ok(self.start.as_ptr().wrapping_add(offset))
    }
}

impl Drop for MappedMemory {
    fn drop(&mut self) {
        // SAFETY: `start` and `len_bytes` are those of the mmap that made this value, and no
        // pointer from `with_range` outlives its call.
        let unmapped = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.len_bytes) };
        debug_assert_eq!(unmapped, Ok(()), "a whole mapping can always be unmapped");
    }
}

const READ_WRITE: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);

/// The size of the pages by which the kernel maps and caches files, in bytes: 4096, or a larger power of two.
pub fn page_bytes() -> usize {
    rustix::param::page_size()
}

/// Creates a memfd that cannot be executed, where the kernel knows such (since 6.3).
fn new_memfd() -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = match rustix::fs::memfd_create(c"binder", flags | MemfdFlags::NOEXEC_SEAL) {
        Err(Errno::INVAL) => rustix::fs::memfd_create(c"binder", flags),
        result => result,
    };
    Ok(file?)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    use super::*;

    fn both_kinds() -> [MappedMemory; 2] {
        [MappedMemory::shared(1 << 20).unwrap(), MappedMemory::private(1 << 20).unwrap()]
    }

    fn read(mapping: &MappedMemory, offset: usize, len_bytes: usize) -> Vec<u8> {
        let mut bytes = vec![0xee; len_bytes];
        mapping.read(offset, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_is_written_is_read_back() {
        for mapping in both_kinds() {
            assert_eq!(mapping.len(), 1 << 20);
            mapping.write(4090, b"across a page").unwrap();
            assert_eq!(read(&mapping, 4090, 13), b"across a page");
            mapping.clear(4096, 4).unwrap();
            assert_eq!(read(&mapping, 4090, 13), b"across\0\0\0\0age");
        }
    }

    #[test]
    fn the_memfd_holds_the_same_bytes() {
        let mapping = MappedMemory::shared(8192).unwrap();
        let file = File::from(mapping.as_fd().unwrap().try_clone_to_owned().unwrap());
        mapping.write(5000, b"seen").unwrap();
        let mut seen = [0; 4];
        file.read_exact_at(&mut seen, 5000).unwrap();
        assert_eq!(&seen, b"seen");
        file.write_all_at(b"back", 5000).unwrap();
        assert_eq!(read(&mapping, 5000, 4), b"back");
        assert!(MappedMemory::private(8192).unwrap().as_fd().is_none());
    }

    #[test]
    fn a_shared_mapping_keeps_its_size() {
        let mapping = MappedMemory::shared(8192).unwrap();
        let file = File::from(mapping.as_fd().unwrap().try_clone_to_owned().unwrap());
        assert!(file.set_len(0).is_err());
        assert!(file.set_len(16384).is_err());
    }

    #[test]
    fn ranges_outside_are_refused() {
        for mapping in both_kinds() {
            let end = mapping.len();
            for (offset, len_bytes) in [(end, 1), (end - 1, 2), (usize::MAX, 1), (1, usize::MAX)] {
                let refused = Err(OutOfBounds { offset, len_bytes, mapping_bytes: end });
                assert_eq!(mapping.clear(offset, len_bytes), refused);
                assert!(mapping.release_pages(offset, len_bytes).is_err());
            }
            assert!(mapping.write(end - 1, b"ab").is_err());
            assert!(mapping.read(end - 1, &mut [0; 2]).is_err());
            assert_eq!(mapping.write(end, b""), Ok(()));
        }
        assert!(MappedMemory::shared(0).is_err());
        assert!(MappedMemory::private(0).is_err());
    }

    #[test]
    fn pages_go_back_also_when_the_memfd_is_closed() {
        let len_bytes = 2 * page_bytes();
        let mut mapping = MappedMemory::shared(len_bytes).unwrap();
        let file = File::from(mapping.as_fd().unwrap().try_clone_to_owned().unwrap());
        mapping.close_file();
        assert!(mapping.as_fd().is_none());
        mapping.write(0, &vec![7; len_bytes]).unwrap();
        mapping.release_pages(0, len_bytes).unwrap();
        let mut seen = vec![1; len_bytes];
        file.read_exact_at(&mut seen, 0).unwrap();
        assert_eq!(seen, vec![0; len_bytes]);
        assert_eq!(rustix::fs::fstat(&file).unwrap().st_blocks, 0);
    }

    #[test]
    fn released_pages_read_as_zeros_and_their_neighbours_stay() {
        let page = page_bytes();
        for mapping in both_kinds() {
            mapping.write(0, &vec![7; 4 * page]).unwrap();
            mapping.release_pages(100, 3 * page).unwrap();
            assert_eq!(read(&mapping, 0, page), vec![7; page]);
            assert_eq!(read(&mapping, page, 2 * page), vec![0; 2 * page]);
            assert_eq!(read(&mapping, 3 * page, page), vec![7; page]);
            mapping.release_pages(10, 20).unwrap();
            assert_eq!(read(&mapping, 0, 30), [7; 30]);
        }
    }
}
