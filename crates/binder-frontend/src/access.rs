//! Accesses to the memory of clients: what is asked for, and what came of it.

use alloc::boxed::Box;

use binder_core::{Commands, CopyFault, CopyOut, ThreadKey};
use binder_uapi::BinderWriteRead;

use crate::request::RequestContext;

/// What a call needs of its client's memory.
#[derive(Debug)]
pub enum MemoryAccess {
    /// The next commands are to be [fetched](Commands::fetch_next).
    Commands(BinderWriteRead, Box<Commands>),
    /// Returns are to be written.
    CopyOut(CopyOut),
    /// Nothing but others' turn: the call goes on with these commands in another slice.
    Turn(ThreadKey, Box<Commands>),
}

/// An access to a client's memory.
#[derive(Debug)]
pub struct AccessRequest<F> {
    /// The open file.
    pub file: F,
    /// The call that waits for it.
    pub request: RequestContext,
    /// What to do.
    pub access: MemoryAccess,
    /// The call takes long, and lets others go first.
    pub can_wait: bool,
}

/// What came of an access to a client's memory.
#[derive(Debug)]
pub struct Accessed {
    /// The call.
    pub request: RequestContext,
    /// What was asked for, and what was read.
    pub access: MemoryAccess,
    /// How it ended.
    pub end: AccessEnd,
}

/// How an access to a client's memory ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessEnd {
    /// It was made; commands show themselves what could not be read.
    Done,
    /// The returns could not be written.
    Fault(CopyFault),
    /// A signal has cut it off.
    Cut,
    /// The executor met a bug.
    Bug,
}
