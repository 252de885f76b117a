//! The reasons that refusals give.

use std::fmt::{self, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use binder_rpc::handshake::{self, FdMode};
use binder_rpc::{CallDirection, ProtocolVersion};
use tracing::field::{Field, Visit};
use tracing::span;

use super::raw::call_bytes;
use super::service::*;
use crate::StatusCode;
use crate::transport::rpc::connection::Connection;
use crate::transport::rpc::handshake::{Deadline, accept_new, read_opening};
use crate::transport::rpc::{HandshakeError, RpcError, RpcServer, RpcSession, SessionLimits};

/// Takes down what this thread logs.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut log = self.0.lock().expect("no panic");
        write!(log, "{field}={value:?} ").expect("a string");
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::WARN
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[test]
fn a_call_that_is_too_long_is_logged_with_its_length() {
    let (_view, _server, name) = start(|_| {});
    let (_session, root) = connect(&name, |_| {});
    let log = Log::default();
    tracing::subscriber::with_default(log.clone(), || {
        assert_eq!(echo(&root, &vec![0; 700_000]), Err(StatusCode::FAILED_TRANSACTION));
    });
    let log = log.0.lock().expect("no panic");
    assert!(log.contains("a message of 700") && log.contains("at most 614400 are sent"), "{log}");
}

#[test]
fn more_connections_than_a_session_may_have_are_refused_by_the_client() {
    let (_view, _server, name) = start(|server| server.set_max_threads(100));
    let session = RpcSession::new();
    session.set_max_incoming_threads(100);
    let refused = session.connect_unix(&name);
    let numbers = RpcError::TooManyConnections { incoming: 100, limit: 64 }.to_string();
    assert_eq!(refused.expect_err("too many").to_string(), numbers);
    assert!(numbers.contains("100") && numbers.contains("64"), "{numbers}");

    // Those for calls of this side are fewer then.
    session.set_max_incoming_threads(63);
    session.set_max_outgoing_connections(100);
    let root = session.connect_unix(&name).expect("64 in all");
    assert_eq!(echo(&root, b"fits"), Ok(b"fits".to_vec()));
}

#[test]
fn a_server_that_speaks_tls_is_called_that() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("a port").port();
    let server = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut socket, _) = listener.accept().expect("a client");
        socket.read_exact(&mut [0; 24]).expect("an opening");
        // The alert with which a TLS server answers what is no TLS.
        socket.write_all(&[21, 3, 3, 0, 2, 2, 10]).expect("an open socket");
    });
    let refused = RpcSession::new().connect_inet("127.0.0.1", port);
    assert!(matches!(refused, Err(RpcError::Handshake(HandshakeError::Tls))), "{refused:?}");
    server.join().expect("no panic");
}

#[test]
fn a_server_that_is_older_than_version_0_is_called_that() {
    use std::io::{Read, Write};
    // One takes the version for a session that it does not know, another the greeting for a message.
    for is_answered in [false, true] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("a port").port();
        let server = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().expect("a client");
            socket.read_exact(&mut [0; 4]).expect("an opening");
            if is_answered {
                socket.write_all(&[0; 8]).expect("an open socket");
                socket.read_exact(&mut [0; 20 + 16]).expect("a greeting and a message");
            }
        });
        let refused = RpcSession::new().connect_inet("127.0.0.1", port);
        let error = refused.expect_err("it is closed");
        assert!(matches!(error, RpcError::ClosedAtOpening), "{error:?}");
        assert!(error.to_string().contains("older than version 0"), "{error}");
        assert_eq!(StatusCode::from(error), StatusCode::DEAD_OBJECT);
        server.join().expect("no panic");
    }
}

#[test]
fn a_client_that_is_older_than_version_0_is_called_that_in_the_log() {
    // A client of Android 12 begins with the session -1. One of before the greetings calls at once.
    let header = handshake::open(ProtocolVersion::V0, CallDirection::Outgoing, FdMode::None, None);
    let calls_at_once = [&header[..16], &call_bytes([0, 0], 0, 0)].concat();
    for opening in [vec![0xff; 4], calls_at_once] {
        let (near, far) = std::os::unix::net::UnixStream::pair().expect("a pair");
        let link = super::super::link::StreamSocket::new(far.into(), true);
        let mut connection = Connection::new(Arc::new(link), SessionLimits::default());
        std::io::Write::write_all(&mut &near, &opening).expect("room");
        let deadline = Deadline::start(HANG_TIMEOUT);
        let opened = read_opening(&mut connection, &deadline)
            .and_then(|_| accept_new(&mut connection, &deadline, ProtocolVersion::V0));
        let error = opened.expect_err("it is too old").to_string();
        assert!(error.contains("older than version 0") && error.contains("Android 12"), "{error}");
    }
}

#[test]
fn a_client_that_has_gone_is_known() {
    let (near, far) = std::os::unix::net::UnixStream::pair().expect("a pair");
    let link = super::super::link::StreamSocket::new(far.into(), true);
    assert!(!link.is_closed_by_peer());
    // What it has sent is not read yet.
    std::io::Write::write_all(&mut &near, b"joins").expect("room");
    drop(near);
    assert!(link.is_closed_by_peer());
}

#[test]
fn a_server_that_cannot_accept_says_so_once() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let other = listener.try_clone().expect("a descriptor");
    let server = RpcServer::new_bound_socket(service().binder, listener.into()).expect("a server");
    rustix::net::shutdown(other, rustix::net::Shutdown::Both).expect("it listened");
    let log = Log::default();
    std::thread::scope(|scope| {
        let accepting = scope.spawn(|| {
            tracing::subscriber::with_default(log.clone(), || server.join());
        });
        wait_until(|| !log.0.lock().expect("no panic").is_empty());
        // The time of a few tries.
        std::thread::sleep(Duration::from_millis(50));
        server.shutdown().expect("from outside of calls");
        accepting.join().expect("no panic");
    });
    let log = log.0.lock().expect("no panic");
    assert_eq!(log.matches("cannot accept").count(), 1, "{log}");
}
