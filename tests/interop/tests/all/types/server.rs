//! Their server with our client.

use std::sync::Arc;

use aidl_tests::suite::{self, Without};
use binder::transport::rpc::{FileDescriptorTransportMode, ProtocolVersion, RpcSession};
use foreign::test_service::new_test_service;
use rsbinder::rpc as theirs;

/// Runs everything in one version of the protocol.
fn run(number: u32, version: ProtocolVersion, mode: FileDescriptorTransportMode) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let server = theirs::RpcServer::setup_unix_server(&path).unwrap();
    server.set_android13plus(number);
    server.set_max_threads(3);
    let has_files = mode == FileDescriptorTransportMode::Unix;
    let theirs = if has_files {
        theirs::FileDescriptorTransportMode::Unix
    } else {
        theirs::FileDescriptorTransportMode::None
    };
    server.set_supported_fd_modes(&[theirs]);
    server.set_root(new_test_service().as_binder()).unwrap();
    drop(server.run_background());
    let session = RpcSession::new();
    session.set_max_incoming_threads(1);
    session.set_file_descriptor_transport_mode(mode);
    let test = session.setup_unix_domain_client(path.to_str().unwrap()).unwrap();
    assert_eq!(session.protocol_version(), Some(version));
    suite::run(&test, Without { files: !has_files, ..Without::default() });
    drop((test, session));
    Arc::clone(&server).terminate();
}

#[test]
fn their_server_repeats_every_type_in_version_0() {
    run(0, ProtocolVersion::V0, FileDescriptorTransportMode::None);
}

#[test]
fn their_server_repeats_every_type_in_version_1() {
    run(1, ProtocolVersion::V1, FileDescriptorTransportMode::Unix);
}

#[test]
fn their_server_repeats_every_type_in_version_2() {
    run(2, ProtocolVersion::V2, FileDescriptorTransportMode::Unix);
}
