//! Two processes at the ends of an AF_UNIX stream.

use std::convert::Infallible;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::caller::{self, EchoPeer, Round};
use super::files::{MAX_FILES, SentFile};
use super::placement::Cores;
use crate::actor::Actor;
use crate::affinity;
use crate::error::{BenchError, failed};
use crate::stream;

struct StreamClient {
    end: UnixStream,
    file: SentFile,
    files: u32,
}

/// Room for the files of a message.
const FILES_BYTES: usize = rustix::cmsg_space!(ScmRights(MAX_FILES as usize));

impl EchoPeer for StreamClient {
    fn prepare(&mut self, round: &Round) -> Result<(), BenchError> {
        self.files = round.files;
        Ok(())
    }

    fn round_trip(&mut self, message: &[u8], reply: &mut Vec<u8>) -> Result<(), BenchError> {
        if self.files == 0 {
            return stream::round_trip(&mut self.end, message, reply);
        }
        reply.resize(message.len(), 0);
        let exchanged = send(&self.end, message, &self.file.descriptors(self.files))
            .and_then(|()| receive(&self.end, reply));
        let (len, _) = exchanged.map_err(failed("calling over a socket"))?;
        reply.truncate(len);
        Ok(())
    }
}

/// Starts a client and a server, whose calls bring files, or do not.
pub(super) fn start(cores: Cores, has_files: bool) -> Result<(Actor, Actor), BenchError> {
    let (end, server_end) = stream::pair()?;
    let mut server = Actor::start("socket server", |link| {
        cores.server.map_or(Ok(()), affinity::pin_self)?;
        link.answer(&())?;
        match if has_files { serve(&server_end)? } else { stream::serve(server_end)? } {}
    })?;
    server.expect_ready()?;
    let client = Actor::start("socket client", |link| {
        cores.client.map_or(Ok(()), affinity::pin_self)?;
        caller::play(link, &mut StreamClient { end, file: SentFile::open()?, files: 0 })
    })?;
    Ok((client, server))
}

/// Sends every message back as it arrives, and its files.
fn serve(end: &UnixStream) -> Result<Infallible, BenchError> {
    let mut message = vec![0; stream::MESSAGE_MAX_BYTES];
    let mut echo = || {
        let (len, files) = receive(end, &mut message)?;
        let files: Vec<_> = files.iter().map(AsFd::as_fd).collect();
        send(end, &message[..len], &files)
    };
    loop {
        echo().map_err(failed("serving at a socket"))?;
    }
}

/// Sends a message, its length before it.
fn send(mut end: &UnixStream, message: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); FILES_BYTES];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let head = (message.len() as u64).to_ne_bytes();
    let parts = [IoSlice::new(&head), IoSlice::new(message)];
    let sent = sendmsg(end, &parts, &mut ancillary, SendFlags::empty())?;
    // What does not go along with the files goes behind.
    let sent = sent.checked_sub(head.len()).ok_or(io::ErrorKind::WriteZero)?;
    end.write_all(&message[sent..])
}

/// Receives a message. Returns its length and its files.
fn receive(mut end: &UnixStream, message: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); FILES_BYTES];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut head = [0; size_of::<u64>()];
    let parts = &mut [IoSliceMut::new(&mut head), IoSliceMut::new(message)];
    let received = recvmsg(end, parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let there = received.bytes.checked_sub(head.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
    let files = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    let files = files.flatten().collect();
    let len = usize::try_from(u64::from_ne_bytes(head)).unwrap_or(usize::MAX);
    let rest = message.get_mut(there..len).ok_or(io::ErrorKind::InvalidData)?;
    end.read_exact(rest)?;
    Ok((len, files))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn as_many_files_come_back_as_were_sent() {
        let (end, server) = stream::pair().unwrap();
        let serving = thread::spawn(move || serve(&server));
        let mut client = StreamClient { end, file: SentFile::open().unwrap(), files: 0 };
        for (files, bytes) in [(1, 0), (1, 64), (MAX_FILES, stream::MESSAGE_MAX_BYTES)] {
            client.files = files;
            let message = vec![7; bytes];
            let mut reply = vec![9];
            client.round_trip(&message, &mut reply).unwrap();
            assert!(reply == message, "{files} files, {bytes} bytes");
            send(&client.end, &[1], &client.file.descriptors(files)).unwrap();
            let (_, received) = receive(&client.end, &mut [0; 8]).unwrap();
            assert_eq!(received.len(), files as usize);
        }
        drop(client);
        serving.join().unwrap().unwrap_err();
    }
}
