//! Pid namespaces: a process has a number in each, from its own up to the root.
//!
//! The rules are those of Linux's `kernel/pid.c`. Numbers run in a circle; a number is found only
//! when the whole [`Pid`] is complete, in all namespaces; and when the first process of a namespace
//! is gone, so are its numbers. Lookups take no lock; what changes a pid locks the namespaces that
//! it has numbers in, the innermost first.
//!
//! ```
//! use pidns::{PidNamespace, pin};
//!
//! let host = PidNamespace::root();
//! let init = host.alloc_pid("init")?;
//! let container = host.child()?;
//! let shell = container.alloc_pid("shell")?;
//! assert_eq!((shell.nr(), shell.nr_ns(&host)), (1, 2));
//! assert_eq!((shell.vnr(&init), init.vnr(&shell)), (2, 0));
//! let found = host.find_pid(2, &pin()).map(|pid| *pid.process());
//! assert_eq!(found, Some("shell"));
//! # let ended = container.destroy();
//! # assert_eq!(ended.len(), 1);
//! # host.destroy();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod allocation;
mod limits;
mod namespace;
mod per_level;
mod pid;
mod release;
mod resident;
mod table;

pub use allocation::AllocError;
pub use idr::{ReadGuard, pin, reclaim};
pub use limits::{
    MAX_PID_NS_LEVEL, PID_MAX_DEFAULT, PID_MAX_LIMIT, PID_MAX_MIN, PidMaxOutOfRange, RESERVED_PIDS,
    TooDeep,
};
pub use namespace::{PidNamespace, PidsInOrder};
pub use pid::Pid;
pub use release::{AlreadyFreed, NoSuchPid};
pub use resident::{HeldPid, Record, Resident};
pub use table::{AdoptError, KernelProcess, NamespaceId, PidTable};

#[cfg(all(test, loom))]
mod interleavings;
#[cfg(all(test, not(loom)))]
mod tests;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
