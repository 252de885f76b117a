//! How a connection is opened, on either side.

use std::time::{Duration, Instant};

use binder_rpc::handshake::{self, FdMode, HandshakeError, Opening};
use binder_rpc::{CallDirection, Ending, ProtocolVersion, SessionId};

use super::connection::{Connection, is_again};
use super::error::RpcError;
use super::link::ReadMode;

/// How long the other side may take to open a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    timeout: Duration,
    at: Instant,
}

impl Deadline {
    /// Starts the clock; waits on the connection's socket are bounded from here on.
    pub(super) fn start(timeout: Duration) -> Self {
        Self { timeout, at: Instant::now() + timeout }
    }

    /// Returns how long there is still.
    pub(super) fn left(&self) -> Option<Duration> {
        Some(self.at.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
    }

    /// Bounds the next wait by the time that is left.
    fn apply(&self, connection: &Connection) -> Result<(), RpcError> {
        let left = self.left().ok_or_else(|| self.passed())?;
        let bounded = connection.link().set_timeout(Some(left));
        bounded.map_err(RpcError::system("bound the wait on a socket"))
    }

    /// Does what TLS does before anything else is said, if the link speaks it; returns the
    /// certificate of the other side.
    #[cfg(feature = "tls")]
    pub(super) fn secure(
        &self,
        link: &super::link::StreamSocket,
    ) -> Result<Option<std::sync::Arc<[u8]>>, RpcError> {
        let Some(tls) = link.tls() else {
            return Ok(None);
        };
        loop {
            let left = self.left().ok_or_else(|| self.passed())?;
            link.set_timeout(Some(left)).map_err(RpcError::system("bound the wait on a socket"))?;
            match tls.shake(link) {
                Ok(true) => return Ok(tls.certificate()),
                Ok(false) => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    return Err(self.passed());
                }
                Err(error) => return Err(RpcError::Tls(error.to_string())),
            }
        }
    }

    pub(super) fn passed(&self) -> RpcError {
        RpcError::TimedOut { seconds: self.timeout.as_secs_f32() }
    }

    /// Lets the connection wait for as long as it takes again.
    pub(super) fn lift(&self, connection: &Connection) -> Result<(), RpcError> {
        let lifted = connection.link().set_timeout(None);
        lifted.map_err(RpcError::system("wait on a socket without bound"))
    }

    /// Says that the deadline has passed if that is what ended a wait.
    pub(super) fn explain(&self, ending: Ending) -> RpcError {
        if is_again(&ending) { self.passed() } else { RpcError::Ended(ending) }
    }
}

/// Waits until `read` has what it needs.
fn read_until<T>(
    connection: &mut Connection,
    deadline: &Deadline,
    read: impl Fn(&[u8]) -> Result<Option<(T, usize)>, HandshakeError>,
) -> Result<T, RpcError> {
    loop {
        if let Some((value, bytes)) = read(connection.bytes())? {
            connection.consume(bytes);
            return Ok(value);
        }
        deadline.apply(connection)?;
        connection.receive(ReadMode::Wait).map_err(|ending| deadline.explain(ending))?;
    }
}

/// Sends a few bytes; a new socket has room for them.
fn write(connection: &Connection, bytes: &[u8]) -> Result<(), RpcError> {
    let sent = connection.link().send_now(bytes, &[]);
    match sent.map_err(RpcError::system("open a connection"))? {
        sent if sent == bytes.len() => Ok(()),
        _ => Err(RpcError::Ended(Ending::Closed)),
    }
}

/// Reads what a client asks of a connection.
pub(super) fn read_opening(
    connection: &mut Connection,
    deadline: &Deadline,
) -> Result<Opening, RpcError> {
    read_until(connection, deadline, handshake::read_header)
}

/// Answers a client that begins a session, and reads its greeting.
pub(super) fn accept_new(
    connection: &mut Connection,
    deadline: &Deadline,
    version: ProtocolVersion,
) -> Result<(), RpcError> {
    write(connection, &handshake::response(version))?;
    accept_joining(connection, deadline, version)
}

/// Reads the greeting of a client that will call on one more connection.
pub(super) fn accept_joining(
    connection: &mut Connection,
    deadline: &Deadline,
    version: ProtocolVersion,
) -> Result<(), RpcError> {
    let read_init = |bytes: &[u8]| Ok(handshake::read_init(bytes)?.map(|bytes| ((), bytes)));
    read_until(connection, deadline, read_init)?;
    connection.agree(version, CallDirection::Incoming);
    deadline.lift(connection)
}

/// Greets a client that opened a connection for our calls.
pub(super) fn accept_reverse(
    connection: &mut Connection,
    deadline: &Deadline,
    version: ProtocolVersion,
) -> Result<(), RpcError> {
    write(connection, &handshake::init())?;
    connection.agree(version, CallDirection::Outgoing);
    deadline.lift(connection)
}

/// Begins a session and returns its version.
pub(super) fn open_new(
    connection: &mut Connection,
    deadline: &Deadline,
    offered: ProtocolVersion,
    fd_mode: FdMode,
) -> Result<ProtocolVersion, RpcError> {
    write(connection, &handshake::open(offered, CallDirection::Outgoing, fd_mode, None))?;
    let read = |bytes: &[u8]| handshake::read_response(bytes, offered);
    let version = read_until(connection, deadline, read)?;
    connection.agree(version, CallDirection::Outgoing);
    Ok(version)
}

/// Joins a session with one connection more.
pub(super) fn open_joining(
    connection: &mut Connection,
    deadline: &Deadline,
    version: ProtocolVersion,
    direction: CallDirection,
    fd_mode: FdMode,
    id: &SessionId,
) -> Result<(), RpcError> {
    write(connection, &handshake::open(version, direction, fd_mode, Some(id)))?;
    if direction == CallDirection::Incoming {
        let read_init = |bytes: &[u8]| Ok(handshake::read_init(bytes)?.map(|bytes| ((), bytes)));
        read_until(connection, deadline, read_init)?;
    }
    connection.agree(version, direction);
    deadline.lift(connection)
}
