//! Where a process has its receive buffer mapped, and whether it still has.
//!
//! The kernel does not tell of mmap(2) and munmap(2): the driver looks at /proc, which takes as long as others keep the
//! process's mappings to themselves. So none of this is done with a lock held.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use binder_core::{Errno, MappingArea};
use binder_os::{FileId, PinnedMemory, proc_files};

use crate::quota::Account;

/// How often a process that lets a call wait is looked at: it may have its receive buffer no more.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Where the receive buffer of an open file is mapped, as far as that is known.
#[derive(Debug, Default)]
pub(crate) struct MappingPlace {
    known: Mutex<KnownPlace>,
    /// Held by a look that is under way.
    look: Arc<()>,
}

#[derive(Debug, Default)]
struct KnownPlace {
    base: Option<u64>,
    /// When it was last looked at whether it is there still.
    looked_at: Option<Instant>,
}

/// A look at whether a process still has its receive buffer mapped.
#[derive(Debug)]
pub(crate) struct MappingLook {
    pub(crate) payer: Account,
    threads: Vec<u32>,
    file: FileId,
    /// Where it was mapped, if that is known.
    base: Option<u64>,
    _under_way: Arc<()>,
}

impl MappingPlace {
    /// Begins a look at whether the process that pays, with these threads, still has the file mapped; none while there was
    /// one a moment ago, or one is under way.
    pub(crate) fn begin_look(
        &self,
        payer: Account,
        threads: impl FnOnce() -> Vec<u32>,
        file: FileId,
    ) -> Option<MappingLook> {
        let mut known = self.known();
        let is_due = known.looked_at.is_none_or(|at| at.elapsed() >= LOOK_EVERY);
        if !is_due || Arc::strong_count(&self.look) > 1 {
            return None;
        }
        known.looked_at = Some(Instant::now());
        drop(known);
        Some(self.look(payer, threads(), file))
    }

    /// The same look at once, however long ago the last one was.
    pub(crate) fn look(&self, payer: Account, threads: Vec<u32>, file: FileId) -> MappingLook {
        let base = self.known().base;
        MappingLook { payer, threads, file, base, _under_way: self.look.clone() }
    }

    /// Finds out where process `pid` has the file mapped, as one of its threads shows it; and what `pin` makes of that thread's
    /// memory, before the search.
    pub(crate) fn locate(
        &self,
        pid: u32,
        threads: &[u32],
        file: FileId,
        pin: impl Fn(u32) -> io::Result<Option<PinnedMemory>>,
    ) -> io::Result<Option<(Option<PinnedMemory>, MappingArea)>> {
        let (mut refused, mut is_unmapped) = (None, false);
        for tid in threads {
            let search = || {
                let pinned = pin(*tid)?;
                let find = match pinned {
                    Some(_) => proc_files::find_private_mapping,
                    None => proc_files::find_mapping,
                };
                Ok(find(pid, *tid, file)?.map(|place| (pinned, place)))
            };
            match search() {
                Ok(Some((pinned, (base, len_bytes)))) => {
                    self.known().base = Some(base);
                    return Ok(Some((pinned, MappingArea { base, len_bytes })));
                }
                Ok(None) => is_unmapped = true,
                // This thread has ended; another may live.
                Err(error) if is_gone(&error) => {}
                // It may have as well: what /proc has of a first thread that has ended is root's.
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        if let Some(error) = refused.filter(|_| !is_unmapped) {
            return Err(error);
        }
        Ok(None)
    }

    fn known(&self) -> MutexGuard<'_, KnownPlace> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MappingLook {
    /// Whether it is sure that it has not, or not where it was: what it was told to find there is not.
    pub(crate) fn finds_none(&self) -> bool {
        // All threads have the same memory; one that has ended shows none.
        let find = |tid: &u32| proc_files::find_mapping(self.payer.pid, *tid, self.file).ok();
        self.threads.iter().find_map(find).is_some_and(|found| match found {
            Some((base, _)) => self.base.is_some_and(|known| known != base),
            None => true,
        })
    }
}

/// Whether a thread's files answered that it has ended: a zombie's stand, without a memory.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(Errno::ESRCH.number())
}
