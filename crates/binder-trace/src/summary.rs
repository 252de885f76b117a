//! How many calls there were, how long they took and how many failed: by method, and by pair of processes.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::calls::{CallTracker, TracedCall};
use crate::histogram::LatencyHistogram;
use crate::methods::MethodNames;
use crate::record::SendKind;

/// Rows that are kept of each table: more methods or pairs than people read. All further ones share a row.
const KEPT_ROWS: usize = 4096;

/// Calls of one kind.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SummaryRow {
    /// From send to end, of calls that have succeeded.
    pub took: LatencyHistogram,
    /// Calls that have failed.
    pub errors: u64,
    /// Bytes that were sent and answered.
    pub bytes: u64,
}

impl SummaryRow {
    /// How many there were.
    pub fn calls(&self) -> u64 {
        self.took.count() + self.errors
    }

    fn add(&mut self, call: &TracedCall) {
        let reply_bytes = call.reply.as_ref().map_or(0, |reply| reply.sent.data_bytes);
        self.bytes = self.bytes.saturating_add(call.sent.data_bytes).saturating_add(reply_bytes);
        match call.total_ns() {
            Some(took_ns) if !call.status.is_error() => self.took.add(took_ns),
            _ => self.errors += 1,
        }
    }
}

/// Calls that have ended.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    methods: BTreeMap<String, SummaryRow>,
    pairs: BTreeMap<String, SummaryRow>,
    /// Calls, and one-ways.
    counts: [u64; 2],
    /// Records that the driver has dropped.
    pub dropped: u64,
}

impl Summary {
    /// Counts a call that has ended.
    pub fn add(&mut self, call: &TracedCall, tracker: &CallTracker, methods: &MethodNames) {
        self.counts[usize::from(call.sent.kind == SendKind::Oneway)] += 1;
        row(&mut self.methods, methods.naming(&call.sent).to_string()).add(call);
        let name = |pid: u32| {
            let name = tracker.name(pid).unwrap_or("-");
            alloc::format!("{pid} {name}")
        };
        let to = match call.receiver.pid {
            0 => "nobody".into(),
            pid => name(pid),
        };
        row(&mut self.pairs, alloc::format!("{} -> {to}", name(call.sent.from_pid))).add(call);
    }

    /// Calls that have ended, without one-ways.
    pub fn calls(&self) -> u64 {
        self.counts[0]
    }

    /// One-ways that were received, or were not and will not be.
    pub fn oneways(&self) -> u64 {
        self.counts[1]
    }

    /// Rows by interface and method, those with the most time first.
    pub fn by_method(&self) -> Vec<(&str, &SummaryRow)> {
        sorted(&self.methods)
    }

    /// By the pair of processes, sorted alike.
    pub fn by_pair(&self) -> Vec<(&str, &SummaryRow)> {
        sorted(&self.pairs)
    }
}

fn row(rows: &mut BTreeMap<String, SummaryRow>, key: String) -> &mut SummaryRow {
    let is_known = rows.len() < KEPT_ROWS || rows.contains_key(&key);
    rows.entry(if is_known { key } else { "others".into() }).or_default()
}

fn sorted(rows: &BTreeMap<String, SummaryRow>) -> Vec<(&str, &SummaryRow)> {
    let mut sorted: Vec<_> = rows.iter().map(|(key, row)| (key.as_str(), row)).collect();
    sorted.sort_by_key(|(_, row)| core::cmp::Reverse(row.took.total_ns()));
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::CallStatus;
    use crate::record::tests::call;
    use crate::record::{SentRecord, TraceRecord};

    #[test]
    fn calls_are_counted_by_method_and_by_pair() {
        let mut tracker = CallTracker::default();
        tracker.take(TraceRecord::Named { pid: 10, name: "client".into() }, |_, _| ());
        let (mut summary, methods) = (Summary::default(), MethodNames::default());
        for (id, code, took_ns, status) in [
            (1, 1, 1000, CallStatus::Done),
            (2, 1, 3000, CallStatus::Done),
            (3, 2, 9000, CallStatus::Done),
            (4, 2, 9000, CallStatus::Failed { code: 1 }),
        ] {
            tracker.take(TraceRecord::Sent(SentRecord { code, ..call(id, 0) }), |_, _| ());
            let mut ended = tracker.get(id).unwrap().clone();
            (ended.ended_ns, ended.status) = (Some(took_ns), status);
            summary.add(&ended, &tracker, &methods);
        }
        let told = |rows: Vec<(&str, &SummaryRow)>| -> Vec<(String, u64, u64, u64)> {
            let tell = |(key, row): (&str, &SummaryRow)| {
                (key.into(), row.calls(), row.errors, row.took.mean_ns())
            };
            rows.into_iter().map(tell).collect()
        };
        assert_eq!(
            told(summary.by_method()),
            [
                ("demo.IGreeter code 2".into(), 2, 1, 9000),
                ("demo.IGreeter code 1".into(), 2, 0, 2000)
            ]
        );
        let pairs = told(summary.by_pair());
        assert_eq!(pairs[0].0, "10 client -> 20 -");
        assert_eq!((pairs.len(), pairs[0].1, summary.calls(), summary.oneways()), (1, 4, 4, 0));
    }
}
