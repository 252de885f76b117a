//! The system calls of rigs and actors that need `unsafe`.
#![expect(unsafe_code, reason = "raw ioctl, mmap, fork and signals have no safe wrapper")]

use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::ptr;

use binder_uapi::{BINDER_CTL_ADD, BinderfsDevice};
use rustix::io::Errno;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};

use super::door::is_next_by_itself;

/// Wraps a descriptor number that came over the wire.
///
/// # Panics
///
/// When the number is not one.
pub(super) fn descriptor(number: u64) -> BorrowedFd<'static> {
    let raw = RawFd::try_from(number).expect("a descriptor number");
    assert!(raw >= 0, "a descriptor number");
    // SAFETY: the actor closes a descriptor only on the order to close it, and no order that names
    // it follows that one; -1 is excluded above.
    unsafe { BorrowedFd::borrow_raw(raw) }
}

/// Makes an ioctl.
pub(super) fn ioctl(fd: BorrowedFd<'_>, request: u64, argument: u64) -> Result<(), Errno> {
    let fd = fd.as_raw_fd();
    let result = if is_next_by_itself() {
        // SAFETY: the device is a Binder driver. It accesses memory through the addresses in its
        // argument. Checks take those from the actor's arena (plain bytes that no reference points to)
        // or choose them to be unmapped, for which the answer is EFAULT; a `Talker` takes them from
        // pointers to buffers of its own, of which it uses no reference until the call returns.
        unsafe { libc::syscall(libc::SYS_ioctl, fd, request, argument) }
    } else {
        // SAFETY: as above.
        unsafe { libc::ioctl(fd, request as libc::Ioctl, argument) }.into()
    };
    errno_of(result)
}

/// Adds a device to a binderfs.
pub(super) fn add_device(control: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
    let mut request = BinderfsDevice::default();
    let room = request.name.get_mut(..name.len()).ok_or(Errno::NAMETOOLONG)?;
    room.copy_from_slice(name);
    let argument = &raw mut request;
    ioctl(control, BINDER_CTL_ADD.into(), argument as u64)
}

/// Closes a descriptor by number.
pub(super) fn close(fd: BorrowedFd<'_>) -> Result<(), Errno> {
    // SAFETY: the order to close is the last one that names the descriptor.
    errno_of(unsafe { libc::close(fd.as_raw_fd()) })
}

/// Sets the real, effective and saved user of all threads.
pub(super) fn set_user(uid: u64) -> Result<(), Errno> {
    let uid = libc::uid_t::try_from(uid).map_err(|_| Errno::INVAL)?;
    // SAFETY: setresuid(2) takes three numbers.
    errno_of(unsafe { libc::setresuid(uid, uid, uid) })
}

pub(super) fn set_effective_user(uid: u64) -> Result<(), Errno> {
    let uid = libc::uid_t::try_from(uid).map_err(|_| Errno::INVAL)?;
    // Only as root it may become another.
    // SAFETY: seteuid(2) takes a number.
    errno_of(unsafe { libc::seteuid(0) })?;
    // SAFETY: As above.
    errno_of(unsafe { libc::seteuid(uid) })
}

/// Maps a device's receive area.
pub(super) fn map(fd: BorrowedFd<'_>, len: usize, writable: bool) -> Result<u64, Errno> {
    let protection = if writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: a null hint lets the kernel choose a range that nothing uses.
    let address = unsafe { rustix::mm::mmap(ptr::null_mut(), len, protection, flags, fd, 0) }?;
    Ok(address as u64)
}

/// Unmaps a receive area; none if `len` is zero.
pub(super) fn unmap(address: u64, len: usize) -> Result<(), Errno> {
    if len == 0 {
        return Ok(());
    }
    // SAFETY: the range is a receive area of this process, into which no reference points.
    unsafe { rustix::mm::munmap(address as *mut _, len) }
}

/// Has a thread go before all others (`SCHED_FIFO`), or behind all others (`SCHED_IDLE`).
pub(super) fn set_urgency(tid: i32, is_urgent: bool) -> Result<(), Errno> {
    let (policy, priority) =
        if is_urgent { (libc::SCHED_FIFO, 1_i32) } else { (libc::SCHED_IDLE, 0) };
    // By way of the system call: the function of that name does nothing in some C libraries.
    // SAFETY: the kernel reads a `sched_param`, which is an int, and lives on this stack until the call returns.
    let result =
        unsafe { libc::syscall(libc::SYS_sched_setscheduler, tid, policy, &raw const priority) };
    errno_of(if result == 0 { 0 } else { -1 })
}

/// Moves a mapping to a range that nothing uses, and returns the new address.
pub(super) fn move_mapping(address: u64, len: usize) -> Result<u64, Errno> {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: a null hint lets the kernel choose a range that nothing uses.
    let place =
        unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), len, ProtFlags::empty(), flags) }?;
    // Of rustix's two ways to the kernel, the one by the C library says MAP_FIXED here, which is another number.
    let moves = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    let old = address as *mut _;
    // SAFETY: the range is a receive area of this process, into which no reference points; `place` was
    // reserved for it above, and nothing else uses that.
    let moved = unsafe { libc::mremap(old, len, len, moves, place) };
    errno_of(if moved == libc::MAP_FAILED { -1 } else { 0 }).map(|()| moved as u64)
}

/// Makes a range writable.
pub(super) fn make_writable(address: u64, len: usize) -> Result<(), Errno> {
    let flags = MprotectFlags::READ | MprotectFlags::WRITE;
    // SAFETY: the range is a receive area; more rights to it break no assumption, for no reference
    // points into it.
    unsafe { rustix::mm::mprotect(address as *mut _, len, flags) }
}

/// Sets aside `len` bytes of memory, followed by a page that cannot be touched.
pub(super) fn arena(len: usize, guard_len: usize) -> Result<u64, Errno> {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a null hint lets the kernel choose a range that nothing uses.
    let address =
        unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), len + guard_len, protection, flags) }?;
    let guard = address.wrapping_byte_add(len);
    // SAFETY: the last `guard_len` bytes of the fresh mapping above, to which no reference exists.
    unsafe { rustix::mm::mprotect(guard, guard_len, MprotectFlags::empty()) }?;
    Ok(address as u64)
}

/// Makes `SIGUSR1` interrupt system calls and do nothing else.
pub(super) fn let_signals_interrupt() -> Result<(), Errno> {
    extern "C" fn ignore(_signal: libc::c_int) {}
    // SAFETY: an all-zero sigaction is a valid one: default action, empty mask, no flags.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = ignore as *const () as libc::sighandler_t;
    // SAFETY: `action` is initialised; the handler does nothing, so it is async-signal-safe.
    errno_of(unsafe { libc::sigaction(libc::SIGUSR1, &raw const action, ptr::null_mut()) })
}

/// Sends `SIGUSR1` to one thread.
pub(super) fn interrupt(pid: i32, tid: i32) -> Result<(), Errno> {
    // SAFETY: tgkill(2) takes three numbers.
    let result = unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, libc::SIGUSR1) };
    errno_of(i32::try_from(result).unwrap_or(-1))
}

/// Forks, and asks the child whether something is mapped at `address`.
pub(super) fn is_mapped_in_child(address: u64) -> Result<bool, Errno> {
    // SAFETY: the child calls only mincore(2) and _exit(2), both async-signal-safe.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let mut residency = 0_u8;
        // SAFETY: mincore(2) reads no memory and writes one byte for the one page asked about.
        let result = unsafe { libc::mincore(address as *mut _, 1, &raw mut residency) };
        // SAFETY: ends the child without running anything else of it.
        unsafe { libc::_exit(i32::from(result == 0)) }
    }
    errno_of(child)?;
    let mut status = 0;
    // SAFETY: `status` is a valid place for the result.
    errno_of(unsafe { libc::waitpid(child, &raw mut status, 0) })?;
    Ok(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 1)
}

/// Mounts binderfs as root of a user namespace of its own; the mount ends with that.
pub(super) fn mount_in_user_namespace(directory: &CStr, options: &CStr) -> Result<(), Errno> {
    // SAFETY: the child makes system calls only, with strings that live here.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let (kind, options) = (c"binder".as_ptr(), options.as_ptr().cast());
        // SAFETY: unshare(2) takes no memory, and the process has one thread.
        let mut result = unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) };
        if result == 0 {
            // SAFETY: every pointer is to a string with a zero at its end.
            result = unsafe { libc::mount(kind, directory.as_ptr(), kind, 0, options) };
        }
        let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(-1);
        // SAFETY: ends the child without running anything else of it.
        unsafe { libc::_exit(if result == 0 { 0 } else { errno }) }
    }
    errno_of(child)?;
    let mut status = 0;
    // SAFETY: `status` is a valid place for the result.
    errno_of(unsafe { libc::waitpid(child, &raw mut status, 0) })?;
    match libc::WEXITSTATUS(status) {
        0 if libc::WIFEXITED(status) => Ok(()),
        errno => Err(Errno::from_raw_os_error(errno)),
    }
}

fn errno_of(result: impl Into<libc::c_long>) -> Result<(), Errno> {
    if result.into() >= 0 {
        return Ok(());
    }
    Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
}
