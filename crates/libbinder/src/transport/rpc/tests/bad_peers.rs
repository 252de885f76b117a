//! Peers that break the rules: their own session ends, others go on.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use binder_rpc::handshake;
use binder_rpc::{Direction, Version, encode};

use super::service::*;
use crate::SpIBinder;
use crate::transport::rpc::endpoint::unix_address;
use crate::transport::rpc::{Limits, RpcServer};

/// A socket that speaks for itself.
struct Raw(UnixStream);

impl Raw {
    fn connect(name: &str) -> Self {
        let address = unix_address(name.as_ref()).expect("a name");
        let socket = UnixStream::connect_addr(&address).expect("a server");
        socket.set_read_timeout(Some(SOON)).expect("a timeout");
        socket.set_write_timeout(Some(SOON)).expect("a timeout");
        Self(socket)
    }

    /// Begins a session, in version 1.
    fn open(name: &str) -> Self {
        let mut raw = Self::connect(name);
        let mode = handshake::FdMode::None;
        raw.send(&handshake::open(Version::V1, Direction::Outgoing, mode, None));
        let mut response = [0; 8];
        raw.0.read_exact(&mut response).expect("an answer");
        assert_eq!(response, [1, 0, 0, 0, 0, 0, 0, 0]);
        raw
    }

    fn send(&mut self, bytes: &[u8]) {
        // The server may have closed before all was sent.
        let _ = self.0.write_all(bytes);
    }

    /// Waits until the server has closed the connection.
    fn wait_for_the_end(mut self) {
        let mut rest = Vec::new();
        match self.0.read_to_end(&mut rest) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
        }
    }
}

fn call_bytes(address: [u32; 2], flags: u32, order: u64) -> Vec<u8> {
    let words =
        |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|word| word.to_le_bytes()).collect() };
    let order = order.to_le_bytes();
    let head = words(&[0, 40, 0, 0, address[0], address[1], ECHO, flags]);
    [&head[..], &order, &words(&[0, 0, 0, 0])].concat()
}

/// Runs against a server that another client uses before and after.
fn beside_another(set_up: impl FnOnce(&RpcServer), misbehave: impl FnOnce(&str, &SpIBinder)) {
    let (_view, server, name) = start(set_up);
    let (_session, root) = connect(&name, |_| {});
    misbehave(&name, &root);
    assert_eq!(echo(&root, b"unharmed"), Ok(b"unharmed".to_vec()));
    wait_until(|| server.sessions() == 1);
}

fn ends_its_session(bytes: &[u8]) {
    beside_another(
        |_| {},
        |name, _| {
            let mut raw = Raw::open(name);
            raw.send(bytes);
            raw.wait_for_the_end();
        },
    );
}

#[test]
fn a_wrong_opening_closes_the_connection() {
    let good = handshake::open(Version::V1, Direction::Outgoing, handshake::FdMode::None, None);
    let wrong = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    for bytes in [wrong(3, 0xff), wrong(4, 1), wrong(5, 1), wrong(14, 7), wrong(16, b'x')] {
        beside_another(
            |_| {},
            |name, _| {
                let mut raw = Raw::connect(name);
                raw.send(&bytes);
                raw.wait_for_the_end();
            },
        );
    }
    let unknown = [9; 32];
    let mode = handshake::FdMode::None;
    let joins = handshake::open(Version::V1, Direction::Outgoing, mode, Some(&unknown));
    beside_another(
        |_| {},
        |name, _| {
            let mut raw = Raw::connect(name);
            raw.send(&joins);
            raw.wait_for_the_end();
        },
    );
}

#[test]
fn a_client_that_does_not_open_is_closed_in_time() {
    for sent in [&[][..], &[1, 0, 0], &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]] {
        beside_another(
            |server| server.set_handshake_timeout(Duration::from_millis(50)),
            |name, _| {
                let mut raw = Raw::connect(name);
                raw.send(sent);
                raw.wait_for_the_end();
            },
        );
    }
}

#[test]
fn a_call_of_an_unknown_object_ends_the_session() {
    ends_its_session(&call_bytes([3, 9], 0, 0));
    ends_its_session(&call_bytes([1, 0], 0, 0));
    ends_its_session(&call_bytes([7, 0], 0, 0));
}

#[test]
fn a_reply_that_nobody_waits_for_ends_the_session() {
    let limits = Limits::default();
    let reply = encode::reply(Version::V1, 0, encode::Extent::default(), &limits);
    ends_its_session(&reply.expect("a short reply"));
}

#[test]
fn an_unknown_command_or_length_ends_the_session() {
    ends_its_session(&[9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    ends_its_session(&[0, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0, 0, 0, 0, 0]);
    ends_its_session(&[2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn a_client_that_hangs_within_a_message_hangs_alone() {
    beside_another(
        |_| {},
        |name, root| {
            let mut raw = Raw::open(name);
            raw.send(&call_bytes([0, 0], 0, 0)[..30]);
            for _ in 0..20 {
                assert_eq!(echo(root, b"meanwhile"), Ok(b"meanwhile".to_vec()));
            }
            raw.0.shutdown(std::net::Shutdown::Write).expect("open until here");
            raw.wait_for_the_end();
        },
    );
}

#[test]
fn a_client_that_reads_no_answers_hangs_alone() {
    beside_another(
        |_| {},
        |name, root| {
            let mut raw = Raw::open(name);
            raw.0.set_write_timeout(Some(Duration::from_millis(100))).expect("a timeout");
            let ping = call_bytes([0, 0], 0, 0);
            while raw.0.write_all(&ping).is_ok() {}
            assert_eq!(echo(root, b"meanwhile"), Ok(b"meanwhile".to_vec()));
        },
    );
}

#[test]
fn a_flood_of_oneways_ends_the_session() {
    beside_another(
        |server| {
            server.set_limits(Limits { max_queued_oneways: 100, ..Limits::default() });
        },
        |name, _| {
            let mut raw = Raw::open(name);
            // The root is sent once before it can be called. The first of the calls never comes.
            let mut root = call_bytes([0, 0], 0, 0);
            root[24..28].copy_from_slice(&[0; 4]);
            raw.send(&root);
            for order in 1..200 {
                raw.send(&call_bytes([3, 0], 1, order));
            }
            raw.wait_for_the_end();
        },
    );
}
