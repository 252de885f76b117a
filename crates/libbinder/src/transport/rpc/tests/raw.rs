//! A peer that says what it likes.

use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;

use binder_rpc::{CallDirection, ProtocolVersion, encode, handshake, special};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::service::{ECHO, HANG_TIMEOUT};
use crate::transport::rpc::SessionLimits;
use crate::transport::rpc::endpoint::unix_address;

/// A socket that speaks for itself.
pub(super) struct Raw(pub(super) UnixStream);

impl Raw {
    pub(super) fn connect(name: &str) -> Self {
        let address = unix_address(name.as_ref()).expect("a name");
        let socket = UnixStream::connect_addr(&address).expect("a server");
        socket.set_read_timeout(Some(HANG_TIMEOUT)).expect("a timeout");
        socket.set_write_timeout(Some(HANG_TIMEOUT)).expect("a timeout");
        Self(socket)
    }

    /// Begins a session, in version 1.
    pub(super) fn open(name: &str) -> Self {
        Self::open_with(name, handshake::FdMode::None)
    }

    /// Begins a session, in version 1, in which descriptors may travel so.
    pub(super) fn open_with(name: &str, mode: handshake::FdMode) -> Self {
        let mut raw = Self::connect(name);
        raw.send(&handshake::open(ProtocolVersion::V1, CallDirection::Outgoing, mode, None));
        let mut response = [0; 8];
        raw.0.read_exact(&mut response).expect("an answer");
        assert_eq!(response, [1, 0, 0, 0, 0, 0, 0, 0]);
        raw
    }

    pub(super) fn send(&mut self, bytes: &[u8]) {
        // The server may have closed before all was sent.
        let _ = self.0.write_all(bytes);
    }

    /// Sends bytes, and descriptors with the first of them.
    pub(super) fn send_files(&mut self, bytes: &[u8], files: &[BorrowedFd<'_>]) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(253))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(files)), "there is space");
        let sent = sendmsg(&self.0, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL);
        assert_eq!(sent, Ok(bytes.len()));
    }

    /// Receives a message of this length.
    pub(super) fn receive(&mut self, bytes: usize) -> Vec<u8> {
        let mut message = vec![0; bytes];
        self.0.read_exact(&mut message).expect("a message");
        message
    }

    /// Asks for the root object, by which it is sent once.
    pub(super) fn ask_for_root(&mut self) {
        let mut root = call_bytes([0, 0], 0, 0);
        root[24..28].copy_from_slice(&special::GET_ROOT.to_le_bytes());
        self.send(&root);
        self.receive(16 + 20 + 16);
    }

    /// Waits for the answer to a ping.
    pub(super) fn ping(&mut self) {
        let mut ping = call_bytes([0, 0], 0, 0);
        ping[24..28].copy_from_slice(&special::GET_MAX_THREADS.to_le_bytes());
        self.send(&ping);
        self.receive(16 + 20 + 4);
    }

    /// Serves the opening of a session in version 1, whose root object the test does not look at.
    pub(super) fn serve_opening(&mut self) {
        self.receive(16 + 8);
        self.send(&handshake::response(ProtocolVersion::V1));
        self.answer_next(0, &[1]);
        self.answer_next(0, &[[32].as_slice(), &[7; 8]].concat());
        self.answer_next(0, &[1, 3, 0, 12]);
    }

    /// Receives a call without a parcel, in version 1, and answers it with these words; returns its bytes.
    pub(super) fn answer_next(&mut self, status: i32, words: &[u32]) -> Vec<u8> {
        let call = self.receive(16 + 40);
        let words: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let extent = encode::Extent { parcel_bytes: words.len(), positions: 0 };
        let head = encode::reply(ProtocolVersion::V1, status, extent, &SessionLimits::default());
        self.send(&head.expect("short"));
        self.send(&words);
        call
    }

    /// Whether the server has closed the connection; of one that has nothing to read.
    pub(super) fn has_ended(&mut self) -> bool {
        self.0.set_nonblocking(true).expect("it is a socket");
        let read = self.0.read(&mut [0]);
        self.0.set_nonblocking(false).expect("it is a socket");
        !read.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    }

    /// Waits until the server has closed the connection.
    pub(super) fn wait_for_the_end(mut self) {
        let mut rest = Vec::new();
        match self.0.read_to_end(&mut rest) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
        }
    }
}

/// Returns the code of a call.
pub(super) fn code_of(call: &[u8]) -> u32 {
    u32::from_le_bytes(call[24..28].try_into().expect("four bytes"))
}

/// Returns the bytes of a call without a parcel.
pub(super) fn call_bytes(address: [u32; 2], flags: u32, order: u64) -> Vec<u8> {
    let words =
        |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|word| word.to_le_bytes()).collect() };
    let order = order.to_le_bytes();
    let head = words(&[0, 40, 0, 0, address[0], address[1], ECHO, flags]);
    [&head[..], &order, &words(&[0, 0, 0, 0])].concat()
}

/// Returns a call with a parcel of that many descriptors, which the service does not read.
pub(super) fn call_with_files(address: [u32; 2], code: u32, count: usize) -> Vec<u8> {
    let mut call = call_bytes(address, 0, 0);
    call[24..28].copy_from_slice(&code.to_le_bytes());
    let bytes = |number: usize| u32::try_from(number).expect("small").to_le_bytes();
    call[4..8].copy_from_slice(&bytes(40 + count * 12));
    call[40..44].copy_from_slice(&bytes(count * 8));
    (0..count).for_each(|place| call.extend([bytes(2), bytes(place)].concat()));
    (0..count).for_each(|place| call.extend(bytes(place * 8)));
    call
}
