//! The Binder driver as a state machine: no system call, clock or thread.
//!
//! A front end decodes what clients ask, calls a [`Context`], and carries out the [`Effect`]s that
//! the call leaves behind. During a call the core reaches into clients' memory, and takes hold of
//! their files, through [`ReceiveBuffers`], and through nothing else. Nothing blocks: a read that finds
//! no work parks, and the front end resumes it on [`Effect::Wake`]; a call that must change the
//! descriptors of its process stops with [`FdWork`], and goes on when that is done.
//!
//! A call, file by file: `write_read` (the two phases of the ioctl), `command` (decodes `BC_*`),
//! `transaction` (finds the receiver), `translate` and `buffer` (the data), `work` (queues),
//! `waiting` (which thread is woken), `returns` (writes `BR_*`), `effect` (requests to the front end), and
//! back by way of `reply`. Calls that came another way: `adoption`. What objects bring along: `image`, `scatter`, `descriptors`, `suspended_call`. The
//! other modules: `manager`, `node`, `handle`, `async_todo`, `death`, `freeze`, `freeze_links`,
//! `looper`, `priority`, `exit`, `release`, `account`.
//! What people may know of all this: `journal` (the last sends), `trace_log` (all that happens), `counters`,
//! `snapshot` (all tables).

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod account;
mod adoption;
mod async_todo;
mod buffer;
mod command;
mod context;
mod copy_out;
mod counters;
mod death;
mod descriptors;
mod early_reservation;
mod effect;
mod env;
mod error;
mod exit;
mod fetch;
mod freeze;
mod freeze_links;
mod handle;
mod identity;
mod idle_pages;
mod image;
mod journal;
mod lane;
mod looper;
mod manager;
mod memory_budget;
mod node;
mod pages;
mod priority;
mod process;
mod proven;
mod ranges;
mod release;
mod reply;
mod returns;
mod scatter;
mod slice;
mod snapshot;
mod stats;
mod suspended_call;
mod table;
mod thread;
mod trace_log;
mod transaction;
mod translate;
mod unfinished;
mod user;
mod waiting;
mod work;
mod write_read;

pub use account::{Amounts, Excess, LimitHolder, Limits, Resource};
pub use adoption::DirectCall;
pub use context::{Caller, Context, Waits};
pub use copy_out::CopyOut;
pub use counters::Counters;
pub use descriptors::CapturedFile;
pub use early_reservation::{EarlyReservation, EarlyReservationKey};
pub use effect::Effect;
pub use env::{CallerMemory, ClaimedAddr, CopyFault, MappingArea, ReceiveBuffers};
pub use error::Errno;
pub use fetch::Commands;
pub use freeze::{Freeze, IfOutstanding, Program};
pub use identity::{Opener, UidMap, UidRange};
pub use journal::{LogEntry, SendEnd, SendReport};
pub use lane::{LaneTarget, Standing};
pub use memory_budget::MemoryBudget;
pub use pages::PageCounts;
pub use pidns::{AdoptError, HeldPid, KernelProcess, NamespaceId, PidTable};
pub use priority::{Inheritance, Policy, Priority, PriorityChange};
pub use process::{Process, ProcessKey};
pub use release::ReleaseProgress;
pub use snapshot::{
    BufferView, NodeView, ObjectCount, ProcessView, ReferenceView, Snapshot, SnapshotBuilder,
    SnapshotCursor, SnapshotItem, SnapshotTotals, StackEntry, StackSide, ThreadView,
    TransactionView, WorkView,
};
pub use stats::{LiveObjects, Sequences};
pub use suspended_call::{FdWork, NotInstalled, SuspendedCall, SuspendedCallKey};
pub use table::Key;
pub use thread::{Thread, ThreadKey};
pub use trace_log::{TraceEvent, Traced, TracedData, TracedObject};
pub use transaction::TransactionKind;
pub use user::UserView;
pub use write_read::Outcome;
