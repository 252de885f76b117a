//! What the driver remembers of sends: the last ones, the last that failed, and reports of trouble.
//!
//! An entry is begun when a send is, learns of its target on the way, and is ended with the send. A
//! send that met a bug stays unended, and the logs say so.

use alloc::collections::VecDeque;

use binder_uapi::{BR_FAILED_REPLY, BinderTransactionDataSg};

use crate::account::Excess;
use crate::context::Context;
use crate::error::{Errno, Refusal};
use crate::node::NodeKey;
use crate::process::ProcessKey;
use crate::thread::ThreadKey;
use crate::trace_log::{TracePlace, Traced};
use crate::transaction::{Transaction, TransactionKey, TransactionKind};

/// Entries that each log keeps.
const LOG_ENTRIES: usize = 32;
/// Reports that wait for the front end, which takes them after each call.
const WAITING_REPORTS: usize = 64;

/// One attempt to send a call, a one-way or a reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogEntry {
    /// The debug id of the transaction.
    pub id: u32,
    /// What was sent.
    pub kind: TransactionKind,
    /// The sending process.
    pub from_pid: u32,
    /// The sending thread.
    pub from_tid: u32,
    /// The receiving process; 0 if it was not found.
    pub to_pid: u32,
    /// The receiving thread; 0 if any may take it.
    pub to_tid: u32,
    /// The debug id of the node it is addressed to; 0 if there is none.
    pub node: u32,
    /// The handle that the sender named; 0, too, in an entry of a failed delivery.
    pub handle: u32,
    /// The transaction's code.
    pub code: u32,
    /// The transaction's flags.
    pub flags: u32,
    /// Bytes of data, as the sender claims them.
    pub data_size: u64,
    /// Bytes of offsets, as the sender claims them.
    pub offsets_size: u64,
    /// How it ended.
    pub end: SendEnd,
}

/// How a send ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendEnd {
    /// It has not: a bug stopped it.
    Incomplete,
    /// It is on its way.
    Accepted,
    /// It was refused.
    Refused {
        /// The `BR_` code that the sender, or the caller of a failed reply, reads.
        code: u32,
        /// The cause, as a positive number.
        errno: i32,
        /// The limit that was in the way, if it was one.
        excess: Option<Excess>,
    },
    /// It was accepted, and could not be delivered: the thread that waits for a reply reads
    /// `BR_FAILED_REPLY`.
    Undelivered {
        /// The cause, as a positive number.
        errno: i32,
        /// What was in the way, for people.
        reason: &'static str,
    },
}

/// Something about a send that a person might want to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendReport {
    /// What happened, as a `BR_` code. `BR_ONEWAY_SPAM_SUSPECT` and
    /// `BR_TRANSACTION_PENDING_FROZEN` are about sends that were accepted.
    pub error: u32,
    /// The send.
    pub send: LogEntry,
}

/// How logs name a transaction for as long as it lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Trace {
    pub(crate) id: u32,
    pub(crate) from_pid: u32,
    pub(crate) from_tid: u32,
    pub(crate) sent_at_ns: u64,
}

/// A transaction that could not be delivered, as logs and traces tell of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DeliveryRecord {
    pub(crate) trace: Trace,
    pub(crate) kind: TransactionKind,
    code: u32,
    flags: u32,
    /// Start of its buffer in the receiver's mapping.
    pub(crate) buffer: Option<u32>,
    /// The users who see it in a trace, while the device is traced.
    uids: [u32; 2],
}

/// The two logs of a device, and the reports that the front end has not taken.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// The last sends; the newest is the one being written.
    recent: VecDeque<LogEntry>,
    failed: VecDeque<LogEntry>,
    reports: VecDeque<SendReport>,
    /// The limit that the send under way has met.
    excess: Option<Excess>,
    /// The limit that was met last, until the front end takes it.
    last_excess: Option<Excess>,
    /// Where all that happens is noted, while the front end traces the device.
    pub(crate) trace: TracePlace,
    /// The transaction that began last, while the device is traced.
    pub(crate) last_sent: Option<TransactionKey>,
}

impl Journal {
    fn begin(&mut self, entry: LogEntry) {
        self.excess = None;
        push_bounded(&mut self.recent, LOG_ENTRIES, entry);
    }

    /// The entry of the send under way, or of the last.
    pub(crate) fn latest(&self) -> Option<LogEntry> {
        self.recent.back().copied()
    }

    /// Takes the entry of the send under way, which goes on after others.
    pub(crate) fn suspend(&mut self) -> Option<LogEntry> {
        self.recent.pop_back()
    }

    /// Goes on with a send that was suspended: from here on it is the newest.
    pub(crate) fn resume(&mut self, entry: Option<LogEntry>) {
        if let Some(entry) = entry {
            self.begin(entry);
        }
    }

    /// The send went through.
    pub(crate) fn accept(&mut self) {
        if let Some(entry) = self.recent.back_mut() {
            entry.end = SendEnd::Accepted;
        }
    }

    /// The send was refused.
    pub(crate) fn refuse(&mut self, refusal: Refusal) {
        let code = refusal.verdict.code();
        let errno = refusal.cause.map_or(0, Errno::number);
        let Some(entry) = self.recent.back_mut() else { return };
        entry.end = SendEnd::Refused { code, errno, excess: self.excess.take() };
        push_bounded(&mut self.failed, LOG_ENTRIES, *entry);
        self.report(code);
    }

    /// Notes that a limit was met.
    pub(crate) fn exceed(&mut self, excess: Excess) {
        self.excess = Some(excess);
        self.last_excess = Some(excess);
    }

    pub(crate) fn take_excess(&mut self) -> Option<Excess> {
        self.last_excess.take()
    }

    /// A send that was accepted before came to nothing.
    fn fail_delivery(&mut self, entry: LogEntry) {
        push_bounded(&mut self.failed, LOG_ENTRIES, entry);
        let report = SendReport { error: BR_FAILED_REPLY, send: entry };
        push_bounded(&mut self.reports, WAITING_REPORTS, report);
    }

    /// Reports `error` about the send that is under way, whatever becomes of it.
    pub(crate) fn report(&mut self, error: u32) {
        if let Some(send) = self.recent.back() {
            push_bounded(&mut self.reports, WAITING_REPORTS, SendReport { error, send: *send });
        }
    }
}

fn push_bounded<T>(ring: &mut VecDeque<T>, bound: usize, entry: T) {
    if ring.len() == bound {
        ring.pop_front();
    }
    ring.push_back(entry);
}

impl Context {
    /// Begins the entry of a send.
    pub(crate) fn log_send(
        &mut self,
        id: u32,
        kind: TransactionKind,
        thread: ThreadKey,
        data: &BinderTransactionDataSg,
    ) {
        let header = &data.transaction_data;
        let sender = &self.threads[thread];
        self.journal.begin(LogEntry {
            id,
            kind,
            from_pid: self.processes[sender.process].opener.pid.number(),
            from_tid: sender.tid,
            to_pid: 0,
            to_tid: 0,
            node: 0,
            #[expect(clippy::cast_possible_truncation, reason = "the low half is the handle")]
            handle: header.target as u32,
            code: header.code,
            flags: header.flags,
            data_size: header.data_size,
            offsets_size: header.offsets_size,
            end: SendEnd::Incomplete,
        });
    }

    /// Notes to whom the send under way is addressed.
    pub(crate) fn log_target(
        &mut self,
        process: ProcessKey,
        thread: Option<ThreadKey>,
        node: Option<NodeKey>,
    ) {
        let Some(entry) = self.journal.recent.back_mut() else { return };
        entry.to_pid = self.processes[process].opener.pid.number();
        entry.to_tid = thread.map_or(0, |thread| self.threads[thread].tid);
        entry.node = node.map_or(0, |node| self.nodes[node].debug_id);
    }

    /// The same for a reply: the thread that waits for it, if it lives.
    pub(crate) fn log_waiting_caller(&mut self, call: TransactionKey) {
        if let Some(thread) = self.transactions[call].from {
            self.log_target(self.threads[thread].process, Some(thread), None);
        }
    }

    /// Takes down what logs need of a transaction, in case it cannot be delivered.
    pub(crate) fn delivery_record(&self, transaction: TransactionKey) -> DeliveryRecord {
        let transaction = &self.transactions[transaction];
        let Transaction { trace, kind, code, flags, buffer, .. } = *transaction;
        let uids = if self.journal.is_traced() { self.uids_of(transaction) } else { [u32::MAX; 2] };
        DeliveryRecord { trace, kind, code, flags, buffer, uids }
    }

    /// Notes that a transaction could not be delivered to a thread that had come to it.
    pub(crate) fn log_undelivered(
        &mut self,
        reader: ThreadKey,
        delivery: &DeliveryRecord,
        errno: i32,
        reason: &'static str,
    ) {
        let DeliveryRecord { trace, kind, code, flags, buffer, uids } = *delivery;
        let process = &self.processes[self.threads[reader].process];
        let buffer = process.mapping.as_ref().zip(buffer).and_then(|(mapping, at)| mapping.get(at));
        let node = buffer.and_then(|buffer| buffer.target);
        let entry = LogEntry {
            id: trace.id,
            kind,
            from_pid: trace.from_pid,
            from_tid: trace.from_tid,
            to_pid: process.opener.pid.number(),
            to_tid: self.threads[reader].tid,
            node: node.map_or(0, |node| self.nodes[node].debug_id),
            handle: 0,
            code,
            flags,
            data_size: buffer.map_or(0, |buffer| buffer.layout.data_len.into()),
            offsets_size: buffer.map_or(0, |buffer| buffer.layout.offsets_len.into()),
            end: SendEnd::Undelivered { errno, reason },
        };
        self.journal.fail_delivery(entry);
        self.trace_event(uids, Traced::Undelivered { id: trace.id, errno });
    }

    /// How logs will name the transaction that is being sent.
    pub(crate) fn trace(&self) -> Trace {
        let sent_at_ns = self.now_ns;
        self.journal.recent.back().map_or_else(Trace::default, |entry| Trace {
            id: entry.id,
            from_pid: entry.from_pid,
            from_tid: entry.from_tid,
            sent_at_ns,
        })
    }

    /// The last 32 sends, the oldest first.
    pub fn transaction_log(&self) -> impl Iterator<Item = &LogEntry> {
        self.journal.recent.iter()
    }

    /// The last 32 sends that were refused or could not be delivered, the oldest first.
    pub fn failed_transaction_log(&self) -> impl Iterator<Item = &LogEntry> {
        self.journal.failed.iter()
    }

    /// Takes the oldest report of the calls so far. Those that the front end does not take for long
    /// are lost.
    pub fn poll_report(&mut self) -> Option<SendReport> {
        self.journal.reports.pop_front()
    }
}
