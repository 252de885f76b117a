//! Calls that bring files, and whose replies bring them back.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use binder_uapi::{BINDER_TYPE_FD, BinderFdObject};
use zerocopy::IntoBytes;

use crate::error::{BenchError, failed};

/// How many files a message of a socket may bring.
pub(crate) const MAX_FILES: u32 = 253;

/// The file that is sent, again and again.
pub(crate) struct SentFile(File);

impl SentFile {
    pub(crate) fn open() -> Result<Self, BenchError> {
        File::open("/dev/null").map(Self).map_err(failed("opening /dev/null"))
    }

    pub(crate) fn descriptors(&self, count: u32) -> Vec<BorrowedFd<'_>> {
        (0..count).map(|_| self.0.as_fd()).collect()
    }

    /// Replaces `data` by that many objects that are the file, and `rest`. Returns where the objects are.
    pub(crate) fn put(&self, count: u32, rest: &[u8], data: &mut Vec<u8>) -> Vec<u64> {
        let fd = self.0.as_raw_fd().cast_unsigned();
        let object = BinderFdObject { kind: BINDER_TYPE_FD, fd, ..Default::default() };
        data.clear();
        let mut offsets = Vec::with_capacity(count as usize);
        for _ in 0..count {
            offsets.push(data.len() as u64);
            data.extend(object.as_bytes());
        }
        data.extend(rest);
        offsets
    }
}

/// Removes that many objects from the beginning of a message.
pub(crate) fn remove_objects(count: u32, data: &mut Vec<u8>) {
    let bytes = count as usize * size_of::<BinderFdObject>();
    data.drain(..bytes.min(data.len()));
}
