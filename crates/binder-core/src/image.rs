//! A transaction's data and objects while they are in our hands: what the receiver is to see.

use alloc::vec::Vec;

use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::buffer::{BufferHold, Layout};
use crate::descriptors::FileInTransit;
use crate::error::Errno;
use crate::fetch::Part;
use crate::scatter::Pieces;

/// A buffer as it will be stored, but for its security label: data, offsets, scatter-gather pieces.
///
/// Positions in it are relative to the start of the buffer.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) bytes: Vec<u8>,
    /// The first part that could not be fetched.
    pub(crate) fault: Option<Part>,
    /// Where the receiver will find it.
    address: u64,
    data_len: usize,
    pub(crate) pieces: Pieces,
}

/// What the objects of a transaction have brought along so far.
#[derive(Debug, Default)]
pub(crate) struct ObjectResources {
    pub(crate) held: Vec<BufferHold>,
    pub(crate) files: Vec<FileInTransit>,
}

impl Image {
    /// What was fetched for a buffer at the receiver's `address`; if there are objects, with room for
    /// pieces of `pieces_len` bytes.
    pub(crate) fn new(
        layout: &Layout,
        address: u64,
        pieces_len: usize,
        bytes: Vec<u8>,
        fault: Option<Part>,
    ) -> Self {
        let pieces_start = (layout.extra_start - layout.start) as usize;
        let pieces = Pieces::new(pieces_start, pieces_len);
        Self { bytes, fault, address, data_len: layout.data_len as usize, pieces }
    }

    /// The receiver's address of a position.
    pub(crate) fn address_of(&self, at: usize) -> u64 {
        self.address.wrapping_add(at as u64)
    }

    /// Requires that all pieces up to a position were fetched.
    ///
    /// # Errors
    ///
    /// `EINVAL` if one was not, as in the C driver, which copies pieces once all objects are translated.
    pub(crate) fn require_piece(&self, at: usize) -> Result<(), Errno> {
        match self.fault {
            Some(Part::Piece(missing)) if missing <= at => Err(Errno::EINVAL),
            _ => Ok(()),
        }
    }

    pub(crate) fn data_len(&self) -> usize {
        self.data_len
    }

    /// What has been filled: room for pieces that none took is not stored.
    pub(crate) fn filled(&self) -> &[u8] {
        // Without objects there are no more bytes than those of the data.
        &self.bytes[..self.pieces.end().min(self.bytes.len())]
    }

    /// The object at `start` of the data.
    ///
    /// # Errors
    ///
    /// `EINVAL` when it does not lie within the data.
    pub(crate) fn object<T: FromBytes>(&self, start: usize) -> Result<T, Errno> {
        let bytes = self.bytes[..self.data_len].get(start..).ok_or(Errno::EINVAL)?;
        T::read_from_prefix(bytes).map(|(object, _)| object).map_err(|_| Errno::EINVAL)
    }

    /// Puts `value` at `start`, where one of its kind was found, and returns where it ends.
    pub(crate) fn put(
        &mut self,
        start: usize,
        value: &(impl IntoBytes + Immutable + ?Sized),
    ) -> usize {
        let end = start + value.as_bytes().len();
        self.bytes[start..end].copy_from_slice(value.as_bytes());
        end
    }
}
