//! Perfetto's protobuf: a track for each thread, a slice on it for each end of a call, flows between them.
//!
//! Of perfetto_trace.proto this needs a few messages; they are written here field by field, by the numbers of that file.
//! Slices of a track must lie within one another. So they do where a thread makes and serves calls; where records were
//! dropped, one that reaches beyond the one around it is cut.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::{CallLog, SliceEnd, TrackSlice};
use crate::bytes::{put_bytes, put_number};
use crate::calls::CallParty;
use crate::line::status_words;

// Fields of the messages that are written, by the message's name.
const TRACE_PACKET: u32 = 1;
const PACKET_TIMESTAMP: u32 = 8;
const PACKET_SEQUENCE_ID: u32 = 10;
const PACKET_TRACK_EVENT: u32 = 11;
const PACKET_TRACK_DESCRIPTOR: u32 = 60;
const DESCRIPTOR_UUID: u32 = 1;
const DESCRIPTOR_PROCESS: u32 = 3;
const DESCRIPTOR_THREAD: u32 = 4;
const DESCRIPTOR_PARENT_UUID: u32 = 5;
const PROCESS_PID: u32 = 1;
const PROCESS_NAME: u32 = 6;
const THREAD_PID: u32 = 1;
const THREAD_TID: u32 = 2;
const THREAD_NAME: u32 = 5;
const EVENT_ANNOTATION: u32 = 4;
const EVENT_TYPE: u32 = 9;
const EVENT_TRACK_UUID: u32 = 11;
const EVENT_CATEGORY: u32 = 22;
const EVENT_NAME: u32 = 23;
const EVENT_FLOW_ID: u32 = 47;
const ANNOTATION_UINT: u32 = 3;
const ANNOTATION_STRING: u32 = 6;
const ANNOTATION_NAME: u32 = 10;

const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
/// All packets are of one sequence.
const SEQUENCE: u64 = 1;
/// Numbers of tracks of processes begin here; those of threads are the numbers of these.
const PROCESS_TRACKS: u64 = 1 << 40;

/// A message that grows field by field.
#[derive(Default)]
struct ProtoMessage(Vec<u8>);

impl ProtoMessage {
    fn number(mut self, field: u32, value: u64) -> Self {
        put_number(&mut self.0, u64::from(field) << 3);
        put_number(&mut self.0, value);
        self
    }

    fn fixed(mut self, field: u32, value: u64) -> Self {
        put_number(&mut self.0, u64::from(field) << 3 | 1);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn bytes(mut self, field: u32, value: &[u8]) -> Self {
        put_number(&mut self.0, u64::from(field) << 3 | 2);
        put_bytes(&mut self.0, value);
        self
    }

    fn message(self, field: u32, value: Self) -> Self {
        self.bytes(field, &value.0)
    }
}

/// Writes a trace for Perfetto.
pub fn perfetto(log: &CallLog) -> Vec<u8> {
    let mut trace = ProtoMessage::default();
    let mut named = None;
    for party in log.parties() {
        if named.replace(party.pid) != Some(party.pid) {
            trace =
                trace.message(TRACE_PACKET, process_track(party.pid, &log.process_name(party.pid)));
        }
        trace = trace.message(TRACE_PACKET, thread_track(party, &log.process_name(party.pid)));
    }
    let mut tracks: BTreeMap<CallParty, Vec<TrackSlice<'_>>> = BTreeMap::new();
    for slice in log.slices() {
        tracks.entry(slice.party).or_default().push(slice);
    }
    let mut packets = Vec::new();
    for (party, slices) in tracks {
        put_track(log, party, slices, &mut packets);
    }
    // Those of a track stay in their order.
    packets.sort_by_key(|(at_ns, _)| *at_ns);
    for (at_ns, event) in packets {
        let packet = ProtoMessage::default()
            .number(PACKET_TIMESTAMP, at_ns)
            .number(PACKET_SEQUENCE_ID, SEQUENCE)
            .message(PACKET_TRACK_EVENT, event);
        trace = trace.message(TRACE_PACKET, packet);
    }
    trace.0
}

fn process_track(pid: u32, name: &str) -> ProtoMessage {
    let process = ProtoMessage::default()
        .number(PROCESS_PID, pid.into())
        .bytes(PROCESS_NAME, name.as_bytes());
    descriptor(
        ProtoMessage::default()
            .number(DESCRIPTOR_UUID, PROCESS_TRACKS + u64::from(pid))
            .message(DESCRIPTOR_PROCESS, process),
    )
}

fn thread_track(party: CallParty, name: &str) -> ProtoMessage {
    let thread = ProtoMessage::default()
        .number(THREAD_PID, party.pid.into())
        .number(THREAD_TID, party.tid.into())
        .bytes(THREAD_NAME, name.as_bytes());
    descriptor(
        ProtoMessage::default()
            .number(DESCRIPTOR_UUID, track_of(party))
            .number(DESCRIPTOR_PARENT_UUID, PROCESS_TRACKS + u64::from(party.pid))
            .message(DESCRIPTOR_THREAD, thread),
    )
}

fn descriptor(descriptor: ProtoMessage) -> ProtoMessage {
    ProtoMessage::default()
        .number(PACKET_SEQUENCE_ID, SEQUENCE)
        .message(PACKET_TRACK_DESCRIPTOR, descriptor)
}

fn track_of(party: CallParty) -> u64 {
    u64::from(party.tid)
}

/// Puts the beginnings and ends of the slices of one track in their order.
fn put_track(
    log: &CallLog,
    party: CallParty,
    mut slices: Vec<TrackSlice<'_>>,
    packets: &mut Vec<(u64, ProtoMessage)>,
) {
    let end = || {
        let event = ProtoMessage::default().number(EVENT_TYPE, SLICE_END);
        event.number(EVENT_TRACK_UUID, track_of(party))
    };
    // Of those that begin together the longest is around the others.
    slices.sort_by_key(|slice| (slice.begin_ns, u64::MAX - slice.end_ns, slice.call.sent.id));
    let mut around: Vec<u64> = Vec::new();
    for slice in slices {
        while let Some(end_ns) = around.pop_if(|end_ns| *end_ns <= slice.begin_ns) {
            packets.push((end_ns, end()));
        }
        packets.push((slice.begin_ns, beginning(log, &slice)));
        around.push(around.last().map_or(slice.end_ns, |end_ns| slice.end_ns.min(*end_ns)));
    }
    while let Some(end_ns) = around.pop() {
        packets.push((end_ns, end()));
    }
}

fn beginning(log: &CallLog, slice: &TrackSlice<'_>) -> ProtoMessage {
    let call = slice.call;
    let category = if slice.end == SliceEnd::Caller { "call" } else { "service" };
    let number = |name: &str, value: u64| {
        ProtoMessage::default()
            .bytes(ANNOTATION_NAME, name.as_bytes())
            .number(ANNOTATION_UINT, value)
    };
    let text = |name: &str, value: &str| {
        ProtoMessage::default()
            .bytes(ANNOTATION_NAME, name.as_bytes())
            .bytes(ANNOTATION_STRING, value.as_bytes())
    };
    let name = log.name(call);
    let event = ProtoMessage::default()
        .number(EVENT_TYPE, SLICE_BEGIN)
        .number(EVENT_TRACK_UUID, track_of(slice.party))
        .bytes(EVENT_CATEGORY, category.as_bytes())
        .bytes(EVENT_NAME, name.as_bytes())
        .message(EVENT_ANNOTATION, number("id", call.sent.id.into()))
        .message(EVENT_ANNOTATION, number("bytes", call.sent.data_bytes))
        .message(EVENT_ANNOTATION, text("device", &call.sent.device))
        .message(EVENT_ANNOTATION, text("status", &status_words(call.status)));
    if slice.has_flow() { event.fixed(EVENT_FLOW_ID, slice.flow()) } else { event }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;
    use alloc::vec;

    use super::super::tests::story;
    use super::*;
    use crate::bytes::ByteReader;

    /// The fields of a message: numbers, and bytes.
    fn fields(bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
        let (mut reader, mut fields) = (ByteReader(bytes), Vec::new());
        while !reader.0.is_empty() {
            let key = reader.number().unwrap();
            let (number, bytes) = match key & 7 {
                0 => (reader.number().unwrap(), &[][..]),
                1 => {
                    let (fixed, rest) = reader.0.split_at(8);
                    reader.0 = rest;
                    (u64::from_le_bytes(fixed.try_into().unwrap()), &[][..])
                }
                _ => (0, reader.bytes().unwrap()),
            };
            fields.push((key >> 3, number, bytes));
        }
        fields
    }

    fn field<'a>(message: &[(u64, u64, &'a [u8])], wanted: u32) -> Option<(u64, &'a [u8])> {
        let found = message.iter().find(|(field, ..)| *field == u64::from(wanted));
        found.map(|(_, number, bytes)| (*number, *bytes))
    }

    #[test]
    fn slices_lie_within_one_another_and_flows_have_two_ends() {
        let trace = perfetto(&story());
        let (mut depths, mut flows) = (BTreeMap::new(), BTreeMap::new());
        let (mut last_ns, mut tracks, mut deepest) = (0, 0, 0);
        for (_, _, packet) in fields(&trace) {
            let packet = fields(packet);
            let Some((_, event)) = field(&packet, PACKET_TRACK_EVENT) else {
                tracks += usize::from(field(&packet, PACKET_TRACK_DESCRIPTOR).is_some());
                continue;
            };
            let (at_ns, _) = field(&packet, PACKET_TIMESTAMP).unwrap();
            assert!(at_ns >= last_ns, "packets are in the order of time");
            last_ns = at_ns;
            let event = fields(event);
            let (track, _) = field(&event, EVENT_TRACK_UUID).unwrap();
            let depth: &mut i32 = depths.entry(track).or_default();
            match field(&event, EVENT_TYPE).unwrap().0 {
                SLICE_BEGIN => *depth += 1,
                SLICE_END => *depth -= 1,
                other => panic!("an event of type {other}"),
            }
            assert!(*depth >= 0);
            deepest = deepest.max(*depth);
            if let Some((flow, _)) = field(&event, EVENT_FLOW_ID) {
                *flows.entry(flow).or_insert(0) += 1;
            }
        }
        assert!(depths.values().all(|depth| *depth == 0), "{depths:?}");
        assert_eq!(flows.into_values().collect::<Vec<_>>(), vec![2; 3]);
        assert_eq!((tracks, deepest), (5, 2));
    }
}
