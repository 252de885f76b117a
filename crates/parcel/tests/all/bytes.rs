//! The bytes that Android's library writes, and how they are read.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use parcel::driver::{FLAG_ACCEPTS_FDS, FlatObject};
use parcel::rpc::RpcObject;
use parcel::token::{self, BuilderWord, TokenForm};
use parcel::{ExceptionCode, ParcelError, Reader, ReplyOutcomeHeader, StatusCode, Writer};

fn written(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut Writer::new(&mut bytes));
    bytes
}

/// Bytes as people write them down.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

#[test]
fn text_is_utf16_with_a_zero_padded_to_words() {
    for (text, bytes) in [
        ("", "00000000 0000 0000"),
        ("a", "01000000 6100 0000"),
        ("ab", "02000000 6100 6200 0000 0000"),
        ("\u{20ac}\u{1f600}", "03000000 ac20 3dd8 00de 0000"),
    ] {
        assert_eq!(written(|writer| writer.string16(text).unwrap()), hex(bytes), "{text:?}");
        let read = Reader::new(&hex(bytes)).string16();
        assert_eq!(read.unwrap().as_deref(), Some(text));
    }
    assert_eq!(written(|writer| writer.null_string16()), hex("ffffffff"));
    assert_eq!(Reader::new(&hex("ffffffff")).string16(), Ok(None));
}

#[test]
fn text_of_any_length_is_its_units_and_zeros() {
    let text = "0123456789abcdefghijklmnopqrstuvwxyz";
    for len in 0..text.len() {
        let mut expected = u32::try_from(len).unwrap().to_le_bytes().to_vec();
        expected.extend(text[..len].encode_utf16().flat_map(u16::to_le_bytes));
        expected.resize(4 + ((len + 1) * 2).next_multiple_of(4), 0);
        let bytes = written(|writer| writer.string16(&text[..len]).unwrap());
        assert_eq!(bytes, expected, "{len}");
        for other in 0..text.len() {
            let is_it = Reader::new(&bytes).string16_is(&text[..other]);
            assert_eq!(is_it, Ok(other == len), "{len} {other}");
        }
        if let Some(last) = len.checked_sub(1) {
            let mut changed = bytes.clone();
            changed[4 + last * 2 + 1] ^= 1;
            assert_eq!(Reader::new(&changed).string16_is(&text[..len]), Ok(false), "{len}");
        }
    }
}

#[test]
fn long_text_is_the_same_with_and_without_other_letters_than_ascii() {
    let ascii: String = ('0'..='z').cycle().take(700).collect();
    for len in [119, 127, 128, 129, 255, 256, 257, 400, 700] {
        let mut texts = vec![ascii[..len].to_owned()];
        for at in [0, 1, 120, 127, 128, 130, len - 1] {
            let split = at.min(len);
            texts.push([&ascii[..split], "\u{e4}", &ascii[split..len]].concat());
            texts.push([&ascii[..split], "\u{1f600}", &ascii[split..len]].concat());
        }
        for text in texts {
            let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let bytes = written(|writer| writer.string16(&text).unwrap());
            let count = u32::try_from(units.len() / 2).unwrap();
            assert_eq!(bytes[..4], count.to_le_bytes());
            assert_eq!(bytes[4..][..units.len()], units, "{text}");
            assert!(bytes[4 + units.len()..].iter().all(|byte| *byte == 0), "{text}");
            assert_eq!(bytes.len(), 4 + (units.len() + 2).next_multiple_of(4));
            assert_eq!(Reader::new(&bytes).string16().unwrap().as_ref(), Some(&text));
            // Over what is there, and behind it.
            let mut over = vec![0xff; 200];
            Writer::at(&mut over, 100).string16(&text).unwrap();
            assert_eq!(over[100..][..bytes.len()], bytes, "{text}");
        }
    }
}

#[test]
fn text_that_is_none_is_refused() {
    let half = hex("01000000 3dd8 0000");
    assert_eq!(Reader::new(&half).string16(), Err(ParcelError::BadText { at: 0 }));
    let endless = hex("01000000 6100 6100");
    assert_eq!(Reader::new(&endless).string16(), Err(ParcelError::BadText { at: 0 }));
    let long = hex("02000000 6100 0000");
    assert!(matches!(Reader::new(&long).string16(), Err(ParcelError::NotEnoughData { .. })));
    let longest = hex("ffffff7f 6100 0000");
    assert!(matches!(Reader::new(&longest).string16(), Err(ParcelError::NotEnoughData { .. })));
    let negative = hex("feffffff 6100 0000");
    assert!(matches!(Reader::new(&negative).string16(), Err(ParcelError::BadLength { .. })));
}

#[test]
fn only_bytes_are_packed_in_arrays() {
    for (bytes, expected) in [
        (
            written(|writer| writer.array(&[1_u8, 2, 3, 4, 5]).unwrap()),
            "05000000 0102030405 000000",
        ),
        (written(|writer| writer.array(&[-1_i8]).unwrap()), "01000000 ff 000000"),
        (written(|writer| writer.array(&[true, false]).unwrap()), "02000000 01000000 00000000"),
        (written(|writer| writer.array(&[0x61_u16]).unwrap()), "01000000 61000000"),
        (written(|writer| writer.array(&[-2_i32]).unwrap()), "01000000 feffffff"),
        (written(|writer| writer.array(&[1_i64]).unwrap()), "01000000 0100000000000000"),
        (written(|writer| writer.array(&[1.5_f32]).unwrap()), "01000000 0000c03f"),
        (written(|writer| writer.array(&[-2.0_f64]).unwrap()), "01000000 00000000000000c0"),
        (written(|writer| writer.length(None).unwrap()), "ffffffff"),
    ] {
        assert_eq!(bytes, hex(expected));
    }
}

#[test]
fn calls_over_the_driver_name_their_interface_behind_three_words() {
    for (header, word) in [
        (BuilderWord::System, "54535953"),
        (BuilderWord::Vendor, "52444e56"),
        (BuilderWord::Unknown, "4e4b4e55"),
    ] {
        let expected = hex(&format!("00000080 ffffffff {word} 03000000 6100 2e00 6200 0000"));
        let bytes = written(|writer| token::write_driver(writer, header, "a.b").unwrap());
        assert_eq!(bytes, expected);
        let token = token::read_driver(&mut Reader::new(&bytes)).unwrap();
        assert_eq!((token.descriptor.as_str(), token.header), ("a.b", Some(header)));
    }
    let other = hex("00000080 ffffffff 41414141 00000000 0000 0000");
    let error = token::read_driver(&mut Reader::new(&other)).unwrap_err();
    assert_eq!(error, ParcelError::BadWord { at: 8, found: 0x4141_4141 });
}

#[test]
fn calls_over_rpc_name_their_interface_alone() {
    let bytes = written(|writer| token::write_rpc(writer, "a.b").unwrap());
    assert_eq!(bytes, hex("03000000 6100 2e00 6200 0000"));
    assert_eq!(token::read_rpc(&mut Reader::new(&bytes)).unwrap().descriptor, "a.b");
    assert!(token::read_rpc(&mut Reader::new(&hex("ffffffff"))).is_err());
}

#[test]
fn objects_for_the_driver_are_those_of_its_header() {
    let flags = FLAG_ACCEPTS_FDS | 0x13;
    for (object, expected) in [
        (FlatObject::Null, "852a6273 00000000 0000000000000000 0000000000000000"),
        (
            FlatObject::Binder { binder: 0x1122, cookie: 3, flags },
            "852a6273 13010000 2211000000000000 0300000000000000",
        ),
        (
            FlatObject::Handle { handle: 7, flags: 0 },
            "852a6873 00000000 0700000000000000 0000000000000000",
        ),
        (FlatObject::File { fd: 5 }, "852a6466 7f010000 0500000000000000 0000000000000000"),
    ] {
        let bytes = written(|writer| object.write(writer));
        assert_eq!(bytes, hex(expected), "{object:?}");
        assert_eq!(FlatObject::read(&mut Reader::new(&bytes)), Ok(object));
    }
    let weak = hex("852a6277 00000000 0100000000000000 0000000000000000");
    assert!(matches!(
        FlatObject::read(&mut Reader::new(&weak)),
        Err(ParcelError::BadWord { at: 0, found: 0x7762_2a85 })
    ));
}

#[test]
fn objects_for_rpc_are_those_on_the_wire() {
    // A root object as Android 14 sent it: created by the server, number 0, stability 12.
    let root = hex("01000000 03000000 00000000 0c000000");
    let mut reader = Reader::new(&root);
    assert_eq!(RpcObject::read(&mut reader), Ok(RpcObject::Binder { address: 3 }));
    assert_eq!(reader.i32(), Ok(12));
    for (object, expected) in [
        (RpcObject::Null, "00000000"),
        (RpcObject::Binder { address: 3 }, "01000000 03000000 00000000"),
        (RpcObject::File { index: 2 }, "02000000 02000000"),
        (RpcObject::StandIn { number: 2 }, "03000000 02000000"),
    ] {
        let bytes = written(|writer| object.write(writer));
        assert_eq!(bytes, hex(expected), "{object:?}");
        assert_eq!(RpcObject::read(&mut Reader::new(&bytes)), Ok(object));
    }
    assert!(RpcObject::read(&mut Reader::new(&hex("04000000"))).is_err());
}

fn exception(code: ExceptionCode, message: &str, service_specific: i32) -> ReplyOutcomeHeader {
    ReplyOutcomeHeader::Exception { code, message: Some(message.into()), service_specific }
}

#[test]
fn replies_say_first_how_it_went() {
    for (outcome, expected) in [
        (ReplyOutcomeHeader::Done, "00000000"),
        (
            exception(ExceptionCode::ILLEGAL_ARGUMENT, "a", 0),
            "fdffffff 01000000 6100 0000 00000000",
        ),
        (
            exception(ExceptionCode::SERVICE_SPECIFIC, "", 42),
            "f8ffffff 00000000 0000 0000 00000000 2a000000",
        ),
        (
            exception(ExceptionCode::PARCELABLE, "", 0),
            "f7ffffff 00000000 0000 0000 00000000 00000000",
        ),
    ] {
        let bytes = written(|writer| outcome.write(writer).unwrap());
        assert_eq!(bytes, hex(expected), "{outcome:?}");
        let mut reader = Reader::new(&bytes);
        assert_eq!(ReplyOutcomeHeader::read(&mut reader), Ok(outcome));
        assert_eq!(reader.left(), 0);
    }
}

#[test]
fn what_java_adds_to_replies_is_stepped_over() {
    // A head of 12 bytes before the results.
    let head = hex("80ffffff 0c000000 aaaaaaaa bbbbbbbb 05000000");
    let mut reader = Reader::new(&head);
    assert_eq!(ReplyOutcomeHeader::read(&mut reader), Ok(ReplyOutcomeHeader::Done));
    assert_eq!(reader.i32(), Ok(5));
    // A stack trace of 8 bytes between the message and the service's code.
    let trace = hex("f8ffffff ffffffff 08000000 aaaaaaaa 07000000");
    let outcome = ReplyOutcomeHeader::read(&mut Reader::new(&trace)).unwrap();
    let code = ExceptionCode::SERVICE_SPECIFIC;
    assert_eq!(outcome, ReplyOutcomeHeader::Exception { code, message: None, service_specific: 7 });
    for block in ["ffffffff", "03000000", "0d000000", "ffffff7f"] {
        let bytes = hex(&format!("80ffffff {block} aaaaaaaa bbbbbbbb"));
        let read = ReplyOutcomeHeader::read(&mut Reader::new(&bytes));
        assert!(matches!(read, Err(ParcelError::BadLength { at: 4, .. })), "{block}: {read:?}");
    }
}

#[test]
fn codes_and_numbers_are_one_to_one() {
    for status in StatusCode::ALL {
        assert_eq!(StatusCode::from_code(status.code()), status);
    }
    assert_eq!(StatusCode::from_code(-12345), StatusCode::UNKNOWN_ERROR);
    assert_eq!(StatusCode::FDS_NOT_ALLOWED.code(), -2_147_483_641);
    for exception in ExceptionCode::ALL {
        assert_eq!(ExceptionCode::from_code(exception.code()), exception);
    }
}

#[test]
fn writing_over_what_is_there_grows_it_only_at_the_end() {
    let mut bytes = hex("01000000 02000000");
    let mut writer = Writer::at(&mut bytes, 4);
    writer.i64(-1);
    assert_eq!(writer.position(), 12);
    assert_eq!(bytes, hex("01000000 ffffffff ffffffff"));
    Writer::at(&mut bytes, 0).raw(&[9]);
    assert_eq!(bytes, hex("09000000 ffffffff ffffffff"));
    let mut writer = Writer::at(&mut bytes, 0);
    writer.string16("ab").unwrap();
    assert_eq!(bytes, hex("02000000 6100 6200 0000 0000"));
}

#[test]
fn the_token_of_every_release_is_known_by_its_form() {
    let forms = [
        (TokenForm::Policy, written(|writer| writer.u32(1 << 31))),
        (
            TokenForm::PolicyAndWorkSource,
            written(|writer| {
                writer.u32(1 << 31);
                writer.i32(-1);
            }),
        ),
    ];
    for (form, mut bytes) in forms {
        bytes.extend(written(|writer| writer.string16("a.b").unwrap()));
        let mut reader = Reader::new(&bytes);
        assert_eq!(token::form_of(&mut reader, "a.b"), Some(form));
        assert_eq!(reader.left(), 0);
        assert_eq!(token::form_of(&mut Reader::new(&bytes), "a.c"), None);
    }
    let full = written(|writer| token::write_driver(writer, BuilderWord::Unknown, "a.b").unwrap());
    let mut reader = Reader::new(&full);
    assert_eq!(token::form_of(&mut reader, "a.c"), None);
    assert_eq!(reader.position(), 0);
    assert_eq!(token::form_of(&mut reader, "a.b"), Some(TokenForm::Full));
    assert_eq!(reader.left(), 0);
    for len in 0..full.len() {
        assert_eq!(token::form_of(&mut Reader::new(&full[..len]), "a.b"), None);
    }
}
