//! Files in sessions that cannot pass descriptors: their contents go to the other side instead.
//!
//! In the place of a descriptor stands an object of the sender, which holds the file. When the receiver first wants the
//! file it asks that what it is: sealed memory is copied, piece by piece; of a pipe or a socket
//! the receiver makes one of its own, and what goes in at one end of the two comes out at the other ([`stream`]). What
//! means something only where it was opened is refused before it is sent.

mod memory;
mod stream;

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat};
use rustix::net::SocketType;
use rustix::net::sockopt::{socket_acceptconn, socket_type};

use self::memory::SealedMemory;
use self::stream::{StreamEnd, StreamKind, WaitMode};
use super::quota::{PeerAccount, ServerCharge, ServerResource};
use crate::binder_impl::{
    Binder, BorrowedParcel, FIRST_CALL_TRANSACTION, IBinderInternal as _, Parcel, Remotable,
    TransactionCode,
};
use crate::transport::LocalObject;
use crate::{Interface as _, SpIBinder, StatusCode};

/// The interface of what stands for a file.
const DESCRIPTOR: &str = "anybinder.rpc.IRelayedFile";
/// Says what the file is.
const DESCRIBE: TransactionCode = FIRST_CALL_TRANSACTION;
/// Gives a piece of memory.
const READ: TransactionCode = FIRST_CALL_TRANSACTION + 1;
/// Joins the stream with the caller's end of it, and gives the end of this side.
const CONNECT: TransactionCode = FIRST_CALL_TRANSACTION + 2;

/// The memory that the files of one parcel may have together.
pub(super) const COPIED_BYTES_MAX: usize = 16 << 20;
/// The streams that a session relays at once. Each has a thread on either side.
const STREAMS_MAX: usize = 64;

/// The kind of a file, for relaying it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileKind {
    Memory(SealedMemory),
    /// A stream, and whether it is non-blocking.
    Stream(StreamKind, WaitMode),
}

impl FileKind {
    /// Finds out what a file is, or why it cannot be relayed.
    fn of(file: BorrowedFd<'_>) -> Result<Self, &'static str> {
        let status = fstat(file).map_err(|_| "nothing is known of it")?;
        let flags = fcntl_getfl(file).map_err(|_| "nothing is known of it")?;
        let kind = match (FileType::from_raw_mode(status.st_mode), flags & OFlags::RWMODE) {
            (FileType::RegularFile, _) => {
                return SealedMemory::of(file, status.st_size).map(Self::Memory);
            }
            (FileType::Fifo, OFlags::RDONLY) => StreamKind::Readable,
            (FileType::Fifo, OFlags::WRONLY) => StreamKind::Writable,
            (FileType::Fifo, _) => return Err("it is both ends of a pipe"),
            (FileType::Socket, _) => match (socket_type(file), socket_acceptconn(file)) {
                (Ok(SocketType::STREAM), Ok(false)) => StreamKind::Socket,
                _ => return Err("it is a socket, but not of a stream"),
            },
            _ => return Err("it is neither memory nor a stream"),
        };
        let is_nonblocking = flags.contains(OFlags::NONBLOCK);
        let mode = if is_nonblocking { WaitMode::Never } else { WaitMode::Wait };
        Ok(Self::Stream(kind, mode))
    }

    fn write(self, parcel: &mut BorrowedParcel<'_>) -> Result<(), StatusCode> {
        match self {
            Self::Memory(memory) => {
                parcel.write(&0_i32)?;
                memory.write(parcel)
            }
            Self::Stream(kind, mode) => {
                let kind = match kind {
                    StreamKind::Readable => 1_i32,
                    StreamKind::Writable => 2,
                    StreamKind::Socket => 3,
                };
                parcel.write(&kind)?;
                parcel.write(&(mode == WaitMode::Never))
            }
        }
    }

    fn read(parcel: &BorrowedParcel<'_>) -> Result<Self, StatusCode> {
        let kind = match parcel.read::<i32>()? {
            0 => return SealedMemory::read(parcel).map(Self::Memory),
            1 => StreamKind::Readable,
            2 => StreamKind::Writable,
            3 => StreamKind::Socket,
            _ => return Err(StatusCode::BAD_VALUE),
        };
        let mode = if parcel.read()? { WaitMode::Never } else { WaitMode::Wait };
        Ok(Self::Stream(kind, mode))
    }
}

/// How many streams a session relays, and the account that they are charged to.
#[derive(Debug)]
pub(super) struct RelayedStreams {
    count: AtomicUsize,
    account: PeerAccount,
}

impl RelayedStreams {
    pub(super) fn new(account: &PeerAccount) -> Arc<Self> {
        Arc::new(Self { count: AtomicUsize::new(0), account: account.clone() })
    }
}

/// One of them.
#[derive(Debug)]
struct StreamCharge {
    streams: Arc<RelayedStreams>,
    _charge: ServerCharge,
}

impl StreamCharge {
    fn take(streams: &Arc<RelayedStreams>) -> Result<Self, StatusCode> {
        let mut charge = streams.account.charge(ServerResource::Streams);
        charge.set(1).map_err(|reason| {
            tracing::warn!(%reason, "a stream is not relayed");
            StatusCode::NO_MEMORY
        })?;
        let more = |held: usize| (held < STREAMS_MAX).then_some(held + 1);
        let taken = streams.count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.map_err(|held| {
            tracing::warn!(held, "a stream is not relayed: the session has as many as it may have");
            StatusCode::NO_MEMORY
        })?;
        Ok(Self { streams: Arc::clone(streams), _charge: charge })
    }
}

impl Drop for StreamCharge {
    fn drop(&mut self) {
        self.streams.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The object that stands for a file of this side.
struct RelayedFile {
    kind: FileKind,
    /// Until its stream is joined.
    file: Mutex<Option<FileForPeer>>,
    streams: Arc<RelayedStreams>,
}

/// A file that is kept open for the peer, at its expense.
struct FileForPeer {
    file: OwnedFd,
    _charge: ServerCharge,
}

/// Makes the object that stands for a file.
///
/// # Errors
///
/// [`StatusCode::FDS_NOT_ALLOWED`] for one that cannot be relayed; the log says why.
pub(super) fn stand_in(
    file: BorrowedFd<'_>,
    streams: &Arc<RelayedStreams>,
) -> Result<SpIBinder, StatusCode> {
    let kind = FileKind::of(file).map_err(|reason| {
        tracing::warn!(reason, "a file cannot be relayed");
        StatusCode::FDS_NOT_ALLOWED
    })?;
    let mut charge = streams.account.charge(ServerResource::Files);
    charge.set(1).map_err(|reason| {
        tracing::warn!(%reason, "a file is not relayed");
        StatusCode::NO_MEMORY
    })?;
    let file = file.try_clone_to_owned().map_err(|_| StatusCode::NO_MEMORY)?;
    let held = FileForPeer { file, _charge: charge };
    let (file, streams) = (Mutex::new(Some(held)), Arc::clone(streams));
    Ok(Binder::new(RelayedFile { kind, file, streams }).as_binder())
}

/// What the files of one received parcel may need.
#[derive(Debug)]
pub(super) struct RelayBudget {
    bytes: AtomicUsize,
    streams: Arc<RelayedStreams>,
}

impl RelayBudget {
    pub(super) fn new(streams: &Arc<RelayedStreams>) -> Self {
        Self { bytes: AtomicUsize::new(COPIED_BYTES_MAX), streams: Arc::clone(streams) }
    }

    fn take_bytes(&self, bytes: usize) -> Result<(), StatusCode> {
        let less = |left: usize| left.checked_sub(bytes);
        let taken = self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        taken.map(drop).map_err(|left| {
            tracing::warn!(bytes, left, "the files of a parcel are too large to be copied");
            StatusCode::NO_MEMORY
        })
    }
}

/// Makes a file of what the object stands for.
pub(super) fn open(object: &SpIBinder, budget: &RelayBudget) -> Result<OwnedFd, StatusCode> {
    match FileKind::read(&*ask(object, DESCRIBE, |_| Ok(()))?)? {
        FileKind::Memory(memory) => {
            budget.take_bytes(memory.bytes)?;
            memory.copy(|offset, bytes| {
                let piece = ask(object, READ, |data| {
                    data.write(&i64::try_from(offset).map_err(|_| StatusCode::BAD_VALUE)?)?;
                    data.write(&i32::try_from(bytes).map_err(|_| StatusCode::BAD_VALUE)?)
                })?;
                piece.read()
            })
        }
        FileKind::Stream(kind, mode) => {
            let charge = StreamCharge::take(&budget.streams)?;
            let (theirs, ours) = kind.mirrored_pair(mode)?;
            let (end, starter) = StreamEnd::new(kind.mirror(), charge)?;
            let own = Binder::new(end).as_binder();
            let peer = ask(object, CONNECT, |data| data.write(&own))?.read()?;
            starter.start(ours, peer)?;
            Ok(theirs)
        }
    }
}

/// The file of an object of this side, for a reader of a parcel that this side has written.
pub(super) fn own_file(object: &SpIBinder) -> Option<Result<OwnedFd, StatusCode>> {
    let own = Binder::<RelayedFile>::from_binder(object).ok()?;
    let file = own.file();
    let copy = file.as_ref().ok_or(StatusCode::DEAD_OBJECT);
    Some(copy.and_then(|held| held.file.try_clone().map_err(|_| StatusCode::NO_MEMORY)))
}

/// Whether an object stands for a file, or is an end of a stream.
pub(super) fn is_own(object: &dyn LocalObject) -> bool {
    Binder::<StreamEnd>::is_behind(object) || Binder::<RelayedFile>::is_behind(object)
}

fn ask(
    object: &SpIBinder,
    code: TransactionCode,
    write: impl FnOnce(&mut Parcel) -> Result<(), StatusCode>,
) -> Result<Parcel, StatusCode> {
    let remote = object.as_remote().ok_or(StatusCode::BAD_VALUE)?;
    let mut data = Parcel::for_codec(remote.codec());
    data.write_interface_token(DESCRIPTOR)?;
    write(&mut data)?;
    data.set_deadline(crate::ThreadState::deadline());
    object.submit_transact(code, data, 0)
}

impl RelayedFile {
    fn file(&self) -> MutexGuard<'_, Option<FileForPeer>> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connect(&self, kind: StreamKind, peer: SpIBinder) -> Result<SpIBinder, StatusCode> {
        let charge = StreamCharge::take(&self.streams)?;
        let (end, starter) = StreamEnd::new(kind, charge)?;
        let held = self.file().take().ok_or(StatusCode::INVALID_OPERATION)?;
        starter.start(held.file, peer)?;
        Ok(Binder::new(end).as_binder())
    }
}

impl Remotable for RelayedFile {
    fn get_descriptor() -> &'static str {
        DESCRIPTOR
    }

    fn on_transact(
        &self,
        code: TransactionCode,
        data: &BorrowedParcel<'_>,
        reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        match (code, self.kind) {
            (DESCRIBE, kind) => kind.write(reply),
            (READ, FileKind::Memory(memory)) => {
                let (offset, bytes): (i64, i32) = (data.read()?, data.read()?);
                let file = self.file();
                let held = file.as_ref().ok_or(StatusCode::DEAD_OBJECT)?;
                reply.write(&memory.piece(held.file.as_fd(), offset, bytes)?)
            }
            (CONNECT, FileKind::Stream(kind, _)) => reply.write(&self.connect(kind, data.read()?)?),
            _ => Err(StatusCode::UNKNOWN_TRANSACTION),
        }
    }
}

impl fmt::Debug for RelayedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelayedFile").field("kind", &self.kind).finish_non_exhaustive()
    }
}
