//! `BINDER_THREAD_EXIT`, which always goes to the driver: that is told first of a call that the thread serves past it.

#![expect(unsafe_code, reason = "a system call gets what the program has written")]

use binder_ring::SlotIndex;
use binder_uapi::BINDER_THREAD_EXIT;

use crate::program_memory::ProgramMemory;
use crate::ring_table::{FileRing, RingUse};
use crate::write_read::{DeviceCalls, RINGS, SWITCH};
use crate::{lane_call, syscall};

/// Does what the ioctl does, and returns what the kernel would.
///
/// # Safety
///
/// As of the ioctl.
pub unsafe fn thread_exit(fd: i32, argument: usize) -> isize {
    if let Some((ring, slot)) = find_slot(fd) {
        let memory = ProgramMemory::of_thread(ring.note_of(slot));
        lane_call::exit(DeviceCalls::new(&ring, fd), slot, &memory);
    }
    // SAFETY: the caller's promise.
    unsafe { syscall::ioctl_without_argument(fd, BINDER_THREAD_EXIT as usize, argument) }
}

/// The ring of a device by which this thread may serve calls of lanes, and its slot there.
fn find_slot(fd: i32) -> Option<(RingUse<'static>, SlotIndex)> {
    if SWITCH.is_off() {
        return RINGS.find_serving();
    }
    let FileRing::Ring(ring, slot) = RINGS.find(fd) else { return None };
    ring.busy_calls()?;
    let slot = slot.or_else(|| ring.claimed_slot())?;
    Some((ring, slot))
}
