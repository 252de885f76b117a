//! Lifetimes of sessions and objects, and the notices of their ends.

use std::cell::RefCell;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::service::*;
use crate::binder_impl::{Binder, BorrowedParcel, Remotable, TransactionCode};
use crate::test_object;
use crate::transport::rpc::{Ending, PeerAddress, RpcError, RpcServer, RpcSession, SessionLimits};
use crate::{DeathRecipient, IBinder, Interface as _, SpIBinder, StatusCode};

#[test]
fn objects_live_as_long_as_their_proxies_and_counts_come_back() {
    let (view, _server, name) = start(|server| server.set_max_threads(3));
    let (session, root) = connect(&name, |_| {});
    let children: Vec<_> = (0..10).map(|_| child(&root).expect("a child")).collect();
    assert_eq!(view.children(), 10);
    for number in 0..100 {
        let reply = call(&children[3], ECHO, 0, |data| write_number(data, number));
        assert_eq!(reply.and_then(|reply| read_number(&reply)), Ok(number));
    }
    drop(children);
    view.wait_until_childless();
    wait_until(|| session.objects() == (0, 1));
    assert_eq!(session.ended(), None);
    drop(root);
    wait_until(|| session.ended().is_some());
}

#[test]
fn a_reply_that_is_not_read_keeps_nothing() {
    let (view, _server, name) = start(|_| {});
    let (session, root) = connect(&name, |session| {
        session.set_protocol_version(crate::transport::rpc::ProtocolVersion::V2);
    });
    for _ in 0..10 {
        call(&root, CHILD, 0, |_| Ok(())).expect("a child");
    }
    view.wait_until_childless();
    wait_until(|| session.objects() == (0, 1));
}

#[test]
fn an_object_that_came_home_is_given_back_with_the_next_call() {
    let (_view, _server, name) = start(|_| {});
    let (session, root) = connect(&name, |_| {});
    let ours = service();
    let alone = Arc::strong_count(&ours.service);
    let reply = call(&root, RETURN, 0, |data| data.write_binder(Some(&ours.binder)));
    let back = reply.and_then(|reply| reply.read_binder()).expect("an answer");
    assert_eq!(back.as_ref(), Some(&ours.binder));
    drop(back);
    // The server has it until it knows that we have it back; what it says then is read here.
    assert_eq!(session.objects(), (1, 1));
    assert_eq!(root.ping_binder(), Ok(()));
    assert_eq!(session.objects(), (0, 1));
    assert_eq!(Arc::strong_count(&ours.service), alone);
}

#[test]
fn what_comes_back_after_a_one_way_call_is_read_while_calls_come_without_a_pause() {
    let (view, _server, name) = start(|_| {});
    let (session, root) = connect(&name, |session| session.set_max_incoming_threads(1));
    let ours = service();
    call(&root, KEEP, 0, |data| data.write_binder(Some(&ours.binder))).expect("kept");
    // It holds up the one-way call, so the proxy is dropped before that is given back.
    let kept = view.service.kept.lock().expect("no panic").pop().expect("kept");
    call(&kept, WAIT, crate::interface::FLAG_ONEWAY, |_| Ok(())).expect("sent");
    drop(kept);
    ours.gate.send(()).expect("it waits");
    ours.wait_until_done();
    wait_until(|| echo(&root, b"on").is_ok() && session.objects() == (0, 1));
}

#[test]
fn a_parcel_that_is_not_sent_counts_nothing() {
    let (_view, _server, name) = start(|_| {});
    let (session, root) = connect(&name, |_| {});
    let ours = service();
    let remote = root.as_remote().expect("a proxy");
    let mut data = crate::transport::Parcel::for_codec(remote.codec());
    data.write_binder(Some(&ours.binder)).expect("room");
    assert_eq!(session.objects(), (1, 1));
    drop(data);
    assert_eq!(session.objects(), (0, 1));
}

#[test]
fn the_client_learns_of_the_servers_end_if_it_listens() {
    let (_view, server, name) = start(|_| {});
    let (session, root) = connect(&name, |session| session.set_max_incoming_threads(1));
    let (tell, told) = channel();
    let recipient = DeathRecipient::new(move || tell.send(()).expect("the test listens"));
    root.link_to_death(&recipient).expect("a connection for it");
    server.shutdown().expect("from outside of calls");
    assert_eq!(told.recv_timeout(HANG_TIMEOUT), Ok(()));
    assert_eq!(root.ping_binder(), Err(StatusCode::DEAD_OBJECT));
    assert_eq!(root.link_to_death(&recipient), Err(StatusCode::DEAD_OBJECT));
    assert!(matches!(session.ended(), Some(Ending::Closed)));
    assert_eq!(told.recv_timeout(Duration::from_millis(10)).ok(), None, "told once");

    let (_view, _server, name) = start(|_| {});
    let (_session, root) = connect(&name, |_| {});
    assert_eq!(root.link_to_death(&recipient), Err(StatusCode::INVALID_OPERATION));
}

#[test]
fn who_ends_a_session_is_not_made_to_tell_of_it() {
    let (_view, _server, name) = start(|_| {});
    let (session, root) = connect(&name, |session| session.set_max_incoming_threads(1));
    let table = Arc::new(std::sync::Mutex::new(vec![root.clone()]));
    let (tell, told) = channel();
    let mourner = Arc::clone(&table);
    let recipient = DeathRecipient::new(move || {
        // As people do, who have their objects in a table and call them from there.
        mourner.lock().expect("no panic").clear();
        tell.send(()).expect("the test listens");
    });
    root.link_to_death(&recipient).expect("a connection for it");
    let (done, finished) = channel();
    std::thread::spawn(move || {
        let table = table.lock().expect("no panic");
        session.shutdown();
        assert_eq!(table[0].ping_binder(), Err(StatusCode::DEAD_OBJECT));
        drop(table);
        done.send(()).expect("the test listens");
    });
    assert_eq!(finished.recv_timeout(HANG_TIMEOUT), Ok(()), "it waits for its own lock");
    assert_eq!(told.recv_timeout(HANG_TIMEOUT), Ok(()));
}

#[test]
fn the_server_learns_of_the_clients_end() {
    let (view, server, name) = start(|_| {});
    let (session, root) = connect(&name, |_| {});
    let ours = service();
    call(&root, KEEP, 0, |data| data.write_binder(Some(&ours.binder))).expect("kept");
    let kept = view.service.kept.lock().expect("no panic").pop().expect("kept");
    let (tell, told) = channel();
    let recipient = DeathRecipient::new(move || tell.send(()).expect("the test listens"));
    kept.link_to_death(&recipient).expect("a client that calls");
    session.shutdown();
    assert_eq!(told.recv_timeout(HANG_TIMEOUT), Ok(()));
    wait_until(|| server.sessions() == 0);
    assert_eq!(root.ping_binder(), Err(StatusCode::DEAD_OBJECT));
}

#[test]
fn a_call_under_way_fails_when_the_session_ends() {
    let (view, server, name) = start(|_| {});
    let (session, root) = connect(&name, |_| {});
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| call(&root, WAIT, 0, |_| Ok(())).err());
        wait_until(|| view.service.kept.try_lock().is_ok());
        session.shutdown();
        assert_eq!(waiting.join().expect("no panic"), Some(StatusCode::DEAD_OBJECT));
    });
    view.gate.send(()).expect("it still waits");
    wait_until(|| server.sessions() == 0);
}

#[test]
fn a_session_ends_with_its_last_owner() {
    let (_view, server, name) = start(|_| {});
    let (session, root) = connect(&name, |session| session.set_max_incoming_threads(2));
    drop(session);
    assert_eq!(echo(&root, b"still"), Ok(b"still".to_vec()));
    drop(root);
    wait_until(|| server.sessions() == 0);
}

#[test]
fn a_server_that_is_shut_down_is_gone() {
    let (_view, server, name) = start(|_| {});
    let (_session, root) = connect(&name, |_| {});
    server.shutdown().expect("from outside of calls");
    assert_eq!(server.sessions(), 0);
    assert_eq!(root.ping_binder(), Err(StatusCode::DEAD_OBJECT));
    drop(server);
    assert!(RpcSession::new().connect_unix(&name).is_err());
    // Its name is free again.
    assert!(RpcServer::new_unix(root, &name).is_ok());
}

#[test]
fn more_connections_than_a_server_grants_are_refused() {
    let (_view, _server, name) = start(|server| {
        server.set_max_threads(8);
        server.set_limits(SessionLimits { max_connections: 3, ..SessionLimits::default() });
    });
    let (_session, root) = connect(&name, |_| {});
    assert_eq!(echo(&root, b"three are offered"), Ok(b"three are offered".to_vec()));
    let session = RpcSession::new();
    session.set_max_outgoing_connections(1);
    session.set_max_incoming_threads(3);
    assert!(matches!(session.connect_unix(&name), Err(RpcError::ClosedAtOpening)));
    let (_session, root) = connect(&name, |session| {
        session.set_max_outgoing_connections(2);
        session.set_max_incoming_threads(1);
    });
    assert_eq!(echo(&root, b"fits"), Ok(b"fits".to_vec()));

    let (_view, _server, name) = start(|server| server.set_max_connections(1));
    let (_session, root) = connect(&name, |_| {});
    assert!(RpcSession::new().connect_unix(&name).is_err());
    assert_eq!(root.ping_binder(), Ok(()));
}

#[test]
fn one_peer_does_not_get_all_connections() {
    let (view, server, name) = start(|server| server.set_max_connections(4));
    let sessions: Vec<_> = (0..3).map(|_| connect(&name, |_| {})).collect();
    assert!(RpcSession::new().connect_unix(&name).is_err());
    drop(sessions);
    wait_until(|| RpcSession::new().connect_unix(&name).is_ok());
    server.set_max_connections_per_peer(4);
    wait_until(|| server.sessions() == 0);
    let sessions: Vec<_> = (0..4).map(|_| connect(&name, |_| {})).collect();
    assert!(RpcSession::new().connect_unix(&name).is_err());
    drop((sessions, view));
}

/// A way to shut a server down from within it.
struct ServerAccess(OnceLock<RpcServer>, Sender<bool>);

impl ServerAccess {
    /// Tells whether that was refused, as it would wait for the caller.
    fn shut_down(&self) {
        let shut_down = self.0.get().expect("it is reached by way of it").shutdown();
        let is_told = matches!(shut_down, Err(RpcError::WithinCall));
        self.1.send(is_told).expect("the test listens");
    }
}

type Answer = fn(&Arc<ServerAccess>, &mut BorrowedParcel<'_>) -> Result<(), StatusCode>;

/// A service that reaches its server.
struct AccessingService(Arc<ServerAccess>, Answer);

impl Remotable for AccessingService {
    fn get_descriptor() -> &'static str {
        DESCRIPTOR
    }

    fn on_transact(
        &self,
        _: TransactionCode,
        _: &BorrowedParcel<'_>,
        reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        (self.1)(&self.0, reply)
    }
}

/// Starts a server whose root object answers so. What shutting it down said comes through the channel.
fn listen_reaching(
    answer: Answer,
    set_up: impl FnOnce(&RpcServer, &Arc<ServerAccess>),
) -> (u16, Receiver<bool>) {
    let (tell, told) = channel();
    let reach = Arc::new(ServerAccess(OnceLock::new(), tell));
    let root = Binder::new(AccessingService(Arc::clone(&reach), answer)).as_binder();
    let listens = RpcServer::new_inet(root, "127.0.0.1", 0_u32).expect("a port");
    set_up(&listens, &reach);
    let port = listens.inet_address().expect("TCP").port();
    listens.start().expect("a thread");
    reach.0.set(listens).expect("once");
    (port, told)
}

/// Starts a service that answers so, and connects to it. What shutting its server down said comes
/// through the channel.
fn start_reaching(answer: Answer) -> (SpIBinder, Receiver<bool>) {
    let (port, told) = listen_reaching(answer, |_, _| {});
    (RpcSession::new().connect_inet("127.0.0.1", port).expect("a server"), told)
}

#[test]
fn a_server_that_is_shut_down_within_a_call_does_not_wait_for_that() {
    let (root, told) = start_reaching(|reach, _| {
        reach.shut_down();
        Ok(())
    });
    assert_eq!(call(&root, ECHO, 0, |_| Ok(())).err(), Some(StatusCode::DEAD_OBJECT));
    assert_eq!(told.recv_timeout(HANG_TIMEOUT), Ok(true));
    assert!(RpcServer::new_inet(root, "127.0.0.1", 65_536_u32).is_err(), "no port");
}

#[test]
fn a_server_that_is_shut_down_by_who_hears_of_a_refusal_does_not_wait_for_that() {
    let (port, told) = listen_reaching(
        |_, _| Ok(()),
        |server, reach| {
            server.set_max_connections(0);
            let reach = Arc::clone(reach);
            server.set_refusal_listener(move |_, _| reach.shut_down());
        },
    );
    assert!(RpcSession::new().connect_inet("127.0.0.1", port).is_err());
    assert_eq!(told.recv_timeout(HANG_TIMEOUT), Ok(true));
}

#[test]
fn a_server_that_is_shut_down_by_the_end_of_an_object_does_not_wait_for_that() {
    let (root, told) = start_reaching(|reach, reply| {
        let reach = Arc::clone(reach);
        reply.write_binder(Some(&test_object::new(move || reach.shut_down())))
    });
    drop(call(&root, CHILD, 0, |_| Ok(())).expect("an answer").read_binder().expect("an object"));
    assert_eq!(told.recv_timeout(HANG_TIMEOUT), Ok(true));
}

#[test]
fn an_object_may_call_its_peer_when_it_ends() {
    let (_view, _server, name) = start(|_| {});
    let (_session, root) = connect(&name, |_| {});
    let (left, parting) = channel();
    let gives = || {
        let (peer, left) = (root.clone(), left.clone());
        let object = test_object::new(move || {
            left.send(peer.ping_binder()).expect("the test listens");
        });
        call(&root, KEEP, 0, |data| data.write_binder(Some(&object))).map(drop)
    };
    std::thread::scope(|scope| {
        // The peer gives it back with the answer, while the one connection there is waits for that.
        let called =
            scope.spawn(|| gives().and_then(|()| call(&root, FORGET, 0, |_| Ok(())).map(drop)));
        assert_eq!(parting.recv_timeout(HANG_TIMEOUT), Ok(Ok(())));
        called.join().expect("no panic").expect("answers");
    });
}

#[test]
fn an_object_that_panics_when_it_ends_keeps_no_session_open() {
    let (view, server, name) = start(|_| {});
    let (session, root) = connect(&name, |_| {});
    // The receiving end is dropped, so the object panics when it sends.
    let (left, _) = channel();
    for _ in 0..2 {
        let (peer, left) = (root.clone(), left.clone());
        let object = test_object::new(move || {
            left.send(peer.ping_binder()).expect("the test listens");
        });
        call(&root, KEEP, 0, |data| data.write_binder(Some(&object))).expect("kept");
    }
    session.shutdown();
    wait_until(|| server.sessions() == 0);
    view.service.kept.lock().expect("no panic").clear();
    server.shutdown().expect("from outside of calls");
}

#[test]
fn an_ending_thread_may_call_in_vain_and_drop_what_it_has() {
    /// Calls its object when it is dropped, and tells what came of it.
    struct Late(Option<(SpIBinder, Sender<Result<(), StatusCode>>)>);
    impl Drop for Late {
        fn drop(&mut self) {
            if let Some((object, answer)) = self.0.take() {
                answer.send(object.ping_binder()).expect("the test listens");
            }
        }
    }
    thread_local!(static LATE: RefCell<Late> = const { RefCell::new(Late(None)) });
    let (view, _server, name) = start(|_| {});
    let (session, root) = connect(&name, |_| {});
    let (answer, answered) = channel();
    let called = root.clone();
    let thread = std::thread::spawn(move || {
        // What is used first ends last.
        LATE.with(|_| ());
        let object = child(&called).expect("a child");
        LATE.with(|late| late.borrow_mut().0 = Some((object, answer)));
    });
    assert_eq!(answered.recv_timeout(HANG_TIMEOUT), Ok(Err(StatusCode::INVALID_OPERATION)));
    thread.join().expect("it ends as others do");
    view.wait_until_childless();
    wait_until(|| session.objects() == (0, 1));
    assert_eq!(root.ping_binder(), Ok(()));
}

#[test]
fn each_session_may_have_a_root_object_of_its_own() {
    let view = service();
    let local = std::net::IpAddr::from([127, 0, 0, 1]);
    let server = RpcServer::new_inet(view.binder.clone(), local, 0).expect("a port");
    let (saw, seen) = channel();
    server.set_per_session_root_object(move |peer| {
        let PeerAddress::Inet(address) = *peer else { panic!("{peer:?} is not of TCP") };
        let (make, made) = channel();
        saw.send((address, made)).expect("the test listens");
        // Each tells when it is dropped.
        Some(test_object::new(move || make.send(()).expect("the test listens")))
    });
    server.start().expect("a thread");
    let port = server.inet_address().expect("TCP").port();
    let begin = || {
        let session = RpcSession::new();
        let root = session.connect_inet("127.0.0.1", port).expect("a server");
        let (address, dropped) = seen.recv_timeout(HANG_TIMEOUT).expect("it was asked");
        assert_eq!(address.ip(), local);
        (session, root, address, dropped)
    };
    let (first, second) = (begin(), begin());
    assert_ne!(first.2, second.2);
    drop((first.0, first.1));
    assert_eq!(first.3.recv_timeout(HANG_TIMEOUT), Ok(()));
    assert!(second.3.try_recv().is_err(), "it is of another session");
    assert_eq!(second.1.ping_binder(), Ok(()));

    server.set_per_session_root_object(|_| None);
    let refused = RpcSession::new().connect_inet("127.0.0.1", port);
    assert!(matches!(refused, Err(RpcError::NoRoot(StatusCode::NAME_NOT_FOUND))), "{refused:?}");
    server.set_per_session_root_object(|_| panic!("as a test wants it"));
    let refused = RpcSession::new().connect_inet("127.0.0.1", port);
    assert!(matches!(refused, Err(RpcError::NoRoot(StatusCode::NAME_NOT_FOUND))), "{refused:?}");
    server.shutdown().expect("from outside of calls");
}
