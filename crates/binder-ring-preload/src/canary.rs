//! Notices that a thread handles a signal, without a system call.
//!
//! A kernel's driver ends a call with every signal that is handled once the call has begun. A thread that exchanges calls
//! learns of those that come in its sleep, or in its ioctl; of one that comes before, while the driver may have the call
//! already, nothing tells. But to have a handler run, the kernel writes a frame to the thread's stack, at a fixed distance
//! below the stack pointer. So a canary is put where the end of that frame comes to lie. It is the time-out of the
//! sleep, and a frame overwrites it with a value that the kernel refuses as a time-out, when the sleep begins. A sleep on several
//! words, which the kernel begins again after a handler that says so, has it among them.
//!
//! | machine | a frame ends with | at |
//! |---|---|---|
//! | x86-64 | `FP_XSTATE_MAGIC2`, behind the floating-point state, which starts at a multiple of 64 | up to 192 bytes below the stack pointer, above which are the 128 of the red zone |
//! | aarch64 | the frame pointer and the return address | 16 bytes below |
//!
//! The place depends on the stack pointer: one function puts the canary there, looks after it and sleeps, and functions that
//! it calls meanwhile would write there. So all of this is inlined. An unoptimized build inlines nothing, so it has no
//! canary.
//!
//! Handlers on another stack (`SA_ONSTACK`) leave nothing here. Only a system call tells where that stack is: a thread that looks
//! for calls of lanes asks, and puts a canary there as well.

#![expect(unsafe_code, reason = "the canary lies below the stack pointer, in no variable")]

use core::ptr;
use core::sync::atomic::AtomicU32;
#[cfg(target_arch = "x86_64")]
use core::sync::atomic::{AtomicUsize, Ordering};

use binder_ring::SLEEP_MS;

use crate::program_memory::stack_pointer;
use crate::syscall::{self, SignalStack};

/// A `timespec`.
type Canary = [i64; 2];

const CANARY: Canary = [0, NANOSECONDS as i64];
const NANOSECONDS: u32 = SLEEP_MS * 1_000_000;

/// Puts the canary in its place.
#[inline(always)]
pub(crate) fn put() {
    if let Some(place) = place() {
        // SAFETY: it lies below what the stack is used for, and above the stack's end, or a signal would have no room
        // either. A frame that comes at this moment is over before the next instruction.
        unsafe { ptr::write_volatile(place, CANARY) }
    }
}

/// Whether the canary is gone: the thread has handled a signal since it was put.
#[inline(always)]
pub(crate) fn is_gone() -> bool {
    // SAFETY: it was put there, and since then no more than a frame.
    place().is_some_and(|place| unsafe { ptr::read_volatile(place) != CANARY })
}

/// The canary on the stack that a thread has for handlers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OtherCanary {
    /// Null if the thread has no such stack.
    place: *mut Canary,
}

impl OtherCanary {
    /// None at all.
    pub(crate) const NONE: Self = Self { place: ptr::null_mut() };

    /// That of this thread. None if it runs there, or there is no memory.
    pub(crate) fn of_thread() -> Option<Self> {
        match syscall::signal_stack() {
            SignalStack::None => Some(Self::NONE),
            SignalStack::InUse => None,
            SignalStack::Until(end) => {
                let place = frame_end(end)?;
                let [first, last] = [0, size_of::<Canary>() - 1].map(|at| (place.addr() + at) & !3);
                let is_there = syscall::can_write_word(first) && syscall::can_write_word(last);
                is_there.then_some(Self { place })
            }
        }
    }

    /// Puts the canary in its place.
    #[inline(always)]
    pub(crate) fn put(self) {
        if !self.place.is_null() {
            // SAFETY: that it can be written was tried. It is for the kernel to write to, whenever a signal comes: the thread
            // does not run there, so it has nothing there.
            unsafe { ptr::write_unaligned(self.place, CANARY) }
        }
    }

    /// Whether the canary is gone since it was put.
    #[inline(always)]
    pub(crate) fn is_gone(self) -> bool {
        // SAFETY: it was put there, and since then no more than a frame.
        !self.place.is_null() && unsafe { ptr::read_unaligned(self.place) != CANARY }
    }

    /// As [`word`].
    #[inline(always)]
    pub(crate) fn word(self) -> Option<(*const AtomicU32, u32)> {
        (!self.place.is_null()).then(|| word_of(self.place))
    }
}

/// A word of the canary, for the kernel to look at when a sleep begins, or begins again after a handler; and its value.
#[inline(always)]
pub(crate) fn word() -> Option<(*const AtomicU32, u32)> {
    place().map(word_of)
}

#[inline(always)]
fn word_of(canary: *mut Canary) -> (*const AtomicU32, u32) {
    // The lower half of the nanoseconds: both machines have that first.
    (canary.cast::<u32>().wrapping_add(2).cast_const().cast(), NANOSECONDS)
}

/// Sleeps while the word has this value, or until the canary's time is over, and returns what the kernel does: EINVAL if
/// the canary is gone.
#[inline(always)]
pub(crate) fn futex_wait(word: &AtomicU32, value: u32) -> isize {
    let timeout = CANARY;
    let timeout = place().map_or((&raw const timeout).addr(), <*mut Canary>::addr);
    syscall::futex_wait(word, value, timeout)
}

/// Where the canary is to be, if a frame is known to end there.
#[inline(always)]
fn place() -> Option<*mut Canary> {
    #[cfg(target_arch = "x86_64")]
    const RED_ZONE_BYTES: usize = 128;
    #[cfg(target_arch = "aarch64")]
    const RED_ZONE_BYTES: usize = 0;
    if cfg!(debug_assertions) { None } else { frame_end(stack_pointer() - RED_ZONE_BYTES) }
}

/// Where the canary is to be that the frame of a handler overwrites which the kernel begins here.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn frame_end(stack: usize) -> Option<*mut Canary> {
    const MAGIC_BYTES: usize = 4;
    let rest = STATE_REST.load(Ordering::Relaxed);
    if rest == UNKNOWN {
        return None;
    }
    // As the kernel computes it, but for whole units of 64 bytes.
    let state_end = ((stack - MAGIC_BYTES - rest) & !63) + rest;
    // The magic number, in place of the lower half of the nanoseconds, is more than a second.
    Some(ptr::with_exposed_provenance_mut(state_end - size_of::<i64>()))
}

/// By how many bytes the floating-point state of a frame exceeds a multiple of 64, or `UNKNOWN`.
#[cfg(target_arch = "x86_64")]
static STATE_REST: AtomicUsize = AtomicUsize::new(UNKNOWN);

#[cfg(target_arch = "x86_64")]
const UNKNOWN: usize = usize::MAX;

/// Finds out where frames end, once for the process.
#[cfg(target_arch = "x86_64")]
pub(crate) fn prepare() {
    use core::arch::x86_64::{__cpuid, __cpuid_count};

    const OSXSAVE: u32 = 1 << 27;
    const STATE_LEAF: u32 = 0xd;
    #[allow(unused_unsafe, reason = "older compilers want it")]
    // SAFETY: every processor of the architecture has the instruction.
    let [leaves, features] = [0, 1].map(|leaf| unsafe { __cpuid(leaf) });
    // Without it a frame has no magic number.
    if leaves.eax >= STATE_LEAF && features.ecx & OSXSAVE != 0 {
        // Of all states that the kernel has enabled. It leaves those out that a process must ask for, which are the last
        // and lie between multiples of 64.
        #[allow(unused_unsafe, reason = "older compilers want it")]
        // SAFETY: as above, and it has this leaf.
        let len = unsafe { __cpuid_count(STATE_LEAF, 0) }.ebx as usize;
        STATE_REST.store(len % 64, Ordering::Relaxed);
    }
}

/// The same.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn frame_end(stack: usize) -> Option<*mut Canary> {
    // The seconds are where a frame has the frame pointer, and the nanoseconds are where it has the return address.
    Some(ptr::with_exposed_provenance_mut((stack & !15) - size_of::<Canary>()))
}

/// There is nothing to find out.
#[cfg(target_arch = "aarch64")]
pub(crate) fn prepare() {}
