//! What can be written into parcels and read from them.
//!
//! A type says how one value looks ([`Serialize`], [`Deserialize`]), how one looks that may be missing
//! (`..Option`), and how many in a row do (`..Array`). The last two have a usual form: a word before
//! the value, a length before the elements.

mod containers;
mod values;

use crate::StatusCode;
use crate::parcel::BorrowedParcel;

/// The word before a value that is there.
pub const NON_NULL: i32 = 1;
/// The word instead of a value that is missing.
pub const NULL: i32 = 0;

/// Can be written into a parcel.
pub trait Serialize {
    /// Writes the value where the parcel stands.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from being written.
    fn serialize(&self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode>;
}

/// Can be read from a parcel.
pub trait Deserialize: Sized {
    /// What stands in a place that a value will have: `Self` if that has a default, else `Option<Self>`.
    type UninitType;

    /// That both are as large, and aligned alike: else naming this does not compile.
    const ASSERT_UNINIT_SIZE_AND_ALIGNMENT: bool = {
        assert!(size_of::<Self>() == size_of::<Self::UninitType>(), "they differ in size");
        assert!(align_of::<Self>() == align_of::<Self::UninitType>(), "they differ in alignment");
        true
    };

    /// The default, or nothing.
    fn uninit() -> Self::UninitType;

    /// A value that is there.
    fn from_init(value: Self) -> Self::UninitType;

    /// Reads a value where the parcel stands.
    ///
    /// # Errors
    ///
    /// The error in the bytes.
    fn deserialize(parcel: &BorrowedParcel<'_>) -> Result<Self, StatusCode>;

    /// Reads a value in the place of this one.
    ///
    /// # Errors
    ///
    /// The error in the bytes.
    fn deserialize_from(&mut self, parcel: &BorrowedParcel<'_>) -> Result<(), StatusCode> {
        *self = Self::deserialize(parcel)?;
        Ok(())
    }
}

/// Can be written many in a row.
pub trait SerializeArray: Serialize + Sized {
    /// Writes an array.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from being written.
    fn serialize_array(slice: &[Self], parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode> {
        parcel.write_with(|writer| writer.length(Some(slice.len())))?;
        slice.iter().try_for_each(|value| value.serialize(parcel))
    }
}

/// Can be read many in a row.
pub trait DeserializeArray: Deserialize {
    /// Reads an array; `None` if it is null.
    ///
    /// # Errors
    ///
    /// The error in the bytes.
    fn deserialize_array(parcel: &BorrowedParcel<'_>) -> Result<Option<Vec<Self>>, StatusCode> {
        // No value takes less than a word, so a length that is a lie ends here.
        let Some(length) = parcel.read_with(|reader| reader.length_of(4))? else {
            return Ok(None);
        };
        // Values may be larger than their bytes, so room for all of them comes as they do.
        let mut values = Vec::with_capacity(length.min(64));
        for _ in 0..length {
            values.push(Self::deserialize(parcel)?);
        }
        Ok(Some(values))
    }
}

/// Can be written where nothing may be.
pub trait SerializeOption: Serialize {
    /// Writes a value or null.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from being written.
    fn serialize_option(
        this: Option<&Self>,
        parcel: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        match this {
            Some(value) => {
                parcel.write_with(|writer| writer.i32(NON_NULL));
                value.serialize(parcel)
            }
            None => {
                parcel.write_with(|writer| writer.i32(NULL));
                Ok(())
            }
        }
    }
}

/// Can be read where nothing may be.
pub trait DeserializeOption: Deserialize {
    /// Reads a value or null.
    ///
    /// # Errors
    ///
    /// The error in the bytes.
    fn deserialize_option(parcel: &BorrowedParcel<'_>) -> Result<Option<Self>, StatusCode> {
        if parcel.read_with(|reader| reader.i32())? == NULL {
            return Ok(None);
        }
        Self::deserialize(parcel).map(Some)
    }

    /// Reads a value or null in the place of this one.
    ///
    /// # Errors
    ///
    /// The error in the bytes.
    fn deserialize_option_from(
        this: &mut Option<Self>,
        parcel: &BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        *this = Self::deserialize_option(parcel)?;
        Ok(())
    }
}

/// A structure that writes and reads its fields.
///
/// AIDL generates it; [`impl_serialize_for_parcelable!`](crate::impl_serialize_for_parcelable) and
/// [`impl_deserialize_for_parcelable!`](crate::impl_deserialize_for_parcelable) make the rest of it.
pub trait Parcelable {
    /// Writes the fields.
    ///
    /// # Errors
    ///
    /// Whatever keeps them from being written.
    fn write_to_parcel(&self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode>;

    /// Reads the fields.
    ///
    /// # Errors
    ///
    /// The error in the bytes.
    fn read_from_parcel(&mut self, parcel: &BorrowedParcel<'_>) -> Result<(), StatusCode>;
}

/// A structure without a default that writes and reads itself; for hand-written ones
/// (`parcelable Foo rust_type "..";` in AIDL).
///
/// [`impl_serialize_for_unstructured_parcelable!`](crate::impl_serialize_for_unstructured_parcelable)
/// and
/// [`impl_deserialize_for_unstructured_parcelable!`](crate::impl_deserialize_for_unstructured_parcelable)
/// make the rest of it.
pub trait UnstructuredParcelable: Sized {
    /// Writes the value.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from being written.
    fn write_to_parcel(&self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode>;

    /// Reads a value.
    ///
    /// # Errors
    ///
    /// The error in the bytes.
    fn from_parcel(parcel: &BorrowedParcel<'_>) -> Result<Self, StatusCode>;

    /// Reads a value in the place of this one.
    ///
    /// # Errors
    ///
    /// The error in the bytes.
    fn read_from_parcel(&mut self, parcel: &BorrowedParcel<'_>) -> Result<(), StatusCode> {
        *self = Self::from_parcel(parcel)?;
        Ok(())
    }
}

impl<T: UnstructuredParcelable> Parcelable for T {
    fn write_to_parcel(&self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode> {
        UnstructuredParcelable::write_to_parcel(self, parcel)
    }

    fn read_from_parcel(&mut self, parcel: &BorrowedParcel<'_>) -> Result<(), StatusCode> {
        UnstructuredParcelable::read_from_parcel(self, parcel)
    }
}
