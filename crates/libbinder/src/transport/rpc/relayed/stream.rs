//! An end of a stream whose other end is the peer's.
//!
//! Each has a thread: it reads from its file and tells the other end, and writes what that tells. What may be under way
//! [`binder_rpc::relay`] decides. Calls of the peer's only leave what they bring, so none waits for a file.

use std::io::{self, pipe};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use binder_rpc::relay::{RELAY_PIECE_BYTES, RelayEnd, RelayMessage, RelayOutput};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{Errno, read, retry_on_intr, write};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, recv, send, shutdown,
    socketpair,
};

use super::StreamCharge;
use crate::binder_impl::{
    BorrowedParcel, FIRST_CALL_TRANSACTION, FLAG_ONEWAY, IBinderInternal as _, Parcel, Remotable,
    TransactionCode,
};
use crate::transport::rpc::proxy::RpcProxy;
use crate::{DeathRecipient, IBinder as _, SpIBinder, StatusCode};

/// The interface of an end. All calls are one-way.
const DESCRIPTOR: &str = "anybinder.rpc.IRelayedStream";
const DATA: TransactionCode = FIRST_CALL_TRANSACTION;
const TAKEN: TransactionCode = FIRST_CALL_TRANSACTION + 1;
const END: TransactionCode = FIRST_CALL_TRANSACTION + 2;
const BROKEN: TransactionCode = FIRST_CALL_TRANSACTION + 3;

/// What a pipe takes at once without waiting, when there is room at all.
const PIPE_PIECE_BYTES: usize = 4096;

/// What can be done with the file of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamKind {
    /// It is read from: the end of a pipe.
    Readable,
    /// It is written to: the other one.
    Writable,
    /// Both: a socket.
    Socket,
}

impl StreamKind {
    /// What the other side does with its own.
    pub(super) fn mirror(self) -> Self {
        match self {
            Self::Readable => Self::Writable,
            Self::Writable => Self::Readable,
            Self::Socket => Self::Socket,
        }
    }

    /// Makes a file of this kind to be given away, and the one at the other end of it.
    pub(super) fn mirrored_pair(self, mode: WaitMode) -> Result<(OwnedFd, OwnedFd), StatusCode> {
        let pipe = || pipe().map(|(reader, writer)| (reader.into(), writer.into()));
        let pair = match self {
            Self::Readable => pipe(),
            Self::Writable => pipe().map(|(reader, writer)| (writer, reader)),
            Self::Socket => {
                let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
                socketpair(family, kind, SocketFlags::CLOEXEC, None).map_err(io::Error::from)
            }
        };
        let (given, kept): (OwnedFd, OwnedFd) = pair.map_err(|_| StatusCode::NO_MEMORY)?;
        if mode == WaitMode::Never {
            let set = fcntl_getfl(&given).and_then(|it| fcntl_setfl(&given, it | OFlags::NONBLOCK));
            set.map_err(|_| StatusCode::NO_MEMORY)?;
        }
        Ok((given, kept))
    }
}

/// What a reader or writer of the file does when it must wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitMode {
    Wait,
    Never,
}

/// An end, as its peer calls it. When the peer gives it back, its own end is gone: all that it has told has come by then.
#[derive(Debug)]
pub(super) struct StreamEnd(Arc<EndShared>);

/// An end without a file.
#[derive(Debug)]
pub(super) struct StreamStarter {
    shared: Arc<EndShared>,
    kind: StreamKind,
}

#[derive(Debug)]
struct EndShared {
    relay: Mutex<RelayEnd>,
    /// Whether the session is over, the peer out of step, or the thread at its end.
    is_dead: AtomicBool,
    /// Wakes the thread.
    wake: OwnedFd,
    /// While the peer has the end: it may go on to send.
    _charge: StreamCharge,
}

impl StreamEnd {
    /// An end, and what has it start when there is a file.
    pub(super) fn new(
        kind: StreamKind,
        charge: StreamCharge,
    ) -> Result<(Self, StreamStarter), StatusCode> {
        let relay = RelayEnd::new(kind != StreamKind::Writable, kind != StreamKind::Readable);
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let wake = wake.map_err(|_| StatusCode::NO_MEMORY)?;
        let (relay, is_dead) = (Mutex::new(relay), AtomicBool::new(false));
        let shared = Arc::new(EndShared { relay, is_dead, wake, _charge: charge });
        Ok((Self(Arc::clone(&shared)), StreamStarter { shared, kind }))
    }
}

impl Drop for StreamEnd {
    fn drop(&mut self) {
        self.0.relay().lose();
        self.0.wake();
    }
}

impl StreamStarter {
    /// Relays between the file and the peer's end until one of them is over.
    pub(super) fn start(self, file: OwnedFd, peer: SpIBinder) -> Result<(), StatusCode> {
        let Self { shared, kind } = self;
        if peer.as_remote().is_none() {
            return Err(StatusCode::BAD_VALUE);
        }
        let weak = Arc::downgrade(&shared);
        let recipient = DeathRecipient::new(move || {
            if let Some(shared) = weak.upgrade() {
                shared.die();
            }
        });
        peer.link_to_death(&recipient)?;
        let run = move || {
            let _recipient = recipient;
            let thread = EndThread { shared, file, kind, peer };
            if let Err(status) = thread.run() {
                tracing::debug!(%status, "a relayed stream was cut off");
            }
        };
        let spawned = thread::Builder::new().name("rpc-stream".to_owned()).spawn(run);
        spawned.map(drop).map_err(|_| StatusCode::NO_MEMORY)
    }
}

impl EndShared {
    fn relay(&self) -> MutexGuard<'_, RelayEnd> {
        // Nothing waits and nothing panics under the lock.
        self.relay.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        // Full is as good: it has been woken.
        let _ = write(&self.wake, &1_u64.to_ne_bytes());
    }

    fn die(&self) {
        self.is_dead.store(true, Ordering::Release);
        self.wake();
    }
}

impl Remotable for StreamEnd {
    fn get_descriptor() -> &'static str {
        DESCRIPTOR
    }

    fn on_transact(
        &self,
        code: TransactionCode,
        data: &BorrowedParcel<'_>,
        _: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        if self.0.is_dead.load(Ordering::Acquire) {
            return Err(StatusCode::DEAD_OBJECT);
        }
        let message = match code {
            DATA => RelayMessage::Data(data.read()?),
            TAKEN => {
                let bytes = usize::try_from(data.read::<i32>()?);
                RelayMessage::Taken(bytes.map_err(|_| StatusCode::BAD_VALUE)?)
            }
            END => RelayMessage::End,
            BROKEN => RelayMessage::Broken,
            _ => return Err(StatusCode::UNKNOWN_TRANSACTION),
        };
        let received = self.0.relay().receive(message);
        if let Err(error) = received {
            tracing::warn!(%error, "a relayed stream was cut off");
            self.0.die();
        }
        self.0.wake();
        Ok(())
    }
}

/// What the thread of an end has. The peer hears that it is gone by getting its own end back.
struct EndThread {
    shared: Arc<EndShared>,
    file: OwnedFd,
    kind: StreamKind,
    peer: SpIBinder,
}

impl Drop for EndThread {
    fn drop(&mut self) {
        self.shared.is_dead.store(true, Ordering::Release);
        // Not kept for as long as the peer has this end.
        let _ = self.shared.relay().break_output();
    }
}

/// What the thread waits for.
struct Wanted {
    readable: usize,
    is_writing: bool,
    /// The file is to be watched for its end at the other side, if for nothing else.
    is_watched: bool,
}

impl EndThread {
    fn run(&self) -> Result<(), StatusCode> {
        while let Some(wanted) = self.wanted() {
            let found = self.wait(&wanted).map_err(|_| StatusCode::UNKNOWN_ERROR)?;
            let mut told = Vec::new();
            let is_at_end = found.intersects(PollFlags::HUP | PollFlags::ERR);
            if wanted.readable > 0 && (is_at_end || found.contains(PollFlags::IN)) {
                self.read(wanted.readable, is_at_end, &mut told);
            } else if is_at_end {
                told.extend(self.shared.relay().break_output());
            }
            if wanted.is_writing && found.contains(PollFlags::OUT) {
                self.write(&mut told);
            }
            told.extend(self.shared.relay().take_taken());
            told.into_iter().try_for_each(|message| self.tell(message))?;
        }
        Ok(())
    }

    /// Returns the events to wait for; none once the stream is over.
    fn wanted(&self) -> Option<Wanted> {
        let mut relay = self.shared.relay();
        let is_finished = relay.output() == RelayOutput::Finished;
        if is_finished {
            relay.close_output();
        }
        if relay.is_over() || self.shared.is_dead.load(Ordering::Acquire) {
            return None;
        }
        if self.kind == StreamKind::Socket {
            if is_finished {
                let _ = shutdown(&self.file, Shutdown::Write);
            }
            if !relay.is_reading() {
                // Its other side takes nothing that would be written.
                let _ = shutdown(&self.file, Shutdown::Read);
                self.discard();
            }
        }
        let (readable, is_writing) = (relay.readable(), !relay.unwritten().is_empty());
        let is_watched = readable > 0 || is_writing || !relay.is_reading();
        Some(Wanted { readable, is_writing, is_watched })
    }

    /// Takes what has come into a socket that is shut down: a writer that waits for room at the other side hears of the end only when
    /// there is some.
    fn discard(&self) {
        let mut bytes = [0; 4096];
        let mut take = || retry_on_intr(|| recv(&self.file, &mut bytes[..], RecvFlags::DONTWAIT));
        // There is no more than fits a socket, except of a network, where it goes on to come.
        for _ in 0..1 << 12 {
            if !take().is_ok_and(|(count, _)| count > 0) {
                return;
            }
        }
    }

    fn wait(&self, wanted: &Wanted) -> Result<PollFlags, Errno> {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, wanted.readable > 0);
        flags.set(PollFlags::OUT, wanted.is_writing);
        let mut polled = vec![PollFd::new(&self.shared.wake, PollFlags::IN)];
        if wanted.is_watched {
            polled.push(PollFd::new(&self.file, flags));
        }
        retry_on_intr(|| poll(&mut polled, None))?;
        if polled[0].revents().contains(PollFlags::IN) {
            // Nothing to be read is as good: another wake-up was for all that there is.
            let _ = read(&self.shared.wake, &mut [0; 8]);
        }
        Ok(polled.get(1).map_or(PollFlags::empty(), PollFd::revents))
    }

    fn read(&self, at_most: usize, is_at_end: bool, told: &mut Vec<RelayMessage>) {
        let mut bytes = vec![0; at_most];
        let read = match self.kind {
            StreamKind::Socket => {
                let received =
                    retry_on_intr(|| recv(&self.file, &mut bytes[..], RecvFlags::DONTWAIT));
                received.map(|(count, _)| count)
            }
            StreamKind::Readable | StreamKind::Writable => {
                retry_on_intr(|| read(&self.file, &mut bytes[..]))
            }
        };
        let count = match read {
            // Another thread has read it.
            Err(Errno::AGAIN) if !is_at_end => return,
            Ok(count) => count,
            // A connection that was reset has nothing more. Other errors of poll(2) would stay for ever.
            Err(_) => 0,
        };
        let mut relay = self.shared.relay();
        if count == 0 && is_closed(self.file.as_fd()) {
            // The other side hears of it first, so that it does not end one direction alone.
            told.extend(relay.break_output());
        }
        told.push(relay.read(&bytes[..count]));
    }

    fn write(&self, told: &mut Vec<RelayMessage>) {
        let next = |most: usize| {
            let relay = self.shared.relay();
            let unwritten = relay.unwritten();
            unwritten[..unwritten.len().min(most)].to_vec()
        };
        let written = match self.kind {
            StreamKind::Socket => {
                let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
                let piece = next(RELAY_PIECE_BYTES);
                retry_on_intr(|| send(&self.file, &piece, flags))
            }
            StreamKind::Readable | StreamKind::Writable => {
                let piece = next(PIPE_PIECE_BYTES);
                retry_on_intr(|| write(&self.file, &piece))
            }
        };
        let mut relay = self.shared.relay();
        match written {
            Ok(count) => relay.wrote(count),
            Err(Errno::AGAIN) => {}
            Err(_) => told.extend(relay.break_output()),
        }
    }

    fn tell(&self, message: RelayMessage) -> Result<(), StatusCode> {
        let remote = self.peer.as_remote().ok_or(StatusCode::BAD_VALUE)?;
        let mut data = Parcel::for_codec(remote.codec());
        data.write_interface_token(DESCRIPTOR)?;
        let code = match message {
            RelayMessage::Data(bytes) => {
                data.write(&bytes)?;
                DATA
            }
            RelayMessage::Taken(bytes) => {
                data.write(&i32::try_from(bytes).map_err(|_| StatusCode::BAD_VALUE)?)?;
                TAKEN
            }
            RelayMessage::End => END,
            RelayMessage::Broken => BROKEN,
        };
        if let Some(proxy) = remote.as_any().downcast_ref::<RpcProxy>() {
            // The calls that are under way may wait for this very stream.
            proxy.session().pool.want_another();
        }
        self.peer.submit_transact(code, data, FLAG_ONEWAY).map(drop)
    }
}

/// Whether the other end of a socket or a pipe is closed.
fn is_closed(file: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::new(&file, PollFlags::empty())];
    let found = poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    found.is_ok() && polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
}
