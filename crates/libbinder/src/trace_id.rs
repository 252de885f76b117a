//! By what people find one request again in the logs of several programs and machines.
//!
//! An id is said once, by [`with_trace_id`] or by the first process that passes a call on to another machine. It goes along
//! with calls over RPC to peers that know of it, and with the calls that a service makes while it serves such a call.

use std::cell::Cell;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::rand::{GetRandomFlags, getrandom};

/// An odd number, so that all numbers come before one comes again.
const STEP: u32 = 0x9e37_79b9;

/// The id of a request: a number that hardly another has at the same time. It means nothing to programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId(NonZeroU32);

impl TraceId {
    /// The id of that number; `None` for 0, which means that there is none.
    #[must_use]
    pub fn new(number: u32) -> Option<Self> {
        NonZeroU32::new(number).map(Self)
    }

    /// An id that this process has not used lately.
    #[must_use]
    pub fn next() -> Self {
        static NEXT: LazyLock<AtomicU32> = LazyLock::new(|| {
            let mut seed = [0; 4];
            // Without random numbers ids of several processes are more often the same.
            let _ = getrandom(&mut seed, GetRandomFlags::empty());
            AtomicU32::new(u32::from_ne_bytes(seed))
        });
        loop {
            if let Some(id) = Self::new(NEXT.fetch_add(STEP, Ordering::Relaxed)) {
                return id;
            }
        }
    }

    /// Its number.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0.get()
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

thread_local! {
    /// The id of the calls that this thread makes.
    static SCOPE: Cell<Option<TraceId>> = const { Cell::new(None) };
}

/// Puts the id of an outer scope back, however the inner one ends.
pub(crate) struct RestoreTraceId(Option<TraceId>);

impl Drop for RestoreTraceId {
    fn drop(&mut self) {
        // In the destructors of the thread's own variables there may be none any more.
        let _ = SCOPE.try_with(|scope| scope.set(self.0));
    }
}

/// Sets the id of the calls that this thread makes, until the returned guard is dropped.
pub(crate) fn enter(id: Option<TraceId>) -> RestoreTraceId {
    RestoreTraceId(SCOPE.try_with(|scope| scope.replace(id)).ok().flatten())
}

/// The id of the scope.
pub(crate) fn of_scope() -> Option<TraceId> {
    SCOPE.try_with(Cell::get).ok().flatten()
}

/// Runs `calls`; calls that it makes, and calls that are made to serve these, have the id.
///
/// ```
/// # fn greet() -> binder::Result<String> { Ok(String::new()) }
/// use binder::TraceId;
///
/// let id = TraceId::next();
/// let greeting = binder::with_trace_id(id, greet)?;
/// # Ok::<(), binder::Status>(())
/// ```
pub fn with_trace_id<R>(id: TraceId, calls: impl FnOnce() -> R) -> R {
    let _restore = enter(Some(id));
    calls()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_a_process_differ_and_have_one_text() {
        let ids: std::collections::HashSet<_> = (0..1000).map(|_| TraceId::next()).collect();
        assert_eq!(ids.len(), 1000);
        assert_eq!(TraceId::new(0xab).expect("a number").to_string(), "000000ab");
        assert_eq!(TraceId::new(0), None);
    }

    #[test]
    fn an_inner_scope_is_nearer() {
        let (outer, inner) = (TraceId::next(), TraceId::next());
        with_trace_id(outer, || {
            with_trace_id(inner, || assert_eq!(of_scope(), Some(inner)));
            assert_eq!(of_scope(), Some(outer));
        });
        assert_eq!(of_scope(), None);
    }
}
