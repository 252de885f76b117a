//! What prevents a session, before it can end.

use std::io;

use binder_rpc::handshake::HandshakeError;
use binder_rpc::{Ending, SendRefusal};

use crate::StatusCode;

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
pub enum RpcError {
    /// The system did not do something.
    #[error("cannot {action}: {error}")]
    System {
        /// What was tried.
        action: &'static str,
        /// What the system said.
        error: io::Error,
    },
    /// The other side opened wrongly.
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
    /// The other side did not open in time.
    #[error("the other side did not answer within {seconds} s")]
    TimedOut {
        /// How long it had.
        seconds: f32,
    },
    /// The other side closed a connection while the session was set up, without a word: it has gone, it
    /// refuses us, or it does not understand us.
    #[error(
        "the server closed a connection while the session was set up: it has no room for us or does not \
         offer how descriptors are to travel (its log tells), it speaks something older than version 0 of \
         the protocol, as Android 12 does, or it has gone"
    )]
    ClosedAtOpening,
    /// The session ended while it was set up.
    #[error("the session ended: {0}")]
    Ended(#[from] Ending),
    /// TLS did not come about: a certificate is missing, not trusted, expired, or of another name.
    #[error("TLS: {0}")]
    Tls(String),
    /// The server's authorizer gives this peer no session.
    #[error("not authorized: {0}")]
    NotAuthorized(String),
    /// The server does not speak TLS.
    #[error("the server does not speak TLS")]
    NotTls,
    /// More connections were wished for than a session may have.
    #[error(
        "{incoming} connections for the server's calls: a session has {limit} in all, one of them \
         for calls to the server"
    )]
    TooManyConnections {
        /// How many threads were to serve the server's calls.
        incoming: usize,
        /// How many connections the limits allow.
        limit: usize,
    },
    /// No socket came from where one was to come.
    #[error("no socket came for a connection")]
    NoConnection,
    /// A server was shut down by one of its clients' calls, which it cannot wait for.
    #[error("shut down from within a call, which was not waited for")]
    WithinCall,
    /// The session is set up already.
    #[error("the session is set up already")]
    IsSetUp,
    /// There is no root object, or it could not be had.
    #[error("no root object: {0}")]
    NoRoot(StatusCode),
}

impl RpcError {
    /// Says what was tried, for `map_err`.
    pub(super) fn system<E: Into<io::Error>>(action: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::System { action, error: error.into() }
    }
}

impl From<RpcError> for StatusCode {
    fn from(error: RpcError) -> Self {
        match error {
            RpcError::System { error, .. } => {
                Self::from_code(error.raw_os_error().map_or(Self::UNKNOWN_ERROR.code(), |n| -n))
            }
            RpcError::Handshake(_) => Self::BAD_VALUE,
            RpcError::TimedOut { .. } => Self::TIMED_OUT,
            RpcError::Ended(_) | RpcError::ClosedAtOpening => Self::DEAD_OBJECT,
            RpcError::Tls(_) | RpcError::NotAuthorized(_) => Self::PERMISSION_DENIED,
            RpcError::TooManyConnections { .. } | RpcError::NoConnection => Self::BAD_VALUE,
            RpcError::IsSetUp | RpcError::WithinCall | RpcError::NotTls => Self::INVALID_OPERATION,
            RpcError::NoRoot(status) => status,
        }
    }
}

/// The status that a caller gets whose call was refused.
pub(super) fn status_of(refusal: &SendRefusal) -> StatusCode {
    if let SendRefusal::TooLarge { .. } | SendRefusal::TooManyObjects { .. } = refusal {
        tracing::warn!(%refusal, "a call was not sent");
    }
    match refusal {
        SendRefusal::Ended(_) => StatusCode::DEAD_OBJECT,
        SendRefusal::UnknownObject(_) => StatusCode::BAD_VALUE,
        SendRefusal::TooLarge { .. } => StatusCode::FAILED_TRANSACTION,
        SendRefusal::TooManyObjects { .. } => StatusCode::NO_MEMORY,
    }
}
