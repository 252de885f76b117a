//! Serves binderfs over /dev/fuse: FUSE requests in, [`binder_frontend`], replies out.
//!
//! A `readers` thread reads a request, and `session` finds out what it is. What concerns names it answers from the
//! `tree`; what concerns Binder becomes an event of a `device`, whose `combining_lock` keeps its front end. The `executor`
//! does what that wants done, with no lock held: it answers, and has clients' memory accessed (`memory_op`, in line in
//! `io_queue`). What needs no device's lock of an open file is in `client_file`: its threads, its process's memory. Data
//! reaches the client's mapping through `mapping`. Files that clients send one another are held in `files`; a thread of
//! the `blocking_pool` has the receiver take them (`fd_work`) from where `brokers` lend them. Freezes concern all devices:
//! the `freezer`. The `housekeeper` does the work that no request asks for. What the driver tells of itself goes out by the
//! names of `logs`, and what goes wrong by `events`.
//!
//! Imports go one way. At the bottom are tables, queues and handles, each for itself; on them stands a `device` with its
//! open files. What a session keeps of all these is `shared`. What acts on that - requests, the executor, each thread -
//! is above, and at the top is `session`, which mounts and starts it all. So a table and the thread that serves it are two
//! modules: `housekeeping` and the `housekeeper`, `reader_places` and the `readers`, `freeze_queue` and the `freezer`.
//!
//! What FUSE does not pass on comes in at the `supervisor`, if clients were started under it, each as a `trapped_call`.

mod blocking_pool;
mod brokers;
mod client;
mod client_file;
mod combining_lock;
mod contexts;
mod descriptors;
mod detached_calls;
mod device;
mod error;
mod events;
mod executor;
mod exit_watcher;
mod expected_calls;
mod fd_task;
mod fd_work;
mod files;
mod filter_verdict;
mod freeze_queue;
mod freezer;
mod housekeeper;
mod housekeeping;
mod io_queue;
mod log_queue;
mod logs;
mod mapping;
mod mapping_place;
mod memory;
mod memory_handle;
mod memory_op;
mod mounts;
mod notify_listener;
mod open_mode;
mod opener;
mod options;
mod page_bits;
mod pids;
mod pressure;
mod priorities;
mod private_mapping;
mod process_handles;
mod quota;
mod read_ahead;
mod reader_places;
mod readers;
mod removed_devices;
mod report;
mod ring;
mod seccomp_add_fd;
mod served;
mod session;
mod shared;
mod slow;
mod stream_reads;
mod strings;
mod supervision;
mod supervisor;
mod texts;
mod thread_look;
mod trace;
mod trapped_call;
mod tree;
mod warnings;
mod watched;
mod wire;

pub use binder_core::{Inheritance, Limits, Resource};
pub use binder_report::{DeviceFigures, LockUsage};
pub use error::{MountError, ServeError};
pub use mapping::Route;
pub use memory::default_limits;
pub use options::{BufferRoute, DEVICES_MAX, DeviceSpec, NAME_MAX_BYTES, Options, Scheduling};
pub use pids::Pids;
pub use report::{DriverFigures, FiguresReader};
pub use session::{LimitsControl, MountedBinderfs};
pub use supervisor::Supervisor;
