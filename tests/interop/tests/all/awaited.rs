//! Awaited calls over sockets: no thread waits for their answers.

#![expect(clippy::unwrap_used, reason = "a test is to end at what goes wrong")]

use aidl_tests::aidl::foreign::IHost::{IHost, IHostAsync};
use binder::binder_tokio::Tokio;
use binder::transport::rpc::{RpcServer, RpcSession};
use binder::{StatusCode, Strong};
use foreign::library::host;
use foreign::library::visitor::{Heard, Visitor};
use rsbinder::rpc as theirs;
use tokio::runtime::Builder;

/// Makes calls of every kind.
async fn check(sync: &Strong<dyn IHost>) {
    let host: Strong<dyn IHostAsync<Tokio>> = sync.clone().into_async();
    let greetings = (0..100).map(|number| {
        let host = host.clone();
        tokio::spawn(async move { host.greet(&number.to_string()).await })
    });
    for (number, greeting) in greetings.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(greeting.await.unwrap().unwrap(), format!("Hello, {number}!"));
    }
    for length in [0, 1, 4095, 60_001, 90_000] {
        let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(length).collect();
        assert_eq!(host.mirror(&bytes).await.unwrap(), bytes);
    }
    let error = host.refuse(-77, "not today").await.unwrap_err();
    assert_eq!(error.service_specific_error(), -77);

    // Calls within calls come to a thread that waits for nothing.
    let (visitor, heard) = Visitor::new_binder(sync);
    assert_eq!(host.nest(sync, &visitor, 7).await.unwrap(), 7);
    let on: Vec<Heard> = heard.try_iter().collect();
    assert!(on.len() == 4 && on.iter().all(|heard| *heard == on[0]), "{on:?}");
    assert_ne!(on[0], Heard::NestedOn(std::thread::current().id()));

    // One-way calls, and a call whose future is dropped before its end.
    host.tell(&visitor, 3).await.unwrap();
    let session = host.openSession("awaited").await.unwrap();
    let never = tokio::spawn({
        let host = host.clone();
        async move { host.awaitDeparture("nobody").await }
    });
    tokio::task::yield_now().await;
    never.abort();
    assert!(never.await.unwrap_err().is_cancelled());
    assert_eq!(host.recognise(&session).await.unwrap().as_deref(), Some("awaited"));
    assert_eq!(host.giveBack(&visitor.as_binder()).await.unwrap(), visitor.as_binder());
}

#[test]
fn awaited_calls_get_on_with_their_server() {
    let directory = tempfile::tempdir().unwrap();
    for version in 0..=2 {
        let path = directory.path().join(version.to_string());
        let server = theirs::RpcServer::setup_unix_server(&path).unwrap();
        server.set_android13plus(version);
        server.set_max_threads(4);
        server.set_root(foreign::host::new_host().as_binder()).unwrap();
        drop(server.run_background());
        let session = RpcSession::new();
        session.set_max_incoming_threads(1);
        let host: Strong<dyn IHost> = session.setup_unix_domain_client(&path).unwrap();
        let runtime = Builder::new_current_thread().build().unwrap();
        runtime.block_on(check(&host));
        // It ends while a call is under way.
        runtime.block_on(async {
            let host: Strong<dyn IHostAsync<Tokio>> = host.into_async();
            let waiting = tokio::spawn(async move { host.awaitDeparture("nobody").await });
            tokio::task::yield_now().await;
            // It waits for the call, which does not end.
            std::thread::spawn(move || server.terminate());
            let error = waiting.await.unwrap().unwrap_err();
            assert_eq!(error.transaction_error(), StatusCode::DEAD_OBJECT);
        });
    }
}

#[test]
fn awaited_calls_get_on_with_our_server() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let server = RpcServer::new_unix(host::new_host().as_binder(), &path).unwrap();
    server.set_max_threads(3);
    server.start().unwrap();
    let session = RpcSession::new();
    session.set_max_incoming_threads(1);
    let host: Strong<dyn IHost> = session.setup_unix_domain_client(&path).unwrap();
    Builder::new_multi_thread().worker_threads(2).build().unwrap().block_on(check(&host));
}
