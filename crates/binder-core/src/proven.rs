//! Memory of a thread that is known to be writable.
//!
//! A return that cannot be written is lost, and those behind it are not: they stay in their queues. So
//! nothing is taken from a queue behind a return that might not be written. A thread reads into the
//! same buffer again and again, and what was written there once is written there again: mostly all
//! returns of a read go in one piece.

use core::ops::Range;

/// The size of a page: rights are granted by pages, which are no smaller anywhere.
const PAGE_BYTES: u64 = 4096;

/// Pages that were written to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ProvenMemory(Range<u64>);

impl ProvenMemory {
    /// How many bytes at `address` can be written, as far as is known.
    pub(crate) fn len_at(&self, address: u64) -> u64 {
        if self.0.contains(&address) { self.0.end - address } else { 0 }
    }

    /// Notes that `len` bytes were written at `address`.
    pub(crate) fn note_written(&mut self, address: u64, len: u64) {
        let end = address.saturating_add(len);
        if self.len_at(address) >= len {
            return;
        }
        let start = address - address % PAGE_BYTES;
        let end = end.checked_next_multiple_of(PAGE_BYTES).unwrap_or(u64::MAX);
        let Self(known) = self;
        if start <= known.end && known.start <= end {
            *known = known.start.min(start)..known.end.max(end);
        } else {
            *known = start..end;
        }
    }

    /// Notes that something could not be written.
    pub(crate) fn forget(&mut self) {
        self.0 = 0..0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_pages_are_proven_and_neighbours_join() {
        let mut memory = ProvenMemory::default();
        assert_eq!(memory.len_at(0), 0);
        memory.note_written(0x1ffc, 4);
        assert_eq!(memory.len_at(0x1000), 0x1000);
        assert_eq!(memory.len_at(0x2000), 0);
        memory.note_written(0x1ffc, 8);
        assert_eq!(memory.len_at(0x1ffc), 0x1004);
        memory.note_written(0x8000, 1);
        assert_eq!((memory.len_at(0x1ffc), memory.len_at(0x8000)), (0, 0x1000));
        memory.forget();
        assert_eq!(memory.len_at(0x8000), 0);
        memory.note_written(u64::MAX - 3, 4);
        assert_eq!(memory.len_at(u64::MAX - 3), 3);
    }
}
