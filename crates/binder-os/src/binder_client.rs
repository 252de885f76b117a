//! The smallest client of a binder device that can call and be called.
//!
//! No objects, no references beyond handle 0, one thread: enough to see that a driver answers, and
//! to measure it. Programs use the client library.

#![expect(unsafe_code, reason = "the binder ioctls and the receive buffer have no safe wrapper")]

use std::cell::RefCell;
use std::convert::Infallible;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use binder_uapi::{
    ANYBINDER_DEFER_COMPLETIONS, BC_ENTER_LOOPER, BC_FREE_BUFFER, BC_REPLY, BC_TRANSACTION,
    BINDER_FREEZE, BINDER_SET_CONTEXT_MGR, BINDER_SET_CONTEXT_MGR_EXT, BINDER_TYPE_BINDER,
    BINDER_VERSION, BINDER_WRITE_READ, BR_DEAD_REPLY, BR_FAILED_REPLY, BR_FROZEN_REPLY, BR_REPLY,
    BR_TRANSACTION, BinderFreezeInfo, BinderTransactionData, BinderVersion, BinderWriteRead,
    FLAT_BINDER_FLAG_ACCEPTS_FDS, FlatBinderObject, TF_ONE_WAY, payload_len,
};
use rustix::fs::{Mode, OFlags};
use rustix::mm::{MapFlags, ProtFlags};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes};

/// A thread's part of an open binder device.
#[derive(Debug)]
pub struct BinderClient {
    device: Arc<Device>,
    /// Commands that can wait for the next call: the last reply's buffer is to be freed.
    unsent: RefCell<Commands>,
}

/// An open binder device with its receive buffer.
#[derive(Debug)]
struct Device {
    file: OwnedFd,
    buffer: *const u8,
}

// SAFETY: the buffer is mapped until the drop, whichever thread that happens in, and a mapping
// belongs to the process and not to a thread.
unsafe impl Send for Device {}
// SAFETY: of the buffer only copies are made, of parts that the driver has given to the process and
// does not write to; the file is used by system calls alone.
unsafe impl Sync for Device {}

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
    /// Nobody serves the handle, or its owner died before it replied.
    #[error("nobody serves this handle")]
    Dead,
    /// The driver refused the transaction.
    #[error("the driver refused the transaction")]
    Failed,
    /// The receiver is frozen.
    #[error("the receiver is frozen")]
    Frozen,
}

/// What libbinder maps: a mebibyte less two guard pages.
const BUFFER_BYTES: usize = (1 << 20) - 2 * 4096;

/// Room for the returns of one read.
const RETURNS_BYTES: usize = 256;

impl BinderClient {
    /// Opens `device` and maps its receive buffer.
    ///
    /// # Errors
    ///
    /// As open(2) and mmap(2).
    pub fn open(device: &Path) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let device = rustix::fs::open(device, flags, Mode::empty())?;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a null hint lets the kernel choose a free range, so no existing mapping changes.
        let buffer = unsafe {
            rustix::mm::mmap(ptr::null_mut(), BUFFER_BYTES, ProtFlags::READ, flags, &device, 0)
        }?;
        let device = Arc::new(Device { file: device, buffer: buffer.cast() });
        Ok(Self { device, unsent: RefCell::default() })
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
        let mut version = BinderVersion::new_zeroed();
        self.ioctl(BINDER_VERSION, &mut version)?;
        Ok(version.protocol_version)
    }

    /// Lets the completions of this thread's replies ride along with what it reads next, or not.
    ///
    /// # Errors
    ///
    /// As the device answers: EINVAL from a kernel's own driver, which cannot do this.
    pub fn defer_completions(&self, is_wanted: bool) -> io::Result<()> {
        self.ioctl(ANYBINDER_DEFER_COMPLETIONS, &mut u32::from(is_wanted))
    }

    /// Makes this process the owner of handle 0.
    ///
    /// # Errors
    ///
    /// As the device answers: EBUSY if there is an owner.
    pub fn become_context_manager(&self) -> io::Result<()> {
        self.ioctl(BINDER_SET_CONTEXT_MGR, &mut 0_i32)
    }

    /// Makes this process the owner of handle 0, to whom calls may bring files.
    ///
    /// # Errors
    ///
    /// As the device answers: EBUSY if there is an owner.
    pub fn become_context_manager_with_files(&self) -> io::Result<()> {
        let flags = FLAT_BINDER_FLAG_ACCEPTS_FDS;
        let mut node = FlatBinderObject { kind: BINDER_TYPE_BINDER, flags, ..Default::default() };
        self.ioctl(BINDER_SET_CONTEXT_MGR_EXT, &mut node)
    }

    /// Freezes process `pid`, which must have nothing to answer or to wait for, or thaws it.
    ///
    /// # Errors
    ///
    /// As the device answers: EINVAL if it has not opened the device, EAGAIN if it is busy.
    pub fn set_frozen(&self, pid: u32, is_frozen: bool) -> io::Result<()> {
        let mut wish = BinderFreezeInfo { pid, enable: is_frozen.into(), timeout_ms: 0 };
        self.ioctl(BINDER_FREEZE, &mut wish)
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
            for (code, payload) in self.write_read(&mut commands)?.iter() {
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
        let mut commands = Commands::default();
        commands.code(BC_ENTER_LOOPER);
        // The bytes of the last reply, which the commands point to.
        let mut reply = Vec::new();
        loop {
            let returns = self.write_read(&mut commands)?;
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

    /// Runs the commands and waits for returns.
    fn write_read(&self, commands: &mut Commands) -> io::Result<Returns> {
        let mut bytes = vec![0; RETURNS_BYTES];
        let filled = self.exchange(&commands.0, &mut bytes)?;
        commands.0.clear();
        bytes.truncate(filled);
        Ok(Returns(bytes))
    }

    /// Runs `commands`, then waits for returns if there is room for any, and tells how many bytes
    /// of that were filled.
    ///
    /// One `BINDER_WRITE_READ`, for those who measure or test the driver with commands of their
    /// own. After a command that failed the others are not run; the returns tell.
    ///
    /// # Errors
    ///
    /// As the device answers.
    pub fn exchange(&self, commands: &[u8], returns: &mut [u8]) -> io::Result<usize> {
        let mut exchange = BinderWriteRead {
            write_size: commands.len() as u64,
            write_buffer: commands.as_ptr() as u64,
            read_size: returns.len() as u64,
            read_buffer: returns.as_mut_ptr() as u64,
            ..BinderWriteRead::new_zeroed()
        };
        // Commands that were run stay run when a signal interrupts the wait for returns.
        while let Err(error) = self.ioctl(BINDER_WRITE_READ, &mut exchange) {
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        Ok(usize::try_from(exchange.read_consumed).unwrap_or(0).min(returns.len()))
    }

    fn received(&self, transaction: &BinderTransactionData) -> io::Result<Vec<u8>> {
        let mut data = Vec::new();
        self.copy_received(transaction, &mut data)?;
        Ok(data)
    }

    /// Copies the bytes of a received transaction, whose buffer was not freed yet, out of the
    /// receive buffer; they replace what is in `data`.
    ///
    /// # Errors
    ///
    /// If the buffer it names is not in our receive buffer.
    pub fn copy_received(
        &self,
        transaction: &BinderTransactionData,
        data: &mut Vec<u8>,
    ) -> io::Result<()> {
        let offset = transaction.buffer.checked_sub(self.device.buffer as u64);
        let range =
            offset.and_then(|start| Some((start, start.checked_add(transaction.data_size)?)));
        let Some((start, end)) = range.filter(|&(_, end)| end <= BUFFER_BYTES as u64) else {
            return Err(io::Error::other("the driver names a buffer outside the mapping"));
        };
        let (start, end) = (usize::try_from(start), usize::try_from(end));
        let (start, end) = (start.map_err(io::Error::other)?, end.map_err(io::Error::other)?);
        data.resize(end - start, 0);
        // SAFETY: `start..end` lies within the mapping, which lives as long as `self`, and `data`
        // has been given that length; it lies elsewhere. The driver does not write to a buffer that
        // it has delivered until it is freed; of one that was, the bytes are any bytes.
        unsafe {
            ptr::copy_nonoverlapping(
                self.device.buffer.wrapping_add(start),
                data.as_mut_ptr(),
                end - start,
            )
        };
        Ok(())
    }

    fn ioctl<T: FromBytes + IntoBytes + Immutable>(
        &self,
        request: u32,
        argument: &mut T,
    ) -> io::Result<()> {
        assert_eq!(payload_len(request), size_of::<T>(), "the argument of this request");
        // SAFETY: a binder request reads and writes as many bytes behind its argument as its
        // number tells, which is the size of `T`, where any bytes are valid. Of the addresses
        // inside, BINDER_WRITE_READ reads the commands and writes the returns, each within the
        // length given, and both are live in `exchange`. Addresses inside the commands are only
        // read from, and fault if they are wrong.
        let result = unsafe {
            libc::ioctl(self.device.file.as_raw_fd(), request as _, ptr::from_mut(argument))
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: the whole mapping made by `open`; `received` copies and keeps no pointer.
        let unmapped = unsafe { rustix::mm::munmap(self.buffer.cast_mut().cast(), BUFFER_BYTES) };
        debug_assert_eq!(unmapped, Ok(()), "a whole mapping can always be unmapped");
    }
}

/// Commands to be written.
#[derive(Debug, Default)]
struct Commands(Vec<u8>);

impl Commands {
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
struct Returns(Vec<u8>);

impl Returns {
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
        let returns = Returns(bytes);
        let listed: Vec<_> = returns.iter().collect();
        let whole = [(BR_NOOP, &[][..]), (BR_TRANSACTION_COMPLETE, &[]), (BR_REPLY, &[7; 64])];
        assert_eq!(listed, whole);
    }

    #[test]
    fn what_is_no_binder_device_is_refused() {
        assert!(BinderClient::open(Path::new("/dev/null")).is_err());
        let file = rustix::fs::memfd_create(c"file", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let client = BinderClient::open(Path::new(&format!("/proc/self/fd/{}", file.as_raw_fd())));
        assert!(client.unwrap().version().is_err());
    }
}
