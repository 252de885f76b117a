//! Local sockets of packets, which bring files along and tell who sends.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};

/// How many files one packet may bring.
pub const PACKET_FILES_MAX: usize = 8;

/// One end of a connection. A packet arrives whole or not at all.
#[derive(Debug)]
pub struct PacketSocket {
    fd: OwnedFd,
}

/// Where connections are made by those who know its path.
#[derive(Debug)]
pub struct PacketListener {
    fd: OwnedFd,
}

/// What was received.
#[derive(Debug)]
pub struct Packet {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The files that came along; they are closed when another program is executed.
    pub files: Vec<OwnedFd>,
}

impl PacketListener {
    /// Makes a socket at `path`, where there must be nothing.
    ///
    /// # Errors
    ///
    /// As bind(2): `InvalidInput` for a path of more than 107 bytes.
    pub fn bind(path: &Path) -> io::Result<Self> {
        let fd = socket(SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?;
        rustix::net::bind(&fd, &address(path)?)?;
        rustix::net::listen(&fd, 64)?;
        Ok(Self { fd })
    }

    /// Takes the next connection, if there is one. Neither end waits for the other to read.
    ///
    /// # Errors
    ///
    /// As accept(2).
    pub fn accept(&self) -> io::Result<Option<PacketSocket>> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let accepted = rustix::io::retry_on_intr(|| rustix::net::accept_with(&self.fd, flags));
        match accepted {
            Ok(fd) => Ok(Some(PacketSocket { fd })),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::CONNABORTED) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl PacketSocket {
    /// Connects to a listener.
    ///
    /// # Errors
    ///
    /// As connect(2): `ConnectionRefused` if no process listens any more.
    pub fn connect(path: &Path) -> io::Result<Self> {
        let fd = socket(SocketFlags::CLOEXEC)?;
        rustix::net::connect(&fd, &address(path)?)?;
        Ok(Self { fd })
    }

    /// The user who made the connection from the other end.
    ///
    /// # Errors
    ///
    /// As getsockopt(2).
    pub fn peer_uid(&self) -> io::Result<u32> {
        Ok(rustix::net::sockopt::socket_peercred(&self.fd)?.uid.as_raw())
    }

    /// Sends a packet, with files.
    ///
    /// # Errors
    ///
    /// As sendmsg(2): `BrokenPipe` once the other end is closed, `WouldBlock` if that does not read.
    pub fn send(&self, bytes: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(PACKET_FILES_MAX))];
        let mut rights = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() && !rights.push(SendAncillaryMessage::ScmRights(files)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let flags = SendFlags::NOSIGNAL;
        rustix::io::retry_on_intr(|| {
            rustix::net::sendmsg(&self.fd, &[IoSlice::new(bytes)], &mut rights, flags)
        })?;
        Ok(())
    }

    /// Receives a packet of `most_bytes` at most; `None` if the other end is closed.
    ///
    /// # Errors
    ///
    /// As recvmsg(2): `WouldBlock` of an accepted connection to which no packet has come. `InvalidData` for
    /// a packet that is longer, which is lost.
    pub fn receive(&self, most_bytes: usize) -> io::Result<Option<Packet>> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(PACKET_FILES_MAX))];
        let mut rights = RecvAncillaryBuffer::new(&mut space);
        let mut bytes = vec![0; most_bytes];
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::TRUNC;
        let received = rustix::io::retry_on_intr(|| {
            rustix::net::recvmsg(&self.fd, &mut [IoSliceMut::new(&mut bytes)], &mut rights, flags)
        });
        let len = match received {
            Ok(message) => message.bytes,
            Err(rustix::io::Errno::CONNRESET) => 0,
            Err(errno) => return Err(errno.into()),
        };
        let files = rights.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(files) => Some(files),
            _ => None,
        });
        let files = files.flatten().collect();
        if len == 0 {
            return Ok(None);
        }
        if len > most_bytes {
            return Err(io::ErrorKind::InvalidData.into());
        }
        bytes.truncate(len);
        Ok(Some(Packet { bytes, files }))
    }
}

impl AsFd for PacketListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A file without a name, to be sent: what would be too long for a packet.
///
/// # Errors
///
/// As memfd_create(2).
pub fn unnamed_file() -> io::Result<File> {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    Ok(rustix::fs::memfd_create("request", flags)?.into())
}

fn socket(flags: SocketFlags) -> io::Result<OwnedFd> {
    Ok(rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?)
}

fn address(path: &Path) -> io::Result<SocketAddrUnix> {
    SocketAddrUnix::new(path).map_err(|_| {
        let words =
            format!("the path has {} bytes, and 107 at most are possible", path.as_os_str().len());
        io::Error::new(io::ErrorKind::InvalidInput, words)
    })
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, Write};

    use super::*;

    fn pair() -> (tempfile::TempDir, PacketSocket, PacketSocket) {
        let dir = tempfile::tempdir().unwrap();
        let listener = PacketListener::bind(&dir.path().join("socket")).unwrap();
        assert!(listener.accept().unwrap().is_none());
        let client = PacketSocket::connect(&dir.path().join("socket")).unwrap();
        let server = listener.accept().unwrap().unwrap();
        (dir, client, server)
    }

    #[test]
    fn packets_arrive_as_they_were_sent_with_their_files() {
        let (_dir, client, server) = pair();
        let mut file = unnamed_file().unwrap();
        file.write_all(b"inside").unwrap();
        file.rewind().unwrap();
        client.send(b"one", &[file.as_fd()]).unwrap();
        client.send(b"two", &[]).unwrap();
        let first = server.receive(16).unwrap().unwrap();
        assert_eq!((&*first.bytes, first.files.len()), (&b"one"[..], 1));
        let mut text = String::new();
        File::from(first.files.into_iter().next().unwrap()).read_to_string(&mut text).unwrap();
        assert_eq!(text, "inside");
        assert_eq!(server.receive(16).unwrap().unwrap().bytes, b"two");
        assert_eq!(server.receive(16).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let own = rustix::process::geteuid().as_raw();
        assert_eq!((server.peer_uid().unwrap(), client.peer_uid().unwrap()), (own, own));
    }

    #[test]
    fn a_packet_that_is_too_long_is_refused_and_the_next_one_comes() {
        let (_dir, client, server) = pair();
        client.send(b"much too long", &[]).unwrap();
        client.send(b"fine", &[]).unwrap();
        assert_eq!(server.receive(4).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(server.receive(4).unwrap().unwrap().bytes, b"fine");
    }

    #[test]
    fn the_end_of_one_side_is_seen_by_the_other() {
        let (_dir, client, server) = pair();
        drop(client);
        assert!(server.receive(16).unwrap().is_none());
        assert_eq!(server.send(b"x", &[]).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_path_that_is_too_long_is_told_its_length() {
        let path = std::path::PathBuf::from("/".repeat(200));
        let error = PacketListener::bind(&path).unwrap_err();
        assert!(error.to_string().contains("200 bytes"), "{error}");
    }
}
