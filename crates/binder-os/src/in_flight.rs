//! A file that this process keeps without having it open.
//!
//! It lies in the queue of a socket that no other process knows. A file that is *open* is flushed
//! when its descriptor goes, also at the end of a process: a server of files in user space is
//! asked, and waited for. One in a queue is only let go.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};

/// A file in flight, for as long as this lives. It costs a descriptor.
#[derive(Debug)]
pub struct FileInFlight {
    /// The other end is closed: what it sent stays.
    socket: OwnedFd,
}

impl FileInFlight {
    /// Keeps the file behind a descriptor that may be closed then.
    ///
    /// # Errors
    ///
    /// As socketpair(2) and sendmsg(2).
    pub fn new(file: BorrowedFd<'_>) -> io::Result<Self> {
        let (socket, other) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let files = [file];
        ancillary.push(SendAncillaryMessage::ScmRights(&files));
        let byte = [IoSlice::new(&[0])];
        rustix::net::sendmsg(&other, &byte, &mut ancillary, SendFlags::NOSIGNAL)?;
        Ok(Self { socket })
    }

    /// Opens another descriptor of the file, which stays in flight.
    ///
    /// # Errors
    ///
    /// As recvmsg(2); `ENFILE` if there is no room for a descriptor of ours.
    pub fn open(&self) -> io::Result<OwnedFd> {
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

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_file_in_flight_is_opened_again_and_again_and_ends_with_it() {
        let (mut reader, writer) = io::pipe().unwrap();
        let kept = FileInFlight::new(writer.as_fd()).unwrap();
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
}
