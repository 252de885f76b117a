//! A gateway: a server whose objects are proxies of another session.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use super::service::*;
use crate::interface::FLAG_ONEWAY;
use crate::transport::rpc::{
    FileDescriptorTransportMode as FdMode, ProtocolVersion, RpcServer, RpcSession,
};
use crate::{IBinder, SpIBinder, StatusCode, TraceId, with_timeout, with_trace_id};

/// A service, a gateway before it, and a client of that.
struct Chain {
    view: View,
    server: RpcServer,
    far: RpcSession,
    _gateway: RpcServer,
    near: RpcSession,
    root: SpIBinder,
}

fn chain(set_up: impl Fn(&RpcSession)) -> Chain {
    let files = |server: &RpcServer| {
        server.set_supported_file_descriptor_transport_modes(&[FdMode::None, FdMode::Unix]);
    };
    let (view, server, name) = start(files);
    let (far, original) = connect(&name, |session| {
        session.set_file_descriptor_transport_mode(FdMode::Unix);
        session.set_max_incoming_threads(1);
    });
    let path = format!("{name}-gateway");
    let gateway = RpcServer::new_unix(original, &path).expect("a free name");
    files(&gateway);
    gateway.start().expect("a thread");
    let (near, root) = connect(&path, |session| {
        session.set_file_descriptor_transport_mode(FdMode::Unix);
        session.set_max_incoming_threads(1);
        set_up(session);
    });
    Chain { view, server, far, _gateway: gateway, near, root }
}

impl Chain {
    /// Has the service lose what it keeps.
    fn let_go(&self) {
        let kept = std::mem::take(&mut *self.view.service.kept.lock().expect("no panic"));
        drop(kept);
    }

    /// Waits until nothing but the root object is held anywhere.
    fn wait_until_at_rest(&self) {
        let passing = service();
        wait_until(|| {
            // What is given back for a one-way call lies unread until a proxy is dropped outside of calls.
            call(&self.root, KEEP, 0, |data| data.write_binder(Some(&passing.binder)))
                .expect("kept");
            self.let_go();
            echo(&self.root, b"on").is_ok()
                && self.near.objects() == (0, 1)
                && self.far.objects() == (0, 1)
        });
    }
}

#[test]
fn calls_answers_statuses_and_files_pass_a_gateway() {
    let chain = chain(|_| {});
    let root = &chain.root;
    assert_eq!(echo(root, &[7; 100_000]), Ok(vec![7; 100_000]));
    assert_eq!(root.ping_binder(), Ok(()));
    assert_eq!(root.interface_descriptor().as_deref(), Ok(DESCRIPTOR));
    assert_eq!(call(root, 99, 0, |_| Ok(())).err(), Some(StatusCode::UNKNOWN_TRANSACTION));
    let (_near, far) = UnixStream::pair().expect("a pair");
    let reply = call(root, FILE, 0, |data| data.write_file(far.as_fd())).expect("an answer");
    assert!(reply.read_file().is_ok());
    // The service sees the gateway.
    let caller = call(root, CALLER, 0, |_| Ok(())).expect("an answer");
    assert_eq!(read_number(&caller), Ok(std::process::id().cast_signed()));
    for number in 0..500 {
        note(root, number).expect("sent");
    }
    for number in 0..500 {
        assert_eq!(chain.view.noted.recv_timeout(HANG_TIMEOUT), Ok(number));
    }
    chain.wait_until_at_rest();
}

#[test]
fn objects_pass_a_gateway_and_come_home() {
    let chain = chain(|_| {});
    let root = &chain.root;
    let child = child(root).expect("a child");
    let number = call(&child, ECHO, 0, |data| write_number(data, 5)).expect("an answer");
    assert_eq!(read_number(&number), Ok(5));
    let returned = |binder: &SpIBinder| {
        call(root, RETURN, 0, |data| data.write_binder(Some(binder)))?.read_binder()
    };
    assert_eq!(returned(&child), Ok(Some(child.clone())));
    assert_eq!(returned(root), Ok(Some(root.clone())));
    let ours = service();
    let alone = Arc::strong_count(&ours.service);
    assert_eq!(returned(&ours.binder), Ok(Some(ours.binder.clone())));
    // Calls back find the caller that waits.
    let back = call(root, CALL_BACK, 0, |data| data.write_binder(Some(&ours.binder)));
    assert_eq!(back.and_then(|reply| read_number(&reply)), Ok(4));
    call(root, KEEP, 0, |data| data.write_binder(Some(&ours.binder))).expect("kept");
    call(root, NOTIFY, FLAG_ONEWAY, |data| write_number(data, 9)).expect("sent");
    assert_eq!(ours.noted.recv_timeout(HANG_TIMEOUT), Ok(9));
    // The service's own object is kept as itself.
    call(root, KEEP, 0, |data| data.write_binder(Some(root))).expect("kept");
    assert_eq!(chain.view.service.kept.lock().expect("no panic").last(), Some(&chain.view.binder),);
    drop(child);
    chain.let_go();
    chain.wait_until_at_rest();
    chain.view.wait_until_childless();
    wait_until(|| Arc::strong_count(&ours.service) == alone);
}

#[test]
fn a_deadline_passes_a_gateway_and_so_does_a_death() {
    let chain = chain(|_| {});
    let root = &chain.root;
    let minute = Duration::from_secs(60);
    let left = with_timeout(minute, || call(root, REMAINING, 0, |_| Ok(()))).expect("an answer");
    assert!((30_000..=60_000).contains(&read_number(&left).expect("a number")));
    chain.server.shutdown().expect("from outside of calls");
    wait_until(|| chain.far.ended().is_some());
    assert_eq!(root.ping_binder(), Err(StatusCode::DEAD_OBJECT));
    assert_eq!(chain.near.ended(), None, "the gateway goes on");
}

#[test]
fn the_id_of_a_request_passes_a_gateway_and_goes_with_calls_back() {
    let chain = chain(|_| {});
    let (root, ours) = (&chain.root, service());
    let traced = |code| {
        let told = call(root, code, 0, |data| data.write_binder(Some(&ours.binder)));
        told.and_then(|reply| read_number(&reply)).map(i32::cast_unsigned)
    };
    assert_eq!((traced(TRACED), traced(CALL_BACK_TRACED)), (Ok(0), Ok(0)));
    let id = TraceId::next();
    with_trace_id(id, || {
        assert_eq!((traced(TRACED), traced(CALL_BACK_TRACED)), (Ok(id.get()), Ok(id.get())));
    });
    assert_eq!(traced(TRACED), Ok(0));
}

#[test]
fn a_client_whose_version_does_not_list_objects_gets_none_of_another_transport() {
    let (_view, _server, name) = start(|_| {});
    let (_far, original) = connect(&name, |_| {});
    let path = format!("{name}-gateway");
    let gateway = RpcServer::new_unix(original, &path).expect("a free name");
    gateway.start().expect("a thread");
    let session = RpcSession::new();
    session.set_protocol_version(ProtocolVersion::V1);
    let refused = StatusCode::from(session.connect_unix(&path).expect_err("no root object"));
    assert_eq!(refused, StatusCode::INVALID_OPERATION);
}
