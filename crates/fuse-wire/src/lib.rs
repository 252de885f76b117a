//! FUSE requests and replies as typed bytes.
//!
//! What the kernel sends over `/dev/fuse` becomes a [`Request`], once and strictly; what a server
//! answers becomes a [`Message`], whose slices go into one `writev`. No session, no descriptor and
//! no memory from the heap. Protocol 7.31 to 7.40, in the byte order of the machine; constants
//! keep their C names.

#![no_std]
#![forbid(unsafe_code)]

#[doc(hidden)]
pub mod abi;
mod body;
mod dirent;
pub mod flags;
mod init;
mod message;
pub mod notify;
pub mod opcode;
mod operation;
pub mod reply;
mod request;
mod stat;

pub use body::BodyFault;
pub use dirent::{DirentBuffer, NoRoom};
pub use init::{InitOffer, InitTerms, UnsupportedVersion};
pub use message::Message;
pub use operation::{ForgetOne, Operation, Read, ReleaseFile, SetAttr, SetTime};
pub use request::{Header, ParseError, Request};
pub use stat::{Attr, Entry, OpenedFile, StatFs, Timestamp};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct FuseWireReadme;

/// The node of the root directory.
pub const FUSE_ROOT_ID: u64 = 1;

/// The least room for one read of `/dev/fuse`, in bytes; a server that takes writes needs more.
pub const FUSE_MIN_READ_BUFFER: usize = 8192;

/// The major version of the protocol.
pub const FUSE_KERNEL_VERSION: u32 = 7;

/// The newest minor version that this crate speaks.
pub const FUSE_KERNEL_MINOR_VERSION: u32 = 40;

/// The oldest minor version that this crate speaks.
pub const OLDEST_MINOR_VERSION: u32 = 31;
