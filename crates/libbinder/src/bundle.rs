//! Values of several types by their names.

use std::collections::BTreeMap;
use std::ffi::{CString, NulError};

use crate::parcel::BorrowedParcel;
use crate::{Parcelable, StatusCode};

/// What Android's Java library writes first.
const MAGIC_JAVA: i32 = 0x4c44_4e42;
/// What its native library writes first, and we.
const MAGIC_NATIVE: i32 = 0x4c44_4e44;

/// Values by their names: Android's `android.os.PersistableBundle`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PersistableBundle {
    values: BTreeMap<String, Value>,
}

/// What a value of a [`PersistableBundle`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i32)]
pub enum ValueType {
    /// `bool`
    Boolean = 9,
    /// `i32`
    Integer = 1,
    /// `i64`
    Long = 6,
    /// `f64`
    Double = 8,
    /// `String`
    String = 0,
    /// `Vec<bool>`
    BooleanVector = 23,
    /// `Vec<u8>`
    ByteVector = 13,
    /// `Vec<i32>`
    IntegerVector = 18,
    /// `Vec<i64>`
    LongVector = 19,
    /// `Vec<f64>`
    DoubleVector = 28,
    /// `Vec<String>`
    StringVector = 14,
    /// [`PersistableBundle`]
    PersistableBundle = 25,
}

impl PersistableBundle {
    /// A bundle of nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many values there are.
    #[must_use]
    pub fn size(&self) -> usize {
        self.values.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Removes a value, and says whether there was one.
    ///
    /// # Errors
    ///
    /// [`NulError`] for a name that Android's would refuse.
    pub fn remove(&mut self, key: &str) -> Result<bool, NulError> {
        CString::new(key)?;
        Ok(self.values.remove(key).is_some())
    }

    /// The names and types of all values, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, ValueType)> {
        self.values.iter().map(|(key, value)| (key.as_str(), value.kind()))
    }

    /// The names that have a value of that type, by name.
    #[must_use]
    pub fn keys_for_type(&self, value_type: ValueType) -> Vec<String> {
        let of_type = self.iter().filter(|(_, kind)| *kind == value_type);
        of_type.map(|(key, _)| key.to_owned()).collect()
    }

    fn insert(&mut self, key: &str, value: Value) -> Result<(), NulError> {
        CString::new(key)?;
        self.values.insert(key.to_owned(), value);
        Ok(())
    }
}

macro_rules! values {
    ($(
        $kind:ident: $type:ty, $given:ty, $own:expr,
        $insert:ident, $get:ident, $keys:ident, $doc:literal;
    )*) => {
        #[derive(Debug, Clone, PartialEq)]
        enum Value {
            $($kind($type),)*
        }

        impl Value {
            const fn kind(&self) -> ValueType {
                match self {
                    $(Self::$kind(_) => ValueType::$kind,)*
                }
            }

            fn write(&self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode> {
                match self {
                    $(Self::$kind(value) => value.write_value(parcel),)*
                }
            }

            fn read(kind: i32, parcel: &BorrowedParcel<'_>) -> Result<Self, StatusCode> {
                $(if kind == ValueType::$kind as i32 {
                    return <$type as BundleValue>::read_value(parcel).map(Self::$kind);
                })*
                Err(StatusCode::BAD_TYPE)
            }
        }

        impl PersistableBundle {
            /// In the order in which Android's native library writes them.
            const KINDS: &[ValueType] = &[$(ValueType::$kind),*];

            $(
                #[doc = concat!("Adds ", $doc, ", instead of what has that name.")]
                ///
                /// # Errors
                ///
                /// [`NulError`] for a name that Android's would refuse.
                pub fn $insert(&mut self, key: &str, value: $given) -> Result<(), NulError> {
                    let own: fn($given) -> $type = $own;
                    self.insert(key, Value::$kind(own(value)))
                }

                #[doc = concat!("Finds ", $doc, "; nothing if that name is of another type.")]
                ///
                /// # Errors
                ///
                /// [`NulError`] for a name that Android's would refuse.
                pub fn $get(&self, key: &str) -> Result<Option<$type>, NulError> {
                    CString::new(key)?;
                    Ok(match self.values.get(key) {
                        Some(Value::$kind(value)) => Some(value.clone()),
                        Some(_) | None => None,
                    })
                }

                #[doc = concat!("The names that have ", $doc, ".")]
                pub fn $keys(&self) -> impl Iterator<Item = String> {
                    self.keys_for_type(ValueType::$kind).into_iter()
                }
            )*
        }
    };
}

values! {
    Boolean: bool, bool, |value| value, insert_bool, get_bool, bool_keys, "a boolean";
    Integer: i32, i32, |value| value, insert_int, get_int, int_keys, "a number";
    Long: i64, i64, |value| value, insert_long, get_long, long_keys, "a long number";
    Double: f64, f64, |value| value, insert_double, get_double, double_keys, "a fraction";
    String: String, &str, str::to_owned, insert_string, get_string, string_keys, "text";
    BooleanVector: Vec<bool>, &[bool], <[_]>::to_vec,
        insert_bool_vec, get_bool_vec, bool_vec_keys, "booleans";
    ByteVector: Vec<u8>, &[u8], <[_]>::to_vec,
        insert_byte_vec, get_byte_vec, byte_vec_keys, "bytes";
    IntegerVector: Vec<i32>, &[i32], <[_]>::to_vec,
        insert_int_vec, get_int_vec, int_vec_keys, "numbers";
    LongVector: Vec<i64>, &[i64], <[_]>::to_vec,
        insert_long_vec, get_long_vec, long_vec_keys, "long numbers";
    DoubleVector: Vec<f64>, &[f64], <[_]>::to_vec,
        insert_double_vec, get_double_vec, double_vec_keys, "fractions";
    StringVector: Vec<String>, &[String], <[_]>::to_vec,
        insert_string_vec, get_string_vec, string_vec_keys, "texts";
    PersistableBundle: PersistableBundle, &PersistableBundle, Clone::clone,
        insert_persistable_bundle, get_persistable_bundle, persistable_bundle_keys, "a bundle";
}

/// How a value stands in a bundle: as elsewhere, but for bundles, which have no word before them.
trait BundleValue: Sized {
    fn write_value(&self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode>;
    fn read_value(parcel: &BorrowedParcel<'_>) -> Result<Self, StatusCode>;
}

macro_rules! usual {
    ($($type:ty),*) => {$(
        impl BundleValue for $type {
            fn write_value(&self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode> {
                parcel.write(self)
            }

            fn read_value(parcel: &BorrowedParcel<'_>) -> Result<Self, StatusCode> {
                parcel.read()
            }
        }
    )*};
}

usual!(bool, i32, i64, f64, String, Vec<bool>, Vec<u8>, Vec<i32>, Vec<i64>, Vec<f64>, Vec<String>);

impl BundleValue for PersistableBundle {
    fn write_value(&self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode> {
        self.write_to_parcel(parcel)
    }

    fn read_value(parcel: &BorrowedParcel<'_>) -> Result<Self, StatusCode> {
        let mut value = Self::new();
        parcel.read_nested(|parcel| value.read_from_parcel(parcel))?;
        Ok(value)
    }
}

impl Parcelable for PersistableBundle {
    fn write_to_parcel(&self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode> {
        if self.is_empty() {
            return parcel.write(&0_i32);
        }
        // The length is that of what follows the word behind it.
        let start = parcel.get_data_position();
        parcel.write(&0_i32)?;
        parcel.write(&MAGIC_NATIVE)?;
        let entries = parcel.get_data_position();
        let count = i32::try_from(self.size()).map_err(|_| StatusCode::BAD_VALUE)?;
        parcel.write(&count)?;
        for kind in Self::KINDS {
            for (key, value) in self.values.iter().filter(|(_, value)| value.kind() == *kind) {
                parcel.write(key)?;
                parcel.write(&(*kind as i32))?;
                value.write(parcel)?;
            }
        }
        let end = parcel.get_data_position();
        parcel.set_data_position(start)?;
        parcel.write(&(end - entries))?;
        parcel.set_data_position(end)?;
        // There is no intent in it. Android says so since its bundles may hold one.
        parcel.write(&false)
    }

    fn read_from_parcel(&mut self, parcel: &BorrowedParcel<'_>) -> Result<(), StatusCode> {
        self.values.clear();
        let length: i32 = parcel.read()?;
        match length {
            0 => return Ok(()),
            ..0 => return Err(StatusCode::UNEXPECTED_NULL),
            1.. => {}
        }
        let magic: i32 = parcel.read()?;
        if magic != MAGIC_NATIVE && magic != MAGIC_JAVA {
            return Err(StatusCode::BAD_VALUE);
        }
        let count: i32 = parcel.read()?;
        for _ in 0..count {
            let key: String = parcel.read()?;
            let kind: i32 = parcel.read()?;
            self.values.insert(key, Value::read(kind, parcel)?);
        }
        let _has_intent: bool = parcel.read()?;
        Ok(())
    }
}

crate::impl_serialize_for_parcelable!(PersistableBundle);
crate::impl_deserialize_for_parcelable!(PersistableBundle);
