//! The smallest client of a binder device that can call and be called.
//!
//! No objects, no references beyond handle 0, one thread: enough to see that a driver answers, and
//! to measure it. Programs use the client library.

use std::cell::RefCell;
use std::convert::Infallible;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use binder_uapi::{
    BC_ENTER_LOOPER, BC_FREE_BUFFER, BC_REPLY, BC_TRANSACTION, BINDER_TYPE_BINDER, BR_DEAD_REPLY,
    BR_FAILED_REPLY, BR_FROZEN_REPLY, BR_REPLY, BR_TRANSACTION, BinderFreezeInfo,
    BinderTransactionData, FLAT_BINDER_FLAG_ACCEPTS_FDS, FlatBinderObject, TF_ONE_WAY, payload_len,
};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use crate::binder_device::{BinderDevice, ReceivedData};
use crate::delivery::{IncomingTransaction, ObjectKind, ReceivedObject};

/// A thread's part of an open binder device.
#[derive(Debug)]
pub struct BinderClient {
    device: Arc<BinderDevice>,
    /// Commands that can wait for the next call: the last reply's buffer is to be freed.
    unsent: RefCell<CommandBuffer>,
}

/// A call as its receiver sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    /// What the caller wants.
    pub code: u32,
    /// The process of the caller, as numbered here.
    pub sender_pid: i32,
    /// The effective user of the caller, as numbered here.
    pub sender_euid: u32,
    /// The bytes sent along.
    pub data: Vec<u8>,
}

/// Why a call brought no reply.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The device refused the ioctl.
    #[error("the binder device answers: {0}")]
    Device(#[from] io::Error),
    /// No process serves the handle, or its owner died before it replied.
    #[error("no process serves this handle")]
    Dead,
    /// The driver refused the transaction.
    #[error("the driver refused the transaction")]
    Failed,
    /// The receiver is frozen.
    #[error("the receiver is frozen")]
    Frozen,
}

impl AsFd for BinderClient {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

/// Room for the returns of one read.
const RETURNS_BYTES: usize = 256;

impl BinderClient {
    /// Opens `device` and maps its receive buffer.
    ///
    /// # Errors
    ///
    /// As open(2) and mmap(2).
    pub fn open(device: &Path) -> io::Result<Self> {
        Ok(Self::of(BinderDevice::open(device)?))
    }

    /// The same, for a client whose calls are ioctls even if the driver takes them by shared memory.
    ///
    /// # Errors
    ///
    /// As open(2) and mmap(2).
    pub fn open_without_ring(device: &Path) -> io::Result<Self> {
        Ok(Self::of(BinderDevice::open(device)?.without_ring()))
    }

    /// The same, for a client whose calls are ioctls as those of a program that knows nothing of rings: a library that is preloaded may
    /// make something else of them.
    ///
    /// # Errors
    ///
    /// As open(2) and mmap(2).
    pub fn open_unmodified(device: &Path) -> io::Result<Self> {
        Ok(Self::of(BinderDevice::open(device)?.unmodified()))
    }

    /// The same, for a client to which nothing can be sent, for it has no receive buffer.
    ///
    /// # Errors
    ///
    /// As open(2), mmap(2) and munmap(2).
    pub fn open_without_buffer(device: &Path) -> io::Result<Self> {
        Ok(Self::of(BinderDevice::open(device)?.without_ring().without_buffer()?))
    }

    /// The same, for a client whose calls pass the driver by where that allows it: a thread asks for that after `after_calls` in a row.
    ///
    /// # Errors
    ///
    /// As open(2) and mmap(2).
    pub fn open_with_lanes(device: &Path, after_calls: u32) -> io::Result<Self> {
        Ok(Self::of(BinderDevice::open(device)?.with_lanes(Some(after_calls))))
    }

    fn of(device: BinderDevice) -> Self {
        Self { device: Arc::new(device), unsent: RefCell::default() }
    }

    /// Returns another thread's part of the same open device.
    #[must_use]
    pub fn for_another_thread(&self) -> Self {
        Self { device: Arc::clone(&self.device), unsent: RefCell::default() }
    }

    /// Asks for the protocol version.
    ///
    /// # Errors
    ///
    /// As the device answers: ENOTTY if it is none of binder's.
    pub fn version(&self) -> io::Result<i32> {
        self.device.version()
    }

    /// Lets the completions of this thread's replies ride along with what it reads next, or not.
    ///
    /// # Errors
    ///
    /// As the device answers: EINVAL from a kernel's own driver, which cannot do this.
    pub fn defer_completions(&self, is_wanted: bool) -> io::Result<()> {
        self.device.defer_completions(is_wanted)
    }

    /// Whether the driver exchanges calls by shared memory.
    ///
    /// # Errors
    ///
    /// As the device answers: EINVAL from a driver that does not.
    pub fn offers_rings(&self) -> io::Result<()> {
        self.device.offers_rings()
    }

    /// Makes this process the owner of handle 0.
    ///
    /// # Errors
    ///
    /// As the device answers: EBUSY if there is an owner.
    pub fn become_context_manager(&self) -> io::Result<()> {
        self.device.become_context_manager()
    }

    /// Makes this process the owner of handle 0, to whom calls may bring files.
    ///
    /// # Errors
    ///
    /// As the device answers: EBUSY if there is an owner.
    pub fn become_context_manager_with_files(&self) -> io::Result<()> {
        let flags = FLAT_BINDER_FLAG_ACCEPTS_FDS;
        let node = FlatBinderObject { kind: BINDER_TYPE_BINDER, flags, ..Default::default() };
        self.device.become_context_manager_with(node)
    }

    /// Freezes process `pid`, which must have nothing to answer or to wait for, or thaws it.
    ///
    /// # Errors
    ///
    /// As the device answers: EINVAL if it has not opened the device, EAGAIN if it is busy.
    pub fn set_frozen(&self, pid: u32, is_frozen: bool) -> io::Result<()> {
        self.device.freeze(BinderFreezeInfo { pid, enable: is_frozen.into(), timeout_ms: 0 })
    }

    /// Calls handle 0 and waits for the reply.
    ///
    /// # Errors
    ///
    /// [`CallError`].
    pub fn call(&self, code: u32, data: &[u8]) -> Result<Vec<u8>, CallError> {
        let mut commands = self.unsent.take();
        commands.transaction(BC_TRANSACTION, code, data);
        loop {
            for (code, payload) in self.write_read(&mut commands, data)?.iter() {
                match code {
                    BR_REPLY => {
                        let reply = transaction(payload)?;
                        let data = self.received(&reply)?;
                        commands.free(reply.buffer);
                        self.unsent.replace(commands);
                        return Ok(data);
                    }
                    BR_DEAD_REPLY => return Err(CallError::Dead),
                    BR_FAILED_REPLY => return Err(CallError::Failed),
                    BR_FROZEN_REPLY => return Err(CallError::Frozen),
                    // BR_NOOP, BR_TRANSACTION_COMPLETE and the like.
                    _ => {}
                }
            }
        }
    }

    /// Answers calls for ever, each with what `answer` returns for it.
    ///
    /// # Errors
    ///
    /// As the device answers, once it refuses to go on.
    pub fn serve(&self, mut answer: impl FnMut(Incoming) -> Vec<u8>) -> io::Result<Infallible> {
        // A driver that cannot do this needs an ioctl more for each call, and that is all.
        let _ = self.defer_completions(true);
        let mut commands = CommandBuffer::default();
        commands.code(BC_ENTER_LOOPER);
        // The bytes of the last reply, which the commands point to.
        let mut reply = Vec::new();
        loop {
            let returns = self.write_read(&mut commands, &reply)?;
            for (code, payload) in returns.iter() {
                if code != BR_TRANSACTION {
                    continue;
                }
                let call = transaction(payload)?;
                let BinderTransactionData { code, sender_pid, sender_euid, .. } = call;
                let data = self.received(&call)?;
                reply.clear();
                reply.extend(answer(Incoming { code, sender_pid, sender_euid, data }));
                commands.free(call.buffer);
                if call.flags & TF_ONE_WAY == 0 {
                    commands.transaction(BC_REPLY, 0, &reply);
                }
            }
        }
    }

    /// Runs the commands, which may point to `data`, and waits for returns.
    fn write_read(&self, commands: &mut CommandBuffer, data: &[u8]) -> io::Result<ReturnBuffer> {
        let mut bytes = vec![0; RETURNS_BYTES];
        let filled = self.exchange(&commands.0, &[data], &mut bytes)?;
        commands.0.clear();
        bytes.truncate(filled);
        Ok(ReturnBuffer(bytes))
    }

    /// Runs `commands`, then waits for returns if there is room for any, and tells how many bytes
    /// of that were filled.
    ///
    /// One `BINDER_WRITE_READ`, for programs that measure or test the driver with commands of their
    /// own. After a command that failed the others are not run; the returns tell. What the commands point to should be in
    /// `payloads`; if it is not, the driver has to fetch it.
    ///
    /// # Errors
    ///
    /// As the device answers.
    pub fn exchange(
        &self,
        commands: &[u8],
        payloads: &[&[u8]],
        returns: &mut [u8],
    ) -> io::Result<usize> {
        let exchange = self.device.write_read(commands, payloads, returns);
        exchange.outcome.map(|()| exchange.read)
    }

    fn received(&self, transaction: &BinderTransactionData) -> io::Result<Vec<u8>> {
        let mut data = Vec::new();
        self.copy_received(transaction, &mut data)?;
        Ok(data)
    }

    /// Copies the bytes of a received transaction, whose buffer was not freed yet, out of the
    /// receive buffer; they replace the contents of `data`.
    ///
    /// # Errors
    ///
    /// If the buffer it names is not in our receive buffer.
    pub fn copy_received(
        &self,
        transaction: &BinderTransactionData,
        data: &mut Vec<u8>,
    ) -> io::Result<()> {
        let BinderTransactionData { buffer: address, data_size: len_bytes, .. } = *transaction;
        self.device.copy_received(ReceivedData { address, len_bytes }, data)
    }

    /// Where the objects of a received transaction are, whose buffer was not freed yet.
    ///
    /// # Errors
    ///
    /// If they are not in our receive buffer.
    pub fn offsets_of(&self, transaction: &BinderTransactionData) -> io::Result<Vec<u64>> {
        let BinderTransactionData { offsets: address, offsets_size: len_bytes, .. } = *transaction;
        if len_bytes == 0 {
            return Ok(Vec::new());
        }
        let mut bytes = Vec::new();
        self.device.copy_received(ReceivedData { address, len_bytes }, &mut bytes)?;
        Ok(bytes.as_chunks().0.iter().map(|offset| u64::from_ne_bytes(*offset)).collect())
    }

    /// Takes the files that a received transaction has brought, whose buffer was not freed yet. To be asked once: the second
    /// time they are not the caller's.
    ///
    /// # Errors
    ///
    /// If they are not in our receive buffer.
    pub fn files_of(&self, transaction: &BinderTransactionData) -> io::Result<Vec<OwnedFd>> {
        let objects = IncomingTransaction::new(&self.device, *transaction, None).take_objects()?;
        let file = |object: ReceivedObject| match object.kind {
            ObjectKind::File(file) => Some(file),
            ObjectKind::Own(_) | ObjectKind::Handle(_) | ObjectKind::Other(_) => None,
        };
        Ok(objects.into_iter().filter_map(file).collect())
    }
}

/// Commands to be written.
#[derive(Debug, Default)]
struct CommandBuffer(Vec<u8>);

impl CommandBuffer {
    fn code(&mut self, code: u32) {
        self.0.extend(code.to_ne_bytes());
    }

    fn free(&mut self, buffer: u64) {
        self.code(BC_FREE_BUFFER);
        self.0.extend(buffer.to_ne_bytes());
    }

    /// Adds a transaction to handle 0, or a reply. `data` must live until it is written.
    fn transaction(&mut self, command: u32, code: u32, data: &[u8]) {
        let transaction = BinderTransactionData {
            code,
            data_size: data.len() as u64,
            buffer: data.as_ptr() as u64,
            ..BinderTransactionData::new_zeroed()
        };
        self.code(command);
        self.0.extend(transaction.as_bytes());
    }
}

/// Returns that were read.
#[derive(Debug)]
struct ReturnBuffer(Vec<u8>);

impl ReturnBuffer {
    /// Lists each return with its payload, up to the first that is not whole.
    fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let mut rest = &self.0[..];
        std::iter::from_fn(move || {
            let (code, after) = rest.split_first_chunk()?;
            let code = u32::from_ne_bytes(*code);
            let (payload, after) = after.split_at_checked(payload_len(code))?;
            rest = after;
            Some((code, payload))
        })
    }
}

fn transaction(payload: &[u8]) -> io::Result<BinderTransactionData> {
    BinderTransactionData::read_from_bytes(payload)
        .map_err(|_| io::Error::other("the driver returned half a transaction"))
}

#[cfg(test)]
mod tests {
    use binder_uapi::{BR_NOOP, BR_TRANSACTION_COMPLETE};

    use super::*;

    #[test]
    fn returns_are_listed_up_to_the_first_that_is_not_whole() {
        let mut bytes = Vec::new();
        for code in [BR_NOOP, BR_TRANSACTION_COMPLETE, BR_REPLY] {
            bytes.extend(code.to_ne_bytes());
        }
        bytes.extend([7; 64]);
        bytes.extend(BR_REPLY.to_ne_bytes());
        bytes.extend([7; 63]);
        let returns = ReturnBuffer(bytes);
        let listed: Vec<_> = returns.iter().collect();
        let whole = [(BR_NOOP, &[][..]), (BR_TRANSACTION_COMPLETE, &[]), (BR_REPLY, &[7; 64])];
        assert_eq!(listed, whole);
    }
}
