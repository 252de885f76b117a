//! RPC Binder over vsock, within this machine.

use aidl_tests::aidl::foreign::IHost::IHost;
use binder::transport::rpc::{RpcError, RpcServer, RpcSession};
use binder::{FromIBinder, IBinder};
use foreign::library::host;
use interop::client;

/// Whatever its number, this machine (`VMADDR_CID_LOCAL`, `VMADDR_CID_ANY`).
const LOCAL: u32 = 1;
const ANY: u32 = u32::MAX;
/// The machine that this one runs on, if it is a virtual one (`VMADDR_CID_HOST`).
const HOST: u32 = 2;

/// What a system without vsock says, and one without a way to itself: no such device, network or
/// address, not supported, nobody answered.
const WITHOUT: [i32; 5] = [19, 97, 99, 101, 110];

/// Says why vsock cannot be had here, or fails.
fn skip(error: &RpcError) {
    let RpcError::System { error: cause, .. } = error else {
        panic!("{error}");
    };
    assert!(cause.raw_os_error().is_some_and(|errno| WITHOUT.contains(&errno)), "{error}");
    binder_testkit::skip(format_args!(
        "no vsock to this machine itself (module vsock_loopback): {error}"
    ));
}

#[test]
fn everything_works_over_vsock() {
    let server = match RpcServer::new_vsock(host::new_host().as_binder(), ANY, ANY) {
        Ok(server) => server,
        Err(error) => return skip(&error),
    };
    let port = server.vsock_port().unwrap();
    server.set_max_threads(2);
    server.start().unwrap();
    let session = RpcSession::new();
    session.set_max_incoming_threads(1);
    let root = match session.connect_vsock(LOCAL, port) {
        Ok(root) => root,
        Err(error) => return skip(&error),
    };
    let host = <dyn IHost as FromIBinder>::try_from(root).unwrap();
    client::check(&host);
    client::callbacks(&host);
    assert!(host.callerPid().unwrap() > 4_194_304, "nobody whom this machine knows");
    assert!(host.lend("no files over vsock").is_err());
    server.shutdown().unwrap();
    assert!(host.as_binder().ping_binder().is_err());
}

#[test]
fn a_server_of_one_machine_refuses_others() {
    // The number is the client's: no server can bind it.
    let server = match RpcServer::new_vsock(host::new_host().as_binder(), HOST, ANY) {
        Ok(server) => server,
        Err(RpcError::System { error, .. }) if error.raw_os_error() == Some(99) => {
            panic!("it took the client's number for its own: {error}")
        }
        Err(error) => return skip(&error),
    };
    server.start().unwrap();
    let session = RpcSession::new();
    match session.connect_vsock(LOCAL, server.vsock_port().unwrap()) {
        Ok(_) => panic!("this machine is not its own host"),
        Err(RpcError::Ended(_) | RpcError::ClosedAtOpening) => {}
        Err(error) => skip(&error),
    }
    server.shutdown().unwrap();
}
