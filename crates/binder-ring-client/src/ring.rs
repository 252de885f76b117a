//! The segment of an open device, and the threads that have its slots.

#![expect(unsafe_code, reason = "the segment is mapped and unmapped")]

use core::ffi::CStr;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, Ordering};

use binder_ring::layout::{SEGMENT_BYTES, SLOTS};
use binder_ring::{Segment, SlotIndex};
use binder_uapi::Errno;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FsWord, MemfdFlags, SealFlags, SeekFrom};
use rustix::mm::{Advice, MapFlags, ProtFlags};
use rustix::process::{Pid, Resource};

use crate::kernel::{self, errno};
use crate::spin::SpinHistory;

/// The ring of an open device: a segment that its driver has accepted.
///
/// A child of the process that is made by fork(2) has no segment. It must not use the value, nor drop it.
#[derive(Debug)]
pub struct ClientRing {
    pub(crate) segment: Segment,
    start: NonNull<u8>,
    /// Whether the driver is gone, or has the ring no longer.
    pub(crate) is_lost: AtomicBool,
    spins: [SpinHistory; SLOTS as usize],
}

// SAFETY: the mapping belongs to the process, not to a thread: it stays until `drop`, whichever thread that runs on.
unsafe impl Send for ClientRing {}

// SAFETY: `start` does not change and is read by `drop` alone; all else may be shared.
unsafe impl Sync for ClientRing {}

/// Set in the position of an open device that has a ring. To a device its position is nothing; a library that is preloaded
/// looks there, so that a program with a ring of its own has no second one.
pub const MARKED: u64 = 1 << 62;

/// Set in the owner of a slot once the driver knows its thread.
const BOUND: u32 = 1 << 31;

impl ClientRing {
    /// Makes a segment, offers it to the driver of a device, and [marks](MARKED) that. No descriptor of it stays open.
    ///
    /// # Errors
    ///
    /// As the device answers: EINVAL if its driver knows no rings. As memfd_create(2), mmap(2) and madvise(2).
    pub fn attach(device: BorrowedFd<'_>) -> Result<Self, Errno> {
        let (ring, file) = Self::create()?;
        kernel::offer(device, file.as_fd())?;
        rustix::fs::seek(device, SeekFrom::Start(MARKED)).map_err(errno)?;
        Ok(ring)
    }

    /// Makes a segment that no driver has, and the file to offer.
    ///
    /// # Errors
    ///
    /// As memfd_create(2), mmap(2) and madvise(2); EFBIG if files may not be so long.
    pub fn create() -> Result<(Self, OwnedFd), Errno> {
        let (start, file) = create_shared(c"binder-ring", SEGMENT_BYTES)?;
        // SAFETY: it was mapped at a page's beginning, and is until the value that has it is dropped; no other code knows it.
        let segment = unsafe { Segment::new(start) };
        let is_lost = AtomicBool::new(false);
        Ok((Self { segment, start, is_lost, spins: Default::default() }, file))
    }

    /// The segment. It is not to be kept for longer than this.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// Whether calls are to be made by ioctl from here on: the driver is gone, or has the ring no longer.
    pub fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    /// Claims a slot for the thread `tid`, which looks [near](SlotIndex::all_near) this one first. None if none is free.
    pub fn claim(&self, tid: u32, near: u32) -> Option<SlotIndex> {
        let of = |state: fn(u32) -> bool| {
            SlotIndex::all_near(near).find(|slot| self.claim_if(*slot, tid, state))
        };
        of(is_free).or_else(|| of(is_of_ended))
    }

    /// Runs `clear` for each slot that no thread has, which the thread of `own` has meanwhile.
    #[cold]
    pub fn clear_unused(&self, own: SlotIndex, mut clear: impl FnMut(SlotIndex)) {
        let tid = self.segment.slot(own).owner.load(Ordering::Relaxed) & !BOUND;
        let is_unused = |owner| is_free(owner) || is_of_ended(owner);
        for slot in SlotIndex::all().filter(|slot| self.claim_if(*slot, tid, is_unused)) {
            clear(slot);
            self.release(slot);
        }
    }

    fn claim_if(&self, slot: SlotIndex, tid: u32, may_claim: impl Fn(u32) -> bool) -> bool {
        let head = self.segment.slot(slot);
        let before = head.owner.load(Ordering::Relaxed);
        let change = |to| {
            head.owner.compare_exchange(before, to, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        let is_claimed = may_claim(before) && change(tid);
        if is_claimed {
            // A thread that ended within a call has left it as it was.
            head.word.reset();
        }
        is_claimed
    }

    /// The slot that the thread `tid` has claimed near this one, for callers that cannot keep it.
    pub fn slot_of(&self, tid: u32, near: u32) -> Option<SlotIndex> {
        SlotIndex::all_near(near).find(|slot| self.thread_of(*slot) == tid)
    }

    /// The thread that has claimed a slot, or 0.
    #[inline(always)]
    pub fn thread_of(&self, slot: SlotIndex) -> u32 {
        self.segment.slot(slot).owner.load(Ordering::Relaxed) & !BOUND
    }

    /// Gives a slot back, that this thread has claimed. One that a call has, which was left by a jump, stays taken until
    /// the thread ends.
    pub fn release(&self, slot: SlotIndex) {
        let head = self.segment.slot(slot);
        if head.word.take() {
            head.word.reset();
            head.owner.store(0, Ordering::Release);
        }
    }

    /// Notes that the driver knows the thread of a slot from here on. Says whether that is new.
    pub(crate) fn bind(&self, slot: SlotIndex) -> bool {
        let owner = &self.segment.slot(slot).owner;
        let tid = owner.load(Ordering::Relaxed);
        let is_unbound = tid & BOUND == 0;
        if is_unbound {
            owner.store(tid | BOUND, Ordering::Relaxed);
        }
        is_unbound
    }

    /// Notes that the driver does not know the thread of a slot any more.
    #[cold]
    pub(crate) fn unbind(&self, slot: SlotIndex) {
        self.segment.slot(slot).owner.fetch_and(!BOUND, Ordering::Relaxed);
    }

    pub(crate) fn spins(&self, slot: SlotIndex) -> &SpinHistory {
        &self.spins[slot.number() as usize]
    }
}

fn is_free(owner: u32) -> bool {
    owner == 0
}

/// Whether a slot's thread has ended before the driver knew it. Slots of threads that it knows the driver gives back. A new thread gets the
/// same number once all others were used: not while another one claims the slot.
#[cold]
fn is_of_ended(owner: u32) -> bool {
    owner & BOUND == 0 && has_ended(owner)
}

/// Whether there is no thread of this number. One that shares this memory may be of another process.
fn has_ended(tid: u32) -> bool {
    let tid = i32::try_from(tid).ok().and_then(Pid::from_raw);
    tid.is_some_and(|tid| rustix::process::test_kill_process(tid) == Err(rustix::io::Errno::SRCH))
}

/// Makes a file of that many bytes, which keeps that size, and maps it for this process alone, not for its children. Returns
/// where it is mapped; the mapping is the caller's.
pub(crate) fn create_shared(name: &CStr, bytes: usize) -> Result<(NonNull<u8>, OwnedFd), Errno> {
    // To make a file longer than that would end the process with SIGXFSZ.
    let longest = rustix::process::getrlimit(Resource::Fsize).current;
    if longest.is_some_and(|longest| longest < bytes as u64) {
        return Err(Errno::EFBIG);
    }
    let file = create_file(name).map_err(errno)?;
    rustix::fs::ftruncate(&file, bytes as u64).map_err(errno)?;
    // The other party is never to meet a page beyond the end.
    let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(&file, seals).map_err(errno)?;
    Ok((map_shared(&file, bytes)?, file))
}

/// Maps a file of another's that is a segment, for this process alone, not for its children. Returns where; the mapping is the
/// caller's.
pub(crate) fn map_shared(file: &OwnedFd, bytes: usize) -> Result<NonNull<u8>, Errno> {
    check_segment(file, bytes)?;
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a null hint lets the kernel choose a free range, so no existing mapping changes.
    let start =
        unsafe { rustix::mm::mmap(ptr::null_mut(), bytes, protection, MapFlags::SHARED, file, 0) };
    let start = start.map_err(errno)?;
    // SAFETY: the range is the mapping. The advice concerns children alone.
    let kept = unsafe { rustix::mm::madvise(start, bytes, Advice::LinuxDontFork) };
    if let Err(error) = kept {
        // SAFETY: the whole mapping, which no other code knows.
        let unmapped = unsafe { rustix::mm::munmap(start, bytes) };
        debug_assert_eq!(unmapped, Ok(()), "a whole mapping can always be unmapped");
        return Err(errno(error));
    }
    NonNull::new(start.cast()).ok_or(Errno::ENOMEM)
}

/// Refuses a segment of another's that is no memory, or may change its size: an access beyond its end would be a SIGBUS.
///
/// # Errors
///
/// `EINVAL`.
pub fn check_segment(file: &OwnedFd, bytes: usize) -> Result<(), Errno> {
    const TMPFS_MAGIC: FsWord = 0x0102_1994;
    let wanted = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    let is_fit = rustix::fs::fcntl_get_seals(file).is_ok_and(|seals| seals.contains(wanted))
        // Pages of a huge size are few, and may be missing when they are touched.
        && rustix::fs::fstatfs(file).is_ok_and(|it| it.f_type == TMPFS_MAGIC)
        && rustix::fs::fstat(file).is_ok_and(|it| usize::try_from(it.st_size) == Ok(bytes));
    if is_fit { Ok(()) } else { Err(Errno::EINVAL) }
}

/// Makes a file in memory.
fn create_file(name: &CStr) -> Result<OwnedFd, rustix::io::Errno> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    match rustix::fs::memfd_create(name, flags | MemfdFlags::NOEXEC_SEAL) {
        // Kernels before 6.3 do not know the last flag, which some systems ask for.
        Err(rustix::io::Errno::INVAL) => rustix::fs::memfd_create(name, flags),
        created => created,
    }
}

impl Drop for ClientRing {
    fn drop(&mut self) {
        // SAFETY: the whole mapping made by `create`; what refers to it is borrowed from `self`.
        let unmapped = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), SEGMENT_BYTES) };
        debug_assert_eq!(unmapped, Ok(()), "a whole mapping can always be unmapped");
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_thread_gets_a_slot_of_its_own_while_there_are_any() {
        let (ring, _file) = ClientRing::create().expect("a segment");
        // The driver knows them all: there may be no threads of these numbers.
        let claim = |tid| {
            ring.claim(tid, tid).inspect(|slot| assert!(ring.bind(*slot))).map(SlotIndex::number)
        };
        assert_eq!([claim(SLOTS + 3), claim(3), claim(2)], [Some(3), Some(4), Some(2)]);
        let others: BTreeSet<_> = (100..128).map(|tid| claim(tid).expect("a free one")).collect();
        assert_eq!((others.len(), claim(500)), (28, None));
        let slot = SlotIndex::new(17).expect("it exists");
        ring.release(slot);
        assert_eq!((claim(500), claim(501)), (Some(17), None));
    }

    #[test]
    fn slots_of_threads_that_have_ended_unheard_of_are_claimed_anew() {
        let (ring, _file) = ClientRing::create().expect("a segment");
        let own_tid = || rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        let ended = std::thread::spawn(own_tid).join().expect("it has a number");
        // It is waited for until it has left its memory, not until its number is gone.
        while !has_ended(ended) {
            std::thread::yield_now();
        }
        let own = own_tid();
        assert!(!has_ended(own));
        let slots: std::vec::Vec<_> = (0..SLOTS).map_while(|_| ring.claim(own, own)).collect();
        assert_eq!((slots.len(), ring.claim(own, own)), (SLOTS as usize, None));
        let [first, second] = [slots[3], slots[4]];
        ring.segment.slot(first).owner.store(ended, Ordering::Relaxed);
        ring.segment.slot(second).owner.store(ended | BOUND, Ordering::Relaxed);
        assert_eq!(
            [ring.claim(own, own), ring.claim(own, own)],
            [Some(first), None],
            "the driver has the other"
        );
        let mut cleared = std::vec::Vec::new();
        ring.segment.slot(slots[7]).owner.store(0, Ordering::Relaxed);
        ring.segment.slot(slots[9]).owner.store(ended, Ordering::Relaxed);
        ring.clear_unused(slots[0], |slot| {
            assert_eq!(ring.segment.slot(slot).owner.load(Ordering::Relaxed), own);
            cleared.push(slot.number());
        });
        cleared.sort_unstable();
        let mut unused = [slots[7], slots[9]].map(SlotIndex::number);
        unused.sort_unstable();
        assert_eq!(cleared, unused);
        assert!([ring.claim(own, own), ring.claim(own, own)].iter().all(Option::is_some));
        assert_eq!(ring.claim(own, own), None);
    }

    #[test]
    fn a_slot_that_is_claimed_anew_is_unbound_and_idle() {
        let (ring, _file) = ClientRing::create().expect("a segment");
        let slot = ring.claim(7, 7).expect("a free one");
        assert!(ring.bind(slot));
        assert!(!ring.bind(slot));
        assert_eq!((ring.slot_of(7, 7), ring.slot_of(7 + SLOTS, 7 + SLOTS)), (Some(slot), None));
        ring.release(slot);
        assert_eq!(ring.slot_of(7, 7), None);
        assert_eq!(ring.claim(7, 7), Some(slot));
        assert!(ring.bind(slot));
        // As of a thread that has ended: the driver takes the slot back.
        let head = ring.segment.slot(slot);
        head.word.post();
        head.owner.store(0, Ordering::Relaxed);
        assert_eq!(ring.claim(7, 7), Some(slot));
        assert!(head.word.take());
        assert!(!head.word.take());
        // A call has it: it stays.
        ring.release(slot);
        assert_ne!(ring.claim(7, 7), Some(slot));
    }

    #[test]
    fn a_file_that_is_no_device_has_no_ring() {
        let file = create_file(c"file").expect("a file");
        assert_eq!(ClientRing::attach(file.as_fd()).err(), Some(Errno::ENOTTY));
    }
}
