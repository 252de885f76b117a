//! The caller of the call that a thread serves.

use std::cell::RefCell;
use std::ffi::{CStr, CString};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::deadline;
use crate::trace_id::{self, TraceId};

/// The caller, as its transport knows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CallerIdentity {
    /// The process, as numbered here; 0 if it has no number here.
    pub pid: i32,
    /// The effective user; `u32::MAX` if the transport cannot know.
    pub uid: u32,
    /// The security context, if the object asked for it.
    pub sid: Option<CString>,
    /// The certificate (DER) that the peer showed, over TLS.
    pub certificate: Option<Arc<[u8]>>,
    /// When it stops waiting for the answer, if it said so.
    pub deadline: Option<Instant>,
    /// The request that its call belongs to, if it said so.
    pub trace_id: Option<TraceId>,
    /// The user of the peer's machine for whom the peer makes the call, if it said so: the peer's word alone.
    pub claimed_uid: Option<u32>,
    /// As which user the call is made that this one is passed on as, over a device; `None` is that of this process.
    pub forwarded_as: Option<u32>,
}

thread_local! {
    static CALLER: RefCell<Option<CallerIdentity>> = const { RefCell::new(None) };
}

/// Puts the caller of an outer call back, however the inner one ends.
struct RestoreCaller(Option<CallerIdentity>);

impl Drop for RestoreCaller {
    fn drop(&mut self) {
        let outer = self.0.take();
        CALLER.with(|slot| *slot.borrow_mut() = outer);
    }
}

/// Runs `serve` as a call from `caller`. Calls nest.
pub fn with_caller<R>(caller: CallerIdentity, serve: impl FnOnce() -> R) -> R {
    // What the thread waits for has nothing to do with what it serves meanwhile.
    let _scope = (deadline::enter(None), trace_id::enter(None));
    let _restore = RestoreCaller(CALLER.with(|slot| slot.borrow_mut().replace(caller)));
    serve()
}

/// Whether this thread can serve calls still. In the destructors of a thread's own variables the
/// place with the caller may be gone.
pub(crate) fn can_serve() -> bool {
    CALLER.try_with(|_| ()).is_ok()
}

/// A fact about the caller, if this thread is serving a call.
fn of_caller<T>(wanted: impl FnOnce(&CallerIdentity) -> T) -> Option<T> {
    CALLER.try_with(|slot| slot.borrow().as_ref().map(wanted)).ok().flatten()
}

/// The user whose call this thread serves, if it does and the transport knows.
pub(crate) fn served_uid() -> Option<u32> {
    of_caller(|caller| caller.uid).filter(|&uid| uid != u32::MAX)
}

/// What a service may ask about the call that it is serving.
///
/// Outside of a call, and in calls from this process to itself, this process is the caller.
#[derive(Debug)]
pub struct ThreadState(());

impl ThreadState {
    /// The effective user of the caller.
    #[must_use]
    pub fn get_calling_uid() -> u32 {
        of_caller(|caller| caller.uid).unwrap_or_else(|| rustix::process::geteuid().as_raw())
    }

    /// The process of the caller; 0 if it has no number here, and in one-way calls.
    #[must_use]
    pub fn get_calling_pid() -> i32 {
        of_caller(|caller| caller.pid).unwrap_or_else(|| rustix::process::getpid().as_raw_pid())
    }

    /// Runs `check` with the security context of the caller, if the object asked for it
    /// ([`crate::BinderFeatures::set_requesting_sid`]).
    pub fn with_calling_sid<T>(check: impl for<'a> FnOnce(Option<&'a CStr>) -> T) -> T {
        // A copy, so that `check` may call out and be called back.
        let sid = of_caller(|caller| caller.sid.clone()).flatten();
        check(sid.as_deref())
    }

    /// The certificate (DER) of a caller that came over TLS and showed one.
    #[must_use]
    pub fn get_calling_certificate() -> Option<Arc<[u8]>> {
        of_caller(|caller| caller.certificate.clone()).flatten()
    }

    /// When the caller stops waiting for the answer: `None` if it waits for ever or does not say, as over a device and
    /// from other libraries. Outside of a call it is the deadline of the [scope](crate::with_timeout).
    #[must_use]
    pub fn deadline() -> Option<Instant> {
        deadline::earliest(deadline::of_scope(), of_caller(|caller| caller.deadline).flatten())
    }

    /// How long the caller waits for the answer still, zero if it has stopped; else as [`Self::deadline`].
    #[must_use]
    pub fn remaining() -> Option<Duration> {
        Self::deadline().map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// The request to which the calls of this thread belong: that of the [scope](crate::with_trace_id), or of the call
    /// that is served. `None` if the caller sent none, as over a device and from other libraries.
    #[must_use]
    pub fn trace_id() -> Option<TraceId> {
        trace_id::of_scope().or_else(|| of_caller(|caller| caller.trace_id).flatten())
    }

    /// The user for whom the caller makes this call, by the caller's word alone: of a session whose client passes calls
    /// on and [says so](crate::transport::rpc::RpcSession::set_tells_callers). It is a number of the caller's machine, and
    /// to be believed of callers only that are trusted to speak for others, as by their
    /// [certificate](Self::get_calling_certificate).
    #[must_use]
    pub fn claimed_uid() -> Option<u32> {
        of_caller(|caller| caller.claimed_uid).flatten()
    }

    /// As which user the call is passed on that this thread serves, by what the program
    /// [decides](crate::transport::rpc::RpcServer::set_forwarding_user); `None` is that of this process.
    #[must_use]
    pub fn forwarded_as() -> Option<u32> {
        of_caller(|caller| caller.forwarded_as).flatten()
    }

    /// Whether this thread is serving a call.
    #[must_use]
    pub fn is_handling_transaction() -> bool {
        of_caller(|_| ()).is_some()
    }
}
