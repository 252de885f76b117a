//! Accesses to the memory of clients: the request and its result.

use alloc::boxed::Box;
use alloc::vec::Vec;

use binder_core::{Commands, CopyFault, CopyOut, EarlyReservationKey, ThreadKey};
use binder_uapi::BinderWriteRead;

use crate::calls::Call;
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
    /// Nothing any more: the call has taken what was read.
    Nothing,
}

/// An access to a client's memory: goes out with what to do, and comes back with what came of it.
#[derive(Debug)]
pub struct AccessRequest {
    /// The call that waits for it.
    pub request: RequestContext,
    /// What to do, and what was read.
    pub access: MemoryAccess,
    /// The call takes long, and lets others go first.
    pub can_wait: bool,
    /// The call itself, if it is over once these returns are written: it is in no table then, and the executor answers it
    /// with [`Answer::Done`](crate::Answer::Done). Only if the returns could not be written must the front end be told.
    pub last_of: Option<Box<Call>>,
    /// How it ended, once it has been made.
    pub end: AccessEnd,
}

impl AccessRequest {
    /// Takes the call that is over, now that its returns were written: it is to be answered. The access has nothing any more.
    pub fn take_ended_call(&mut self) -> Option<Box<Call>> {
        if self.end != AccessEnd::Done {
            return None;
        }
        let mut call = self.last_of.take()?;
        let access = core::mem::replace(&mut self.access, MemoryAccess::Nothing);
        if let MemoryAccess::CopyOut(copy_out) = access {
            call.returns.keep_memory(copy_out.bytes);
        }
        Some(call)
    }

    /// Takes the reservations that were made for commands which no call will run: they are to be
    /// [given up](crate::Frontend::give_up_reservation).
    pub fn take_reservations(&mut self) -> Vec<EarlyReservationKey> {
        let MemoryAccess::Commands(_, commands) = &mut self.access else { return Vec::new() };
        core::iter::from_fn(|| commands.take_reservation()).collect()
    }
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
