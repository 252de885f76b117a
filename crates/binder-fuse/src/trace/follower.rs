//! A follower of a trace: which events its user may see, the records that wait, and the reads that wait for records.

use std::collections::BTreeSet;

use binder_os::FuseDevice;
use binder_trace::TraceRecord;

use crate::logs::DataWanted;
use crate::stream_reads::{StreamRead, StreamReads, StreamSource};

/// Bytes that may wait for a follower.
const QUEUE_BYTES: usize = 4 << 20;
/// Room that is left for the record that tells how many were dropped.
const DROPPED_BYTES: usize = 16;

/// Which events a follower may see.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FollowerAccess {
    /// The user who follows.
    pub(crate) uid: u32,
    /// Whether the user sees the events of all users; if not, only what that user has sent or received.
    pub(crate) sees_all: bool,
    /// Whether the follower wants data, too.
    pub(crate) data: DataWanted,
}

impl FollowerAccess {
    /// How much of an event that concerns these users may be seen: nothing, the event, or its data as well. Data that
    /// passes between two users is for followers that see all.
    pub(crate) fn of(self, uids: [u32; 2]) -> Option<DataWanted> {
        let is_own = uids.contains(&self.uid);
        let is_all_own = uids == [self.uid; 2];
        match (self.sees_all, is_own) {
            (true, _) => Some(self.data),
            (false, true) if is_all_own => Some(self.data),
            (false, true) => Some(DataWanted::No),
            (false, false) => None,
        }
    }
}

/// An open file by which a trace is followed.
#[derive(Debug)]
pub(super) struct TraceFollower {
    access: FollowerAccess,
    queue: TraceQueue,
    /// Processes whose names this follower was told.
    introduced: BTreeSet<u32>,
    reads: StreamReads,
}

/// Records that wait for a follower, encoded.
#[derive(Debug, Default)]
struct TraceQueue {
    bytes: Vec<u8>,
    /// How many of them have been read.
    taken: usize,
    dropped: u64,
}

impl TraceFollower {
    pub(super) fn new(access: FollowerAccess) -> Self {
        Self {
            access,
            queue: TraceQueue::default(),
            introduced: BTreeSet::new(),
            reads: StreamReads::default(),
        }
    }

    pub(super) fn access(&self) -> FollowerAccess {
        self.access
    }

    /// Puts a record into the queue, or counts it as dropped. Says which.
    pub(super) fn put(&mut self, record: &TraceRecord) -> bool {
        let mut bytes = Vec::new();
        record.encode(&mut bytes);
        self.put_encoded(&bytes)
    }

    /// The same with a record that is encoded.
    pub(super) fn put_encoded(&mut self, bytes: &[u8]) -> bool {
        self.queue.put(bytes)
    }

    /// Counts records that were dropped before they reached this queue.
    pub(super) fn note_dropped(&mut self, records: u64) {
        self.queue.dropped += records;
    }

    /// Tells the name of a process, which `name` looks up, unless this follower knows it.
    pub(super) fn introduce(&mut self, pid: u32, name: impl FnOnce() -> Option<String>) {
        if !self.introduced.contains(&pid)
            && let Some(name) = name()
            && self.put(&TraceRecord::Named { pid, name })
        {
            self.introduced.insert(pid);
        }
    }

    /// Has a process introduced anew.
    pub(super) fn forget_name(&mut self, pid: u32) {
        self.introduced.remove(&pid);
    }

    /// Answers a read, at once or when there is something.
    pub(super) fn read(&mut self, fuse: &FuseDevice, read: StreamRead) {
        self.reads.read(fuse, &mut self.queue, read);
    }

    /// Answers reads that wait, and wakes poll(2), if there are records.
    pub(super) fn answer(&mut self, fuse: &FuseDevice) {
        self.reads.answer(fuse, &mut self.queue);
    }

    /// Whether there is something to read; if not, `poll_handle` is told when there is.
    pub(super) fn is_readable(&mut self, poll_handle: Option<u64>) -> bool {
        self.reads.poll(poll_handle);
        self.queue.has_more()
    }

    /// Ends the sleep of a read. Says whether it is one of this follower.
    pub(super) fn interrupt(&mut self, fuse: &FuseDevice, target: u64) -> bool {
        self.reads.interrupt(fuse, target)
    }
}

impl TraceQueue {
    /// Puts a record into the queue, or counts it as dropped. Says which.
    fn put(&mut self, record: &[u8]) -> bool {
        if self.waiting().len() + record.len() + DROPPED_BYTES > QUEUE_BYTES {
            self.dropped += 1;
            return false;
        }
        self.tell_dropped();
        self.bytes.extend_from_slice(record);
        true
    }

    fn tell_dropped(&mut self) {
        let records = std::mem::take(&mut self.dropped);
        if records > 0 {
            TraceRecord::Dropped { records }.encode(&mut self.bytes);
        }
    }

    /// The bytes that are not read yet.
    fn waiting(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }
}

impl StreamSource for TraceQueue {
    fn has_more(&self) -> bool {
        !self.waiting().is_empty() || self.dropped > 0
    }

    fn take(&mut self, size: usize) -> Vec<u8> {
        if self.waiting().len() + DROPPED_BYTES <= QUEUE_BYTES {
            self.tell_dropped();
        }
        let waiting = self.waiting();
        let piece = waiting[..size.min(waiting.len())].to_vec();
        self.taken += piece.len();
        // Bytes are moved once at most, for as many others were read.
        if self.taken >= self.waiting().len() {
            self.bytes.drain(..self.taken);
            self.taken = 0;
        }
        piece
    }
}

#[cfg(test)]
mod tests {
    use binder_trace::RecordStream;

    use super::*;

    fn access(uid: u32, sees_all: bool) -> FollowerAccess {
        FollowerAccess { uid, sees_all, data: DataWanted::Yes }
    }

    #[test]
    fn users_see_their_own_calls_and_data_that_stays_with_them() {
        let own = access(7, false);
        assert_eq!(own.of([7, 7]), Some(DataWanted::Yes));
        assert_eq!(own.of([7, 8]), Some(DataWanted::No));
        assert_eq!(own.of([8, 7]), Some(DataWanted::No));
        assert_eq!(own.of([8, 8]), None);
        assert_eq!(access(0, true).of([8, 9]), Some(DataWanted::Yes));
        let without_data = FollowerAccess { data: DataWanted::No, ..access(0, true) };
        assert_eq!(without_data.of([0, 0]), Some(DataWanted::No));
    }

    #[test]
    fn what_finds_no_room_is_counted_and_told_in_its_place() {
        let mut follower = TraceFollower::new(access(0, true));
        let record = |pid| TraceRecord::Opened {
            at_ns: 1,
            device: "x".repeat(1000).into(),
            pid,
            ancestors: Vec::new(),
        };
        let sent = 5_000_u32;
        let kept = (0..sent).filter(|pid| follower.put(&record(*pid))).count();
        assert!(kept < sent as usize, "all found room");
        assert!(follower.queue.waiting().len() <= QUEUE_BYTES);
        let mut stream = RecordStream::default();
        stream.push(&follower.queue.take(usize::MAX));
        follower.put(&record(sent));
        follower.note_dropped(3);
        stream.push(&follower.queue.take(usize::MAX));
        stream.push(&follower.queue.take(usize::MAX));
        let (mut opened, mut drops) = (0, Vec::new());
        while let Some(record) = stream.next_record().unwrap() {
            match record {
                TraceRecord::Opened { .. } => opened += 1,
                TraceRecord::Dropped { records } => drops.push(records),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(drops.len(), 2, "{drops:?}");
        assert_eq!(opened + drops[0], u64::from(sent) + 1);
        assert_eq!((drops[1], follower.queue.has_more()), (3, false));
    }
}
