//! Many awaited calls at once. Alone in its process, since it counts its threads.

#![expect(clippy::unwrap_used, reason = "a test is to end at what goes wrong")]

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use aidl_tests::aidl::anybinder::test::ICallback::{BnCallback, ICallback, ICallbackAsync};
use binder::binder_tokio::Tokio;
use binder::transport::rpc::{RpcServer, RpcSession};
use binder::{BinderFeatures, FromIBinder, Interface, Strong};
use interop::tls::Authority;
use tokio::runtime::Builder;

/// How many calls are under way at once.
const CALLS: i32 = 1_000;
const CONNECTIONS: usize = 4;
/// Two servers' that accept and that serve, the runtime's two, the reader, and the test's two.
const MAX_THREADS: usize = 2 * (1 + CONNECTIONS) + 2 + 1 + 2;

/// A service whose answers wait until the test opens it.
#[derive(Default)]
struct Gated {
    is_open: Mutex<bool>,
    opened: Condvar,
    asked: AtomicUsize,
}

impl Gated {
    fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.opened.notify_all();
    }
}

struct Service(Arc<Gated>);

impl Interface for Service {}

impl ICallback for Service {
    fn ask(&self, question: i32) -> binder::Result<i32> {
        self.0.asked.fetch_add(1, Ordering::SeqCst);
        let is_open = self.0.is_open.lock().unwrap();
        drop(self.0.opened.wait_while(is_open, |is_open| !*is_open).unwrap());
        Ok(question * 2)
    }

    fn notice(&self, _: i32) -> binder::Result<()> {
        Ok(())
    }
}

/// How many threads this process has of a name; the system tells its first 15 characters.
fn threads(named: &str) -> usize {
    let names = fs::read_dir("/proc/self/task").unwrap().filter_map(|task| {
        // A thread may end while they are counted.
        fs::read_to_string(task.ok()?.path().join("comm")).ok()
    });
    names.filter(|name| name.trim_end() == named).count()
}

fn all_threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}

/// Makes all calls at once, and counts the threads meanwhile.
fn crowd(service: &Arc<Gated>, callback: &Strong<dyn ICallback>) {
    let runtime = Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let callback: Strong<dyn ICallbackAsync<Tokio>> = callback.clone().into_async();
    runtime.block_on(async {
        let begun = Arc::new(AtomicUsize::new(0));
        let calls: Vec<_> = (0..CALLS)
            .map(|number| {
                let (callback, begun) = (callback.clone(), Arc::clone(&begun));
                tokio::spawn(async move {
                    let mut answer = std::pin::pin!(callback.ask(number));
                    let mut is_begun = false;
                    std::future::poll_fn(|context| {
                        let polled = answer.as_mut().poll(context);
                        if !std::mem::replace(&mut is_begun, true) {
                            begun.fetch_add(1, Ordering::SeqCst);
                        }
                        polled
                    })
                    .await
                })
            })
            .collect();
        while begun.load(Ordering::SeqCst) < CALLS as usize
            || service.asked.load(Ordering::SeqCst) < CONNECTIONS
            // A thread names itself.
            || threads("rpc-reader") == 0
        {
            tokio::task::yield_now().await;
        }
        // The one that reads, and none that waits.
        assert_eq!(threads("rpc-reader"), 1);
        assert!(all_threads() <= MAX_THREADS, "{} threads", all_threads());
        service.open();
        for (number, call) in (0..).zip(calls) {
            assert_eq!(call.await.unwrap().unwrap(), number * 2);
        }
    });
    assert!(all_threads() <= MAX_THREADS);
}

#[test]
fn a_thousand_calls_need_no_thousand_threads() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let service = Arc::new(Gated::default());
    let root = BnCallback::new_binder(Service(Arc::clone(&service)), BinderFeatures::default());
    let server = RpcServer::new_unix(root.as_binder(), &path).unwrap();
    server.set_max_threads(CONNECTIONS);
    server.start().unwrap();
    let session = RpcSession::new();
    crowd(&service, &session.setup_unix_domain_client(&path).unwrap());

    // The same over TLS.
    let authority = Authority::new();
    let service = Arc::new(Gated::default());
    let root = BnCallback::new_binder(Service(Arc::clone(&service)), BinderFeatures::default());
    let credentials = authority.issue("localhost", &authority, false);
    let local = std::net::Ipv4Addr::LOCALHOST;
    let tls = RpcServer::new_inet_tls(root.as_binder(), local, 0, &credentials).unwrap();
    tls.set_max_threads(CONNECTIONS);
    tls.start().unwrap();
    let port = tls.inet_address().unwrap().port();
    let session = RpcSession::new();
    let credentials = authority.issue("somebody", &authority, false);
    let root = session.connect_inet_tls("localhost", port, &credentials).unwrap();
    crowd(&service, &<dyn ICallback as FromIBinder>::try_from(root).unwrap());
}
