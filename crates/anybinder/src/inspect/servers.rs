//! RPC servers that programs publish: of this user's programs, and for root of all users'.

use binder::transport::rpc::{PublishedReport, published_reports};
use serde::{Deserialize, Serialize};

use super::name_of;
use super::table::RecordTable;
use super::transactions::age;

/// A server, with the process that says that it has it.
#[derive(Debug, Serialize)]
pub(crate) struct PublishedServer {
    pub(crate) pid: u32,
    pub(crate) uid: u32,
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) record: ServerRecord,
}

/// A server, as its process describes it. Programs have the library built in, which may be older or newer than this one.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ServerRecord {
    kind: String,
    transport: String,
    address: Option<String>,
    sessions: u64,
    threads: u64,
    own_objects: u64,
    client_objects: u64,
    accepted: u64,
    refused: u64,
    resources: Vec<ResourceRecord>,
    pub(crate) clients: Vec<SessionRecord>,
}

/// The use of a resource by the clients of a server.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct ResourceRecord {
    name: String,
    held: u64,
    limit: Option<u64>,
    peers: u64,
    most_of_a_peer: u64,
}

/// A session of a server.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SessionRecord {
    pub(crate) number: u64,
    peer: String,
    uid: Option<u32>,
    certificate: Option<String>,
    age_ms: u64,
    connections: u64,
    own_objects: u64,
    client_objects: u64,
    pub(crate) calls: u64,
    received_bytes: u64,
    sent_bytes: u64,
}

impl PublishedServer {
    /// Asks all processes that publish some.
    pub(crate) fn all() -> Vec<Self> {
        published_reports().iter().flat_map(Self::of).collect()
    }

    /// The servers of a process, as far as its lines are understood.
    fn of(report: &PublishedReport) -> Vec<Self> {
        let records = report.text.lines().filter_map(|line| serde_json::from_str(line).ok());
        let records = records.filter(|record: &ServerRecord| record.kind == "rpc_server");
        let (pid, uid) = (report.pid, report.uid);
        records.map(|record| Self { pid, uid, name: name_of(pid), record }).collect()
    }

    /// Where clients find it, behind the kind of its socket.
    pub(crate) fn place(&self) -> String {
        let ServerRecord { transport, address, .. } = &self.record;
        format!("{transport} {}", address.as_deref().unwrap_or("-"))
    }

    /// How much is held of a resource, of how much.
    fn usage(&self, name: &str) -> String {
        let Some(found) = self.record.resources.iter().find(|it| it.name == name) else {
            return "-".into();
        };
        let limit = found.limit.map_or("-".into(), |limit| limit.to_string());
        format!("{}/{limit}", found.held)
    }
}

impl SessionRecord {
    /// The client: by its certificate, or else by its address and user.
    pub(crate) fn client(&self) -> String {
        match (&self.certificate, self.uid) {
            (Some(name), _) => format!("{name} at {}", self.peer),
            (None, Some(uid)) => format!("{} of user {uid}", self.peer),
            (None, None) => self.peer.clone(),
        }
    }

    /// How many calls it has made in a second, on average.
    #[expect(clippy::cast_precision_loss, reason = "to be read by people")]
    pub(crate) fn mean_rate(&self) -> f64 {
        self.calls as f64 * 1e3 / self.age_ms.max(1) as f64
    }
}

/// The servers, and below them their sessions, if there are some; `rate` tells the calls of a session in a second.
pub(crate) fn servers_tables(
    servers: &[PublishedServer],
    rate: impl Fn(&PublishedServer, &SessionRecord) -> f64,
) -> String {
    let mut table = RecordTable::new([
        ">PID",
        "NAME",
        ">UID",
        "RPC SERVER",
        ">SESSIONS",
        ">THREADS",
        ">CONNECTIONS",
        ">OBJECTS",
        ">WAITING BYTES",
        ">ACCEPTED",
        ">REFUSED",
    ]);
    let mut sessions = RecordTable::new([
        ">PID",
        "RPC SERVER",
        ">SESSION",
        "CLIENT",
        ">CALLS",
        ">CALLS/s",
        ">RECEIVED",
        ">SENT",
        ">OBJECTS",
        ">CONNECTIONS",
        ">AGE",
    ]);
    for server in servers {
        let record = &server.record;
        table.row([
            server.pid.to_string(),
            server.name.clone(),
            server.uid.to_string(),
            server.place(),
            record.sessions.to_string(),
            record.threads.to_string(),
            server.usage("connections"),
            server.usage("objects"),
            server.usage("waiting_bytes"),
            record.accepted.to_string(),
            record.refused.to_string(),
        ]);
        for session in &record.clients {
            sessions.row([
                server.pid.to_string(),
                server.place(),
                session.number.to_string(),
                session.client(),
                session.calls.to_string(),
                format!("{:.0}", rate(server, session)),
                session.received_bytes.to_string(),
                session.sent_bytes.to_string(),
                session.own_objects.saturating_add(session.client_objects).to_string(),
                session.connections.to_string(),
                age(session.age_ms),
            ]);
        }
    }
    let tables = [table.text_if_any(), sessions.text_if_any()];
    tables.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
impl PublishedServer {
    /// A server with one session.
    pub(crate) fn with_session(pid: u32, age_ms: u64, calls: u64) -> Self {
        let peer = "10.0.0.1:9".to_owned();
        let session = SessionRecord { peer, age_ms, calls, ..SessionRecord::default() };
        let record = ServerRecord { clients: vec![session], ..ServerRecord::default() };
        Self { pid, uid: 0, name: "server".into(), record }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_other_versions_are_read_as_far_as_they_are_understood() {
        let text = r#"{"kind":"rpc_server","transport":"tcp","address":"127.0.0.1:7","new":[1],"clients":[{"peer":"a\u001b","calls":3}]}
{"kind":"rpc_client"}
nothing
"#;
        let report = PublishedReport { pid: 0, uid: 7, text: text.to_owned() };
        let servers = PublishedServer::of(&report);
        assert_eq!((servers.len(), servers[0].uid, servers[0].record.clients[0].calls), (1, 7, 3));
        let shown = servers_tables(&servers, |_, session| session.mean_rate());
        assert!(shown.contains("tcp 127.0.0.1:7") && !shown.contains('\u{1b}'), "{shown}");
        assert_eq!(servers_tables(&[], |_, session| session.mean_rate()), "");
    }
}
