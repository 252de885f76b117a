//! Decodes the bytes of a parcel by the types of a method.
//!
//! The bytes are untrusted, and may end anywhere. Each value consumes at least a byte, or ends the walk: so, but for names,
//! the result is no larger than the parcel.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use binder_aidl::{WireBody, WireCatalog, WireDefinition, WireField, WireKey, WireType};
use parcel::driver::FlatObject;
use parcel::{Element, ParcelError, Reader, padded};

use super::value::{DecodedEnd, DecodedParcel, DecodedValue};
use crate::record::CarriedObject;

/// How deep values may contain each other.
const DEPTH_MAX: usize = 64;

/// A walk through a parcel.
pub(super) struct Walk<'a> {
    catalog: &'a WireCatalog,
    pub(super) reader: Reader<'a>,
    /// Whether more bytes were sent.
    is_cut: bool,
    objects: &'a [CarriedObject],
    /// The descriptors among the objects that are still to come.
    files: Vec<u32>,
    depth: usize,
    /// Why it ends here; nothing is read from then on.
    stop: Option<DecodedEnd>,
}

impl<'a> Walk<'a> {
    /// Begins at the start of the data, of which as many bytes were sent.
    pub(super) fn new(
        catalog: &'a WireCatalog,
        data: &'a [u8],
        sent_bytes: u64,
        objects: &'a [CarriedObject],
    ) -> Self {
        let file = |object: &CarriedObject| match object {
            CarriedObject::File { fd } => Some(*fd),
            CarriedObject::Node { .. } => None,
        };
        Self {
            catalog,
            reader: Reader::new(data),
            is_cut: (data.len() as u64) < sent_bytes,
            objects,
            files: objects.iter().rev().filter_map(file).collect(),
            depth: 0,
            stop: None,
        }
    }

    /// Decodes all values of a parcel.
    pub(super) fn fields(mut self, fields: &[WireField]) -> DecodedParcel {
        let mut values = Vec::new();
        for WireField { name, of } in fields {
            if self.stop.is_some() {
                break;
            }
            values.push((name.clone(), self.value(of)));
        }
        let end = match self.stop {
            Some(stop) => stop,
            None if self.reader.left() > 0 => DecodedEnd::Rest(self.reader.position()),
            None if self.is_cut => DecodedEnd::Cut,
            None => DecodedEnd::Whole,
        };
        DecodedParcel { values, end }
    }

    /// The outcome where the head of the parcel is none.
    pub(super) fn nothing(mut self, error: ParcelError) -> DecodedParcel {
        self.refuse(error);
        self.fields(&[])
    }

    /// Ends the walk for this reason, unless it has ended before.
    fn refuse(&mut self, error: ParcelError) {
        let is_short = matches!(error, ParcelError::NotEnoughData { .. });
        let end = if self.is_cut && is_short { DecodedEnd::Cut } else { DecodedEnd::Misfit(error) };
        self.stop.get_or_insert(end);
    }

    fn value(&mut self, of: &WireType) -> DecodedValue {
        if self.stop.is_some() {
            return DecodedValue::Missing;
        }
        if self.depth == DEPTH_MAX {
            self.refuse(ParcelError::BadObject { at: self.reader.position() });
            return DecodedValue::Missing;
        }
        self.depth += 1;
        let value = self.try_value(of).unwrap_or_else(|error| {
            self.refuse(error);
            DecodedValue::Missing
        });
        self.depth -= 1;
        value
    }

    fn try_value(&mut self, of: &WireType) -> Result<DecodedValue, ParcelError> {
        let reader = &mut self.reader;
        Ok(match of {
            WireType::Void => DecodedValue::Null,
            WireType::Boolean => DecodedValue::Boolean(Element::read(reader)?),
            WireType::Byte => DecodedValue::Number(<i8 as Element>::read(reader)?.into()),
            WireType::Char => DecodedValue::Char(Element::read(reader)?),
            WireType::Int => DecodedValue::Number(reader.i32()?.into()),
            WireType::Long => DecodedValue::Number(reader.i64()?),
            WireType::Float => DecodedValue::Single(Element::read(reader)?),
            WireType::Double => DecodedValue::Double(Element::read(reader)?),
            WireType::Text => reader.string16()?.map_or(DecodedValue::Null, DecodedValue::Text),
            WireType::Object => self.object()?,
            WireType::File => self.file()?,
            WireType::Holder => self.holder()?,
            WireType::Defined(key) => self.defined(*key)?,
            WireType::Array(element) => {
                let length = self.reader.length()?;
                self.elements(element, length)?
            }
            WireType::Fixed(element, expected) => {
                let at = self.reader.position();
                let length = self.reader.length()?;
                if let Some(length) = length.filter(|length| length != expected) {
                    let length = i64::try_from(length).unwrap_or(i64::MAX);
                    return Err(ParcelError::BadLength { at, length });
                }
                self.elements(element, length)?
            }
            WireType::Map(of) => {
                let length = self.reader.length()?;
                self.map(of, length)
            }
            WireType::Length => {
                reader.length()?.map_or(DecodedValue::Null, DecodedValue::ToBeFilled)
            }
            WireType::Unknown(of) => {
                let at = reader.position();
                self.stop = Some(DecodedEnd::Unknown { at, of: of.clone() });
                DecodedValue::Unknown(of.clone())
            }
        })
    }

    fn elements(
        &mut self,
        of: &WireType,
        length: Option<usize>,
    ) -> Result<DecodedValue, ParcelError> {
        let Some(length) = length else { return Ok(DecodedValue::Null) };
        if *of == WireType::Byte {
            return Ok(DecodedValue::Bytes(self.bytes(length)?.to_vec()));
        }
        if let Some(key) = self.enumeration_of_bytes(of) {
            let bytes = self.bytes(length)?.iter();
            let values = bytes.map(|byte| self.enumerator(key, byte.cast_signed().into()));
            return Ok(DecodedValue::List(values.collect()));
        }
        let mut values = Vec::new();
        // Each takes bytes, so a length that is a lie ends with these.
        while values.len() < length && self.stop.is_none() {
            values.push(self.value(of));
        }
        Ok(DecodedValue::List(values))
    }

    /// An array of bytes, or the recorded part of it.
    fn bytes(&mut self, length: usize) -> Result<&'a [u8], ParcelError> {
        if self.is_cut && padded(length) > self.reader.left() {
            self.stop = Some(DecodedEnd::Cut);
            return self.reader.raw(self.reader.left() & !3);
        }
        self.reader.raw(length)
    }

    /// The enumeration whose values are packed in arrays.
    fn enumeration_of_bytes(&self, of: &WireType) -> Option<WireKey> {
        let WireType::Defined(key) = of else { return None };
        match &self.catalog.definition(*key)?.body {
            WireBody::Enumeration { backing: WireType::Byte, .. } => Some(*key),
            WireBody::Enumeration { .. } | WireBody::Parcelable(_) | WireBody::Union(_) => None,
        }
    }

    fn object(&mut self) -> Result<DecodedValue, ParcelError> {
        let at = self.reader.position();
        let object = FlatObject::read(&mut self.reader)?;
        let stability = self.reader.i32();
        let sent = |wanted: Option<u32>| {
            self.objects.iter().find_map(|object| match object {
                CarriedObject::Node { node, handle } if *handle == wanted => Some(*node),
                CarriedObject::Node { .. } | CarriedObject::File { .. } => None,
            })
        };
        let value = match object {
            FlatObject::Null => DecodedValue::Null,
            FlatObject::Binder { .. } => DecodedValue::Object { node: sent(None), handle: None },
            FlatObject::Handle { handle, .. } => {
                DecodedValue::Object { node: sent(Some(handle)), handle: Some(handle) }
            }
            FlatObject::File { .. } => return Err(ParcelError::BadObject { at }),
        };
        if let Err(error) = stability {
            self.refuse(error);
        }
        Ok(value)
    }

    fn file(&mut self) -> Result<DecodedValue, ParcelError> {
        if self.reader.i32()? == 0 {
            return Ok(DecodedValue::Null);
        }
        let has_channel = self.reader.i32()? != 0;
        let file = self.bare_file()?;
        if has_channel {
            self.bare_file()?;
        }
        Ok(file)
    }

    fn bare_file(&mut self) -> Result<DecodedValue, ParcelError> {
        let at = self.reader.position();
        match FlatObject::read(&mut self.reader)? {
            FlatObject::File { .. } => Ok(DecodedValue::File(self.files.pop())),
            FlatObject::Null | FlatObject::Binder { .. } | FlatObject::Handle { .. } => {
                Err(ParcelError::BadObject { at })
            }
        }
    }

    /// A type of the catalog, in which each key of it is.
    fn definition(&self, key: WireKey) -> Result<&'a WireDefinition, ParcelError> {
        let at = self.reader.position();
        self.catalog.definition(key).ok_or(ParcelError::BadObject { at })
    }

    fn defined(&mut self, key: WireKey) -> Result<DecodedValue, ParcelError> {
        let definition = self.definition(key)?;
        match &definition.body {
            WireBody::Enumeration { backing, .. } => {
                let value = match backing {
                    WireType::Byte => <i8 as Element>::read(&mut self.reader)?.into(),
                    WireType::Long => self.reader.i64()?,
                    _ => self.reader.i32()?.into(),
                };
                Ok(self.enumerator(key, value))
            }
            WireBody::Parcelable(_) | WireBody::Union(_) if self.reader.i32()? == 0 => {
                Ok(DecodedValue::Null)
            }
            WireBody::Parcelable(_) | WireBody::Union(_) => self.content(key),
        }
    }

    /// A parcelable or union, behind the word that says that it is not null.
    fn content(&mut self, key: WireKey) -> Result<DecodedValue, ParcelError> {
        let definition = self.definition(key)?;
        let fields = match &definition.body {
            WireBody::Parcelable(fields) => self.sized(fields)?,
            WireBody::Union(fields) => {
                let at = self.reader.position();
                let tag = self.reader.i32()?;
                let field = usize::try_from(tag).ok().and_then(|tag| fields.get(tag));
                let found = tag.cast_unsigned();
                let field = field.ok_or(ParcelError::BadWord { at, found })?;
                Vec::from([(field.name.clone(), self.value(&field.of))])
            }
            WireBody::Enumeration { .. } => Vec::new(),
        };
        Ok(DecodedValue::Fields { of: definition.name.clone(), fields })
    }

    /// The fields of a parcelable behind their length. Fields that its writer did not know are missing, and fields that
    /// only its writer knew are passed over.
    fn sized(&mut self, fields: &[WireField]) -> Result<Vec<(String, DecodedValue)>, ParcelError> {
        let start = self.reader.position();
        let Some(length) = self.reader.length()?.filter(|length| *length >= size_of::<i32>())
        else {
            return Err(ParcelError::BadLength { at: start, length: -1 });
        };
        let end = start.saturating_add(length);
        let known_end = self.reader.position() + self.reader.left();
        if end > known_end && !self.is_cut {
            let left = known_end - start;
            return Err(ParcelError::NotEnoughData { at: start, wanted: length, left });
        }
        let mut values = Vec::new();
        for WireField { name, of } in fields {
            if self.reader.position() >= end || self.stop.is_some() {
                break;
            }
            values.push((name.clone(), self.value(of)));
        }
        match &self.stop {
            // The length says where the parcelable ends: types are known again from there on.
            Some(DecodedEnd::Unknown { .. }) if end <= known_end => self.stop = None,
            Some(_) => return Ok(values),
            None if self.reader.position() > end => {
                let length = i64::try_from(length).unwrap_or(i64::MAX);
                return Err(ParcelError::BadLength { at: start, length });
            }
            None if end > known_end => self.stop = Some(DecodedEnd::Cut),
            None => {}
        }
        self.reader.set_position(end);
        Ok(values)
    }

    fn holder(&mut self) -> Result<DecodedValue, ParcelError> {
        if self.reader.i32()? == 0 {
            return Ok(DecodedValue::Null);
        }
        let _stability = self.reader.i32()?;
        let length = self.reader.length()?.unwrap_or_default();
        if length == 0 {
            return Ok(DecodedValue::Null);
        }
        let start = self.reader.position();
        let end = start.saturating_add(length);
        if length > self.reader.left() && !self.is_cut {
            let left = self.reader.left();
            return Err(ParcelError::NotEnoughData { at: start, wanted: length, left });
        }
        let descriptor = self.reader.string16()?.unwrap_or_default();
        let value = match self.catalog.by_descriptor(&descriptor) {
            Some(key) => self.content(key)?,
            None if self.reader.left() < end.saturating_sub(self.reader.position()) => {
                self.stop = Some(DecodedEnd::Cut);
                DecodedValue::Unknown(descriptor.escape_debug().to_string())
            }
            None => DecodedValue::Unknown(descriptor.escape_debug().to_string()),
        };
        if self.stop.is_none() {
            if self.reader.position() > end {
                let length = i64::try_from(length).unwrap_or(i64::MAX);
                return Err(ParcelError::BadLength { at: start, length });
            }
            self.reader.set_position(end);
        }
        Ok(value)
    }

    fn map(&mut self, of: &WireType, length: Option<usize>) -> DecodedValue {
        let Some(length) = length else { return DecodedValue::Null };
        let mut entries = Vec::new();
        while entries.len() < length && self.stop.is_none() {
            match self.reader.string16() {
                Ok(key) => entries.push((key.unwrap_or_default(), self.value(of))),
                Err(error) => self.refuse(error),
            }
        }
        DecodedValue::Map(entries)
    }

    fn enumerator(&self, key: WireKey, value: i64) -> DecodedValue {
        let Some(definition) = self.catalog.definition(key) else {
            return DecodedValue::Number(value);
        };
        let name = match &definition.body {
            WireBody::Enumeration { names, .. } => names.get(&value).cloned(),
            WireBody::Parcelable(_) | WireBody::Union(_) => None,
        };
        DecodedValue::Enumerator { of: definition.name.clone(), name, value }
    }
}
