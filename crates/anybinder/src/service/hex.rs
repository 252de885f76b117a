//! Parcels as Android's `service call` prints them: words of bytes, and the characters that they could be.

use std::fmt::Write as _;

use binder::StatusCode;
use binder::binder_impl::Parcel;
use binder::transport::HeldObject;

/// The bytes of a line, and of a word.
const LINE_BYTES: usize = 16;
const WORD_BYTES: usize = 4;

/// A reply, or the status that came instead.
pub(super) fn describe(reply: &Result<Parcel, StatusCode>) -> String {
    let parcel = match reply {
        Ok(parcel) => parcel,
        Err(status) => {
            return format!("Parcel(Error: {:#x} \"{status}\")", status.code().cast_unsigned());
        }
    };
    let mut text = format!("Parcel({}", dump(parcel.bytes()));
    for (at, object) in parcel.objects().iter().enumerate() {
        let (kind, value) = kind_and_value(parcel.bytes(), object.offset, &object.held);
        // Writing to a string does not fail.
        let _ = write!(text, "\nObject #{at} @ {:#x}: '{kind}' = {value}", object.offset);
    }
    text.push(')');
    text
}

/// The kind of the object at a place, by the letters of its type, and its handle or descriptor.
pub(super) fn kind_and_value(
    bytes: &[u8],
    offset: usize,
    held: &HeldObject,
) -> (&'static str, u64) {
    /// Where the value stands in an object.
    const VALUE: usize = 8;
    let value = bytes.get(offset + VALUE..).and_then(|rest| rest.first_chunk());
    let value = value.map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let kind = match held {
        HeldObject::Binder { binder, .. } if binder.is_remote() => "sh*",
        HeldObject::Binder { .. } | HeldObject::Unread => "sb*",
        HeldObject::File(_) | HeldObject::StandIn(_) => "fd*",
    };
    (kind, value)
}

/// The bytes in one line if they fit, else in lines with their offsets.
fn dump(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "NULL".into();
    }
    if bytes.len() <= LINE_BYTES {
        return format!("{} '{}'", words(bytes), characters(bytes));
    }
    let mut text = String::new();
    for (at, line) in bytes.chunks(LINE_BYTES).enumerate() {
        // The words of a whole line and the spaces between them.
        const WORDS_CHARS: usize = 2 * LINE_BYTES + LINE_BYTES / WORD_BYTES - 1;
        let (offset, words, characters) = (at * LINE_BYTES, words(line), characters(line));
        // Writing to a string does not fail.
        let _ = write!(text, "\n  0x{offset:08x}: {words:WORDS_CHARS$} '{characters:LINE_BYTES$}'");
    }
    text
}

/// The words of a line: the first byte of each is its lowest. A space stands before each but the first, even if there
/// is none any more.
fn words(line: &[u8]) -> String {
    let words: Vec<_> = (0..LINE_BYTES / WORD_BYTES)
        .map(|at| {
            let word = line.chunks(WORD_BYTES).nth(at).unwrap_or_default();
            word.iter().rev().map(|byte| format!("{byte:02x}")).collect::<String>()
        })
        .collect();
    words.join(" ")
}

fn characters(line: &[u8]) -> String {
    let shown = |byte: &u8| if (b' '..0x7f).contains(byte) { char::from(*byte) } else { '.' };
    line.iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_bytes_are_one_line() {
        assert_eq!(dump(&[]), "NULL");
        assert_eq!(dump(&[0; 4]), "00000000    '....'");
        assert_eq!(dump(&[0, 0, 0, 0, 1, 0, 0, 0]), "00000000 00000001   '........'");
    }

    #[test]
    fn more_bytes_are_lines_with_offsets() {
        let text: Vec<u8> = "1.0".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let bytes = [&[0, 0, 0, 0, 3, 0, 0, 0][..], &text, &[0; 2], &[7; 5]].concat();
        assert_eq!(
            dump(&bytes),
            "\n  0x00000000: 00000000 00000003 002e0031 00000030 '........1...0...'\
             \n  0x00000010: 07070707 07                         '.....           '"
        );
    }

    #[test]
    fn an_error_has_its_number_and_its_name() {
        let said = describe(&Err(StatusCode::UNKNOWN_TRANSACTION));
        assert_eq!(said, "Parcel(Error: 0xffffffb6 \"UNKNOWN_TRANSACTION\")");
    }
}
