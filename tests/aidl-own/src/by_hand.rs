//! A parcelable that AIDL only knows the name of.

use binder::StatusCode;
use binder::binder_impl::BorrowedParcel;

/// A number that is written twice.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Twice(pub i32);

impl binder::Parcelable for Twice {
    fn write_to_parcel(&self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode> {
        parcel.write(&[self.0, self.0])
    }

    fn read_from_parcel(&mut self, parcel: &BorrowedParcel<'_>) -> Result<(), StatusCode> {
        let [first, second]: [i32; 2] = parcel.read()?;
        *self = Self(first);
        if first == second { Ok(()) } else { Err(StatusCode::BAD_VALUE) }
    }
}

binder::impl_serialize_for_parcelable!(Twice);
binder::impl_deserialize_for_parcelable!(Twice);
