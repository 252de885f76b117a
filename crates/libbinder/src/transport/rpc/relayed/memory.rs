//! Sealed memory, and copies of it.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{
    MemfdFlags, SealFlags, SeekFrom, fcntl_add_seals, fcntl_get_seals, memfd_create, seek,
};
use rustix::io::{pread, retry_on_intr};

use super::COPIED_BYTES_MAX;
use crate::StatusCode;
use crate::binder_impl::BorrowedParcel;

/// What must be sealed for a copy to be as good.
const SEALED: SealFlags = SealFlags::WRITE.union(SealFlags::SHRINK).union(SealFlags::GROW);
/// How much one call asks for.
const PIECE_BYTES: usize = 256 << 10;

/// A memory file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SealedMemory {
    pub(super) bytes: usize,
    seals: SealFlags,
    /// Where the reader goes on.
    position: u64,
}

impl SealedMemory {
    pub(super) fn of(file: BorrowedFd<'_>, bytes: i64) -> Result<Self, &'static str> {
        let seals = fcntl_get_seals(file).map_err(|_| "it is a file of this machine's")?;
        if !seals.contains(SEALED) {
            return Err(
                "it is memory that may change: seal it against writes, shrinking and growing",
            );
        }
        let bytes = usize::try_from(bytes).ok().filter(|bytes| *bytes <= COPIED_BYTES_MAX);
        let bytes = bytes.ok_or("it is memory, but too much")?;
        let position = seek(file, SeekFrom::Current(0)).map_err(|_| "it has no position")?;
        Ok(Self { bytes, seals, position })
    }

    pub(super) fn write(self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode> {
        parcel.write(&i64::try_from(self.bytes).map_err(|_| StatusCode::BAD_VALUE)?)?;
        parcel.write(&self.seals.bits().cast_signed())?;
        parcel.write(&self.position.cast_signed())
    }

    pub(super) fn read(parcel: &BorrowedParcel<'_>) -> Result<Self, StatusCode> {
        let (bytes, seals, position) =
            (parcel.read::<i64>()?, parcel.read::<i32>()?, parcel.read()?);
        let known = SEALED | SealFlags::SEAL;
        Ok(Self {
            bytes: usize::try_from(bytes).map_err(|_| StatusCode::BAD_VALUE)?,
            seals: SealFlags::from_bits_retain(seals.cast_unsigned()) & known | SEALED,
            position: i64::cast_unsigned(position),
        })
    }

    /// A piece of it, for the other side.
    pub(super) fn piece(
        self,
        file: BorrowedFd<'_>,
        offset: i64,
        bytes: i32,
    ) -> Result<Vec<u8>, StatusCode> {
        let (offset, bytes) = (u64::try_from(offset), usize::try_from(bytes));
        let (Ok(offset), Ok(bytes)) = (offset, bytes) else { return Err(StatusCode::BAD_VALUE) };
        let mut piece = vec![0; bytes.min(PIECE_BYTES)];
        let read = retry_on_intr(|| pread(file, &mut piece[..], offset));
        piece.truncate(read.map_err(|_| StatusCode::FAILED_TRANSACTION)?);
        Ok(piece)
    }

    /// Makes a file of the pieces that `next` gives of an offset, sealed as the other one is.
    pub(super) fn copy(
        self,
        mut next: impl FnMut(usize, usize) -> Result<Vec<u8>, StatusCode>,
    ) -> Result<OwnedFd, StatusCode> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let copy = memfd_create("binder-relayed", flags).map_err(|_| StatusCode::NO_MEMORY)?;
        let mut copy = File::from(copy);
        let mut done = 0;
        while done < self.bytes {
            let wanted = PIECE_BYTES.min(self.bytes - done);
            let piece = next(done, wanted)?;
            // A side that holds all of it has no reason to send crumbs.
            if piece.len() != wanted {
                return Err(StatusCode::BAD_VALUE);
            }
            copy.write_all(&piece).map_err(|_| StatusCode::NO_MEMORY)?;
            done += piece.len();
        }
        let sealed = fcntl_add_seals(&copy, self.seals);
        sealed.map_err(|_| StatusCode::NO_MEMORY)?;
        seek(&copy, SeekFrom::Start(self.position)).map_err(|_| StatusCode::BAD_VALUE)?;
        Ok(copy.into())
    }
}
