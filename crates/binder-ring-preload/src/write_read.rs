//! `BINDER_WRITE_READ`, by the ring where there is one.

#![expect(unsafe_code, reason = "system calls get addresses of the program's")]

use core::cell::Cell;
use core::ptr;
use core::sync::atomic::AtomicU32;

use binder_ring::layout::RETURNS_BYTES;
use binder_ring::{RingSwitch, SlotIndex};
use binder_ring_client::{RingOutcome, RingSystem, SleepEnd};
use binder_uapi::{
    ANYBINDER_RING_WAIT, BINDER_WRITE_READ, BinderWriteRead, Errno, RING_INTERRUPT, RingWait,
};

use crate::program_memory::ProgramMemory;
use crate::ring_table::{FileRing, NoRing, RingTable, RingUse};
use crate::{canary, environment, lane_call, processor, syscall};

/// The rings of this process.
pub(crate) static RINGS: RingTable = RingTable::new();

/// The driver turns it when the program confines its system calls.
pub(crate) static SWITCH: RingSwitch = RingSwitch::new();

/// Does what the ioctl does, and returns what the kernel would.
///
/// # Safety
///
/// As of the ioctl: what the struct at `argument` names is to be written to, as it says.
pub unsafe fn write_read(fd: i32, argument: usize) -> isize {
    if SWITCH.is_off() {
        if let Some((ring, slot)) = RINGS.find_serving() {
            let memory = ProgramMemory::of_thread(ring.note_of(slot));
            let fd = ring.known_fd();
            lane_call::leave(DeviceCalls::new(&ring, fd), slot, &memory);
        }
        // SAFETY: the caller's promise.
        return unsafe { plain(fd, argument) };
    }
    let found = match RINGS.find(fd) {
        FileRing::Ring(ring, slot) => Some((ring, slot)),
        FileRing::None => None,
        FileRing::Unknown { .. } if environment::has_no_ring() => None,
        FileRing::Unknown { calls } => match RINGS.attach(fd, calls) {
            Ok(ring) => Some((ring, None)),
            Err(NoRing::Busy) => None,
            Err(NoRing::Refused) => {
                // SAFETY: the caller's promise.
                let result = unsafe { plain(fd, argument) };
                // So it is a device.
                if result == 0 {
                    RINGS.note_ioctl(fd, calls);
                }
                return result;
            }
        },
    };
    // SAFETY: the caller's promise, twice.
    match found.and_then(|(ring, slot)| unsafe { exchange(&ring, slot, fd, argument) }) {
        Some(result) => result,
        // SAFETY: as above.
        None => unsafe { plain(fd, argument) },
    }
}

/// Makes the ioctl.
///
/// # Safety
///
/// As of [`write_read`].
unsafe fn plain(fd: i32, argument: usize) -> isize {
    // SAFETY: the caller's promise.
    unsafe { syscall::ioctl(fd, BINDER_WRITE_READ as usize, argument) }
}

/// Makes the call by a ring, where the thread has this slot, if that is known. None if the ioctl is to be made, with the
/// struct as it is then: be it that there is no slot for the thread, that something cannot be read or written, of which the
/// driver tells in its own way, or that it wants the ioctl.
///
/// # Safety
///
/// As of [`write_read`].
#[inline(always)]
unsafe fn exchange(
    ring: &RingUse<'_>,
    slot: Option<SlotIndex>,
    fd: i32,
    argument: usize,
) -> Option<isize> {
    let slot = slot.or_else(|| ring.find_slot(fd))?;
    let memory = ProgramMemory::of_thread(ring.note_of(slot));
    // SAFETY: the caller's promise.
    let result = unsafe { exchange_in(ring, slot, &memory, fd, argument) };
    if result.is_none() {
        ring.forget_standing(slot);
        if ring.lanes().buffers().has_any_in_use() {
            lane_call::leave(DeviceCalls::new(ring, fd), slot, &memory);
            // SAFETY: as above.
            return Some(unsafe { plain_with_lanes(ring, &memory, fd, argument) });
        }
    }
    result
}

/// Makes the ioctl, and frees the buffers of lanes that its commands have freed.
///
/// # Safety
///
/// As of [`write_read`].
#[cold]
unsafe fn plain_with_lanes(
    ring: &RingUse<'_>,
    memory: &ProgramMemory<'_>,
    fd: i32,
    argument: usize,
) -> isize {
    // SAFETY: it is of numbers alone.
    let before = unsafe { memory.read_mutable::<BinderWriteRead>(argument) };
    // SAFETY: the caller's promise.
    let result = unsafe { plain(fd, argument) };
    // SAFETY: as above.
    let after = unsafe { memory.read_mutable::<BinderWriteRead>(argument) };
    if let (Some(before), Some(after)) = (before, after) {
        lane_call::free_run(ring.lanes(), memory, &after, before.write_consumed);
    }
    result
}

/// The same, in the slot of the thread.
///
/// # Safety
///
/// As of [`write_read`].
#[inline(always)]
unsafe fn exchange_in(
    ring: &RingUse<'_>,
    slot: SlotIndex,
    memory: &ProgramMemory<'_>,
    fd: i32,
    argument: usize,
) -> Option<isize> {
    // SAFETY: it is of numbers alone.
    let mut call = unsafe { memory.read_mutable::<BinderWriteRead>(argument) }?;
    let room = usize::try_from(call.read_size.saturating_sub(call.read_consumed)).ok()?;
    let returns = call.read_buffer.wrapping_add(call.read_consumed);
    if room > 0 && !memory.can_write_at(returns, room.min(RETURNS_BYTES)) {
        return None;
    }
    let system = DeviceCalls::new(ring, fd);
    let outcome = match ring.busy_calls() {
        None => ring.ring().exchange(slot, &mut call, &system, memory),
        Some(calls) => lane_call::exchange(system, slot, memory, &mut call, calls),
    };
    let outcome = match outcome {
        RingOutcome::Done(Err(Errno::EINTR)) => {
            let before = call.write_consumed;
            // SAFETY: the caller's promise, for less than it is about.
            let ended = unsafe { write_after_interruption(fd, &mut call) };
            lane_call::free_run(ring.lanes(), memory, &call, before);
            RingOutcome::Done(ended)
        }
        other => other,
    };
    if !memory.write(argument, &call) {
        return Some(syscall::failure(Errno::EFAULT));
    }
    match outcome {
        RingOutcome::Done(Ok(())) => Some(0),
        RingOutcome::Done(Err(error)) => Some(syscall::failure(error)),
        RingOutcome::Ioctl => None,
        RingOutcome::Refused => {
            ring.note_refusal(slot);
            None
        }
    }
}

/// A signal ends what reads, not what writes: has the driver run the commands of a call that was interrupted before
/// they were, and says how the call ends.
///
/// # Safety
///
/// As of [`write_read`].
unsafe fn write_after_interruption(fd: i32, call: &mut BinderWriteRead) -> Result<(), Errno> {
    while call.write_consumed < call.write_size {
        let mut written = BinderWriteRead { read_size: 0, read_consumed: 0, ..*call };
        let argument = (&raw mut written).addr();
        // SAFETY: the caller's promise.
        let result = unsafe { plain(fd, argument) };
        call.write_consumed = written.write_consumed;
        match syscall::outcome(result) {
            Ok(()) => break,
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
    // One without room for returns reads, too.
    if call.read_size > 0 { Err(Errno::EINTR) } else { Ok(()) }
}

/// The system calls of a call, with a number that may come to mean another file meanwhile.
pub(crate) struct DeviceCalls<'c, 't> {
    pub(crate) ring: &'c RingUse<'t>,
    pub(crate) fd: i32,
    /// The signals that were blocked before those that come now were held back.
    blocked_before: Cell<Option<u64>>,
}

impl<'c, 't> DeviceCalls<'c, 't> {
    pub(crate) const fn new(ring: &'c RingUse<'t>, fd: i32) -> Self {
        Self { ring, fd, blocked_before: Cell::new(None) }
    }

    /// Holds signals back until the next wait for the driver, which notices them.
    #[cold]
    pub(crate) fn hold_signals(&self) {
        if self.blocked_before.get().is_none() {
            self.blocked_before.set(Some(syscall::set_blocked_signals(u64::MAX)));
        }
    }

    /// Has signals handled that were held back.
    #[inline(always)]
    pub(crate) fn release_signals(&self) {
        if let Some(blocked) = self.blocked_before.take() {
            syscall::set_blocked_signals(blocked);
        }
    }

    /// Makes an ioctl of the driver's own, which knows where a `T` lies.
    ///
    /// # Errors
    ///
    /// As the device answers; `EBADF` if the number means another file by now.
    ///
    /// # Safety
    ///
    /// `T` is the argument of the request, and may have any bytes.
    pub(crate) unsafe fn ask<T>(&self, request: u32, argument: &mut T) -> Result<(), Errno> {
        // A program that confines itself makes ioctls, and maybe nothing else.
        if !SWITCH.is_off() && !self.ring.is_of(self.fd) {
            return Err(Errno::EBADF);
        }
        let argument = ptr::from_mut(argument).expose_provenance();
        // SAFETY: a device that knows the request touches no memory of the process but a `T`, as the caller says. One that does
        // not know it refuses.
        let result = unsafe { syscall::ioctl(self.fd, request as usize, argument) };
        syscall::outcome(result)
    }
}

impl RingSystem for DeviceCalls<'_, '_> {
    fn cpu(&self) -> u32 {
        processor::own()
    }

    #[inline(always)]
    fn wake(&self, word: &AtomicU32) {
        syscall::futex_wake(word);
    }

    #[inline(always)]
    fn sleep(&self, word: &AtomicU32, value: u32) -> SleepEnd {
        const INTERRUPTED: isize = -(Errno::EINTR.number() as isize);
        const CHANGED: isize = -(Errno::EAGAIN.number() as isize);
        const INVALID: isize = -(Errno::EINVAL.number() as isize);
        // A wait that may time out ends by any signal, whatever its handler says of restarts.
        match canary::futex_wait(word, value) {
            0 | CHANGED => SleepEnd::Woken,
            INTERRUPTED => SleepEnd::Interrupted,
            INVALID if canary::is_gone() => SleepEnd::Interrupted,
            // A kernel that cannot wait on a word does it in the driver.
            _ => SleepEnd::TimedOut,
        }
    }

    #[inline(always)]
    fn ring_wait(&self, slot: SlotIndex, flags: u32) -> Result<(), Errno> {
        if !self.ring.is_of(self.fd) {
            return Err(Errno::EBADF);
        }
        // Once more: between this look and the ioctl there is nothing that takes time.
        let seen = if canary::is_gone() { RING_INTERRUPT } else { 0 };
        let wait = RingWait { slot: slot.number(), flags: flags | seen };
        let argument = (&raw const wait).addr();
        // SAFETY: a device that knows the request reads a `RingWait`, and touches no memory of the process but the
        // segment, which is shared and accessed by atomics and copies alone. One that does not know it refuses.
        let result = unsafe { syscall::ioctl(self.fd, ANYBINDER_RING_WAIT as usize, argument) };
        syscall::outcome(result)
    }

    fn block_signals(&self) -> u64 {
        syscall::set_blocked_signals(u64::MAX)
    }

    fn restore_signals(&self, blocked: u64) {
        syscall::set_blocked_signals(blocked);
    }

    #[inline(always)]
    fn watch_signals(&self) {
        canary::put();
        self.release_signals();
    }

    #[inline(always)]
    fn has_handled_signal(&self) -> bool {
        canary::is_gone()
    }
}
