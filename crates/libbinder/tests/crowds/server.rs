//! A server in a process of its own.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::{env, fs};

use binder::binder_impl::{Binder, BorrowedParcel, Remotable, TransactionCode};
use binder::transport::rpc::RpcServer;
use binder::{Interface, StatusCode};
use rustix::process::{Resource, getrlimit, setrlimit};

/// In these variables the child finds the name of its socket, and how many connections it takes, if that is said.
const NAME: &str = "CROWDS_SERVER_NAME";
const CONNECTIONS: &str = "CROWDS_SERVER_CONNECTIONS";

/// Answers pings.
struct Nothing;

impl Remotable for Nothing {
    fn get_descriptor() -> &'static str {
        "test.Nothing"
    }

    fn on_transact(
        &self,
        _: TransactionCode,
        _: &BorrowedParcel<'_>,
        _: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        Err(StatusCode::UNKNOWN_TRANSACTION)
    }
}

/// Opens as many files as the system allows.
pub(crate) fn raise_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).expect("its own limit");
}

/// Whether that many files may be open; else the test says that it is left out.
pub(crate) fn may_open(files: u64) -> bool {
    raise_limit();
    let may = getrlimit(Resource::Nofile).current.is_none_or(|limit| limit >= files);
    if !may {
        binder_testkit::skip("too few files may be open");
    }
    may
}

/// The child; as a test of its own it does nothing.
#[test]
fn the_server_in_its_process() {
    let Ok(name) = env::var(NAME) else { return };
    raise_limit();
    let server = RpcServer::new_unix(Binder::new(Nothing).as_binder(), format!("\0{name}"));
    let server = server.expect("a free name");
    if let Ok(connections) = env::var(CONNECTIONS) {
        let connections = connections.parse().expect("a number");
        server.set_max_connections(connections);
        server.set_max_connections_per_peer(connections);
    }
    server.start().expect("a thread");
    println!("ready");
    // Until the test ends.
    let _ = std::io::stdin().read(&mut [0]);
}

pub(crate) struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It is ours and was not waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Server {
    /// Starts it, and returns it when it serves.
    pub(crate) fn start(name: &str, connections: Option<usize>) -> Self {
        let mut command = Command::new(env::current_exe().expect("a path"));
        command.args(["--exact", "server::the_server_in_its_process", "--nocapture"]);
        command.env(NAME, name).env_remove(CONNECTIONS);
        command.envs(connections.map(|number| (CONNECTIONS, number.to_string())));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = Self(command.spawn().expect("a process"));
        let stdout = server.0.stdout.take().expect("it is piped");
        let is_ready = |line: std::io::Result<String>| line.is_ok_and(|it| it.contains("ready"));
        assert!(BufReader::new(stdout).lines().any(is_ready), "it ended");
        server
    }

    /// Reads a number of the system's about the process.
    pub(crate) fn status(&self, field: &str) -> u64 {
        let path = format!("/proc/{}/status", self.0.id());
        let status = fs::read_to_string(path).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("a line");
        let number = line.trim_start_matches(':').split_whitespace().next();
        number.and_then(|number| number.parse().ok()).expect("a number")
    }
}
