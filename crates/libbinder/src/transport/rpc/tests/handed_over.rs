//! Sockets that others have made, and those at which no server answers.

use std::cell::Cell;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};

use super::service::*;
use crate::transport::rpc::{RpcError, RpcServer, RpcSession};

fn unix_socket(flags: SocketFlags) -> OwnedFd {
    socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).expect("a socket")
}

/// A socket that has a name and does not listen.
fn bound(name: &str) -> (OwnedFd, SocketAddrUnix, String) {
    let name = format!("anybinder-handed-over-{}-{name}", std::process::id());
    let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).expect("a name");
    let socket = unix_socket(SocketFlags::CLOEXEC);
    bind(&socket, &address).expect("a free name");
    (socket, address, format!("\0{name}"))
}

#[test]
fn a_socket_that_is_bound_need_not_listen() {
    let (socket, _, path) = bound("bound");
    let view = service();
    let server = RpcServer::new_bound_socket(view.binder.clone(), socket).expect("a server");
    server.start().expect("a thread");
    let (_session, root) = super::service::connect(&path, |_| {});
    assert_eq!(echo(&root, b"bound"), Ok(b"bound".to_vec()));
}

#[test]
fn sockets_may_be_of_tcp_and_need_not_block() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a socket");
    let address = listener.local_addr().expect("a port");
    let view = service();
    let server = RpcServer::new_bound_socket(view.binder.clone(), listener.into());
    let server = server.expect("a server");
    server.set_max_threads(2);
    server.start().expect("a thread");
    assert_eq!(server.inet_address(), Some(address));

    let session = RpcSession::new();
    // Of the caller's own thread, and only lent.
    let made = Cell::new(0);
    let root = session.connect_preconnected(|| {
        made.set(made.get() + 1);
        let socket = TcpStream::connect(address).ok()?;
        socket.set_nonblocking(true).ok()?;
        Some(socket.into())
    });
    assert_eq!(echo(&root.expect("a server"), b"given"), Ok(b"given".to_vec()));
    assert_eq!(made.get(), 2);
}

#[test]
fn a_server_that_accepts_no_client_is_given_up() {
    let (socket, address, path) = bound("deaf");
    listen(&socket, 0).expect("a bound socket");
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let clients = std::iter::repeat_with(|| unix_socket(flags));
    let waiting: Vec<_> = clients.take_while(|it| connect(it, &address).is_ok()).collect();
    assert!(!waiting.is_empty());

    let session = RpcSession::new();
    session.set_handshake_timeout(Duration::from_millis(50));
    let began = Instant::now();
    let given_up = session.connect_unix(path);
    assert!(matches!(given_up, Err(RpcError::TimedOut { .. })), "{given_up:?}");
    assert!(began.elapsed() < HANG_TIMEOUT);
}
