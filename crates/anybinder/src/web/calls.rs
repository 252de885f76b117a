//! Calls that have ended since the last look: how long those of each interface took, and the longest of them.
//!
//! However many there are, and whatever clients call their interfaces, no more is kept than a page can show.

use std::collections::BTreeMap;

use binder_trace::{
    CallTracker, MethodNames, SendKind, TraceItem, TraceRecord, TracedCall, to_json,
};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::failure::Failure;
use crate::trace::TraceSink;

/// Calls that are told one by one in a look.
const CALLS_MAX: usize = 400;
/// Interfaces that are told apart in a look.
const INTERFACES_MAX: usize = 64;
/// The row of all further interfaces.
const OTHERS: &str = "others";
/// The row of calls whose data names no interface.
const UNKNOWN: &str = "unknown";

/// Classes of latency: shorter than a microsecond, than two, than four, and so on; the last has all longer ones.
const CLASSES: usize = 26;

/// Calls that have ended, as the page gets them.
#[derive(Serialize)]
pub(super) struct CallsView {
    /// Why there is no trace, if so.
    failure: Option<String>,
    /// The longest, as `trace --json` shows them.
    ended: Vec<Box<RawValue>>,
    /// How many more there were.
    omitted: u64,
    /// Records that the driver has dropped, because this program was too slow.
    dropped: u64,
    latencies: Vec<LatencyRow>,
}

/// The calls of an interface, counted by how long they took.
#[derive(Serialize)]
struct LatencyRow {
    interface: String,
    errors: u32,
    counts: [u32; CLASSES],
}

/// The calls of a trace since the last look.
#[derive(Default)]
pub(super) struct RecentCalls {
    tracker: CallTracker,
    seen: RecentCounts,
}

/// Calls and counts that begin anew after each look.
#[derive(Default)]
struct RecentCounts {
    /// By how long they took, and their debug ids.
    longest: BTreeMap<(u64, u32), String>,
    omitted: u64,
    dropped: u64,
    latencies: BTreeMap<String, (u32, [u32; CLASSES])>,
}

impl RecentCalls {
    /// Takes the calls since the last look, with the reason why there is no trace, if so.
    pub(super) fn take(&mut self, failure: Option<&Failure>) -> CallsView {
        let seen = std::mem::take(&mut self.seen);
        let row = |(interface, (errors, counts))| LatencyRow { interface, errors, counts };
        CallsView {
            failure: failure.map(ToString::to_string),
            ended: seen
                .longest
                .into_values()
                .filter_map(|it| RawValue::from_string(it).ok())
                .collect(),
            omitted: seen.omitted,
            dropped: seen.dropped,
            latencies: seen.latencies.into_iter().map(row).collect(),
        }
    }
}

impl TraceSink for RecentCalls {
    fn take(&mut self, record: TraceRecord) -> Result<(), Failure> {
        if let TraceRecord::Dropped { records } = record {
            self.seen.dropped = self.seen.dropped.saturating_add(records);
        }
        let seen = &mut self.seen;
        self.tracker.take(record, |tracker, item| match item {
            TraceItem::Ended(call) => seen.add(&call, tracker),
            TraceItem::Began(_) | TraceItem::Note(_) => {}
        });
        Ok(())
    }

    fn settle(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

impl RecentCounts {
    fn add(&mut self, call: &TracedCall, tracker: &CallTracker) {
        let took_ns = call.total_ns().unwrap_or_default();
        if call.sent.kind == SendKind::Call {
            self.count(call, took_ns);
        }
        if self.longest.len() == CALLS_MAX {
            self.omitted += 1;
            let shortest = self.longest.first_key_value();
            if shortest.is_some_and(|(key, _)| *key >= (took_ns, call.sent.id)) {
                return;
            }
            self.longest.pop_first();
        }
        let line = to_json(call, tracker, &MethodNames::default(), 0);
        self.longest.insert((took_ns, call.sent.id), line);
    }

    fn count(&mut self, call: &TracedCall, took_ns: u64) {
        let interface = call.sent.interface.as_deref().unwrap_or(UNKNOWN);
        let is_told =
            self.latencies.contains_key(interface) || self.latencies.len() < INTERFACES_MAX;
        let interface = if is_told { interface } else { OTHERS };
        let (errors, counts) = self.latencies.entry(interface.to_owned()).or_default();
        *errors += u32::from(call.status.is_error());
        counts[class_of(took_ns)] += 1;
    }
}

/// The class of a latency.
fn class_of(took_ns: u64) -> usize {
    let us = took_ns / 1000;
    let class = us.checked_ilog2().map_or(0, |log| log + 1);
    usize::try_from(class).unwrap_or(usize::MAX).min(CLASSES - 1)
}

#[cfg(test)]
mod tests {
    use binder_trace::{SendStatus, SentRecord};

    use super::*;

    fn sent(id: u32, interface: String) -> TraceRecord {
        TraceRecord::Sent(SentRecord {
            at_ns: 0,
            device: "binder".into(),
            id,
            kind: SendKind::Call,
            from_pid: 1,
            from_tid: 1,
            to_pid: 2,
            to_tid: 2,
            node: 1,
            handle: 1,
            code: 1,
            flags: 0,
            data_bytes: 0,
            offsets_bytes: 0,
            within: 0,
            status: SendStatus::Accepted,
            interface: Some(interface),
            data: Vec::new(),
        })
    }

    fn seen_after(calls: u32, interface: impl Fn(u32) -> String) -> CallsView {
        let mut seen = RecentCalls::default();
        for id in 1..=calls {
            TraceSink::take(&mut seen, sent(id, interface(id))).unwrap();
            let at_ns = u64::from(id) * 1000;
            let end = TraceRecord::Unanswered { at_ns, id, pid: 1, tid: 1, code: 1 };
            TraceSink::take(&mut seen, end).unwrap();
        }
        RecentCalls::take(&mut seen, None)
    }

    #[test]
    fn of_too_many_calls_the_longest_are_told() {
        let view = seen_after(1000, |_| "demo.IOne".into());
        assert_eq!((view.ended.len(), view.omitted), (CALLS_MAX, 600));
        assert!(view.ended[0].get().contains("\"id\":601,"), "{}", view.ended[0]);
        let [row] = &view.latencies[..] else { panic!("one interface") };
        assert_eq!((row.errors, row.counts.iter().sum::<u32>()), (1000, 1000));
        assert_eq!(row.counts[..4], [0, 1, 2, 4]);
    }

    #[test]
    fn of_too_many_interfaces_the_rest_are_one() {
        let view = seen_after(1000, |id| format!("demo.I{id}"));
        assert_eq!(view.latencies.len(), INTERFACES_MAX + 1);
        let others = view.latencies.iter().find(|row| row.interface == OTHERS).unwrap();
        let count = u32::try_from(1000 - INTERFACES_MAX).unwrap();
        assert_eq!(others.counts.iter().sum::<u32>(), count);
    }

    #[test]
    fn classes_double() {
        let classes = [0, 999, 1000, 1999, 2000, 4000, u64::MAX].map(class_of);
        assert_eq!(classes, [0, 0, 1, 1, 2, 3, CLASSES - 1]);
    }
}
