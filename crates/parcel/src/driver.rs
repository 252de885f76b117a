//! Objects in parcels for the driver: `flat_binder_object`, as `binder.h` has it.
//!
//! The driver finds them by a list of offsets that travels beside the bytes, and rewrites them on
//! their way: the sender's own objects become the receiver's handles, and back.

use crate::{ParcelError, Reader, Writer};

/// The bytes of a flat object.
pub const OBJECT_BYTES: usize = 24;

/// An object of the sender's own.
pub const TYPE_BINDER: u32 = kind(b"sb*");
/// A handle of the sender's.
pub const TYPE_HANDLE: u32 = kind(b"sh*");
/// A file descriptor.
pub const TYPE_FD: u32 = kind(b"fd*");

/// The object takes file descriptors; set on all that this library sends.
pub const FLAG_ACCEPTS_FDS: u32 = 0x100;
/// Callers of the object are to show their security context.
pub const FLAG_TXN_SECURITY_CTX: u32 = 0x1000;
/// The scheduling that Android's library asks for in every object: `SCHED_NORMAL`, nice 19.
pub const FLAG_LOWEST_PRIORITY: u32 = 0x13;

const fn kind(letters: &[u8; 3]) -> u32 {
    u32::from_be_bytes([letters[0], letters[1], letters[2], 0x85])
}

/// An object as it stands in a parcel for the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlatObject {
    /// No object. Not in the list of offsets.
    Null,
    /// An object of this process.
    Binder {
        /// Its number at its owner; not zero.
        binder: u64,
        /// What its owner added.
        cookie: u64,
        /// How it wants to be called.
        flags: u32,
    },
    /// An object of another process.
    Handle {
        /// Its number at the holder of this parcel.
        handle: u32,
        /// How it wants to be called.
        flags: u32,
    },
    /// A file descriptor.
    File {
        /// Its number in the process that holds this parcel.
        fd: i32,
    },
}

impl FlatObject {
    /// Writes the object.
    pub fn write(self, writer: &mut Writer<'_>) {
        let (kind, flags, binder, cookie) = match self {
            Self::Null => (TYPE_BINDER, 0, 0, 0),
            Self::Binder { binder, cookie, flags } => (TYPE_BINDER, flags, binder, cookie),
            Self::Handle { handle, flags } => (TYPE_HANDLE, flags, u64::from(handle), 0),
            Self::File { fd } => {
                (TYPE_FD, 0x7f | FLAG_ACCEPTS_FDS, u64::from(fd.cast_unsigned()), 0)
            }
        };
        writer.u32(kind);
        writer.u32(flags);
        writer.u64(binder);
        writer.u64(cookie);
    }

    /// Reads an object.
    ///
    /// # Errors
    ///
    /// [`ParcelError::NotEnoughData`], or [`ParcelError::BadWord`] for an object of a kind that parcels do not
    /// hold.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, ParcelError> {
        let at = reader.position();
        let kind = reader.u32()?;
        let flags = reader.u32()?;
        let binder = reader.u64()?;
        let cookie = reader.u64()?;
        // A handle and a descriptor share their place with the low half of a pointer.
        let [a, b, c, d, ..] = binder.to_le_bytes();
        let low = [a, b, c, d];
        match kind {
            TYPE_BINDER if binder == 0 => Ok(Self::Null),
            TYPE_BINDER => Ok(Self::Binder { binder, cookie, flags }),
            TYPE_HANDLE => Ok(Self::Handle { handle: u32::from_le_bytes(low), flags }),
            TYPE_FD => Ok(Self::File { fd: i32::from_le_bytes(low) }),
            found => Err(ParcelError::BadWord { at, found }),
        }
    }
}
