//! The segments of rings, as the driver has them: memory that clients have made and change as they like.

#![expect(unsafe_code, reason = "a client's memory is mapped, and copied through raw pointers")]

use std::io;
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};
use std::sync::LazyLock;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use binder_ring::layout::SEGMENT_BYTES;
use binder_ring::{BellState, Segment, SlotIndex};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use rustix::thread::{ClockId, futex};
use rustix::time::Timespec;

use crate::mapped_memory::{MappedMemory, OutOfBounds};

/// A client's segment.
#[derive(Debug)]
pub struct RingMemory {
    segment: Segment,
    start: NonNull<u8>,
}

// SAFETY: the mapping belongs to the process, not to a thread: it is there until `drop`, whichever thread that runs on.
unsafe impl Send for RingMemory {}

// SAFETY: all access goes through `segment`, which may be shared.
unsafe impl Sync for RingMemory {}

impl RingMemory {
    /// Maps the memfd of a client.
    ///
    /// It must keep its size: an access beyond its end would be a SIGBUS of ours. No memfd but one that was made to be
    /// sealed can get these seals, so the mapping is of memory, not of a file on a disk that is full.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if it is no such memfd; as mmap(2).
    pub fn map(memfd: &OwnedFd) -> io::Result<Self> {
        check_segment(memfd, SEGMENT_BYTES)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a null hint lets the kernel choose a free range, so no existing mapping changes.
        let start = unsafe {
            rustix::mm::mmap(ptr::null_mut(), SEGMENT_BYTES, access, MapFlags::SHARED, memfd, 0)
        }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::InvalidData)?;
        // SAFETY: it is mapped from the beginning of a page on, until `drop`; nothing else knows the address.
        let segment = unsafe { Segment::new(start) };
        Ok(Self { segment, start })
    }

    /// The segment. It is not to be kept for longer than this.
    #[must_use]
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// Copies `len` bytes from offset `at` of a slot's data to a receive buffer.
    ///
    /// # Errors
    ///
    /// [`OutOfBounds`] of the receive buffer.
    ///
    /// # Panics
    ///
    /// If they do not lie within the data.
    pub fn copy_data(
        &self,
        (slot, at): (SlotIndex, usize),
        len: usize,
        buffer: &MappedMemory,
        offset: usize,
    ) -> Result<(), OutOfBounds> {
        buffer.with_range(offset, len, |to| {
            // SAFETY: that many bytes can be written at `to`, and a receive buffer is no segment.
            unsafe { self.segment.copy_out(slot, at, to, len) }
        })
    }
}

impl Drop for RingMemory {
    fn drop(&mut self) {
        // SAFETY: the whole mapping that `map` has made; `segment` is lent for no longer than this lives.
        let unmapped = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), SEGMENT_BYTES) };
        debug_assert_eq!(unmapped, Ok(()), "a whole mapping can always be unmapped");
    }
}

/// Refuses a segment of another's that is no memory, or may change its size: an access beyond its end would be a SIGBUS.
///
/// # Errors
///
/// `InvalidInput`.
pub fn check_segment(memfd: &OwnedFd, bytes: usize) -> io::Result<()> {
    binder_ring_client::check_segment(memfd, bytes)
        .map_err(|error| io::Error::from_raw_os_error(error.number()))
}

/// How many bells one thread can sleep on at most, beside a word of its own.
const MAX_BELLS: usize = 127;

/// Wakes one thread that sleeps on a word that processes share.
pub fn wake_one(word: &AtomicU32) {
    // Of a word that is mapped nothing can go wrong.
    let _ = futex::wake(word, futex::Flags::empty(), 1);
}

/// Wakes all threads that sleep on a word that processes share.
pub fn wake_all(word: &AtomicU32) {
    let _ = futex::wake(word, futex::Flags::empty(), i32::MAX.cast_unsigned());
}

/// On how many bells one thread can sleep: before Linux 5.16 on one, as where a seccomp filter does not let it sleep on several.
pub fn bells_of_thread() -> usize {
    static COUNT: LazyLock<usize> = LazyLock::new(|| {
        let flags = futex::WaitvFlags::empty();
        match futex::waitv(&[], flags, None, ClockId::Monotonic) {
            // To sleep on none is an error anywhere.
            Err(Errno::INVAL) | Ok(_) => MAX_BELLS,
            Err(_) => 1,
        }
    });
    *COUNT
}

/// Whether a thread can sleep on several words, as those that serve lanes do: since Linux 5.16.
pub fn can_sleep_on_several() -> bool {
    bells_of_thread() > 1
}

/// Sleeps until a bell is rung or `control` is woken, while `control` has the value 0 and the bells are
/// [asleep](BellState::Asleep); or for that long, if that is said. May end early.
///
/// Before Linux 5.16 nobody is heard who wakes `control` while there is a bell.
///
/// # Errors
///
/// As futex_waitv(2); before Linux 5.16 as futex(2).
///
/// # Panics
///
/// For more bells than [`bells_of_thread`].
pub fn sleep<'w>(
    control: &AtomicU32,
    bells: impl Iterator<Item = &'w AtomicU32>,
    within: Option<Duration>,
) -> io::Result<()> {
    let asleep = BellState::Asleep as u32;
    let mut bells = bells.map(|bell| (bell, asleep));
    let slept = if bells_of_thread() == 1 {
        let word = bells.next().unwrap_or((control, 0));
        assert!(bells.next().is_none(), "one bell alone");
        sleep_on_one(word, within)
    } else {
        sleep_on_all(std::iter::once((control, 0)).chain(bells), within)
    };
    match slept {
        Ok(()) | Err(Errno::AGAIN | Errno::INTR | Errno::TIMEDOUT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Sleeps on a word that processes share while it has that value.
fn sleep_on_one(
    (word, value): (&AtomicU32, u32),
    within: Option<Duration>,
) -> rustix::io::Result<()> {
    let within = within.map(|within| Timespec::try_from(within).unwrap_or_default());
    futex::wait(word, futex::Flags::empty(), value, within.as_ref())
}

/// Sleeps on words that processes share while each has its value.
fn sleep_on_all<'w>(
    words: impl Iterator<Item = (&'w AtomicU32, u32)>,
    within: Option<Duration>,
) -> rustix::io::Result<()> {
    let until = within.map(|within| {
        let now = rustix::time::clock_gettime(ClockId::Monotonic);
        let within = Timespec::try_from(within).unwrap_or_default();
        now.checked_add(within).unwrap_or(now)
    });
    let mut waits = [futex::Wait::new(); MAX_BELLS + 1];
    let mut count = 0;
    for (word, value) in words {
        waits[count].val = value.into();
        waits[count].uaddr = futex::WaitPtr::new(ptr::from_ref(word).cast_mut().cast());
        waits[count].flags = futex::WaitFlags::SIZE_U32;
        count += 1;
    }
    let flags = futex::WaitvFlags::empty();
    futex::waitv(&waits[..count], flags, until.as_ref(), ClockId::Monotonic).map(drop)
}
