//! Bytes as a parcel, read as whatever other bytes say.

use parcel::driver::FlatObject;
use parcel::rpc::RpcObject;
use parcel::token;
use parcel::{Element, ParcelError, Reader, ReplyOutcomeHeader};

/// The first byte says how many of the following say what to read; the rest is the parcel.
///
/// # Panics
///
/// Panics if the reading does, reads past the end, goes back, or makes more than it read.
pub fn check(bytes: &[u8]) {
    let Some((count, rest)) = bytes.split_first() else { return };
    let (kinds, parcel) = rest.split_at(usize::from(*count).min(rest.len()));
    let mut reader = Reader::new(parcel);
    for kind in kinds {
        let before = reader.position();
        let result = read(*kind, &mut reader);
        let after = reader.position();
        assert!(before <= after && after <= parcel.len(), "{before} to {after}");
        assert_eq!(reader.left(), parcel.len() - after);
        match result {
            // UTF-16 may become half as long again as UTF-8.
            Ok(made) => assert!(made <= 2 * (after - before), "{made} of {before} to {after}"),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// Reads a value of a kind, and says how many bytes of memory it made.
fn read(kind: u8, reader: &mut Reader<'_>) -> Result<usize, ParcelError> {
    match kind % 16 {
        0 => reader.i32().map(|_| 0),
        1 => reader.u64().map(|_| 0),
        2 => reader.string16().map(|text| text.map_or(0, |text| text.len())),
        3 => array::<u8>(reader),
        4 => array::<bool>(reader),
        5 => array::<u16>(reader),
        6 => array::<i32>(reader),
        7 => array::<f64>(reader),
        8 => FlatObject::read(reader).map(|_| 0),
        9 => RpcObject::read(reader).map(|_| 0),
        10 => token::read_driver(reader).map(|token| token.descriptor.len()),
        11 => token::read_rpc(reader).map(|token| token.descriptor.len()),
        12 => ReplyOutcomeHeader::read(reader).map(|_| 0),
        13 => reader.length_of(4).map(|_| 0),
        14 => reader.raw(usize::from(kind)).map(<[u8]>::len),
        _ => i8::read(reader).map(|_| 0),
    }
}

fn array<T: Element>(reader: &mut Reader<'_>) -> Result<usize, ParcelError> {
    let values = reader.array::<T>()?;
    Ok(values.map_or(0, |values| values.len() * size_of::<T>()))
}
