//! The report of a published server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::peer::PeerIdentity;
use super::admitted::AdmittedSession;
use super::json::JsonObject;
use super::statistics::{ResourceUse, ServerStatistics};
use super::{Inner, SharedSession};

/// How many sessions are told of one by one: those that began first.
const TOLD_SESSIONS: usize = 1_000;

/// A session at one moment.
struct SessionReport {
    number: u64,
    peer: PeerIdentity,
    age: Duration,
    connections: usize,
    own_objects: usize,
    client_objects: usize,
    calls: u64,
    received_bytes: u64,
    sent_bytes: u64,
}

impl Inner {
    /// Appends what there is at this moment, as a line. It tells nothing by which a client could join another's session.
    pub(super) fn write_report(&self, text: &mut String) {
        let Some(listener) = self.listener() else { return };
        let statistics = self.statistics();
        let sessions = self.session_reports();
        JsonObject::write(text, |server| {
            server.text("kind", Some("rpc_server"));
            server.text("transport", Some(listener.transport()));
            server.text("address", listener.address().as_deref());
            write_statistics(server, &statistics);
            server.list("clients", sessions, |object, session| session.write(object));
        });
        text.push('\n');
    }

    fn session_reports(&self) -> Vec<SessionReport> {
        let now = Instant::now();
        let mut sessions: Vec<_> = {
            let state = self.state();
            let of = |session: &AdmittedSession| {
                let age = now.saturating_duration_since(session.began);
                (session.number, session.peer.clone(), age, Arc::clone(&session.shared))
            };
            state.sessions.values().map(of).collect()
        };
        sessions.sort_unstable_by_key(|(number, ..)| *number);
        sessions.truncate(TOLD_SESSIONS);
        let report = |(number, peer, age, shared): (_, _, _, Arc<SharedSession>)| {
            let connections = shared.connections();
            let table = shared.table();
            let (own_objects, client_objects) = table.session.objects();
            let served = table.served;
            SessionReport {
                number,
                peer,
                age,
                connections,
                own_objects,
                client_objects,
                calls: served.calls,
                received_bytes: served.received_bytes,
                sent_bytes: served.sent_bytes,
            }
        };
        sessions.into_iter().map(report).collect()
    }
}

impl SessionReport {
    fn write(&self, object: &mut JsonObject<'_>) {
        object.number("number", self.number);
        object.text("peer", Some(&self.peer.address().to_string()));
        object.number("uid", self.peer.uid().map(u64::from));
        object.text("certificate", self.peer.certified_name().as_deref());
        object.number("age_ms", u64::try_from(self.age.as_millis()).unwrap_or(u64::MAX));
        object.number("connections", self.connections as u64);
        object.number("own_objects", self.own_objects as u64);
        object.number("client_objects", self.client_objects as u64);
        object.number("calls", self.calls);
        object.number("received_bytes", self.received_bytes);
        object.number("sent_bytes", self.sent_bytes);
    }
}

fn write_statistics(server: &mut JsonObject<'_>, it: &ServerStatistics) {
    server.number("sessions", it.sessions as u64);
    server.number("threads", it.threads as u64);
    server.number("own_objects", it.own_objects as u64);
    server.number("client_objects", it.client_objects as u64);
    server.number("accepted", it.accepted);
    server.number("refused", it.refused);
    let resources = [
        ("connections", it.connections),
        ("handshakes", it.handshakes),
        ("objects", it.objects),
        ("waiting_bytes", it.waiting_bytes),
        ("waiting_files", it.waiting_files),
        ("streams", it.streams),
    ];
    server.list("resources", resources, |object, (name, usage): (_, ResourceUse)| {
        object.text("name", Some(name));
        object.number("held", usage.held as u64);
        object.number("limit", usage.limit.map(|limit| limit as u64));
        object.number("peers", usage.peers as u64);
        object.number("most_of_a_peer", usage.most_of_a_peer as u64);
    });
}
