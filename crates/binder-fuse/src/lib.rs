//! Serves binderfs over /dev/fuse: FUSE requests in, [`binder_core`], replies out.
//!
//! A request comes in at `session`. What concerns names it answers from the `tree`; what concerns
//! Binder becomes a job of the `driver`, which decodes it (`ioctl`), asks the context, and carries
//! out the effects. What a call says, and what it is told, lies in its client's memory: that is
//! accessed while the driver is free for others (`reach`, `driver/write_read`). Calls that wait, for
//! that or anything else, are in `calls`; a freeze (`driver/freezing`) until the `alarm` at the latest. Data
//! reaches the client's mapping through `mapping`, and `client` knows the memory and the identity of the
//! process behind an open file, which has its place in `pids`. Files that clients send one another
//! are held in `files`; a runner (`runners`) has the receiver take them (`errand`) from where
//! `brokers` lend them. What the driver tells of itself goes out by the names of `logs`, and what goes
//! wrong by `events`.
//!
//! What FUSE does not pass on comes in at the `supervisor`, if clients were started under it.

mod acquaintances;
mod alarm;
mod brokers;
mod calls;
mod client;
mod contexts;
mod descriptors;
mod diversion;
mod driver;
mod errand;
mod events;
mod files;
mod hearing;
mod housekeeper;
mod ioctl;
mod logs;
mod mapping;
mod memory;
mod mounts;
mod open_mode;
mod options;
mod pids;
mod pressure;
mod reach;
mod read_ahead;
mod readers;
mod runners;
mod search_time;
mod served;
mod session;
mod slow;
mod strings;
mod supervision;
mod supervisor;
mod supply;
mod thread_ends;
mod tree;
mod turn;
mod warnings;
mod wire;

pub use binder_core::{Limits, Resource};
pub use mapping::Route;
pub use memory::default_limits;
pub use options::{DEVICES_MAX, Delivery, DeviceSpec, NAME_MAX_BYTES, Options, Scheduling};
pub use pids::Pids;
pub use session::{MountError, ServeError, Session};
pub use supervisor::Supervisor;
