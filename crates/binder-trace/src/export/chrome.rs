//! The JSON of Chrome's trace viewer: a slice for each end of a call, and arrows between them.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;
use serde_json::{Value, json};

use super::{CallLog, SliceEnd, TrackSlice};
use crate::line::status_words;

/// The file: an object with a list of events.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ChromeTrace {
    trace_events: Vec<Value>,
    display_time_unit: &'static str,
}

/// Writes a trace for Chrome's viewer.
pub fn chrome(log: &CallLog) -> String {
    let mut trace_events = Vec::new();
    let mut named = None;
    for party in log.parties() {
        if named.replace(party.pid) != Some(party.pid) {
            let name = log.process_name(party.pid);
            let event = json!({"ph": "M", "name": "process_name", "pid": party.pid, "args": {"name": name}});
            trace_events.push(event);
        }
    }
    for slice in log.slices() {
        trace_events.push(complete_event(log, &slice));
        if slice.has_flow() {
            trace_events.push(flow_event(&slice));
        }
    }
    let trace = ChromeTrace { trace_events, display_time_unit: "ns" };
    // These are plain values: writing them into memory does not fail.
    serde_json::to_string(&trace).unwrap_or_default()
}

fn complete_event(log: &CallLog, slice: &TrackSlice<'_>) -> Value {
    let call = slice.call;
    let category = if slice.end == SliceEnd::Caller { "call" } else { "service" };
    json!({
        "ph": "X",
        "name": log.name(call),
        "cat": format!("binder,{category}"),
        "pid": slice.party.pid,
        "tid": slice.party.tid,
        "ts": us(slice.begin_ns),
        "dur": us(slice.end_ns - slice.begin_ns),
        "args": {
            "id": call.sent.id,
            "device": &*call.sent.device,
            "bytes": call.sent.data_bytes,
            "status": status_words(call.status),
        },
    })
}

/// An arrow's beginning, at the caller, or its end.
fn flow_event(slice: &TrackSlice<'_>) -> Value {
    let mut event = json!({
        "ph": if slice.end == SliceEnd::Caller { "s" } else { "f" },
        "name": "call",
        "cat": "binder",
        "id": slice.flow(),
        "pid": slice.party.pid,
        "tid": slice.party.tid,
        "ts": us(slice.begin_ns),
    });
    if slice.end == SliceEnd::Server {
        // It binds to the slice around this moment, not to the next.
        event["bp"] = "e".into();
    }
    event
}

/// Microseconds with their decimals. They are exact for the next two hundred years.
fn us(ns: u64) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a double holds microseconds since 1970 to a quarter"
    )]
    let us = (ns / 1_000) as f64;
    us + f64::from(u16::try_from(ns % 1_000).unwrap_or_default()) / 1e3
}

#[cfg(test)]
mod tests {
    use super::super::tests::story;
    use super::*;

    #[test]
    fn each_end_of_a_call_is_a_slice_and_arrows_join_them() {
        let value: Value = serde_json::from_str(&chrome(&story())).unwrap();
        let events = value["traceEvents"].as_array().unwrap();
        let of = |phase: &str| -> Vec<&Value> {
            events.iter().filter(|event| event["ph"] == phase).collect()
        };
        let [names, slices, begins, ends] = ["M", "X", "s", "f"].map(of);
        assert_eq!([names.len(), slices.len(), begins.len(), ends.len()], [2, 8, 3, 3]);
        assert_eq!(names[0]["args"]["name"], "client");
        assert_eq!(slices[0]["name"], "demo.IGreeter.hello");
        assert_eq!((&slices[0]["ts"], &slices[0]["dur"]), (&1_000_000_001.0.into(), &5.0.into()));
        assert_eq!((&begins[0]["id"], &begins[0]["id"]), (&ends[0]["id"], &2.into()));
    }
}
