//! Calls of one instance of a service, counted and timed on their way through this process.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use binder::binder_impl::{FLAG_ONEWAY, Parcel, TransactionCode, TransactionFlags};
use binder::transport::{DeathNotice, ObjectCodec, ProxyFacts, RemoteObject};
use binder::{SpIBinder, StatusCode, ThreadState, TraceId, with_trace_id};
use service_manager::InstanceCalls;

/// Says whether a call may be made as a user.
pub(crate) struct CallPermission(Box<dyn Fn(Option<u32>) -> bool + Send + Sync>);

impl CallPermission {
    pub(crate) fn new(permit: impl Fn(Option<u32>) -> bool + Send + Sync + 'static) -> Self {
        Self(Box::new(permit))
    }
}

impl fmt::Debug for CallPermission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallPermission").finish_non_exhaustive()
    }
}

/// How many calls were answered, and how long that took. One-ways have no answer.
#[derive(Debug, Default)]
pub(crate) struct CallCounts {
    count: AtomicU64,
    total_ns: AtomicU64,
}

impl CallCounts {
    pub(crate) fn calls(&self) -> InstanceCalls {
        InstanceCalls {
            count: self.count.load(Ordering::Relaxed),
            total_ns: self.total_ns.load(Ordering::Relaxed),
        }
    }

    /// A proxy of the object of a name whose calls are counted, and told in the log by the request that they belong to. Each is
    /// asked for permission, with the user as whom it is passed on.
    pub(crate) fn count_calls_of(
        self: &Arc<Self>,
        object: &SpIBinder,
        name: &str,
        permission: CallPermission,
    ) -> SpIBinder {
        match object.as_remote() {
            Some(target) => {
                let (target, counts) = (Arc::clone(target), Arc::clone(self));
                let proxy = CountedProxy { target, counts, name: name.into(), permission };
                SpIBinder::from_remote(Arc::new(proxy))
            }
            None => object.clone(),
        }
    }
}

/// The calls of other machines, by the name of the service of this one.
#[derive(Debug, Default)]
pub(crate) struct OwnCalls(Mutex<BTreeMap<String, Arc<CallCounts>>>);

impl OwnCalls {
    fn by_name(&self) -> MutexGuard<'_, BTreeMap<String, Arc<CallCounts>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those of a service that is there.
    pub(crate) fn begin(&self, name: &str) -> Arc<CallCounts> {
        Arc::clone(self.by_name().entry(name.to_owned()).or_default())
    }

    /// Forgets a service that is gone.
    pub(crate) fn forget(&self, name: &str) {
        self.by_name().remove(name);
    }

    pub(crate) fn of(&self, name: &str) -> InstanceCalls {
        self.by_name().get(name).map(|counts| counts.calls()).unwrap_or_default()
    }
}

/// A proxy in all but that its calls are counted: its transport knows it for its own.
#[derive(Debug)]
struct CountedProxy {
    target: Arc<dyn RemoteObject>,
    counts: Arc<CallCounts>,
    /// Of the service.
    name: Box<str>,
    permission: CallPermission,
}

impl RemoteObject for CountedProxy {
    fn codec(&self) -> Arc<dyn ObjectCodec> {
        self.target.codec()
    }

    fn facts(&self) -> &ProxyFacts {
        self.target.facts()
    }

    fn submit_transact(
        &self,
        code: TransactionCode,
        data: Parcel,
        flags: TransactionFlags,
    ) -> Result<Parcel, StatusCode> {
        // A client of a device says none.
        let trace_id = ThreadState::trace_id().unwrap_or_else(TraceId::next);
        let user = ThreadState::forwarded_as();
        let submit = || {
            if (self.permission.0)(user) {
                self.target.submit_transact(code, data, flags)
            } else {
                Err(StatusCode::PERMISSION_DENIED)
            }
        };
        let begun = Instant::now();
        let answer = with_trace_id(trace_id, submit);
        let took = begun.elapsed();
        let (name, error) = (&*self.name, answer.as_ref().err());
        match error {
            None => tracing::debug!(%trace_id, name, code, ?took, "a call between machines"),
            Some(error) => {
                tracing::info!(%trace_id, name, code, user, ?took, %error, "a call between machines failed");
            }
        }
        if flags & FLAG_ONEWAY != 0 {
            return answer;
        }
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.counts.total_ns.fetch_add(took, Ordering::Relaxed);
        self.counts.count.fetch_add(1, Ordering::Relaxed);
        answer
    }

    fn link_to_death(&self, recipient: &Arc<DeathNotice>) -> Result<(), StatusCode> {
        self.target.link_to_death(recipient)
    }

    fn unlink_to_death(&self, recipient: &Arc<DeathNotice>) -> Result<(), StatusCode> {
        self.target.unlink_to_death(recipient)
    }

    fn is_alive(&self) -> bool {
        self.target.is_alive()
    }

    fn is_same(&self, other: &dyn RemoteObject) -> bool {
        self.target.is_same(other)
    }

    fn as_any(&self) -> &dyn Any {
        self.target.as_any()
    }

    fn number(&self) -> u64 {
        self.target.number()
    }
}
