//! Peers that break the rules: their own session ends, others go on.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use binder_rpc::handshake;
use binder_rpc::{CallDirection, ProtocolVersion, encode};

use super::raw::{Raw, call_bytes};
use super::service::*;
use crate::SpIBinder;
use crate::transport::rpc::{Ending, RpcError, RpcServer, RpcSession, SessionLimits};

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
    let good = handshake::open(
        ProtocolVersion::V1,
        CallDirection::Outgoing,
        handshake::FdMode::None,
        None,
    );
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
    let joins = handshake::open(ProtocolVersion::V1, CallDirection::Outgoing, mode, Some(&unknown));
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
fn a_call_of_the_callers_own_object_ends_the_session() {
    ends_its_session(&call_bytes([1, 0], 0, 0));
}

#[test]
fn a_reply_without_a_call_ends_the_session() {
    let limits = SessionLimits::default();
    let reply = encode::reply(ProtocolVersion::V1, 0, encode::Extent::default(), &limits);
    ends_its_session(&reply.expect("a short reply"));
}

#[test]
fn an_unknown_command_or_length_ends_the_session() {
    ends_its_session(&[9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    ends_its_session(&[0, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0, 0, 0, 0, 0]);
    ends_its_session(&[2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
}

/// How long peers may stop within a message in these tests, and that is not long.
const STALL: Duration = Duration::from_millis(400);

fn few_stalls(server: &RpcServer) {
    server.set_limits(SessionLimits { max_stall: STALL, ..SessionLimits::default() });
}

#[test]
fn a_client_that_stops_within_a_message_is_given_up() {
    let ping = call_bytes([0, 0], 0, 0);
    for sent in [1, 10, 16, 30, ping.len() - 1] {
        beside_another(few_stalls, |name, root| {
            let mut raw = Raw::open(name);
            raw.send(&ping[..sent]);
            assert_eq!(echo(root, b"meanwhile"), Ok(b"meanwhile".to_vec()));
            raw.wait_for_the_end();
        });
    }
}

#[test]
fn a_client_that_sends_a_message_byte_by_byte_is_given_up() {
    beside_another(few_stalls, |name, _| {
        let mut raw = Raw::open(name);
        let start = std::time::Instant::now();
        for byte in call_bytes([0, 0], 0, 0).into_iter().cycle() {
            if raw.0.write_all(&[byte]).is_err() {
                break;
            }
            assert!(start.elapsed() < HANG_TIMEOUT, "it goes on for ever");
            std::thread::sleep(STALL / 5);
        }
        raw.wait_for_the_end();
    });
}

#[test]
fn clients_that_stop_within_messages_keep_no_other_out() {
    let set_up = |server: &RpcServer| {
        few_stalls(server);
        server.set_max_connections(20);
        server.set_max_connections_per_peer(20);
    };
    beside_another(set_up, |name, _| {
        let ping = call_bytes([0, 0], 0, 0);
        let stopped: Vec<_> = (0..19)
            .map(|_| {
                let mut raw = Raw::open(name);
                raw.send(&ping[..10]);
                raw
            })
            .collect();
        wait_until(|| RpcSession::new().connect_unix(name).is_ok());
        stopped.into_iter().for_each(Raw::wait_for_the_end);
    });
}

#[test]
fn one_that_is_idle_between_messages_is_not_given_up() {
    let (_view, server, name) = start(few_stalls);
    let (_session, root) = connect(&name, |session| {
        session.set_max_outgoing_connections(1);
        session.set_limits(SessionLimits { max_stall: STALL, ..SessionLimits::default() });
    });
    for length in [300_000, 3] {
        // A long message comes in several reads.
        let bytes = vec![7; length];
        assert_eq!(echo(&root, &bytes).as_ref(), Ok(&bytes));
        std::thread::sleep(STALL * 2);
    }
    assert_eq!(server.sessions(), 1);
}

#[test]
fn an_answer_that_takes_its_time_is_waited_for() {
    let (view, _server, name) = start(few_stalls);
    let (_session, root) = connect(&name, |session| {
        session.set_max_outgoing_connections(1);
        session.set_limits(SessionLimits { max_stall: STALL, ..SessionLimits::default() });
    });
    let long = vec![7; 300_000];
    assert_eq!(echo(&root, &long).as_ref(), Ok(&long));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| call(&root, WAIT, 0, |_| Ok(())).err());
        std::thread::sleep(STALL * 2);
        view.gate.send(()).expect("it waits");
        assert_eq!(waiting.join().expect("no panic"), None);
    });
    assert_eq!(echo(&root, &long).as_ref(), Ok(&long));
}

#[test]
fn a_client_that_reads_no_answers_is_given_up() {
    beside_another(few_stalls, |name, root| {
        let mut raw = Raw::open(name);
        let ping = call_bytes([0, 0], 0, 0);
        while raw.0.write_all(&ping).is_ok() {}
        assert_eq!(echo(root, b"meanwhile"), Ok(b"meanwhile".to_vec()));
        raw.wait_for_the_end();
    });
}

#[test]
fn a_server_that_stops_within_an_answer_is_given_up() {
    let limits = SessionLimits::default();
    let extent = encode::Extent { parcel_bytes: 4, positions: 0 };
    let answer = encode::reply(ProtocolVersion::V1, 0, extent, &limits).expect("a short reply");
    let (near, far) = UnixStream::pair().expect("a pair");
    let server = std::thread::spawn(move || {
        let mut raw = Raw(far);
        raw.send(&handshake::response(ProtocolVersion::V1));
        // The opening, and the first call.
        let mut opening = [0; 24 + 56];
        raw.0.read_exact(&mut opening).expect("an opening");
        raw.send(&answer);
        raw.wait_for_the_end();
    });
    let mut near = Some(near.into());
    let session = RpcSession::new();
    session.set_protocol_version(ProtocolVersion::V1);
    session.set_limits(SessionLimits { max_stall: STALL, ..SessionLimits::default() });
    let refused = session.connect_preconnected(move || near.take());
    let after = STALL;
    assert!(
        matches!(
            refused,
            Err(RpcError::Ended(Ending::Stalled { received: 36, expected: 40, after: it }))
                if it == after
        ),
        "{refused:?}"
    );
    server.join().expect("the client closes");
}

#[test]
fn a_flood_of_oneways_ends_the_session() {
    beside_another(
        |server| {
            server
                .set_limits(SessionLimits { max_queued_oneways: 100, ..SessionLimits::default() });
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
