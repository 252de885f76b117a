//! References to objects by their interface.

use std::cmp::Ordering;
use std::ffi::CStr;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::ops::Deref;
use std::time::Duration;

use crate::parcel::BorrowedParcel;
use crate::{
    Deserialize, DeserializeArray, DeserializeOption, Serialize, SerializeArray, SerializeOption,
    SpIBinder, StatusCode, WpIBinder,
};

/// What every interface, every service and every proxy is.
pub trait Interface: Send + Sync {
    /// The object behind it.
    ///
    /// # Panics
    ///
    /// On a service that no object has been made of, as Android's does: only
    /// `BnFoo::new_binder(service, ..)` gives it a binder.
    fn as_binder(&self) -> SpIBinder {
        panic!("a service without a binder: make one with new_binder, and ask that")
    }

    /// Tells people about itself.
    ///
    /// # Errors
    ///
    /// Whatever prevents it.
    fn dump(&self, out: &mut dyn io::Write, args: &[&CStr]) -> Result<(), StatusCode> {
        let _ = (out, args);
        Ok(())
    }
}

/// An interface that objects can be asked for; [`declare_binder_interface!`] implements it.
///
/// [`declare_binder_interface!`]: crate::declare_binder_interface
pub trait FromIBinder: Interface {
    /// The object by this interface: the service itself if it is of this process, else a proxy.
    ///
    /// # Errors
    ///
    /// [`StatusCode::BAD_TYPE`] if the object serves another.
    fn try_from(binder: SpIBinder) -> Result<Strong<Self>, StatusCode>;
}

/// A strong reference to an object, by its interface.
pub struct Strong<I: FromIBinder + ?Sized>(Box<I>);

impl<I: FromIBinder + ?Sized> Strong<I> {
    /// A reference to what `inner` refers to.
    #[must_use]
    pub fn new(inner: Box<I>) -> Self {
        Self(inner)
    }

    /// A reference that does not keep the object alive.
    #[must_use]
    pub fn downgrade(this: &Self) -> Weak<I> {
        Weak::new(this)
    }

    /// The same object, whose calls fail with [`StatusCode::TIMED_OUT`] if they are not answered in time; see
    /// [`SpIBinder::with_timeout`].
    ///
    /// # Panics
    ///
    /// Never: an object's interface does not change.
    #[must_use]
    pub fn with_timeout(this: &Self, timeout: Duration) -> Self {
        let object = this.0.as_binder().with_timeout(timeout);
        FromIBinder::try_from(object).expect("an object's interface does not change")
    }

    /// The same object, called without blocking; `P` says on which threads.
    ///
    /// # Panics
    ///
    /// Never: the asynchronous interface has the same name.
    #[must_use]
    pub fn into_async<P>(self) -> Strong<I::TargetInterface>
    where
        I: ToAsyncInterface<P>,
        I::TargetInterface: FromIBinder,
    {
        FromIBinder::try_from(self.0.as_binder()).expect("one object, two views of its interface")
    }

    /// The same object, called as usual.
    ///
    /// # Panics
    ///
    /// Never: the synchronous interface has the same name.
    #[must_use]
    pub fn into_sync(self) -> Strong<I::TargetInterface>
    where
        I: ToSyncInterface,
        I::TargetInterface: FromIBinder,
    {
        FromIBinder::try_from(self.0.as_binder()).expect("one object, two views of its interface")
    }
}

/// A synchronous interface that has an asynchronous twin.
pub trait ToAsyncInterface<P>: Interface {
    /// The twin.
    type TargetInterface: ?Sized;
}

/// An asynchronous interface that has a synchronous twin.
pub trait ToSyncInterface: Interface {
    /// The twin.
    type TargetInterface: ?Sized;
}

impl<I: FromIBinder + ?Sized> Clone for Strong<I> {
    fn clone(&self) -> Self {
        // It was this interface before.
        FromIBinder::try_from(self.0.as_binder()).expect("an object's interface does not change")
    }
}

impl<I: FromIBinder + ?Sized> Deref for Strong<I> {
    type Target = I;

    fn deref(&self) -> &I {
        &self.0
    }
}

impl<I: FromIBinder + ?Sized> AsRef<I> for Strong<I> {
    fn as_ref(&self) -> &I {
        &self.0
    }
}

impl<I: FromIBinder + ?Sized> std::borrow::Borrow<I> for Strong<I> {
    fn borrow(&self) -> &I {
        &self.0
    }
}

impl<I: FromIBinder + fmt::Debug + ?Sized> fmt::Debug for Strong<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<I: FromIBinder + ?Sized> PartialEq for Strong<I> {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_binder() == other.0.as_binder()
    }
}

impl<I: FromIBinder + ?Sized> Eq for Strong<I> {}

impl<I: FromIBinder + ?Sized> Ord for Strong<I> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.as_binder().cmp(&other.0.as_binder())
    }
}

impl<I: FromIBinder + ?Sized> PartialOrd for Strong<I> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A weak reference to an object, by its interface.
pub struct Weak<I: FromIBinder + ?Sized> {
    object: WpIBinder,
    interface: PhantomData<fn() -> Strong<I>>,
}

impl<I: FromIBinder + ?Sized> Weak<I> {
    fn new(object: &Strong<I>) -> Self {
        Self { object: object.as_binder().downgrade(), interface: PhantomData }
    }

    /// A strong reference.
    ///
    /// # Errors
    ///
    /// [`StatusCode::DEAD_OBJECT`] if this process does not hold the object any more.
    pub fn upgrade(&self) -> Result<Strong<I>, StatusCode> {
        let object = self.object.promote().ok_or(StatusCode::DEAD_OBJECT)?;
        FromIBinder::try_from(object)
    }
}

impl<I: FromIBinder + ?Sized> Clone for Weak<I> {
    fn clone(&self) -> Self {
        Self { object: self.object.clone(), interface: PhantomData }
    }
}

impl<I: FromIBinder + ?Sized> PartialEq for Weak<I> {
    fn eq(&self, other: &Self) -> bool {
        self.object == other.object
    }
}

impl<I: FromIBinder + ?Sized> Eq for Weak<I> {}

impl<I: FromIBinder + ?Sized> Ord for Weak<I> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.object.cmp(&other.object)
    }
}

impl<I: FromIBinder + ?Sized> PartialOrd for Weak<I> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<I: FromIBinder + ?Sized> fmt::Debug for Weak<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.object.fmt(f)
    }
}

impl<I: FromIBinder + Serialize + ?Sized> Serialize for Strong<I> {
    fn serialize(&self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode> {
        (**self).serialize(parcel)
    }
}

impl<I: FromIBinder + SerializeOption + ?Sized> SerializeOption for Strong<I> {
    fn serialize_option(
        this: Option<&Self>,
        parcel: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        I::serialize_option(this.map(|object| &**object), parcel)
    }
}

impl<I: FromIBinder + Serialize + ?Sized> SerializeArray for Strong<I> {}

impl<I: FromIBinder + ?Sized> Deserialize for Strong<I> {
    type UninitType = Option<Self>;

    fn uninit() -> Self::UninitType {
        None
    }

    fn from_init(value: Self) -> Self::UninitType {
        Some(value)
    }

    fn deserialize(parcel: &BorrowedParcel<'_>) -> Result<Self, StatusCode> {
        FromIBinder::try_from(SpIBinder::deserialize(parcel)?)
    }
}

impl<I: FromIBinder + ?Sized> DeserializeOption for Strong<I> {
    fn deserialize_option(parcel: &BorrowedParcel<'_>) -> Result<Option<Self>, StatusCode> {
        SpIBinder::deserialize_option(parcel)?.map(FromIBinder::try_from).transpose()
    }
}

impl<I: FromIBinder + ?Sized> DeserializeArray for Strong<I> {}
