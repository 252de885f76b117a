//! A file of a client that is on its way to another.
//!
//! To close one may take time, and requests to this very file system: whoever drops one leaves the
//! closing to the runners.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;

use crate::runners::Runners;
use crate::supply::{Payer, Permit};

/// A file that its sender may have closed since.
pub(crate) struct HeldFile {
    /// Absent only while it is dropped.
    held: Option<(OwnedFd, Permit)>,
    sender: Payer,
    runners: Arc<Runners>,
}

impl HeldFile {
    pub(crate) fn new(file: OwnedFd, permit: Permit, sender: Payer, runners: Arc<Runners>) -> Self {
        Self { held: Some((file, permit)), sender, runners }
    }

    pub(crate) fn number(&self) -> RawFd {
        self.fd().map_or(-1, |fd| fd.as_raw_fd())
    }

    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.held.as_ref().map(|(file, _)| file.as_fd())
    }

    /// Who sent it, and decides how long it takes to close.
    pub(crate) fn sender(&self) -> Payer {
        self.sender
    }

    /// Closes it here and now, which may take time.
    pub(crate) fn close(mut self) {
        drop(self.held.take());
    }
}

impl Drop for HeldFile {
    fn drop(&mut self) {
        if let Some((file, permit)) = self.held.take() {
            self.runners.run(self.sender, move |_| drop((file, permit)));
        }
    }
}
