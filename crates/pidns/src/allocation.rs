//! New pids: a number in each namespace, or in none.

use alloc::sync::Arc;

use idr::{ChangeGuard, LockedIdr, ReservedId, pin_to_change};

use crate::limits::RESERVED_PIDS;
use crate::namespace::{PidNamespace, ReaperState};
use crate::per_level::PerLevel;
use crate::pid::Pid;

impl<P: Send + Sync + 'static> PidNamespace<P> {
    /// Gives `process` the next number here and in each namespace that this one is inside of.
    ///
    /// # Errors
    ///
    /// [`AllocError`], and nothing has changed.
    pub fn alloc_pid(self: &Arc<Self>, process: P) -> Result<Arc<Pid<P>>, AllocError> {
        self.alloc_pid_at(&[], |_| true, process)
    }

    /// Gives `process` the numbers `set_tid`, the first of them here, the second in the parent, and
    /// so on; and the next number in those that are left.
    ///
    /// `may_choose` says whether the caller may choose numbers in a namespace. Chosen numbers do
    /// not move the circle on. To adopt a process of the kernel's, choose all of its numbers
    /// (`NSpid`, read backwards); one that is [taken](AllocError::Taken) belongs to a process that
    /// has ended unnoticed, to be [freed](Pid::free) before another try.
    ///
    /// # Errors
    ///
    /// [`AllocError`], and nothing has changed.
    pub fn alloc_pid_at(
        self: &Arc<Self>,
        set_tid: &[u32],
        may_choose: impl Fn(&Self) -> bool,
        process: P,
    ) -> Result<Arc<Pid<P>>, AllocError> {
        self.check_chosen(set_tid, may_choose)?;
        let guard = pin_to_change();
        let mut levels: PerLevel<Level<'_, P>> =
            self.lineage().map(|namespace| Level::lock(namespace, &guard)).collect();
        let chosen = set_tid.iter().copied().map(Some).chain(core::iter::repeat(None));
        let mut reserved = Ok(());
        for (level, chosen) in levels.iter_mut().zip(chosen) {
            reserved = level.reserve(chosen);
            if reserved.is_err() {
                break;
            }
        }
        if let Err(error) = reserved {
            levels.iter_mut().for_each(Level::unwind);
            return Err(error);
        }
        let numbers = levels.iter().rev().map(Level::number).collect();
        let pid = Arc::new(Pid::new(numbers, self.clone(), process));
        levels.iter_mut().for_each(|level| level.publish(&pid));
        Ok(pid)
    }

    /// What can be known of chosen numbers before anything is locked.
    fn check_chosen(
        self: &Arc<Self>,
        set_tid: &[u32],
        may_choose: impl Fn(&Self) -> bool,
    ) -> Result<(), AllocError> {
        let levels = self.level() as usize + 1;
        if set_tid.len() > levels {
            return Err(AllocError::TooManyChosen { chosen: set_tid.len(), levels });
        }
        for (namespace, number) in self.lineage().zip(set_tid.iter().copied()) {
            let (level, pid_max) = (namespace.level(), namespace.pid_max());
            if !(1..pid_max).contains(&number) {
                return Err(AllocError::OutOfRange { level, number, pid_max });
            }
            if !may_choose(namespace) {
                return Err(AllocError::NotPermitted { level, number });
            }
        }
        Ok(())
    }
}

/// A namespace in which a pid is being made.
struct Level<'a, P: Send + Sync + 'static> {
    namespace: &'a PidNamespace<P>,
    numbers: LockedIdr<'a, Pid<P>>,
    /// Where the circle was before.
    cursor: u32,
    /// The number, once it is reserved. No reader finds it until it is published.
    reserved: Option<ReservedId<'a, Pid<P>>>,
}

impl<'a, P: Send + Sync + 'static> Level<'a, P> {
    fn lock(namespace: &'a PidNamespace<P>, guard: &'a ChangeGuard) -> Self {
        let numbers = namespace.lock(guard);
        Self { namespace, cursor: numbers.cursor(), numbers, reserved: None }
    }

    fn number(&self) -> u32 {
        self.reserved.as_ref().map_or(0, ReservedId::id)
    }

    fn reserve(&mut self, chosen: Option<u32>) -> Result<(), AllocError> {
        let level = self.namespace.level();
        let reserved =
            match chosen {
                Some(number) => self
                    .numbers
                    .reserve(number..=number)
                    .map_err(|_| AllocError::Taken { level, number })?,
                None => {
                    let is_past_reserved = self.numbers.cursor() > RESERVED_PIDS;
                    let first = if is_past_reserved { RESERVED_PIDS } else { 1 };
                    let pid_max = self.namespace.pid_max();
                    self.numbers
                        .reserve_cyclic(first..=pid_max - 1)
                        .map_err(|_| AllocError::Full { level, first, pid_max })?
                }
            };
        let number = self.reserved.insert(reserved).id();
        match self.namespace.life() {
            ReaperState::Awaited if number != 1 => Err(AllocError::NoReaper { level, number }),
            // Differs from Linux, which asks the innermost namespace alone: there the end of an
            // outer first process kills all processes inside before they could ask.
            ReaperState::Stopped => Err(AllocError::Stopped { level }),
            ReaperState::Awaited | ReaperState::Running | ReaperState::Elsewhere => Ok(()),
        }
    }

    fn publish(&mut self, pid: &Arc<Pid<P>>) {
        let Some(reserved) = &self.reserved else { return };
        let filled = self.numbers.fill(reserved, pid.clone());
        debug_assert_eq!(filled, Ok(()), "it was reserved");
        self.namespace.set_processes(self.namespace.processes() + 1);
        if self.namespace.life() == ReaperState::Awaited {
            self.namespace.set_life(ReaperState::Running);
        }
    }

    /// Differs from Linux, which sets the circle back only for the first process of a namespace,
    /// and otherwise leaves out a number that no process had.
    fn unwind(&mut self) {
        let Some(reserved) = self.reserved.take() else { return };
        let removed = self.numbers.remove(reserved.id());
        debug_assert!(removed.is_ok(), "it was reserved");
        self.numbers.set_cursor(self.cursor);
    }
}

/// Why there is no new pid. What Linux answers is in brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AllocError {
    /// More numbers were chosen than there are namespaces (`EINVAL`).
    #[error("{chosen} pids were chosen, in {levels} namespaces")]
    TooManyChosen {
        /// How many.
        chosen: usize,
        /// How many there may be.
        levels: usize,
    },
    /// A chosen number is not one (`EINVAL`).
    #[error("pid {number} cannot be chosen at level {level}: it is not from 1 to below {pid_max}")]
    OutOfRange {
        /// The level of the namespace.
        level: u32,
        /// The number.
        number: u32,
        /// One more than the highest that can be chosen.
        pid_max: u32,
    },
    /// The caller may not choose numbers there (`EPERM`).
    #[error("pid {number} was chosen at level {level} without the right to choose")]
    NotPermitted {
        /// The level of the namespace.
        level: u32,
        /// The number.
        number: u32,
    },
    /// A process has a chosen number already (`EEXIST`).
    #[error("pid {number} is in use at level {level}")]
    Taken {
        /// The level of the namespace.
        level: u32,
        /// The number.
        number: u32,
    },
    /// All numbers are in use (`EAGAIN`).
    #[error("no pid is free at level {level}, from {first} to below {pid_max}")]
    Full {
        /// The level of the namespace.
        level: u32,
        /// The lowest number that could be given.
        first: u32,
        /// One more than the highest.
        pid_max: u32,
    },
    /// The first process of a namespace would not be number 1 (`EINVAL`).
    #[error("the first process at level {level} must be pid 1, not {number}")]
    NoReaper {
        /// The level of the namespace.
        level: u32,
        /// The number it would be.
        number: u32,
    },
    /// The first process of a namespace is gone (`ENOMEM`).
    #[error("the pid namespace at level {level} has ended")]
    Stopped {
        /// The level of the namespace.
        level: u32,
    },
}
