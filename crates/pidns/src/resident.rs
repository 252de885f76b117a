//! A process of the table, and its holders.

use alloc::sync::Arc;
use core::any::Any;
use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::pid::Pid;
use crate::table::KernelProcess;

/// A value that the table's caller keeps with a process, and that the table hands out again: what
/// else is known of it, such as its parent's pid.
pub type Record = Arc<dyn Any + Send + Sync>;

/// What a [`PidTable`](crate::PidTable) keeps of a process besides its numbers.
pub struct Resident {
    /// As it was adopted; `None` for one whose numbers were allocated.
    found: Option<KernelProcess>,
    record: Option<Record>,
    /// The number of holders of the pid; it goes with the last.
    holders: AtomicUsize,
    /// Its numbers are another's.
    is_superseded: AtomicBool,
}

impl Resident {
    /// A process that its maker holds.
    pub(crate) fn new(found: Option<KernelProcess>, record: Option<Record>) -> Self {
        let (holders, is_superseded) = (AtomicUsize::new(1), AtomicBool::new(false));
        Self { found, record, holders, is_superseded }
    }

    /// What the kernel said of the process when it was adopted; `None` for one that the kernel does
    /// not know.
    #[must_use]
    pub fn found(&self) -> Option<&KernelProcess> {
        self.found.as_ref()
    }

    /// The value kept with the process, if that is a `T`.
    #[must_use]
    pub fn record<T: Any>(&self) -> Option<&T> {
        self.record.as_deref()?.downcast_ref()
    }

    /// The number of holders of the pid.
    #[must_use]
    pub fn holders(&self) -> usize {
        self.holders.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Resident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resident")
            .field("found", &self.found)
            .field("holders", &self.holders())
            .finish_non_exhaustive()
    }
}

/// A pid that stays in the table for as long as this, or a clone of it, exists.
pub struct HeldPid {
    pid: Arc<Pid<Resident>>,
    /// The number by which the owner of the table knows the process.
    number: u32,
}

impl HeldPid {
    /// Becomes a further holder of a pid, unless the last of the others is letting go of it.
    pub(crate) fn join(pid: Arc<Pid<Resident>>) -> Option<Self> {
        let more = |holders: usize| (holders > 0).then_some(holders + 1);
        let holders = &pid.process().holders;
        holders.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Self::of(pid))
    }

    /// Holds what was just published, or joined.
    pub(crate) fn of(pid: Arc<Pid<Resident>>) -> Self {
        let number = pid.process().found.as_ref().map_or(pid.global_nr(), |found| found.pid);
        Self { pid, number }
    }

    /// The number by which the owner of the table, the driver, knows the process.
    #[inline]
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The number as `reader` sees it, in its own namespace: 0 if it does not, or if the number has
    /// become that of another process since.
    #[inline]
    #[must_use]
    pub fn seen_by(&self, reader: &Self) -> u32 {
        if self.pid.process().is_superseded.load(Ordering::Relaxed) {
            return 0;
        }
        self.pid.vnr(&reader.pid)
    }

    /// The number of one of its threads as `reader` sees it, of the `numbers` that the thread has, of which the last is in its own
    /// namespace: 0 where [`seen_by`](Self::seen_by) is.
    #[must_use]
    pub fn thread_seen_by(&self, numbers: &[u32], reader: &Self) -> u32 {
        if self.seen_by(reader) == 0 {
            return 0;
        }
        let level = |held: &Self| held.pid.namespace().level() as usize;
        // Who is seen is there, or further inside.
        let outwards = level(self) - level(reader);
        numbers.iter().rev().nth(outwards).copied().unwrap_or(0)
    }

    /// The pid itself.
    #[must_use]
    pub fn pid(&self) -> &Arc<Pid<Resident>> {
        &self.pid
    }
}

/// Takes the numbers of a pid away whose process has ended, and which are another's.
pub(crate) fn supersede(pid: &Pid<Resident>) {
    pid.process().is_superseded.store(true, Ordering::Relaxed);
    free(pid);
}

fn free(pid: &Pid<Resident>) {
    // One whose numbers became another's has been freed before.
    let _ = pid.free();
}

impl Clone for HeldPid {
    fn clone(&self) -> Self {
        self.pid.process().holders.fetch_add(1, Ordering::Relaxed);
        Self { pid: self.pid.clone(), number: self.number }
    }
}

impl Drop for HeldPid {
    fn drop(&mut self) {
        if self.pid.process().holders.fetch_sub(1, Ordering::AcqRel) == 1 {
            free(&self.pid);
        }
    }
}

impl fmt::Debug for HeldPid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HeldPid").field(&self.pid).finish()
    }
}
