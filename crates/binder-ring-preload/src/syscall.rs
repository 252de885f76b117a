//! System calls, without a C library.

#![expect(unsafe_code, reason = "system calls are instructions")]

use core::arch::asm;
use core::ptr;
use core::sync::atomic::AtomicU32;

use binder_uapi::Errno;
use rustix::thread::Timespec;
use rustix::thread::futex::Wait;

/// Their numbers.
#[cfg(target_arch = "x86_64")]
mod number {
    pub(super) const LSEEK: usize = 8;
    pub(super) const RT_SIGPROCMASK: usize = 14;
    pub(super) const IOCTL: usize = 16;
    pub(super) const SIGALTSTACK: usize = 131;
    pub(super) const PRCTL: usize = 157;
    pub(super) const FUTEX: usize = 202;
    pub(super) const CLOCK_GETTIME: usize = 228;
    pub(super) const GETRANDOM: usize = 318;
    pub(super) const FUTEX_WAITV: usize = 449;
}

/// Their numbers.
#[cfg(target_arch = "aarch64")]
mod number {
    pub(super) const IOCTL: usize = 29;
    pub(super) const LSEEK: usize = 62;
    pub(super) const FUTEX: usize = 98;
    pub(super) const CLOCK_GETTIME: usize = 113;
    pub(super) const SIGALTSTACK: usize = 132;
    pub(super) const RT_SIGPROCMASK: usize = 135;
    pub(super) const PRCTL: usize = 167;
    pub(super) const GETRANDOM: usize = 278;
    pub(super) const FUTEX_WAITV: usize = 449;
}

/// Makes an ioctl. Returns its result, or a negative error number.
///
/// # Safety
///
/// As of ioctl(2) itself: the caller answers for all accesses of the request to `argument`.
#[inline(always)]
pub(crate) unsafe fn ioctl(fd: i32, request: usize, argument: usize) -> isize {
    // SAFETY: the caller's promise.
    unsafe { call(number::IOCTL, [register(fd), request, argument, 0, 0, 0]) }
}

/// Makes an ioctl at whose argument no driver looks, whatever its number says. Programs pass NULL; for a file system in user space the kernel
/// tries to copy what is there, and refuses that, unless a supervisor has the call. It is made with a place then.
///
/// # Safety
///
/// As of [`ioctl`].
#[cold]
pub(crate) unsafe fn ioctl_without_argument(fd: i32, request: usize, argument: usize) -> isize {
    // SAFETY: the caller's promise.
    let result = unsafe { ioctl(fd, request, argument) };
    if argument != 0 || result != failure(Errno::EFAULT) {
        return result;
    }
    let nothing = 0_u32;
    // SAFETY: as above, and the place is of the size that the numbers of such requests say.
    unsafe { ioctl(fd, request, (&raw const nothing).addr()) }
}

/// The position of an open file, or a negative error number.
#[inline(always)]
pub(crate) fn position(fd: i32) -> isize {
    // SAFETY: it changes nothing.
    unsafe { call(number::LSEEK, [register(fd), 0, SEEK_CUR, 0, 0, 0]) }
}

/// Moves an open file to a position.
pub(crate) fn set_position(fd: i32, position: isize) -> isize {
    // SAFETY: it touches no memory.
    unsafe { call(number::LSEEK, [register(fd), position.cast_unsigned(), SEEK_SET, 0, 0, 0]) }
}

const SEEK_SET: usize = 0;
const SEEK_CUR: usize = 1;

/// Whether the 8 bytes at `address` can be read. The kernel tries: it copies them before it finds that
/// the change is unknown, and of all calls that do so this is about the shortest.
pub(crate) fn can_read_word(address: usize) -> bool {
    const NO_SUCH_CHANGE: usize = i32::MAX as usize;
    const MASK_BYTES: usize = 8;
    let arguments = [NO_SUCH_CHANGE, address, 0, MASK_BYTES, 0, 0];
    // Null is no address to the kernel, but says that there is no mask.
    // SAFETY: the kernel reads a mask at the address, if it can, and changes none: there is no such change.
    address != 0 && unsafe { call(number::RT_SIGPROCMASK, arguments) != failure(Errno::EFAULT) }
}

/// Blocks these signals of the thread, and no others. Returns those that were blocked before.
#[inline(always)]
pub(crate) fn set_blocked_signals(blocked: u64) -> u64 {
    const SIG_SETMASK: usize = 2;
    let mut before = 0_u64;
    let places = [(&raw const blocked).addr(), (&raw mut before).addr()];
    let arguments = [SIG_SETMASK, places[0], places[1], size_of::<u64>(), 0, 0];
    // SAFETY: the kernel reads a mask and writes one, both of that size.
    unsafe { call(number::RT_SIGPROCMASK, arguments) };
    before
}

/// Whether the 4 bytes at `address`, a multiple of 4, can be written. The kernel tries: it sets none of their bits,
/// in one step, and wakes no thread.
pub(crate) fn can_write_word(address: usize) -> bool {
    // A page that another process delivers, when it is missed, this call does not wait for; one that reads does.
    can_write_present(address) || can_read_word(address & !7) && can_write_present(address)
}

/// The same, but a word in a page that another process delivers, when it is missed, cannot be written.
pub(crate) fn can_write_present(address: usize) -> bool {
    // FUTEX_OP_OR of 0, and a comparison that decides about further waiters, of which there are none.
    const CHANGE_NOTHING: usize = 2 << 28 | 0x7ff;
    let no_waiters = 0_u32;
    let own = (&raw const no_waiters).addr();
    let arguments = [own, FUTEX_WAKE_OP_PRIVATE, 0, 0, address, CHANGE_NOTHING];
    // SAFETY: the word keeps its value.
    unsafe { call(number::FUTEX, arguments) != failure(Errno::EFAULT) }
}

const FUTEX_WAKE_OP_PRIVATE: usize = 5 | 128;

/// Sleeps while a word, which another process may share, has this value, or until the `timespec` at `timeout` is over.
#[inline(always)]
pub(crate) fn futex_wait(word: &AtomicU32, value: u32, timeout: usize) -> isize {
    const FUTEX_WAIT: usize = 0;
    let arguments = [word.as_ptr().addr(), FUTEX_WAIT, value as usize, timeout, 0, 0];
    // SAFETY: the kernel reads the word and the time, if it can.
    unsafe { call(number::FUTEX, arguments) }
}

/// Sleeps while these words have the values that they have there, or until a time of the monotonic clock. Returns which one woke the
/// thread.
#[inline(always)]
pub(crate) fn futex_waitv(words: &[Wait], until: &Timespec) -> isize {
    const CLOCK_MONOTONIC: usize = 1;
    let until = ptr::from_ref(until).addr();
    let arguments = [words.as_ptr().addr(), words.len(), 0, until, CLOCK_MONOTONIC, 0];
    // SAFETY: the kernel reads what is there, the words, and the time.
    unsafe { call(number::FUTEX_WAITV, arguments) }
}

/// The monotonic clock.
#[inline(always)]
pub(crate) fn now() -> Timespec {
    const CLOCK_MONOTONIC: usize = 1;
    let mut now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let place = (&raw mut now).addr();
    // SAFETY: the kernel writes to the place, which is of this type.
    unsafe { call(number::CLOCK_GETTIME, [CLOCK_MONOTONIC, place, 0, 0, 0, 0]) };
    now
}

/// Where the kernel is to clear the number of this thread when it ends. None if the kernel does not tell.
pub(crate) fn tid_address() -> Option<usize> {
    const PR_GET_TID_ADDRESS: usize = 40;
    let mut address = 0_usize;
    let place = (&raw mut address).addr();
    // SAFETY: the kernel writes to the place, which is of this size.
    let result = unsafe { call(number::PRCTL, [PR_GET_TID_ADDRESS, place, 0, 0, 0, 0]) };
    (result == 0).then_some(address)
}

/// The stack that a thread has for handlers of signals beside its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SignalStack {
    /// It has none.
    None,
    /// It runs there, or that is not known.
    InUse,
    /// It ends here: handlers begin there.
    Until(usize),
}

/// The stack that this thread has for handlers of signals.
pub(crate) fn signal_stack() -> SignalStack {
    const SS_DISABLE: i32 = 2;
    /// `stack_t`.
    #[derive(Default)]
    #[repr(C)]
    struct Stack {
        start: usize,
        flags: i32,
        len: usize,
    }
    let mut stack = Stack::default();
    let place = (&raw mut stack).addr();
    // SAFETY: the kernel writes to the place, which is of this type, and changes nothing.
    let result = unsafe { call(number::SIGALTSTACK, [0, place, 0, 0, 0, 0]) };
    match (result, stack.flags) {
        (0, SS_DISABLE) => SignalStack::None,
        (0, 0) => SignalStack::Until(stack.start.wrapping_add(stack.len)),
        _ => SignalStack::InUse,
    }
}

/// Wakes one thread that sleeps on a word, of any process.
#[inline(always)]
pub(crate) fn futex_wake(word: &AtomicU32) {
    const FUTEX_WAKE: usize = 1;
    // SAFETY: the kernel takes the address for a name.
    unsafe { call(number::FUTEX, [word.as_ptr().addr(), FUTEX_WAKE, 1, 0, 0, 0]) };
}

/// The return value of a call that fails.
pub(crate) fn failure(error: Errno) -> isize {
    // Error numbers are small.
    -(error.number() as isize)
}

/// The outcome of a call with this return value.
#[inline(always)]
pub(crate) fn outcome(result: isize) -> Result<(), Errno> {
    i32::try_from(-result).ok().and_then(Errno::from_number).map_or(Ok(()), Err)
}

/// A random number. None if the kernel has none yet.
pub(crate) fn random() -> Option<usize> {
    const GRND_NONBLOCK: usize = 1;
    let mut number = 0_usize;
    let place = (&raw mut number).addr();
    // SAFETY: the kernel writes to the place, which has as many bytes.
    let len =
        unsafe { call(number::GETRANDOM, [place, size_of::<usize>(), GRND_NONBLOCK, 0, 0, 0]) };
    (len == size_of::<usize>().cast_signed()).then_some(number)
}

#[inline(always)]
fn register(fd: i32) -> usize {
    (fd as isize).cast_unsigned()
}

/// # Safety
///
/// As of the call itself.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn call(number: usize, arguments: [usize; 6]) -> isize {
    let result;
    // SAFETY: the kernel changes these registers, and what memory the call says.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") arguments[0],
            in("rsi") arguments[1],
            in("rdx") arguments[2],
            in("r10") arguments[3],
            in("r8") arguments[4],
            in("r9") arguments[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// # Safety
///
/// As of the call itself.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
unsafe fn call(number: usize, arguments: [usize; 6]) -> isize {
    let result;
    // SAFETY: the kernel changes these registers, and what memory the call says.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") arguments[0] => result,
            in("x1") arguments[1],
            in("x2") arguments[2],
            in("x3") arguments[3],
            in("x4") arguments[4],
            in("x5") arguments[5],
            options(nostack),
        );
    }
    result
}

#[cfg(test)]
mod tests {
    use core::ptr;

    use rustix::mm::{MapFlags, ProtFlags};

    use super::*;

    /// A page that can be accessed like this.
    fn page(access: ProtFlags) -> usize {
        // SAFETY: a null hint lets the kernel choose a free range.
        let page =
            unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), 4096, access, MapFlags::PRIVATE) };
        page.expect("there is memory").addr()
    }

    #[test]
    fn the_kernel_tells_which_memory_can_be_read_and_written() {
        let whole = page(ProtFlags::READ | ProtFlags::WRITE);
        assert!(can_read_word(whole) && can_write_word(whole));
        let constant = page(ProtFlags::READ);
        assert!(can_read_word(constant) && !can_write_word(constant));
        let hidden = page(ProtFlags::empty());
        assert!(!can_read_word(hidden) && !can_write_word(hidden));
        for nowhere in [0, 16, 1 << 62, usize::MAX - 31] {
            assert!(!can_read_word(nowhere) && !can_write_word(nowhere), "{nowhere:#x}");
        }
    }

    #[test]
    fn what_is_tried_stays_as_it_was() {
        let words = [u64::MAX, 0x7ff_0000_07ff];
        for word in &words {
            let address = ptr::from_ref(word).addr();
            assert!(can_read_word(address) && can_write_word(address));
        }
        assert_eq!(words, [u64::MAX, 0x7ff_0000_07ff]);
    }
}
