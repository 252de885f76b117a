//! The Binder driver as a state machine: no system call, clock or thread.
//!
//! A front end decodes what clients ask, calls a [`Context`], and carries out the [`Effect`]s that
//! the call leaves behind. During a call the core reaches into clients' memory through
//! [`ClientMemory`], and through nothing else. Nothing blocks: a read that finds no work parks, and
//! the front end resumes it on [`Effect::Wake`].
//!
//! A call, file by file: `write_read` (the two phases of the ioctl), `command` (decodes `BC_*`),
//! `transaction` (finds the receiver), `translate` and `buffer` (the data), `work` (queues),
//! `waiting` (who is woken), `returns` (writes `BR_*`), `effect` (what the front end does next), and
//! back by way of `reply`. The other rooms: `manager`, `node`, `handle`, `death`, `freeze`, `freeze_links`, `oneway_line`, `looper`, `nice`, `exit`.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod buffer;
mod command;
mod context;
mod death;
mod effect;
mod env;
mod error;
mod exit;
mod freeze;
mod freeze_links;
mod handle;
mod identity;
mod looper;
mod manager;
mod nice;
mod node;
mod oneway_line;
mod pages;
mod process;
mod ranges;
mod reply;
mod returns;
mod stats;
mod table;
mod thread;
mod transaction;
mod translate;
mod waiting;
mod work;
mod write_read;

pub use context::{Caller, Context, Waits};
pub use effect::Effect;
pub use env::{ClaimedAddr, ClientMemory, CopyFault, MappingArea};
pub use error::Errno;
pub use freeze::{Freeze, Patience, Program};
pub use identity::{NamespaceId, Opener, PidNumbers, UidMap, UidRange};
pub use nice::Nice;
pub use pages::PageCounts;
pub use process::{Process, ProcessKey};
pub use stats::Census;
pub use table::Key;
pub use thread::{Thread, ThreadKey};
pub use write_read::Outcome;
