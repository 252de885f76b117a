//! Decoded values, and their forms in text and JSON.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use parcel::ParcelError;
use serde::ser::{Serialize, SerializeMap, Serializer};

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub enum DecodedValue {
    /// Nothing.
    Null,
    /// `boolean`
    Boolean(bool),
    /// `byte`, `int` or `long`
    Number(i64),
    /// `float`
    Single(f32),
    /// `double`
    Double(f64),
    /// A unit of UTF-16.
    Char(u16),
    /// A text.
    Text(String),
    /// An array of bytes.
    Bytes(Vec<u8>),
    /// A value of an enumeration.
    Enumerator {
        /// The enumeration.
        of: String,
        /// The value's name, if it has one.
        name: Option<String>,
        /// The value.
        value: i64,
    },
    /// An array or list.
    List(Vec<Self>),
    /// A map.
    Map(Vec<(String, Self)>),
    /// A parcelable, or a union with its one field.
    Fields {
        /// Its type.
        of: String,
        /// Its fields.
        fields: Vec<(String, Self)>,
    },
    /// A binder object.
    Object {
        /// Its debug id, if it is told.
        node: Option<u32>,
        /// The receiver's handle; `None` for its own object.
        handle: Option<u32>,
    },
    /// A file, by the sender's descriptor, if that is told.
    File(Option<u32>),
    /// An array of this length, to be filled.
    ToBeFilled(usize),
    /// A value of this type, whose definition is not known.
    Unknown(String),
    /// A value that is not there, or not as a whole.
    Missing,
}

/// Where decoding has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DecodedEnd {
    /// At the end of the data.
    Whole,
    /// At the end of the recorded part of the data.
    Cut,
    /// Behind the last value, at this byte: more follow.
    Rest(usize),
    /// At a type whose definition is not known.
    Unknown {
        /// The byte where its value begins.
        at: usize,
        /// Its name.
        of: String,
    },
    /// At bytes that are not of the type.
    Misfit(ParcelError),
}

/// The values of a parcel.
#[derive(Clone, PartialEq, Debug)]
pub struct DecodedParcel {
    /// Values with their names; the value that a method returns has none.
    pub values: Vec<(String, DecodedValue)>,
    /// How far decoding went.
    pub end: DecodedEnd,
}

impl DecodedParcel {
    /// From which byte on data is to be shown as bytes, if any is.
    pub fn bytes_from(&self) -> Option<usize> {
        match &self.end {
            DecodedEnd::Whole | DecodedEnd::Cut => None,
            DecodedEnd::Rest(at) | DecodedEnd::Unknown { at, .. } => Some(*at),
            DecodedEnd::Misfit(_) => Some(0),
        }
    }
}

impl fmt::Display for DecodedParcel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        write_fields(&self.values, f)?;
        f.write_str(")")
    }
}

impl fmt::Display for DecodedEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => Ok(()),
            Self::Cut => f.write_str("cut: more bytes were sent than are told"),
            Self::Rest(at) => write!(f, "more than the types say, from byte {at} on"),
            Self::Unknown { at, of } => write!(f, "the type {of}, at byte {at}, is not known"),
            Self::Misfit(error) => write!(f, "not of the types: {error}"),
        }
    }
}

impl fmt::Display for DecodedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Boolean(value) => value.fmt(f),
            Self::Number(value) => value.fmt(f),
            Self::Single(value) => write!(f, "{value:?}"),
            Self::Double(value) => write!(f, "{value:?}"),
            Self::Char(unit) => match char::from_u32((*unit).into()) {
                Some(char) => write!(f, "{char:?}"),
                None => write!(f, "{unit:#06x}"),
            },
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Bytes(bytes) => write!(f, "bytes {}", Hex(bytes)),
            Self::Enumerator { name: Some(name), .. } => f.write_str(name),
            Self::Enumerator { of, name: None, value } => write!(f, "{of}({value})"),
            Self::List(values) => {
                f.write_str("[")?;
                for (place, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if place == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Self::Map(entries) => {
                f.write_str("{")?;
                for (place, (key, value)) in entries.iter().enumerate() {
                    write!(f, "{}{key:?}: {value}", if place == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
            Self::Fields { of, fields } => {
                write!(f, "{of}{{")?;
                write_fields(fields, f)?;
                f.write_str("}")
            }
            Self::Object { node, handle } => {
                f.write_str("object")?;
                node.iter().try_for_each(|node| write!(f, " {node}"))?;
                match handle {
                    Some(handle) => write!(f, " as handle {handle}"),
                    None => f.write_str(" of the receiver"),
                }
            }
            Self::File(Some(fd)) => write!(f, "descriptor {fd}"),
            Self::File(None) => f.write_str("a descriptor"),
            Self::ToBeFilled(length) => write!(f, "{length} to be filled"),
            Self::Unknown(of) => write!(f, "<{of}>"),
            Self::Missing => f.write_str("..."),
        }
    }
}

fn write_fields(fields: &[(String, DecodedValue)], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (place, (name, value)) in fields.iter().enumerate() {
        let separator = if place == 0 { "" } else { ", " };
        let colon = if name.is_empty() { "" } else { ": " };
        write!(f, "{separator}{name}{colon}{value}")?;
    }
    Ok(())
}

/// Bytes in hexadecimal.
struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Serialize for DecodedParcel {
    /// An object; the value that a method returns is its `return`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_map(
            self.values.iter().map(|(name, value)| match name.as_str() {
                "" => ("return", value),
                name => (name, value),
            }),
            serializer,
        )
    }
}

impl Serialize for DecodedValue {
    /// A value of JSON where it has one for this kind, else text.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Boolean(value) => serializer.serialize_bool(*value),
            Self::Number(value) => serializer.serialize_i64(*value),
            Self::Single(value) if value.is_finite() => serializer.serialize_f32(*value),
            Self::Double(value) if value.is_finite() => serializer.serialize_f64(*value),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Bytes(bytes) => serializer.collect_str(&Hex(bytes)),
            Self::List(values) => serializer.collect_seq(values),
            Self::Map(entries) | Self::Fields { fields: entries, .. } => {
                serialize_map(entries.iter().map(|(name, value)| (&**name, value)), serializer)
            }
            Self::Char(unit) => match char::from_u32((*unit).into()) {
                Some(char) => serializer.serialize_char(char),
                None => serializer.serialize_u16(*unit),
            },
            Self::Single(_)
            | Self::Double(_)
            | Self::Enumerator { .. }
            | Self::Object { .. }
            | Self::File(_)
            | Self::ToBeFilled(_)
            | Self::Unknown(_)
            | Self::Missing => serializer.collect_str(self),
        }
    }
}

fn serialize_map<'v, S: Serializer>(
    entries: impl Iterator<Item = (&'v str, &'v DecodedValue)>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    for (name, value) in entries {
        map.serialize_entry(name, value)?;
    }
    map.end()
}
