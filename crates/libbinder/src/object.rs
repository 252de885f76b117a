//! Handles on objects, here or elsewhere.

use std::cmp::Ordering;
use std::fmt;
use std::os::fd::AsFd;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::interface::{
    DUMP_TRANSACTION, EXTENSION_TRANSACTION, INTERFACE_TRANSACTION, PING_TRANSACTION,
    TransactionCode, TransactionFlags,
};
use crate::parcel::{BorrowedParcel, ObjectPlace, Parcel};
use crate::transport::{LocalObject, RemoteObject, serve_parcel};
use crate::{DeathRecipient, FromIBinder, Stability, StatusCode, Strong, deadline};

/// A strong reference to an object: while it lives, so does the object, unless its process dies.
#[derive(Clone)]
pub struct SpIBinder {
    object: Object,
    /// The interface that calls are made for, once a caller has named it.
    descriptor: Option<&'static str>,
    /// How long each call by this reference may take.
    timeout: Option<Duration>,
}

/// An object of this process or of another.
#[derive(Clone)]
pub enum Object {
    /// Of this process.
    Local(Arc<dyn LocalObject>),
    /// Of another, by its transport's proxy.
    Remote(Arc<dyn RemoteObject>),
}

impl SpIBinder {
    /// An object of this process; of one that only [forwards](LocalObject::forwards), what it stands for.
    pub fn from_local(object: Arc<dyn LocalObject>) -> Self {
        match object.forwards() {
            Some(target) => Self::from_remote(Arc::clone(target)),
            None => Self::as_it_is(object),
        }
    }

    /// An object of this process, also one that stands for another.
    pub(crate) fn as_it_is(object: Arc<dyn LocalObject>) -> Self {
        Self { object: Object::Local(object), descriptor: None, timeout: None }
    }

    /// An object elsewhere, for transports.
    pub fn from_remote(object: Arc<dyn RemoteObject>) -> Self {
        Self { object: Object::Remote(object), descriptor: None, timeout: None }
    }

    /// The same, unless it is an object that stands for another: then that.
    pub(crate) fn at_home(self) -> Self {
        match self.as_local().and_then(|object| object.forwards()) {
            Some(target) => Self::from_remote(Arc::clone(target)),
            None => self,
        }
    }

    /// The object itself or its proxy.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// The object itself, if it is of this process.
    pub fn as_local(&self) -> Option<&Arc<dyn LocalObject>> {
        match &self.object {
            Object::Local(object) => Some(object),
            Object::Remote(_) => None,
        }
    }

    /// The proxy, if the object is elsewhere.
    pub fn as_remote(&self) -> Option<&Arc<dyn RemoteObject>> {
        match &self.object {
            Object::Local(_) => None,
            Object::Remote(object) => Some(object),
        }
    }

    /// Whether the object is not of this process.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        self.as_remote().is_some()
    }

    /// How stable the object's interface is.
    #[must_use]
    pub fn stability(&self) -> Stability {
        match &self.object {
            Object::Local(object) => object.stability(),
            Object::Remote(object) => object.facts().stability(),
        }
    }

    /// A reference that does not keep the object alive.
    #[must_use]
    pub fn downgrade(&self) -> WpIBinder {
        let object = match &self.object {
            Object::Local(object) => WeakObject::Local(Arc::downgrade(object)),
            Object::Remote(object) => WeakObject::Remote(Arc::downgrade(object)),
        };
        WpIBinder { object, descriptor: self.descriptor, timeout: self.timeout }
    }

    /// The same object, by a reference whose calls fail with [`StatusCode::TIMED_OUT`] if they are not answered in
    /// time. Interfaces that are made of it, and clones, have the timeout too; it is not sent. Calls of an
    /// object of this process run to their end.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// The same object, called for this interface.
    ///
    /// An object that cannot be asked may serve it: every call names the interface that it means.
    ///
    /// # Errors
    ///
    /// [`StatusCode::BAD_TYPE`] if the object says that it serves another.
    pub fn associate(mut self, descriptor: &'static str) -> Result<Self, StatusCode> {
        if self.descriptor != Some(descriptor) {
            if self.interface_descriptor().is_ok_and(|served| served != descriptor) {
                return Err(StatusCode::BAD_TYPE);
            }
            self.descriptor = Some(descriptor);
        }
        Ok(self)
    }

    /// The object by an interface: the service itself if it is of this process, else a proxy.
    ///
    /// # Errors
    ///
    /// [`StatusCode::BAD_TYPE`] if the object serves another.
    pub fn into_interface<I: FromIBinder + ?Sized>(self) -> Result<Strong<I>, StatusCode> {
        FromIBinder::try_from(self)
    }

    /// The interface that the object says it serves: its own word, or the answer to a question that
    /// is asked once.
    ///
    /// # Errors
    ///
    /// Those of the call.
    pub fn interface_descriptor(&self) -> Result<String, StatusCode> {
        match &self.object {
            Object::Local(object) => Ok(object.descriptor().to_owned()),
            Object::Remote(object) => {
                if let Some(known) = object.facts().descriptor() {
                    return Ok(known.to_owned());
                }
                let mut data = Parcel::for_codec(object.codec());
                data.set_deadline(self.deadline());
                let reply = object.submit_transact(INTERFACE_TRANSACTION, data, 0)?;
                let descriptor = reply.read_string16()?.ok_or(StatusCode::UNEXPECTED_NULL)?;
                Ok(object.facts().learn_descriptor(descriptor).to_owned())
            }
        }
    }

    /// When a call ends that is made by this reference now.
    fn deadline(&self) -> Option<Instant> {
        deadline::earliest(deadline::of_scope(), self.timeout.and_then(deadline::after))
    }

    fn place(&self) -> ObjectPlace {
        match &self.object {
            Object::Local(object) => (false, Arc::as_ptr(object).addr()),
            Object::Remote(object) => (true, Arc::as_ptr(object).addr()),
        }
    }

    /// An empty parcel in the form that this object's transport sends.
    pub(crate) fn empty_parcel(&self) -> Parcel {
        match &self.object {
            Object::Local(_) => Parcel::new(),
            Object::Remote(object) => Parcel::for_codec(object.codec()),
        }
    }
}

/// What any holder of an object may do with it.
pub trait IBinder {
    /// Tells `recipient` once when the object dies.
    ///
    /// # Errors
    ///
    /// [`StatusCode::DEAD_OBJECT`] if it is dead, [`StatusCode::INVALID_OPERATION`] if its death
    /// cannot be told: the object is of this process, or its transport takes no calls from the
    /// peer.
    fn link_to_death(&self, recipient: &DeathRecipient) -> Result<(), StatusCode>;

    /// Takes that back.
    ///
    /// # Errors
    ///
    /// [`StatusCode::DEAD_OBJECT`], or [`StatusCode::NAME_NOT_FOUND`] if there is no such link.
    fn unlink_to_death(&self, recipient: &DeathRecipient) -> Result<(), StatusCode>;

    /// Asks the object whether it is there.
    ///
    /// # Errors
    ///
    /// The transport's.
    fn ping_binder(&self) -> Result<(), StatusCode>;
}

/// What generated code and tools do with an object.
pub trait IBinderInternal: IBinder {
    /// Whether the object is not known to be dead.
    fn is_binder_alive(&self) -> bool;

    /// Asks callers of the object to show their security context, or not; only for objects of this
    /// process, and before any other process knows them.
    fn set_requesting_sid(&mut self, enable: bool);

    /// Lets the object write what it tells people into a file.
    ///
    /// # Errors
    ///
    /// Those of the call, and of the object.
    fn dump<F: AsFd>(&self, file: &F, args: &[&str]) -> Result<(), StatusCode>;

    /// The object that does more than this one's interface says, if there is one.
    ///
    /// # Errors
    ///
    /// Those of the call.
    fn get_extension(&self) -> Result<Option<SpIBinder>, StatusCode>;

    /// A parcel for a call of the object, with the interface token written.
    ///
    /// # Errors
    ///
    /// Those of asking the object for its interface, if this reference is of none yet.
    fn prepare_transact(&self) -> Result<Parcel, StatusCode>;

    /// Calls the object with a parcel of [`Self::prepare_transact`].
    ///
    /// # Errors
    ///
    /// The transport's, or the status that the object answered with; [`StatusCode::BAD_VALUE`] for a
    /// parcel that was prepared for a call of another object.
    fn submit_transact(
        &self,
        code: TransactionCode,
        data: Parcel,
        flags: TransactionFlags,
    ) -> Result<Parcel, StatusCode>;

    /// Calls the object with the arguments that `write` writes.
    ///
    /// # Errors
    ///
    /// Those of writing and of calling.
    fn transact(
        &self,
        code: TransactionCode,
        flags: TransactionFlags,
        write: impl FnOnce(&mut BorrowedParcel<'_>) -> Result<(), StatusCode>,
    ) -> Result<Parcel, StatusCode> {
        let mut data = self.prepare_transact()?;
        write(data.borrowed())?;
        self.submit_transact(code, data, flags)
    }
}

impl IBinder for SpIBinder {
    fn link_to_death(&self, recipient: &DeathRecipient) -> Result<(), StatusCode> {
        let object = self.as_remote().ok_or(StatusCode::INVALID_OPERATION)?;
        object.link_to_death(recipient.notice())
    }

    fn unlink_to_death(&self, recipient: &DeathRecipient) -> Result<(), StatusCode> {
        let object = self.as_remote().ok_or(StatusCode::INVALID_OPERATION)?;
        object.unlink_to_death(recipient.notice())
    }

    fn ping_binder(&self) -> Result<(), StatusCode> {
        self.submit_transact(PING_TRANSACTION, self.empty_parcel(), 0).map(drop)
    }
}

impl IBinderInternal for SpIBinder {
    fn is_binder_alive(&self) -> bool {
        self.as_remote().is_none_or(|object| object.is_alive())
    }

    fn set_requesting_sid(&mut self, enable: bool) {
        if let Object::Local(object) = &self.object {
            object.set_requesting_sid(enable);
        }
    }

    fn dump<F: AsFd>(&self, file: &F, args: &[&str]) -> Result<(), StatusCode> {
        let mut data = self.empty_parcel();
        data.write_file(file.as_fd())?;
        data.write_slice_size(Some(args))?;
        args.iter().try_for_each(|arg| data.write(*arg))?;
        self.submit_transact(DUMP_TRANSACTION, data, 0).map(drop)
    }

    fn get_extension(&self) -> Result<Option<SpIBinder>, StatusCode> {
        match &self.object {
            Object::Local(object) => Ok(object.extension()),
            Object::Remote(_) => {
                let data = self.empty_parcel();
                self.submit_transact(EXTENSION_TRANSACTION, data, 0)?.read_binder()
            }
        }
    }

    fn prepare_transact(&self) -> Result<Parcel, StatusCode> {
        let mut parcel = self.empty_parcel();
        let known = self.as_remote().and_then(|object| object.facts().descriptor());
        match self.descriptor.or(known) {
            Some(descriptor) => parcel.write_interface_token(descriptor)?,
            None => parcel.write_interface_token(&self.interface_descriptor()?)?,
        }
        parcel.prepare_for(self.place());
        Ok(parcel)
    }

    fn submit_transact(
        &self,
        code: TransactionCode,
        mut data: Parcel,
        flags: TransactionFlags,
    ) -> Result<Parcel, StatusCode> {
        if data.is_for_another(self.place()) {
            return Err(StatusCode::BAD_VALUE);
        }
        data.set_deadline(self.deadline());
        #[cfg(feature = "tokio")]
        let Some(data) = crate::binder_tokio::defer(self, code, data, flags) else {
            // The caller does not look at this parcel: the call is made, and answered, later.
            return Ok(Parcel::new());
        };
        match &self.object {
            Object::Local(object) => {
                let _scope = data.deadline().map(|it| deadline::enter(Some(it)));
                serve_parcel(object, code, data, flags)
            }
            Object::Remote(object) => object.submit_transact(code, data, flags),
        }
    }
}

/// As the object; without one, all fail with [`StatusCode::UNEXPECTED_NULL`].
impl IBinder for Option<SpIBinder> {
    fn link_to_death(&self, recipient: &DeathRecipient) -> Result<(), StatusCode> {
        there(self)?.link_to_death(recipient)
    }

    fn unlink_to_death(&self, recipient: &DeathRecipient) -> Result<(), StatusCode> {
        there(self)?.unlink_to_death(recipient)
    }

    fn ping_binder(&self) -> Result<(), StatusCode> {
        there(self)?.ping_binder()
    }
}

/// As the object; without one, all fail with [`StatusCode::UNEXPECTED_NULL`], and it is not alive.
impl IBinderInternal for Option<SpIBinder> {
    fn is_binder_alive(&self) -> bool {
        self.as_ref().is_some_and(SpIBinder::is_binder_alive)
    }

    fn set_requesting_sid(&mut self, enable: bool) {
        if let Some(object) = self {
            object.set_requesting_sid(enable);
        }
    }

    fn dump<F: AsFd>(&self, file: &F, args: &[&str]) -> Result<(), StatusCode> {
        there(self)?.dump(file, args)
    }

    fn get_extension(&self) -> Result<Option<SpIBinder>, StatusCode> {
        there(self)?.get_extension()
    }

    fn prepare_transact(&self) -> Result<Parcel, StatusCode> {
        there(self)?.prepare_transact()
    }

    fn submit_transact(
        &self,
        code: TransactionCode,
        data: Parcel,
        flags: TransactionFlags,
    ) -> Result<Parcel, StatusCode> {
        there(self)?.submit_transact(code, data, flags)
    }
}

/// The object, if there is one.
fn there(object: &Option<SpIBinder>) -> Result<&SpIBinder, StatusCode> {
    object.as_ref().ok_or(StatusCode::UNEXPECTED_NULL)
}

impl PartialEq for SpIBinder {
    fn eq(&self, other: &Self) -> bool {
        match (&self.object, &other.object) {
            (Object::Local(a), Object::Local(b)) => Arc::ptr_eq(a, b),
            (Object::Remote(a), Object::Remote(b)) => a.is_same(&**b),
            (Object::Local(_), Object::Remote(_)) | (Object::Remote(_), Object::Local(_)) => false,
        }
    }
}

impl Eq for SpIBinder {}

/// By place in memory: an order while the objects live, and no other.
impl Ord for SpIBinder {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

impl PartialOrd for SpIBinder {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for SpIBinder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.object {
            Object::Local(object) => write!(f, "SpIBinder(local {:?})", object.descriptor()),
            Object::Remote(object) => write!(f, "SpIBinder({object:?})"),
        }
    }
}

/// A weak reference to an object.
#[derive(Clone)]
pub struct WpIBinder {
    object: WeakObject,
    descriptor: Option<&'static str>,
    timeout: Option<Duration>,
}

#[derive(Clone)]
enum WeakObject {
    Local(Weak<dyn LocalObject>),
    Remote(Weak<dyn RemoteObject>),
}

impl WpIBinder {
    /// A strong reference, if this process still holds the object.
    #[must_use]
    pub fn promote(&self) -> Option<SpIBinder> {
        let object = match &self.object {
            WeakObject::Local(object) => Object::Local(object.upgrade()?),
            WeakObject::Remote(object) => Object::Remote(object.upgrade()?),
        };
        Some(SpIBinder { object, descriptor: self.descriptor, timeout: self.timeout })
    }

    fn place(&self) -> ObjectPlace {
        match &self.object {
            WeakObject::Local(object) => (false, object.as_ptr().addr()),
            WeakObject::Remote(object) => (true, object.as_ptr().addr()),
        }
    }
}

impl PartialEq for WpIBinder {
    fn eq(&self, other: &Self) -> bool {
        match (&self.object, &other.object) {
            (WeakObject::Local(a), WeakObject::Local(b)) => a.ptr_eq(b),
            (WeakObject::Remote(a), WeakObject::Remote(b)) => a.ptr_eq(b),
            (WeakObject::Local(_), WeakObject::Remote(_))
            | (WeakObject::Remote(_), WeakObject::Local(_)) => false,
        }
    }
}

impl Eq for WpIBinder {}

/// By place in memory, as [`SpIBinder`]: the reference keeps its place taken.
impl Ord for WpIBinder {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

impl PartialOrd for WpIBinder {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for WpIBinder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.promote() {
            Some(binder) => write!(f, "Wp{binder:?}"),
            None => f.write_str("WpIBinder(gone)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_object;

    #[test]
    fn references_can_be_kept_in_order() {
        let objects: Vec<_> = (0..5).map(|_| test_object::new(|| ())).collect();
        let mut known = objects.clone();
        let mut weak: Vec<WpIBinder> = objects.iter().map(SpIBinder::downgrade).collect();
        known.sort();
        weak.sort();
        for object in &objects {
            let place = known.binary_search(object).expect("known");
            assert_eq!(&known[place], object);
            assert_eq!(weak.binary_search(&object.downgrade()), Ok(place));
        }
        let stranger = test_object::new(|| ());
        assert!(known.binary_search(&stranger).is_err());
        assert!(weak.binary_search(&stranger.downgrade()).is_err());
    }
}
