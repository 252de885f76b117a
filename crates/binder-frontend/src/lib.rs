//! The front end of one Binder device, as a state machine: what its clients ask comes in as
//! [`Event`]s, the work that follows goes out as [`Action`]s.
//!
//! Nothing here makes a system call, reads a clock or waits, and no kind of door is known: a request is "this
//! open file's thread makes this ioctl with these 48 bytes", however it came. A [`Frontend`] belongs to one
//! device and is driven by an executor, which has its lock: it lets the front end [`handle`](Frontend::handle)
//! an event, takes the [actions](Frontend::take_actions), gives up the lock, and does them - accesses clients'
//! memory, changes their descriptors, answers. What comes of it is another event.
//!
//! A call, file by file: `request` (the calling thread), `event` (its request), `ioctl` (bytes to a typed value), `frontend` (events
//! to handlers), `write_read` (commands in, returns out), `access` (reads and writes of a client's memory), `calls`
//! (where a call is while it waits), `action` (what is
//! to be done). Besides: `interruption` (signals), `fd_work` (files on their way into a client), `file_state` and
//! `slot_table` (the state of each open file), `carried_returns` (returns that go back with an answer), `free_lists` (memory for the
//! next call), `release` (the end of files and threads, slice by slice), `effects` (the core's wishes as actions).

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod access;
mod action;
mod calls;
mod carried_returns;
mod effects;
mod event;
mod fd_work;
mod file_state;
mod free_lists;
mod frontend;
mod interruption;
mod ioctl;
mod release;
mod request;
mod slot_table;
#[cfg(test)]
mod test_frontend;
mod write_read;

pub use access::{AccessEnd, AccessRequest, MemoryAccess};
pub use action::{Action, Answer, Cancelled};
pub use calls::Call;
pub use event::Event;
pub use fd_work::{CallerState, FdWorkResult, NextStep};
pub use free_lists::FreeLists;
pub use frontend::Frontend;
pub use ioctl::{Ioctl, IoctlData};
pub use request::{CallingThread, RequestContext};
pub use slot_table::SlotTable;
