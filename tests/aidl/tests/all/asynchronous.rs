//! Generated code that is awaited, and that awaits.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::sync::Arc;
use std::thread;

use aidl_tests::aidl::anybinder::test::ICallback::{
    BnCallback, BpCallback, ICallback, ICallbackAsync, ICallbackAsyncServer,
};
use aidl_tests::aidl::anybinder::test::ITest::{BpTest, ITest, ITestAsync};
use aidl_tests::service::{new_callback, new_test_service};
use binder::binder_impl::Proxy;
use binder::binder_tokio::{Tokio, TokioRuntime};
use binder::{BinderFeatures, ExceptionCode, Interface, Status, Strong};
use tokio::runtime::{Handle, Runtime};

/// A service whose answers take their time.
struct Slow;

impl Interface for Slow {}

#[async_trait::async_trait]
impl ICallbackAsyncServer for Slow {
    async fn ask(&self, question: i32) -> binder::Result<i32> {
        tokio::task::yield_now().await;
        if question < 0 {
            return Err(Status::from(ExceptionCode::ILLEGAL_ARGUMENT));
        }
        Ok(question * 2)
    }

    async fn notice(&self, _number: i32) -> binder::Result<()> {
        Ok(())
    }
}

fn slow(runtime: &Runtime) -> Strong<dyn ICallback> {
    let handle = runtime.handle().clone();
    BnCallback::new_async_binder(Slow, TokioRuntime(handle), BinderFeatures::default())
}

/// A proxy, so that calls go through parcels.
fn remote(test: &Strong<dyn ITest>) -> Strong<dyn ITestAsync<Tokio>> {
    Strong::new(Box::new(BpTest::from_binder(test.as_binder()).unwrap()))
}

#[test]
fn calls_are_awaited() {
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let test = remote(&new_test_service());
        assert_eq!(test.repeatInt(5).await.unwrap(), 5);
        assert_eq!(test.repeatString("text").await.unwrap(), "text");
        let mut copy = vec![0; 2];
        assert_eq!(test.reverseInt(&[1, 2], &mut copy).await.unwrap(), [2, 1]);
        assert_eq!(copy, [1, 2]);
        let error = test.failSpecific(3, "no").await.unwrap_err();
        assert_eq!(error.service_specific_error(), 3);
        let (callback, _notices) = new_callback(1);
        assert_eq!(test.askThrough(&callback, 1).await.unwrap(), 2);
        // One-way calls are made at once.
        test.add(9).await.unwrap();
        assert_eq!(test.added().await.unwrap(), [9]);
    });
}

#[test]
fn many_calls_are_under_way_at_once() {
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let test = Arc::new(remote(&new_test_service()));
        let calls: Vec<_> = (0..50)
            .map(|number| {
                let test = test.clone();
                tokio::spawn(async move { test.repeatInt(number).await })
            })
            .collect();
        for (number, call) in (0..).zip(calls) {
            assert_eq!(call.await.unwrap().unwrap(), number);
        }
    });
}

#[test]
fn a_service_may_await() {
    let runtime = Runtime::new().unwrap();
    let service = slow(&runtime);
    // From a thread of no runtime, as a transport's threads are.
    let status = thread::spawn(move || {
        assert_eq!(service.ask(4).unwrap(), 8);
        let proxy = BpCallback::from_binder(service.as_binder()).unwrap();
        assert_eq!(ICallback::ask(&proxy, 5).unwrap(), 10);
        ICallback::notice(&proxy, 1).unwrap();
        ICallback::ask(&proxy, -1).unwrap_err()
    });
    assert_eq!(status.join().unwrap().exception_code(), ExceptionCode::ILLEGAL_ARGUMENT);
}

#[test]
fn views_change_into_each_other() {
    let runtime = Runtime::new().unwrap();
    let service = slow(&runtime);
    let asynchronous: Strong<dyn ICallbackAsync<Tokio>> = service.clone().into_async();
    assert_eq!(runtime.block_on(asynchronous.ask(1)).unwrap(), 2);
    let back: Strong<dyn ICallback> = asynchronous.into_sync();
    assert_eq!(back, service);
}

#[test]
fn without_a_runtime_a_call_is_made_where_it_is() {
    assert!(Handle::try_current().is_err());
    let test = remote(&new_test_service());
    let called = test.repeatInt(1);
    let answer = Runtime::new().unwrap().block_on(called);
    assert_eq!(answer.unwrap(), 1);
}
