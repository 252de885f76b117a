//! The receive buffer of a client where others have the same inode open: pages of the client's own, which are written by
//! `/proc/PID/mem`.
//!
//! Such a write takes as long as the client's memory makes it take, for a client may map there what it likes; and a page that
//! the kernel does not have yet it asks this very daemon for. So nobody writes with the lock of a device held: the core's
//! stores mark pages, and the thread that is about to tell the client of what lies there writes them first.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use binder_core::CopyFault;
use binder_os::{FuseDevice, MappedMemory, PinnedMemory, page_bytes};
use fuse_wire::notify;

use crate::mapping::MAX_PAGES;
use crate::page_bits::PageBits;
use crate::wire::send;

const WORDS: usize = MAX_PAGES / 64;
/// The most that is written at once: the daemon's memory for it is soon free again.
const RUN_PAGES: usize = 64;

/// The pages of one open file.
#[derive(Debug)]
pub(crate) struct PrivateMapping {
    node: u64,
    /// What the client is to see.
    memory: Arc<MappedMemory>,
    place: Mutex<PagesPlace>,
    /// Pages with bytes that the client does not have, one bit each.
    marked: [AtomicU64; WORDS],
    /// Held while pages are written, so that others who tell the client of what lies there wait: the pages that the
    /// inode's page cache has, of zeros.
    cached: Mutex<PageBits>,
}

/// Where the client has the pages.
#[derive(Debug, Clone, Default)]
enum PagesPlace {
    #[default]
    Unknown,
    /// In this address space, from this address on.
    At(Arc<(PinnedMemory, u64)>),
    /// It had them, and has unmapped them.
    Gone,
}

impl PrivateMapping {
    pub(crate) fn new(node: u64, memory: Arc<MappedMemory>) -> Self {
        Self {
            node,
            memory,
            place: Mutex::default(),
            marked: [const { AtomicU64::new(0) }; WORDS],
            cached: Mutex::new(PageBits::NONE),
        }
    }

    /// Notes where the client mapped the file, in an address space that was pinned before the search:
    /// should the client execute another program, nothing is ever written into that one.
    pub(crate) fn set_place(&self, memory: PinnedMemory, base: u64) {
        *self.place() = PagesPlace::At(Arc::new((memory, base)));
    }

    /// Notes that the client has the file mapped no more. Nothing is written from then on: there is nobody who could see it.
    pub(crate) fn set_gone(&self) {
        *self.place() = PagesPlace::Gone;
    }

    /// Marks pages that are to be written before the client is told of what lies there.
    ///
    /// # Errors
    ///
    /// `NotFound` if it is not known where the client mapped the file.
    pub(crate) fn mark(&self, offset: usize, len: usize) -> io::Result<()> {
        let pages = offset / page_bytes()..(offset + len).div_ceil(page_bytes());
        match *self.place() {
            PagesPlace::At(_) => self.mark_pages(pages),
            PagesPlace::Unknown => return Err(io::ErrorKind::NotFound.into()),
            PagesPlace::Gone => {}
        }
        Ok(())
    }

    fn mark_pages(&self, pages: Range<usize>) {
        for page in pages {
            self.marked[page / 64].fetch_or(1 << (page % 64), Ordering::AcqRel);
        }
    }

    /// Writes the pages that are marked. However long that takes, it takes it from the caller and from others that do the
    /// same for this client.
    pub(crate) fn write_marked(&self, device: &FuseDevice) -> Result<(), CopyFault> {
        let mut cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(pages) = self.take_run() {
            if let Err(error) = self.write(device, &mut cached, pages.clone()) {
                tracing::debug!(%error, self.node, ?pages, "a receive buffer cannot be accessed");
                self.mark_pages(pages);
                return Err(CopyFault);
            }
        }
        Ok(())
    }

    /// Takes the first pages that are marked, as far as there is no gap between them.
    fn take_run(&self) -> Option<Range<usize>> {
        let take = |page: usize| {
            let bit = 1 << (page % 64);
            self.marked[page / 64].fetch_and(!bit, Ordering::AcqRel) & bit != 0
        };
        let is_some = |word: &AtomicU64| word.load(Ordering::Acquire) != 0;
        let word = self.marked.iter().position(is_some)?;
        // The writer is alone here: what is seen to be marked stays so until it is taken.
        let bits = self.marked[word].load(Ordering::Acquire);
        let first = word * 64 + bits.trailing_zeros() as usize;
        let mut end = first;
        while end < MAX_PAGES && end - first < RUN_PAGES && take(end) {
            end += 1;
        }
        Some(first..end)
    }

    fn write(
        &self,
        device: &FuseDevice,
        cached: &mut PageBits,
        pages: Range<usize>,
    ) -> io::Result<()> {
        // Pages are marked where there is a place only.
        let PagesPlace::At(place) = self.place().clone() else { return Ok(()) };
        let (memory, base) = &*place;
        // The client gets copies of pages of zeros. The kernel would ask us for those it does not have.
        let page_bytes = page_bytes();
        let mut bytes = vec![0; pages.len() * page_bytes];
        for page in pages.clone() {
            if !cached.has(page) {
                let offset = (page * page_bytes) as u64;
                send(device, &notify::store(self.node, offset, &bytes[..page_bytes]));
                cached.insert(page);
            }
        }
        let offset = pages.start * page_bytes;
        self.memory.read(offset, &mut bytes).map_err(io::Error::other)?;
        memory.write(base.saturating_add(offset as u64), &bytes).map_err(io::Error::other)
    }

    fn place(&self) -> MutexGuard<'_, PagesPlace> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::BUFFER_BYTES;

    fn mapping() -> PrivateMapping {
        PrivateMapping::new(7, Arc::new(MappedMemory::private(BUFFER_BYTES).unwrap()))
    }

    fn runs(mapping: &PrivateMapping) -> Vec<Range<usize>> {
        std::iter::from_fn(|| mapping.take_run()).collect()
    }

    #[test]
    fn pages_are_taken_once_in_runs_without_gaps() {
        let mapping = mapping();
        mapping.mark_pages(3..5);
        mapping.mark_pages(4..6);
        // Across the bits of a word, and up to the end.
        mapping.mark_pages(62..66);
        mapping.mark_pages(MAX_PAGES - 1..MAX_PAGES);
        assert_eq!(runs(&mapping), [3..6, 62..66, MAX_PAGES - 1..MAX_PAGES]);
        assert!(runs(&mapping).is_empty());
    }

    #[test]
    fn long_runs_are_taken_in_pieces() {
        let mapping = mapping();
        mapping.mark_pages(0..2 * RUN_PAGES + 1);
        let last = 2 * RUN_PAGES;
        assert_eq!(runs(&mapping), [0..RUN_PAGES, RUN_PAGES..last, last..last + 1]);
    }

    #[test]
    fn where_nothing_is_known_to_be_mapped_nothing_is_marked() {
        let mapping = mapping();
        assert_eq!(mapping.mark(0, 1).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(runs(&mapping).is_empty());
    }

    #[test]
    fn for_a_client_that_has_unmapped_its_pages_none_is_marked() {
        let mapping = mapping();
        mapping.set_gone();
        mapping.mark(0, 1).unwrap();
        assert!(runs(&mapping).is_empty());
    }
}
