//! A stream socket.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use binder_rpc::MAX_FILES;
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown, recv, recvmsg, send, sendmsg, shutdown,
};

use super::quota::{PeerAccount, ServerCharge, ServerResource};

/// What a read brought.
#[derive(Debug)]
pub(super) struct ReadBytes {
    /// Whether the other side has closed. If not, nothing means that what came makes no byte yet.
    pub(super) is_end: bool,
    /// Whether descriptors were lost.
    pub(super) lost_files: bool,
}

/// Whether to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadMode {
    Wait,
    Now,
}

/// A connected stream socket.
///
/// The socket blocks: a caller that does not want to wait says so with each call.
#[derive(Debug)]
pub(super) struct StreamSocket {
    socket: OwnedFd,
    /// Dropped after the socket.
    charge: ServerCharge,
    passes_files: AtomicBool,
    #[cfg(feature = "tls")]
    tls: Option<Box<super::tls::Tls>>,
}

impl StreamSocket {
    /// Takes a socket; `passes_files` says whether it is a Unix socket, on which descriptors come.
    pub(super) fn new(socket: OwnedFd, passes_files: bool) -> Self {
        Self {
            socket,
            charge: PeerAccount::default().charge(ServerResource::Connections),
            passes_files: AtomicBool::new(passes_files),
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    /// Takes a socket on which TLS is to be spoken; no descriptors come there.
    #[cfg(feature = "tls")]
    pub(super) fn with_tls(socket: OwnedFd, tls: super::tls::Tls) -> Self {
        Self { tls: Some(Box::new(tls)), ..Self::new(socket, false) }
    }

    /// Holds a server's charge for this socket until that is closed.
    pub(super) fn hold(&mut self, charge: ServerCharge) {
        self.charge = charge;
    }

    /// Returns the account that is charged for what comes here.
    pub(super) fn account(&self) -> &PeerAccount {
        self.charge.account()
    }

    /// Returns the TLS that is spoken, if any is.
    #[cfg(feature = "tls")]
    pub(super) fn tls(&self) -> Option<&super::tls::Tls> {
        self.tls.as_deref()
    }

    /// Sends what of the bytes goes at once, and waits for room for none of it.
    ///
    /// `files` go with the first byte.
    #[inline(always)]
    pub(super) fn send_now(&self, bytes: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<usize> {
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            return tls.send_now(&self.socket, bytes);
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        if files.is_empty() {
            // Costs the system less than a list of one part.
            return Ok(retry(|| send(&self.socket, bytes, flags))?);
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !ancillary.push(SendAncillaryMessage::ScmRights(files)) {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        Ok(retry(|| sendmsg(&self.socket, &[IoSlice::new(bytes)], &mut ancillary, flags))?)
    }

    /// Returns whether descriptors can travel here.
    pub(super) fn passes_files(&self) -> bool {
        self.passes_files.load(Ordering::Relaxed)
    }

    /// Returns whether the other side has closed, whatever of it is unread.
    pub(super) fn is_closed_by_peer(&self) -> bool {
        self.poll(PollFlags::RDHUP, Duration::ZERO).is_ok_and(|found| !found.is_empty())
    }

    /// Returns whether the other side has closed and has sent nothing that is unread.
    pub(super) fn is_closed_without_a_word(&self) -> bool {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match recv(&self.socket, &mut [0], flags) {
            Ok((_, bytes)) => bytes == 0,
            // Others, as of a connection that was reset, stay.
            Err(error) => !matches!(error, Errno::AGAIN | Errno::INTR),
        }
    }

    /// Receives no descriptors from here on: the system drops what comes, and does less for it.
    pub(super) fn refuse_files(&self) {
        self.passes_files.store(false, Ordering::Relaxed);
    }

    /// Sends what was taken and is not sent yet; says whether that was all of it.
    /// [`io::ErrorKind::WouldBlock`] if nothing goes.
    #[cfg_attr(not(feature = "tls"), expect(clippy::unused_self, reason = "TLS has a buffer"))]
    pub(super) fn flush_now(&self) -> io::Result<bool> {
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            return tls.flush_now(&self.socket);
        }
        Ok(true)
    }

    /// Returns whether something was taken and is not sent yet.
    #[cfg_attr(not(feature = "tls"), expect(clippy::unused_self, reason = "TLS has a buffer"))]
    pub(super) fn has_unsent(&self) -> bool {
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            return tls.has_unsent();
        }
        false
    }

    /// Returns whether something has come in part that is not even a byte yet.
    #[cfg_attr(not(feature = "tls"), expect(clippy::unused_self, reason = "TLS has records"))]
    pub(super) fn is_within_record(&self) -> bool {
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            return tls.is_within_record();
        }
        false
    }

    /// Returns whether something may have come that the system does not tell of any more.
    #[cfg_attr(not(feature = "tls"), expect(clippy::unused_self, reason = "TLS has a buffer"))]
    pub(super) fn reads_ahead(&self) -> bool {
        #[cfg(feature = "tls")]
        return self.tls.is_some();
        #[cfg(not(feature = "tls"))]
        false
    }

    /// Receives behind the contents of `to`, as far as there is room, and descriptors behind those in
    /// `files`. Where these may come, it is `usual_bytes` at most, or as much again as there is.
    #[inline(always)]
    pub(super) fn receive(
        &self,
        to: &mut Vec<u8>,
        usual_bytes: usize,
        files: &mut Vec<OwnedFd>,
        patience: ReadMode,
    ) -> io::Result<ReadBytes> {
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            return tls.receive(&self.socket, to, patience);
        }
        let mut flags = RecvFlags::CMSG_CLOEXEC;
        if patience == ReadMode::Now {
            flags |= RecvFlags::DONTWAIT;
        }
        if !self.passes_files() {
            let bytes = retry(|| recv(&self.socket, spare_capacity(to), flags).map(|it| it.1))?;
            return Ok(ReadBytes { is_end: bytes == 0, lost_files: false });
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        // This call stores only where something is. Only as much as will be needed, for it takes time.
        let start = to.len();
        to.resize(to.capacity().min(start + usual_bytes.max(start)), 0);
        let message = retry(|| {
            recvmsg(&self.socket, &mut [IoSliceMut::new(&mut to[start..])], &mut ancillary, flags)
        });
        to.truncate(start + message.as_ref().map_or(0, |message| message.bytes));
        let message = message?;
        for received in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = received {
                files.extend(rights);
            }
        }
        let lost_files = message.flags.contains(ReturnFlags::CTRUNC);
        Ok(ReadBytes { is_end: message.bytes == 0, lost_files })
    }

    /// Waits until there is room to send, or if `or_input` something to receive, for `at_most` that
    /// long; says whether the latter is so.
    pub(super) fn wait_for_room(&self, or_input: bool, at_most: Duration) -> io::Result<bool> {
        let wanted = if or_input { PollFlags::OUT | PollFlags::IN } else { PollFlags::OUT };
        let found = self.poll(wanted, at_most)?;
        Ok(or_input && found.intersects(PollFlags::IN | PollFlags::HUP))
    }

    /// Waits until there is something to receive, for `at_most` that long.
    pub(super) fn wait_for_input(&self, at_most: Duration) -> io::Result<()> {
        self.poll(PollFlags::IN, at_most).map(drop)
    }

    fn poll(&self, wanted: PollFlags, at_most: Duration) -> io::Result<PollFlags> {
        let mut polled = [PollFd::new(&self.socket, wanted)];
        let at_most = Timespec::try_from(at_most).map_err(|_| Errno::INVAL)?;
        retry(|| poll(&mut polled, Some(&at_most)))?;
        Ok(polled[0].revents())
    }

    /// Ends every wait on the socket, here and there.
    pub(super) fn close(&self) {
        // A socket that is closed already is as good.
        let _ = shutdown(&self.socket, Shutdown::Both);
    }

    /// Bounds every wait for input, or none any more.
    pub(super) fn set_receive_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        Ok(set_socket_timeout(&self.socket, Timeout::Recv, timeout)?)
    }

    /// Bounds every wait on the socket, or none any more.
    pub(super) fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        set_socket_timeout(&self.socket, Timeout::Recv, timeout)?;
        Ok(set_socket_timeout(&self.socket, Timeout::Send, timeout)?)
    }
}

impl AsFd for StreamSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}
