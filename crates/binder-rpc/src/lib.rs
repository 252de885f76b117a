//! An RPC Binder session as a state machine.
//!
//! Android's libbinder also speaks Binder over sockets. This crate holds what such a session
//! decides; the owner of the sockets and threads calls it. Bytes that arrive on a connection go into
//! its [`Inbox`], which gives [`RpcMessage`]s however the stream was cut. [`handshake`] opens a
//! connection, [`CallStack`] knows the calls under way on it, and the [`SessionObjects`] that all its connections
//! share holds the objects: addresses, counts, and the order of one-way calls. What is to be sent
//! comes back as heads to be written before a parcel ([`encode`]).
//!
//! Numbers on the wire are little endian. Versions 0 (Android 13), 1 (14 to 16.0) and 2.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod address;
mod call_stack;
pub mod encode;
mod ending;
mod exports;
pub mod handshake;
mod imports;
mod inbox;
mod limits;
mod message;
pub mod relay;
mod session;
pub mod special;
mod version;
pub mod wire;

pub use address::{Address, BadAddress, SessionSide};
pub use call_stack::{CallDirection, CallStack, NestedCall};
pub use ending::Ending;
pub use exports::{Oneway, OnewayArrival, Released};
pub use imports::PendingRelease;
pub use inbox::{Inbox, Partial};
pub use limits::{MAX_FILES, SessionLimits};
pub use message::{
    BadParcel, Listed, ParcelLists, ReceivedParcel, Reply, RpcMessage, RpcTransaction,
};
pub use session::{Entered, SendRefusal, SessionObjects, SessionRemains, Start};
pub use special::Extensions;
pub use version::{ProtocolVersion, UnknownVersion};

/// What a session id is: 32 bytes that a stranger cannot guess.
pub type SessionId = [u8; wire::SESSION_ID_BYTES];
