//! Every AIDL type over RPC Binder, in each version of the protocol.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use aidl_tests::aidl::anybinder::test::ITest::ITest;
use aidl_tests::service::new_test_service;
use aidl_tests::suite::{self, Without};
use binder::transport::rpc::{FileDescriptorTransportMode, ProtocolVersion, RpcServer, RpcSession};

fn check(version: ProtocolVersion, without: Without) {
    let name = format!("anybinder-aidl-{}-{version:?}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let listener = UnixListener::bind_addr(&address).unwrap();
    let service = new_test_service();
    let server = RpcServer::new_bound_socket(service.as_binder(), listener.into()).unwrap();
    server.set_max_threads(3);
    server.set_supported_file_descriptor_transport_modes(&[
        FileDescriptorTransportMode::None,
        FileDescriptorTransportMode::Unix,
    ]);
    server.start().unwrap();
    let session = RpcSession::new();
    session.set_protocol_version(version);
    session.set_max_incoming_threads(2);
    if !without.files {
        session.set_file_descriptor_transport_mode(FileDescriptorTransportMode::Unix);
    }
    let root = session.connect_unix(format!("\0{name}")).unwrap();
    let test = root.into_interface::<dyn ITest>().unwrap();
    assert!(test.as_binder().is_remote());
    suite::run(&test, without);
    drop(test);
    server.shutdown().unwrap();
}

#[test]
fn every_type_travels_in_version_0() {
    check(ProtocolVersion::V0, Without { files: true, ..Without::default() });
}

#[test]
fn every_type_travels_in_version_1() {
    check(ProtocolVersion::V1, Without::default());
}

#[test]
fn every_type_travels_in_version_2() {
    check(ProtocolVersion::V2, Without::default());
}
