//! The memory of a client, read and written from outside.

#![expect(unsafe_code, reason = "process_vm_readv and process_vm_writev have no safe wrapper")]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use binder_ring_client::ProcEntry;
use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;

use crate::cancel_token::CancelToken;
use crate::mapped_memory::MappedMemory;
use crate::proc_files::{split_stat, tgid_of};

/// The memory of one client process.
///
/// Two ways lead there. process_vm_readv(2) and process_vm_writev(2) respect the protection of
/// every page, so they decide what faults. /proc/PID/mem takes two thirds of the time for short
/// transfers but ignores protections; it serves accesses below [`SHORT_BYTES`] whose pages the
/// first way has already found accessible. If a client protects such a page later, the driver may
/// still reach it: `Differs from Linux:` a fault may come late, for memory the client owns anyway.
///
/// The process must be one of whose requests at least one is unanswered: the kernel cannot reuse
/// its number before the answer.
#[derive(Debug)]
pub struct ClientMemory {
    /// /proc/TGID. It stays with this process even after its number goes to another.
    dir: Arc<OwnedFd>,
    /// A living thread of the process: the one that waits for us, or else the first until it exits.
    tid: i32,
    mem: MemFile,
    readable: PageSet,
    writable: PageSet,
    /// Ends what takes too long.
    token: Arc<CancelToken>,
}

/// One address space, whatever program its process executes later.
#[derive(Debug)]
pub struct PinnedMemory {
    mem: OwnedFd,
}

impl PinnedMemory {
    /// Writes `bytes` to a private mapping at `address`, also one that its process may only read.
    ///
    /// The process gets copies of its own of the pages concerned, as a debugger gives it when it
    /// sets a breakpoint.
    ///
    /// # Errors
    ///
    /// [`Fault`] if there is no private mapping, the address space is gone, or the kernel allows
    /// this to no process; a part may have been written.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        let fault = Fault { address, len_bytes: bytes.len() };
        let target = AddressRange::new(address, bytes.len()).ok_or(fault)?;
        match rustix::io::pwrite(&self.mem, bytes, target.start) {
            Ok(written) if written == bytes.len() => Ok(()),
            Ok(_) | Err(_) => Err(fault),
        }
    }
}

/// A range of a client's memory that could not be transferred as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("client memory is not accessible: {len_bytes} bytes at {address:#x}")]
pub struct Fault {
    /// Where the range starts.
    pub address: u64,
    /// How long it is.
    pub len_bytes: usize,
}

/// Transfers of fewer bytes go through /proc/PID/mem; beyond, the other way is the faster one.
pub const SHORT_BYTES: usize = 2048;

impl ClientMemory {
    /// Opens the memory of process `tgid`, as numbered in the pid namespace of /proc.
    ///
    /// Nothing of the memory is touched: whether the client may be accessed shows at the first
    /// transfer.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is no such process.
    pub fn open(tgid: u32) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(format!("/proc/{tgid}"), flags, Mode::empty())?;
        let tid = i32::try_from(tgid).map_err(|_| io::Error::from(Errno::SRCH))?;
        Ok(Self::new(Arc::new(dir), tid))
    }

    /// That of the process of thread `tid`, one of whose requests is unanswered, by way of that thread.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is no such thread.
    pub fn of_thread(tid: u32) -> io::Result<Self> {
        let mut memory = Self::open(tgid_of(tid)?)?;
        memory.use_thread(tid);
        Ok(memory)
    }

    fn new(dir: Arc<OwnedFd>, tid: i32) -> Self {
        let (readable, writable) = (PageSet::EMPTY, PageSet::EMPTY);
        let token = Arc::default();
        Self { dir, tid, mem: MemFile::Unopened, readable, writable, token }
    }

    /// The same memory, to be accessed at the same time.
    #[must_use]
    pub fn another(&self) -> Self {
        Self::new(self.dir.clone(), self.tid)
    }

    /// Goes on without a descriptor of its own: every transfer then goes the way of long ones.
    pub fn forgo_descriptor(&mut self) {
        self.mem = MemFile::Refused;
    }

    /// What ends all further access by this value. One that has been begun goes on as long as it takes.
    #[must_use]
    pub fn cancel_token(&self) -> &Arc<CancelToken> {
        &self.token
    }

    /// Fills `into` from `address`.
    ///
    /// # Errors
    ///
    /// [`Fault`] if any byte is not readable by the client; `into` may hold a part.
    pub fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        // SAFETY: `into` is writable for its length, and borrowed for the call.
        unsafe { self.fetch(address, into.as_mut_ptr(), into.len()) }
    }

    /// Makes `bytes` the `len_bytes` at `address`, in the memory it has if that is enough.
    ///
    /// # Errors
    ///
    /// [`Fault`] if any byte is not readable by the client; `bytes` is empty then.
    pub fn read_whole(
        &mut self,
        address: u64,
        len_bytes: usize,
        bytes: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        bytes.clear();
        bytes.reserve_exact(len_bytes);
        // SAFETY: the vector has room for as many bytes, and is borrowed for the call.
        unsafe { self.fetch(address, bytes.as_mut_ptr(), len_bytes) }?;
        // SAFETY: all of them have been written, since `fetch` says so.
        unsafe { bytes.set_len(len_bytes) };
        Ok(())
    }

    /// Fills `len_bytes` of a receive buffer, from `offset` on, from `address`. No other thread may
    /// use these meanwhile.
    ///
    /// # Errors
    ///
    /// [`Fault`] if any byte is not readable by the client, or they lie outside the buffer; a part may
    /// have been written.
    pub fn read_into(
        &mut self,
        address: u64,
        buffer: &MappedMemory,
        offset: usize,
        len_bytes: usize,
    ) -> Result<(), Fault> {
        let into = buffer.range(offset, len_bytes).map_err(|_| Fault { address, len_bytes })?;
        // SAFETY: the range lies within the mapping, which is borrowed for the call, and no reference
        // into a mapping ever exists. The kernel alone writes there.
        unsafe { self.fetch(address, into, len_bytes) }
    }

    /// Writes `bytes` to `address`.
    ///
    /// # Errors
    ///
    /// [`Fault`] if any byte is not writable by the client; a part may have been written.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        let len_bytes = bytes.len();
        let fault = Fault { address, len_bytes };
        let target = AddressRange::new(address, len_bytes).ok_or(fault)?;
        if target.is_short() && self.writable.holds(target) {
            let made = self.mem_file().and_then(|(mem, token)| {
                token.transfer(|| rustix::io::pwrite(mem, bytes, target.start).ok())
            });
            let written = made.flatten();
            if written == Some(len_bytes) {
                return Ok(());
            }
            self.forget();
        }
        let local = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: len_bytes };
        let transferred = self.with_living_thread(|tid| {
            let remote = target.iovec();
            // SAFETY: the kernel reads `local` for its length, a borrowed slice, and both iovecs
            // during the call; `remote` names memory of another process and is not dereferenced
            // here.
            unsafe { libc::process_vm_writev(tid, &raw const local, 1, &raw const remote, 1, 0) }
        });
        if transferred != Some(len_bytes) {
            return Err(fault);
        }
        if target.is_short() {
            self.writable.insert(target);
        }
        Ok(())
    }

    /// Fills several places, one after the other. To read at two addresses at once takes no longer than to
    /// read at one.
    ///
    /// # Errors
    ///
    /// Which is the first that is not readable by the client, counted from 0. Those before it are filled,
    /// and it and those after it may hold a part.
    pub fn read_all<const N: usize>(&mut self, places: [(u64, &mut [u8]); N]) -> Result<(), usize> {
        let Some(sources) = ranges(places.each_ref().map(|(at, into)| (*at, into.len()))) else {
            for (at, (address, into)) in places.into_iter().enumerate() {
                self.read(address, into).map_err(|_| at)?;
            }
            return Ok(());
        };
        let local = places.map(|(_, into)| libc::iovec {
            iov_base: into.as_mut_ptr().cast(),
            iov_len: into.len(),
        });
        let transferred = self.with_living_thread(|tid| {
            let remote = sources.map(AddressRange::iovec);
            let (local, remote, count) = (local.as_ptr(), remote.as_ptr(), N as libc::c_ulong);
            // SAFETY: the kernel writes to the places, which are borrowed for the call, no more than
            // their lengths, and reads as many iovecs of both kinds during it; `remote` names memory of
            // another process and is not dereferenced here.
            unsafe { libc::process_vm_readv(tid, local, count, remote, count, 0) }
        });
        whole(transferred, &sources)
    }

    /// Writes at two addresses, first at the first. It takes no longer than to write at one.
    ///
    /// # Errors
    ///
    /// Which is the first that is not writable by the client: 0 or 1. What comes before was written, and
    /// of it a part may have been.
    pub fn write_two(&mut self, places: [(u64, &[u8]); 2]) -> Result<(), usize> {
        let [(first, bytes), (second, and_bytes)] = places;
        let Some(targets) = ranges([(first, bytes.len()), (second, and_bytes.len())]) else {
            self.write(first, bytes).map_err(|_| 0_usize)?;
            return self.write(second, and_bytes).map_err(|_| 1);
        };
        let local = [bytes, and_bytes].map(|bytes| libc::iovec {
            iov_base: bytes.as_ptr().cast_mut().cast(),
            iov_len: bytes.len(),
        });
        let transferred = self.with_living_thread(|tid| {
            let remote = targets.map(AddressRange::iovec);
            let (local, remote) = (local.as_ptr(), remote.as_ptr());
            // SAFETY: the kernel reads the two slices, which are borrowed for the call, for their
            // lengths, and both pairs of iovecs during it; `remote` names memory of another process and
            // is not dereferenced here.
            unsafe { libc::process_vm_writev(tid, local, 2, remote, 2, 0) }
        });
        whole(transferred, &targets)
    }

    /// Opens the address space that the process has at this moment, by its thread `tid`, for good.
    ///
    /// # Errors
    ///
    /// `NotFound` if the thread has ended, `PermissionDenied` if we may not access it.
    pub fn pin(&self, tid: u32) -> io::Result<PinnedMemory> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let path = format!("task/{tid}/mem");
        Ok(PinnedMemory { mem: rustix::fs::openat(&*self.dir, path, flags, Mode::empty())? })
    }

    /// Whether `tid` is a living thread of the process.
    #[must_use]
    pub fn has_thread(&self, tid: u32) -> bool {
        let path = format!("task/{tid}");
        // By a call that asks with our rights, not with those of our user, from whom a /proc mounted with `hidepid=2` may hide it;
        // and that no filter refuses: some containers' do not know faccessat2(2).
        rustix::fs::statat(&*self.dir, path, AtFlags::empty()).is_ok()
    }

    /// The directory that /proc has for thread `tid` of the process, and the thread's effective user. `None` if it has ended, or is
    /// hidden from us.
    pub(crate) fn thread_directory(&self, tid: u32) -> Option<(ProcEntry, u32)> {
        ProcEntry::look(&*self.dir, format!("task/{tid}"))
    }

    /// Checks that we may access the memory, which thread `tid` has.
    ///
    /// # Errors
    ///
    /// `PermissionDenied` if we may not: the process has made itself undumpable or has more rights than we.
    pub fn check_access(&self, tid: u32) -> io::Result<()> {
        let mut byte = 0_u8;
        let local = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
        let remote = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 1 };
        let tid = i32::try_from(tid).map_err(|_| io::Error::from(Errno::SRCH))?;
        // SAFETY: the kernel writes to `byte` at most, which lives through the call, and reads both iovecs;
        // `remote` names memory of another process, and most likely none.
        let read =
            unsafe { libc::process_vm_readv(tid, &raw const local, 1, &raw const remote, 1, 0) };
        let error = io::Error::last_os_error();
        // Any other is about the address.
        let is_refused = read < 0 && error.kind() == io::ErrorKind::PermissionDenied;
        if is_refused { Err(error) } else { Ok(()) }
    }

    /// Whether `tid` is a thread of the process that runs or will: the first one, once it has ended,
    /// stays until all have.
    pub(crate) fn runs_thread(&self, tid: u32) -> bool {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let path = format!("task/{tid}/stat");
        // Number and name, which has 64 bytes at most, come before the state.
        let mut head = [0; 128];
        let read = rustix::fs::openat(&*self.dir, path, flags, Mode::empty())
            .and_then(|stat| rustix::io::retry_on_intr(|| rustix::io::read(&stat, &mut head)));
        match read {
            Ok(len) => split_stat(&head[..len])
                .and_then(|(_, behind_name)| behind_name.first())
                .is_none_or(|state| !b"ZX".contains(state)),
            Err(Errno::NOENT | Errno::SRCH) => false,
            // We could not look: for want of descriptors, say.
            Err(_) => true,
        }
    }

    /// Accesses the process by way of its thread `tid`, one of whose requests is unanswered: its
    /// number cannot become another's before the answer, nor can the process execute another
    /// program.
    pub fn use_thread(&mut self, tid: u32) {
        if let Ok(tid) = i32::try_from(tid) {
            self.tid = tid;
        }
    }

    /// Copies from the client to `into`.
    ///
    /// # Safety
    ///
    /// `into` must be valid for writes of `len_bytes`, with no reference to them alive elsewhere.
    unsafe fn fetch(&mut self, address: u64, into: *mut u8, len_bytes: usize) -> Result<(), Fault> {
        let fault = Fault { address, len_bytes };
        let source = AddressRange::new(address, len_bytes).ok_or(fault)?;
        if source.is_short() && self.readable.holds(source) {
            let read = self.mem_file().and_then(|(mem, token)| {
                let offset = libc::off_t::try_from(source.start).ok()?;
                let mem = mem.as_raw_fd();
                // SAFETY: the caller vouches for `into`; the descriptor is open for the call.
                let read = || unsafe { libc::pread(mem, into.cast(), len_bytes, offset) };
                usize::try_from(token.transfer(read)?).ok()
            });
            if read == Some(len_bytes) {
                return Ok(());
            }
            self.forget();
        }
        let local = libc::iovec { iov_base: into.cast(), iov_len: len_bytes };
        let transferred = self.with_living_thread(|tid| {
            let remote = source.iovec();
            // SAFETY: the kernel writes at most `len_bytes` to `into`, for which the caller
            // vouches, and reads both iovecs during the call; `remote` names memory of another
            // process and is not dereferenced here.
            unsafe { libc::process_vm_readv(tid, &raw const local, 1, &raw const remote, 1, 0) }
        });
        if transferred != Some(len_bytes) {
            return Err(fault);
        }
        if source.is_short() {
            self.readable.insert(source);
        }
        Ok(())
    }

    /// Runs `transfer` with the number of a thread that still has the process's memory.
    ///
    /// The first thread may exit before the others; its number then names the process but has no
    /// memory any more, and the system answers ESRCH.
    fn with_living_thread(&mut self, transfer: impl Fn(i32) -> isize) -> Option<usize> {
        let transferred = self.token.transfer(|| transfer(self.tid))?;
        if let Ok(len_bytes) = usize::try_from(transferred) {
            return Some(len_bytes);
        }
        if io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH) {
            return None;
        }
        for tid in self.threads() {
            if let Ok(len_bytes) = usize::try_from(self.token.transfer(|| transfer(tid))?) {
                self.tid = tid;
                return Some(len_bytes);
            }
        }
        None
    }

    fn threads(&self) -> Vec<i32> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(task) = rustix::fs::openat(&*self.dir, "task", flags, Mode::empty()) else {
            return Vec::new();
        };
        let entries = Dir::new(task).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str().ok()?.parse().ok()).collect()
    }

    fn mem_file(&mut self) -> Option<(&OwnedFd, &CancelToken)> {
        if let MemFile::Unopened = self.mem {
            let path = format!("task/{}/mem", self.tid);
            let flags = OFlags::RDWR | OFlags::CLOEXEC;
            self.mem = match rustix::fs::openat(&*self.dir, path, flags, Mode::empty()) {
                Ok(file) => MemFile::Open(file),
                Err(_) => MemFile::Refused,
            };
        }
        match &self.mem {
            MemFile::Open(file) => Some((file, &self.token)),
            MemFile::Unopened | MemFile::Refused => None,
        }
    }

    /// Drops what was learned about the address space, which execve(2) may have replaced.
    fn forget(&mut self) {
        self.readable = PageSet::EMPTY;
        self.writable = PageSet::EMPTY;
        if let MemFile::Open(_) = self.mem {
            self.mem = MemFile::Unopened;
        }
    }
}

/// Several ranges, unless one is none.
fn ranges<const N: usize>(places: [(u64, usize); N]) -> Option<[AddressRange; N]> {
    let mut ranges = [AddressRange::EMPTY; N];
    for (range, (address, len_bytes)) in ranges.iter_mut().zip(places) {
        *range = AddressRange::new(address, len_bytes)?;
    }
    Some(ranges)
}

/// Whether all ranges were transferred; or else the first that was not. One comes after the other, and
/// only the bytes of all are counted.
fn whole(transferred: Option<usize>, ranges: &[AddressRange]) -> Result<(), usize> {
    let mut end = 0;
    let is_missing = |range: &AddressRange| {
        end += range.len_bytes;
        end > transferred.unwrap_or(0)
    };
    match ranges.iter().position(is_missing) {
        Some(first) => Err(first),
        // Nothing was asked for, and even that was refused.
        None if transferred.is_none() => Err(0),
        None => Ok(()),
    }
}

/// /proc/PID/mem, which belongs to the address space that was current when it was opened.
#[derive(Debug)]
enum MemFile {
    Unopened,
    Open(OwnedFd),
    Refused,
}

/// A non-wrapping range in the user half of a client's address space.
#[derive(Debug, Clone, Copy)]
struct AddressRange {
    start: u64,
    len_bytes: usize,
}

impl AddressRange {
    const EMPTY: Self = Self { start: 0, len_bytes: 0 };

    fn new(address: u64, len_bytes: usize) -> Option<Self> {
        let start = untagged(address);
        let end = start.checked_add(u64::try_from(len_bytes).ok()?)?;
        // The upper half is the kernel's, and beyond the reach of a file offset.
        (i64::try_from(end).is_ok() && usize::try_from(end).is_ok())
            .then_some(Self { start, len_bytes })
    }

    fn is_short(self) -> bool {
        0 < self.len_bytes && self.len_bytes < SHORT_BYTES
    }

    /// The first and the last page of a short range; it has no others.
    fn pages(self) -> [u64; 2] {
        let last = self.start + (self.len_bytes as u64).saturating_sub(1);
        [self.start / PAGE_BYTES, last / PAGE_BYTES]
    }

    fn iovec(self) -> libc::iovec {
        let address = usize::try_from(self.start).expect("checked when the range was made");
        libc::iovec { iov_base: std::ptr::without_provenance_mut(address), iov_len: self.len_bytes }
    }
}

/// Returns `address` without the tag that arm64 lets user space keep in the top byte.
fn untagged(address: u64) -> u64 {
    let is_user_address = address & (1 << 55) == 0;
    if cfg!(target_arch = "aarch64") && is_user_address {
        address & (u64::MAX >> 8)
    } else {
        address
    }
}

/// The unit of [`PageSet`]: the smallest page of any system, for which protections can differ.
const PAGE_BYTES: u64 = 4096;

/// The pages last found accessible, as a direct-mapped cache of page numbers.
#[derive(Debug)]
struct PageSet([u64; Self::SLOTS]);

impl PageSet {
    const SLOTS: usize = 16;
    /// No page has the number `u64::MAX`.
    const EMPTY: Self = Self([u64::MAX; Self::SLOTS]);

    fn slot(page: u64) -> usize {
        usize::try_from(page % Self::SLOTS as u64).expect("less than SLOTS")
    }

    fn holds(&self, range: AddressRange) -> bool {
        range.pages().iter().all(|&page| self.0[Self::slot(page)] == page)
    }

    fn insert(&mut self, range: AddressRange) {
        for page in range.pages() {
            self.0[Self::slot(page)] = page;
        }
    }
}

#[cfg(test)]
mod tests;
