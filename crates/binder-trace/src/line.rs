//! A trace as lines for people.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;

use binder_uapi::{Errno, name_of};

use crate::arguments::{
    DecodedEnd, DecodedParcel, DecodedReply, decoded_reply, decoded_request, guessed,
};
use crate::calls::{CallParty, CallStatus, CallTracker, TraceItem, TracedCall};
use crate::filter::TraceFilter;
use crate::methods::MethodNames;
use crate::record::{CarriedObject, SendKind, SentRecord, TraceRecord};

const NS_PER_US: u64 = 1_000;
const NS_PER_SECOND: u64 = 1_000_000_000;
/// Bytes of data that a line shows.
const ROW_BYTES: usize = 16;

/// Writes lines: one when a call, one-way or object is sent, and one when it has come to its end. Those of a call
/// that is made while another is served are indented more than that.
#[derive(Clone, Debug, Default)]
pub struct LineWriter {
    /// The calls and events that are written.
    pub filter: TraceFilter,
    /// The names of methods.
    pub methods: MethodNames,
    /// Bytes of data that are shown, as arguments where their types are known.
    pub max_data_bytes: usize,
}

impl LineWriter {
    /// Appends the lines of an item.
    pub fn write(&self, tracker: &CallTracker, item: &TraceItem, out: &mut String) {
        match item {
            TraceItem::Began(id) => {
                let wanted = tracker.get(*id).filter(|_| !self.filter.needs_end());
                if let Some(call) =
                    wanted.filter(|it| self.filter.wants(it, tracker, &self.methods))
                {
                    self.write_beginning(tracker, call, out);
                }
            }
            TraceItem::Ended(call) => {
                if self.filter.wants(call, tracker, &self.methods) {
                    if self.filter.needs_end() {
                        self.write_beginning(tracker, call, out);
                    }
                    self.write_end(tracker, call, out);
                }
            }
            TraceItem::Note(note) => {
                if self.filter.wants_note(note, tracker) {
                    write_note(tracker, note, out);
                }
            }
        }
    }

    /// Appends the beginning of a call that has not come to its end, if that was not told when it began.
    pub fn write_pending(&self, tracker: &CallTracker, call: &TracedCall, out: &mut String) {
        let is_told = !self.filter.needs_end();
        if !is_told && self.filter.wants(call, tracker, &self.methods) {
            self.write_beginning(tracker, call, out);
        }
    }

    fn write_beginning(&self, tracker: &CallTracker, call: &TracedCall, out: &mut String) {
        let sent = &call.sent;
        let kind = if sent.kind == SendKind::Oneway { "one-way" } else { "call" };
        let to = match (sent.to_pid, sent.to_tid) {
            (0, _) => format!("handle {}", sent.handle),
            (pid, tid) => party(tracker, CallParty { pid, tid }),
        };
        let from = party(tracker, call.sender());
        let naming = self.methods.naming(sent);
        let head = head(tracker, sent.at_ns, &sent.device, call.depth);
        line(out, format_args!("{head}{kind} {from} -> {to}  {naming}  {} bytes", sent.data_bytes));
        write_objects(&head, &call.objects, out);
        let request = decoded_request(call, &self.methods, self.max_data_bytes);
        match request {
            Some(request) => {
                let from = self.write_decoded(&head, "", &request, out);
                self.write_data(&head, &sent.data, from, out);
            }
            None => self.write_unknown(&head, call, sent, out),
        }
    }

    fn write_end(&self, tracker: &CallTracker, call: &TracedCall, out: &mut String) {
        let sent = &call.sent;
        let head = head(tracker, call.ended_ns.unwrap_or_default(), &sent.device, call.depth);
        let naming = self.methods.naming(sent);
        let us = |ns: Option<u64>| ns.unwrap_or_default() / NS_PER_US;
        let (from, receiver) = (party(tracker, call.sender()), party(tracker, call.receiver));
        let took = us(call.total_ns());
        match (call.status, &call.reply) {
            (CallStatus::Done, Some(reply)) => {
                let (queue, service) = (us(call.queue_ns()), us(call.service_ns()));
                let (bytes, back) = (reply.sent.data_bytes, us(call.return_ns()));
                line(
                    out,
                    format_args!(
                        "{head}reply {receiver} -> {from}  {naming}  {bytes} bytes  {took} us \
                         ({queue} queued, {service} served, {back} returning)"
                    ),
                );
                write_objects(&head, &reply.objects, out);
                match decoded_reply(call, &self.methods, self.max_data_bytes) {
                    Some(DecodedReply::Results(results)) => {
                        let from = self.write_decoded(&head, "-> ", &results, out);
                        self.write_data(&head, &reply.sent.data, from, out);
                    }
                    Some(failure) => line(out, format_args!("{head}  -> {failure}")),
                    None => self.write_unknown(&head, call, &reply.sent, out),
                }
            }
            (CallStatus::Done, None) => {
                line(out, format_args!("{head}received by {receiver}  {naming}  {took} us"));
            }
            (status, _) => {
                let cause = status_words(status);
                line(out, format_args!("{head}failed {from}  {naming}  {cause}  {took} us"));
            }
        }
    }

    /// Appends decoded values, and why these are not all. Returns from where on bytes are to be shown.
    fn write_decoded(
        &self,
        head: &str,
        arrow: &str,
        parcel: &DecodedParcel,
        out: &mut String,
    ) -> Option<usize> {
        line(out, format_args!("{head}  {arrow}{parcel}"));
        match &parcel.end {
            DecodedEnd::Whole => {}
            end @ (DecodedEnd::Cut
            | DecodedEnd::Rest(_)
            | DecodedEnd::Unknown { .. }
            | DecodedEnd::Misfit(_)) => line(out, format_args!("{head}  {end}")),
        }
        parcel.bytes_from()
    }

    /// Appends the data of a request or reply whose types are not known: its bytes, and before them a guess at values, if
    /// the call names an interface. The data of other calls may have any form.
    fn write_unknown(&self, head: &str, call: &TracedCall, sent: &SentRecord, out: &mut String) {
        let guess = guessed(sent, self.max_data_bytes);
        if call.sent.interface.is_some() && !guess.is_empty() {
            let values: Vec<String> = guess.iter().map(ToString::to_string).collect();
            line(out, format_args!("{head}  perhaps {}", values.join(", ")));
        }
        self.write_data(head, &sent.data, Some(0), out);
    }

    /// Appends the data from a byte on, if it is to be shown.
    fn write_data(&self, head: &str, data: &[u8], from: Option<usize>, out: &mut String) {
        let Some(from) = from else { return };
        let shown = &data[..data.len().min(self.max_data_bytes)];
        let first_row = from / ROW_BYTES;
        for (row, bytes) in shown.chunks(ROW_BYTES).enumerate().skip(first_row) {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x} ")).collect();
            let is_plain = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
            let plain = |byte: &u8| if is_plain(byte) { char::from(*byte) } else { '.' };
            let text: String = bytes.iter().map(plain).collect();
            line(out, format_args!("{head}  {:04x}  {hex:<48} {text}", row * ROW_BYTES));
        }
    }
}

/// A status in words.
pub(crate) fn status_words(status: CallStatus) -> String {
    let errno = |number: u32| {
        let known = i32::try_from(number).ok().and_then(Errno::from_number);
        known.map_or(String::new(), |errno| format!(" ({errno:?})"))
    };
    match status {
        CallStatus::Pending => "pending".into(),
        CallStatus::Done => "ok".into(),
        CallStatus::Refused { code, errno: number } => {
            format!("{}{}", name_of(code), errno(number))
        }
        CallStatus::Failed { code } => name_of(code).to_string(),
        CallStatus::Undelivered { errno: number } => format!("undelivered{}", errno(number)),
    }
}

fn write_objects(head: &str, objects: &[CarriedObject], out: &mut String) {
    for object in objects {
        line(out, format_args!("{head}  with {}", object_words(object)));
    }
}

pub(crate) fn object_words(object: &CarriedObject) -> String {
    match object {
        CarriedObject::Node { node, handle: Some(handle) } => {
            format!("object {node} as handle {handle}")
        }
        CarriedObject::Node { node, handle: None } => format!("object {node}, the receiver's own"),
        CarriedObject::File { fd } => format!("descriptor {fd}"),
    }
}

fn write_note(tracker: &CallTracker, note: &TraceRecord, out: &mut String) {
    let process = |pid: u32| party(tracker, CallParty { pid, tid: 0 });
    let head = |at_ns: u64, device: &str| head(tracker, at_ns, device, 0);
    match note {
        TraceRecord::Opened { at_ns, device, pid, .. } => {
            line(out, format_args!("{}opened by {}", head(*at_ns, device), process(*pid)));
        }
        TraceRecord::Closed { at_ns, device, pid } => {
            line(out, format_args!("{}closed by {}", head(*at_ns, device), process(*pid)));
        }
        TraceRecord::Died { at_ns, device, node, pid } => {
            let (head, process) = (head(*at_ns, device), process(*pid));
            line(out, format_args!("{head}death of the owner of object {node}, for {process}"));
        }
        TraceRecord::Frozen { at_ns, device, pid } => {
            line(out, format_args!("{}frozen {}", head(*at_ns, device), process(*pid)));
        }
        TraceRecord::Thawed { at_ns, device, pid } => {
            line(out, format_args!("{}thawed {}", head(*at_ns, device), process(*pid)));
        }
        TraceRecord::Dropped { records } => {
            line(out, format_args!("--- {records} records dropped here: this reader was too slow"));
        }
        TraceRecord::Undelivered { at_ns, id, errno } => {
            let cause = status_words(CallStatus::Undelivered { errno: *errno });
            line(out, format_args!("{}transaction {id} {cause}", head(*at_ns, "")));
        }
        TraceRecord::Clock { .. }
        | TraceRecord::Named { .. }
        | TraceRecord::Sent(_)
        | TraceRecord::Received { .. }
        | TraceRecord::Unanswered { .. }
        | TraceRecord::Carried { .. } => {}
    }
}

/// The beginning of each line: the time of day in UTC, the device, two spaces for each call around this one.
fn head(tracker: &CallTracker, at_ns: u64, device: &str, depth: usize) -> String {
    let unix_ns = tracker.unix_ns(at_ns);
    let (seconds, us) = (unix_ns / NS_PER_SECOND, unix_ns % NS_PER_SECOND / NS_PER_US);
    let (hours, minutes) = (seconds / 3_600 % 24, seconds / 60 % 60);
    let indent = 2 * depth;
    let device = printable(device);
    format!("{hours:02}:{minutes:02}:{:02}.{us:06}  {device:<9} {:indent$}", seconds % 60, "")
}

/// A process, its thread and its name, as far as they are known.
fn party(tracker: &CallTracker, CallParty { pid, tid }: CallParty) -> String {
    let name = tracker.name(pid).map(|name| format!(" {}", printable(name))).unwrap_or_default();
    match (pid, tid) {
        (0, _) => "nobody".into(),
        (pid, 0) => format!("{pid}{name}"),
        (pid, tid) => format!("{pid}:{tid}{name}"),
    }
}

/// A name without characters that act on the terminal or on the text beside it: programs choose names of processes and devices.
pub fn printable(name: &str) -> String {
    name.chars().filter(|char| !char.is_control() && !is_format(*char)).collect()
}

/// Whether a character is invisible, and may change the order of the characters beside it.
fn is_format(char: char) -> bool {
    matches!(char, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn line(out: &mut String, words: core::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = out.write_fmt(words);
    out.truncate(out.trim_end_matches(' ').len());
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::record::SendStatus;
    use crate::record::tests::call;

    fn text_of(writer: &LineWriter, records: Vec<TraceRecord>) -> String {
        let (mut tracker, mut out) = (CallTracker::default(), String::new());
        for record in records {
            tracker.take(record, |tracker, item| writer.write(tracker, &item, &mut out));
        }
        out
    }

    fn story() -> Vec<TraceRecord> {
        let name = |pid, name: &str| TraceRecord::Named { pid, name: name.into() };
        let object = CarriedObject::Node { node: 7, handle: Some(3) };
        let answer = SentRecord {
            kind: SendKind::Reply,
            within: 1,
            data_bytes: 8,
            data: vec![b'h', b'i', 0],
            ..call(9, 61_000)
        };
        let refused = SendStatus::Refused { code: binder_uapi::BR_DEAD_REPLY, errno: 22 };
        let nested = SentRecord {
            within: 1,
            from_pid: 20,
            from_tid: 21,
            to_pid: 0,
            handle: 4,
            interface: None,
            status: refused,
            ..call(2, 30_000)
        };
        let oneway =
            SentRecord { kind: SendKind::Oneway, device: "hwbinder".into(), ..call(3, 70_000) };
        vec![
            TraceRecord::Clock { at_ns: 0, unix_ns: 3_723_000_000_000 },
            name(10, "cli\u{1b}ent"),
            name(20, "server"),
            TraceRecord::Carried { at_ns: 10_000, id: 1, object },
            TraceRecord::Sent(call(1, 10_000)),
            TraceRecord::Received { at_ns: 20_000, id: 1, pid: 20, tid: 21 },
            TraceRecord::Sent(nested),
            TraceRecord::Sent(answer),
            TraceRecord::Received { at_ns: 66_000, id: 9, pid: 10, tid: 11 },
            TraceRecord::Sent(oneway),
            TraceRecord::Received { at_ns: 74_000, id: 3, pid: 20, tid: 22 },
            TraceRecord::Died { at_ns: 75_000, device: "binder".into(), node: 5, pid: 10 },
            TraceRecord::Dropped { records: 3 },
        ]
    }

    #[test]
    fn no_name_turns_the_words_beside_it() {
        assert_eq!(printable("a\u{202e}b\u{2066}\u{200f}c\u{1b}[2J\u{fc}"), "abc[2J\u{fc}");
    }

    #[test]
    fn each_send_and_each_end_is_a_line() {
        let mut writer = LineWriter { max_data_bytes: 2, ..LineWriter::default() };
        writer.methods.add("demo.IGreeter", 1, "hello");
        let expected = "\
01:02:03.000010  binder    call 10:11 client -> 20 server  demo.IGreeter.hello  64 bytes
01:02:03.000010  binder      with object 7 as handle 3
01:02:03.000030  binder      call 20:21 server -> handle 4  code 1  64 bytes
01:02:03.000030  binder      failed 20:21 server  code 1  BR_DEAD_REPLY (EINVAL)  0 us
01:02:03.000066  binder    reply 20:21 server -> 10:11 client  demo.IGreeter.hello  8 bytes  56 us \
(10 queued, 41 served, 5 returning)
01:02:03.000066  binder      0000  68 69                                            hi
01:02:03.000070  hwbinder  one-way 10:11 client -> 20 server  demo.IGreeter.hello  64 bytes
01:02:03.000074  hwbinder  received by 20:22 server  demo.IGreeter.hello  4 us
01:02:03.000075  binder    death of the owner of object 5, for 10 client
--- 3 records dropped here: this reader was too slow
";
        assert_eq!(text_of(&writer, story()), expected);
    }

    #[test]
    fn what_is_chosen_by_its_end_is_told_at_its_end() {
        let filter = TraceFilter { only_errors: true, ..TraceFilter::default() };
        let writer = LineWriter { filter, ..LineWriter::default() };
        let text = text_of(&writer, story());
        let kinds: Vec<_> = text.lines().map(|line| line.split_whitespace().nth(2)).collect();
        assert_eq!(kinds, [Some("call"), Some("failed"), Some("records")], "{text}");
    }
}
