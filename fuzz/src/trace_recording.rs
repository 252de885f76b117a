//! Bytes as a recording of a trace, as the stream of a driver, and as an AIDL source.

use binder_trace::export::{CallLog, chrome, csv, pcapng, perfetto};
use binder_trace::{
    CallTracker, LineWriter, MethodNames, RecordStream, RecordingReader, Summary, TraceItem,
    TraceRecord, note_to_json, recording_block, recording_head, to_json,
};

/// Reads the bytes as each, and tells what was read in every way.
///
/// # Panics
///
/// Panics if one of these does, or if what was read and written again is not the same.
pub fn check(bytes: &[u8]) {
    let source = ("X.aidl".to_owned(), String::from_utf8_lossy(bytes).into_owned());
    let (mut methods, _) = MethodNames::of_aidl([source]);
    let _ = methods.add_code_map(&String::from_utf8_lossy(bytes));
    if let Ok(mut reader) = RecordingReader::new(bytes) {
        let mut records: Vec<_> = reader.by_ref().collect();
        reader.finish();
        records.extend(reader);
        tell(records, &methods);
    }
    // A fuzzer does not find checksums.
    let whole = [&recording_head()[..], &recording_block(bytes)].concat();
    let reader = RecordingReader::new(&whole).expect("it has the head of one");
    tell(reader.collect(), &methods);

    let mut stream = RecordStream::default();
    let (half, rest) = bytes.split_at(bytes.len() / 2);
    for piece in [half, rest] {
        stream.push(piece);
        while !matches!(stream.next_record(), Ok(None)) {}
    }
}

fn tell(records: Vec<TraceRecord>, methods: &MethodNames) {
    let mut bytes = Vec::new();
    records.iter().for_each(|record| record.encode(&mut bytes));
    let mut again = RecordStream::default();
    again.push(&bytes);
    for record in &records {
        assert_eq!(again.next_record().as_ref(), Ok(&Some(record.clone())));
    }
    let writer =
        LineWriter { methods: methods.clone(), max_data_bytes: 64, ..LineWriter::default() };
    let (mut tracker, mut summary, mut text) =
        (CallTracker::default(), Summary::default(), String::new());
    for record in records.clone() {
        tracker.take(record, |tracker, item| {
            writer.write(tracker, &item, &mut text);
            match item {
                TraceItem::Began(_) => {}
                TraceItem::Ended(call) => {
                    summary.add(&call, tracker, methods);
                    text.push_str(&to_json(&call, tracker, methods, 64));
                }
                TraceItem::Note(note) => text.push_str(&note_to_json(&note, tracker)),
            }
        });
    }
    assert!(!text.contains('\u{1b}'), "nothing acts on the terminal");
    let mut log = CallLog::new(methods.clone());
    records.into_iter().for_each(|record| log.take(record));
    log.finish();
    let (_, _, _, _) = (chrome(&log), csv(&log), pcapng(&log), perfetto(&log));
}
