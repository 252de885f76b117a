//! Pids that end, alone or with their namespace.

use alloc::sync::Arc;
use alloc::vec::Vec;

use idr::{pin, pin_to_change};

use crate::namespace::{LockedNamespace, PidNamespace, ReaperState};
use crate::pid::Pid;

impl<P: Send + Sync + 'static> Pid<P> {
    /// Frees the numbers in all namespaces; the circle makes it late that they come again.
    ///
    /// The first process of a namespace takes the namespace with it: no more numbers are given out
    /// there. Returned are the namespaces whose first process waits for the others to end, if this
    /// was the last of those, or the one before, for the first process may have numbers of two
    /// threads.
    ///
    /// # Errors
    ///
    /// [`AlreadyFreed`] the second time, and nothing has changed.
    pub fn free(&self) -> Result<Vec<Arc<PidNamespace<P>>>, AlreadyFreed> {
        let freed = AlreadyFreed { level: self.namespace().level(), number: self.nr() };
        let guard = pin_to_change();
        let mut levels = self.namespace().lock_lineage(&guard);
        if !levels[0].numbers.find(self.nr()).is_some_and(|found| core::ptr::eq(found, self)) {
            return Err(freed);
        }
        let mut to_wake = Vec::new();
        remove(&mut levels, self, &mut to_wake);
        Ok(to_wake)
    }
}

/// Takes the numbers of a pid back, which has them all, and returns it; also the namespaces that wait for that.
fn remove<P: Send + Sync + 'static>(
    levels: &mut [LockedNamespace<'_, P>],
    pid: &Pid<P>,
    to_wake: &mut Vec<Arc<PidNamespace<P>>>,
) -> Option<Arc<Pid<P>>> {
    let mut removed = None;
    for (level, number) in levels.iter_mut().zip(pid.numbers().iter().rev().copied()) {
        let namespace = level.namespace;
        removed = level.numbers.remove(number).ok().flatten();
        debug_assert!(removed.is_some(), "a pid has its numbers in all namespaces or in none");
        let left = namespace.processes() - 1;
        namespace.set_processes(left);
        match namespace.life() {
            ReaperState::Stopped if matches!(left, 1 | 2) => to_wake.push(Arc::clone(namespace)),
            ReaperState::Running if number == 1 => namespace.set_life(ReaperState::Stopped),
            ReaperState::Awaited
            | ReaperState::Running
            | ReaperState::Elsewhere
            | ReaperState::Stopped => {}
        }
    }
    removed
}

/// How many pids are freed before others may have the locks.
const TOGETHER: usize = 64;

impl<P: Send + Sync + 'static> PidNamespace<P> {
    /// Frees the pid of number `nr`, as [`Pid::free`] does, and returns it.
    ///
    /// # Errors
    ///
    /// [`NoSuchPid`] if no process has the number.
    pub fn free_pid(&self, nr: u32) -> Result<Arc<Pid<P>>, NoSuchPid> {
        let none = NoSuchPid { level: self.level(), number: nr };
        let pid = self.get_pid(nr).ok_or(none)?;
        pid.free().map_err(|_| none)?;
        Ok(pid)
    }

    /// Ends the namespace: no number is given out any more, here or inside, and every pid that has
    /// a number here loses all of them. Returns those pids, in order of their numbers here.
    pub fn destroy(&self) -> Vec<Arc<Pid<P>>> {
        self.disable_pid_allocation();
        let mut freed = Vec::new();
        // The processes that wait are freed, too.
        let mut to_wake = Vec::new();
        let mut next = 1;
        // Not pinned throughout: there may be millions.
        while let Some(first) = self.get_ge_pid(next) {
            to_wake.clear();
            // The namespaces of one, and of all of the same namespace that follow it here.
            let guard = pin_to_change();
            let mut levels = first.namespace().lock_lineage(&guard);
            let beside = self.pids_from(next, &guard).take_while(|(_, pid)| pid.is_beside(&first));
            for (number, pid) in beside.take(TOGETHER) {
                if let Some(pid) = remove(&mut levels, pid, &mut to_wake) {
                    freed.push(pid);
                }
                next = number + 1;
            }
        }
        freed
    }

    /// Finds the pid of the lowest number from `nr` on, to be kept.
    fn get_ge_pid(&self, nr: u32) -> Option<Arc<Pid<P>>> {
        let number = self.find_ge_pid(nr, &pin())?.0;
        // Another thread may have freed it since.
        self.get_pid(number).or_else(|| self.get_ge_pid(number + 1))
    }
}

/// A pid that has no numbers any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pid {number} of level {level} has been freed already")]
pub struct AlreadyFreed {
    /// The level of its own namespace.
    pub level: u32,
    /// The number it had there.
    pub number: u32,
}

/// A number that no process has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no process is pid {number} at level {level}")]
pub struct NoSuchPid {
    /// The level of the namespace.
    pub level: u32,
    /// The number.
    pub number: u32,
}
