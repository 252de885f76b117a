//! Priorities that threads inherit: read as calls begin, and set as the core says.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use binder_core::{Inheritance, Policy, Priority, PriorityChange};
use binder_os::priority::{self, ThreadPriority};

/// What threads of a mount inherit, and what was said about it.
#[derive(Debug)]
pub(crate) struct Priorities {
    inheritance: Inheritance,
    /// The log says that threads are not this process's to change.
    has_told_refusal: AtomicBool,
}

impl Priorities {
    pub(crate) fn new(inheritance: Inheritance) -> Self {
        Self { inheritance, has_told_refusal: AtomicBool::new(false) }
    }

    /// How much of a caller's priority is inherited.
    pub(crate) fn inheritance(&self) -> Inheritance {
        self.inheritance
    }

    /// How a thread is scheduled that begins a call, if that can be inherited; `None` within is one to be left
    /// alone.
    pub(crate) fn of_thread(&self, tid: u32) -> Option<Option<Priority>> {
        match self.inheritance {
            Inheritance::Nothing => None,
            Inheritance::Nice | Inheritance::Priority => self.of(tid).ok(),
        }
    }

    /// How a process is scheduled that opens a device, if that matters.
    pub(crate) fn of_process(&self, pid: u32) -> Option<Priority> {
        self.of_thread(pid).map(|priority| priority.unwrap_or(Priority::ORDINARY))
    }

    /// How a thread is scheduled, as far as that can be inherited; `None` if it is to be left alone.
    fn of(&self, tid: u32) -> io::Result<Option<Priority>> {
        match self.inheritance {
            Inheritance::Nothing => Ok(None),
            Inheritance::Nice => Ok(Some(Priority::nice(priority::nice_of(tid)?))),
            Inheritance::Priority => Ok(priority::of(tid)?.and_then(from_system)),
        }
    }

    /// Changes a thread of process `pid`, within what that process may have.
    pub(crate) fn change(&self, pid: u32, tid: u32, wanted: Priority, change: PriorityChange) {
        let result = match (self.inheritance, change) {
            (Inheritance::Nothing, _) => Ok(()),
            (Inheritance::Nice, _) => priority::set_nice(pid, tid, wanted.level),
            (Inheritance::Priority, PriorityChange::Inherit) => {
                priority::inherit(pid, tid, to_system(wanted))
            }
            (Inheritance::Priority, PriorityChange::Restore) => {
                priority::restore(pid, tid, to_system(wanted))
            }
        };
        match result {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                if !self.has_told_refusal.swap(true, Ordering::Relaxed) {
                    tracing::debug!(
                        %error, pid, tid,
                        "the driver may not change a thread's priority; it says so once"
                    );
                }
            }
            Err(error) => {
                tracing::debug!(%error, pid, tid, ?wanted, "a thread keeps its priority");
            }
            Ok(()) => {}
        }
    }
}

fn from_system(found: ThreadPriority) -> Option<Priority> {
    let ThreadPriority { policy, level, resets_on_fork } = found;
    Some(Priority { policy: Policy::from_number(policy)?, level, resets_on_fork })
}

fn to_system(wanted: Priority) -> ThreadPriority {
    let Priority { policy, level, resets_on_fork } = wanted;
    ThreadPriority { policy: policy.number(), level, resets_on_fork }
}
