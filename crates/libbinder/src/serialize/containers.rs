//! Slices, vectors, arrays of a fixed length, options, boxes and references.

use super::{
    Deserialize, DeserializeArray, DeserializeOption, Serialize, SerializeArray, SerializeOption,
};
use crate::StatusCode;
use crate::parcel::BorrowedParcel;

impl<T: Serialize + ?Sized> Serialize for &T {
    fn serialize(&self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode> {
        (**self).serialize(parcel)
    }
}

impl<T: SerializeOption + ?Sized> SerializeOption for &T {
    fn serialize_option(
        this: Option<&Self>,
        parcel: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        T::serialize_option(this.copied(), parcel)
    }
}

impl<T: Serialize + ?Sized> Serialize for Box<T> {
    fn serialize(&self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode> {
        (**self).serialize(parcel)
    }
}

impl<T: SerializeOption + ?Sized> SerializeOption for Box<T> {
    fn serialize_option(
        this: Option<&Self>,
        parcel: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        T::serialize_option(this.map(|value| &**value), parcel)
    }
}

impl<T: SerializeOption> SerializeArray for Box<T> {}

impl<T: Deserialize> Deserialize for Box<T> {
    type UninitType = Option<Self>;

    fn uninit() -> Self::UninitType {
        None
    }

    fn from_init(value: Self) -> Self::UninitType {
        Some(value)
    }

    fn deserialize(parcel: &BorrowedParcel<'_>) -> Result<Self, StatusCode> {
        T::deserialize(parcel).map(Self::new)
    }
}

impl<T: DeserializeOption> DeserializeOption for Box<T> {
    fn deserialize_option(parcel: &BorrowedParcel<'_>) -> Result<Option<Self>, StatusCode> {
        Ok(T::deserialize_option(parcel)?.map(Self::new))
    }
}

impl<T: DeserializeOption> DeserializeArray for Box<T> {}

impl<T: SerializeOption> Serialize for Option<T> {
    fn serialize(&self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode> {
        T::serialize_option(self.as_ref(), parcel)
    }
}

impl<T: SerializeOption> SerializeArray for Option<T> {}

impl<T: DeserializeOption> Deserialize for Option<T> {
    type UninitType = Self;

    fn uninit() -> Self::UninitType {
        Self::default()
    }

    fn from_init(value: Self) -> Self::UninitType {
        value
    }

    fn deserialize(parcel: &BorrowedParcel<'_>) -> Result<Self, StatusCode> {
        T::deserialize_option(parcel)
    }

    fn deserialize_from(&mut self, parcel: &BorrowedParcel<'_>) -> Result<(), StatusCode> {
        T::deserialize_option_from(self, parcel)
    }
}

impl<T: DeserializeOption> DeserializeArray for Option<T> {}

impl<T: SerializeArray> Serialize for [T] {
    fn serialize(&self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode> {
        T::serialize_array(self, parcel)
    }
}

impl<T: SerializeArray> SerializeOption for [T] {
    fn serialize_option(
        this: Option<&Self>,
        parcel: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        match this {
            Some(slice) => slice.serialize(parcel),
            None => Ok(parcel.write_with(|writer| writer.length(None))?),
        }
    }
}

impl<T: SerializeArray> Serialize for Vec<T> {
    fn serialize(&self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode> {
        self.as_slice().serialize(parcel)
    }
}

impl<T: SerializeArray> SerializeOption for Vec<T> {
    fn serialize_option(
        this: Option<&Self>,
        parcel: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        <[T]>::serialize_option(this.map(Self::as_slice), parcel)
    }
}

impl<T: DeserializeArray> Deserialize for Vec<T> {
    type UninitType = Self;

    fn uninit() -> Self::UninitType {
        Self::default()
    }

    fn from_init(value: Self) -> Self::UninitType {
        value
    }

    fn deserialize(parcel: &BorrowedParcel<'_>) -> Result<Self, StatusCode> {
        T::deserialize_array(parcel)?.ok_or(StatusCode::UNEXPECTED_NULL)
    }
}

impl<T: DeserializeArray> DeserializeOption for Vec<T> {
    fn deserialize_option(parcel: &BorrowedParcel<'_>) -> Result<Option<Self>, StatusCode> {
        T::deserialize_array(parcel)
    }
}

impl<T: SerializeArray, const N: usize> Serialize for [T; N] {
    fn serialize(&self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode> {
        self.as_slice().serialize(parcel)
    }
}

impl<T: SerializeArray, const N: usize> SerializeArray for [T; N] {}

impl<T: SerializeArray, const N: usize> SerializeOption for [T; N] {
    fn serialize_option(
        this: Option<&Self>,
        parcel: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        <[T]>::serialize_option(this.map(Self::as_slice), parcel)
    }
}

impl<T: DeserializeArray, const N: usize> Deserialize for [T; N] {
    type UninitType = [T::UninitType; N];

    fn uninit() -> Self::UninitType {
        std::array::from_fn(|_| T::uninit())
    }

    fn from_init(value: Self) -> Self::UninitType {
        value.map(T::from_init)
    }

    fn deserialize(parcel: &BorrowedParcel<'_>) -> Result<Self, StatusCode> {
        Self::deserialize_option(parcel)?.ok_or(StatusCode::UNEXPECTED_NULL)
    }
}

impl<T: DeserializeArray, const N: usize> DeserializeArray for [T; N] {}

impl<T: DeserializeArray, const N: usize> DeserializeOption for [T; N] {
    fn deserialize_option(parcel: &BorrowedParcel<'_>) -> Result<Option<Self>, StatusCode> {
        let Some(values) = T::deserialize_array(parcel)? else { return Ok(None) };
        values.try_into().map(Some).map_err(|_| StatusCode::BAD_VALUE)
    }
}
