//! Calls, in all directions.

use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;

use super::service::*;
use crate::binder_impl::IBinderInternal as _;
use crate::transport::rpc::{FileDescriptorTransportMode, ProtocolVersion, RpcServer, RpcSession};
use crate::{IBinder, SpIBinder, StatusCode};

const VERSIONS: [ProtocolVersion; 3] =
    [ProtocolVersion::V0, ProtocolVersion::V1, ProtocolVersion::V2];

#[test]
fn a_call_brings_back_what_was_sent_at_any_length_and_version() {
    let (_view, _server, name) = start(|_| {});
    for version in VERSIONS {
        let (session, root) = connect(&name, |session| session.set_protocol_version(version));
        assert_eq!(session.protocol_version(), Some(version));
        for length in [0, 1, 63, 64, 1024, 4096, 16_384, 65_535, 65_537, 300_000, 5, 70_000] {
            let bytes: Vec<u8> = (0..length).map(|n: i32| n.to_le_bytes()[0]).collect();
            assert_eq!(echo(&root, &bytes).as_ref(), Ok(&bytes));
        }
        assert_eq!(root.ping_binder(), Ok(()));
        assert_eq!(call(&root, 77, 0, |_| Ok(())).err(), Some(StatusCode::UNKNOWN_TRANSACTION));
    }
}

#[test]
fn what_is_too_long_is_refused_and_the_session_goes_on() {
    let (_view, _server, name) = start(|_| {});
    let (_session, root) = connect(&name, |_| {});
    assert_eq!(echo(&root, &vec![0; 700_000]), Err(StatusCode::FAILED_TRANSACTION));
    assert_eq!(echo(&root, b"on"), Ok(b"on".to_vec()));
}

#[test]
fn a_call_back_comes_on_the_connection_on_which_its_caller_waits() {
    for version in VERSIONS {
        let (view, _server, name) = start(|_| {});
        // One connection only, and none for calls of the server.
        let (session, root) = connect(&name, |session| {
            session.set_max_outgoing_connections(1);
            session.set_protocol_version(version);
        });
        let ours = service();
        let reply = call(&root, CALL_BACK, 0, |data| data.write_binder(Some(&ours.binder)));
        assert_eq!(reply.and_then(|reply| read_number(&reply)), Ok(4));
        // Ten calls within each other.
        view.service.kept.lock().expect("no panic").push(view.binder.clone());
        ours.service.kept.lock().expect("no panic").push(ours.binder.clone());
        let reply = call(&root, PING_PONG, 0, |data| {
            write_number(data, 10)?;
            data.write_binder(Some(&ours.binder))
        });
        assert_eq!(reply.and_then(|reply| read_number(&reply)), Ok(10));
        // Too many.
        let reply = call(&root, PING_PONG, 0, |data| {
            write_number(data, 100)?;
            data.write_binder(Some(&ours.binder))
        });
        assert_eq!(reply.err(), Some(StatusCode::INVALID_OPERATION));
        assert_eq!(root.ping_binder(), Ok(()));
        view.service.kept.lock().expect("no panic").clear();
        ours.service.kept.lock().expect("no panic").clear();
        assert_eq!(root.ping_binder(), Ok(()));
        assert_eq!(session.objects(), (0, 1));
    }
}

#[test]
fn an_object_that_comes_home_is_itself() {
    let (view, _server, name) = start(|_| {});
    let (_session, root) = connect(&name, |_| {});
    call(&root, KEEP, 0, |data| data.write_binder(Some(&root))).expect("kept");
    let kept = view.service.kept.lock().expect("no panic").pop();
    assert_eq!(kept.as_ref(), Some(&view.binder));
    let child = child(&root).expect("a child");
    call(&root, KEEP, 0, |data| data.write_binder(Some(&child))).expect("kept");
    assert!(view.service.kept.lock().expect("no panic").pop().is_some_and(|it| !it.is_remote()));
}

#[test]
fn a_parcel_goes_over_the_session_that_it_was_made_for() {
    let (_view, _server, name) = start(|_| {});
    let ours = service();
    for of_another in [false, true] {
        let (_session, root) = connect(&name, |_| {});
        let (_other_session, other) = connect(&name, |_| {});
        let maker = if of_another { &other } else { &root };
        let mut data = maker.prepare_transact().expect("a parcel");
        data.write_binder(Some(&ours.binder)).expect("named by its session");
        let kept = root.submit_transact(KEEP, data, 0).map(drop);
        let expected = if of_another { Err(StatusCode::BAD_VALUE) } else { Ok(()) };
        assert_eq!(kept, expected);
        assert_eq!(echo(&root, b"on"), Ok(b"on".to_vec()), "and the session goes on");
    }
}

#[test]
fn oneways_to_an_object_run_in_their_order_over_several_connections() {
    let (view, _server, name) = start(|server| server.set_max_threads(4));
    let (_session, root) = connect(&name, |_| {});
    for number in 0..5_000 {
        note(&root, number).expect("sent");
    }
    for number in 0..5_000 {
        assert_eq!(view.noted.recv_timeout(HANG_TIMEOUT), Ok(number));
    }
}

#[test]
fn a_call_does_not_wait_for_a_oneway_before_it_if_there_is_another_connection() {
    let (view, _server, name) = start(|server| server.set_max_threads(2));
    let (_session, root) = connect(&name, |_| {});
    call(&root, WAIT, crate::interface::FLAG_ONEWAY, |_| Ok(())).expect("sent");
    assert_eq!(echo(&root, b"now"), Ok(b"now".to_vec()));
    view.gate.send(()).expect("it waits");
}

#[test]
fn many_oneways_in_both_directions_do_not_stop_each_other() {
    let (view, _server, name) = start(|server| server.set_max_threads(2));
    let (_session, root) = connect(&name, |session| session.set_max_incoming_threads(2));
    let ours = service();
    call(&root, KEEP, 0, |data| data.write_binder(Some(&ours.binder))).expect("kept");
    let flags = crate::interface::FLAG_ONEWAY;
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..4_000 {
                note(&root, number).expect("sent");
            }
        });
        for number in 0..4_000 {
            call(&root, NOTIFY, flags, |data| write_number(data, number)).expect("sent");
        }
    });
    for number in 0..4_000 {
        assert_eq!(view.noted.recv_timeout(HANG_TIMEOUT), Ok(number));
        assert_eq!(ours.noted.recv_timeout(HANG_TIMEOUT), Ok(number));
    }
    call(&root, FORGET, 0, |_| Ok(())).expect("forgotten");
}

#[test]
fn threads_share_a_session_with_one_connection_or_several() {
    for connections in [1, 4] {
        let (_view, _server, name) = start(|server| server.set_max_threads(connections));
        let (_session, root) = connect(&name, |_| {});
        thread::scope(|scope| {
            for thread in 0..8_u8 {
                let root = &root;
                scope.spawn(move || {
                    for round in 0..200_u8 {
                        let bytes = [thread, round, 7];
                        assert_eq!(echo(root, &bytes), Ok(bytes.to_vec()));
                    }
                });
            }
        });
    }
}

#[test]
fn the_server_calls_outside_of_calls_where_there_is_a_connection_for_it() {
    let (view, _server, name) = start(|_| {});
    let (_session, root) = connect(&name, |session| session.set_max_incoming_threads(1));
    let ours = service();
    call(&root, KEEP, 0, |data| data.write_binder(Some(&ours.binder))).expect("kept");
    let kept = view.service.kept.lock().expect("no panic").pop().expect("kept");
    assert_eq!(echo(&kept, b"from the server"), Ok(b"from the server".to_vec()));

    let (_session, root) = connect(&name, |_| {});
    call(&root, KEEP, 0, |data| data.write_binder(Some(&ours.binder))).expect("kept");
    let kept = view.service.kept.lock().expect("no panic").pop().expect("kept");
    assert_eq!(echo(&kept, b"nowhere"), Err(StatusCode::WOULD_BLOCK));
}

fn a_file() -> (UnixStream, OwnedFd) {
    let (near, far) = UnixStream::pair().expect("a pair");
    (near, far.into())
}

#[test]
fn files_travel_over_unix_sockets_that_allow_it() {
    for version in [ProtocolVersion::V1, ProtocolVersion::V2] {
        let modes = [FileDescriptorTransportMode::None, FileDescriptorTransportMode::Unix];
        let (_view, _server, name) =
            start(|server| server.set_supported_file_descriptor_transport_modes(&modes));
        let (_session, root) = connect(&name, |session| {
            session.set_protocol_version(version);
            session.set_file_descriptor_transport_mode(FileDescriptorTransportMode::Unix);
        });
        for _ in 0..300 {
            let (mut near, far) = a_file();
            let reply = call(&root, FILE, 0, |data| data.write_file(far.as_fd())).expect("a file");
            let mut back = UnixStream::from(reply.read_file().expect("a file"));
            drop((far, reply));
            back.write_all(b"through").expect("an open file");
            drop(back);
            let mut text = String::new();
            near.read_to_string(&mut text).expect("closed everywhere else");
            assert_eq!(text, "through");
        }
        let (_session, root) = connect(&name, |session| session.set_protocol_version(version));
        let (_near, far) = a_file();
        let refused = call(&root, FILE, 0, |data| data.write_file(far.as_fd()));
        assert_eq!(refused.err(), Some(StatusCode::FDS_NOT_ALLOWED));
    }
}

#[test]
fn a_service_knows_who_calls() {
    let (_view, _server, name) = start(|_| {});
    let (_session, root) = connect(&name, |_| {});
    let reply = call(&root, CALLER, 0, |_| Ok(())).expect("an answer");
    let pid = i32::try_from(std::process::id()).expect("a pid");
    assert_eq!(read_number(&reply), Ok(pid));
    assert_eq!(read_number(&reply), Ok(rustix::process::geteuid().as_raw().cast_signed()));

    // Over TCP no peer is identified, and each has its own number.
    let view = service();
    let local = std::net::IpAddr::from([127, 0, 0, 1]);
    let server = RpcServer::new_inet(view.binder.clone(), local, 0).expect("a port");
    server.start().expect("a thread");
    let port = server.inet_address().expect("TCP").port();
    let number = || {
        let session = RpcSession::new();
        let root = session.connect_inet("127.0.0.1", port).expect("a server");
        let reply = call(&root, CALLER, 0, |_| Ok(())).expect("an answer");
        let number = read_number(&reply).expect("a number");
        assert_eq!(read_number(&reply), Ok(-1));
        (session, root, number)
    };
    let (first, second) = (number(), number());
    assert_ne!(first.2, second.2);
    assert!(first.2.min(second.2) > 4_194_304, "above all numbers of processes");
}

#[test]
fn sockets_may_be_handed_over() {
    // Every connection is sent over a socket.
    let view = service();
    let (near, far) = UnixStream::pair().expect("a pair");
    let server = RpcServer::new_unix_domain_bootstrap(view.binder.clone(), far.into());
    let server = server.expect("a server");
    server.set_max_threads(3);
    server.start().expect("a thread");
    let session = RpcSession::new();
    session.set_max_incoming_threads(1);
    let root = session.connect_unix_bootstrap(near.into()).expect("a server");
    assert_eq!(echo(&root, b"bootstrapped"), Ok(b"bootstrapped".to_vec()));
    drop((session, root));
    server.shutdown().expect("from outside of calls");

    // Another client connects.
    let (_view, _server, name) = start(|server| server.set_max_threads(3));
    let session = RpcSession::new();
    let made = Arc::new(std::sync::atomic::AtomicU32::new(0));
    let count = Arc::clone(&made);
    let root = session.connect_preconnected(move || {
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let address = super::super::endpoint::unix_address(name.as_ref()).ok()?;
        Some(UnixStream::connect_addr(&address).ok()?.into())
    });
    let root: SpIBinder = root.expect("a server");
    assert_eq!(echo(&root, b"connected"), Ok(b"connected".to_vec()));
    assert_eq!(made.load(std::sync::atomic::Ordering::Relaxed), 3);
}
