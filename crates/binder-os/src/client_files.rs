//! The open files of a client, taken by the numbers that it names.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::sockopt;
use rustix::net::{AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
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

/// Sends files, as many as one message brings, to a socket of a client: never to another machine, nor does this wait.
///
/// # Errors
///
/// As sendmsg(2); ENOTSOCK for a file that is no socket of the family AF_UNIX.
pub fn send<'f>(
    socket: BorrowedFd<'_>,
    files: impl IntoIterator<Item = BorrowedFd<'f>>,
) -> Result<(), Errno> {
    if sockopt::socket_domain(socket)? != AddressFamily::UNIX {
        return Err(Errno::NOTSOCK);
    }
    let files: Vec<_> = files.into_iter().collect();
    let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(files.len()))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(&files)) {
        return Err(Errno::INVAL);
    }
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    rustix::net::sendmsg(socket, &[IoSlice::new(&[0])], &mut ancillary, flags)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Seek, Write};
    use std::net::{Shutdown, TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

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
    fn files_are_sent_to_sockets_of_this_machine_alone() {
        let file = File::open("/dev/null").unwrap();
        let (socket, other) = UnixStream::pair().unwrap();
        let files = || (0..253).map(|_| file.as_fd());
        send(socket.as_fd(), files()).unwrap();
        assert_eq!(send(socket.as_fd(), files().chain(files())), Err(Errno::INVAL), "too many");
        assert_eq!((&other).read(&mut [0; 2]).unwrap(), 1);
        // Dropped, it would be open in a child of another test's that has not executed its program yet.
        other.shutdown(Shutdown::Both).unwrap();
        assert_eq!(send(socket.as_fd(), files()), Err(Errno::PIPE));
        assert_eq!(send(file.as_fd(), files()), Err(Errno::NOTSOCK));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert_eq!(send(stream.as_fd(), files()), Err(Errno::NOTSOCK));
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
