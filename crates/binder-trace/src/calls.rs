//! Calls, put together from the records of their events.
//!
//! A call is known from its send to its end: that its reply was read, or that there will be none. As many are kept as
//! can be under way at a time; of more, the oldest are given up, and counted.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::record::{CarriedObject, SendKind, SendStatus, SentRecord, TraceRecord};

/// Calls that are kept at a time.
const KEPT_CALLS: usize = 64 << 10;
/// Objects that are kept for sends whose records have not come yet.
const KEPT_OBJECTS: usize = 64 << 10;
/// Nesting that is shown.
const DEPTH_MAX: usize = 32;

/// A process and one of its threads; 0 is none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct CallParty {
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
}

/// Whether a call is under way, or how it has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallStatus {
    /// It is under way.
    Pending,
    /// Its reply was read, or, of a one-way, it was.
    Done,
    /// It was refused.
    Refused {
        /// The `BR_` code that its sender reads.
        code: u32,
        /// The cause, as a positive number; 0 if there is none.
        errno: u32,
    },
    /// It was accepted, and there will be no reply.
    Failed {
        /// The `BR_` code that its sender reads instead.
        code: u32,
    },
    /// It could not be delivered, or its reply could not.
    Undelivered {
        /// The cause, as a positive number.
        errno: u32,
    },
}

impl CallStatus {
    /// Whether it has failed.
    pub fn is_error(self) -> bool {
        match self {
            Self::Pending | Self::Done => false,
            Self::Refused { .. } | Self::Failed { .. } | Self::Undelivered { .. } => true,
        }
    }
}

/// The answer to a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TracedReply {
    /// The reply as it was sent.
    pub sent: SentRecord,
    /// The objects and files in its data.
    pub objects: Vec<CarriedObject>,
}

/// A call or one-way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TracedCall {
    /// The call as it was sent.
    pub sent: SentRecord,
    /// The objects and files in its data.
    pub objects: Vec<CarriedObject>,
    /// How many calls it was made within, as far as these are known.
    pub depth: usize,
    /// The thread that has received it; before that, the process that is to.
    pub receiver: CallParty,
    /// When it was received.
    pub received_ns: Option<u64>,
    /// Its answer.
    pub reply: Option<TracedReply>,
    /// When it came to its end.
    pub ended_ns: Option<u64>,
    /// Whether it is under way, or how it has ended.
    pub status: CallStatus,
}

impl TracedCall {
    /// The thread that has sent it.
    pub fn sender(&self) -> CallParty {
        CallParty { pid: self.sent.from_pid, tid: self.sent.from_tid }
    }

    /// For how long it has waited to be received.
    pub fn queue_ns(&self) -> Option<u64> {
        Some(self.received_ns?.saturating_sub(self.sent.at_ns))
    }

    /// From its receipt to its answer.
    pub fn service_ns(&self) -> Option<u64> {
        let replied_ns = self.reply.as_ref()?.sent.at_ns;
        Some(replied_ns.saturating_sub(self.received_ns?))
    }

    /// From its answer until its sender has read that.
    pub fn return_ns(&self) -> Option<u64> {
        let replied_ns = self.reply.as_ref()?.sent.at_ns;
        Some(self.ended_ns?.saturating_sub(replied_ns))
    }

    /// From its send to its end.
    pub fn total_ns(&self) -> Option<u64> {
        Some(self.ended_ns?.saturating_sub(self.sent.at_ns))
    }
}

/// What a record adds to the calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TraceItem {
    /// A call or one-way was sent, and is under way: [`CallTracker::get`] has it.
    Began(u32),
    /// One has come to its end.
    Ended(Box<TracedCall>),
    /// Something else happened.
    Note(TraceRecord),
}

/// Calls under way.
#[derive(Debug, Default)]
pub struct CallTracker {
    calls: BTreeMap<u32, TracedCall>,
    /// The calls that replies under way answer.
    answered: BTreeMap<u32, u32>,
    /// Objects and files of sends whose records have not come yet.
    carried: BTreeMap<u32, Vec<CarriedObject>>,
    carried_count: usize,
    names: BTreeMap<u32, String>,
    clock: Option<(u64, u64)>,
    given_up: u64,
}

impl CallTracker {
    /// Takes a record, and hands what it adds to `tell`: a send that is refused begins and ends at once.
    pub fn take(&mut self, record: TraceRecord, mut tell: impl FnMut(&Self, TraceItem)) {
        match record {
            TraceRecord::Clock { at_ns, unix_ns } => self.clock = Some((at_ns, unix_ns)),
            TraceRecord::Named { pid, name } => {
                self.names.insert(pid, name);
            }
            TraceRecord::Carried { id, object, .. } => {
                if self.carried_count == KEPT_OBJECTS {
                    let oldest = self.carried.pop_first();
                    self.carried_count -= oldest.map_or(0, |(_, objects)| objects.len());
                }
                self.carried_count += 1;
                self.carried.entry(id).or_default().push(object);
            }
            TraceRecord::Sent(sent) if sent.kind == SendKind::Reply => {
                self.take_reply(sent, &mut tell);
            }
            TraceRecord::Sent(sent) => self.take_send(sent, &mut tell),
            TraceRecord::Received { at_ns, id, pid, tid } => {
                self.take_receipt(at_ns, id, CallParty { pid, tid }, &mut tell);
            }
            TraceRecord::Undelivered { at_ns, id, errno } => {
                let call = self.answered.remove(&id).unwrap_or(id);
                let is_known = self.end(call, at_ns, CallStatus::Undelivered { errno }, &mut tell);
                // It was told as received, which it then could not be.
                if !is_known {
                    tell(self, TraceItem::Note(record));
                }
            }
            TraceRecord::Unanswered { at_ns, id, code, .. } => {
                self.end(id, at_ns, CallStatus::Failed { code }, &mut tell);
            }
            TraceRecord::Opened { .. }
            | TraceRecord::Closed { .. }
            | TraceRecord::Died { .. }
            | TraceRecord::Frozen { .. }
            | TraceRecord::Thawed { .. } => tell(self, TraceItem::Note(record)),
            TraceRecord::Dropped { .. } => {
                // The records of their sends may be among those that were dropped.
                self.carried.clear();
                self.carried_count = 0;
                tell(self, TraceItem::Note(record));
            }
        }
    }

    fn take_send(&mut self, sent: SentRecord, tell: &mut impl FnMut(&Self, TraceItem)) {
        let (id, at_ns, status) = (sent.id, sent.at_ns, sent.status);
        let outer = self.calls.get(&sent.within);
        let depth = outer.map_or(0, |outer| (outer.depth + 1).min(DEPTH_MAX));
        let objects = self.take_objects(id);
        let receiver = CallParty { pid: sent.to_pid, tid: sent.to_tid };
        let status_now = CallStatus::Pending;
        let call = TracedCall {
            sent,
            objects,
            depth,
            receiver,
            received_ns: None,
            reply: None,
            ended_ns: None,
            status: status_now,
        };
        if self.calls.len() == KEPT_CALLS {
            self.calls.pop_first();
            self.given_up += 1;
        }
        self.calls.insert(id, call);
        tell(self, TraceItem::Began(id));
        if let SendStatus::Refused { code, errno } = status {
            self.end(id, at_ns, CallStatus::Refused { code, errno }, tell);
        }
    }

    fn take_reply(&mut self, sent: SentRecord, tell: &mut impl FnMut(&Self, TraceItem)) {
        let objects = self.take_objects(sent.id);
        let (id, call, at_ns, status) = (sent.id, sent.within, sent.at_ns, sent.status);
        let Some(found) = self.calls.get_mut(&call) else { return };
        found.reply = Some(TracedReply { sent, objects });
        match status {
            SendStatus::Accepted => {
                self.answered.insert(id, call);
            }
            // The record of its caller, if there is one, comes next.
            SendStatus::Refused { code, errno } => {
                found.status = CallStatus::Refused { code, errno };
                self.end(call, at_ns, CallStatus::Refused { code, errno }, tell);
            }
        }
    }

    fn take_receipt(
        &mut self,
        at_ns: u64,
        id: u32,
        by: CallParty,
        tell: &mut impl FnMut(&Self, TraceItem),
    ) {
        if let Some(call) = self.answered.remove(&id) {
            self.end(call, at_ns, CallStatus::Done, tell);
            return;
        }
        let Some(call) = self.calls.get_mut(&id) else { return };
        (call.received_ns, call.receiver) = (Some(at_ns), by);
        if call.sent.kind == SendKind::Oneway {
            self.end(id, at_ns, CallStatus::Done, tell);
        }
    }

    /// Ends a call. Says whether it is known.
    fn end(
        &mut self,
        id: u32,
        at_ns: u64,
        status: CallStatus,
        tell: &mut impl FnMut(&Self, TraceItem),
    ) -> bool {
        let Some(mut call) = self.calls.remove(&id) else { return false };
        if let Some(reply) = &call.reply {
            self.answered.remove(&reply.sent.id);
        }
        (call.ended_ns, call.status) = (Some(at_ns), status);
        tell(self, TraceItem::Ended(call.into()));
        true
    }

    fn take_objects(&mut self, id: u32) -> Vec<CarriedObject> {
        let objects = self.carried.remove(&id).unwrap_or_default();
        self.carried_count -= objects.len();
        objects
    }

    /// A call under way, by its debug id.
    pub fn get(&self, id: u32) -> Option<&TracedCall> {
        self.calls.get(&id)
    }

    /// Takes all calls that are still under way, the oldest first.
    pub fn take_pending(&mut self) -> impl Iterator<Item = TracedCall> {
        self.answered.clear();
        core::mem::take(&mut self.calls).into_values()
    }

    /// The name of a process, as far as it was told.
    pub fn name(&self, pid: u32) -> Option<&str> {
        self.names.get(&pid).map(String::as_str)
    }

    /// A time of the driver's clock as nanoseconds since 1970.
    pub fn unix_ns(&self, at_ns: u64) -> u64 {
        self.clock.map_or(at_ns, |(base_ns, unix_ns)| {
            unix_ns.saturating_add(at_ns).saturating_sub(base_ns)
        })
    }

    /// How many calls were given up, for too many were under way.
    pub fn given_up(&self) -> u64 {
        self.given_up
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::record::tests::call;

    fn run(records: Vec<TraceRecord>) -> (CallTracker, Vec<TraceItem>) {
        let (mut tracker, mut items) = (CallTracker::default(), Vec::new());
        for record in records {
            tracker.take(record, |_, item| items.push(item));
        }
        (tracker, items)
    }

    fn reply(id: u32, within: u32, at_ns: u64) -> TraceRecord {
        let (from_pid, from_tid, to_pid, to_tid) = (20, 21, 10, 11);
        let base = call(id, at_ns);
        let kind = SendKind::Reply;
        TraceRecord::Sent(SentRecord { kind, within, from_pid, from_tid, to_pid, to_tid, ..base })
    }

    #[test]
    fn a_call_is_as_long_as_its_parts() {
        let (tracker, items) = run(vec![
            TraceRecord::Sent(call(1, 100)),
            TraceRecord::Received { at_ns: 110, id: 1, pid: 20, tid: 21 },
            reply(2, 1, 150),
            TraceRecord::Received { at_ns: 153, id: 2, pid: 10, tid: 11 },
        ]);
        assert_eq!(items[0], TraceItem::Began(1));
        let TraceItem::Ended(ended) = &items[1] else { panic!("{items:?}") };
        let parts = [ended.queue_ns(), ended.service_ns(), ended.return_ns(), ended.total_ns()];
        assert_eq!(parts, [10, 40, 3, 53].map(Some));
        assert_eq!(
            (ended.status, ended.receiver),
            (CallStatus::Done, CallParty { pid: 20, tid: 21 })
        );
        assert!(tracker.calls.is_empty() && tracker.answered.is_empty());
    }

    #[test]
    fn what_is_called_while_a_call_is_served_is_nested_in_it() {
        let nested = SentRecord { within: 1, kind: SendKind::Oneway, ..call(2, 120) };
        let (tracker, items) = run(vec![
            TraceRecord::Sent(call(1, 100)),
            TraceRecord::Carried { at_ns: 1, id: 2, object: CarriedObject::File { fd: 3 } },
            TraceRecord::Sent(nested),
            TraceRecord::Received { at_ns: 125, id: 2, pid: 20, tid: 9 },
        ]);
        let TraceItem::Ended(oneway) = &items[2] else { panic!("{items:?}") };
        assert_eq!((oneway.depth, oneway.queue_ns()), (1, Some(5)));
        assert_eq!(oneway.objects, [CarriedObject::File { fd: 3 }]);
        assert_eq!(tracker.get(1).unwrap().depth, 0);
    }

    #[test]
    fn a_call_fails_in_each_way_that_there_is() {
        let refused = SendStatus::Refused { code: 1, errno: 22 };
        let bad_reply = match reply(9, 4, 5) {
            TraceRecord::Sent(sent) => SentRecord { status: refused, ..sent },
            other => panic!("{other:?}"),
        };
        let (_, items) = run(vec![
            TraceRecord::Sent(SentRecord { status: refused, ..call(1, 1) }),
            TraceRecord::Sent(call(2, 1)),
            TraceRecord::Unanswered { at_ns: 3, id: 2, pid: 10, tid: 11, code: 7 },
            TraceRecord::Sent(call(3, 1)),
            TraceRecord::Undelivered { at_ns: 3, id: 3, errno: 14 },
            TraceRecord::Unanswered { at_ns: 3, id: 3, pid: 10, tid: 11, code: 7 },
            TraceRecord::Sent(call(4, 1)),
            TraceRecord::Sent(bad_reply),
            TraceRecord::Unanswered { at_ns: 5, id: 4, pid: 10, tid: 11, code: 1 },
        ]);
        let ends = items.iter().filter_map(|item| match item {
            TraceItem::Ended(call) => Some(call.status),
            TraceItem::Began(_) | TraceItem::Note(_) => None,
        });
        let expected = [
            CallStatus::Refused { code: 1, errno: 22 },
            CallStatus::Failed { code: 7 },
            CallStatus::Undelivered { errno: 14 },
            CallStatus::Refused { code: 1, errno: 22 },
        ];
        assert_eq!(ends.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_was_received_and_then_was_not_is_told_again() {
        let lost = TraceRecord::Undelivered { at_ns: 7, id: 2, errno: 14 };
        let (_, items) = run(vec![
            TraceRecord::Sent(call(1, 1)),
            reply(2, 1, 5),
            TraceRecord::Received { at_ns: 6, id: 2, pid: 10, tid: 11 },
            lost.clone(),
        ]);
        assert!(matches!(&items[1], TraceItem::Ended(call) if call.status == CallStatus::Done));
        assert_eq!(items[2], TraceItem::Note(lost));
    }

    fn carried(id: u32) -> TraceRecord {
        TraceRecord::Carried { at_ns: 1, id, object: CarriedObject::File { fd: 3 } }
    }

    #[test]
    fn objects_of_sends_that_are_never_told_leave_room_for_others() {
        let orphans = u32::try_from(KEPT_OBJECTS).unwrap();
        let mut records: Vec<_> = (0..orphans).map(carried).collect();
        records.extend([carried(orphans), TraceRecord::Sent(call(orphans, 1))]);
        let (tracker, _) = run(records);
        assert_eq!(tracker.get(orphans).unwrap().objects.len(), 1);
        assert_eq!(tracker.carried_count, KEPT_OBJECTS - 1);
    }

    #[test]
    fn what_went_along_with_a_dropped_send_is_forgotten() {
        let (tracker, _) = run(vec![carried(1), TraceRecord::Dropped { records: 1 }]);
        assert_eq!((tracker.carried.len(), tracker.carried_count), (0, 0));
    }

    #[test]
    fn of_too_many_calls_the_oldest_are_given_up() {
        let kept = u32::try_from(KEPT_CALLS).unwrap();
        let (tracker, _) = run((0..kept + 3).map(|id| TraceRecord::Sent(call(id, 1))).collect());
        assert_eq!((tracker.calls.len(), tracker.given_up()), (KEPT_CALLS, 3));
        assert!(tracker.get(2).is_none() && tracker.get(3).is_some());
    }
}
