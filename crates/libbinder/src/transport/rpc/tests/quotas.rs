//! What all clients of a server hold together, and what one of them leaves to others.

use std::fs;
use std::io::Read;
use std::os::fd::AsFd;

use binder_rpc::handshake::{self, FdMode};
use binder_rpc::{CallDirection, ProtocolVersion, SessionId, special};

use super::raw::{Raw, call_bytes, call_with_files};
use super::service::*;
use crate::transport::rpc::RpcSession;

impl Raw {
    /// Asks under which id other connections join.
    fn session_id(&mut self) -> SessionId {
        let mut ask = call_bytes([0, 0], 0, 0);
        ask[24..28].copy_from_slice(&special::GET_SESSION_ID.to_le_bytes());
        self.send(&ask);
        let answer = self.receive(16 + 20 + 4 + 32);
        answer[40..].try_into().expect("an id is 32 bytes")
    }

    /// Opens a connection for the server's calls; `None` if the server closes it.
    fn open_reverse(name: &str, id: &SessionId) -> Option<Self> {
        let mut raw = Self::connect(name);
        raw.send(&handshake::open(
            ProtocolVersion::V1,
            CallDirection::Incoming,
            FdMode::None,
            Some(id),
        ));
        let mut greeting = [0; 8];
        raw.0.read_exact(&mut greeting).is_ok().then_some(raw)
    }
}

/// Counts the sockets that a server has accepted, by the system's word.
fn accepted(name: &str) -> usize {
    let sockets = fs::read_to_string("/proc/net/unix").expect("a list of sockets");
    let name = name.replace('\0', "@");
    let of_server = sockets.lines().filter(|line| line.ends_with(&name));
    // All but the one that listens.
    of_server.filter(|line| line.split_whitespace().nth(5) == Some("03")).count()
}

#[test]
fn reverse_connections_count_and_leave_room_to_others() {
    let (_view, server, name) = start(|server| server.set_max_connections(80));
    let mut held = Vec::new();
    for _ in 0..100 {
        let mut raw = Raw::connect(&name);
        raw.send(&handshake::open(
            ProtocolVersion::V1,
            CallDirection::Outgoing,
            FdMode::None,
            None,
        ));
        if raw.0.read_exact(&mut [0; 8]).is_err() {
            break;
        }
        let id = raw.session_id();
        held.push(raw);
        held.extend((0..20).map_while(|_| Raw::open_reverse(&name, &id)));
    }
    assert_eq!(held.len(), 60, "one user's three quarters");
    wait_until(|| accepted(&name) == 60);
    assert_eq!(server.connections(), 60);
    // What is given up is free again.
    held.truncate(20);
    wait_until(|| RpcSession::new().connect_unix(&name).is_ok());
}

#[test]
fn oneways_of_all_sessions_wait_within_one_bound() {
    // Each without a parcel counts for 128 bytes, and one user may have 12 of them.
    let (_view, server, name) = start(|server| server.set_max_queued_bytes(16 * 128));
    let queue = |count: u64| {
        let mut raw = Raw::open(&name);
        raw.ask_for_root();
        // The first never comes.
        (1..=count).for_each(|order| raw.send(&call_bytes([3, 0], 1, order)));
        raw
    };
    let mut first = queue(8);
    first.ping();
    queue(8).wait_for_the_end();
    first.ping();
    wait_until(|| server.sessions() == 1);
    let mut third = queue(4);
    third.ping();
    third.send(&call_bytes([3, 0], 1, 5));
    third.wait_for_the_end();
    // The first runs, and all that waited for it.
    first.send(&call_bytes([3, 0], 1, 0));
    first.receive(16 + 16);
    wait_until(|| server.statistics().waiting_bytes.held == 0);
    queue(12).ping();
    first.ping();
}

#[test]
fn descriptors_of_unfinished_messages_wait_within_one_bound() {
    let (_view, server, name) = start(|server| {
        server.set_supported_file_descriptor_transport_modes(&[FdMode::Unix]);
        server.set_max_queued_files(16);
    });
    let file = fs::File::open("/dev/null").expect("it is everywhere");
    let begin = |count: usize| {
        let mut raw = Raw::open_with(&name, FdMode::Unix);
        raw.send_files(
            &call_with_files([0, 0], special::GET_MAX_THREADS, count)[..20],
            &vec![file.as_fd(); count],
        );
        raw
    };
    let go_on = |raw: &mut Raw, count: usize| {
        raw.send(&call_with_files([0, 0], special::GET_MAX_THREADS, count)[20..]);
        raw.receive(16 + 20 + 4);
    };
    // One user may have 12 of them.
    let (mut one, mut other) = (begin(8), begin(8));
    wait_until(|| one.has_ended() || other.has_ended());
    let mut first = if one.has_ended() { other } else { one };
    wait_until(|| server.sessions() == 1);
    go_on(&mut first, 8);
    let mut second = begin(12);
    go_on(&mut second, 12);
}
