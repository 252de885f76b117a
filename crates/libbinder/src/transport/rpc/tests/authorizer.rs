//! Authorizers: sessions, root objects, and the reports of refusals.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use binder_rpc::handshake::{self, FdMode};
use binder_rpc::{CallDirection, ProtocolVersion};

use super::raw::Raw;
use super::service::*;
use crate::transport::rpc::{ResourceUse, RpcError, RpcSession};
use crate::{IBinder, StatusCode};

#[test]
fn an_authorizer_decides_on_sessions_and_root_objects() {
    let special = service();
    let given = special.binder.clone();
    let answers =
        Arc::new(Mutex::new(vec![Ok(None), Ok(Some(given)), Err("not today".to_owned())]));
    let (tell, told) = channel();
    let own_uid = rustix::process::geteuid().as_raw();
    let (_view, server, name) = start(move |server| {
        server.set_authorizer(move |peer| {
            assert_eq!((peer.uid(), peer.certificate()), (Some(own_uid), None));
            let mut answers = answers.lock().expect("no panic");
            // The last one is this panic.
            answers.remove(0)
        });
        let tell = Mutex::new(tell);
        server.set_refusal_listener(move |_, reason| {
            tell.lock().expect("no panic").send(reason.to_owned()).expect("the test listens");
        });
    });
    let (_session, root) = connect(&name, |_| {});
    assert_eq!(root.ping_binder(), Ok(()));
    let (_session, root) = connect(&name, |_| {});
    note(&root, 5).expect("sent");
    assert_eq!(special.noted.recv_timeout(HANG_TIMEOUT), Ok(5));
    for reason in ["not authorized: not today", "not authorized: what decides on sessions panicked"]
    {
        let refused = RpcSession::new().connect_unix(&name).expect_err("refused");
        assert!(matches!(refused, RpcError::ClosedAtOpening), "{refused}");
        assert_eq!(told.recv_timeout(HANG_TIMEOUT).as_deref(), Ok(reason));
    }
    assert_eq!(server.sessions(), 2);
}

#[test]
fn a_program_hears_why_connections_are_refused_and_sessions_end() {
    let (tell, told) = channel();
    let (_view, _server, name) = start(|server| {
        server.set_max_connections(4);
        let tell = Mutex::new(tell);
        server.set_refusal_listener(move |peer, reason| {
            let said = format!("{peer:?}: {reason}");
            // A test that has ended does not listen.
            let _ = tell.lock().expect("no panic").send(said);
        });
    });
    let heard = |what: &str| {
        let said = told.recv_timeout(HANG_TIMEOUT).expect("it is told");
        assert!(said.starts_with("Process") && said.contains(what), "{said}");
    };
    let mut held: Vec<_> = (0..3).map(|_| Raw::open(&name)).collect();
    Raw::connect(&name).wait_for_the_end();
    heard("4 connections of one peer: it may have 3");
    let mut wrong = held.pop().expect("one of three");
    wrong.send(&[0xff; 16]);
    wrong.wait_for_the_end();
    heard("body of 4294967295 bytes");
    let mut stranger = Raw::connect(&name);
    stranger.send(&handshake::open(
        ProtocolVersion::V1,
        CallDirection::Outgoing,
        FdMode::None,
        Some(&[7; 32]),
    ));
    stranger.wait_for_the_end();
    heard("session");
}

#[test]
fn objects_of_all_sessions_are_within_one_bound() {
    // Sessions count for multiples of 64, and one user may have three quarters.
    let (view, server, name) = start(|server| server.set_max_objects(256));
    let (session, root) = connect(&name, |_| {});
    let children: Vec<_> = std::iter::from_fn(|| child(&root).ok()).take(1000).collect();
    assert_eq!(children.len(), 191, "and the root object");
    assert_eq!(child(&root).err(), Some(StatusCode::NO_MEMORY));
    // There is none left for another session of this user's: not even its root object.
    assert!(RpcSession::new().connect_unix(&name).is_err());
    assert_eq!(echo(&root, b"goes on"), Ok(b"goes on".to_vec()));
    drop(children);
    view.wait_until_childless();
    wait_until(|| RpcSession::new().connect_unix(&name).is_ok());
    assert_eq!((session.ended(), server.sessions() > 0), (None, true));
}

#[test]
fn a_server_tells_what_its_clients_hold_and_who_was_refused() {
    let (view, server, name) = start(|server| server.set_max_connections(4));
    let statistics = server.statistics();
    assert_eq!((statistics.sessions, statistics.accepted, statistics.refused), (0, 0, 0));
    assert_eq!((statistics.connections.held, statistics.connections.limit), (0, None));
    let (_session, root) = connect(&name, |_| {});
    let child = child(&root).unwrap();
    let statistics = server.statistics();
    assert_eq!((statistics.sessions, statistics.accepted), (1, 1));
    assert_eq!((statistics.own_objects, statistics.client_objects), (2, 0));
    let ResourceUse { held, limit, peers, most_of_a_peer } = statistics.connections;
    assert_eq!((held, limit, peers, most_of_a_peer), (1, Some(4), 1, 1));
    assert_eq!((statistics.handshakes.held, statistics.objects.held), (0, 64));
    // One user may have three of four.
    let _others = [connect(&name, |_| {}), connect(&name, |_| {})];
    assert!(RpcSession::new().connect_unix(&name).is_err());
    let statistics = server.statistics();
    assert_eq!((statistics.sessions, statistics.accepted, statistics.refused), (3, 4, 1));
    assert_eq!(statistics.connections.most_of_a_peer, 3);
    drop((child, root));
    view.wait_until_childless();
}

#[test]
fn calls_are_timed_for_who_asks_for_it() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    let is_open = Arc::new(AtomicBool::new(true));
    let asked = Arc::clone(&is_open);
    let (_view, _server, name) = start(move |server| {
        server.set_call_observer(move |took, status| hears.lock().unwrap().push((took, status)));
        server.set_call_guard(move || {
            if asked.load(Ordering::Relaxed) { Ok(()) } else { Err(StatusCode::PERMISSION_DENIED) }
        });
    });
    let (_session, root) = connect(&name, |_| {});
    assert_eq!(heard.lock().unwrap().len(), 0, "to open a session is no call");
    assert_eq!(echo(&root, b"heard"), Ok(b"heard".to_vec()));
    is_open.store(false, Ordering::Relaxed);
    assert_eq!(echo(&root, b"refused"), Err(StatusCode::PERMISSION_DENIED));
    let statuses: Vec<_> = heard.lock().unwrap().iter().map(|(_, status)| *status).collect();
    assert_eq!(statuses, [Ok(()), Err(StatusCode::PERMISSION_DENIED)]);
}

#[test]
fn a_guard_decides_on_each_call_when_it_comes() {
    let is_open = Arc::new(AtomicBool::new(true));
    let asked = Arc::clone(&is_open);
    let (_view, server, name) = start(move |server| {
        server.set_call_guard(move || {
            if asked.load(Ordering::Relaxed) { Ok(()) } else { Err(StatusCode::PERMISSION_DENIED) }
        });
    });
    let (session, root) = connect(&name, |_| {});
    assert_eq!(root.ping_binder(), Ok(()));
    is_open.store(false, Ordering::Relaxed);
    assert_eq!(root.ping_binder(), Err(StatusCode::PERMISSION_DENIED));
    is_open.store(true, Ordering::Relaxed);
    assert_eq!(root.ping_binder(), Ok(()), "the session goes on");
    server.end_sessions();
    assert_eq!(root.ping_binder(), Err(StatusCode::DEAD_OBJECT));
    assert!(session.ended().is_some());
    let (_session, root) = connect(&name, |_| {});
    assert_eq!(root.ping_binder(), Ok(()), "others are served");
}
