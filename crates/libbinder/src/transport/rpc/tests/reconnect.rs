//! Objects that are found again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::awaited::{answer, begin_echo, echoed};
use super::service::*;
use crate::transport::rpc::{RpcServer, RpcSession};
use crate::{IBinder, SpIBinder, StatusCode};

fn serve(name: &str) -> (View, RpcServer) {
    let view = service();
    let server = RpcServer::new_unix(view.binder.clone(), name).expect("a free name");
    server.start().expect("a thread");
    (view, server)
}

#[test]
fn a_root_object_is_found_again_and_no_call_is_made_twice() {
    let (view, server, name) = start(|_| {});
    let found = Arc::new(AtomicU32::new(0));
    let (counted, path) = (Arc::clone(&found), name.clone());
    let root: SpIBinder = crate::reconnecting(move || {
        counted.fetch_add(1, Ordering::SeqCst);
        Ok(RpcSession::new().connect_unix(&path)?)
    })
    .expect("a server");
    assert_eq!(echo(&root, b"first"), Ok(b"first".to_vec()));
    let kept = child(&root).expect("a child");
    // What is sent is the object itself.
    call(&root, KEEP, 0, |data| data.write_binder(Some(&root))).expect("it is of this session");
    assert_eq!(view.service.kept.lock().expect("no panic").pop(), Some(view.binder.clone()));

    // It dies within a call, which fails and is not made again.
    std::thread::scope(|scope| {
        let called = scope.spawn(|| call(&root, WAIT, 0, |_| Ok(())));
        view.wait_until_waiting();
        scope.spawn(|| server.shutdown().expect("from outside of calls"));
        assert_eq!(called.join().expect("no panic").err(), Some(StatusCode::DEAD_OBJECT));
        view.gate.send(()).expect("it waits");
    });
    assert_eq!(root.ping_binder(), Err(StatusCode::DEAD_OBJECT), "there is no other");
    drop((view, server));
    let before = found.load(Ordering::SeqCst);

    let (view, _server) = serve(&name);
    assert_eq!(echo(&root, b"second"), Ok(b"second".to_vec()));
    assert_eq!(echoed(answer(begin_echo(&root, b"third"))), Ok(b"third".to_vec()));
    assert_eq!(found.load(Ordering::SeqCst), before + 1);
    assert_eq!(kept.ping_binder(), Err(StatusCode::DEAD_OBJECT), "it has state");
    assert!(view.service.kept.lock().expect("no panic").is_empty());
}

#[test]
fn an_object_of_another_interface_is_not_taken() {
    let (_view, server, name) = start(|_| {});
    let path = name.clone();
    let root = crate::reconnecting(move || Ok(RpcSession::new().connect_unix(&path)?));
    let root = root.expect("a server");
    server.shutdown().expect("from outside of calls");
    let other = crate::test_object::new(|| {});
    let server = RpcServer::new_unix(other, &name).expect("a free name");
    server.start().expect("a thread");
    assert_eq!(root.ping_binder(), Err(StatusCode::DEAD_OBJECT));
}
