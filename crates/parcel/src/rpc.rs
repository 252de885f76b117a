//! Objects in parcels for RPC Binder.
//!
//! A binder is a word, an address unless it is null, and its stability, which the caller adds. A
//! descriptor is a word and an index into the descriptors that travel with the message. From version
//! 1 on the message ends with the positions of descriptors, from version 2 on of binders too.

use crate::{ParcelError, Reader, Writer};

/// A version of the protocol, as the two sides agreed on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Version {
    /// Android 13: no descriptors, no positions.
    V0 = 0,
    /// Android 14 to 16: positions of descriptors.
    V1 = 1,
    /// Newest: positions of binders too.
    V2 = 2,
}

/// Null.
pub const TYPE_NULL: u32 = 0;
/// A binder; its address follows.
pub const TYPE_BINDER: u32 = 1;
/// A descriptor; its index follows.
pub const TYPE_FD: u32 = 2;
/// An object that stands for a file; its number follows. Sessions of Android's have none.
pub const TYPE_STAND_IN: u32 = 3;

/// An object as it stands in a parcel for RPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RpcObject {
    /// No object.
    Null,
    /// A binder.
    Binder {
        /// Its address in the session.
        address: u64,
    },
    /// A file descriptor.
    File {
        /// Its place among those that travel along.
        index: i32,
    },
    /// A file that is relayed.
    StandIn {
        /// The number of the sender's object that stands for it.
        number: u32,
    },
}

impl RpcObject {
    /// Writes the object.
    pub fn write(self, writer: &mut Writer<'_>) {
        match self {
            Self::Null => writer.u32(TYPE_NULL),
            Self::Binder { address } => {
                writer.u32(TYPE_BINDER);
                writer.u64(address);
            }
            Self::File { index } => {
                writer.u32(TYPE_FD);
                writer.i32(index);
            }
            Self::StandIn { number } => {
                writer.u32(TYPE_STAND_IN);
                writer.u32(number);
            }
        }
    }

    /// Reads an object.
    ///
    /// # Errors
    ///
    /// [`ParcelError::NotEnoughData`], or [`ParcelError::BadWord`] for a kind that does not exist.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, ParcelError> {
        let at = reader.position();
        match reader.u32()? {
            TYPE_NULL => Ok(Self::Null),
            TYPE_BINDER => Ok(Self::Binder { address: reader.u64()? }),
            TYPE_FD => Ok(Self::File { index: reader.i32()? }),
            TYPE_STAND_IN => Ok(Self::StandIn { number: reader.u32()? }),
            found => Err(ParcelError::BadWord { at, found }),
        }
    }
}
