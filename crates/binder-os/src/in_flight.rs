//! A file that this process keeps without having it open.
//!
//! It lies in the queue of a socket. A file that is *open* is flushed when its descriptor goes, also at the end
//! of a process: a server of files in user space is asked, and waited for. One in a queue is only let go.
//!
//! To put it there, a thread opens it for a moment. That thread has a table of descriptors of its own, so the table
//! of the process never holds the file, and the end of the process closes `/dev/fuse` without waiting for the thread.

#![expect(unsafe_code, reason = "close_range(2) has no safe wrapper")]

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::mpsc;
use std::thread;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};

use crate::client_files::{self, TakeError};

/// A file in flight, for as long as this lives. It costs a descriptor.
#[derive(Debug)]
pub struct FileInFlight {
    /// The other end is closed: what it sent stays.
    socket: OwnedFd,
}

impl FileInFlight {
    /// Takes the file that a client has open as `number`, as [`client_files::take`] does. It may be one that this
    /// very thread serves.
    ///
    /// # Errors
    ///
    /// [`TakeError`].
    pub fn take(client: BorrowedFd<'_>, number: RawFd) -> Result<Self, TakeError> {
        let (socket, other) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .map_err(no_room)?;
        let (client, queue) = (client.as_raw_fd(), other.as_raw_fd());
        let (tell, told) = mpsc::channel();
        let take = move || {
            let (result, file) = match put_in_queue(client, number, queue) {
                Ok(file) => (Ok(()), Some(file)),
                Err(error) => (Err(error), None),
            };
            // The caller goes on first: the file's server is asked for its close, and may be the caller.
            let _ = tell.send(result);
            drop(file);
        };
        thread::Builder::new().name("take".into()).spawn(take).map_err(TakeError::NoRoom)?;
        told.recv().unwrap_or_else(|_| Err(no_room(Errno::IO)))?;
        Ok(Self { socket })
    }

    /// Opens a descriptor of the file, which stays in flight. Not for the process that serves the file.
    ///
    /// # Errors
    ///
    /// As recvmsg(2); `ENFILE` if there is no room for a descriptor of ours.
    pub(crate) fn open(&self) -> io::Result<OwnedFd> {
        let mut byte = [0];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::PEEK | RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
        let into = &mut [IoSliceMut::new(&mut byte)];
        rustix::net::recvmsg(&self.socket, into, &mut ancillary, flags)?;
        let file = ancillary.drain().find_map(|part| match part {
            RecvAncillaryMessage::ScmRights(mut files) => files.next(),
            _ => None,
        });
        // The kernel says so by leaving it out.
        file.ok_or_else(|| Errno::NFILE.into())
    }
}

impl AsFd for FileInFlight {
    /// The socket: another process can open the file by that.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl From<OwnedFd> for FileInFlight {
    /// From the socket of one that another process keeps.
    fn from(socket: OwnedFd) -> Self {
        Self { socket }
    }
}

/// Takes a file into the table of the calling thread, which owns no descriptor yet, and puts it into the queue behind
/// a socket. Returns it, to be closed. `client` and `queue` are numbers in the table of the process.
fn put_in_queue(client: RawFd, number: RawFd, queue: RawFd) -> Result<OwnedFd, TakeError> {
    begin_own_table().map_err(TakeError::NoRoom)?;
    let process = client_files::of_process(std::process::id()).map_err(TakeError::NoRoom)?;
    let client = client_files::take(&process, client)?;
    let queue = client_files::take(&process, queue)?;
    let file = client_files::take(client, number)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let files = [file.as_fd()];
    ancillary.push(SendAncillaryMessage::ScmRights(&files));
    let byte = [IoSlice::new(&[0])];
    rustix::net::sendmsg(&queue, &byte, &mut ancillary, SendFlags::NOSIGNAL).map_err(no_room)?;
    Ok(file)
}

/// Gives the calling thread, which owns no descriptor, an empty table of descriptors of its own. The one that it
/// shared stays as it is: nothing is closed.
fn begin_own_table() -> io::Result<()> {
    let (first, last, how) = (0_u32, u32::MAX, libc::CLOSE_RANGE_UNSHARE);
    // SAFETY: it takes numbers only. Descriptors that other threads own stay open in the table that those share.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, last, how) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn no_room(errno: Errno) -> TakeError {
    TakeError::NoRoom(errno.into())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn a_file_in_flight_is_opened_again_and_again_and_ends_with_it() {
        let own = client_files::of_process(std::process::id()).unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        let kept = FileInFlight::take(own.as_fd(), writer.as_raw_fd()).unwrap();
        drop(writer);
        for _ in 0..2 {
            File::from(kept.open().unwrap()).write_all(b"x").unwrap();
        }
        drop(kept);
        let mut text = String::new();
        // To the end: no descriptor of the writing end is left.
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "xx");
    }

    #[test]
    fn what_is_not_open_is_not_taken() {
        let own = client_files::of_process(std::process::id()).unwrap();
        for number in [-1, i32::MAX] {
            let taken = FileInFlight::take(own.as_fd(), number);
            assert!(matches!(taken, Err(TakeError::NotOpen(_))), "{number}");
        }
    }

    #[test]
    fn a_thread_with_a_table_of_its_own_has_nothing_open_and_leaves_others_theirs() {
        let (mut reader, mut writer) = io::pipe().unwrap();
        let open = thread::spawn(|| {
            begin_own_table().unwrap();
            std::fs::read_dir("/proc/thread-self/fd").unwrap().count()
        });
        assert_eq!(open.join().unwrap(), 1, "but the directory itself");
        writer.write_all(b"x").unwrap();
        reader.read_exact(&mut [0]).unwrap();
    }
}
