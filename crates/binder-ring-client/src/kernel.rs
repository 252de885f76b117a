//! The system calls of a call, as the kernel makes them.

#![expect(unsafe_code, reason = "the ioctls of the ring have no safe wrapper")]

use core::sync::atomic::AtomicU32;

use binder_ring::{SLEEP_MS, SlotIndex};
use binder_uapi::{
    ANYBINDER_RING_ATTACH, ANYBINDER_RING_WAIT, Errno, RING_VERSION, RingAttach, RingWait,
};
use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::ioctl::{Setter, ioctl};
use rustix::thread::Timespec;
use rustix::thread::futex::{self, Flags};

use crate::caller::{RingSystem, SleepEnd};

/// The calls of threads of this process, to the driver of an open device.
#[derive(Clone, Copy, Debug)]
pub struct KernelCalls<'a> {
    device: BorrowedFd<'a>,
}

impl<'a> KernelCalls<'a> {
    /// Those to the driver of this device.
    pub fn new(device: BorrowedFd<'a>) -> Self {
        Self { device }
    }
}

impl RingSystem for KernelCalls<'_> {
    fn cpu(&self) -> u32 {
        u32::try_from(rustix::thread::sched_getcpu()).unwrap_or(0)
    }

    fn wake(&self, word: &AtomicU32) {
        wake(word);
    }

    fn sleep(&self, word: &AtomicU32, value: u32) -> SleepEnd {
        let timeout = Timespec { tv_sec: 0, tv_nsec: (SLEEP_MS * 1_000_000).into() };
        // A wait that may time out ends by any signal, whatever its handler says of restarts.
        match futex::wait(word, Flags::empty(), value, Some(&timeout)) {
            Ok(()) | Err(rustix::io::Errno::AGAIN) => SleepEnd::Woken,
            Err(rustix::io::Errno::INTR) => SleepEnd::Interrupted,
            // A kernel that cannot wait on a word does it in the driver.
            Err(_) => SleepEnd::TimedOut,
        }
    }

    fn ring_wait(&self, slot: SlotIndex, flags: u32) -> Result<(), Errno> {
        let wait = RingWait { slot: slot.number(), flags };
        // SAFETY: the number says that the kernel, or the driver in its place, reads a `RingWait` behind the argument, and
        // writes nothing.
        let request = unsafe { Setter::<ANYBINDER_RING_WAIT, _>::new(wait) };
        // SAFETY: a device that knows the request touches no memory of the process but the segment, which is shared and
        // accessed by atomics and copies alone. One that does not know it refuses.
        unsafe { ioctl(self.device, request) }.map_err(errno)
    }
}

/// Wakes one thread that sleeps on a word, of any process.
pub(crate) fn wake(word: &AtomicU32) {
    // It fails for addresses that are none. The flags say that the word is not private to the process.
    let _ = futex::wake(word, Flags::empty(), 1);
}

/// Offers a segment to the driver of a device.
pub(crate) fn offer(device: BorrowedFd<'_>, segment: BorrowedFd<'_>) -> Result<(), Errno> {
    let fd = segment.as_raw_fd().cast_unsigned();
    let offer = RingAttach { version: RING_VERSION, fd };
    // SAFETY: the number says that the kernel, or the driver in its place, reads a `RingAttach` behind the argument, and
    // writes nothing.
    let request = unsafe { Setter::<ANYBINDER_RING_ATTACH, _>::new(offer) };
    // SAFETY: a device that knows the request maps the segment elsewhere; one that does not refuses.
    unsafe { ioctl(device, request) }.map_err(errno)
}

/// The same number, as the driver says it.
pub(crate) fn errno(error: rustix::io::Errno) -> Errno {
    Errno::from_number(error.raw_os_error()).unwrap_or(Errno::EIO)
}
