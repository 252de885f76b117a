//! Calls that are awaited.

use std::future::Future;
use std::pin::Pin;

use crate::StatusCode;

/// A future that may go to another thread.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// How asynchronous proxies call: where the blocking part of a call runs.
pub trait BinderAsyncPool {
    /// Runs `spawn_me`, which may block, somewhere; then, with its result, `after_spawn`.
    fn spawn<'a, F1, F2, Fut, A, B, E>(
        spawn_me: F1,
        after_spawn: F2,
    ) -> BoxFuture<'a, Result<B, E>>
    where
        F1: FnOnce() -> A + Send + 'static,
        F2: FnOnce(A) -> Fut + Send + 'a,
        Fut: Future<Output = Result<B, E>> + Send + 'a,
        A: Send + 'static,
        B: Send + 'a,
        E: From<StatusCode>;
}

/// How asynchronous services are served: what runs their futures.
pub trait BinderAsyncRuntime {
    /// Runs `future` to its end.
    fn block_on<F: Future>(&self, future: F) -> F::Output;
}
