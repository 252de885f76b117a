//! Reads of a file without end: answered at once, or as soon as there is content.
//!
//! Events and traces are such files. Each open file of one has its own [`StreamReads`]; the content comes from a
//! [`StreamSource`].

use std::collections::VecDeque;

use binder_core::Errno;
use binder_os::FuseDevice;
use fuse_wire::{Read, notify, reply};

use crate::open_mode::O_NONBLOCK;
use crate::wire::send;

/// One read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StreamRead {
    pub(crate) unique: u64,
    pub(crate) size: usize,
    pub(crate) is_nonblocking: bool,
}

impl StreamRead {
    pub(crate) fn new(unique: u64, read: &Read) -> Self {
        let is_nonblocking = read.flags & O_NONBLOCK != 0;
        Self { unique, size: read.size as usize, is_nonblocking }
    }
}

/// The content of an open file.
pub(crate) trait StreamSource {
    /// Whether there is any.
    fn has_more(&self) -> bool;

    /// Takes `size` bytes of it at most.
    fn take(&mut self, size: usize) -> Vec<u8>;
}

/// The reads of an open file that wait, and the poll(2) that does.
#[derive(Debug, Default)]
pub(crate) struct StreamReads {
    sleeping: VecDeque<StreamRead>,
    poll_handle: Option<u64>,
}

impl StreamReads {
    /// Answers a read, at once or as soon as there is content.
    pub(crate) fn read(
        &mut self,
        fuse: &FuseDevice,
        source: &mut impl StreamSource,
        read: StreamRead,
    ) {
        if source.has_more() || read.size == 0 {
            let bytes = source.take(read.size);
            send(fuse, &reply::data(read.unique, &bytes));
        } else if read.is_nonblocking {
            send(fuse, &reply::error(read.unique, Errno::EAGAIN.number()));
        } else {
            self.sleeping.push_back(read);
        }
    }

    /// Answers reads that wait, and wakes poll(2), if there is content.
    pub(crate) fn answer(&mut self, fuse: &FuseDevice, source: &mut impl StreamSource) {
        while source.has_more()
            && let Some(read) = self.sleeping.pop_front()
        {
            let bytes = source.take(read.size);
            send(fuse, &reply::data(read.unique, &bytes));
        }
        if source.has_more()
            && let Some(handle) = self.poll_handle.take()
        {
            send(fuse, &notify::poll(handle));
        }
    }

    /// Remembers the poll handle to notify once there is content, in place of an earlier one; `None` changes nothing.
    pub(crate) fn poll(&mut self, poll_handle: Option<u64>) {
        self.poll_handle = poll_handle.or(self.poll_handle);
    }

    /// Ends the sleep of a read. Says whether it is one of these.
    pub(crate) fn interrupt(&mut self, fuse: &FuseDevice, target: u64) -> bool {
        let at = self.sleeping.iter().position(|read| read.unique == target);
        let Some(read) = at.and_then(|at| self.sleeping.remove(at)) else { return false };
        send(fuse, &reply::error(read.unique, Errno::EINTR.number()));
        true
    }
}
