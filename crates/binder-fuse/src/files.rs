//! Files of clients that are on their way to others.
//!
//! To close one may take time, and requests to this very file system: whoever drops one leaves the
//! closing to the runners.

use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard};

use binder_core::Errno;

use crate::runners::Runners;

/// As many files as are held for all clients together; half of them for one user.
const MAX_FILES: usize = 8192;

/// The files that are held, counted by who sent them.
pub(crate) struct Files {
    runners: Arc<Runners>,
    by_user: Mutex<HashMap<u32, usize>>,
}

/// A file that its sender may have closed since.
pub(crate) struct HeldFile {
    /// Absent only while it is dropped.
    file: Option<OwnedFd>,
    uid: u32,
    files: Arc<Files>,
}

impl Files {
    pub(crate) fn new(runners: Arc<Runners>) -> Self {
        Self { runners, by_user: Mutex::default() }
    }

    /// Keeps what `take` takes for user `uid`.
    pub(crate) fn keep(
        self: &Arc<Self>,
        uid: u32,
        take: impl FnOnce() -> Result<OwnedFd, Errno>,
    ) -> Result<HeldFile, Errno> {
        {
            let mut by_user = self.by_user();
            let all: usize = by_user.values().sum();
            let own = by_user.entry(uid).or_default();
            if all >= MAX_FILES || *own >= MAX_FILES / 2 {
                return Err(Errno::ENOMEM);
            }
            *own += 1;
        }
        // From here on, the count is given back with the file, or with the want of one.
        let mut held = HeldFile { file: None, uid, files: self.clone() };
        held.file = Some(take()?);
        Ok(held)
    }

    fn give_back(&self, uid: u32) {
        let mut by_user = self.by_user();
        if let Some(count) = by_user.get_mut(&uid) {
            *count -= 1;
            if *count == 0 {
                by_user.remove(&uid);
            }
        }
    }

    fn by_user(&self) -> MutexGuard<'_, HashMap<u32, usize>> {
        self.by_user.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl HeldFile {
    pub(crate) fn number(&self) -> RawFd {
        self.file.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.file.as_ref().map(AsFd::as_fd)
    }

    /// Closes it here and now, which may take time.
    pub(crate) fn close(mut self) {
        drop(self.file.take());
    }
}

impl Drop for HeldFile {
    fn drop(&mut self) {
        let (files, uid) = (self.files.clone(), self.uid);
        match self.file.take() {
            Some(file) => self.files.runners.run(uid, move |_| {
                drop(file);
                files.give_back(uid);
            }),
            None => files.give_back(uid),
        }
    }
}
