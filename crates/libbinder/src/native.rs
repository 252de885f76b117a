//! Objects of this process.

use std::any::Any;
use std::ffi::CStr;
use std::fmt;
use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::interface::TransactionCode;
use crate::object::{IBinder, IBinderInternal};
use crate::parcel::{BorrowedParcel, Parcel};
use crate::transport::{LocalObject, TransactionFlags};
use crate::{DeathRecipient, Interface, SpIBinder, Stability, StatusCode};

/// A service, as [`Binder`] needs it; [`declare_binder_interface!`](crate::declare_binder_interface)
/// implements it.
pub trait Remotable: Send + Sync + 'static {
    /// The interface's name.
    fn get_descriptor() -> &'static str;

    /// Serves a call; `data` stands behind the interface token.
    ///
    /// # Errors
    ///
    /// The status that the caller gets instead of a reply.
    fn on_transact(
        &self,
        code: TransactionCode,
        data: &BorrowedParcel<'_>,
        reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode>;

    /// Tells people about the service: nothing, if it does not say otherwise.
    ///
    /// # Errors
    ///
    /// Whatever prevents it.
    fn on_dump(&self, out: &mut dyn io::Write, args: &[&CStr]) -> Result<(), StatusCode> {
        let _ = (out, args);
        Ok(())
    }
}

/// A service that can be called from elsewhere.
///
/// Cloning makes another reference to the same object. It lives as long as this process or another
/// refers to it.
pub struct Binder<T: Remotable> {
    node: Arc<NativeNode<T>>,
}

struct NativeNode<T> {
    service: T,
    stability: Stability,
    is_requesting_sid: AtomicBool,
    extension: Mutex<Option<SpIBinder>>,
}

impl<T: Remotable> Binder<T> {
    /// An object for `service`, of local stability.
    pub fn new(service: T) -> Self {
        Self::new_with_stability(service, Stability::default())
    }

    /// An object for `service`.
    pub fn new_with_stability(service: T, stability: Stability) -> Self {
        let node = NativeNode {
            service,
            stability,
            is_requesting_sid: AtomicBool::new(false),
            extension: Mutex::default(),
        };
        Self { node: Arc::new(node) }
    }

    /// Adds an object that does more than this one's interface says; callers ask for it by
    /// [`IBinderInternal::get_extension`].
    ///
    /// # Errors
    ///
    /// None; a `Result` as in Android.
    pub fn set_extension(&mut self, extension: &SpIBinder) -> Result<(), StatusCode> {
        *self.node.extension() = Some(extension.clone());
        Ok(())
    }

    /// The interface's name.
    #[must_use]
    pub fn get_descriptor() -> &'static str {
        T::get_descriptor()
    }

    /// The object behind `binder`, if it is of this process and of this type.
    ///
    /// # Errors
    ///
    /// [`StatusCode::BAD_TYPE`] if not.
    pub fn from_binder(binder: &SpIBinder) -> Result<Self, StatusCode> {
        let object = binder.as_local().ok_or(StatusCode::BAD_TYPE)?;
        let node = object.clone().as_any().downcast().map_err(|_| StatusCode::BAD_TYPE)?;
        Ok(Self { node })
    }

    /// Whether an object of this process is of this type.
    pub(crate) fn is_behind(object: &dyn LocalObject) -> bool {
        let object: &dyn Any = object;
        object.is::<NativeNode<T>>()
    }

    fn sp(&self) -> SpIBinder {
        SpIBinder::from_local(self.node.clone())
    }
}

impl<T> NativeNode<T> {
    fn extension(&self) -> MutexGuard<'_, Option<SpIBinder>> {
        // Nothing but a swap happens under the lock.
        self.extension.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Remotable> LocalObject for NativeNode<T> {
    fn descriptor(&self) -> &str {
        T::get_descriptor()
    }

    fn on_transact(
        &self,
        code: TransactionCode,
        data: &BorrowedParcel<'_>,
        reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        self.service.on_transact(code, data, reply)
    }

    fn dump(&self, out: &mut dyn io::Write, args: &[&CStr]) -> Result<(), StatusCode> {
        self.service.on_dump(out, args)
    }

    fn extension(&self) -> Option<SpIBinder> {
        Self::extension(self).clone()
    }

    fn stability(&self) -> Stability {
        self.stability
    }

    fn is_requesting_sid(&self) -> bool {
        self.is_requesting_sid.load(Ordering::Relaxed)
    }

    fn set_requesting_sid(&self, enable: bool) {
        self.is_requesting_sid.store(enable, Ordering::Relaxed);
    }

    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

impl<T: Remotable> Deref for Binder<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.node.service
    }
}

impl<T: Remotable> Clone for Binder<T> {
    fn clone(&self) -> Self {
        Self { node: self.node.clone() }
    }
}

impl<T: Remotable> fmt::Debug for Binder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Binder({:?})", T::get_descriptor())
    }
}

impl<T: Remotable> Interface for Binder<T> {
    fn as_binder(&self) -> SpIBinder {
        self.sp()
    }

    fn dump(&self, out: &mut dyn io::Write, args: &[&CStr]) -> Result<(), StatusCode> {
        self.node.service.on_dump(out, args)
    }
}

impl<T: Remotable> IBinder for Binder<T> {
    fn link_to_death(&self, recipient: &DeathRecipient) -> Result<(), StatusCode> {
        self.sp().link_to_death(recipient)
    }

    fn unlink_to_death(&self, recipient: &DeathRecipient) -> Result<(), StatusCode> {
        self.sp().unlink_to_death(recipient)
    }

    fn ping_binder(&self) -> Result<(), StatusCode> {
        Ok(())
    }
}

impl<T: Remotable> IBinderInternal for Binder<T> {
    fn is_binder_alive(&self) -> bool {
        true
    }

    fn set_requesting_sid(&mut self, enable: bool) {
        self.node.is_requesting_sid.store(enable, Ordering::Relaxed);
    }

    fn get_extension(&self) -> Result<Option<SpIBinder>, StatusCode> {
        Ok(self.node.extension().clone())
    }

    fn prepare_transact(&self) -> Result<Parcel, StatusCode> {
        self.sp().prepare_transact()
    }

    fn submit_transact(
        &self,
        code: TransactionCode,
        data: Parcel,
        flags: TransactionFlags,
    ) -> Result<Parcel, StatusCode> {
        self.sp().submit_transact(code, data, flags)
    }

    fn dump<F: std::os::fd::AsFd>(&self, file: &F, args: &[&str]) -> Result<(), StatusCode> {
        IBinderInternal::dump(&self.sp(), file, args)
    }
}

#[cfg(test)]
mod tests {
    #![expect(unreachable_pub, reason = "the macro declares for crates")]

    use super::*;
    use crate::interface::FIRST_CALL_TRANSACTION;
    use crate::{BinderFeatures, ExceptionCode, Status};

    pub trait IHalf: Interface {}

    crate::declare_binder_interface! {
        IHalf["test.IHalf"] { native: BnHalf(on_transact), proxy: BpHalf {} }
    }

    struct Half;

    impl Interface for Half {}
    impl IHalf for Half {}
    impl IHalf for BpHalf {}
    impl IHalf for Binder<BnHalf> {}

    /// Answers as generated code does whose service left out a field.
    fn on_transact(
        _: &dyn IHalf,
        _: TransactionCode,
        _: &BorrowedParcel<'_>,
        reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        reply.write(&Status::ok())?;
        reply.write(&BnHalf::new_binder(Half, BinderFeatures::default()).as_binder())?;
        Err(StatusCode::UNEXPECTED_NULL)
    }

    #[test]
    fn an_answer_without_what_must_be_there_is_an_exception() {
        let binder = BnHalf::new_binder(Half, BinderFeatures::default()).as_binder();
        let reply = binder.transact(FIRST_CALL_TRANSACTION, 0, |_| Ok(())).expect("an answer");
        let status: Status = reply.read().expect("a status");
        assert_eq!(status.exception_code(), ExceptionCode::NULL_POINTER);
        assert_eq!((reply.get_data_size(), reply.objects().len()), (reply.get_data_position(), 0));
    }
}
