//! `BINDER_FREEZE`: it concerns every device of the mount, and it may wait.

use std::time::{Duration, Instant};

use binder_core::{Caller, Context, Errno, Freeze, Patience, ProcessKey, Program};
use binder_uapi::{BinderFreezeInfo, BinderFrozenStatusInfo};
use fuse_wire::reply;

use super::{Asker, DeviceId, Driver};
use crate::ioctl::Answer;
use crate::wire::send;

/// The kernel's own answer to a system call that a signal interrupts: the call is repeated after the
/// signal, or ends with `EINTR`, as the handler was set up (`SA_RESTART`).
///
/// User space never sees it: FUSE asks for an interruption only when the calling thread has a signal
/// to handle, and that thread does not return to its program before it has.
const ERESTARTSYS: i32 = 512;

/// A freeze that waits until nothing is outstanding at a process.
#[derive(Debug)]
pub(super) struct WaitingFreeze {
    asker: Asker,
    freeze: Freeze,
    /// How long its caller waits for each process.
    timeout: Duration,
    /// Until when it waits for this one.
    deadline: Instant,
}

impl Driver {
    pub(super) fn freeze(&mut self, asker: &Asker, caller: &Caller, request: &BinderFreezeInfo) {
        let program = match self.program(asker, caller, request.pid) {
            Ok(program) => program,
            Err(error) => return self.answer(asker.unique, Err(error), &[]),
        };
        if request.enable == 0 {
            program.thaw(&mut self.contexts());
            self.answer(asker.unique, Ok(()), &[]);
            return self.carry_out_all_effects();
        }
        let timeout = Duration::from_millis(request.timeout_ms.into());
        let patience = if timeout.is_zero() { Patience::Over } else { Patience::Left };
        let freeze = program.freeze(patience);
        let deadline = Instant::now() + timeout;
        let waiting = WaitingFreeze { asker: *asker, freeze, timeout, deadline };
        self.advance(waiting, patience);
        self.set_alarm();
        self.carry_out_all_effects();
    }

    pub(super) fn frozen_info(
        &mut self,
        asker: &Asker,
        caller: &Caller,
        request: &BinderFrozenStatusInfo,
    ) {
        let pid = request.pid;
        match self.program(asker, caller, pid) {
            Ok(program) => {
                let info = program.frozen_info(&self.contexts());
                let info = BinderFrozenStatusInfo { pid, ..info };
                self.answer(asker.unique, Ok(()), Answer::of(&info).bytes());
            }
            Err(error) => self.answer(asker.unique, Err(error), &[]),
        }
    }

    /// Goes on with the freezes that wait for a process.
    pub(super) fn note_settled(&mut self, device: DeviceId, process: ProcessKey) {
        let is_meant = |it: &WaitingFreeze| it.freeze.waits_for() == Some((device, process));
        self.advance_all(Patience::Left, is_meant);
    }

    /// Ends the freezes whose time is over.
    pub(super) fn end_overdue_freezes(&mut self) {
        let now = Instant::now();
        self.advance_all(Patience::Over, |it| it.deadline <= now);
        self.set_alarm();
        self.carry_out_all_effects();
    }

    /// Ends the freeze behind the request `target`, because of a signal. Says whether there was one.
    pub(super) fn interrupt_freeze(&mut self, target: u64) -> bool {
        let is_meant = |it: &WaitingFreeze| it.asker.unique == target;
        let Some(at) = self.freezes.iter().position(is_meant) else { return false };
        let interrupted = self.freezes.remove(at);
        interrupted.freeze.abandon(&mut self.contexts());
        send(&self.fuse, &reply::ioctl(target, -ERESTARTSYS, &[]));
        self.set_alarm();
        true
    }

    fn advance_all(&mut self, patience: Patience, is_meant: impl Fn(&WaitingFreeze) -> bool) {
        let meant: Vec<WaitingFreeze> = self.freezes.extract_if(.., |it| is_meant(it)).collect();
        for waiting in meant {
            self.advance(waiting, patience);
        }
    }

    /// Goes on with a freeze, and answers it unless it waits again.
    fn advance(&mut self, mut waiting: WaitingFreeze, patience: Patience) {
        let before = waiting.freeze.waits_for();
        match waiting.freeze.advance(&mut self.contexts(), patience) {
            Some(result) => self.answer(waiting.asker.unique, result, &[]),
            None => {
                if waiting.freeze.waits_for() != before {
                    waiting.deadline = Instant::now() + waiting.timeout;
                }
                self.freezes.push(waiting);
            }
        }
    }

    fn set_alarm(&self) {
        self.alarm.set(self.freezes.iter().map(|it| it.deadline).min());
    }

    /// The program that a caller means by a number, which is one of the caller's own pid namespace.
    fn program(&mut self, asker: &Asker, caller: &Caller, pid: u32) -> Result<Program, Errno> {
        let context = &mut self.devices[asker.device].context;
        context.note_call(caller);
        let by = context.pid_of(caller.process).cloned().ok_or(Errno::EINVAL)?;
        Program::find(&self.contexts(), &by, pid)
    }

    fn contexts(&mut self) -> Vec<&mut Context> {
        self.devices.iter_mut().map(|device| &mut device.context).collect()
    }
}
