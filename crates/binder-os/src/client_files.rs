//! The open files of a client, taken by the numbers that it names.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::PidfdGetfdFlags;

/// Why a descriptor was not taken.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// Nothing is open at the number.
    #[error("descriptor {0} is not open")]
    NotOpen(i32),
    /// The system keeps us from the client's files.
    #[error("the files of the client are out of reach: {0}")]
    OutOfReach(#[source] io::Error),
}

/// Takes a reference to the file that a client has open as `number`.
///
/// `client` is a pidfd. One of a thread (PIDFD_THREAD) leads to the table of that thread, which may
/// be its own; one of a process leads to the table of the first thread.
///
/// # Errors
///
/// [`TakeError`].
pub fn take(client: impl AsFd, number: i32) -> Result<OwnedFd, TakeError> {
    // A negative number is nothing that could be open; the call would take it for a flag of its own.
    if number < 0 {
        return Err(TakeError::NotOpen(number));
    }
    match rustix::process::pidfd_getfd(client, number, PidfdGetfdFlags::empty()) {
        Ok(file) => Ok(file),
        Err(Errno::BADF) => Err(TakeError::NotOpen(number)),
        Err(errno) => Err(TakeError::OutOfReach(errno.into())),
    }
}
