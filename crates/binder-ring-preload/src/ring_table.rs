//! The rings of this process, by the open files that they belong to.
//!
//! A number says little about the file: programs close and reuse numbers in ways that this library cannot see. So an open
//! file bears a mark, its position, which means nothing for a device, and which the kernel keeps by itself and for
//! all numbers of the file. Marks are random, and those that are not in the table are others'. A thread looks at the mark
//! once; it still [knows the number](KnownNumber) until one of the file's is closed, of which the driver tells.
//! Until there is a ring, the position is the number of calls.
//! A child that was made by fork(2) has its parent's files, and a table that forgets its rings: their segments are
//! not there.

#![expect(
    unsafe_code,
    reason = "rings lie in a table without a lock, and a mapping is made for its state"
)]

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::num::NonZero;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use binder_ring::SlotIndex;
use binder_ring::layout::{CALLS_BY_LANES, SERVES_LANES, SLOTS};
use binder_ring_client::ClientRing;
use binder_uapi::{
    ANYBINDER_LANE_ROOM, ANYBINDER_RING_ATTACH, Errno, LaneRoom, RING_VERSION, RingAttach,
};
use rustix::fd::BorrowedFd;
use rustix::mm::{Advice, MapFlags, ProtFlags};

use crate::known_number::KnownNumber;
use crate::known_thread::{self, KnownThread};
use crate::lanes::RingLanes;
use crate::program_memory::{StackNote, thread_pointer};
use crate::{canary, environment, processor, syscall, valgrind};

/// How many open files may have a ring; others use ioctls.
const RINGS: usize = 16;

/// The rings of this process.
pub(crate) struct RingTable {
    entries: [RingEntry; RINGS],
    /// A [`TableState`] in memory that is zeroed in a child; null until a ring is wanted.
    state: AtomicPtr<AtomicU32>,
}

/// A place for a ring.
struct RingEntry {
    /// The position of its file, or 0.
    mark: AtomicUsize,
    users: RingUsers,
    /// A number that the file has had.
    fd: AtomicI32,
    /// How often the driver has refused a thread.
    refusals: AtomicU32,
    stacks: [StackNote; SLOTS as usize],
    threads: [KnownThread; SLOTS as usize],
    numbers: [KnownNumber; SLOTS as usize],
    lanes: RingLanes,
    /// There if `mark` is not 0.
    ring: UnsafeCell<MaybeUninit<ClientRing>>,
}

// SAFETY: `ring` is written by the one thread that has the table busy, while `mark` is 0; it is read while `users`
// says so, which keeps that from happening. All else is atomic.
unsafe impl Sync for RingEntry {}

/// How many calls are under way, or were left by a jump, by the processors on which they began: threads that call at the same
/// moment do not take a line of memory from each other.
struct RingUsers([UserCount; USER_COUNTS]);

#[repr(align(64))]
struct UserCount(AtomicU32);

const USER_COUNTS: usize = 8;

/// A ring in use.
pub(crate) struct RingUse<'t> {
    entry: &'t RingEntry,
    mark: usize,
    /// The count that has this use.
    count: &'t UserCount,
}

/// The ring of an open file.
pub(crate) enum FileRing<'t> {
    /// It has this ring, where the thread has this slot, if that is known.
    Ring(RingUse<'t>, Option<SlotIndex>),
    /// It has none, or one that is not ours.
    None,
    /// None yet. So many calls were made, as far as they were counted.
    Unknown { calls: usize },
}

/// Why a file gets no ring just now.
pub(crate) enum NoRing {
    /// It has made too few calls yet, or is to have none.
    Refused,
    /// Another thread changes the table.
    Busy,
}

/// In all marks, and in no position that a file has otherwise.
const MARKED: usize = 1 << 62;

const _: () = assert!(MARKED as u64 == binder_ring_client::MARKED);

/// The mark of a device without a ring.
const WITHOUT: usize = MARKED;

/// How many calls go by ioctl before a file gets a ring, which costs as much as a few calls.
const CALLS_BEFORE: usize = 4;

/// What becomes of a table.
#[repr(u32)]
enum TableState {
    /// It is as it was made, or as it was in another process.
    Foreign = 0,
    /// It is that of this process.
    Ours = 1,
    /// The same, and a thread makes a ring; others make ioctls meanwhile.
    Busy = 2,
    /// A thread forgets the rings of another process.
    Clearing = 3,
}

/// After this many refusals no thread asks any more.
const MAX_REFUSALS: u32 = 64;

impl RingTable {
    /// A table of no rings.
    pub(crate) const fn new() -> Self {
        Self {
            entries: [const { RingEntry::new() }; RINGS],
            state: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// The ring of the open file that `fd` means to this thread at this moment.
    pub(crate) fn find(&self, fd: i32) -> FileRing<'_> {
        match known_thread::are_any().then(|| self.find_known(fd)).flatten() {
            Some((ring, slot)) => FileRing::Ring(ring, Some(slot)),
            None => self.look_up(fd),
        }
    }

    /// The ring of the file that this thread knows by this number, and its slot there. Makes no system call.
    #[inline(always)]
    fn find_known(&self, fd: i32) -> Option<(RingUse<'_>, SlotIndex)> {
        let has_number = |entry: &&RingEntry| entry.fd.load(Ordering::Relaxed) == fd;
        let mut entries = self.entries.iter().filter(has_number).filter(|_| self.is_ours());
        entries.find_map(|entry| {
            let ring = entry.enter(entry.mark.load(Ordering::Relaxed), processor::own())?;
            // A driver that is gone tells nothing.
            let slot = ring.known_slot().filter(|_| !ring.ring().is_lost())?;
            ring.knows(slot, fd).then_some((ring, slot))
        })
    }

    /// The ring of the open file that `fd` means at this moment.
    fn look_up(&self, fd: i32) -> FileRing<'_> {
        // A file without a position is no device of ours.
        let Ok(position) = usize::try_from(syscall::position(fd)) else { return FileRing::None };
        if position & MARKED == 0 {
            return FileRing::Unknown { calls: position };
        }
        let found =
            self.is_ours().then(|| self.entries[index(position)].enter(position, processor::own()));
        let Some(found) = found.flatten() else { return FileRing::None };
        // Another number of the file's, that was used before, may be closed by now.
        found.note_fd(fd);
        FileRing::Ring(found, None)
    }

    /// The ring by which this thread serves a call of a lane, and its slot there. Makes no system call.
    #[cold]
    pub(crate) fn find_serving(&self) -> Option<(RingUse<'_>, SlotIndex)> {
        let is_ours = self.is_ours();
        self.entries.iter().filter(|_| is_ours).find_map(|entry| {
            // To know the processor some C libraries make a system call.
            let ring = entry.enter(entry.mark.load(Ordering::Relaxed), 0)?;
            let slot = ring.lanes().serving_slot()?;
            Some((ring, slot))
        })
    }

    /// Makes a ring for an open device that has none yet, if it has made enough calls and its driver wants one.
    #[cold]
    pub(crate) fn attach(&self, fd: i32, calls: usize) -> Result<RingUse<'_>, NoRing> {
        if calls < CALLS_BEFORE || fd < 0 || valgrind::is_there() || !offers_rings(fd) {
            return Err(NoRing::Refused);
        }
        let state = self.begin_change().ok_or(NoRing::Busy)?;
        let attached = match self.look_up(fd) {
            FileRing::Unknown { .. } => self.make(fd).ok_or(NoRing::Refused),
            // Another thread was first.
            FileRing::Ring(ring, _) => Ok(ring),
            FileRing::None => Err(NoRing::Busy),
        };
        state.store(TableState::Ours as u32, Ordering::Release);
        attached
    }

    /// Notes that a device, which was [refused](NoRing::Refused) a ring after that many calls, has made another by ioctl. If these
    /// were enough, it gets none for good.
    #[cold]
    pub(crate) fn note_ioctl(&self, fd: i32, calls: usize) {
        // Marks are given by one thread at a time: none is overwritten here.
        let Some(state) = self.begin_change() else { return };
        if syscall::position(fd) == calls.cast_signed() {
            let position = if calls < CALLS_BEFORE { calls + 1 } else { WITHOUT };
            syscall::set_position(fd, position.cast_signed());
        }
        state.store(TableState::Ours as u32, Ordering::Release);
    }

    /// With the table busy.
    fn make(&self, fd: i32) -> Option<RingUse<'_>> {
        let (number, entry) = self.vacant_entry()?;
        let random = syscall::random()?;
        canary::prepare();
        let mark = MARKED + random % MARKED / RINGS * RINGS + number;
        // SAFETY: it is open, or was a moment ago; a number that is not is refused by the kernel.
        let device = unsafe { BorrowedFd::borrow_raw(fd) };
        let ring = ClientRing::attach(device).ok()?;
        if syscall::set_position(fd, mark.cast_signed()) != mark.cast_signed() {
            return None;
        }
        if offers_lanes(fd) {
            // A filter that keeps a program from lanes may end it for this as well.
            known_thread::prepare();
            if environment::busy_calls().is_some() {
                let known = CALLS_BY_LANES | SERVES_LANES;
                ring.segment().header().knows_lanes.store(known, Ordering::Relaxed);
            }
        }
        entry.fill(mark, fd, ring);
        entry.enter(mark, processor::own())
    }

    /// A place for a ring. The ring of a closed file may have to go for it.
    fn vacant_entry(&self) -> Option<(usize, &RingEntry)> {
        self.entries.iter().for_each(RingEntry::leave_if_closed);
        let mut numbered = self.entries.iter().enumerate();
        numbered.find(|(_, entry)| entry.mark.load(Ordering::Relaxed) == 0)
    }

    /// Whether the table's rings are of this process.
    fn is_ours(&self) -> bool {
        let ours = [TableState::Ours as u32, TableState::Busy as u32];
        self.state().is_some_and(|state| ours.contains(&state.load(Ordering::Acquire)))
    }

    fn state(&self) -> Option<&AtomicU32> {
        let state = NonNull::new(self.state.load(Ordering::Acquire));
        // SAFETY: it was mapped by `map_state`, and stays.
        state.map(|state| unsafe { state.as_ref() })
    }

    /// Has the table busy, and that of this process. None if it is busy already.
    fn begin_change(&self) -> Option<&AtomicU32> {
        let state = self.state().or_else(|| self.map_state())?;
        let change = |from: TableState, to: TableState| {
            let changed = state.compare_exchange(
                from as u32,
                to as u32,
                Ordering::Acquire,
                Ordering::Relaxed,
            );
            changed.is_ok()
        };
        if change(TableState::Foreign, TableState::Clearing) {
            for entry in &self.entries {
                // The ring is not unmapped: it is another process's, and was never mapped here.
                entry.mark.store(0, Ordering::Relaxed);
                entry.users.forget();
                entry.lanes.forget();
            }
            state.store(TableState::Busy as u32, Ordering::Release);
            return Some(state);
        }
        change(TableState::Ours, TableState::Busy).then_some(state)
    }

    /// Makes the memory of the state, for good.
    fn map_state(&self) -> Option<&AtomicU32> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a null hint lets the kernel choose a free range.
        let mapped = unsafe {
            rustix::mm::mmap_anonymous(ptr::null_mut(), STATE_BYTES, access, MapFlags::PRIVATE)
        };
        let mapped = mapped.ok()?;
        // SAFETY: no other code knows the mapping, and it is of zeros, which a child is to find there.
        let advised = unsafe { rustix::mm::madvise(mapped, STATE_BYTES, Advice::LinuxWipeOnFork) };
        let before = advised.map_err(drop).and_then(|()| {
            let (null, state) = (ptr::null_mut(), mapped.cast());
            let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
            self.state.compare_exchange(null, state, success, failure).map_err(drop)
        });
        if before.is_err() {
            // Another thread was first, or the kernel cannot do it; no other code knows this one.
            // SAFETY: the whole mapping, made above.
            let unmapped = unsafe { rustix::mm::munmap(mapped, STATE_BYTES) };
            debug_assert_eq!(unmapped, Ok(()), "a whole mapping can always be unmapped");
        }
        self.state()
    }
}

/// The kernel maps whole pages.
const STATE_BYTES: usize = 4096;

impl RingEntry {
    const fn new() -> Self {
        Self {
            mark: AtomicUsize::new(0),
            users: RingUsers([const { UserCount(AtomicU32::new(0)) }; USER_COUNTS]),
            // Of zeros alone, the table takes no room in the library's file.
            fd: AtomicI32::new(0),
            refusals: AtomicU32::new(0),
            stacks: [const { StackNote::new() }; SLOTS as usize],
            threads: [const { KnownThread::new() }; SLOTS as usize],
            numbers: [const { KnownNumber::new() }; SLOTS as usize],
            lanes: RingLanes::new(),
            ring: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Uses the ring, if it is that of this mark, and there is one. The thread runs on this processor, or any.
    fn enter(&self, mark: usize, cpu: u32) -> Option<RingUse<'_>> {
        // `leave_if_closed` changes the mark and then looks at the users: one of the two sees the other.
        let count = self.users.begin(cpu);
        let entered = RingUse { entry: self, mark, count };
        (mark != 0 && self.mark.load(Ordering::SeqCst) == mark).then_some(entered)
    }

    /// With the table busy, and none here.
    fn fill(&self, mark: usize, fd: i32, ring: ClientRing) {
        // SAFETY: while there is no mark, only the thread that has the table busy reads or writes it.
        let place = unsafe { &mut *self.ring.get() };
        place.write(ring);
        self.fd.store(fd, Ordering::Relaxed);
        self.refusals.store(0, Ordering::Relaxed);
        self.mark.store(mark, Ordering::SeqCst);
    }

    /// With the table busy: makes the place free if the file of the ring is closed, as far as can be told.
    fn leave_if_closed(&self) {
        let mark = self.mark.load(Ordering::Relaxed);
        let position = syscall::position(self.fd.load(Ordering::Relaxed));
        if mark == 0 || position == mark.cast_signed() {
            return;
        }
        self.mark.store(0, Ordering::SeqCst);
        if self.users.is_none() {
            // SAFETY: no thread uses it, and none will, as there is no mark.
            let place = unsafe { &mut *self.ring.get() };
            // SAFETY: there is one, as there was a mark.
            self.lanes.end(unsafe { place.assume_init_ref() });
            // SAFETY: as above.
            unsafe { place.assume_init_drop() };
        } else {
            self.mark.store(mark, Ordering::SeqCst);
        }
    }
}

impl RingUsers {
    /// Counts one more, as the count says that is returned, until it is taken from there.
    #[inline(always)]
    fn begin(&self, cpu: u32) -> &UserCount {
        let count = &self.0[cpu as usize % USER_COUNTS];
        count.0.fetch_add(1, Ordering::SeqCst);
        count
    }

    /// Whether there is none, of all that have begun before this look.
    fn is_none(&self) -> bool {
        self.0.iter().all(|count| count.0.load(Ordering::SeqCst) == 0)
    }

    /// Forgets those of another process.
    fn forget(&self) {
        self.0.iter().for_each(|count| count.0.store(0, Ordering::Relaxed));
    }
}

impl<'t> RingUse<'t> {
    /// The ring.
    pub(crate) fn ring(&self) -> &'t ClientRing {
        // SAFETY: the mark was seen while this use was counted: until it ends, no thread writes to the place.
        let place = unsafe { &*self.entry.ring.get() };
        // SAFETY: there is one, as there is a mark.
        unsafe { place.assume_init_ref() }
    }

    /// The slot of this thread, if the thread is known.
    #[inline(always)]
    fn known_slot(&self) -> Option<SlotIndex> {
        let is_own =
            |slot: &SlotIndex| self.thread_of(*slot).is_own(|| self.ring().thread_of(*slot));
        SlotIndex::all_near(near_own()).find(is_own)
    }

    /// The slot of this thread, to which `fd` means the file. Asks the kernel who it is.
    #[cold]
    pub(crate) fn find_slot(&self, fd: i32) -> Option<SlotIndex> {
        if self.entry.refusals.load(Ordering::Relaxed) >= MAX_REFUSALS {
            return None;
        }
        let tid = known_thread::own_number();
        let slot = self.ring().slot_of(tid, near_own()).or_else(|| self.claim(tid))?;
        self.thread_of(slot).learn(tid);
        self.learn(slot, fd);
        Some(slot)
    }

    /// The slot that this thread has claimed. Asks the kernel who it is, if the thread is not known.
    #[cold]
    pub(crate) fn claimed_slot(&self) -> Option<SlotIndex> {
        self.known_slot().or_else(|| self.ring().slot_of(known_thread::own_number(), near_own()))
    }

    fn claim(&self, tid: u32) -> Option<SlotIndex> {
        let slot = self.ring().claim(tid, near_own())?;
        self.note_of(slot).clear();
        self.thread_of(slot).forget();
        self.number_of(slot).forget();
        self.entry.lanes.clear(self.ring(), slot);
        Some(slot)
    }

    /// The known part of the stack of the thread that has this slot.
    pub(crate) fn note_of(&self, slot: SlotIndex) -> &'t StackNote {
        &self.entry.stacks[slot.number() as usize]
    }

    fn thread_of(&self, slot: SlotIndex) -> &'t KnownThread {
        &self.entry.threads[slot.number() as usize]
    }

    fn number_of(&self, slot: SlotIndex) -> &'t KnownNumber {
        &self.entry.numbers[slot.number() as usize]
    }

    /// Whether the thread of a slot knows that `fd` means the file.
    fn knows(&self, slot: SlotIndex, fd: i32) -> bool {
        self.number_of(slot).is(fd, self.closes().load(Ordering::Acquire))
    }

    /// Has the thread of a slot know that `fd` means the file, if it does.
    fn learn(&self, slot: SlotIndex, fd: i32) {
        // One that is closed after this look has the thread look again.
        let closes = self.closes().load(Ordering::Acquire);
        if !self.number_of(slot).is(fd, closes) && self.is_of(fd) {
            self.number_of(slot).set(fd, closes);
        }
    }

    /// How often numbers of the file were closed.
    fn closes(&self) -> &'t AtomicU32 {
        &self.ring().segment().header().closes
    }

    /// What its threads have of lanes.
    pub(crate) fn lanes(&self) -> &'t RingLanes {
        &self.entry.lanes
    }

    /// Forgets where the thread of a slot stands: it makes an ioctl.
    pub(crate) fn forget_standing(&self, slot: SlotIndex) {
        self.ring().segment().slot(slot).standing.store(0, Ordering::Relaxed);
    }

    /// The driver wants no calls of a thread by its slot.
    pub(crate) fn note_refusal(&self, slot: SlotIndex) {
        self.ring().release(slot);
        self.entry.refusals.fetch_add(1, Ordering::Relaxed);
    }

    /// How many calls in a row to an object a thread makes before it asks for a lane. None if lanes are not to be used.
    pub(crate) fn busy_calls(&self) -> Option<NonZero<u32>> {
        let known = self.ring().segment().header().knows_lanes.load(Ordering::Relaxed);
        environment::busy_calls().filter(|_| known != 0)
    }

    /// A number that the ring's file has had.
    pub(crate) fn known_fd(&self) -> i32 {
        self.entry.fd.load(Ordering::Relaxed)
    }

    /// Whether the file that `fd` means is that of the ring.
    #[inline(always)]
    pub(crate) fn is_of(&self, fd: i32) -> bool {
        let is_of = syscall::position(fd) == self.mark.cast_signed();
        if !is_of {
            // A driver that is gone has counted no close: the threads that know the number are to look.
            self.closes().fetch_add(1, Ordering::Relaxed);
        }
        is_of
    }

    fn note_fd(&self, fd: i32) {
        if self.entry.fd.load(Ordering::Relaxed) != fd {
            self.entry.fd.store(fd, Ordering::Relaxed);
        }
    }
}

impl Drop for RingUse<'_> {
    fn drop(&mut self) {
        self.count.0.fetch_sub(1, Ordering::Release);
    }
}

/// Where this thread looks for its slot, by what lies apart for any two threads.
#[inline(always)]
fn near_own() -> u32 {
    // The upper half of a product with about 2^64 by the golden ratio: pointers that are multiples of a stack's size come apart.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    ((thread_pointer() as u64).wrapping_mul(SPREAD) >> 32) as u32
}

/// Where the ring of a mark lies in the table.
fn index(mark: usize) -> usize {
    mark % RINGS
}

/// Asks the driver of a device whether the program may use lanes. It may not if it was started under a filter that might end it for what
/// they take.
fn offers_lanes(fd: i32) -> bool {
    let mut nothing = LaneRoom::default();
    let argument = (&raw mut nothing).addr();
    // SAFETY: the number says that 16 bytes are read and written.
    let answer = unsafe { syscall::ioctl(fd, ANYBINDER_LANE_ROOM as usize, argument) };
    answer != syscall::failure(Errno::EPERM)
}

/// Asks the driver of a device whether it would take a segment, before one is made: the system calls for that are
/// unusual, and a filter may not allow them.
fn offers_rings(fd: i32) -> bool {
    let nothing = RingAttach { version: RING_VERSION, fd: u32::MAX };
    let argument = (&raw const nothing).addr();
    // SAFETY: the number says that eight bytes are read. No file has this number, which a driver with rings says by EBADF.
    let answer = unsafe { syscall::ioctl(fd, ANYBINDER_RING_ATTACH as usize, argument) };
    answer == syscall::failure(Errno::EBADF)
}
