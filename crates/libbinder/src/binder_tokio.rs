//! Asynchronous calls and services on tokio's runtime (feature `tokio`).
//!
//! `Strong<dyn IFooAsync<Tokio>>` awaits its calls. A transport that can send a call without waiting
//! for its reply does that; for the others a thread of tokio's blocking pool waits.
//! [`TokioRuntime`] serves an `IFooAsyncServer`.

use std::any::Any;
use std::cell::RefCell;
use std::future::Future;
use std::sync::Arc;

use tokio::runtime::{Handle, Runtime};

use crate::asynchronous::{BinderAsyncPool, BinderAsyncRuntime, BoxFuture};
use crate::interface::{TransactionCode, TransactionFlags};
use crate::object::{IBinderInternal, Object, SpIBinder};
use crate::parcel::Parcel;
use crate::transport::CallStart;
use crate::{FromIBinder, StatusCode, Strong, is_handling_transaction};

/// Calls on tokio's runtime: `Strong<dyn IFooAsync<Tokio>>`.
#[derive(Debug)]
pub enum Tokio {}

/// What a call answers.
type AsyncAnswer = Result<Parcel, StatusCode>;

/// A call that was to be made, taken down instead.
struct DeferredCall {
    binder: SpIBinder,
    code: TransactionCode,
    data: Parcel,
    flags: TransactionFlags,
}

thread_local! {
    /// The call that this thread takes down; the outer `None` is: it makes its calls.
    static DEFERRED: RefCell<Option<Option<DeferredCall>>> = const { RefCell::new(None) };
}

/// Takes a call down if this thread does that, else returns the parcel.
pub(crate) fn defer(
    binder: &SpIBinder,
    code: TransactionCode,
    data: Parcel,
    flags: TransactionFlags,
) -> Option<Parcel> {
    // Not in the destructors of the thread's own variables, where there may be no slot any more.
    let takes_down = DEFERRED.try_with(|slot| matches!(*slot.borrow(), Some(None)));
    if !takes_down.unwrap_or(false) {
        return Some(data);
    }
    let deferred = DeferredCall { binder: binder.clone(), code, data, flags };
    DEFERRED.set(Some(Some(deferred)));
    None
}

/// Puts back what an outer one takes down, even if `call` panics.
struct RestoreDeferral(Option<Option<DeferredCall>>);

impl Drop for RestoreDeferral {
    fn drop(&mut self) {
        let outer = self.0.take();
        DEFERRED.with(|slot| slot.replace(outer));
    }
}

/// Runs `call`, and takes down the call that it makes.
fn take_down<A>(call: impl FnOnce() -> A) -> (A, Option<DeferredCall>) {
    let restore = RestoreDeferral(DEFERRED.with(|slot| slot.replace(Some(None))));
    let answer = call();
    let deferred = DEFERRED.with(|slot| slot.take()).flatten();
    drop(restore);
    (answer, deferred)
}

impl DeferredCall {
    /// Makes the call without blocking the thread that awaits it.
    async fn call(self) -> AsyncAnswer {
        let Self { binder, code, data, flags } = self;
        let data = match binder.object() {
            Object::Remote(object) => match object.clone().begin_transact(code, data, flags) {
                CallStart::Pending(reply) => return reply.await,
                CallStart::Finished(answer) => return answer,
                CallStart::MustBlock(data) => data,
            },
            // A service of this process may block as well.
            Object::Local(_) => data,
        };
        let called = tokio::task::spawn_blocking(move || binder.submit_transact(code, data, flags));
        // The thread is gone, as is the runtime, or the call panicked.
        called.await.unwrap_or(Err(StatusCode::FAILED_TRANSACTION))
    }
}

impl BinderAsyncPool for Tokio {
    fn spawn<'a, F1, F2, Fut, A, B, E>(spawn_me: F1, after_spawn: F2) -> BoxFuture<'a, Result<B, E>>
    where
        F1: FnOnce() -> A + Send + 'static,
        F2: FnOnce(A) -> Fut + Send + 'a,
        Fut: Future<Output = Result<B, E>> + Send + 'a,
        A: Send + 'static,
        B: Send + 'a,
        E: From<StatusCode>,
    {
        if is_handling_transaction() {
            // A call within a call must come from the thread that serves the outer one, or a peer
            // that calls back does not find it.
            return Box::pin(after_spawn(spawn_me()));
        }
        let Ok(runtime) = Handle::try_current() else {
            // No runtime, no pool: the call is made here.
            return Box::pin(after_spawn(spawn_me()));
        };
        if std::any::TypeId::of::<A>() != std::any::TypeId::of::<AsyncAnswer>() {
            // Not a plain call: let a thread do it.
            let called = runtime.spawn_blocking(spawn_me);
            return Box::pin(async move {
                let answer = called.await.map_err(|_| StatusCode::FAILED_TRANSACTION)?;
                after_spawn(answer).await
            });
        }
        let (mut answer, deferred) = take_down(spawn_me);
        Box::pin(async move {
            if let Some(deferred) = deferred {
                let called = deferred.call().await;
                if let Some(answer) = (&mut answer as &mut dyn Any).downcast_mut::<AsyncAnswer>() {
                    *answer = called;
                }
            }
            after_spawn(answer).await
        })
    }
}

/// Serves `IFooAsyncServer`s: `BnFoo::new_async_binder(service, TokioRuntime(handle), features)`.
#[derive(Debug, Clone)]
pub struct TokioRuntime<R>(pub R);

impl BinderAsyncRuntime for TokioRuntime<Runtime> {
    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.block_on(future)
    }
}

impl BinderAsyncRuntime for TokioRuntime<Arc<Runtime>> {
    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.block_on(future)
    }
}

impl BinderAsyncRuntime for TokioRuntime<Handle> {
    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.block_on(future)
    }
}

/// Returns the service of that name by its interface, if it is registered.
///
/// # Errors
///
/// As [`crate::check_interface`].
pub async fn check_interface<T: FromIBinder + ?Sized + 'static>(
    name: &str,
) -> Result<Strong<T>, StatusCode> {
    look_up(name, crate::check_interface).await
}

/// Waits until a service of that name is registered, and returns it by its interface.
///
/// # Errors
///
/// As [`crate::wait_for_interface`].
pub async fn wait_for_interface<T: FromIBinder + ?Sized + 'static>(
    name: &str,
) -> Result<Strong<T>, StatusCode> {
    look_up(name, crate::wait_for_interface).await
}

/// Returns the service of that name by its interface, and waits for it a few seconds.
///
/// # Errors
///
/// As [`crate::get_interface`].
#[deprecated = "it waits without end or not long enough: say which, by wait_for or check"]
#[expect(deprecated, reason = "as in Android, where callers are warned")]
pub async fn get_interface<T: FromIBinder + ?Sized + 'static>(
    name: &str,
) -> Result<Strong<T>, StatusCode> {
    look_up(name, crate::get_interface).await
}

/// Looks a service up on a thread that may block.
async fn look_up<T: FromIBinder + ?Sized + 'static>(
    name: &str,
    look_up: fn(&str) -> Result<Strong<T>, StatusCode>,
) -> Result<Strong<T>, StatusCode> {
    if is_handling_transaction() {
        return look_up(name);
    }
    let name = name.to_owned();
    let found = tokio::task::spawn_blocking(move || look_up(&name));
    found.await.unwrap_or(Err(StatusCode::FAILED_TRANSACTION))
}
