//! Every type of our test interface, over sockets.

#![expect(clippy::unwrap_used, reason = "a test is to end at what goes wrong")]

use aidl_tests::service::new_test_service;
use aidl_tests::suite::{self, Without};
use binder::transport::rpc::{FileDescriptorTransportMode, ProtocolVersion, RpcServer, RpcSession};

fn run(version: ProtocolVersion, mode: FileDescriptorTransportMode) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let server = RpcServer::new_unix(new_test_service().as_binder(), &path).unwrap();
    server.set_max_threads(3);
    server.set_supported_file_descriptor_transport_modes(&[mode]);
    server.start().unwrap();
    let session = RpcSession::new();
    session.set_protocol_version(version);
    session.set_max_incoming_threads(1);
    session.set_file_descriptor_transport_mode(mode);
    let test = session.setup_unix_domain_client(path.to_str().unwrap()).unwrap();
    let files = mode == FileDescriptorTransportMode::None;
    suite::run(&test, Without { files, ..Without::default() });
    server.shutdown().unwrap();
}

#[test]
fn every_type_travels_in_every_version() {
    run(ProtocolVersion::V0, FileDescriptorTransportMode::None);
    run(ProtocolVersion::V1, FileDescriptorTransportMode::Unix);
    run(ProtocolVersion::V2, FileDescriptorTransportMode::Unix);
}
