//! An RPC Binder session as a state machine.
//!
//! Android's libbinder also speaks Binder over sockets. This crate holds what such a session
//! decides; whoever owns the sockets and threads calls it. Bytes that arrive on a connection go into
//! its [`Inbox`], which gives [`Message`]s however the stream was cut. [`handshake`] opens a
//! connection, [`Turns`] knows whose turn it is on it, and the [`Session`] that all its connections
//! share holds the objects: addresses, counts, and the order of one-way calls. What is to be sent
//! comes back as heads to be written before a parcel ([`encode`]).
//!
//! Numbers on the wire are little endian. Versions 0 (Android 13), 1 (14 to 16.0) and 2.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod address;
pub mod encode;
mod ending;
mod exports;
pub mod handshake;
mod imports;
mod inbox;
mod limits;
mod message;
mod session;
pub mod special;
mod turns;
mod version;
pub mod wire;

pub use address::{Address, BadAddress, Role};
pub use ending::Ending;
pub use exports::{Oneway, Queued, Released};
pub use imports::Release;
pub use inbox::{Inbox, Partial};
pub use limits::{Limits, MAX_FILES};
pub use message::{BadParcel, Body, Listed, Message, Reply, Transaction};
pub use session::{Entered, Refusal, Remains, Session, Start};
pub use turns::{Direction, Turn, Turns};
pub use version::{UnknownVersion, Version};

/// What a session id is: 32 bytes that nobody guesses.
pub type SessionId = [u8; wire::SESSION_ID_BYTES];
