//! RPC Binder: our server with rsbinder's client, rsbinder's server with our client.

#![expect(clippy::unwrap_used, reason = "a test is to end at what goes wrong")]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use aidl_tests::aidl::foreign::IHost::IHost;
use binder::transport::rpc::{FileDescriptorTransportMode, ProtocolVersion, RpcServer, RpcSession};
use binder::{DeathRecipient, FromIBinder, IBinder, Strong};
use binder_testkit::{HANG_TIMEOUT, wait_until};
use foreign::IHost::IHost as TheirHost;
use foreign::library::host;
use foreign::library::visitor::Visitor;
use interop::client;
use rsbinder::Interface as _;
use rsbinder::rpc as theirs;

const VERSIONS: [(u32, ProtocolVersion); 3] =
    [(0, ProtocolVersion::V0), (1, ProtocolVersion::V1), (2, ProtocolVersion::V2)];

/// How long it may take on a busy machine.
const GIVEN_BACK_WITHIN: Duration = Duration::from_secs(20);

fn socket(directory: &tempfile::TempDir) -> PathBuf {
    directory.path().join("socket")
}

/// Starts our server and connects their client.
fn our_server(
    version: u32,
    incoming: u32,
) -> (RpcServer, theirs::RpcSession, rsbinder::Strong<dyn TheirHost>, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let path = socket(&directory);
    let server = RpcServer::new_unix(host::new_host().as_binder(), &path).unwrap();
    server.set_max_threads(4);
    let modes = [FileDescriptorTransportMode::None, FileDescriptorTransportMode::Unix];
    server.set_supported_file_descriptor_transport_modes(&modes);
    server.start().unwrap();
    let mut config = theirs::RpcClientConfig::unix(&path, version)
        .outgoing_connections(4)
        .incoming_connections(incoming)
        .timeout(HANG_TIMEOUT);
    if version > 0 {
        config = config.fd_mode(theirs::FileDescriptorTransportMode::Unix);
    }
    let session = theirs::RpcSession::setup_client_android13plus_with_config(config).unwrap();
    assert_eq!(session.wire_protocol_version(), Some(version));
    let root = session.get_root().unwrap();
    let host = <dyn TheirHost as rsbinder::FromIBinder>::try_from(root).unwrap();
    (server, session, host, directory)
}

/// Starts their server and connects our client.
fn their_server(
    version: u32,
    ours: ProtocolVersion,
    incoming: usize,
) -> (Arc<theirs::RpcServer>, RpcSession, Strong<dyn IHost>, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let path = socket(&directory);
    let server = theirs::RpcServer::setup_unix_server(&path).unwrap();
    server.set_android13plus(version);
    server.set_max_threads(4);
    server.set_supported_fd_modes(&[
        theirs::FileDescriptorTransportMode::None,
        theirs::FileDescriptorTransportMode::Unix,
    ]);
    server.set_root(foreign::host::new_host().as_binder()).unwrap();
    drop(server.run_background());
    let session = RpcSession::new();
    session.set_max_incoming_threads(incoming);
    if version > 0 {
        session.set_file_descriptor_transport_mode(FileDescriptorTransportMode::Unix);
    }
    let root = session.connect_unix(&path).unwrap();
    assert_eq!(session.protocol_version(), Some(ours));
    let host = <dyn IHost as FromIBinder>::try_from(root).unwrap();
    (server, session, host, directory)
}

#[test]
fn their_client_uses_our_server() {
    for (version, _) in VERSIONS {
        let (server, session, host, _directory) = our_server(version, 1);
        foreign::client::check(&host).unwrap();
        if version > 0 {
            foreign::client::check_files(&host).unwrap();
        }
        drop(host);
        session.close_session();
        wait_until(|| server.sessions() == 0);
    }
}

#[test]
fn our_client_uses_their_server() {
    for (version, ours) in VERSIONS {
        // Their server releases an object that it has called once it has read what it is owed for that call, and reads only while it waits for
        // a reply: that may be at its next call, which does not come.
        let is_given_back = (0..3).any(|_| all_is_given_back(version, ours));
        assert!(is_given_back, "version {version}");
    }
}

/// Uses their server for everything, and says whether it gives back what it was shown.
fn all_is_given_back(version: u32, ours: ProtocolVersion) -> bool {
    let (server, session, host, _directory) = their_server(version, ours, 1);
    client::check(&host);
    if version > 0 {
        client::files(&host);
    }
    // What was opened and dropped has been given back; the root is left.
    let until = Instant::now() + GIVEN_BACK_WITHIN;
    let is_given_back = loop {
        drop(host.openSession("another").unwrap());
        let is_so = session.objects() == (0, 1);
        if is_so || Instant::now() >= until {
            break is_so;
        }
    };
    // Their server reads nothing on a connection that it has no call to make on, so that the
    // end of these calls is not noticed.
    client::callbacks(&host);
    drop((host, session));
    server.terminate();
    is_given_back
}

/// Waits until the host has noticed the end of its guest, which another client asks.
fn await_departure(directory: &tempfile::TempDir) {
    let session = RpcSession::new();
    let root = session.connect_unix(socket(directory)).unwrap();
    let host = <dyn IHost as FromIBinder>::try_from(root).unwrap();
    host.awaitDeparture("guest").unwrap();
}

#[test]
fn each_learns_of_the_others_end() {
    // Their client goes, with an object that our host watches.
    let (server, session, host, directory) = our_server(2, 1);
    let (visitor, _heard) = foreign::client::Visitor::new_binder(&host);
    host.admit("guest", &visitor).unwrap();
    session.close_session();
    wait_until(|| server.sessions() == 0);
    await_departure(&directory);

    // Their server goes.
    let (server, session, host, _directory) = their_server(2, ProtocolVersion::V2, 1);
    let (tell, told) = channel();
    let recipient = DeathRecipient::new(move || tell.send(()).unwrap());
    host.as_binder().link_to_death(&recipient).unwrap();
    server.terminate();
    told.recv_timeout(HANG_TIMEOUT).unwrap();
    assert!(host.greet("nobody").is_err());
    assert!(session.ended().is_some());

    // Our client goes, with an object that their host watches.
    let (server, session, host, directory) = their_server(2, ProtocolVersion::V2, 1);
    let (visitor, _heard) = Visitor::new_binder(&host);
    host.admit("guest", &visitor).unwrap();
    session.shutdown();
    await_departure(&directory);
    server.terminate();

    // Our server goes.
    let (server, session, host, _directory) = our_server(2, 1);
    server.shutdown().unwrap();
    assert!(host.greet("nobody").is_err());
    wait_until(|| session.is_ended());
}

#[test]
fn a_protocol_older_than_the_first_version_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = socket(&directory);
    let server = RpcServer::new_unix(host::new_host().as_binder(), &path).unwrap();
    server.set_handshake_timeout(Duration::from_millis(200));
    server.start().unwrap();
    // Their default speaks as Android 12 did, before there were versions.
    let session = theirs::RpcSession::setup_unix_client(&path);
    let refused = session.and_then(|session| {
        session.set_timeout(Some(HANG_TIMEOUT));
        session.get_root()
    });
    assert!(refused.is_err());
    assert_eq!(server.sessions(), 0);

    let server = theirs::RpcServer::setup_unix_server(directory.path().join("old")).unwrap();
    server.set_handshake_timeout(Some(Duration::from_millis(200)));
    drop(server.run_background());
    let session = RpcSession::new();
    session.set_handshake_timeout(Duration::from_secs(2));
    let refused = session.connect_unix(directory.path().join("old"));
    assert!(refused.is_err());
    server.terminate();
}
