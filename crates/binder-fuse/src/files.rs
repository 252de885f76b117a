//! A file of a client that is on its way to another.
//!
//! To close one may take time: a thread that drops one leaves the closing to the pool. One that we serve ourselves
//! is [in flight](FileInFlight), and never open here ([why](crate::served)).

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;

use binder_os::FileInFlight;
use binder_os::broker::GivenFile;
use binder_os::client_files::{self, TakeError};

use crate::blocking_pool::BlockingPool;
use crate::quota::{Account, Charge};
use crate::served;

/// A file that its sender may have closed since.
pub(crate) struct HeldFile {
    /// Absent only while it is dropped.
    held: Option<(Held, Charge)>,
    sender: Account,
    pool: Arc<BlockingPool>,
}

enum Held {
    Open(OwnedFd),
    InFlight(FileInFlight),
}

impl HeldFile {
    /// Takes the file that a client has open as `number`, in the table of its thread `tid`, to which the pidfd
    /// `client` leads.
    ///
    /// A file of ours must be known before it is taken: once it is open here it is too late. A client that puts one
    /// at that number just then can keep a dying daemon, but so it can by a file of a FUSE server of its own.
    ///
    /// # Errors
    ///
    /// [`TakeError`].
    pub(crate) fn take(
        client: BorrowedFd<'_>,
        (tid, number): (u32, RawFd),
        charge: Charge,
        sender: Account,
        pool: Arc<BlockingPool>,
    ) -> Result<Self, TakeError> {
        let held = if served::has_other_file(tid, number.cast_unsigned()) {
            Held::Open(client_files::take(client, number)?)
        } else {
            Held::InFlight(FileInFlight::take(client, number)?)
        };
        Ok(Self { held: Some((held, charge)), sender, pool })
    }

    /// Its descriptor, by which others may take it from us, if it has one.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.held {
            Some((Held::Open(file), _)) => Some(file.as_fd()),
            Some((Held::InFlight(_), _)) | None => None,
        }
    }

    /// The number of that descriptor.
    pub(crate) fn number(&self) -> Option<RawFd> {
        self.descriptor().map(|file| file.as_raw_fd())
    }

    /// The file, for a broker.
    pub(crate) fn given(&self) -> Option<GivenFile<'_>> {
        match &self.held {
            Some((Held::Open(file), _)) => Some(GivenFile::Open(file.as_fd())),
            Some((Held::InFlight(file), _)) => Some(GivenFile::InFlight(file)),
            None => None,
        }
    }

    /// The account of its sender, which decides how long closing it takes.
    pub(crate) fn sender(&self) -> Account {
        self.sender
    }

    /// Closes it here and now, which may take time.
    pub(crate) fn close(mut self) {
        drop(self.held.take());
    }
}

impl Drop for HeldFile {
    fn drop(&mut self) {
        if let Some((file, charge)) = self.held.take() {
            self.pool.run(self.sender, move || drop((file, charge)));
        }
    }
}
