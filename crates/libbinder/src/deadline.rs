//! When calls end that are not answered.
//!
//! A deadline comes from the [scope](with_timeout) that a call is made in, from the reference that it is made by
//! ([`SpIBinder::with_timeout`](crate::SpIBinder::with_timeout)), or from its session; the earliest counts. It travels with the call's parcel to
//! the transport ([`Parcel::deadline`](crate::binder_impl::Parcel)), which ends the wait, and tells the peer if that
//! knows what a deadline is.

use std::cell::Cell;
use std::time::{Duration, Instant};

thread_local! {
    /// When the calls end that this thread makes.
    static SCOPE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Puts the deadline of an outer scope back, however the inner one ends.
pub(crate) struct RestoreScope(Option<Instant>);

impl Drop for RestoreScope {
    fn drop(&mut self) {
        // In the destructors of the thread's own variables there may be none any more.
        let _ = SCOPE.try_with(|scope| scope.set(self.0));
    }
}

/// Sets the deadline of the calls that this thread makes, until the returned guard is dropped.
pub(crate) fn enter(deadline: Option<Instant>) -> RestoreScope {
    RestoreScope(SCOPE.try_with(|scope| scope.replace(deadline)).ok().flatten())
}

/// The deadline of the calls that this thread makes.
pub(crate) fn of_scope() -> Option<Instant> {
    SCOPE.try_with(Cell::get).ok().flatten()
}

/// The earlier of two.
pub(crate) fn earliest(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    one.into_iter().chain(other).min()
}

/// When `timeout` is over; never, if that is later than the clock can say.
pub(crate) fn after(timeout: Duration) -> Option<Instant> {
    Instant::now().checked_add(timeout)
}

/// Runs `calls`; calls that it makes fail with [`StatusCode::TIMED_OUT`](crate::StatusCode::TIMED_OUT) when
/// `timeout` is over and they are not answered.
///
/// It bounds all of them together. An inner scope can only be shorter. Calls that are awaited keep the deadline of the
/// scope in which they were begun. A call that has timed out may run all the same: all that is known is that no
/// answer came.
///
/// ```
/// # fn greet() -> binder::Result<String> { Ok(String::new()) }
/// use std::time::Duration;
///
/// let greeting = binder::with_timeout(Duration::from_millis(200), greet)?;
/// # Ok::<(), binder::Status>(())
/// ```
pub fn with_timeout<R>(timeout: Duration, calls: impl FnOnce() -> R) -> R {
    with_deadline(after(timeout), calls)
}

/// As [`with_timeout`], until an instant; `None` is no bound but that of the scopes around it.
///
/// A service that calls others on behalf of its caller passes its caller's on:
/// `with_deadline(ThreadState::deadline(), || ..)`.
pub fn with_deadline<R>(deadline: Option<Instant>, calls: impl FnOnce() -> R) -> R {
    let _restore = enter(earliest(of_scope(), deadline));
    calls()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inner_scope_is_only_ever_shorter() {
        let long = Duration::from_secs(60);
        with_timeout(long, || {
            let outer = of_scope().expect("a deadline");
            with_timeout(2 * long, || assert_eq!(of_scope(), Some(outer)));
            with_timeout(long / 2, || assert!(of_scope().expect("a deadline") < outer));
            with_deadline(None, || assert_eq!(of_scope(), Some(outer)));
            assert_eq!(of_scope(), Some(outer));
        });
        assert_eq!(of_scope(), None);
        with_timeout(Duration::MAX, || assert_eq!(of_scope(), None));
    }
}
