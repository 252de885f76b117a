//! Traces in formats of other programs.

mod chrome;
mod csv;
mod pcapng;
mod perfetto;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::calls::{CallParty, CallTracker, TraceItem, TracedCall};
use crate::methods::MethodNames;
use crate::record::{SendKind, TraceRecord};

pub use chrome::chrome;
pub use csv::csv;
pub use pcapng::{DISSECTOR, pcapng};
pub use perfetto::perfetto;

/// The calls of a whole trace, and the names of processes and methods.
#[derive(Debug, Default)]
pub struct CallLog {
    calls: Vec<TracedCall>,
    tracker: CallTracker,
    methods: MethodNames,
    dropped: u64,
}

impl CallLog {
    /// A trace without calls so far, and names for the methods of those to come.
    pub fn new(methods: MethodNames) -> Self {
        Self { methods, ..Self::default() }
    }

    /// Takes the next record.
    pub fn take(&mut self, record: TraceRecord) {
        if let TraceRecord::Dropped { records } = record {
            // Counts of a file may be any.
            self.dropped = self.dropped.saturating_add(records);
        }
        let Self { calls, tracker, .. } = self;
        tracker.take(record, |_, item| {
            if let TraceItem::Ended(call) = item {
                calls.push(*call);
            }
        });
    }

    /// After the last record: puts the calls in the order in which they were sent.
    pub fn finish(&mut self) {
        self.calls.extend(self.tracker.take_pending());
        self.calls.sort_by_key(|call| (call.sent.at_ns, call.sent.id));
    }

    /// How many calls and one-ways there are.
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// How many records are missing, for the reader of the driver was too slow.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn name(&self, call: &TracedCall) -> String {
        self.methods.naming(&call.sent).to_string()
    }

    /// The name of a process, or its number.
    fn process_name(&self, pid: u32) -> String {
        self.tracker.name(pid).map_or_else(|| format!("process {pid}"), String::from)
    }

    /// All threads that send or receive.
    fn parties(&self) -> Vec<CallParty> {
        let both = |call: &TracedCall| [call.sender(), call.receiver];
        let mut parties: Vec<_> = self.calls.iter().flat_map(both).collect();
        parties.retain(|party| party.pid != 0 && party.tid != 0);
        parties.sort_unstable();
        parties.dedup();
        parties
    }

    /// The time that threads spend in each call: the caller from send to end, the server from receipt to reply. A one-way
    /// has two moments.
    fn slices(&self) -> impl Iterator<Item = TrackSlice<'_>> {
        self.calls.iter().flat_map(|call| {
            let unix_ns = |at_ns: u64| self.tracker.unix_ns(at_ns);
            // Times of a file may be any.
            let begin_ns = unix_ns(call.sent.at_ns);
            let is_call = call.sent.kind == SendKind::Call;
            let end_ns = call.ended_ns.filter(|_| is_call).map_or(begin_ns, unix_ns).max(begin_ns);
            let sent =
                TrackSlice { call, party: call.sender(), end: SliceEnd::Caller, begin_ns, end_ns };
            let received = call.received_ns.map(|received_ns| {
                let begin_ns = unix_ns(received_ns);
                let replied_ns = call.reply.as_ref().map(|reply| reply.sent.at_ns);
                let end_ns = replied_ns.map_or(begin_ns, unix_ns).max(begin_ns);
                TrackSlice { call, party: call.receiver, end: SliceEnd::Server, begin_ns, end_ns }
            });
            [Some(sent), received].into_iter().flatten()
        })
    }
}

/// Which end of a call a slice shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SliceEnd {
    Caller,
    Server,
}

/// The time that a thread spends in a call, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug)]
struct TrackSlice<'a> {
    call: &'a TracedCall,
    party: CallParty,
    end: SliceEnd,
    begin_ns: u64,
    end_ns: u64,
}

impl TrackSlice<'_> {
    /// The number of the arrow from the caller's slice to the server's; each call has one.
    fn flow(&self) -> u64 {
        u64::from(self.call.sent.id) + 1
    }

    /// Whether an arrow begins or ends here: there are two slices then.
    fn has_flow(&self) -> bool {
        self.call.received_ns.is_some()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::record::tests::call;
    use crate::record::{SendStatus, SentRecord};

    /// Two calls, one within the other, a one-way, and a call that fails.
    pub(super) fn story() -> CallLog {
        let reply = |id, within, at_ns, from: u32, to: u32| {
            TraceRecord::Sent(SentRecord {
                kind: SendKind::Reply,
                within,
                from_pid: from,
                from_tid: from + 1,
                to_pid: to,
                to_tid: to + 1,
                ..call(id, at_ns)
            })
        };
        let nested = SentRecord {
            within: 1,
            from_pid: 20,
            from_tid: 21,
            to_pid: 10,
            to_tid: 11,
            interface: Some("demo.IPrompter, \"quoted\"".into()),
            data: vec![1, 2, 3],
            ..call(2, 3_000)
        };
        let refused = SendStatus::Refused { code: binder_uapi::BR_FAILED_REPLY, errno: 22 };
        let records = vec![
            TraceRecord::Clock { at_ns: 0, unix_ns: 1_000_000_000_000 },
            TraceRecord::Named { pid: 10, name: "client".into() },
            TraceRecord::Sent(call(1, 1_000)),
            TraceRecord::Received { at_ns: 2_000, id: 1, pid: 20, tid: 21 },
            TraceRecord::Sent(nested),
            TraceRecord::Received { at_ns: 3_000, id: 2, pid: 10, tid: 11 },
            reply(3, 2, 4_000, 10, 20),
            TraceRecord::Received { at_ns: 4_000, id: 3, pid: 20, tid: 21 },
            reply(4, 1, 5_000, 20, 10),
            TraceRecord::Received { at_ns: 6_000, id: 4, pid: 10, tid: 11 },
            TraceRecord::Sent(SentRecord { kind: SendKind::Oneway, ..call(5, 7_000) }),
            TraceRecord::Received { at_ns: 8_000, id: 5, pid: 20, tid: 22 },
            TraceRecord::Sent(SentRecord { to_pid: 0, status: refused, ..call(6, 9_000) }),
            TraceRecord::Sent(call(7, 9_500)),
        ];
        let mut methods = MethodNames::default();
        methods.add("demo.IGreeter", 1, "hello");
        log_of(records, methods)
    }

    pub(super) fn log_of(
        records: impl IntoIterator<Item = TraceRecord>,
        methods: MethodNames,
    ) -> CallLog {
        let mut log = CallLog::new(methods);
        records.into_iter().for_each(|record| log.take(record));
        log.finish();
        log
    }

    #[test]
    fn a_log_has_all_calls_in_the_order_in_which_they_were_sent() {
        let log = story();
        let ids: Vec<_> = log.calls.iter().map(|call| call.sent.id).collect();
        assert_eq!((ids, log.len()), (vec![1, 2, 5, 6, 7], 5));
        let slices: Vec<_> =
            log.slices().map(|slice| (slice.end_ns - slice.begin_ns) / 1000).collect();
        assert_eq!(slices, [5, 3, 1, 1, 0, 0, 0, 0]);
    }

    #[test]
    fn dropped_records_are_counted_up_to_the_largest_number() {
        let dropped = TraceRecord::Dropped { records: u64::MAX };
        let log = log_of([dropped.clone(), dropped], MethodNames::default());
        assert_eq!((log.dropped(), log.is_empty()), (u64::MAX, true));
    }
}
