//! Serves binderfs over /dev/fuse: FUSE requests in, [`binder_core`], replies out.
//!
//! A request comes in at `session`. What concerns names it answers from the `tree`; what concerns
//! Binder becomes a job of the `driver`, which decodes it (`ioctl`), asks the context, and carries
//! out the effects. What a call says, and what it is told, lies in its client's memory: that is
//! accessed while the driver is free for others (`memory_op`, `driver/write_read`). Calls that wait, for
//! that or anything else, are in `calls`; a freeze (`driver/freezing`) until the `alarm` at the latest. Data
//! reaches the client's mapping through `mapping`, and `client` knows the memory and the identity of the
//! process behind an open file, which has its place in `pids`. Files that clients send one another
//! are held in `files`; a thread of the `blocking_pool` has the receiver take them (`fd_work`) from where
//! `brokers` lend them. What the driver tells of itself goes out by the names of `logs`, and what goes
//! wrong by `events`.
//!
//! What FUSE does not pass on comes in at the `supervisor`, if clients were started under it.

mod alarm;
mod blocking_pool;
mod brokers;
mod calls;
mod client;
mod combining_lock;
mod contexts;
mod descriptors;
mod driver;
mod events;
mod exit_watcher;
mod fd_work;
mod files;
mod housekeeper;
mod ioctl;
mod logs;
mod mapping;
mod memory;
mod memory_op;
mod mounts;
mod notify_listener;
mod open_mode;
mod options;
mod pids;
mod pressure;
mod process_handles;
mod quota;
mod read_ahead;
mod readers;
mod search_time;
mod seccomp_add_fd;
mod served;
mod session;
mod slow;
mod strings;
mod supervision;
mod supervisor;
mod tree;
mod warnings;
mod wire;

pub use binder_core::{Limits, Resource};
pub use mapping::Route;
pub use memory::default_limits;
pub use options::{BufferRoute, DEVICES_MAX, DeviceSpec, NAME_MAX_BYTES, Options, Scheduling};
pub use pids::Pids;
pub use session::{MountError, MountedBinderfs, ServeError};
pub use supervisor::Supervisor;
