//! Memory of the program that may not be there.
//!
//! A program may pass any address, and gets EFAULT for a wrong one; a copy of ours would end it. So the kernel tries
//! each page first, by a system call that touches it and is short. The stack mostly needs no trial: the pages
//! between the stack pointer and a page above it that could be written once can be written for as long as the thread
//! runs there. Pages that do not belong to a call are tried without a wait: another process may have to deliver one.

#![expect(unsafe_code, reason = "memory is copied at addresses that come from the program")]

use core::arch::asm;
use core::cell::Cell;
use core::ops::Range;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};

use binder_lane::LaneSegment;
use binder_lane::layout::DATA_BYTES;
use binder_ring::{MemoryWindow, Segment, SlotIndex};
use binder_ring_client::CallMemory;
use binder_uapi::Errno;

use crate::syscall;

/// The smallest page of all machines.
const PAGE_BYTES: usize = 4096;

/// How far above the stack pointer memory is taken for part of the stack.
const STACK_REACH_BYTES: usize = 64 << 10;

/// The known part of a thread's stack: pages without a gap that could be written while the thread ran on one of
/// them. The thread alone changes it; a handler of a signal may do so in between.
#[derive(Debug)]
pub(crate) struct StackNote {
    start: AtomicUsize,
    end: AtomicUsize,
}

/// The memory of a thread during a call.
pub(crate) struct ProgramMemory<'n> {
    /// The stack pointer: the used part of the stack begins here.
    stack_pointer: usize,
    /// No part of the stack lies from here on.
    stack_limit: usize,
    /// The part of the stack that can be written, around the stack pointer.
    stack: Cell<(usize, usize)>,
    note: &'n StackNote,
}

impl StackNote {
    /// No page is known.
    pub(crate) const fn new() -> Self {
        Self { start: AtomicUsize::new(0), end: AtomicUsize::new(0) }
    }

    /// Forgets the pages of a thread that has ended.
    pub(crate) fn clear(&self) {
        self.start.store(0, Ordering::Relaxed);
        self.end.store(0, Ordering::Relaxed);
    }
}

impl<'n> ProgramMemory<'n> {
    /// The memory of the calling thread, with the known part of its stack.
    #[inline(always)]
    pub(crate) fn of_thread(note: &'n StackNote) -> Self {
        let stack_pointer = stack_pointer();
        let noted = note.start.load(Ordering::Relaxed)..note.end.load(Ordering::Relaxed);
        let page = stack_pointer & !(PAGE_BYTES - 1);
        // The page of the stack pointer is in use at this moment.
        let known = if noted.contains(&stack_pointer) { noted } else { page..page + PAGE_BYTES };
        let reach = stack_pointer + STACK_REACH_BYTES;
        // C libraries keep what belongs to a thread above its stack.
        let thread = thread_pointer();
        let stack_limit = if thread > stack_pointer { reach.min(thread) } else { reach };
        Self { stack_pointer, stack_limit, stack: Cell::new((known.start, known.end)), note }
    }

    /// Reads a value, if it can be read and written.
    ///
    /// # Safety
    ///
    /// `T` may have any bytes.
    pub(crate) unsafe fn read_mutable<T: Copy>(&self, address: usize) -> Option<T> {
        let range = range(address, size_of::<T>())?;
        if !self.can_write(&range) {
            return None;
        }
        // SAFETY: it was proven that the bytes are there; any will do, as the caller says.
        Some(unsafe { (address as *const T).read_unaligned() })
    }

    /// Writes a value, if it can be written. Says whether it was.
    #[must_use = "it may be out of reach"]
    pub(crate) fn write<T: Copy>(&self, address: usize, value: &T) -> bool {
        let can_write = range(address, size_of::<T>()).is_some_and(|range| self.can_write(&range));
        if can_write {
            // SAFETY: it was proven that the bytes are there. The program has said that they are to be written.
            unsafe { (address as *mut T).write_unaligned(*value) }
        }
        can_write
    }

    /// Whether `len` bytes can be written at `address`.
    pub(crate) fn can_write_at(&self, address: u64, len: usize) -> bool {
        let address = usize::try_from(address).ok();
        let range = address.and_then(|address| range(address, len));
        range.is_some_and(|range| self.can_write(&range))
    }

    /// Copies the bytes at `address`, if they can be read. Says whether it did.
    #[must_use]
    pub(crate) fn read_bytes(&self, address: u64, into: &mut [u8]) -> bool {
        let address = usize::try_from(address).ok();
        let range = address.and_then(|address| range(address, into.len()));
        let Some(range) = range.filter(|range| self.can_read(range)) else { return false };
        // SAFETY: it was proven that the bytes can be read, and `into` is no memory that the program knows.
        unsafe { ptr::copy_nonoverlapping(range.start as *const u8, into.as_mut_ptr(), into.len()) }
        true
    }

    /// Writes bytes to `address`, if they can be written there. Says whether it did.
    #[must_use]
    pub(crate) fn write_bytes(&self, address: u64, bytes: &[u8]) -> bool {
        let can_write = self.can_write_at(address, bytes.len());
        if can_write {
            // SAFETY: it was proven that the bytes are there, and the program has said that they are to be written; `bytes` it
            // does not know.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, bytes.len()) }
        }
        can_write
    }

    /// Copies the data of a call to the segment of a lane, if they can be read and have room there. Says whether it did.
    #[must_use]
    pub(crate) fn copy_to_lane(&self, segment: &LaneSegment, address: u64, len: u64) -> bool {
        let data = self.readable(address, len);
        // SAFETY: the bytes can be read. Where segments are no program knows.
        data.is_some_and(|(from, len)| unsafe { segment.copy_request_in(from, len) })
    }

    /// Copies the data of a reply to the segment of a lane, if they can be read and have room there. Says whether it did.
    #[must_use]
    pub(crate) fn copy_reply_to_lane(&self, segment: &LaneSegment, address: u64, len: u64) -> bool {
        let data = self.readable(address, len);
        // SAFETY: as above.
        data.is_some_and(|(from, len)| unsafe { segment.copy_reply_in(from, len) })
    }

    /// Where that many bytes are, if they can be read and fit a lane.
    fn readable(&self, address: u64, len: u64) -> Option<(*const u8, usize)> {
        let (address, len) = usize::try_from(address).ok().zip(usize::try_from(len).ok())?;
        let range = (len <= DATA_BYTES).then(|| range(address, len))??;
        self.can_read(&range).then_some((address as *const u8, len))
    }

    fn can_read(&self, range: &Range<usize>) -> bool {
        self.is_stack(range)
            || pages(range).all(|page| syscall::can_read_word(page.max(range.start) & !7))
    }

    fn can_write(&self, range: &Range<usize>) -> bool {
        self.is_stack(range)
            || pages(range).all(|page| syscall::can_write_word(page.max(range.start) & !3))
    }

    /// Whether a range is on the stack, which is looked at where that is not known yet.
    #[inline(always)]
    fn is_stack(&self, range: &Range<usize>) -> bool {
        let may_be = range.start >= self.stack_pointer && range.end <= self.stack_limit;
        may_be && (range.end <= self.stack.get().1 || self.is_more_stack(range))
    }

    /// Whether a range is on the stack that ends behind what is known of that.
    #[cold]
    fn is_more_stack(&self, range: &Range<usize>) -> bool {
        let (start, end) = self.stack.get();
        // Frames between the stack pointer and the range are not the call's: none of their pages is waited for.
        let is_joined =
            range.start <= end || pages(&(end..range.start)).all(syscall::can_write_present);
        let unknown = end.max(range.start)..range.end;
        let is_writable = is_joined && pages(&unknown).all(syscall::can_write_word);
        if is_writable {
            let end = unknown.end.next_multiple_of(PAGE_BYTES);
            self.stack.set((start, end));
            self.note.start.store(start, Ordering::Relaxed);
            self.note.end.store(end, Ordering::Relaxed);
        }
        is_writable
    }
}

impl CallMemory for ProgramMemory<'_> {
    fn copy_in(&self, segment: &Segment, slot: SlotIndex, at: usize, window: MemoryWindow) -> bool {
        let (Ok(address), Ok(len)) = (usize::try_from(window.address), usize::try_from(window.len))
        else {
            return false;
        };
        let can_read = range(address, len).is_some_and(|range| self.can_read(&range));
        if can_read {
            // SAFETY: it was proven that the bytes can be read. Where segments are no program knows.
            unsafe { segment.copy_in(slot, at, address as *const u8, len) }
        }
        can_read
    }

    fn copy_returns(
        &self,
        segment: &Segment,
        slot: SlotIndex,
        address: u64,
        len: usize,
    ) -> Result<(), Errno> {
        // Once more: the thread may have slept for hours.
        if !self.can_write_at(address, len) {
            return Err(Errno::EFAULT);
        }
        let address = usize::try_from(address).map_err(|_| Errno::EFAULT)?;
        // SAFETY: it was proven that the bytes can be written, and the program has said so. Where segments are no
        // program knows.
        unsafe { segment.copy_returns(slot, address as *mut u8, len) }
        Ok(())
    }
}

/// None if there is no such range.
fn range(address: usize, len: usize) -> Option<Range<usize>> {
    // The last page stays free, so that nothing overflows.
    let end = address.checked_add(len).filter(|end| *end < usize::MAX - PAGE_BYTES)?;
    Some(address..end)
}

/// The pages that a range touches, by their beginnings.
fn pages(range: &Range<usize>) -> impl Iterator<Item = usize> {
    let first = range.start & !(PAGE_BYTES - 1);
    (first..range.end).step_by(PAGE_BYTES)
}

/// Of the function that calls this.
#[inline(always)]
pub(crate) fn stack_pointer() -> usize {
    let pointer;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: it reads a register.
    unsafe {
        asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: it reads a register.
    unsafe {
        asm!("mov {}, sp", out(reg) pointer, options(nomem, nostack, preserves_flags));
    }
    pointer
}

/// What the C library reaches the data of the calling thread by.
#[inline(always)]
pub(crate) fn thread_pointer() -> usize {
    let pointer;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the word at `fs` is the thread pointer itself, as the ABI has it for all programs with a C library.
    unsafe {
        asm!("mov {}, fs:0", out(reg) pointer, options(nostack, preserves_flags, readonly, pure));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: it reads a register.
    unsafe {
        asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nomem, nostack, preserves_flags));
    }
    pointer
}

#[cfg(test)]
mod tests {
    use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};

    use super::*;

    /// The kernel's pages may be larger than what is tried at a time.
    const KERNEL_PAGE_BYTES: usize = 16 << 10;

    /// Fresh memory of no file, for that many of these.
    fn map(pages: usize) -> usize {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let len = pages * KERNEL_PAGE_BYTES;
        // SAFETY: a new mapping takes no other's place.
        let mapped = unsafe {
            rustix::mm::mmap_anonymous(ptr::null_mut(), len, protection, MapFlags::PRIVATE)
        };
        mapped.unwrap().addr()
    }

    /// A thread's memory whose stack pointer is at the beginning of a page.
    fn with_stack_at(stack_pointer: usize, note: &StackNote) -> ProgramMemory<'_> {
        let stack = Cell::new((stack_pointer, stack_pointer + PAGE_BYTES));
        let stack_limit = stack_pointer + STACK_REACH_BYTES;
        ProgramMemory { stack_pointer, stack_limit, stack, note }
    }

    #[test]
    fn pages_between_frames_are_known_once_they_were_tried() {
        let note = StackNote::new();
        let page = |number: usize| number * KERNEL_PAGE_BYTES;
        let start = map(5);
        let memory = with_stack_at(start, &note);
        assert!(memory.can_write(&(start + page(2)..start + page(2) + 8)));
        let tried = start + page(2) + PAGE_BYTES;
        assert_eq!(memory.stack.get(), (start, tried));
        // SAFETY: the mapping is this test's own.
        unsafe {
            let denied = MprotectFlags::empty();
            rustix::mm::mprotect((start + page(3)) as *mut _, KERNEL_PAGE_BYTES, denied)
        }
        .unwrap();
        assert!(memory.can_write(&(start + page(4)..start + page(4) + 8)), "it is no stack");
        assert_eq!(memory.stack.get(), (start, tried), "nor is what lies before");
        assert!(!memory.can_write(&(start + page(3) - 8..start + page(3) + 8)));
        // SAFETY: no reference into it is left.
        unsafe { rustix::mm::munmap(start as *mut _, page(5)) }.unwrap();
    }

    #[test]
    fn what_lies_above_a_threads_stack_is_not_taken_for_it() {
        let beyond = std::thread::spawn(|| {
            let note = StackNote::new();
            let memory = ProgramMemory::of_thread(&note);
            assert!(memory.stack_limit <= thread_pointer());
            let local = 0_u64;
            let address = (&raw const local).addr();
            memory.is_stack(&(address..address + 8))
                && !memory.is_stack(&(address..thread_pointer() + 8))
        });
        assert!(beyond.join().unwrap());
    }
}
