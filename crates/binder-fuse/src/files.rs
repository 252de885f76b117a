//! A file of a client that is on its way to another.
//!
//! To close one may take time, and requests to this very file system: a thread that drops one leaves the
//! closing to the pool. One that we serve ourselves is [in flight](FileInFlight), and open for
//! moments only ([why](crate::served)).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;

use binder_core::Errno;
use binder_os::{FileInFlight, proc_files};

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

/// A descriptor of a file.
pub(crate) enum Opened<'h> {
    Held(BorrowedFd<'h>),
    /// Of one in flight: a pool thread closes it.
    Another(Another<'h>),
}

pub(crate) struct Another<'h> {
    /// Absent only while it is dropped.
    fd: Option<OwnedFd>,
    of: &'h HeldFile,
}

impl HeldFile {
    /// Holds a file that was taken from its sender.
    ///
    /// # Errors
    ///
    /// If it is one of ours, and cannot be in flight.
    pub(crate) fn new(
        file: OwnedFd,
        permit: Charge,
        sender: Account,
        pool: Arc<BlockingPool>,
    ) -> io::Result<Self> {
        let id = proc_files::id_of(file.as_fd());
        let held = if id.is_ok_and(|id| served::is_served(id.device)) {
            let in_flight = FileInFlight::new(file.as_fd());
            pool.run(sender, move |_| drop(file));
            Held::InFlight(in_flight?)
        } else {
            Held::Open(file)
        };
        Ok(Self { held: Some((held, permit)), sender, pool })
    }

    /// Its descriptor, by which others may take it from us, if it has one all the time.
    pub(crate) fn number(&self) -> Option<RawFd> {
        match &self.held {
            Some((Held::Open(file), _)) => Some(file.as_raw_fd()),
            Some((Held::InFlight(_), _)) | None => None,
        }
    }

    /// Lends a descriptor of it, to be given to its receiver at once.
    ///
    /// # Errors
    ///
    /// If there can be no other descriptor.
    pub(crate) fn open(&self) -> io::Result<Opened<'_>> {
        match &self.held {
            Some((Held::Open(file), _)) => Ok(Opened::Held(file.as_fd())),
            Some((Held::InFlight(file), _)) => {
                Ok(Opened::Another(Another { fd: Some(file.open()?), of: self }))
            }
            None => Err(io::Error::from_raw_os_error(Errno::EBADF.number())),
        }
    }

    /// Who sent it, and decides how long it takes to close.
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
        if let Some((file, permit)) = self.held.take() {
            self.pool.run(self.sender, move |_| drop((file, permit)));
        }
    }
}

impl AsFd for Opened<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Held(fd) => *fd,
            Self::Another(another) => {
                another.fd.as_ref().expect("it is open until it is dropped").as_fd()
            }
        }
    }
}

impl Drop for Another<'_> {
    fn drop(&mut self) {
        if let Some(fd) = self.fd.take() {
            self.of.pool.run(self.of.sender, move |_| drop(fd));
        }
    }
}
