//! The Binder driver as a state machine: no system call, clock or thread.
//!
//! A front end decodes what clients ask, calls a [`Context`], and carries out the [`Effect`]s that
//! the call leaves behind. During a call the core reaches into clients' memory, and takes hold of
//! their files, through [`ClientMemory`], and through nothing else. Nothing blocks: a read that finds
//! no work parks, and the front end resumes it on [`Effect::Wake`]; a call that must change the
//! descriptors of its process stops with an [`Errand`], and goes on when that is done.
//!
//! A call, file by file: `write_read` (the two phases of the ioctl), `command` (decodes `BC_*`),
//! `transaction` (finds the receiver), `translate` and `buffer` (the data), `work` (queues),
//! `waiting` (who is woken), `returns` (writes `BR_*`), `effect` (what the front end does next), and
//! back by way of `reply`. What objects bring along: `image`, `scatter`, `descriptors`, `errand`. The
//! other rooms: `manager`, `node`, `handle`, `oneway_line`, `death`, `freeze`, `freeze_links`,
//! `looper`, `nice`, `exit`, `release`, `account`.
//! What people may know of all this: `journal` (the last sends), `counters`, `snapshot` (all tables).

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod account;
mod buffer;
mod command;
mod context;
mod counters;
mod death;
mod descriptors;
mod effect;
mod env;
mod errand;
mod error;
mod exit;
mod fetch;
mod freeze;
mod freeze_links;
mod hand_over;
mod handle;
mod identity;
mod idle_pages;
mod image;
mod journal;
mod looper;
mod manager;
mod memory_budget;
mod nice;
mod node;
mod oneway_line;
mod pages;
mod process;
mod proven;
mod ranges;
mod release;
mod reply;
mod returns;
mod room;
mod scatter;
mod slice;
mod snapshot;
mod stats;
mod table;
mod thread;
mod transaction;
mod translate;
mod unfinished;
mod user;
mod waiting;
mod work;
mod write_read;

pub use account::{Amounts, Excess, Limits, Resource, Whose};
pub use context::{Caller, Context, Waits};
pub use counters::Counters;
pub use descriptors::CapturedFile;
pub use effect::Effect;
pub use env::{CallerMemory, ClaimedAddr, ClientMemory, CopyFault, MappingArea};
pub use errand::{Errand, ErrandKey, NotInstalled, PendingErrand};
pub use error::Errno;
pub use fetch::Commands;
pub use freeze::{Freeze, Patience, Program};
pub use hand_over::HandOver;
pub use identity::{Opener, UidMap, UidRange};
pub use journal::{LogEntry, Report, SendEnd};
pub use memory_budget::MemoryBudget;
pub use nice::Nice;
pub use pages::PageCounts;
pub use pidns::{AdoptError, HeldPid, KernelProcess, NamespaceId, PidTable};
pub use process::{Process, ProcessKey};
pub use release::Release;
pub use room::{Room, RoomKey};
pub use snapshot::{
    BufferView, Direction, NodeView, ObjectCount, ProcessView, ReferenceView, Snapshot, StackEntry,
    ThreadView, TransactionView, WorkView,
};
pub use stats::{Census, DebugIds};
pub use table::Key;
pub use thread::{Thread, ThreadKey};
pub use transaction::Kind as TransactionKind;
pub use user::UserView;
pub use write_read::Outcome;
