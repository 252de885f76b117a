//! A file system in the shape of /proc over a table of processes, served by FUSE.
//!
//! A view shows the processes of one pid namespace, with their numbers there. There are
//! two kinds. What a [`ProcessTable`] holds has no kernel behind it: every change passes through the table,
//! so the kernel may keep whatever it was told, until it is told otherwise. Of the kernel's own
//! processes it does not tell what changes: their files are [links](KernelFiles::Linked) to those of the kernel's
//! /proc, or [read](KernelFiles::Served) from there each time.

#![forbid(unsafe_code)]

mod clock;
mod errno;
mod files;
mod kernel;
mod machine;
mod net;
mod node;
mod render;
mod scenario;
mod session;
mod table;
mod task;
mod view;

pub use kernel::{Members, Membership};
pub use machine::Machine;
pub use scenario::{FilledScenario, Scenario};
pub use session::{ViewMountError, ViewServeError, ViewSession};
pub use table::{ProcessTable, TableError};
pub use task::{COMM_MAX_BYTES, Facts, State, Task, TaskIds};
pub use view::{KERNEL_DIR, KernelFiles};
