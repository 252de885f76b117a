//! What went wrong lately, and the reads that wait for more.
//!
//! A follower reads one record after the other, each a line; a read at the end sleeps until there is
//! another, or a signal comes. A follower that falls behind by more than is kept misses the oldest,
//! and sees so by the numbers.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use binder_core::SendReport;
use binder_os::FuseDevice;
use binder_report::records::{EventRecord, to_lines};
use fuse_wire::flags::FUSE_POLL_SCHEDULE_NOTIFY;

use crate::stream_reads::{StreamRead, StreamReads, StreamSource};
use crate::wire::answer_poll;

/// Events that are kept.
const KEPT_EVENTS: usize = 1024;

/// Names an open file of the stream.
pub(crate) type FollowerId = u64;

/// The last lines of a text without end.
#[derive(Debug, Default)]
struct LastLines {
    kept: VecDeque<String>,
    /// The number of the next line, and one more than that of the newest.
    next: u64,
}

/// How far a reader of the file has read.
#[derive(Debug, Default)]
struct Cursor {
    /// The number of the next line to read.
    next: u64,
    /// The rest of the last line that was read: a short read ends within a line.
    rest: Vec<u8>,
}

impl LastLines {
    fn push(&mut self, line: String) {
        if self.kept.len() == KEPT_EVENTS {
            self.kept.pop_front();
        }
        self.kept.push_back(line);
        self.next += 1;
    }

    fn has_more_for(&self, cursor: &Cursor) -> bool {
        !cursor.rest.is_empty() || cursor.next < self.next
    }

    /// Reads on from a cursor, `size` bytes at most. Lines that are kept no longer are passed over.
    fn read(&self, cursor: &mut Cursor, size: usize) -> Vec<u8> {
        let oldest = self.next - self.kept.len() as u64;
        let mut bytes = std::mem::take(&mut cursor.rest);
        cursor.next = cursor.next.max(oldest);
        let unread = usize::try_from(cursor.next - oldest).unwrap_or(usize::MAX);
        for line in self.kept.iter().skip(unread) {
            if bytes.len() >= size {
                break;
            }
            bytes.extend(line.as_bytes());
            cursor.next += 1;
        }
        cursor.rest = bytes.split_off(bytes.len().min(size));
        bytes
    }
}

/// An open file of the stream.
#[derive(Debug, Default)]
struct EventFollower {
    cursor: Cursor,
    reads: StreamReads,
}

/// What a follower has not read.
struct Unread<'a> {
    lines: &'a LastLines,
    cursor: &'a mut Cursor,
}

impl StreamSource for Unread<'_> {
    fn has_more(&self) -> bool {
        self.lines.has_more_for(self.cursor)
    }

    fn take(&mut self, size: usize) -> Vec<u8> {
        self.lines.read(self.cursor, size)
    }
}

/// The events of a mount.
pub(crate) struct Events {
    fuse: Arc<FuseDevice>,
    lines: LastLines,
    followers: HashMap<FollowerId, EventFollower>,
}

impl Events {
    pub(crate) fn new(fuse: Arc<FuseDevice>) -> Self {
        Self { fuse, lines: LastLines::default(), followers: HashMap::new() }
    }

    /// Writes a report down and wakes the readers of the stream.
    pub(crate) fn note(&mut self, device: &str, report: &SendReport) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let unix_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        let record = EventRecord::new(self.lines.next, unix_ms, device, report);
        self.lines.push(to_lines([record]));
        for EventFollower { cursor, reads } in self.followers.values_mut() {
            reads.answer(&self.fuse, &mut Unread { lines: &self.lines, cursor });
        }
    }

    /// All events that are kept.
    pub(crate) fn lines(&self) -> String {
        self.lines.kept.iter().map(String::as_str).collect()
    }

    /// Answers a read of the stream, at once or when there is something to tell.
    pub(crate) fn read(&mut self, id: FollowerId, read: StreamRead) {
        let EventFollower { cursor, reads } = self.followers.entry(id).or_default();
        reads.read(&self.fuse, &mut Unread { lines: &self.lines, cursor }, read);
    }

    /// Answers poll(2) on the stream.
    pub(crate) fn poll(&mut self, id: FollowerId, unique: u64, handle: u64, flags: u32) {
        let follower = self.followers.entry(id).or_default();
        follower.reads.poll((flags & FUSE_POLL_SCHEDULE_NOTIFY != 0).then_some(handle));
        let is_readable = self.lines.has_more_for(&follower.cursor);
        answer_poll(&self.fuse, unique, is_readable);
    }

    /// Ends the sleep of the read behind request `target`. Says whether there was one.
    pub(crate) fn interrupt(&mut self, target: u64) -> bool {
        let fuse = &self.fuse;
        self.followers.values_mut().any(|follower| follower.reads.interrupt(fuse, target))
    }

    /// Forgets an open file of the stream.
    pub(crate) fn forget(&mut self, id: FollowerId) {
        self.followers.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_of_any_size_make_the_same_text() {
        let mut lines = LastLines::default();
        for line in ["one\n", "two\n", "three\n"] {
            lines.push(line.to_owned());
        }
        for size in 1..20 {
            let (mut cursor, mut text) = (Cursor::default(), Vec::new());
            while lines.has_more_for(&cursor) {
                let bytes = lines.read(&mut cursor, size);
                assert!(!bytes.is_empty() && bytes.len() <= size);
                text.extend(bytes);
            }
            assert_eq!(text, b"one\ntwo\nthree\n", "{size}");
            assert_eq!(lines.read(&mut cursor, size), b"");
        }
    }

    #[test]
    fn whoever_falls_behind_finishes_its_line_and_misses_the_oldest() {
        let mut lines = LastLines::default();
        lines.push("first\n".to_owned());
        let mut cursor = Cursor::default();
        assert_eq!(lines.read(&mut cursor, 2), b"fi");
        for number in 0..KEPT_EVENTS + 5 {
            lines.push(format!("{number}\n"));
        }
        assert_eq!(lines.read(&mut cursor, 8), b"rst\n5\n6\n");
        assert_eq!(lines.kept.len(), KEPT_EVENTS);
    }
}
