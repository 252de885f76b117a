//! What went wrong lately, and those who wait to hear of more.
//!
//! A follower reads one record after the other, each a line; a read at the end sleeps until there is
//! another, or a signal comes. A follower that falls behind by more than is kept misses the oldest,
//! and sees so by the numbers.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use binder_core::Report;
use binder_os::FuseDevice;
use binder_report::records::{EventRecord, to_lines};
use fuse_wire::flags::FUSE_POLL_SCHEDULE_NOTIFY;
use fuse_wire::{notify, reply};

use crate::wire::send;

/// Events that are kept.
const KEPT_EVENTS: usize = 1024;

const EINTR: i32 = 4;
const EAGAIN: i32 = 11;
const POLLIN: u32 = 0x001;
const POLLRDNORM: u32 = 0x040;

/// Names an open file of the stream.
pub(crate) type FollowerId = u64;

/// One read of the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StreamRead {
    pub(crate) unique: u64,
    pub(crate) size: usize,
    pub(crate) is_nonblocking: bool,
}

/// An open file of the stream.
#[derive(Debug, Default)]
struct Follower {
    /// The number of the next event to tell.
    next: u64,
    /// What is left of the event before: a short read ends within a line.
    rest: Vec<u8>,
    sleeping: VecDeque<StreamRead>,
    poll_handle: Option<u64>,
}

/// The events of a mount.
pub(crate) struct Events {
    fuse: Arc<FuseDevice>,
    /// The last ones as lines; the newest has the number `next` - 1.
    kept: VecDeque<String>,
    next: u64,
    followers: HashMap<FollowerId, Follower>,
}

impl Events {
    pub(crate) fn new(fuse: Arc<FuseDevice>) -> Self {
        Self { fuse, kept: VecDeque::new(), next: 0, followers: HashMap::new() }
    }

    /// Writes a report down and tells those who wait.
    pub(crate) fn note(&mut self, device: &str, report: &Report) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let unix_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        let record = EventRecord::new(self.next, unix_ms, device, report);
        if self.kept.len() == KEPT_EVENTS {
            self.kept.pop_front();
        }
        self.kept.push_back(to_lines([record]));
        self.next += 1;
        let followers: Vec<_> = self.followers.keys().copied().collect();
        for follower in followers {
            self.wake(follower);
        }
    }

    /// All events that are kept.
    pub(crate) fn lines(&self) -> String {
        self.kept.iter().map(String::as_str).collect()
    }

    /// Answers a read of the stream, at once or when there is something to tell.
    pub(crate) fn read(&mut self, id: FollowerId, read: StreamRead) {
        let bytes = self.take(id, read.size);
        if !bytes.is_empty() || read.size == 0 {
            send(&self.fuse, &reply::data(read.unique, &bytes));
        } else if read.is_nonblocking {
            send(&self.fuse, &reply::error(read.unique, EAGAIN));
        } else {
            self.followers.entry(id).or_default().sleeping.push_back(read);
        }
    }

    /// Answers poll(2) on the stream.
    pub(crate) fn poll(&mut self, id: FollowerId, unique: u64, handle: u64, flags: u32) {
        let next = self.next;
        let follower = self.followers.entry(id).or_default();
        if flags & FUSE_POLL_SCHEDULE_NOTIFY != 0 {
            follower.poll_handle = Some(handle);
        }
        let is_readable = !follower.rest.is_empty() || follower.next < next;
        let events = if is_readable { POLLIN | POLLRDNORM } else { 0 };
        send(&self.fuse, &reply::poll(unique, events));
    }

    /// Ends the sleep of the read behind request `target`. Says whether there was one.
    pub(crate) fn interrupt(&mut self, target: u64) -> bool {
        for follower in self.followers.values_mut() {
            let at = follower.sleeping.iter().position(|read| read.unique == target);
            if let Some(read) = at.and_then(|at| follower.sleeping.remove(at)) {
                send(&self.fuse, &reply::error(read.unique, EINTR));
                return true;
            }
        }
        false
    }

    /// Forgets an open file of the stream.
    pub(crate) fn forget(&mut self, id: FollowerId) {
        self.followers.remove(&id);
    }

    fn wake(&mut self, id: FollowerId) {
        let Some(follower) = self.followers.get_mut(&id) else { return };
        if let Some(handle) = follower.poll_handle.take() {
            send(&self.fuse, &notify::poll(handle));
        }
        while let Some(read) = self.followers.get_mut(&id).and_then(|it| it.sleeping.pop_front()) {
            let bytes = self.take(id, read.size);
            if bytes.is_empty() {
                if let Some(follower) = self.followers.get_mut(&id) {
                    follower.sleeping.push_front(read);
                }
                return;
            }
            send(&self.fuse, &reply::data(read.unique, &bytes));
        }
    }

    /// Takes what a follower has not read yet, `size` bytes at most.
    fn take(&mut self, id: FollowerId, size: usize) -> Vec<u8> {
        let oldest = self.next - self.kept.len() as u64;
        let follower = self.followers.entry(id).or_default();
        let mut bytes = std::mem::take(&mut follower.rest);
        follower.next = follower.next.max(oldest);
        let unread = usize::try_from(follower.next - oldest).unwrap_or(usize::MAX);
        for line in self.kept.iter().skip(unread) {
            if bytes.len() >= size {
                break;
            }
            bytes.extend(line.as_bytes());
            follower.next += 1;
        }
        follower.rest = bytes.split_off(bytes.len().min(size));
        bytes
    }
}
