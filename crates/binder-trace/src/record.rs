//! The records by which a driver tells the events of its devices, and their encoding.
//!
//! A record is its length, a byte for its kind, and its fields in order. A reader skips kinds that it does not know, and
//! fields behind those that it knows: both may be added without a new version.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::bytes::{ByteReader, put_bytes, put_number, put_numbers};

/// The longest record that is read. Data is cut before it is written.
const RECORD_MAX_BYTES: usize = 1 << 20;
/// Most records take less, while they are put together.
const ENCODED_BYTES: usize = 256;

/// The kinds of sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendKind {
    /// A call: its sender waits for a reply.
    Call,
    /// A one-way.
    Oneway,
    /// The answer to a call.
    Reply,
}

/// How a send ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendStatus {
    /// It is on its way.
    Accepted,
    /// It was refused.
    Refused {
        /// The `BR_` code that the sender reads, or, of a reply, the caller.
        code: u32,
        /// The cause, as a positive number; 0 if there is none.
        errno: u32,
    },
}

/// An object or a file in the data of a send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CarriedObject {
    /// A reference to an object, by its debug id, or the object itself on its way home.
    Node {
        /// The debug id of the object.
        node: u32,
        /// The handle by which the receiver knows it; `None` for its own.
        handle: Option<u32>,
    },
    /// A file, by the sender's descriptor.
    File {
        /// The descriptor.
        fd: u32,
    },
}

/// A send that was accepted or refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SentRecord {
    /// When, by the driver's clock.
    pub at_ns: u64,
    /// The device.
    pub device: Arc<str>,
    /// The debug id of the transaction.
    pub id: u32,
    /// Whether it is a call, a one-way or a reply.
    pub kind: SendKind,
    /// The sending process.
    pub from_pid: u32,
    /// The sending thread.
    pub from_tid: u32,
    /// The receiving process; 0 if it was not found.
    pub to_pid: u32,
    /// The receiving thread; 0 if any may take it.
    pub to_tid: u32,
    /// The debug id of the object called; 0 if there is none.
    pub node: u32,
    /// The handle that the sender named.
    pub handle: u32,
    /// The transaction's code.
    pub code: u32,
    /// The transaction's flags.
    pub flags: u32,
    /// Bytes of data, as the sender claims them.
    pub data_bytes: u64,
    /// Bytes of offsets, as the sender claims them.
    pub offsets_bytes: u64,
    /// The call that the sending thread was serving, or, of a reply, which it answers; 0 if none.
    pub within: u32,
    /// How it ended.
    pub status: SendStatus,
    /// The interface that its data shows.
    pub interface: Option<String>,
    /// The first bytes of its data, where they may be told.
    pub data: Vec<u8>,
}

/// Something that happened.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the fields of each are explained where they first come")]
pub enum TraceRecord {
    /// At this time of the driver's clock it was so late: nanoseconds since 1970.
    Clock { at_ns: u64, unix_ns: u64 },
    /// A process has this name from here on.
    Named { pid: u32, name: String },
    /// A send was accepted or refused.
    Sent(SentRecord),
    /// A thread has read the transaction of this debug id.
    Received { at_ns: u64, id: u32, pid: u32, tid: u32 },
    /// A transaction that was accepted could not be delivered, because of this error, even if it was told as received.
    Undelivered { at_ns: u64, id: u32, errno: u32 },
    /// A call is over without a reply: a thread of the process reads this `BR_` code.
    Unanswered { at_ns: u64, id: u32, pid: u32, tid: u32, code: u32 },
    /// Something goes along with a send, which is told afterwards.
    Carried { at_ns: u64, id: u32, object: CarriedObject },
    /// A process has opened a device. Of its ancestors the nearest are told, its parent first.
    Opened { at_ns: u64, device: Arc<str>, pid: u32, ancestors: Vec<u32> },
    /// An open file of a process has ended.
    Closed { at_ns: u64, device: Arc<str>, pid: u32 },
    /// A process is told that the owner of an object is gone.
    Died { at_ns: u64, device: Arc<str>, node: u32, pid: u32 },
    /// A process is frozen.
    Frozen { at_ns: u64, device: Arc<str>, pid: u32 },
    /// A process is frozen no more.
    Thawed { at_ns: u64, device: Arc<str>, pid: u32 },
    /// How many records are missing here, because the reader was too slow.
    Dropped { records: u64 },
}

/// Bytes that are no record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadRecord;

impl core::fmt::Display for BadRecord {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("a record of the trace is damaged")
    }
}

impl core::error::Error for BadRecord {}

const CLOCK: u8 = 1;
const NAMED: u8 = 2;
const SENT: u8 = 3;
const RECEIVED: u8 = 4;
const UNDELIVERED: u8 = 5;
const UNANSWERED: u8 = 6;
const CARRIED: u8 = 7;
const OPENED: u8 = 8;
const CLOSED: u8 = 9;
const DIED: u8 = 10;
const FROZEN: u8 = 11;
const THAWED: u8 = 12;
const DROPPED: u8 = 13;

impl TraceRecord {
    /// Appends the record.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        put_record(bytes, |body| self.put_body(body));
    }

    fn put_body(&self, body: &mut Vec<u8>) {
        let mut put = |kind: u8, device: Option<&str>, numbers: &[u64]| {
            body.push(kind);
            if let Some(device) = device {
                put_bytes(body, device.as_bytes());
            }
            put_numbers(body, numbers);
        };
        let wide = u64::from;
        match self {
            Self::Clock { at_ns, unix_ns } => put(CLOCK, None, &[*at_ns, *unix_ns]),
            Self::Named { pid, name } => put(NAMED, Some(name), &[wide(*pid)]),
            Self::Sent(sent) => sent.put_body(body),
            Self::Received { at_ns, id, pid, tid } => {
                put(RECEIVED, None, &[*at_ns, wide(*id), wide(*pid), wide(*tid)]);
            }
            Self::Undelivered { at_ns, id, errno } => {
                put(UNDELIVERED, None, &[*at_ns, wide(*id), wide(*errno)]);
            }
            Self::Unanswered { at_ns, id, pid, tid, code } => {
                let numbers = [*at_ns, wide(*id), wide(*pid), wide(*tid), wide(*code)];
                put(UNANSWERED, None, &numbers);
            }
            Self::Carried { at_ns, id, object } => {
                let (kind, number, handle) = match *object {
                    CarriedObject::Node { node, handle: Some(handle) } => (0, node, handle),
                    CarriedObject::Node { node, handle: None } => (1, node, 0),
                    CarriedObject::File { fd } => (2, fd, 0),
                };
                put(CARRIED, None, &[*at_ns, wide(*id), kind, wide(number), wide(handle)]);
            }
            Self::Opened { at_ns, device, pid, ancestors } => {
                put(OPENED, Some(device), &[*at_ns, wide(*pid), ancestors.len() as u64]);
                ancestors.iter().for_each(|pid| put_number(body, wide(*pid)));
            }
            Self::Closed { at_ns, device, pid } => {
                put(CLOSED, Some(device), &[*at_ns, wide(*pid)]);
            }
            Self::Died { at_ns, device, node, pid } => {
                put(DIED, Some(device), &[*at_ns, wide(*node), wide(*pid)]);
            }
            Self::Frozen { at_ns, device, pid } => {
                put(FROZEN, Some(device), &[*at_ns, wide(*pid)]);
            }
            Self::Thawed { at_ns, device, pid } => {
                put(THAWED, Some(device), &[*at_ns, wide(*pid)]);
            }
            Self::Dropped { records } => put(DROPPED, None, &[*records]),
        }
    }

    /// Reads the rest of a record, behind its length; `None` if it is of a kind that this version does not know.
    ///
    /// # Errors
    ///
    /// [`BadRecord`] when that is no record.
    pub fn decode(body: &[u8]) -> Result<Option<Self>, BadRecord> {
        let (kind, fields) = body.split_first().ok_or(BadRecord)?;
        if !(CLOCK..=DROPPED).contains(kind) {
            return Ok(None);
        }
        Self::of_fields(*kind, ByteReader(fields)).map(Some).ok_or(BadRecord)
    }

    fn of_fields(kind: u8, mut from: ByteReader<'_>) -> Option<Self> {
        let from = &mut from;
        Some(match kind {
            CLOCK => Self::Clock { at_ns: from.number()?, unix_ns: from.number()? },
            NAMED => Self::Named { name: from.text()?.into_owned(), pid: from.small()? },
            SENT => Self::Sent(SentRecord::of_fields(from)?),
            RECEIVED => Self::Received {
                at_ns: from.number()?,
                id: from.small()?,
                pid: from.small()?,
                tid: from.small()?,
            },
            UNDELIVERED => {
                Self::Undelivered { at_ns: from.number()?, id: from.small()?, errno: from.small()? }
            }
            UNANSWERED => Self::Unanswered {
                at_ns: from.number()?,
                id: from.small()?,
                pid: from.small()?,
                tid: from.small()?,
                code: from.small()?,
            },
            CARRIED => {
                let (at_ns, id) = (from.number()?, from.small()?);
                let (kind, number, handle) = (from.number()?, from.small()?, from.small()?);
                let object = match kind {
                    0 => CarriedObject::Node { node: number, handle: Some(handle) },
                    1 => CarriedObject::Node { node: number, handle: None },
                    2 => CarriedObject::File { fd: number },
                    _ => return None,
                };
                Self::Carried { at_ns, id, object }
            }
            DROPPED => Self::Dropped { records: from.number()? },
            _ => Self::of_device(kind, from)?,
        })
    }

    /// The records about one process, which all begin alike.
    fn of_device(kind: u8, from: &mut ByteReader<'_>) -> Option<Self> {
        let (device, at_ns) = (from.text()?.into(), from.number()?);
        Some(match kind {
            OPENED => {
                let pid = from.small()?;
                // Records have not told of any from the beginning.
                let count = from.number().unwrap_or_default();
                let ancestors = (0..count).map_while(|_| from.small()).collect();
                Self::Opened { at_ns, device, pid, ancestors }
            }
            CLOSED => Self::Closed { at_ns, device, pid: from.small()? },
            DIED => Self::Died { at_ns, device, node: from.small()?, pid: from.small()? },
            FROZEN => Self::Frozen { at_ns, device, pid: from.small()? },
            THAWED => Self::Thawed { at_ns, device, pid: from.small()? },
            _ => return None,
        })
    }
}

/// Appends a record, of which `put_body` appends all but the length.
fn put_record(bytes: &mut Vec<u8>, put_body: impl FnOnce(&mut Vec<u8>)) {
    bytes.reserve(ENCODED_BYTES);
    let start = bytes.len();
    // The length of most records fits into one byte.
    bytes.push(0);
    put_body(bytes);
    let len = bytes.len() - start - 1;
    match u8::try_from(len) {
        Ok(short) if short < 0x80 => bytes[start] = short,
        _ => {
            let body = bytes.split_off(start + 1);
            bytes.truncate(start);
            put_bytes(bytes, &body);
        }
    }
}

impl SentRecord {
    /// Appends the record.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        put_record(bytes, |body| self.put_body(body));
    }

    fn put_body(&self, body: &mut Vec<u8>) {
        let kind = match self.kind {
            SendKind::Call => 0,
            SendKind::Oneway => 1,
            SendKind::Reply => 2,
        };
        let (is_refused, code, errno) = match self.status {
            SendStatus::Accepted => (0, 0, 0),
            SendStatus::Refused { code, errno } => (1, code, errno),
        };
        body.push(SENT);
        put_bytes(body, self.device.as_bytes());
        let wide = u64::from;
        let numbers = [
            self.at_ns,
            wide(self.id),
            kind,
            wide(self.from_pid),
            wide(self.from_tid),
            wide(self.to_pid),
            wide(self.to_tid),
            wide(self.node),
            wide(self.handle),
            wide(self.code),
            wide(self.flags),
            wide(self.within),
            is_refused,
            wide(code),
            wide(errno),
            self.data_bytes,
            self.offsets_bytes,
        ];
        put_numbers(body, &numbers);
        put_bytes(body, self.interface.as_deref().unwrap_or_default().as_bytes());
        put_bytes(body, &self.data);
    }

    fn of_fields(from: &mut ByteReader<'_>) -> Option<Self> {
        let (device, at_ns) = (from.text()?.into(), from.number()?);
        let id = from.small()?;
        let kind = match from.number()? {
            0 => SendKind::Call,
            1 => SendKind::Oneway,
            2 => SendKind::Reply,
            _ => return None,
        };
        let mut next = || from.small();
        let (from_pid, from_tid, to_pid, to_tid) = (next()?, next()?, next()?, next()?);
        let (node, handle, code, flags, within) = (next()?, next()?, next()?, next()?, next()?);
        let status = match (next()?, next()?, next()?) {
            (0, ..) => SendStatus::Accepted,
            (1, code, errno) => SendStatus::Refused { code, errno },
            _ => return None,
        };
        Some(Self {
            at_ns,
            device,
            id,
            kind,
            from_pid,
            from_tid,
            to_pid,
            to_tid,
            node,
            handle,
            code,
            flags,
            within,
            status,
            data_bytes: from.number()?,
            offsets_bytes: from.number()?,
            interface: Some(from.text()?.into_owned()).filter(|name| !name.is_empty()),
            data: from.bytes()?.to_vec(),
        })
    }
}

/// Records in a stream of bytes, which comes in pieces of any size.
#[derive(Debug, Default)]
pub struct RecordStream {
    bytes: Vec<u8>,
    /// How many of them have been read.
    taken: usize,
}

impl RecordStream {
    /// Adds a piece.
    pub fn push(&mut self, piece: &[u8]) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        self.bytes.extend_from_slice(piece);
    }

    /// Takes the next record that is there as a whole.
    ///
    /// # Errors
    ///
    /// [`BadRecord`] when there is something else; a record that is as long as it says is passed over then, and what
    /// is behind one of an impossible length is lost.
    pub fn next_record(&mut self) -> Result<Option<TraceRecord>, BadRecord> {
        loop {
            let mut rest = ByteReader(&self.bytes[self.taken..]);
            let before = rest;
            let Some(len) = rest.number() else {
                // No number is longer than this.
                return if before.0.len() < 10 { Ok(None) } else { self.lose_all() };
            };
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            if len > RECORD_MAX_BYTES {
                return self.lose_all();
            }
            let Some(body) = rest.0.get(..len) else { return Ok(None) };
            self.taken += before.0.len() - rest.0.len() + len;
            if let Some(record) = TraceRecord::decode(body)? {
                return Ok(Some(record));
            }
        }
    }

    fn lose_all(&mut self) -> Result<Option<TraceRecord>, BadRecord> {
        self.taken = self.bytes.len();
        Err(BadRecord)
    }

    /// Whether the last piece has ended within a record.
    pub fn is_torn(&self) -> bool {
        self.taken < self.bytes.len()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use alloc::vec;

    use super::*;

    /// A call of another process.
    pub(crate) fn call(id: u32, at_ns: u64) -> SentRecord {
        SentRecord {
            at_ns,
            device: "binder".into(),
            id,
            kind: SendKind::Call,
            from_pid: 10,
            from_tid: 11,
            to_pid: 20,
            to_tid: 0,
            node: 5,
            handle: 1,
            code: 1,
            flags: 0x10,
            data_bytes: 64,
            offsets_bytes: 0,
            within: 0,
            status: SendStatus::Accepted,
            interface: Some("demo.IGreeter".into()),
            data: Vec::new(),
        }
    }

    /// One record of each kind.
    pub(crate) fn all_kinds() -> Vec<TraceRecord> {
        let device = || Arc::from("binder");
        let refused = SendStatus::Refused { code: 29_201, errno: 22 };
        vec![
            TraceRecord::Clock { at_ns: 1, unix_ns: u64::MAX },
            TraceRecord::Named { pid: 10, name: "client".into() },
            TraceRecord::Carried {
                at_ns: 4,
                id: 2,
                object: CarriedObject::Node { node: 7, handle: Some(3) },
            },
            TraceRecord::Carried {
                at_ns: 4,
                id: 2,
                object: CarriedObject::Node { node: 8, handle: None },
            },
            TraceRecord::Carried { at_ns: 4, id: 2, object: CarriedObject::File { fd: 9 } },
            TraceRecord::Sent(SentRecord { data: vec![1, 2, 3], ..call(2, 5) }),
            TraceRecord::Sent(SentRecord { data: vec![7; 300], ..call(4, 5) }),
            TraceRecord::Sent(SentRecord { interface: None, status: refused, ..call(3, 5) }),
            TraceRecord::Received { at_ns: 6, id: 2, pid: 20, tid: 21 },
            TraceRecord::Undelivered { at_ns: 7, id: 2, errno: 14 },
            TraceRecord::Unanswered { at_ns: 7, id: 2, pid: 10, tid: 11, code: 29_201 },
            TraceRecord::Opened { at_ns: 8, device: device(), pid: 30, ancestors: vec![7, 1] },
            TraceRecord::Opened { at_ns: 8, device: device(), pid: 30, ancestors: vec![] },
            TraceRecord::Closed { at_ns: 8, device: device(), pid: 30 },
            TraceRecord::Died { at_ns: 8, device: device(), node: 5, pid: 30 },
            TraceRecord::Frozen { at_ns: 8, device: device(), pid: 30 },
            TraceRecord::Thawed { at_ns: 8, device: device(), pid: 30 },
            TraceRecord::Dropped { records: 12 },
        ]
    }

    #[test]
    fn records_come_back_from_pieces_of_any_size() {
        let records = all_kinds();
        let mut bytes = Vec::new();
        records.iter().for_each(|record| record.encode(&mut bytes));
        for size in [1, 2, 7, 1000] {
            let (mut stream, mut read) = (RecordStream::default(), Vec::new());
            for piece in bytes.chunks(size) {
                stream.push(piece);
                while let Some(record) = stream.next_record().unwrap() {
                    read.push(record);
                }
            }
            assert_eq!(read, records, "{size}");
            assert!(!stream.is_torn());
        }
    }

    #[test]
    fn what_is_no_record_is_told_and_passed_over() {
        let mut stream = RecordStream::default();
        // The second is of a kind that came later, the third has a field more than is known.
        stream.push(&[2, RECEIVED, 1, 1, 200, 3, DROPPED, 7, 8]);
        assert_eq!(stream.next_record(), Err(BadRecord));
        assert_eq!(stream.next_record(), Ok(Some(TraceRecord::Dropped { records: 7 })));
        assert_eq!(stream.next_record(), Ok(None));
    }

    #[test]
    fn a_length_that_cannot_be_loses_the_rest() {
        let mut stream = RecordStream::default();
        stream.push(&[0xff; 16]);
        assert_eq!(stream.next_record(), Err(BadRecord));
        assert_eq!(stream.next_record(), Ok(None));
        stream.push(&[2, DROPPED, 7]);
        assert_eq!(stream.next_record(), Ok(Some(TraceRecord::Dropped { records: 7 })));
    }
}
