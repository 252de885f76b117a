//! Guesses at data whose types are not known.

use alloc::string::String;
use alloc::vec::Vec;

use parcel::Reader;
use parcel::driver::FlatObject;

use super::value::DecodedValue;

/// Values that are told.
const VALUES_MAX: usize = 32;

/// The values that a parcel's bytes look like from `start` on: texts, objects, and else numbers of 32 bits.
pub(super) fn guessed(data: &[u8], start: usize) -> Vec<DecodedValue> {
    let mut reader = Reader::at(data, start);
    let mut values = Vec::new();
    while values.len() < VALUES_MAX
        && let Some(value) =
            text(&mut reader).or_else(|| object(&mut reader)).or_else(|| number(&mut reader))
    {
        values.push(value);
    }
    values
}

fn text(reader: &mut Reader<'_>) -> Option<DecodedValue> {
    let mut ahead = reader.clone();
    // A letter behind a 1 is rather a number.
    let is_plain = |text: &String| text.len() > 1 && !text.chars().any(char::is_control);
    let text = ahead.string16().ok()?.filter(is_plain)?;
    *reader = ahead;
    Some(DecodedValue::Text(text))
}

fn object(reader: &mut Reader<'_>) -> Option<DecodedValue> {
    let mut ahead = reader.clone();
    let value = match FlatObject::read(&mut ahead).ok()? {
        FlatObject::Null => DecodedValue::Null,
        FlatObject::Binder { .. } => DecodedValue::Object { node: None, handle: None },
        FlatObject::Handle { handle, .. } => {
            DecodedValue::Object { node: None, handle: Some(handle) }
        }
        FlatObject::File { .. } => DecodedValue::File(None),
    };
    *reader = ahead;
    Some(value)
}

fn number(reader: &mut Reader<'_>) -> Option<DecodedValue> {
    Some(DecodedValue::Number(reader.i32().ok()?.into()))
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use parcel::Writer;

    use super::*;

    #[test]
    fn texts_objects_and_numbers_are_seen() {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes);
        writer.i32(77);
        writer.string16("hello").unwrap();
        FlatObject::Handle { handle: 3, flags: 0 }.write(&mut writer);
        writer.i32(-1);
        let expected = vec![
            DecodedValue::Number(77),
            DecodedValue::Text("hello".into()),
            DecodedValue::Object { node: None, handle: Some(3) },
            DecodedValue::Number(-1),
        ];
        assert_eq!(guessed(&bytes, 0), expected);
        for end in 0..bytes.len() {
            guessed(&bytes[..end], end / 2);
        }
        assert_eq!(guessed(&[0; 4000], 0).len(), VALUES_MAX);
    }
}
