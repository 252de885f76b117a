//! The open files of a client, taken by the numbers that it names.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::PidfdGetfdFlags;

use crate::processes;

/// Why a descriptor was not taken.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// Nothing is open at the number.
    #[error("descriptor {0} is not open")]
    NotOpen(i32),
    /// We have as many files as we may.
    #[error("no room for more files: {0}")]
    NoRoom(#[source] io::Error),
    /// The system keeps us from the client's files.
    #[error("the files of the client are out of reach: {0}")]
    OutOfReach(#[source] io::Error),
}

/// Opens a pidfd of process `tgid`, one of whose requests is unanswered.
///
/// # Errors
///
/// As pidfd_open(2).
pub fn of_process(tgid: u32) -> io::Result<OwnedFd> {
    processes::pidfd(tgid)
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
        Err(errno @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => {
            Err(TakeError::NoRoom(errno.into()))
        }
        Err(Errno::BADF) => Err(TakeError::NotOpen(number)),
        Err(errno) => Err(TakeError::OutOfReach(errno.into())),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Seek, Write};
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn the_very_file_is_taken() {
        let own = of_process(std::process::id()).unwrap();
        let memory = rustix::fs::memfd_create("taken", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let taken = take(&own, memory.as_raw_fd()).unwrap();
        let (mut memory, mut taken) = (File::from(memory), File::from(taken));
        taken.write_all(b"one position for both").unwrap();
        assert_eq!(memory.stream_position().unwrap(), 21);
        memory.rewind().unwrap();
        let mut text = String::new();
        taken.read_to_string(&mut text).unwrap();
        assert_eq!(text, "one position for both");
    }

    #[test]
    fn what_is_not_open_is_not_taken() {
        let own = of_process(std::process::id()).unwrap();
        for number in [-1, -10_000, i32::MIN, i32::MAX] {
            assert!(matches!(take(&own, number), Err(TakeError::NotOpen(_))), "{number}");
        }
        assert!(of_process(0).is_err());
    }
}
