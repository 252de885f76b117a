use alloc::vec;
use alloc::vec::Vec;

use parcel::Writer;
use parcel::driver::FlatObject;
use parcel::token::{BuilderWord, write_driver};

use super::*;
use crate::calls::{CallTracker, TraceItem};
use crate::record::tests::call;
use crate::record::{CarriedObject, SendKind, TraceRecord};

const SOURCE: &str = "
    package demo;
    interface IGreeter {
        Answer hello(in String name, int n, in @nullable Point[] points, out int[] filled, IBinder who,
                     in ParcelFileDescriptor file, inout Shape shape, in Color[] colors, in byte[] raw,
                     in Map<String, long> map, char letter, in boolean[] flags, double half);
        oneway void tell(in Strange strange, int behind);
        void take(in Around around, int behind);
    }
    parcelable Point { int x; int y; }
    union Shape { int circle; String word; }
    @Backing(type=\"byte\") enum Color { RED, GREEN }
    parcelable Around { Strange strange; }
    parcelable Answer { @nullable Answer[] more; String words; }
";

fn methods() -> MethodNames {
    let (methods, mistakes) = MethodNames::of_aidl([("demo.aidl".into(), SOURCE.into())]);
    assert_eq!(mistakes, Vec::<String>::new());
    methods
}

/// A request: the token of a call, and the content that `write` writes.
fn request(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes);
    write_driver(&mut writer, BuilderWord::System, "demo.IGreeter").unwrap();
    write(&mut writer);
    bytes
}

fn hello() -> Vec<u8> {
    request(|writer| {
        writer.string16("w\u{1b}").unwrap();
        writer.i32(-7);
        writer.i32(2);
        // One point, and one that is null. A later version of it has a field more.
        [1, 16, 3, 4, 99, 0].iter().for_each(|word| writer.i32(*word));
        writer.i32(5);
        FlatObject::Handle { handle: 3, flags: 0 }.write(writer);
        writer.i32(12);
        [1, 0].iter().for_each(|word| writer.i32(*word));
        FlatObject::File { fd: 0 }.write(writer);
        [1, 1].iter().for_each(|word| writer.i32(*word));
        writer.string16("square").unwrap();
        writer.array(&[1_u8, 5]).unwrap();
        writer.array(&[1_u8, 2, 0xff]).unwrap();
        writer.i32(1);
        writer.string16("key").unwrap();
        writer.i64(1 << 40);
        writer.i32('x' as i32);
        writer.array(&[true, false]).unwrap();
        writer.i64(0.5_f64.to_bits().cast_signed());
    })
}

/// A call with this data, of which as many bytes were sent.
fn traced(code: u32, data: Vec<u8>, sent_bytes: usize) -> TracedCall {
    let (mut tracker, sent_bytes) = (CallTracker::default(), sent_bytes as u64);
    for object in [CarriedObject::Node { node: 12, handle: Some(3) }, CarriedObject::File { fd: 9 }]
    {
        tracker.take(TraceRecord::Carried { at_ns: 1, id: 1, object }, |_, _| ());
    }
    let sent = SentRecord { code, data, data_bytes: sent_bytes, ..call(1, 1) };
    tracker.take(TraceRecord::Sent(sent), |_, _| ());
    tracker.get(1).unwrap().clone()
}

fn decoded(code: u32, data: Vec<u8>) -> DecodedParcel {
    let len = data.len();
    decoded_request(&traced(code, data, len), &methods(), 4096).unwrap()
}

#[test]
fn arguments_of_each_type_are_told() {
    let parcel = decoded(1, hello());
    let expected = r#"(name: "w\u{1b}", n: -7, points: [Point{x: 3, y: 4}, null], filled: 5 to be filled, who: object 12 as handle 3, file: descriptor 9, shape: Shape{word: "square"}, colors: [GREEN, Color(5)], raw: bytes 0102ff, map: {"key": 1099511627776}, letter: 'x', flags: [true, false], half: 0.5)"#;
    assert_eq!((parcel.to_string(), &parcel.end), (expected.into(), &DecodedEnd::Whole));
    let json: serde_json::Value = serde_json::to_value(&parcel).unwrap();
    assert_eq!(json["points"], serde_json::json!([{ "x": 3, "y": 4 }, null]));
    assert_eq!(json["colors"], serde_json::json!(["GREEN", "Color(5)"]));
    assert_eq!(json["raw"], "0102ff");
}

#[test]
fn what_is_cut_off_is_decoded_as_far_as_it_goes() {
    let (whole, methods) = (hello(), methods());
    let mut told = 0;
    for end in 0..whole.len() {
        let cut = traced(1, whole[..end].to_vec(), whole.len());
        let Some(parcel) = decoded_request(&cut, &methods, 4096) else { continue };
        assert_eq!(parcel.end, DecodedEnd::Cut, "{end}: {parcel}");
        assert!(parcel.values.len() >= told, "{end}: {parcel}");
        told = parcel.values.len();

        // The same with nothing behind it is not what the types say.
        let parcel = decoded(1, whole[..end].to_vec());
        assert!(matches!(parcel.end, DecodedEnd::Misfit(_)), "{end}: {parcel}");
    }
    assert_eq!(told, 13);
    // The limit of the reader cuts as that of the driver does.
    let call = traced(1, whole.clone(), whole.len());
    assert_eq!(decoded_request(&call, &methods, 80).unwrap().end, DecodedEnd::Cut);
}

#[test]
fn hostile_words_anywhere_end_the_walk() {
    let (whole, methods) = (hello(), methods());
    for at in 0..whole.len() - 3 {
        for word in [0, 1, -1, i32::MIN, i32::MAX, 0x4000_0000, 255] {
            let mut data = whole.clone();
            data[at..at + 4].copy_from_slice(&word.to_le_bytes());
            for sent_bytes in [data.len(), 1 << 30] {
                let call = traced(1, data.clone(), sent_bytes);
                let Some(parcel) = decoded_request(&call, &methods, 4096) else { continue };
                assert!(parcel.to_string().len() < 16 * whole.len(), "{parcel}");
                assert!(serde_json::to_string(&parcel).is_ok());
            }
        }
    }
}

#[test]
fn bytes_behind_all_values_are_told() {
    let mut data = hello();
    let len = data.len();
    data.extend([0; 8]);
    assert_eq!(decoded(1, data).end, DecodedEnd::Rest(len));
}

#[test]
fn an_unknown_type_ends_the_walk_unless_its_length_is_known() {
    let at = request(|_| ()).len();
    let parcel = decoded(2, request(|writer| [1, 2, 3].iter().for_each(|word| writer.i32(*word))));
    assert_eq!(parcel.to_string(), "(strange: <Strange>)");
    assert_eq!(parcel.end, DecodedEnd::Unknown { at, of: "Strange".into() });
    let words = [1, 12, 55, 66, 7];
    let parcel = decoded(3, request(|writer| words.iter().for_each(|word| writer.i32(*word))));
    assert_eq!(parcel.to_string(), "(around: Around{strange: <Strange>}, behind: 7)");
    assert_eq!(parcel.end, DecodedEnd::Whole);
}

#[test]
fn values_within_values_have_an_end() {
    let mut bytes = vec![0; 4];
    // Answers of which each has one more in its list: as deep as bytes go.
    for left in (0..2000_i32).rev() {
        [1, 8 + 12 * left, 1].iter().for_each(|word: &i32| bytes.extend(word.to_le_bytes()));
    }
    let parcel = replied(bytes, 0).results().unwrap().clone();
    assert!(matches!(parcel.end, DecodedEnd::Misfit(_)), "{:?}", parcel.end);
}

/// The text of this reply to `hello`.
fn replied(data: Vec<u8>, flags: u32) -> DecodedReply {
    let (mut tracker, mut ended) = (CallTracker::default(), None);
    let data_bytes = data.len() as u64;
    let reply =
        SentRecord { kind: SendKind::Reply, within: 1, data, data_bytes, flags, ..call(2, 2) };
    for record in [
        TraceRecord::Sent(call(1, 1)),
        TraceRecord::Sent(reply),
        TraceRecord::Received { at_ns: 3, id: 2, pid: 10, tid: 11 },
    ] {
        tracker.take(record, |_, item| {
            if let TraceItem::Ended(call) = item {
                ended = Some(call);
            }
        });
    }
    decoded_reply(&ended.unwrap(), &methods(), 1 << 20).unwrap()
}

#[test]
fn replies_are_results_exceptions_or_a_status() {
    let mut results = Vec::new();
    let mut writer = Writer::new(&mut results);
    // No exception; an answer of which this service's version has no more than a list.
    [0, 1, 8, -1].iter().for_each(|word| writer.i32(*word));
    writer.array(&[8_i32, 9]).unwrap();
    [1, 0, 44].iter().for_each(|word| writer.i32(*word));
    let expected = "(Answer{more: null}, filled: [8, 9], shape: Shape{circle: 44})";
    assert_eq!(replied(results, 0).to_string(), expected);

    let mut exception = Vec::new();
    let head = ReplyOutcomeHeader::Exception {
        code: ExceptionCode::SERVICE_SPECIFIC,
        message: Some("no".into()),
        service_specific: 4,
    };
    head.write(&mut Writer::new(&mut exception)).unwrap();
    assert_eq!(replied(exception, 0).to_string(), "exception SERVICE_SPECIFIC 4 \"no\"");

    let status = StatusCode::UNKNOWN_TRANSACTION.code().to_le_bytes().to_vec();
    assert_eq!(replied(status, TF_STATUS_CODE).to_string(), "status UNKNOWN_TRANSACTION");
}

#[test]
fn nothing_is_guessed_of_data_that_ends_within_the_name_of_the_interface() {
    let data = request(|writer| writer.i32(5));
    let sent = SentRecord { interface: Some("demo.IGreeter".into()), data, ..call(1, 0) };
    assert_eq!(guessed(&sent, 4096), [DecodedValue::Number(5)]);
    assert_eq!(guessed(&sent, 40), []);
}
