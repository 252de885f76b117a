//! A file system in the shape of /proc over a table of processes, served by FUSE.
//!
//! A view shows the processes of one pid namespace, with their numbers there. There are
//! two kinds. What a [`ProcessTable`] holds has no kernel behind it: every change passes through the table,
//! so the kernel may keep whatever it was told, until it is told otherwise. The kernel's own
//! processes are read from the kernel's /proc each time, for the kernel does not tell of their changes.

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
