//! Freezes: who is meant, and how long they wait.

use binder_core::{Patience, ProcessKey, Program};
use binder_uapi::BinderFreezeInfo;
use rustix::io::Errno;

use super::{Call, World, errno};
use crate::Caller;

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
            program.thaw(&mut self.contexts.each_mut());
            return Call::Ended(Ok(()));
        }
        let patience = if asked.timeout_ms > 0 { Patience::Left } else { Patience::Over };
        let mut freeze = program.freeze(patience);
        match freeze.advance(&mut self.contexts.each_mut(), patience) {
            Some(result) => Call::Ended(result.map_err(errno)),
            None => {
                self.freezes.push((caller.thread.0, freeze));
                Call::Freezing
            }
        }
    }

    /// Goes on with the freezes that wait for a process, given as the place of its device and its
    /// key.
    pub(super) fn advance_freezes(
        &mut self,
        patience: Patience,
        is_meant: impl Fn((usize, ProcessKey)) -> bool,
    ) {
        for (thread, mut freeze) in std::mem::take(&mut self.freezes) {
            let result = match freeze.waits_for().filter(|place| is_meant(*place)) {
                Some(_) => freeze.advance(&mut self.contexts.each_mut(), patience),
                None => None,
            };
            match result {
                Some(result) => {
                    self.threads[thread].call = Call::Ended(result.map_err(errno));
                }
                None => self.freezes.push((thread, freeze)),
            }
        }
    }

    pub(super) fn program(&mut self, caller: Caller, pid: u32) -> Result<Program, Errno> {
        let (context, who) = self.core_caller(caller);
        self.contexts[context].note_call(&who);
        let by = self.contexts[context].pid_of(who.process).expect("an open file").clone();
        Program::find(&self.contexts.each_mut(), &by, pid).map_err(errno)
    }
}
