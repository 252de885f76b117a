//! An open binder device: its requests, and the receive buffer behind it.

#![expect(unsafe_code, reason = "the binder ioctls and the receive buffer have no safe wrapper")]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::ptr::{self, NonNull};
use std::slice;

use binder_ring_client::{MARKED, RingOutcome};
use binder_uapi::{
    ANYBINDER_DEFER_COMPLETIONS, ANYBINDER_RING_ATTACH, BINDER_CTL_ADD,
    BINDER_ENABLE_ONEWAY_SPAM_DETECTION, BINDER_FREEZE, BINDER_GET_EXTENDED_ERROR,
    BINDER_GET_FROZEN_INFO, BINDER_GET_NODE_INFO_FOR_REF, BINDER_SET_CONTEXT_MGR,
    BINDER_SET_CONTEXT_MGR_EXT, BINDER_SET_MAX_THREADS, BINDER_THREAD_EXIT, BINDER_VERSION,
    BINDER_WRITE_READ, BinderExtendedError, BinderFreezeInfo, BinderFrozenStatusInfo,
    BinderNodeInfoForRef, BinderVersion, BinderWriteRead, BinderfsDevice, FlatBinderObject,
    RING_VERSION, RingAttach, payload_len,
};
use rustix::fs::{Mode, OFlags, SeekFrom};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes};

use crate::borrowed_memory::BorrowedMemory;
use crate::device_ring::DeviceRing;
use crate::fork_count;

/// What libbinder maps: a mebibyte less two guard pages.
pub const DEFAULT_BUFFER_BYTES: usize = (1 << 20) - 2 * 4096;

/// An open binder device with its receive buffer.
#[derive(Debug)]
pub struct BinderDevice {
    file: OwnedFd,
    ring: DeviceRing,
    buffer: NonNull<u8>,
    buffer_bytes: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread: `buffer` stays mapped until `drop`,
// whichever thread that runs on.
unsafe impl Send for BinderDevice {}

// SAFETY: the fields do not change, and the bytes of the buffer are only ever read.
unsafe impl Sync for BinderDevice {}

/// How far one `BINDER_WRITE_READ` came.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// How many bytes of the commands were run.
    pub(crate) written: usize,
    /// How many bytes of returns were filled.
    pub(crate) read: usize,
    /// What the ioctl answered.
    pub(crate) outcome: io::Result<()>,
}

/// The bytes of a received transaction, by the addresses that the driver gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReceivedData {
    /// Where they start.
    pub(crate) address: u64,
    /// How many there are.
    pub(crate) len_bytes: u64,
}

impl BinderDevice {
    /// Opens `path` and maps a receive buffer of the usual size.
    ///
    /// # Errors
    ///
    /// As [`open_with_buffer`](Self::open_with_buffer).
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::open_with_buffer(path, DEFAULT_BUFFER_BYTES)
    }

    /// Opens `path` and maps a receive buffer of `buffer_bytes`, of which a driver uses at most
    /// four mebibytes.
    ///
    /// # Errors
    ///
    /// As open(2), mmap(2) and pthread_atfork(3).
    pub fn open_with_buffer(path: &Path, buffer_bytes: usize) -> io::Result<Self> {
        // A child shares the buffers delivered to its parent, and does not know when they are freed.
        fork_count::start()?;
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, Mode::empty())?;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a null hint lets the kernel choose a free range, so no existing mapping changes.
        let buffer = unsafe {
            rustix::mm::mmap(ptr::null_mut(), buffer_bytes, ProtFlags::READ, flags, &file, 0)
        }?;
        let buffer = NonNull::new(buffer.cast()).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { file, ring: DeviceRing::new(), buffer, buffer_bytes })
    }

    /// The same device, whose calls are ioctls even if its driver takes them by shared memory.
    #[must_use]
    pub fn without_ring(mut self) -> Self {
        self.ring = DeviceRing::unwanted();
        // Nor is it given one by a library that is preloaded. A device that has no position has no rings.
        let _ = rustix::fs::seek(&self.file, SeekFrom::Start(MARKED));
        self
    }

    /// The same device, whose calls are ioctls as those of a program that knows nothing of rings: a library that is preloaded may make
    /// something else of them.
    #[must_use]
    pub fn unmodified(mut self) -> Self {
        self.ring = DeviceRing::unwanted();
        self
    }

    /// The same device, whose receive buffer is mapped no more: nothing can be sent to it.
    ///
    /// # Errors
    ///
    /// As munmap(2).
    pub fn without_buffer(mut self) -> io::Result<Self> {
        self.unmap_buffer()?;
        self.buffer_bytes = 0;
        Ok(self)
    }

    fn unmap_buffer(&mut self) -> io::Result<()> {
        if self.buffer_bytes > 0 {
            // SAFETY: the whole mapping made by `open`, which no other value has; `copy_received` copies and keeps no
            // pointer, and what `lend` lends is borrowed from `self`.
            unsafe { rustix::mm::munmap(self.buffer.as_ptr().cast(), self.buffer_bytes) }?;
        }
        Ok(())
    }

    /// The same device, whose plain calls pass the driver by where that allows it (`binder-lane`), or do not: without this the
    /// variable `ANYBINDER_LANES` says. A thread asks for a lane after that many calls in a row to an object.
    #[must_use]
    pub fn with_lanes(mut self, after_calls: Option<u32>) -> Self {
        self.ring = DeviceRing::new().with_lanes(after_calls);
        self
    }

    /// Returns the length of the receive buffer.
    #[must_use]
    pub fn buffer_bytes(&self) -> usize {
        self.buffer_bytes
    }

    /// Returns where the receive buffer starts, as the driver counts.
    pub(crate) fn start(&self) -> u64 {
        self.buffer.as_ptr() as u64
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

    /// Sets how many loopers the driver may ask for.
    ///
    /// # Errors
    ///
    /// As the device answers.
    pub fn set_max_threads(&self, threads: u32) -> io::Result<()> {
        self.ioctl(BINDER_SET_MAX_THREADS, &mut { threads })
    }

    /// Asks to be told when this process floods a receiver with one-ways, or no longer to be.
    ///
    /// # Errors
    ///
    /// As the device answers: EINVAL from a driver that is too old.
    pub fn detect_oneway_spam(&self, is_wanted: bool) -> io::Result<()> {
        self.ioctl(BINDER_ENABLE_ONEWAY_SPAM_DETECTION, &mut u32::from(is_wanted))
    }

    /// Lets the completions of this thread's replies ride along with what it reads next, or not.
    ///
    /// # Errors
    ///
    /// As the device answers: EINVAL from a kernel's own driver, which cannot do this.
    pub fn defer_completions(&self, is_wanted: bool) -> io::Result<()> {
        self.ioctl(ANYBINDER_DEFER_COMPLETIONS, &mut u32::from(is_wanted))
    }

    /// Whether the driver would take the segment of a ring. It is asked with one that does not exist.
    ///
    /// # Errors
    ///
    /// As the device answers: EINVAL from a driver that knows no rings.
    pub fn offers_rings(&self) -> io::Result<()> {
        let mut nothing = RingAttach { version: RING_VERSION, fd: u32::MAX };
        match self.ioctl(ANYBINDER_RING_ATTACH, &mut nothing) {
            Err(error) if error.raw_os_error() == Some(libc::EBADF) => Ok(()),
            answer => answer,
        }
    }

    /// Makes this process the owner of handle 0, with a node of zeroes.
    ///
    /// # Errors
    ///
    /// As the device answers: EBUSY if there is an owner.
    pub fn become_context_manager(&self) -> io::Result<()> {
        self.ioctl(BINDER_SET_CONTEXT_MGR, &mut 0_i32)
    }

    /// Makes this process the owner of handle 0, with this node.
    ///
    /// # Errors
    ///
    /// As the device answers: EBUSY if there is an owner.
    pub fn become_context_manager_with(&self, mut node: FlatBinderObject) -> io::Result<()> {
        self.ioctl(BINDER_SET_CONTEXT_MGR_EXT, &mut node)
    }

    /// Freezes a process that has opened the device, or thaws it.
    ///
    /// # Errors
    ///
    /// As the device answers: EINVAL if it has not opened the device, EAGAIN if it is busy.
    pub fn freeze(&self, mut wish: BinderFreezeInfo) -> io::Result<()> {
        self.ioctl(BINDER_FREEZE, &mut wish)
    }

    /// Asks what a frozen process has missed.
    ///
    /// # Errors
    ///
    /// As the device answers: EINVAL if the process has not opened the device.
    pub fn frozen_info(&self, pid: u32) -> io::Result<BinderFrozenStatusInfo> {
        let mut info = BinderFrozenStatusInfo { pid, ..Default::default() };
        self.ioctl(BINDER_GET_FROZEN_INFO, &mut info)?;
        Ok(info)
    }

    /// Asks how many hold the object behind a handle, each process once. Only the context manager may.
    ///
    /// # Errors
    ///
    /// As the device answers: EPERM if this process is not the context manager, EINVAL if it has no such handle.
    pub fn node_info_for_ref(&self, handle: u32) -> io::Result<BinderNodeInfoForRef> {
        let mut info = BinderNodeInfoForRef { handle, ..Default::default() };
        self.ioctl(BINDER_GET_NODE_INFO_FOR_REF, &mut info)?;
        Ok(info)
    }

    /// Fetches why the thread's last transaction failed, and forgets it.
    ///
    /// # Errors
    ///
    /// As the device answers: EINVAL from a driver that is too old.
    pub fn extended_error(&self) -> io::Result<BinderExtendedError> {
        let mut error = BinderExtendedError::default();
        self.ioctl(BINDER_GET_EXTENDED_ERROR, &mut error)?;
        Ok(error)
    }

    /// Has the driver forget the calling thread.
    ///
    /// # Errors
    ///
    /// As the device answers.
    pub fn exit_thread(&self) -> io::Result<()> {
        // The argument is not read. One is given all the same: without, the request would take
        // the long way around a file system in user space.
        self.ioctl(BINDER_THREAD_EXIT, &mut 0_i32)
    }

    /// Runs `commands`, then waits for returns if there is room for any. Of what the commands point to, the driver need
    /// not fetch the contents of `payloads`.
    ///
    /// A signal does not end the wait. Commands behind one that failed are not run, nor are those
    /// behind a transaction that was refused; the returns then tell why.
    pub(crate) fn write_read(
        &self,
        commands: &[u8],
        payloads: &[&[u8]],
        returns: &mut [u8],
    ) -> Exchange {
        let mut exchange = BinderWriteRead {
            write_size: commands.len() as u64,
            write_buffer: commands.as_ptr() as u64,
            read_size: returns.len() as u64,
            read_buffer: returns.as_mut_ptr() as u64,
            ..BinderWriteRead::new_zeroed()
        };
        let memory = BorrowedMemory::new(commands, payloads, returns);
        let outcome = loop {
            // Commands that were run stay run when a signal interrupts the wait for returns.
            match self.exchange(&mut exchange, &memory) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => break outcome,
            }
        };
        let progress = |consumed, len: usize| usize::try_from(consumed).unwrap_or(len).min(len);
        Exchange {
            written: progress(exchange.write_consumed, commands.len()),
            read: progress(exchange.read_consumed, returns.len()),
            outcome,
        }
    }

    /// Makes a call by the ring, or by what that leaves to the ioctl.
    fn exchange(&self, call: &mut BinderWriteRead, memory: &BorrowedMemory<'_>) -> io::Result<()> {
        match self.ring.exchange(self.as_fd(), call, memory) {
            RingOutcome::Done(done) => {
                done.map_err(|error| io::Error::from_raw_os_error(error.number()))
            }
            RingOutcome::Ioctl | RingOutcome::Refused => self.ioctl(BINDER_WRITE_READ, call),
        }
    }

    /// Copies a text that ends with a NUL out of the receive buffer.
    ///
    /// # Errors
    ///
    /// If there is none at `address`.
    pub(crate) fn copy_text(&self, address: u64) -> io::Result<CString> {
        const STEP_BYTES: u64 = 64;
        let mut text = Vec::new();
        let mut step = Vec::new();
        loop {
            let start = address.saturating_add(text.len() as u64);
            let end = self.start() + self.buffer_bytes as u64;
            let len_bytes = end.saturating_sub(start).min(STEP_BYTES);
            if len_bytes == 0 {
                return Err(io::Error::other("the driver names a text that does not end"));
            }
            self.copy_received(ReceivedData { address: start, len_bytes }, &mut step)?;
            let nul = step.iter().position(|byte| *byte == 0);
            text.extend_from_slice(&step[..nul.unwrap_or(step.len())]);
            if nul.is_some() {
                return CString::new(text).map_err(io::Error::other);
            }
        }
    }

    /// Copies bytes that were received, and whose buffer was not freed yet, out of the receive
    /// buffer; they replace the contents of `data`.
    ///
    /// # Errors
    ///
    /// If they do not lie in the receive buffer.
    pub(crate) fn copy_received(
        &self,
        received: ReceivedData,
        data: &mut Vec<u8>,
    ) -> io::Result<()> {
        let (source, len) = self.find(received)?;
        data.clear();
        data.reserve(len);
        // SAFETY: `source` is good for `len` bytes, see above, and `data` has room for as many,
        // elsewhere. The driver does not write to a buffer that it has delivered until it is
        // freed; of one that was, the bytes are any bytes.
        unsafe { ptr::copy_nonoverlapping(source.as_ptr(), data.as_mut_ptr(), len) };
        // SAFETY: that many bytes were just written, and fit the capacity.
        unsafe { data.set_len(len) };
        Ok(())
    }

    /// Lends bytes that were received, where they lie.
    ///
    /// # Errors
    ///
    /// If they do not lie in the receive buffer.
    ///
    /// # Safety
    ///
    /// Until the borrow ends they must belong to a transaction that was delivered and not freed.
    pub(crate) unsafe fn lend(&self, received: ReceivedData) -> io::Result<&[u8]> {
        let (start, len) = self.find(received)?;
        // SAFETY: `start` is good for `len` bytes of any value, see above. Memory of this process
        // that is mapped for reading alone is not written to by it; and the driver, who else could,
        // leaves a transaction that it has delivered alone until it is freed, which is not before
        // the borrow ends, as the caller promises. (A driver is free to break its word: it reads and
        // writes all memory of its clients, see decision 17. So are writes through the device's
        // file or /proc/self/mem, which are no more than any memory must bear.)
        Ok(unsafe { slice::from_raw_parts(start.as_ptr(), len) })
    }

    /// Returns where a range lies, which is good for its length as long as `self` lives.
    fn find(&self, received: ReceivedData) -> io::Result<(NonNull<u8>, usize)> {
        let ReceivedData { address, len_bytes } = received;
        if let Some(buffers) = self.ring.lane_buffers()
            && let Ok(len) = usize::try_from(len_bytes)
            && let Some(start) = buffers.find(address, len)
        {
            return Ok((start, len));
        }
        let (start, len) = self.range_of(received)?;
        // SAFETY: `range_of` has seen that the range lies within the mapping, which lives as long
        // as `self`.
        Ok((unsafe { self.buffer.add(start) }, len))
    }

    /// Returns a range as offset and length.
    fn range_of(&self, received: ReceivedData) -> io::Result<(usize, usize)> {
        let start = received.address.checked_sub(self.start());
        let start = start.and_then(|start| usize::try_from(start).ok());
        let len = usize::try_from(received.len_bytes).ok();
        let range = start.zip(len).filter(|&(start, len)| {
            start.checked_add(len).is_some_and(|end| end <= self.buffer_bytes)
        });
        range.ok_or_else(|| {
            let ReceivedData { address, len_bytes } = received;
            io::Error::other(format!(
                "the driver names {len_bytes} bytes at {address:#x}, outside the receive buffer"
            ))
        })
    }

    fn ioctl<T: FromBytes + IntoBytes + Immutable>(
        &self,
        request: u32,
        argument: &mut T,
    ) -> io::Result<()> {
        ioctl(self.as_fd(), request, argument)
    }
}

/// Makes one of binder's requests, or of those that our driver has beside them.
pub(crate) fn ioctl<T: FromBytes + IntoBytes + Immutable>(
    file: BorrowedFd<'_>,
    request: u32,
    argument: &mut T,
) -> io::Result<()> {
    assert_eq!(payload_len(request), size_of::<T>(), "the argument of this request");
    let request = request as libc::Ioctl;
    // SAFETY: a binder request reads and writes as many bytes behind its argument as its
    // number tells, which is the size of `T`, where any bytes are valid. Of the addresses
    // inside, BINDER_WRITE_READ reads the commands and writes the returns, each within the
    // length given, and both are live in `write_read`; a ring changes none of these addresses and lengths. Addresses inside the commands are only
    // read from, and fault if they are wrong.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), request, ptr::from_mut(argument)) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Has a binderfs make a device of this name.
///
/// # Errors
///
/// As open(2) of its `binder-control`, and as that answers: EEXIST if there is such a device, ENAMETOOLONG if the name is longer than
/// 255 bytes.
pub fn add_device(control: &Path, name: &str) -> io::Result<()> {
    let control = rustix::fs::open(control, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    let mut wanted = BinderfsDevice::default();
    let (_, room) = wanted.name.split_last_mut().unwrap_or((&mut 0, &mut []));
    let room = room.get_mut(..name.len()).ok_or(Errno::NAMETOOLONG)?;
    room.copy_from_slice(name.as_bytes());
    ioctl(control.as_fd(), BINDER_CTL_ADD, &mut wanted)
}

impl AsFd for BinderDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for BinderDevice {
    fn drop(&mut self) {
        let unmapped = self.unmap_buffer();
        debug_assert!(unmapped.is_ok(), "a whole mapping can always be unmapped: {unmapped:?}");
    }
}

/// A file in the place of a device, whose receive buffer ends with 1, 2, 3, 4.
#[cfg(test)]
pub(crate) fn fake_device(len_bytes: usize) -> std::sync::Arc<BinderDevice> {
    let file = rustix::fs::memfd_create(c"file", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    rustix::io::pwrite(&file, &[1, 2, 3, 4], (len_bytes - 4) as u64).unwrap();
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    std::sync::Arc::new(BinderDevice::open_with_buffer(Path::new(&path), len_bytes).unwrap())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_binder_device_is_refused() {
        assert!(BinderDevice::open(Path::new("/dev/null")).is_err());
        assert!(fake_device(4096).version().is_err());
    }

    #[test]
    fn received_bytes_lie_in_the_receive_buffer() {
        let device = fake_device(4096);
        let start = device.start();
        let mut data = vec![9; 100];
        let last = ReceivedData { address: start + 4092, len_bytes: 4 };
        device.copy_received(last, &mut data).unwrap();
        assert_eq!(data, [1, 2, 3, 4]);
        let wrong = [(start + 4093, 4), (start - 1, 1), (start, 4097), (start, u64::MAX), (0, 0)];
        for (address, len_bytes) in wrong {
            let copied = device.copy_received(ReceivedData { address, len_bytes }, &mut data);
            assert!(copied.is_err(), "{address:#x} {len_bytes}");
        }
        assert_eq!(data, [1, 2, 3, 4]);
    }
}
