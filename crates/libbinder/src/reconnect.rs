//! Proxies of objects that are found again by their name.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::interface::{TransactionCode, TransactionFlags};
use crate::object::Object;
use crate::parcel::Parcel;
use crate::transport::{CallStart, DeathNotice, ObjectCodec, ProxyFacts, RemoteObject};
use crate::{SpIBinder, StatusCode};

/// Finds an object by its name.
type FindObject = dyn Fn() -> Result<SpIBinder, StatusCode> + Send + Sync;

/// Finds an object, and finds it again when it has died: the next call goes to whichever object `find` returns then.
///
/// Only for root objects without state, which any of its kind can stand in for. No call is ever made twice: one that was
/// under way when the object died fails with [`StatusCode::DEAD_OBJECT`], and so do the calls for which `find` has
/// nothing. Objects that came from the dead one stay dead; links to its death tell of that death, and are made
/// anew for the next. A parcel gets the object of that moment.
///
/// `find` runs on the thread that calls, when it begins the next call, and is bounded by the
/// [scope](crate::with_timeout) of that. An object of another interface than the first is not taken.
///
/// ```no_run
/// use binder::transport::rpc::RpcSession;
///
/// let greeter = binder::reconnecting(|| Ok(RpcSession::new().connect_unix("/run/greeter")?))?;
/// # Ok::<(), binder::StatusCode>(())
/// ```
///
/// # Errors
///
/// Those of `find`, and of asking the object for its interface.
pub fn reconnecting(
    find: impl Fn() -> Result<SpIBinder, StatusCode> + Send + Sync + 'static,
) -> Result<SpIBinder, StatusCode> {
    let found = find()?;
    let Object::Remote(object) = found.object() else {
        // It lives as long as this process.
        return Ok(found);
    };
    let facts = ProxyFacts::default();
    facts.learn_descriptor(found.interface_descriptor()?);
    facts.learn_stability(found.stability());
    let current = Mutex::new(Arc::clone(object));
    let proxy = FoundProxy { find: Box::new(find), finding: Mutex::default(), current, facts };
    Ok(SpIBinder::from_remote(Arc::new(proxy)))
}

/// A proxy that stands for one object after the other.
struct FoundProxy {
    find: Box<FindObject>,
    /// Held by the thread that searches, so that it alone does.
    finding: Mutex<()>,
    current: Mutex<Arc<dyn RemoteObject>>,
    facts: ProxyFacts,
}

impl FoundProxy {
    fn slot(&self) -> MutexGuard<'_, Arc<dyn RemoteObject>> {
        // Nothing but a copy is made under the lock.
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn current(&self) -> Arc<dyn RemoteObject> {
        Arc::clone(&self.slot())
    }

    /// Returns the object that the next call goes to.
    fn find_alive(&self) -> Arc<dyn RemoteObject> {
        let current = self.current();
        if current.is_alive() {
            return current;
        }
        let _finding = self.finding.lock().unwrap_or_else(PoisonError::into_inner);
        let current = self.current();
        if current.is_alive() {
            return current;
        }
        match self.find_next() {
            Ok(next) => {
                let former = std::mem::replace(&mut *self.slot(), Arc::clone(&next));
                drop(former);
                next
            }
            Err(status) => {
                tracing::debug!(%status, interface = self.facts.descriptor(), "an object was not found again");
                current
            }
        }
    }

    fn find_next(&self) -> Result<Arc<dyn RemoteObject>, StatusCode> {
        let found = (self.find)()?;
        let object = found.as_remote().ok_or(StatusCode::INVALID_OPERATION)?;
        if Some(found.interface_descriptor()?.as_str()) != self.facts.descriptor() {
            return Err(StatusCode::BAD_TYPE);
        }
        Ok(Arc::clone(object))
    }

    /// Returns the object that a parcel was begun for, unless another has taken its place since.
    fn target_of(&self, data: &Parcel) -> Result<Arc<dyn RemoteObject>, StatusCode> {
        let current = self.current();
        let codec = current.codec();
        let is_for_it = data.codec().is_some_and(|begun| Arc::ptr_eq(begun, &codec));
        if is_for_it { Ok(current) } else { Err(StatusCode::DEAD_OBJECT) }
    }
}

impl RemoteObject for FoundProxy {
    fn codec(&self) -> Arc<dyn ObjectCodec> {
        // A call begins with its parcel.
        self.find_alive().codec()
    }

    fn facts(&self) -> &ProxyFacts {
        &self.facts
    }

    fn submit_transact(
        &self,
        code: TransactionCode,
        data: Parcel,
        flags: TransactionFlags,
    ) -> Result<Parcel, StatusCode> {
        self.target_of(&data)?.submit_transact(code, data, flags)
    }

    fn begin_transact(
        self: Arc<Self>,
        code: TransactionCode,
        data: Parcel,
        flags: TransactionFlags,
    ) -> CallStart {
        match self.target_of(&data) {
            Ok(target) => target.begin_transact(code, data, flags),
            Err(status) => CallStart::Finished(Err(status)),
        }
    }

    fn link_to_death(&self, recipient: &Arc<DeathNotice>) -> Result<(), StatusCode> {
        self.current().link_to_death(recipient)
    }

    fn unlink_to_death(&self, recipient: &Arc<DeathNotice>) -> Result<(), StatusCode> {
        self.current().unlink_to_death(recipient)
    }

    fn is_alive(&self) -> bool {
        self.current().is_alive()
    }

    fn stands_for(&self) -> Option<Arc<dyn RemoteObject>> {
        Some(self.find_alive())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn number(&self) -> u64 {
        self.current().number()
    }
}

impl fmt::Debug for FoundProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "found again: {:?}", self.current())
    }
}
