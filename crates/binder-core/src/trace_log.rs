//! The events of a device, for a front end that traces it.
//!
//! Events are noted only while a front end asks for them: until then, each place that would note one looks at one
//! field of the journal, which a send has in its cache anyway. The front end takes the events after each call;
//! those that find no room in the list meanwhile are counted and lost.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::context::Context;
use crate::journal::{Journal, LogEntry};
use crate::node::NodeKey;
use crate::process::ProcessKey;
use crate::thread::ThreadKey;
use crate::transaction::{Draft, Transaction, TransactionKey};

/// Events that are kept between two visits of the front end: as many as a long write buffer of sends leaves.
const KEPT_EVENTS: usize = 32 << 10;

/// Something that happened on a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceEvent {
    /// When, by the clock of [`Context::set_now`].
    pub at_ns: u64,
    /// The users of the sender, or of the process that the event is about, and of the receiver.
    pub uids: [u32; 2],
    /// What happened.
    pub what: Traced,
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Traced {
    /// A send was accepted or refused.
    Sent {
        /// The send, and how it ended.
        entry: LogEntry,
        /// The call that the sending thread was serving, or that a reply answers, by its debug id; 0 if there is none.
        within: u32,
        /// Where its data lies, if it was accepted.
        data: Option<TracedData>,
    },
    /// A thread has read a transaction.
    Received {
        /// The debug id of the transaction.
        id: u32,
        /// The receiving process.
        pid: u32,
        /// The receiving thread.
        tid: u32,
    },
    /// A transaction that was accepted could not be delivered, even if it was told as received before: a call may be
    /// over before its returns are written.
    Undelivered {
        /// The debug id of the transaction.
        id: u32,
        /// The cause, as a positive number.
        errno: i32,
    },
    /// A call is over without a reply.
    Unanswered {
        /// The debug id of the call.
        id: u32,
        /// The process of the thread that waits for a reply.
        pid: u32,
        /// That thread.
        tid: u32,
        /// The `BR_` code that it reads instead.
        code: u32,
    },
    /// The data of the send under way has an object or a file.
    Carried {
        /// The debug id of the transaction.
        id: u32,
        /// The object or file.
        object: TracedObject,
    },
    /// A process has opened the device.
    Opened {
        /// The process.
        pid: u32,
    },
    /// An open file of a process has come to its end.
    Closed {
        /// The process.
        pid: u32,
    },
    /// The owner of an object is gone, and a process that wants to know is told.
    Died {
        /// The debug id of the object.
        node: u32,
        /// The process that is told.
        pid: u32,
    },
    /// A process is frozen.
    Frozen {
        /// The process.
        pid: u32,
    },
    /// A process is frozen no more.
    Thawed {
        /// The process.
        pid: u32,
    },
}

/// Where the data of a transaction lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TracedData {
    /// The receiver.
    pub receiver: ProcessKey,
    /// The offset in its receive buffer.
    pub start: u32,
    /// Bytes.
    pub len: u32,
}

/// An object or file in the data of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TracedObject {
    /// A reference to an object, or the object itself on its way home.
    Node {
        /// The debug id of the object.
        node: u32,
        /// The handle by which the receiver knows it; `None` for its own.
        handle: Option<u32>,
    },
    /// A file.
    File {
        /// The sender's descriptor.
        fd: u32,
    },
}

/// The events since the front end's last visit.
#[derive(Debug, Default)]
pub(crate) struct TraceLog {
    events: Vec<TraceEvent>,
    dropped: u64,
}

impl TraceLog {
    fn push(&mut self, event: TraceEvent) {
        if self.events.len() < KEPT_EVENTS {
            self.events.push(event);
        } else {
            self.dropped += 1;
        }
    }
}

impl Journal {
    /// Whether a front end traces the device.
    #[inline]
    pub(crate) fn is_traced(&self) -> bool {
        self.trace.is_some()
    }
}

impl Context {
    /// Notes all events from here on, for [`take_trace`](Self::take_trace).
    pub fn begin_trace(&mut self) {
        self.journal.trace.get_or_insert_default();
    }

    /// Stops to note events.
    pub fn end_trace(&mut self) {
        self.journal.trace = None;
    }

    /// Whether there are events for [`take_trace`](Self::take_trace).
    #[inline]
    pub fn has_trace(&self) -> bool {
        let trace = self.journal.trace.as_ref();
        trace.is_some_and(|it| !it.events.is_empty() || it.dropped > 0)
    }

    /// Appends the noted events to `events`, and returns how many were lost for want of room.
    pub fn take_trace(&mut self, events: &mut Vec<TraceEvent>) -> u64 {
        let Some(trace) = &mut self.journal.trace else { return 0 };
        if events.is_empty() {
            core::mem::swap(events, &mut trace.events);
        } else {
            events.append(&mut trace.events);
        }
        core::mem::take(&mut trace.dropped)
    }

    /// The processes that have the device open, each with its user, once for each open file.
    pub fn openers(&self) -> impl Iterator<Item = (u32, u32)> {
        self.processes.values().map(|it| (it.opener.pid.number(), it.opener.uid))
    }

    pub(crate) fn trace_event(&mut self, uids: [u32; 2], what: Traced) {
        let at_ns = self.now_ns;
        if let Some(trace) = &mut self.journal.trace {
            trace.push(TraceEvent { at_ns, uids, what });
        }
    }

    fn uid_of(&self, process: ProcessKey) -> Option<u32> {
        self.processes.get(process).map(|process| process.opener.uid)
    }

    /// The users of a transaction's sender and of its receiver. If one of these is gone, the other's user stands for both.
    pub(crate) fn uids_of(&self, transaction: &Transaction) -> [u32; 2] {
        let sender = self.uid_of(transaction.sender);
        let receiver = transaction.to_process.and_then(|process| self.uid_of(process));
        let sender = sender.or(receiver).unwrap_or(u32::MAX);
        [sender, receiver.unwrap_or(sender)]
    }

    /// Notes the end of the send under way. `answered` is the call that it answers.
    #[cold]
    #[inline(never)]
    pub(crate) fn trace_send(&mut self, thread: ThreadKey, answered: Option<u32>) {
        let Some(entry) = self.journal.latest() else { return };
        let sender = self.threads[thread].process;
        let uid = self.uid_of(sender).unwrap_or(u32::MAX);
        let top = self.threads[thread].stack.map(|top| &self.transactions[top]);
        // An accepted call lies on top of the call that it was made within.
        let within = match top {
            Some(own) if own.trace.id == entry.id => {
                own.from_parent.map(|parent| &self.transactions[parent])
            }
            served => served,
        };
        let within = answered.or(within.map(|call| call.trace.id)).unwrap_or_default();
        let (receiver_uid, data) = match self.sent_data(entry.id) {
            Some((receiver_uid, data)) => (receiver_uid, Some(data)),
            None => (uid, None),
        };
        self.trace_event([uid, receiver_uid], Traced::Sent { entry, within, data });
    }

    /// The receiver's user and where the data lies, of a transaction that was just accepted: it is the youngest.
    fn sent_data(&self, id: u32) -> Option<(u32, TracedData)> {
        let transaction = self.journal.last_sent.and_then(|sent| self.transactions.get(sent))?;
        let receiver = transaction.to_process.filter(|_| transaction.trace.id == id)?;
        let mapping = self.processes[receiver].mapping.as_ref()?;
        let layout = mapping.get(transaction.buffer?)?.layout;
        let data = TracedData { receiver, start: layout.start, len: layout.data_len };
        Some((self.uid_of(receiver)?, data))
    }

    /// Notes that a thread has read a transaction.
    #[cold]
    #[inline(never)]
    pub(crate) fn trace_receipt(&mut self, reader: ThreadKey, transaction: TransactionKey) {
        let transaction = &self.transactions[transaction];
        let (id, uids) = (transaction.trace.id, self.uids_of(transaction));
        let reader = &self.threads[reader];
        let pid = self.processes[reader.process].opener.pid.number();
        let tid = reader.tid;
        self.trace_event(uids, Traced::Received { id, pid, tid });
    }

    /// Notes that a call is over without a reply, of which its caller, `thread`, reads `code`.
    pub(crate) fn trace_unanswered(&mut self, id: u32, thread: ThreadKey, code: u32) {
        let caller = &self.threads[thread];
        let opener = &self.processes[caller.process].opener;
        let (pid, tid, uid) = (opener.pid.number(), caller.tid, opener.uid);
        self.trace_event([uid; 2], Traced::Unanswered { id, pid, tid, code });
    }

    /// Notes an object or file in the data of the send under way.
    #[cold]
    #[inline(never)]
    pub(crate) fn trace_object(&mut self, draft: &Draft<'_>, object: TracedObject) {
        let Some(entry) = self.journal.latest() else { return };
        let sender = self.uid_of(draft.sender).unwrap_or(u32::MAX);
        let receiver = self.uid_of(draft.receiver).unwrap_or(sender);
        self.trace_event([sender, receiver], Traced::Carried { id: entry.id, object });
    }

    /// Notes a reference, or a node that returns to its owner, in the data of the send under way.
    pub(crate) fn trace_node(&mut self, draft: &Draft<'_>, node: NodeKey, handle: Option<u32>) {
        let node = self.nodes[node].debug_id;
        self.trace_object(draft, TracedObject::Node { node, handle });
    }

    /// Notes an event of one process, which `what` makes of its number.
    pub(crate) fn trace_process(&mut self, process: ProcessKey, what: impl FnOnce(u32) -> Traced) {
        if !self.journal.is_traced() {
            return;
        }
        let Some(state) = self.processes.get(process) else { return };
        let (pid, uid) = (state.opener.pid.number(), state.opener.uid);
        self.trace_event([uid; 2], what(pid));
    }
}

/// The list of events, while a front end traces.
pub(crate) type TracePlace = Option<Box<TraceLog>>;
