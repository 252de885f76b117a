//! Records and names on their way to followers: encoded one behind another, each with a description of its bytes.

use binder_core::{TraceEvent, Traced};
use binder_trace::{SentRecord, TraceRecord};

/// Records that may wait for the writer, and the bytes behind which none begins.
const INBOX_RECORDS: usize = 32 << 10;
const INBOX_BYTES: usize = 8 << 20;
/// Room for this many records and bytes is kept.
const RECORDS_KEPT: usize = 2 << 10;
const BYTES_KEPT: usize = 256 << 10;

/// What the bytes of a [`QueuedRecord`] are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum QueuedKind {
    /// A record.
    Record,
    /// The record of the end of a process' open file: another process may have its number soon.
    LastRecord,
    /// The name of a process.
    Name,
}

/// The description of bytes that wait for the writer.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueuedRecord {
    pub(super) kind: QueuedKind,
    /// The users whom the event concerns.
    pub(super) uids: [u32; 2],
    /// The processes that it is about; 0 is none.
    pub(super) pids: [u32; 2],
    /// Bytes of the record or name.
    len: u32,
    /// Bytes of the record without data of calls, which follow; none if it has no data.
    bare_len: u32,
}

/// Records and names in the order of events.
#[derive(Debug, Default)]
pub(super) struct RecordBatch {
    pub(super) entries: Vec<QueuedRecord>,
    bytes: Vec<u8>,
}

impl RecordBatch {
    pub(super) fn push_name(&mut self, pid: u32, name: &str) {
        self.bytes.extend_from_slice(name.as_bytes());
        let len = bytes_of(name.len());
        self.entries.push(QueuedRecord {
            kind: QueuedKind::Name,
            uids: [0; 2],
            pids: [pid, 0],
            len,
            bare_len: 0,
        });
    }

    /// Encodes the record of an event.
    pub(super) fn push_record(&mut self, event: &TraceEvent, record: &TraceRecord) {
        let start = self.bytes.len();
        record.encode(&mut self.bytes);
        self.push_entry(event, start, self.bytes.len());
    }

    /// Encodes the record of a send, also without its data, for followers that may not see that.
    pub(super) fn push_sent(&mut self, event: &TraceEvent, sent: &mut SentRecord) {
        let start = self.bytes.len();
        sent.encode(&mut self.bytes);
        let end = self.bytes.len();
        if !sent.data.is_empty() {
            sent.data.clear();
            sent.encode(&mut self.bytes);
        }
        self.push_entry(event, start, end);
    }

    /// Describes the bytes of an event from `start` on; those from `end` on are without data.
    fn push_entry(&mut self, event: &TraceEvent, start: usize, end: usize) {
        let kind = match event.what {
            Traced::Closed { .. } => QueuedKind::LastRecord,
            _ => QueuedKind::Record,
        };
        let (len, bare_len) = (bytes_of(end - start), bytes_of(self.bytes.len() - end));
        self.entries.push(QueuedRecord {
            kind,
            uids: event.uids,
            pids: pids_of(&event.what),
            len,
            bare_len,
        });
    }

    /// Whether a further record finds room.
    pub(super) fn has_room(&self) -> bool {
        self.entries.len() < INBOX_RECORDS && self.bytes.len() < INBOX_BYTES
    }

    /// The entries, each with its bytes, and with those of the record without data.
    pub(super) fn parts(&self) -> impl Iterator<Item = (&QueuedRecord, &[u8], &[u8])> {
        let mut rest = &self.bytes[..];
        self.entries.iter().map(move |entry| {
            let (full, behind) = rest.split_at(entry.len as usize);
            let (bare, behind) = behind.split_at(entry.bare_len as usize);
            rest = behind;
            (entry, full, bare)
        })
    }

    /// Forgets all, and keeps some of the memory.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.entries.shrink_to(RECORDS_KEPT);
        self.bytes.clear();
        self.bytes.shrink_to(BYTES_KEPT);
    }
}

/// A length as a [`QueuedRecord`] has it: no record has much more than 4096 bytes.
fn bytes_of(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// The processes that an event is about; 0 is none.
fn pids_of(what: &Traced) -> [u32; 2] {
    match *what {
        Traced::Sent { entry, .. } => [entry.from_pid, entry.to_pid],
        Traced::Received { pid, .. }
        | Traced::Unanswered { pid, .. }
        | Traced::Opened { pid }
        | Traced::Closed { pid }
        | Traced::Died { pid, .. }
        | Traced::Frozen { pid }
        | Traced::Thawed { pid } => [pid, 0],
        Traced::Undelivered { .. } | Traced::Carried { .. } => [0, 0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_has_as_many_records_and_bytes_as_it_may() {
        let event = TraceEvent { at_ns: 0, uids: [0; 2], what: Traced::Thawed { pid: 1 } };
        let record = TraceRecord::Thawed { at_ns: 0, device: "binder".into(), pid: 1 };
        let mut batch = RecordBatch::default();
        while batch.has_room() {
            batch.push_record(&event, &record);
        }
        assert_eq!(batch.entries.len(), INBOX_RECORDS);
        let len: usize = batch.parts().map(|(_, full, bare)| full.len() + bare.len()).sum();
        assert_eq!(len, batch.bytes.len());
        batch.clear();
        assert!(batch.has_room());

        batch.push_name(1, &"x".repeat(INBOX_BYTES));
        assert!(!batch.has_room());
    }
}
