//! A namespace: its place among the others, its numbers, and whether it gives out more.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use idr::{ChangeGuard, Idr, Iter, LockedIdr, ReadGuard, pin_to_change};

use crate::limits::{
    MAX_PID_NS_LEVEL, PID_MAX_DEFAULT, PID_MAX_LIMIT, PID_MAX_MIN, PidMaxOutOfRange, TooDeep,
};
use crate::per_level::PerLevel;
use crate::pid::Pid;

/// A pid namespace, whose processes are `P`.
///
/// It lives as long as it is held, and each of its pids holds it until that is freed.
pub struct PidNamespace<P: Send + Sync + 'static> {
    /// The root first, the parent last.
    ancestors: Box<[Arc<Self>]>,
    numbers: Idr<Pid<P>>,
    pid_max: AtomicU32,
    /// A [`ReaperState`]; changed with the numbers locked.
    life: AtomicU8,
    /// How many pids have been published; changed with the numbers locked.
    processes: AtomicU32,
}

/// What has become of the first process, which takes on those whose parents end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReaperState {
    /// It has not come yet, and no process may come before it.
    Awaited,
    /// It is here.
    Running,
    /// It is none of ours, and so is its end.
    Elsewhere,
    /// It is gone, or about to go.
    Stopped,
}

impl ReaperState {
    /// All, each at its place as a number.
    const ALL: [Self; 4] = [Self::Awaited, Self::Running, Self::Elsewhere, Self::Stopped];
}

impl<P: Send + Sync + 'static> PidNamespace<P> {
    /// Makes a root.
    #[must_use]
    pub fn root() -> Arc<Self> {
        Self::new(Box::new([]), PID_MAX_DEFAULT)
    }

    /// Makes a namespace inside this one, with the same `pid_max`.
    ///
    /// # Errors
    ///
    /// [`TooDeep`] below the innermost level.
    pub fn child(self: &Arc<Self>) -> Result<Arc<Self>, TooDeep> {
        let level = self.level() + 1;
        if level > MAX_PID_NS_LEVEL {
            return Err(TooDeep { level });
        }
        let ancestors = self.ancestors.iter().chain([self]).cloned().collect();
        Ok(Self::new(ancestors, self.pid_max()))
    }

    fn new(ancestors: Box<[Arc<Self>]>, pid_max: u32) -> Arc<Self> {
        Arc::new(Self {
            ancestors,
            numbers: Idr::new(),
            pid_max: AtomicU32::new(pid_max),
            life: AtomicU8::new(ReaperState::Awaited as u8),
            processes: AtomicU32::new(0),
        })
    }

    /// How many namespaces this one is inside of.
    #[must_use]
    pub fn level(&self) -> u32 {
        u32::try_from(self.ancestors.len()).expect("at most 32 levels")
    }

    /// The namespace that this one is directly inside of.
    #[must_use]
    pub fn parent(&self) -> Option<&Arc<Self>> {
        self.ancestors.last()
    }

    /// Whether this is the namespace of level `level` of all that is in `other`.
    pub(crate) fn contains(&self, other: &Self) -> bool {
        let outer = other.ancestors.get(self.ancestors.len()).map_or(other, |outer| outer);
        core::ptr::eq(self, outer)
    }

    /// One more than the highest number that is given out.
    #[must_use]
    pub fn pid_max(&self) -> u32 {
        self.pid_max.load(Ordering::Relaxed)
    }

    /// Changes `pid_max`; numbers beyond it that are in use stay.
    ///
    /// # Errors
    ///
    /// [`PidMaxOutOfRange`] unless it is between [`PID_MAX_MIN`] and [`PID_MAX_LIMIT`].
    pub fn set_pid_max(&self, pid_max: u32) -> Result<(), PidMaxOutOfRange> {
        if !(PID_MAX_MIN..=PID_MAX_LIMIT).contains(&pid_max) {
            return Err(PidMaxOutOfRange { pid_max });
        }
        self.pid_max.store(pid_max, Ordering::Relaxed);
        Ok(())
    }

    /// Lets pids come without a first process, whose number stays free for it: it exists and is
    /// not known here, as when processes of a kernel's namespace are adopted as they show up.
    ///
    /// A pid of number 1 may then come and go like any other.
    pub fn assume_reaper(&self) {
        let guard = pin_to_change();
        let _locked = self.numbers.lock(&guard);
        if self.life() == ReaperState::Awaited {
            self.set_life(ReaperState::Elsewhere);
        }
    }

    /// Gives out no more numbers, here and in the namespaces inside, for good: the first process
    /// is about to end.
    ///
    /// A caller that looks afterwards sees every pid that there will ever be.
    pub fn disable_pid_allocation(&self) {
        let guard = pin_to_change();
        let _locked = self.numbers.lock(&guard);
        self.set_life(ReaperState::Stopped);
    }

    /// How many processes have a number here, counted when all of their numbers are published.
    #[must_use]
    pub fn processes(&self) -> u32 {
        self.processes.load(Ordering::Relaxed)
    }

    /// Finds the pid of number `nr`, for as long as the reader is pinned.
    #[inline]
    pub fn find_pid<'g>(&'g self, nr: u32, guard: &'g ReadGuard) -> Option<&'g Pid<P>> {
        self.numbers.find(nr, guard)
    }

    /// Finds the pid of number `nr`, to be kept.
    #[must_use]
    pub fn get_pid(&self, nr: u32) -> Option<Arc<Pid<P>>> {
        self.numbers.get(nr)
    }

    /// Finds the lowest number from `nr` on that a process has.
    pub fn find_ge_pid<'g>(&'g self, nr: u32, guard: &'g ReadGuard) -> Option<(u32, &'g Pid<P>)> {
        self.numbers.get_next(nr, guard)
    }

    /// Visits the numbers from `nr` on, and whose they are, in order.
    pub fn pids_from<'g>(&'g self, nr: u32, guard: &'g ReadGuard) -> PidsInOrder<'g, P> {
        self.numbers.iter_from(nr, guard)
    }

    /// This namespace and those it is inside of, the root last: the order in which they are locked.
    pub(crate) fn lineage(self: &Arc<Self>) -> impl Iterator<Item = &Arc<Self>> {
        core::iter::once(self).chain(self.ancestors.iter().rev())
    }

    /// Locks the numbers of all of the lineage.
    pub(crate) fn lock_lineage<'a>(
        self: &'a Arc<Self>,
        guard: &'a ChangeGuard,
    ) -> PerLevel<LockedNamespace<'a, P>> {
        self.lineage()
            .map(|namespace| LockedNamespace { namespace, numbers: namespace.lock(guard) })
            .collect()
    }

    pub(crate) fn lock<'a>(&'a self, guard: &'a ChangeGuard) -> LockedIdr<'a, Pid<P>> {
        self.numbers.lock(guard)
    }

    pub(crate) fn life(&self) -> ReaperState {
        ReaperState::ALL[usize::from(self.life.load(Ordering::Relaxed)) % ReaperState::ALL.len()]
    }

    /// To be called with the numbers locked.
    pub(crate) fn set_life(&self, life: ReaperState) {
        self.life.store(life as u8, Ordering::Relaxed);
    }

    /// To be called with the numbers locked.
    pub(crate) fn set_processes(&self, processes: u32) {
        self.processes.store(processes, Ordering::Relaxed);
    }
}

/// A namespace, and its numbers that no other thread changes meanwhile.
pub(crate) struct LockedNamespace<'a, P: Send + Sync + 'static> {
    pub(crate) namespace: &'a Arc<PidNamespace<P>>,
    pub(crate) numbers: LockedIdr<'a, Pid<P>>,
}

impl<P: Send + Sync + 'static> fmt::Debug for PidNamespace<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PidNamespace")
            .field("level", &self.level())
            .field("processes", &self.processes())
            .field("life", &self.life())
            .finish_non_exhaustive()
    }
}

/// The numbers of a namespace and whose they are, in order.
pub type PidsInOrder<'g, P> = Iter<'g, Pid<P>>;
