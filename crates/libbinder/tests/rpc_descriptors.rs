//! An RPC server in a process that may open few files. The limit is the process's, so this is the only
//! test here.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::os::fd::OwnedFd;

use binder::binder_impl::{Binder, BorrowedParcel, Remotable};
use binder::transport::rpc::{RpcServer, RpcSession};
use binder::{IBinder, Interface, StatusCode};
use binder_rpc::handshake::{self, FdMode};
use binder_rpc::{CallDirection, ProtocolVersion, SessionId, encode, special};
use binder_testkit::HANG_TIMEOUT;
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

struct Plain;

impl Interface for Plain {}

impl Remotable for Plain {
    fn get_descriptor() -> &'static str {
        "test.Plain"
    }

    fn on_transact(
        &self,
        _: u32,
        _: &BorrowedParcel<'_>,
        _: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        Err(StatusCode::UNKNOWN_TRANSACTION)
    }
}

/// Connects to a server of this machine from one of its addresses.
fn connect_from(last: u8, port: u16) -> OwnedFd {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, last), 0)).expect("loopback");
    connect(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)).expect("a server");
    socket
}

/// Opens a connection from 127.0.0.1 and reads as much as the server says to it; `None` if it is refused.
fn open(port: u16, direction: CallDirection, id: Option<&SessionId>) -> Option<TcpStream> {
    let mut stream = TcpStream::from(connect_from(1, port));
    stream.set_read_timeout(Some(HANG_TIMEOUT)).expect("a timeout");
    stream.write_all(&handshake::open(ProtocolVersion::V1, direction, FdMode::None, id)).ok()?;
    // The version of a new session, the greeting of one that is joined for calls of the server.
    stream.read_exact(&mut [0; 8]).is_ok().then_some(stream)
}

fn session_id(stream: &mut TcpStream) -> SessionId {
    let call = encode::OutgoingCall {
        address: None,
        code: special::GET_SESSION_ID,
        flags: 0,
        async_number: 0,
        timeout_us: 0,
        trace_id: 0,
        caller_uid: None,
    };
    let head =
        encode::transact(&call, encode::Extent::default(), &binder_rpc::SessionLimits::default());
    stream.write_all(&head.expect("a short call")).expect("a server that reads");
    let mut answer = [0; 16 + 20 + 4 + 32];
    stream.read_exact(&mut answer).expect("an answer");
    answer[40..].try_into().expect("an id is 32 bytes")
}

#[test]
fn seventeen_sessions_of_one_peer_lock_nobody_out() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(1024), maximum }).expect("less is granted");
    let root = Binder::new(Plain).as_binder();
    let server = RpcServer::new_inet(root, "127.0.0.1", 0_u32).expect("a port");
    server.start().expect("a thread");
    let port = server.inet_address().expect("TCP").port();
    // The other ends of these sockets are this process's, too: what is refused is closed at once.
    let mut held = Vec::new();
    for _ in 0..17 {
        let Some(mut first) = open(port, CallDirection::Outgoing, None) else {
            continue;
        };
        let id = session_id(&mut first);
        held.push(first);
        held.extend((0..60).filter_map(|_| open(port, CallDirection::Incoming, Some(&id))));
    }
    assert_eq!(held.len(), 288, "three quarters of three eighths of 1024");
    assert_eq!(server.connections(), 288);
    let mut socket = Some(connect_from(2, port));
    let session = RpcSession::new();
    session.set_max_outgoing_connections(1);
    let root = session.connect_preconnected(|| socket.take()).expect("another address may connect");
    assert_eq!(root.ping_binder(), Ok(()));
}
