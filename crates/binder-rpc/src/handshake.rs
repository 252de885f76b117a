//! How a connection is opened.
//!
//! The client sends a header: for a new session, or with the id of the one that it joins. The server
//! answers the header of a new session with the version. The side that will make calls on the
//! connection sends a greeting before: the client together with its header, the server on a
//! connection that the client opened for it.

use alloc::vec::Vec;

use zerocopy::{FromBytes, IntoBytes};

use crate::wire::{
    COMMAND_DEC_STRONG, COMMAND_TRANSACT, ConnectionHeader, ConnectionInit, INIT_MAGIC,
    NewSessionResponse, OPTION_INCOMING, SESSION_ID_BYTES,
};
use crate::{CallDirection, ProtocolVersion, SessionId};

/// The word with which clients begin that know no versions: the session -1, which is a new one.
const NEW_SESSION_BEFORE_VERSIONS: u32 = u32::MAX;

/// Words from here on are no version that any client offers.
const NO_VERSION: u32 = 0xf000_0001;

/// How descriptors travel in a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FdMode {
    /// Not at all.
    #[default]
    None,
    /// As a Unix socket passes them.
    Unix,
    /// As Trusty does; never accepted here.
    Trusty,
    /// Not themselves, but what is in them, from version 2 on: memory that cannot change any more is copied, streams are
    /// relayed, and others are refused. Only this library knows it.
    Relayed,
}

/// The word of [`FdMode::Relayed`], far from those that Android counts.
const RELAYED: u8 = 0xab;

/// What a connection's opening got wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// The other side begins as they did before there were versions and greetings: with the session -1, or
    /// with a call instead of a greeting.
    #[error(
        "the other side speaks something older than version 0 of the protocol, it seems: Android 12's, \
         which has no versions"
    )]
    BeforeVersions,
    /// The client offers a word that is no version.
    #[error("{0:#x} is no version of the protocol")]
    WrongVersion(u32),
    /// The other side speaks TLS, and this side does not.
    #[error("the other side speaks TLS, it seems")]
    Tls,
    /// The server answers with a version that was not offered.
    #[error("the server answers version {answered:#x}, {offered} was offered")]
    AnswerTooNew {
        /// What it answered.
        answered: u32,
        /// What we offered.
        offered: u32,
    },
    /// An id of a wrong length.
    #[error("a session id of {0} bytes")]
    BadIdLength(u16),
    /// A way of passing descriptors that is none.
    #[error("descriptor mode {0} is unknown")]
    UnknownFdMode(u8),
    /// A way of passing descriptors that the server does not offer.
    #[error("descriptor mode {0:?} is not offered")]
    FdModeRefused(FdMode),
    /// A new session whose first connection is for the server's calls.
    #[error("a new session begins with a connection for the client's calls")]
    NewIncoming,
    /// A greeting that is none.
    #[error("the greeting is {0:x?}")]
    BadInit([u8; 4]),
    /// An id of no session.
    #[error("no session has this id")]
    UnknownSession,
    /// More connections than a session may have.
    #[error("the session has {0} connections already")]
    TooManyConnections(usize),
}

/// What a client asks of a connection, from its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// The newest version that it speaks.
    pub offered: u32,
    /// The side that will make the calls, as the server sees it.
    pub direction: CallDirection,
    /// How descriptors travel.
    pub fd_mode: FdMode,
    /// The session that it joins; a new one if `None`.
    pub joins: Option<SessionId>,
}

/// Reads a header and says how many bytes it took, or `None` while some are missing.
///
/// # Errors
///
/// [`HandshakeError`] for what no client of a known version sends.
pub fn read_header(bytes: &[u8]) -> Result<Option<(Opening, usize)>, HandshakeError> {
    refuse_tls(bytes)?;
    let offered = bytes.first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
    if offered == NEW_SESSION_BEFORE_VERSIONS {
        return Err(HandshakeError::BeforeVersions);
    }
    if offered >= NO_VERSION {
        return Err(HandshakeError::WrongVersion(offered));
    }
    let Ok((header, rest)) = ConnectionHeader::ref_from_prefix(bytes) else {
        return Ok(None);
    };
    let fd_mode = match header.fd_mode {
        0 => FdMode::None,
        1 => FdMode::Unix,
        2 => FdMode::Trusty,
        RELAYED => FdMode::Relayed,
        other => return Err(HandshakeError::UnknownFdMode(other)),
    };
    let direction = match header.options & OPTION_INCOMING {
        0 => CallDirection::Incoming,
        _ => CallDirection::Outgoing,
    };
    let (joins, taken) = match usize::from(header.session_id_bytes.get()) {
        0 if direction == CallDirection::Outgoing => return Err(HandshakeError::NewIncoming),
        0 => (None, 0),
        SESSION_ID_BYTES => match rest.first_chunk() {
            Some(id) => (Some(*id), SESSION_ID_BYTES),
            None => return Ok(None),
        },
        _ => return Err(HandshakeError::BadIdLength(header.session_id_bytes.get())),
    };
    let opening = Opening { offered, direction, fd_mode, joins };
    Ok(Some((opening, size_of::<ConnectionHeader>() + taken)))
}

/// Refuses the beginning of a TLS record: an alert or a handshake, of TLS 1.0 to 1.3. A header or an
/// answer of no known version begins so.
fn refuse_tls(bytes: &[u8]) -> Result<(), HandshakeError> {
    match bytes {
        [21 | 22, 3, 0..=4, ..] => Err(HandshakeError::Tls),
        _ => Ok(()),
    }
}

/// Reads the greeting of the side that will make calls; says how many bytes it took.
///
/// # Errors
///
/// [`HandshakeError::BadInit`] if it is none, [`HandshakeError::BeforeVersions`] if it is a message.
pub fn read_init(bytes: &[u8]) -> Result<Option<usize>, HandshakeError> {
    match ConnectionInit::ref_from_prefix(bytes) {
        Ok((init, _)) if init.magic == INIT_MAGIC => Ok(Some(size_of::<ConnectionInit>())),
        Ok((init, _)) => Err(match u32::from_le_bytes(init.magic) {
            COMMAND_TRANSACT..=COMMAND_DEC_STRONG => HandshakeError::BeforeVersions,
            _ => HandshakeError::BadInit(init.magic),
        }),
        Err(_) => Ok(None),
    }
}

/// Reads the server's answer to a new session; says the version and how many bytes it took.
///
/// # Errors
///
/// [`HandshakeError::AnswerTooNew`] above what was offered, [`HandshakeError::Tls`].
pub fn read_response(
    bytes: &[u8],
    offered: ProtocolVersion,
) -> Result<Option<(ProtocolVersion, usize)>, HandshakeError> {
    refuse_tls(bytes)?;
    let Ok((response, _)) = NewSessionResponse::ref_from_prefix(bytes) else {
        return Ok(None);
    };
    let answered = response.version.get();
    match ProtocolVersion::try_from(answered) {
        Ok(version) if version <= offered => Ok(Some((version, size_of::<NewSessionResponse>()))),
        _ => Err(HandshakeError::AnswerTooNew { answered, offered: offered.word() }),
    }
}

/// Returns what a client sends to open a connection; `direction` is as the client sees it.
#[must_use]
pub fn open(
    offered: ProtocolVersion,
    direction: CallDirection,
    fd_mode: FdMode,
    joins: Option<&SessionId>,
) -> Vec<u8> {
    let (options, greets) = match direction {
        CallDirection::Outgoing => (0, true),
        CallDirection::Incoming => (OPTION_INCOMING, false),
    };
    let header = ConnectionHeader {
        version: offered.word().into(),
        options,
        fd_mode: match fd_mode {
            FdMode::None => 0,
            FdMode::Unix => 1,
            FdMode::Trusty => 2,
            FdMode::Relayed => RELAYED,
        },
        reserved: [0; 8],
        session_id_bytes: joins.map_or(0, |_| 32).into(),
    };
    let mut bytes = Vec::from(header.as_bytes());
    bytes.extend_from_slice(joins.map_or(&[], |id| &id[..]));
    if greets {
        bytes.extend_from_slice(&init());
    }
    bytes
}

/// Returns the greeting of the side that will make calls.
#[must_use]
pub fn init() -> [u8; size_of::<ConnectionInit>()] {
    zerocopy::transmute!(ConnectionInit { magic: INIT_MAGIC, reserved: [0; 4] })
}

/// Returns the server's answer to a new session.
#[must_use]
pub fn response(version: ProtocolVersion) -> [u8; size_of::<NewSessionResponse>()] {
    zerocopy::transmute!(NewSessionResponse { version: version.word().into(), reserved: [0; 4] })
}
