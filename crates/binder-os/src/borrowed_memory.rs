//! What a call may touch of this process's memory.

#![expect(unsafe_code, reason = "a slot of a ring is filled and emptied through pointers")]

use std::cell::Cell;
use std::iter;

use binder_ring::{MemoryWindow, Segment, SlotIndex};
use binder_ring_client::CallMemory;
use binder_uapi::Errno;

/// The memory that the caller of a call lends for as long as that takes.
///
/// Commands hold addresses, which may be wrong. What they point to is copied here if it is among what is lent, and so can be read;
/// all else is left to the driver, which reads and writes this process's memory as a kernel does, and is told of faults.
pub(crate) struct BorrowedMemory<'a> {
    commands: &'a [u8],
    payloads: &'a [&'a [u8]],
    returns: Cell<&'a mut [u8]>,
}

impl<'a> BorrowedMemory<'a> {
    /// Commands, what they may point to, and the room for returns.
    pub(crate) fn new(commands: &'a [u8], payloads: &'a [&'a [u8]], returns: &'a mut [u8]) -> Self {
        Self { commands, payloads, returns: Cell::new(returns) }
    }

    /// The commands between these offsets; none if there are not so many.
    pub(crate) fn commands_between(&self, from: u64, to: u64) -> &[u8] {
        let offsets = usize::try_from(from).ok().zip(usize::try_from(to).ok());
        offsets.and_then(|(from, to)| self.commands.get(from..to)).unwrap_or_default()
    }

    /// The bytes at an address, if they are part of a payload.
    pub(crate) fn payload(&self, address: u64, len: u64) -> Option<&[u8]> {
        if len == 0 {
            return Some(&[]);
        }
        self.payloads.iter().find_map(|payload| part(payload, MemoryWindow { address, len }))
    }

    /// Copies returns to `address`. Says whether they have room there.
    #[must_use]
    pub(crate) fn write_returns(&self, address: u64, bytes: &[u8]) -> bool {
        let room = self.returns.take();
        let place = place(room, address, bytes.len());
        let into = place.and_then(|start| room.get_mut(start..start + bytes.len()));
        let has_room = into.map(|into| into.copy_from_slice(bytes)).is_some();
        self.returns.set(room);
        has_room
    }
}

impl CallMemory for BorrowedMemory<'_> {
    fn copy_in(&self, segment: &Segment, slot: SlotIndex, at: usize, window: MemoryWindow) -> bool {
        let mut parts = iter::once(self.commands).chain(self.payloads.iter().copied());
        let Some(bytes) = parts.find_map(|payload| part(payload, window)) else { return false };
        // SAFETY: that many bytes of a slice can be read, and no slice is made of a segment.
        unsafe { segment.copy_in(slot, at, bytes.as_ptr(), bytes.len()) };
        true
    }

    fn copy_returns(
        &self,
        segment: &Segment,
        slot: SlotIndex,
        address: u64,
        len: usize,
    ) -> Result<(), Errno> {
        let room = self.returns.take();
        let place = place(room, address, len);
        let bytes = place.and_then(|start| room.get_mut(start..start + len));
        if let Some(bytes) = &bytes {
            // SAFETY: that many bytes of an exclusive slice can be written, and no slice is made of a segment.
            unsafe { segment.copy_returns(slot, bytes.as_ptr().cast_mut(), bytes.len()) };
        }
        let copied = bytes.map(drop).ok_or(Errno::EFAULT);
        self.returns.set(room);
        copied
    }
}

/// Returns the bytes of a window, if they are of this slice.
fn part(whole: &[u8], window: MemoryWindow) -> Option<&[u8]> {
    let len = usize::try_from(window.len).ok()?;
    let start = place(whole, window.address, len)?;
    whole.get(start..start + len)
}

/// Returns where in a slice the `len` bytes at `address` start, if they are of it.
fn place(whole: &[u8], address: u64, len: usize) -> Option<usize> {
    let start = address.checked_sub(whole.as_ptr() as u64)?;
    let start = usize::try_from(start).ok()?;
    (start.checked_add(len)? <= whole.len()).then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_lent_is_found() {
        let bytes = [1, 2, 3, 4];
        let start = bytes.as_ptr() as u64;
        let found = |address, len| part(&bytes, MemoryWindow { address, len });
        assert_eq!(found(start + 1, 2), Some(&bytes[1..3]));
        assert_eq!(found(start, 4), Some(&bytes[..]));
        for (address, len) in [(start, 5), (start - 1, 2), (start + 4, 1), (start + 1, u64::MAX)] {
            assert_eq!(found(address, len), None, "{address:#x} {len}");
        }
    }
}
