//! Freezes: which process is frozen, and how long the caller waits.

use binder_core::{IfOutstanding, ProcessKey, Program};
use binder_frontend::{Answer, RequestContext};
use binder_uapi::{BinderFreezeInfo, BinderFrozenStatusInfo};
use rustix::io::Errno;

use super::{Call, World, contexts, errno};
use crate::Caller;

/// The caller that waits for a freeze.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FreezeWaiter {
    Thread(usize),
    /// The front end of a device, for a request.
    Frontend(usize, u64),
}

impl World {
    pub(super) fn freeze(&mut self, caller: Caller, argument: u64) -> Call {
        let host = self.threads[caller.thread.0].host;
        let asked: BinderFreezeInfo = match self.get(host, argument) {
            Ok(asked) => asked,
            Err(errno) => return Call::Ended(Err(errno)),
        };
        let program = match self.program(caller, asked.pid) {
            Ok(program) => program,
            Err(errno) => return Call::Ended(Err(errno)),
        };
        if asked.enable == 0 {
            program.thaw(&mut contexts(&mut self.devices));
            return Call::Ended(Ok(()));
        }
        let if_outstanding =
            if asked.timeout_ms > 0 { IfOutstanding::Wait } else { IfOutstanding::Fail };
        let mut freeze = program.freeze(if_outstanding);
        match freeze.advance(&mut contexts(&mut self.devices), if_outstanding) {
            Some(result) => Call::Ended(result.map_err(errno)),
            None => {
                self.freezes.push((FreezeWaiter::Thread(caller.thread.0), freeze));
                Call::Freezing
            }
        }
    }

    /// Goes on with the freezes that wait for a process, given as the place of its device and its
    /// key.
    pub(super) fn advance_freezes(
        &mut self,
        if_outstanding: IfOutstanding,
        is_meant: impl Fn((usize, ProcessKey)) -> bool,
    ) {
        for (asker, mut freeze) in std::mem::take(&mut self.freezes) {
            let result = match freeze.waits_for().filter(|place| is_meant(*place)) {
                Some(_) => freeze.advance(&mut contexts(&mut self.devices), if_outstanding),
                None => None,
            };
            match (result, asker) {
                (Some(result), FreezeWaiter::Thread(thread)) => {
                    self.threads[thread].call = Call::Ended(result.map_err(errno));
                }
                (Some(result), FreezeWaiter::Frontend(device, unique)) => {
                    self.devices[device].end_freeze(unique, answer_of(result));
                }
                (None, _) => self.freezes.push((asker, freeze)),
            }
        }
    }

    pub(super) fn program(&mut self, caller: Caller, pid: u32) -> Result<Program, Errno> {
        let (context, who) = self.core_caller(caller);
        self.devices[context].context_mut().note_call(&who);
        self.find_program(context, who.process, pid).map_err(errno)
    }

    fn find_program(
        &mut self,
        context: usize,
        by: ProcessKey,
        pid: u32,
    ) -> Result<Program, binder_core::Errno> {
        let by = self.device(context).pid_of(by).expect("an open file").clone();
        Program::find(&contexts(&mut self.devices), &by, pid)
    }

    /// Freezes, or thaws, a program for a request that waits for it.
    pub(super) fn freeze_for(
        &mut self,
        device: usize,
        request: RequestContext,
        info: BinderFreezeInfo,
    ) {
        let unique = request.unique;
        self.executor.assert_is_unanswered(unique);
        let program = match self.find_program(device, request.process, info.pid) {
            Ok(program) => program,
            Err(error) => return self.devices[device].end_freeze(unique, Answer::Failed(error)),
        };
        if info.enable == 0 {
            program.thaw(&mut contexts(&mut self.devices));
            return self.devices[device].end_freeze(unique, Answer::Done);
        }
        let if_outstanding =
            if info.timeout_ms > 0 { IfOutstanding::Wait } else { IfOutstanding::Fail };
        let mut freeze = program.freeze(if_outstanding);
        match freeze.advance(&mut contexts(&mut self.devices), if_outstanding) {
            Some(result) => self.devices[device].end_freeze(unique, answer_of(result)),
            None => self.freezes.push((FreezeWaiter::Frontend(device, unique), freeze)),
        }
    }

    pub(super) fn tell_frozen_info(
        &mut self,
        device: usize,
        request: RequestContext,
        info: BinderFrozenStatusInfo,
    ) {
        self.executor.assert_is_unanswered(request.unique);
        let found = self.find_program(device, request.process, info.pid).map(|program| {
            let frozen = program.frozen_info(&contexts(&mut self.devices));
            BinderFrozenStatusInfo { pid: info.pid, ..frozen }
        });
        self.devices[device].end_frozen_info(request.unique, found);
    }

    /// A signal ends a freeze that waits.
    pub(super) fn cancel_freeze(&mut self, device: usize, unique: u64) {
        let is_its = |asker: &FreezeWaiter| *asker == FreezeWaiter::Frontend(device, unique);
        if let Some(at) = self.freezes.iter().position(|(asker, _)| is_its(asker)) {
            let (_, freeze) = self.freezes.remove(at);
            freeze.abandon(&mut contexts(&mut self.devices));
            self.devices[device].end_freeze(unique, Answer::Restart);
        }
    }
}

fn answer_of(result: Result<(), binder_core::Errno>) -> Answer {
    result.map_or_else(Answer::Failed, |()| Answer::Done)
}
