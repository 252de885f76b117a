//! The file systems that this process serves.
//!
//! None of their files may be open here, not for a moment. A thread that closes a descriptor asks the file's server first
//! (FUSE_FLUSH) and cannot be kept from waiting for the answer; a process that dies closes its descriptors before the
//! kernel takes /dev/fuse from it. So it would wait for itself, and for ever. A file that is
//! [in flight](binder_os::FileInFlight) is let go without a question.

use std::sync::{Mutex, MutexGuard};

use binder_os::proc_files::{self, DeviceNumber};

static ALL: Mutex<Vec<DeviceNumber>> = Mutex::new(Vec::new());

/// A file system is served, for as long as this lives.
#[derive(Debug)]
pub(crate) struct Served(DeviceNumber);

impl Served {
    pub(crate) fn new(device: DeviceNumber) -> Self {
        all().push(device);
        Self(device)
    }

    /// The number by which the kernel knows its files.
    pub(crate) fn device(&self) -> DeviceNumber {
        self.0
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let mut all = all();
        if let Some(at) = all.iter().position(|device| *device == self.0) {
            all.swap_remove(at);
        }
    }
}

/// Whether thread `tid` has a file open as `fd` that is known to be none of ours.
pub(crate) fn has_other_file(tid: u32, fd: u32) -> bool {
    proc_files::id_of_descriptor(tid, fd).is_ok_and(|id| !all().contains(&id.device))
}

fn all() -> MutexGuard<'static, Vec<DeviceNumber>> {
    ALL.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
