//! What no call needs any more, for the memory it has.

use alloc::boxed::Box;
use alloc::vec::Vec;

use binder_core::Commands;
use binder_uapi::BinderWriteRead;

use crate::access::{AccessEnd, AccessRequest, MemoryAccess};
use crate::calls::Call;
use crate::ioctl::IoctlData;
use crate::request::RequestContext;

/// How many of each kind are kept: one for a call, and one for the call that it wakes.
const KEPT: usize = 2;

/// A few of each kind, for the next calls.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "each goes out in its box")]
pub struct FreeLists {
    calls: Vec<Box<Call>>,
    commands: Vec<Box<Commands>>,
    accesses: Vec<Box<AccessRequest>>,
}

impl FreeLists {
    /// A call that begins.
    pub fn call(&mut self, context: RequestContext, data: IoctlData) -> Box<Call> {
        match self.calls.pop() {
            Some(mut used) => {
                used.renew(context, data);
                used
            }
            None => Box::new(Call::new(context, data)),
        }
    }

    /// The access by which the next commands of a call are fetched, if there are any.
    pub fn fetch(
        &mut self,
        request: RequestContext,
        call: &BinderWriteRead,
    ) -> Option<Box<AccessRequest>> {
        (call.write_consumed < call.write_size).then(|| {
            let commands = self.commands(call);
            self.access(request, MemoryAccess::Commands(*call, commands), false)
        })
    }

    /// Commands to be replaced.
    pub(crate) fn commands(&mut self, call: &BinderWriteRead) -> Box<Commands> {
        self.commands.pop().unwrap_or_else(|| Commands::none(call).into())
    }

    pub(crate) fn access(
        &mut self,
        request: RequestContext,
        access: MemoryAccess,
        can_wait: bool,
    ) -> Box<AccessRequest> {
        let wanted =
            AccessRequest { request, access, can_wait, last_of: None, end: AccessEnd::Done };
        match self.accesses.pop() {
            Some(mut used) => {
                *used = wanted;
                used
            }
            None => Box::new(wanted),
        }
    }

    /// Keeps a call that was answered.
    pub fn keep_call(&mut self, call: Box<Call>) {
        keep(&mut self.calls, call);
    }

    /// Keeps commands that were run.
    pub(crate) fn keep_commands(&mut self, mut commands: Box<Commands>) {
        commands.trim();
        keep(&mut self.commands, commands);
    }

    /// Keeps an access that was made, and has nothing any more.
    pub fn keep_access(&mut self, access: Box<AccessRequest>) {
        keep(&mut self.accesses, access);
    }

    /// Takes from `others` a piece of each kind that is missing here, and gives them one of each kind that they miss.
    pub fn balance(&mut self, others: &mut Self) {
        balance(&mut self.commands, &mut others.commands);
        balance(&mut self.accesses, &mut others.accesses);
    }
}

fn balance<T>(own: &mut Vec<T>, others: &mut Vec<T>) {
    if own.is_empty() {
        own.extend(others.pop());
    } else if others.is_empty() && own.len() == KEPT {
        others.extend(own.pop());
    }
}

fn keep<T>(list: &mut Vec<T>, unused: T) {
    if list.len() < KEPT {
        list.push(unused);
    }
}
