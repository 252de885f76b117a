//! A field for parcelables that the structure around it does not know.

use std::any::Any;
use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::parcel::{BorrowedParcel, Parcel};
use crate::{Parcelable, Stability, StatusCode};

/// What a parcelable says of itself, so that a [`ParcelableHolder`] can hold it.
pub trait ParcelableMetadata {
    /// The parcelable's name.
    fn get_descriptor() -> &'static str;

    /// How stable it is.
    fn get_stability(&self) -> Stability {
        Stability::Local
    }
}

/// A parcelable to be held.
trait AnyParcelable: Any + fmt::Debug + Parcelable + Send + Sync {}

impl<T: Any + fmt::Debug + Parcelable + Send + Sync> AnyParcelable for T {}

/// Holds one parcelable of whatever type, or none.
///
/// A received parcelable stays as it came until a reader asks for it by its type; a process that
/// only passes it on need not know the type.
pub struct ParcelableHolder {
    stability: Stability,
    held: Mutex<Content>,
}

#[derive(Clone, Default)]
enum Content {
    #[default]
    Nothing,
    /// As it came: its name, its fields. Clones share it, and each reads it from its beginning.
    Unread(Arc<Mutex<Parcel>>),
    Value {
        descriptor: &'static str,
        value: Arc<dyn AnyParcelable>,
        /// The same, to be given out by its own type.
        any: Arc<dyn Any + Send + Sync>,
    },
}

impl ParcelableHolder {
    /// A holder of nothing.
    #[must_use]
    pub fn new(stability: Stability) -> Self {
        Self { stability, held: Mutex::default() }
    }

    /// Lets go of what it holds.
    pub fn reset(&mut self) {
        *self.held() = Content::Nothing;
    }

    /// Holds `value` from now on.
    ///
    /// # Errors
    ///
    /// [`StatusCode::BAD_VALUE`] if `value` is less stable than the holder.
    pub fn set_parcelable<T>(&mut self, value: Arc<T>) -> Result<(), StatusCode>
    where
        T: Any + fmt::Debug + Parcelable + ParcelableMetadata + Send + Sync,
    {
        if self.stability == Stability::Vintf && value.get_stability() == Stability::Local {
            return Err(StatusCode::BAD_VALUE);
        }
        let any = value.clone();
        *self.held() = Content::Value { descriptor: T::get_descriptor(), value, any };
        Ok(())
    }

    /// What it holds, if that is a `T`; `None` if it is something else or nothing.
    ///
    /// # Errors
    ///
    /// [`StatusCode::BAD_VALUE`] for a value of that name and another type, or whatever is wrong with
    /// the bytes that were received.
    pub fn get_parcelable<T>(&self) -> Result<Option<Arc<T>>, StatusCode>
    where
        T: Any + Default + fmt::Debug + Parcelable + ParcelableMetadata + Send + Sync,
    {
        let mut held = self.held();
        match &*held {
            Content::Nothing => Ok(None),
            Content::Value { descriptor, any, .. } => {
                if *descriptor != T::get_descriptor() {
                    return Ok(None);
                }
                any.clone().downcast().map(Some).map_err(|_| StatusCode::BAD_VALUE)
            }
            Content::Unread(parcel) => {
                let parcel = locked(parcel);
                parcel.set_data_position(0)?;
                if parcel.read::<String>()? != T::get_descriptor() {
                    return Ok(None);
                }
                let mut value = T::default();
                value.read_from_parcel(parcel.borrowed_ref())?;
                let value = Arc::new(value);
                let any = value.clone();
                drop(parcel);
                let descriptor = T::get_descriptor();
                *held = Content::Value { descriptor, value: value.clone(), any };
                Ok(Some(value))
            }
        }
    }

    /// How stable what it holds must be.
    #[must_use]
    pub fn get_stability(&self) -> Stability {
        self.stability
    }

    fn held(&self) -> MutexGuard<'_, Content> {
        locked(&self.held)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Content is replaced as a whole, and a parcel is read from its beginning.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Clone for ParcelableHolder {
    fn clone(&self) -> Self {
        Self { stability: self.stability, held: Mutex::new(self.held().clone()) }
    }
}

impl Default for ParcelableHolder {
    fn default() -> Self {
        Self::new(Stability::Local)
    }
}

impl fmt::Debug for ParcelableHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.held() {
            Content::Nothing => f.write_str("ParcelableHolder(nothing)"),
            Content::Unread(parcel) => write!(f, "ParcelableHolder(unread {:?})", locked(parcel)),
            Content::Value { value, .. } => write!(f, "ParcelableHolder({value:?})"),
        }
    }
}

/// The holder's stability, as it stands before what it holds.
const fn wire_stability(stability: Stability) -> i32 {
    match stability {
        Stability::Local => 0,
        Stability::Vintf => 1,
    }
}

impl Parcelable for ParcelableHolder {
    fn write_to_parcel(&self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode> {
        parcel.write(&wire_stability(self.stability))?;
        match &*self.held() {
            Content::Nothing => parcel.write(&0_i32),
            Content::Unread(held) => {
                let held = locked(held);
                parcel.write(&held.get_data_size())?;
                parcel.append_all_from(&held)
            }
            Content::Value { descriptor, value, .. } => parcel.write_length_before(|parcel| {
                parcel.write(*descriptor)?;
                value.write_to_parcel(parcel)
            }),
        }
    }

    fn read_from_parcel(&mut self, parcel: &BorrowedParcel<'_>) -> Result<(), StatusCode> {
        // The reader of a field makes a holder before it can know what the structure wants, so the
        // writer's word counts.
        let stability: i32 = parcel.read()?;
        let known = [Stability::Local, Stability::Vintf];
        let stability = known.into_iter().find(|known| wire_stability(*known) == stability);
        self.stability = stability.ok_or(StatusCode::BAD_VALUE)?;
        let length: i32 = parcel.read()?;
        let length = usize::try_from(length).map_err(|_| StatusCode::BAD_VALUE)?;
        let held = match length {
            0 => Content::Nothing,
            _ => Content::Unread(Arc::new(Mutex::new(parcel.split_off(length)?))),
        };
        drop(mem::replace(&mut *self.held(), held));
        Ok(())
    }
}

crate::impl_serialize_for_parcelable!(ParcelableHolder);
crate::impl_deserialize_for_parcelable!(ParcelableHolder);

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq)]
    struct Number(i32);

    impl ParcelableMetadata for Number {
        fn get_descriptor() -> &'static str {
            "test.Number"
        }
    }

    impl Parcelable for Number {
        fn write_to_parcel(&self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode> {
            parcel.write(&self.0)
        }

        fn read_from_parcel(&mut self, parcel: &BorrowedParcel<'_>) -> Result<(), StatusCode> {
            self.0 = parcel.read()?;
            Ok(())
        }
    }

    #[test]
    fn a_clone_holds_the_same_read_or_unread() {
        let mut holder = ParcelableHolder::default();
        holder.set_parcelable(Arc::new(Number(7))).expect("as stable as the holder");
        let mut parcel = Parcel::new();
        holder.write_to_parcel(parcel.borrowed()).expect("room");
        let held = |holder: &ParcelableHolder| {
            holder.get_parcelable::<Number>().map(|held| held.map(|number| number.0))
        };
        assert_eq!(held(&holder.clone()), Ok(Some(7)));

        parcel.set_data_position(0).expect("the beginning");
        let mut received = ParcelableHolder::default();
        received.read_from_parcel(parcel.borrowed_ref()).expect("a holder");
        let clones = [received.clone(), received.clone()];
        received.reset();
        for clone in &clones {
            assert_eq!(held(clone), Ok(Some(7)));
            let mut again = Parcel::new();
            clone.write_to_parcel(again.borrowed()).expect("room");
            assert_eq!(again.get_data_size(), parcel.get_data_size());
        }
        assert_eq!(held(&received), Ok(None));
    }
}
