//! What goes over the socket between the two libraries, taken down in between.
//!
//! `RECORD_TRACES=1 cargo test -p interop --test all traces` writes it where `binder-rpc` decodes it.

#![expect(clippy::unwrap_used, reason = "a test is to end at what goes wrong")]

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use aidl_tests::aidl::foreign::IHost::IHost;
use binder::FromIBinder;
use binder::transport::rpc::{ProtocolVersion, RpcServer, RpcSession};
use foreign::IHost::IHost as TheirHost;
use foreign::library::host;
use foreign::library::visitor::Visitor;
use rsbinder::Interface as _;
use rsbinder::rpc as theirs;

/// Passes bytes on and takes them down.
fn tap(mut from: UnixStream, mut to: UnixStream, mark: char, trace: &Mutex<String>) {
    let mut bytes = [0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let mut line = format!("{mark} ");
        bytes[..count].iter().for_each(|byte| write!(line, "{byte:02x}").unwrap());
        trace.lock().unwrap().push_str(&(line + "\n"));
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// Listens at `path` for one connection, to be passed on to `server`.
fn listen(path: &Path, server: PathBuf) -> (Arc<Mutex<String>>, thread::JoinHandle<()>) {
    let listener = UnixListener::bind(path).unwrap();
    let trace = Arc::new(Mutex::new(String::new()));
    let taken = Arc::clone(&trace);
    let passing = thread::spawn(move || {
        let (near, _) = listener.accept().unwrap();
        let far = UnixStream::connect(server).unwrap();
        thread::scope(|scope| {
            let (from, to) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            scope.spawn(|| tap(from, to, '>', &taken));
            tap(far, near, '<', &taken);
        });
    });
    (trace, passing)
}

fn keep(name: &str, trace: &Mutex<String>) {
    let trace = trace.lock().unwrap();
    assert!(trace.lines().count() > 10, "{trace}");
    if std::env::var_os("RECORD_TRACES").is_some() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
        let path = directory.join("../../crates/binder-rpc/tests/traces").join(name);
        std::fs::write(path, &*trace).unwrap();
    }
}

#[test]
fn their_client_is_heard_by_our_server() {
    for version in [0, 1, 2] {
        let directory = tempfile::tempdir().unwrap();
        let [near, far] = ["near", "far"].map(|name| directory.path().join(name));
        let server = RpcServer::new_unix(host::new_host().as_binder(), &far).unwrap();
        server.start().unwrap();
        let (trace, passing) = listen(&near, far);
        let config = theirs::RpcClientConfig::unix(&near, version);
        let session = theirs::RpcSession::setup_client_android13plus_with_config(config).unwrap();
        let root = session.get_root().unwrap();
        let host = <dyn TheirHost as rsbinder::FromIBinder>::try_from(root).unwrap();
        host.greet("trace").unwrap();
        let room = host.openSession("trace").unwrap();
        room.post(1).unwrap();
        room.awaitPosted(1).unwrap();
        let (visitor, _heard) = foreign::client::Visitor::new_binder(&host);
        host.nest(&host, &visitor, 1).unwrap();
        host.refuse(7, "no").unwrap_err();
        drop((visitor, room));
        host.greet("again").unwrap();
        drop(host);
        session.close_session();
        passing.join().unwrap();
        keep(&format!("v{version}_rsbinder_client"), &trace);
    }
}

#[test]
fn our_client_is_heard_by_their_server() {
    for (word, version) in
        [(0, ProtocolVersion::V0), (1, ProtocolVersion::V1), (2, ProtocolVersion::V2)]
    {
        let directory = tempfile::tempdir().unwrap();
        let [near, far] = ["near", "far"].map(|name| directory.path().join(name));
        let server = theirs::RpcServer::setup_unix_server(&far).unwrap();
        server.set_android13plus(2);
        server.set_root(foreign::host::new_host().as_binder()).unwrap();
        drop(server.run_background());
        let (trace, passing) = listen(&near, far);
        let session = RpcSession::new();
        session.set_max_outgoing_connections(1);
        session.set_protocol_version(version);
        let root = session.connect_unix(&near).unwrap();
        let host = <dyn IHost as FromIBinder>::try_from(root).unwrap();
        host.greet("trace").unwrap();
        let room = host.openSession("trace").unwrap();
        room.post(1).unwrap();
        room.awaitPosted(1).unwrap();
        let (visitor, _heard) = Visitor::new_binder(&host);
        host.nest(&host, &visitor, 1).unwrap();
        host.refuse(7, "no").unwrap_err();
        drop((visitor, room));
        host.greet("again").unwrap();
        drop((host, session));
        passing.join().unwrap();
        keep(&format!("v{word}_rsbinder_server"), &trace);
        server.terminate();
    }
}
