//! Numbers, text and binders.

use super::{
    Deserialize, DeserializeArray, DeserializeOption, Serialize, SerializeArray, SerializeOption,
};
use crate::parcel::BorrowedParcel;
use crate::{SpIBinder, StatusCode};

macro_rules! numbers {
    ($($type:ty)*) => {$(
        impl Serialize for $type {
            fn serialize(&self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode> {
                parcel.write_with(|writer| ::parcel::Element::write(*self, writer));
                Ok(())
            }
        }

        impl SerializeArray for $type {
            fn serialize_array(
                slice: &[Self],
                parcel: &mut BorrowedParcel<'_>,
            ) -> Result<(), StatusCode> {
                Ok(parcel.write_with(|writer| writer.array(slice))?)
            }
        }

        impl Deserialize for $type {
            type UninitType = Self;

            fn uninit() -> Self::UninitType {
                Self::default()
            }

            fn from_init(value: Self) -> Self::UninitType {
                value
            }

            fn deserialize(parcel: &BorrowedParcel<'_>) -> Result<Self, StatusCode> {
                parcel.read_with(|reader| ::parcel::Element::read(reader))
            }
        }

        impl DeserializeArray for $type {
            fn deserialize_array(
                parcel: &BorrowedParcel<'_>,
            ) -> Result<Option<Vec<Self>>, StatusCode> {
                parcel.read_with(|reader| reader.array())
            }
        }
    )*};
}

numbers!(bool i8 u8 u16 i32 u32 i64 u64 f32 f64);

/// On the wire, and in Java, such a number is a character.
impl Serialize for i16 {
    fn serialize(&self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode> {
        self.cast_unsigned().serialize(parcel)
    }
}

impl SerializeArray for i16 {}

impl Deserialize for i16 {
    type UninitType = Self;

    fn uninit() -> Self::UninitType {
        Self::default()
    }

    fn from_init(value: Self) -> Self::UninitType {
        value
    }

    fn deserialize(parcel: &BorrowedParcel<'_>) -> Result<Self, StatusCode> {
        u16::deserialize(parcel).map(u16::cast_signed)
    }
}

impl DeserializeArray for i16 {}

impl Serialize for str {
    fn serialize(&self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode> {
        Ok(parcel.write_with(|writer| writer.string16(self))?)
    }
}

impl SerializeOption for str {
    fn serialize_option(
        this: Option<&Self>,
        parcel: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        match this {
            Some(text) => text.serialize(parcel),
            None => {
                parcel.write_with(|writer| writer.null_string16());
                Ok(())
            }
        }
    }
}

impl SerializeArray for &str {}

impl Serialize for String {
    fn serialize(&self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode> {
        self.as_str().serialize(parcel)
    }
}

impl SerializeArray for String {}

impl SerializeOption for String {
    fn serialize_option(
        this: Option<&Self>,
        parcel: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        str::serialize_option(this.map(Self::as_str), parcel)
    }
}

impl Deserialize for String {
    type UninitType = Self;

    fn uninit() -> Self::UninitType {
        Self::default()
    }

    fn from_init(value: Self) -> Self::UninitType {
        value
    }

    fn deserialize(parcel: &BorrowedParcel<'_>) -> Result<Self, StatusCode> {
        Self::deserialize_option(parcel)?.ok_or(StatusCode::UNEXPECTED_NULL)
    }
}

impl DeserializeArray for String {}

impl DeserializeOption for String {
    fn deserialize_option(parcel: &BorrowedParcel<'_>) -> Result<Option<Self>, StatusCode> {
        parcel.read_string16()
    }
}

impl Serialize for SpIBinder {
    fn serialize(&self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode> {
        parcel.write_binder(Some(self))
    }
}

impl SerializeArray for SpIBinder {}

impl SerializeOption for SpIBinder {
    fn serialize_option(
        this: Option<&Self>,
        parcel: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        parcel.write_binder(this)
    }
}

impl Deserialize for SpIBinder {
    type UninitType = Option<Self>;

    fn uninit() -> Self::UninitType {
        None
    }

    fn from_init(value: Self) -> Self::UninitType {
        Some(value)
    }

    fn deserialize(parcel: &BorrowedParcel<'_>) -> Result<Self, StatusCode> {
        parcel.read_binder()?.ok_or(StatusCode::UNEXPECTED_NULL)
    }
}

impl DeserializeArray for SpIBinder {}

impl DeserializeOption for SpIBinder {
    fn deserialize_option(parcel: &BorrowedParcel<'_>) -> Result<Option<Self>, StatusCode> {
        parcel.read_binder()
    }
}
