//! What is written is what is read, whatever it is, and nothing is read that was not written.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use parcel::driver::FlatObject;
use parcel::rpc::RpcObject;
use parcel::{ExceptionCode, Reader, ReplyOutcomeHeader, Writer};
use proptest::collection::vec;
use proptest::prelude::*;

#[derive(Clone, Debug, PartialEq)]
enum Value {
    I32(i32),
    U64(u64),
    Text(Option<String>),
    Bytes(Vec<u8>),
    Bools(Vec<bool>),
    Units(Vec<u16>),
    Words(Vec<i32>),
    Doubles(Vec<u64>),
    Flat(FlatObject),
    Rpc(RpcObject),
    Head(ReplyOutcomeHeader),
}

fn outcome() -> impl Strategy<Value = ReplyOutcomeHeader> {
    let code = prop::sample::select(&ExceptionCode::ALL[1..]);
    (code, ".{0,20}", any::<i32>()).prop_map(|(code, message, error)| {
        let is_specific = code == ExceptionCode::SERVICE_SPECIFIC;
        let service_specific = if is_specific { error } else { 0 };
        ReplyOutcomeHeader::Exception { code, message: Some(message), service_specific }
    })
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i32>().prop_map(Value::I32),
        any::<u64>().prop_map(Value::U64),
        proptest::option::of(".{0,40}").prop_map(Value::Text),
        vec(any::<u8>(), 0..40).prop_map(Value::Bytes),
        vec(any::<bool>(), 0..10).prop_map(Value::Bools),
        vec(any::<u16>(), 0..10).prop_map(Value::Units),
        vec(any::<i32>(), 0..10).prop_map(Value::Words),
        vec(any::<u64>(), 0..10).prop_map(Value::Doubles),
        (1..u64::MAX, any::<u64>(), any::<u32>()).prop_map(|(binder, cookie, flags)| {
            Value::Flat(FlatObject::Binder { binder, cookie, flags })
        }),
        (any::<u32>(), any::<u32>())
            .prop_map(|(handle, flags)| Value::Flat(FlatObject::Handle { handle, flags })),
        any::<i32>().prop_map(|fd| Value::Flat(FlatObject::File { fd })),
        any::<u64>().prop_map(|address| Value::Rpc(RpcObject::Binder { address })),
        any::<i32>().prop_map(|index| Value::Rpc(RpcObject::File { index })),
        any::<u32>().prop_map(|number| Value::Rpc(RpcObject::StandIn { number })),
        outcome().prop_map(Value::Head),
        Just(Value::Head(ReplyOutcomeHeader::Done)),
    ]
}

fn write(value: &Value, writer: &mut Writer<'_>) {
    match value {
        Value::I32(value) => writer.i32(*value),
        Value::U64(value) => writer.u64(*value),
        Value::Text(Some(text)) => writer.string16(text).unwrap(),
        Value::Text(None) => writer.null_string16(),
        Value::Bytes(values) => writer.array(values).unwrap(),
        Value::Bools(values) => writer.array(values).unwrap(),
        Value::Units(values) => writer.array(values).unwrap(),
        Value::Words(values) => writer.array(values).unwrap(),
        Value::Doubles(values) => writer.array(values).unwrap(),
        Value::Flat(object) => object.write(writer),
        Value::Rpc(object) => object.write(writer),
        Value::Head(outcome) => outcome.write(writer).unwrap(),
    }
}

/// Reads a value of the kind of `like`.
fn read(like: &Value, reader: &mut Reader<'_>) -> Result<Value, parcel::ParcelError> {
    Ok(match like {
        Value::I32(_) => Value::I32(reader.i32()?),
        Value::U64(_) => Value::U64(reader.u64()?),
        Value::Text(_) => Value::Text(reader.string16()?),
        Value::Bytes(_) => Value::Bytes(reader.array()?.unwrap_or_default()),
        Value::Bools(_) => Value::Bools(reader.array()?.unwrap_or_default()),
        Value::Units(_) => Value::Units(reader.array()?.unwrap_or_default()),
        Value::Words(_) => Value::Words(reader.array()?.unwrap_or_default()),
        Value::Doubles(_) => Value::Doubles(reader.array()?.unwrap_or_default()),
        Value::Flat(_) => Value::Flat(FlatObject::read(reader)?),
        Value::Rpc(_) => Value::Rpc(RpcObject::read(reader)?),
        Value::Head(_) => Value::Head(ReplyOutcomeHeader::read(reader)?),
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(values in vec(value(), 0..20)) {
        let mut bytes = Vec::new();
        for value in &values {
            let mut writer = Writer::new(&mut bytes);
            write(value, &mut writer);
            prop_assert_eq!(bytes.len() % 4, 0);
        }
        let mut reader = Reader::new(&bytes);
        for value in &values {
            prop_assert_eq!(&read(value, &mut reader).unwrap(), value);
        }
        prop_assert_eq!(reader.left(), 0);
    }

    #[test]
    fn a_parcel_that_is_cut_short_is_noticed(value in value(), cut in 1_usize..8) {
        let mut bytes = Vec::new();
        write(&value, &mut Writer::new(&mut bytes));
        bytes.truncate(bytes.len().saturating_sub(cut));
        prop_assert!(read(&value, &mut Reader::new(&bytes)).is_err());
    }

    #[test]
    fn writing_at_a_place_is_writing_over_it(
        mut bytes in vec(any::<u8>(), 0..60),
        at in 0_usize..80,
        value in value(),
    ) {
        let mut alone = Vec::new();
        write(&value, &mut Writer::new(&mut alone));
        let before = bytes.clone();
        let at = at.min(before.len());
        let mut writer = Writer::at(&mut bytes, at);
        write(&value, &mut writer);
        prop_assert_eq!(writer.position(), at + alone.len());
        prop_assert_eq!(&bytes[..at], &before[..at]);
        prop_assert_eq!(&bytes[at..at + alone.len()], &alone[..]);
        let rest = before.get(at + alone.len()..).unwrap_or_default();
        prop_assert_eq!(&bytes[at + alone.len()..], rest);
    }
}
