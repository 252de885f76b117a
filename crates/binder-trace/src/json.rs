//! A trace as JSON, one object per line.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Serialize;

use crate::arguments::{DecodedEnd, DecodedParcel, DecodedReply, decoded_reply, decoded_request};
use crate::calls::{CallStatus, CallTracker, TracedCall};
use crate::line::{object_words, status_words};
use crate::methods::MethodNames;
use crate::record::{SendKind, TraceRecord};

/// A call or one-way, from its send to its end, or as far as it has come.
#[derive(Serialize)]
struct CallLine<'a> {
    kind: &'static str,
    unix_ns: u64,
    device: &'a str,
    id: u32,
    within: Option<u32>,
    from_pid: u32,
    from_tid: u32,
    from_name: Option<&'a str>,
    to_pid: Option<u32>,
    to_tid: Option<u32>,
    to_name: Option<&'a str>,
    node: Option<u32>,
    handle: u32,
    interface: Option<&'a str>,
    method: Option<&'a str>,
    code: u32,
    flags: u32,
    data_bytes: u64,
    reply_bytes: Option<u64>,
    objects: Vec<String>,
    reply_objects: Vec<String>,
    queue_ns: Option<u64>,
    service_ns: Option<u64>,
    return_ns: Option<u64>,
    total_ns: Option<u64>,
    status: String,
    is_error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a DecodedParcel>,
    /// Why these are not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments_end: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    results: Option<&'a DecodedParcel>,
    #[serde(skip_serializing_if = "Option::is_none")]
    results_end: Option<String>,
    /// The failure that the service has answered instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    data: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    reply_data: String,
}

/// An event that is not about a call.
#[derive(Default, Serialize)]
struct NoteLine<'a> {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    unix_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<u64>,
    /// A transaction that was told as received, and then was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
}

/// Writes a call as a line, with data of `max_data_bytes` bytes at most, in hexadecimal, and as arguments and
/// results where their types are known.
pub fn to_json(
    call: &TracedCall,
    tracker: &CallTracker,
    methods: &MethodNames,
    max_data_bytes: usize,
) -> String {
    let known = |number: u32| (number != 0).then_some(number);
    let sent = &call.sent;
    let naming = methods.naming(sent);
    let hex = |data: &[u8]| -> String {
        data.iter().take(max_data_bytes).map(|byte| alloc::format!("{byte:02x}")).collect()
    };
    let reply = call.reply.as_ref();
    let arguments = decoded_request(call, methods, max_data_bytes);
    let answer = decoded_reply(call, methods, max_data_bytes);
    let results = answer.as_ref().and_then(DecodedReply::results);
    to_line(&CallLine {
        kind: if sent.kind == SendKind::Oneway { "oneway" } else { "call" },
        unix_ns: tracker.unix_ns(sent.at_ns),
        device: &sent.device,
        id: sent.id,
        within: known(sent.within),
        from_pid: sent.from_pid,
        from_tid: sent.from_tid,
        from_name: tracker.name(sent.from_pid),
        to_pid: known(call.receiver.pid),
        to_tid: known(call.receiver.tid),
        to_name: tracker.name(call.receiver.pid),
        node: known(sent.node),
        handle: sent.handle,
        interface: naming.interface,
        method: naming.method,
        code: sent.code,
        flags: sent.flags,
        data_bytes: sent.data_bytes,
        reply_bytes: reply.map(|reply| reply.sent.data_bytes),
        objects: call.objects.iter().map(object_words).collect(),
        reply_objects: reply.iter().flat_map(|it| it.objects.iter().map(object_words)).collect(),
        queue_ns: call.queue_ns(),
        service_ns: call.service_ns(),
        return_ns: call.return_ns(),
        total_ns: call.total_ns(),
        status: status_words(call.status),
        is_error: call.status.is_error(),
        arguments: arguments.as_ref(),
        arguments_end: arguments.as_ref().and_then(end_words),
        results,
        results_end: results.and_then(end_words),
        failure: answer.as_ref().and_then(DecodedReply::failure),
        data: hex(&sent.data),
        reply_data: hex(reply.map_or(&[], |reply| &reply.sent.data)),
    })
}

/// Writes an event that is not about a call as a line; the empty text for a record that has no line of its own.
pub fn note_to_json(note: &TraceRecord, tracker: &CallTracker) -> String {
    let line = |kind, at_ns: u64, device, pid: u32, node| NoteLine {
        kind,
        unix_ns: Some(tracker.unix_ns(at_ns)),
        device: Some(device),
        pid: Some(pid),
        name: tracker.name(pid),
        node,
        ..NoteLine::default()
    };
    to_line(&match note {
        TraceRecord::Opened { at_ns, device, pid, .. } => {
            line("opened", *at_ns, &**device, *pid, None)
        }
        TraceRecord::Closed { at_ns, device, pid } => line("closed", *at_ns, device, *pid, None),
        TraceRecord::Died { at_ns, device, node, pid } => {
            line("death", *at_ns, device, *pid, Some(*node))
        }
        TraceRecord::Frozen { at_ns, device, pid } => line("frozen", *at_ns, device, *pid, None),
        TraceRecord::Thawed { at_ns, device, pid } => line("thawed", *at_ns, device, *pid, None),
        TraceRecord::Dropped { records } => {
            NoteLine { kind: "dropped", records: Some(*records), ..NoteLine::default() }
        }
        TraceRecord::Undelivered { at_ns, id, errno } => NoteLine {
            kind: "undelivered",
            unix_ns: Some(tracker.unix_ns(*at_ns)),
            id: Some(*id),
            status: Some(status_words(CallStatus::Undelivered { errno: *errno })),
            ..NoteLine::default()
        },
        TraceRecord::Clock { .. }
        | TraceRecord::Named { .. }
        | TraceRecord::Sent(_)
        | TraceRecord::Received { .. }
        | TraceRecord::Unanswered { .. }
        | TraceRecord::Carried { .. } => return String::new(),
    })
}

/// Why the values of a parcel are not all, if they are not.
fn end_words(parcel: &DecodedParcel) -> Option<String> {
    (parcel.end != DecodedEnd::Whole).then(|| parcel.end.to_string())
}

fn to_line(line: &impl Serialize) -> String {
    // These are plain values: writing one into memory does not fail.
    let mut text = serde_json::to_string(line).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::call;

    #[test]
    fn a_call_is_an_object() {
        let mut tracker = CallTracker::default();
        tracker.take(TraceRecord::Named { pid: 10, name: "a\"b".into() }, |_, _| ());
        tracker.take(TraceRecord::Sent(call(1, 100)), |_, _| ());
        let mut pending = tracker.get(1).unwrap().clone();
        pending.sent.data = alloc::vec![1, 0xff, 3];
        let line = to_json(&pending, &tracker, &MethodNames::default(), 2);
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["from_name"], "a\"b");
        assert_eq!((&value["status"], &value["data"]), (&"pending".into(), &"01ff".into()));
        assert_eq!(value["to_tid"], serde_json::Value::Null);
        assert!(line.ends_with("}\n") && line.lines().count() == 1);
    }

    #[test]
    fn other_things_tell_what_they_know() {
        let tracker = CallTracker::default();
        let dropped = note_to_json(&TraceRecord::Dropped { records: 4 }, &tracker);
        assert_eq!(dropped, "{\"kind\":\"dropped\",\"records\":4}\n");
    }
}
