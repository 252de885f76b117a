//! The entries of a directory, one after the other in a buffer.

use zerocopy::{Immutable, IntoBytes};

use crate::abi;
use crate::stat::Entry;

/// Records start at multiples of this many bytes.
const ALIGNMENT: usize = 8;

/// Where the kind of file lies in a mode.
const KIND_SHIFT: u32 = 12;
const KIND_MASK: u32 = 0o17;

/// The next entry does not fit; the kernel will ask for it by its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the entry does not fit into the reply")]
pub struct NoRoom;

/// Entries for READDIR or READDIRPLUS, not both, in a buffer of the size asked for.
#[derive(Debug)]
pub struct DirentBuffer<'b> {
    buffer: &'b mut [u8],
    len: usize,
}

impl<'b> DirentBuffer<'b> {
    /// Fills `buffer`, which is as long as the request's `size` at most.
    #[must_use]
    pub const fn new(buffer: &'b mut [u8]) -> Self {
        Self { buffer, len: 0 }
    }

    /// Appends an entry for READDIR.
    ///
    /// `next_offset` is where reading goes on after it, not 0; of `mode` the kind of file counts.
    ///
    /// # Errors
    ///
    /// [`NoRoom`], having written nothing.
    pub fn push(
        &mut self,
        ino: u64,
        next_offset: u64,
        mode: u32,
        name: &[u8],
    ) -> Result<(), NoRoom> {
        self.append(&dirent(ino, next_offset, mode, name)?, name)
    }

    /// Appends an entry for READDIRPLUS, which counts as a lookup unless its node is 0.
    ///
    /// # Errors
    ///
    /// [`NoRoom`], having written nothing.
    pub fn push_plus(
        &mut self,
        entry: &Entry,
        next_offset: u64,
        name: &[u8],
    ) -> Result<(), NoRoom> {
        let dirent = dirent(entry.attr.ino, next_offset, entry.attr.mode, name)?;
        self.append(&DirentPlus { entry: entry.into(), dirent }, name)
    }

    /// The entries, for [`reply::data`](crate::reply::data).
    #[must_use]
    pub fn into_bytes(self) -> &'b [u8] {
        &self.buffer[..self.len]
    }

    fn append<T>(&mut self, record: &T, name: &[u8]) -> Result<(), NoRoom>
    where
        T: IntoBytes + Immutable,
    {
        let record = record.as_bytes();
        let padded = (record.len() + name.len()).next_multiple_of(ALIGNMENT);
        let room = self.buffer[self.len..].get_mut(..padded).ok_or(NoRoom)?;
        let (head, rest) = room.split_at_mut(record.len());
        let (tail, padding) = rest.split_at_mut(name.len());
        head.copy_from_slice(record);
        tail.copy_from_slice(name);
        padding.fill(0);
        self.len += padded;
        Ok(())
    }
}

/// An entry with what a lookup of it would answer.
#[derive(IntoBytes, Immutable)]
#[repr(C)]
struct DirentPlus {
    entry: abi::EntryOut,
    dirent: abi::Dirent,
}

fn dirent(ino: u64, off: u64, mode: u32, name: &[u8]) -> Result<abi::Dirent, NoRoom> {
    let namelen = u32::try_from(name.len()).map_err(|_| NoRoom)?;
    Ok(abi::Dirent { ino, off, namelen, r#type: mode >> KIND_SHIFT & KIND_MASK })
}
