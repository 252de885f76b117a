//! What goes wrong with one call ends no session.

use std::net::IpAddr;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use binder_rpc::{encode, handshake};

use super::raw::{Raw, call_bytes, call_with_files};
use super::service::*;
use crate::transport::rpc::{
    FileDescriptorTransportMode as FdMode, ProtocolVersion, RpcServer, RpcSession, SessionLimits,
};
use crate::{IBinder, StatusCode};

fn allow_files(server: &RpcServer) {
    server.set_supported_file_descriptor_transport_modes(&[FdMode::None, FdMode::Unix]);
}

#[test]
fn a_call_with_files_over_tcp_fails_alone() {
    let view = service();
    let local = IpAddr::from([127, 0, 0, 1]);
    let server = RpcServer::new_inet(view.binder.clone(), local, 0).expect("a port");
    allow_files(&server);
    server.start().expect("a thread");
    let port = server.inet_address().expect("TCP").port();
    for version in [ProtocolVersion::V0, ProtocolVersion::V1, ProtocolVersion::V2] {
        let session = RpcSession::new();
        session.set_protocol_version(version);
        session.set_file_descriptor_transport_mode(FdMode::Unix);
        let root = session.connect_inet("127.0.0.1", port).expect("a server");
        let (_near, far) = UnixStream::pair().expect("a pair");
        let refused = call(&root, FILE, 0, |data| data.write_file(far.as_fd()));
        assert_eq!(refused.err(), Some(StatusCode::BAD_VALUE));
        assert_eq!(echo(&root, b"goes on"), Ok(b"goes on".to_vec()));
    }
}

#[test]
fn a_call_with_files_in_version_0_is_a_bad_value() {
    let (_view, _server, name) = start(allow_files);
    let refused_in = |mode| {
        let (_session, root) = connect(&name, |session| {
            session.set_protocol_version(ProtocolVersion::V0);
            session.set_file_descriptor_transport_mode(mode);
        });
        let (_near, far) = UnixStream::pair().expect("a pair");
        call(&root, FILE, 0, |data| data.write_file(far.as_fd())).err()
    };
    assert_eq!(refused_in(FdMode::Unix), Some(StatusCode::BAD_VALUE));
    assert_eq!(refused_in(FdMode::None), Some(StatusCode::FDS_NOT_ALLOWED));
}

/// Reads an answer that is a status alone, of version 1.
fn read_status(raw: &mut Raw) -> i32 {
    let answer = raw.receive(16 + 20);
    i32::from_le_bytes(answer[16..20].try_into().expect("four bytes"))
}

#[test]
fn a_call_whose_files_were_dropped_on_the_way_is_answered_and_the_session_goes_on() {
    let (_view, server, name) = start(allow_files);
    let mut raw = Raw::open_with(&name, FdMode::Unix);
    raw.ask_for_root();
    raw.send(&call_with_files([3, 0], FILE, 2));
    // What is given back comes before.
    raw.receive(16 + 16);
    assert_eq!(read_status(&mut raw), StatusCode::BAD_VALUE.code());
    let mut misplaced = call_with_files([3, 0], FILE, 1);
    let end = misplaced.len();
    misplaced[end - 4..].copy_from_slice(&77_u32.to_le_bytes());
    raw.send(&misplaced);
    raw.receive(16 + 16);
    assert_eq!(read_status(&mut raw), StatusCode::BAD_VALUE.code());
    raw.ping();
    assert_eq!(server.sessions(), 1);
}

#[test]
fn a_call_of_an_unknown_object_is_answered_and_the_session_goes_on() {
    let (_view, server, name) = start(|_| {});
    let mut raw = Raw::open(&name);
    for address in [[3, 9], [7, 0]] {
        raw.send(&call_bytes(address, 0, 0));
        assert_eq!(read_status(&mut raw), StatusCode::BAD_VALUE.code());
        // This one is one-way: it has no answer to wait for.
        raw.send(&call_bytes(address, 1, 0));
    }
    raw.ping();
    assert_eq!(server.sessions(), 1);
}

#[test]
fn a_parcel_with_an_unknown_object_fails_its_call_alone() {
    let (_view, server, name) = start(|_| {});
    let mut raw = Raw::open(&name);
    raw.ask_for_root();
    // The binders of version 1 are not listed, but found as the service reads them.
    let mut call = call_bytes([3, 0], 0, 0);
    call[24..28].copy_from_slice(&RETURN.to_le_bytes());
    let text = DESCRIPTOR.encode_utf16();
    let mut token = words(&[u32::try_from(text.clone().count()).expect("short")]);
    token.extend(text.flat_map(u16::to_le_bytes));
    token.resize((token.len() + 2).next_multiple_of(4), 0);
    let parcel = [token, words(&[1, 3, 9, 12])].concat();
    let bytes = u32::try_from(parcel.len()).expect("short");
    call[4..8].copy_from_slice(&(40 + bytes).to_le_bytes());
    call[40..44].copy_from_slice(&bytes.to_le_bytes());
    call.extend(parcel);
    raw.send(&call);
    raw.receive(16 + 16);
    assert_eq!(read_status(&mut raw), StatusCode::BAD_VALUE.code());
    raw.ping();
    assert_eq!(server.sessions(), 1);
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Returns an answer of version 1.
fn answer(parcel: &[u8], positions: &[u32]) -> Vec<u8> {
    let extent = encode::Extent { parcel_bytes: parcel.len(), positions: positions.len() };
    let head = encode::reply(ProtocolVersion::V1, 0, extent, &SessionLimits::default());
    [&head.expect("a short answer")[..], parcel, &words(positions)].concat()
}

#[test]
fn an_answer_whose_files_were_dropped_on_the_way_fails_its_call_alone() {
    let (near, far) = UnixStream::pair().expect("a pair");
    let server = std::thread::spawn(move || {
        let mut raw = Raw(far);
        raw.receive(16 + 8);
        raw.send(&handshake::response(ProtocolVersion::V1));
        let mut answer_next = |answer: Vec<u8>| {
            raw.receive(16 + 40);
            raw.send(&answer);
        };
        answer_next(answer(&words(&[1]), &[]));
        answer_next(answer(&[&words(&[32]), &[7; 32][..]].concat(), &[]));
        // The root object.
        answer_next(answer(&words(&[1, 3, 0, 12]), &[]));
        answer_next(answer(&words(&[2, 0]), &[0]));
        answer_next(answer(&[], &[]));
    });
    let mut near = Some(near.into());
    let session = RpcSession::new();
    session.set_protocol_version(ProtocolVersion::V1);
    session.set_file_descriptor_transport_mode(FdMode::Unix);
    let root = session.connect_preconnected(move || near.take()).expect("a server");
    assert_eq!(root.ping_binder(), Err(StatusCode::BAD_VALUE));
    assert_eq!(root.ping_binder(), Ok(()));
    server.join().expect("no panic");
}
