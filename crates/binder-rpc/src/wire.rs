//! The structures on the wire, as they lie there.

use zerocopy::little_endian::{I32, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The length of every session id, in bytes.
pub const SESSION_ID_BYTES: usize = 32;

/// Says a word of [`WireHeader::command`]: a call.
pub const COMMAND_TRANSACT: u32 = 0;
/// Says a word of [`WireHeader::command`]: the answer to a call.
pub const COMMAND_REPLY: u32 = 1;
/// Says a word of [`WireHeader::command`]: references go back to the owner of an object.
pub const COMMAND_DEC_STRONG: u32 = 2;

/// Set in [`ConnectionHeader::options`] when the server will make the calls on the connection.
pub const OPTION_INCOMING: u8 = 1;

/// The flag of a call whose caller does not wait.
pub const FLAG_ONEWAY: u32 = 1;

/// The first words of [`ConnectionInit`].
pub const INIT_MAGIC: [u8; 4] = *b"cci\0";

/// The code of a ping, which any object answers.
pub const PING_TRANSACTION: u32 = u32::from_be_bytes(*b"_PNG");

/// Derives what every structure on the wire has.
macro_rules! wire {
    ($(#[$doc:meta])* $name:ident, $bytes:literal { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
        #[repr(C)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }
        const _: () = assert!(size_of::<$name>() == $bytes);
    };
}

wire! {
    /// The first bytes of a connection, from the client.
    ConnectionHeader, 16 {
        /// The newest version that the client speaks.
        version: U32,
        /// [`OPTION_INCOMING`] or nothing.
        options: u8,
        /// How descriptors travel: 0 not at all, 1 over a Unix socket, 2 otherwise.
        fd_mode: u8,
        /// Zero.
        reserved: [u8; 8],
        /// 0 for a new session, else the length of the id that follows.
        session_id_bytes: U16,
    }
}

wire! {
    /// The server's answer to the header of a new session.
    NewSessionResponse, 8 {
        /// The version that the session will speak.
        version: U32,
        /// Zero.
        reserved: [u8; 4],
    }
}

wire! {
    /// The greeting of the side that will make calls on the connection.
    ConnectionInit, 8 {
        /// [`INIT_MAGIC`].
        magic: [u8; 4],
        /// Zero.
        reserved: [u8; 4],
    }
}

wire! {
    /// Precedes every message.
    WireHeader, 16 {
        /// One of the `COMMAND_` words.
        command: U32,
        /// The bytes that follow.
        body_bytes: U32,
        /// Zero.
        reserved: [u8; 8],
    }
}

wire! {
    /// The name of an object in a session.
    WireAddress, 8 {
        /// The side that made it.
        options: U32,
        /// Its number there.
        number: U32,
    }
}

wire! {
    /// Precedes the parcel of a call.
    TransactionHeader, 40 {
        /// The object called.
        address: WireAddress,
        /// The method.
        code: U32,
        /// The flags of the call.
        flags: U32,
        /// The place of a one-way call among those to its object.
        async_number: U64,
        /// The bytes of the parcel; version 0 knows them from the body.
        parcel_bytes: U32,
        /// How many microseconds the caller will wait, between two sides that know this
        /// ([`Extensions`](crate::Extensions)); to others zero, as Android has it.
        timeout_us: U32,
        /// One more than the user of the sender's machine for whom it makes the call, between two sides that know this;
        /// else zero. One that does not know it, but what comes before, reads both as one number.
        caller: U32,
        /// By what people find the request in logs, between two sides that know this; else zero.
        trace_id: U32,
    }
}

wire! {
    /// Precedes the parcel of an answer, from version 1.
    ReplyHeader, 20 {
        /// Zero, or the error that is the whole answer.
        status: I32,
        /// The bytes of the parcel.
        parcel_bytes: U32,
        /// Zero.
        reserved: [u8; 12],
    }
}

wire! {
    /// The body of [`COMMAND_DEC_STRONG`].
    DecStrong, 16 {
        /// The object.
        address: WireAddress,
        /// The references that go back.
        amount: U32,
        /// Zero.
        reserved: [u8; 4],
    }
}

/// The bytes before the parcel of an answer in version 0: the status.
pub const REPLY_HEADER_V0_BYTES: usize = 4;
