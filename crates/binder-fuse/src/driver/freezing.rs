//! `BINDER_FREEZE`: it concerns every device of the mount, and it may wait.

use std::time::{Duration, Instant};

use binder_core::{Caller, Context, Errno, Patience, ProcessKey, Program};
use binder_uapi::{BinderFreezeInfo, BinderFrozenStatusInfo, BinderWriteRead};
use fuse_wire::reply;

use super::{DeviceId, Driver, RequestContext};
use crate::calls::{Call, CallState, WaitingFreeze};
use crate::ioctl::IoctlReply;
use crate::wire::send;

/// The kernel's own answer to a system call that a signal interrupts: the call is repeated after the
/// signal, or ends with `EINTR`, as the handler was set up (`SA_RESTART`).
///
/// User space never sees it: FUSE asks for an interruption only when the calling thread has a signal
/// to handle, and that thread does not return to its program before it has.
const ERESTARTSYS: i32 = 512;

impl Driver {
    pub(super) fn freeze(
        &mut self,
        asker: &RequestContext,
        caller: &Caller,
        request: &BinderFreezeInfo,
    ) {
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
        let call = Call::new(*asker, BinderWriteRead::default());
        self.advance(call, Box::new(WaitingFreeze { freeze, timeout, deadline }), patience);
        self.set_alarm();
        self.carry_out_all_effects();
    }

    pub(super) fn frozen_info(
        &mut self,
        asker: &RequestContext,
        caller: &Caller,
        request: &BinderFrozenStatusInfo,
    ) {
        let pid = request.pid;
        match self.program(asker, caller, pid) {
            Ok(program) => {
                let info = program.frozen_info(&self.contexts());
                let info = BinderFrozenStatusInfo { pid, ..info };
                self.answer(asker.unique, Ok(()), IoctlReply::of(&info).bytes());
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

    /// Ends the freeze behind the request `target`, because of a signal.
    pub(super) fn interrupt_freeze(&mut self, device: DeviceId, target: u64) {
        let Some((_, waiting)) = self.take_freeze((device, target)) else { return };
        waiting.freeze.abandon(&mut self.contexts());
        send(&self.fuse, &reply::ioctl(target, -ERESTARTSYS, &[]));
        self.set_alarm();
    }

    fn advance_all(&mut self, patience: Patience, is_meant: impl Fn(&WaitingFreeze) -> bool) {
        let is_meant = |it: &&(DeviceId, u64)| self.waiting_freeze(**it).is_some_and(&is_meant);
        let meant: Vec<_> = self.freezes.iter().filter(is_meant).copied().collect();
        for name in meant {
            if let Some((call, waiting)) = self.take_freeze(name) {
                self.advance(call, waiting, patience);
            }
        }
    }

    fn waiting_freeze(&self, (device, unique): (DeviceId, u64)) -> Option<&WaitingFreeze> {
        match &self.devices[device].calls.get(unique)?.state {
            CallState::Freezing(waiting) => Some(waiting),
            _ => None,
        }
    }

    fn take_freeze(&mut self, name: (DeviceId, u64)) -> Option<(Call, Box<WaitingFreeze>)> {
        self.freezes.retain(|it| *it != name);
        let (device, unique) = name;
        let mut call = self.devices[device].calls.take(unique)?;
        match std::mem::replace(&mut call.state, CallState::Running) {
            CallState::Freezing(waiting) => Some((call, waiting)),
            _ => None,
        }
    }

    /// Goes on with a freeze, and answers it unless it waits again.
    fn advance(&mut self, mut call: Call, mut waiting: Box<WaitingFreeze>, patience: Patience) {
        let RequestContext { device, unique, .. } = call.asker;
        let before = waiting.freeze.waits_for();
        match waiting.freeze.advance(&mut self.contexts(), patience) {
            Some(result) => self.answer(unique, result, &[]),
            None => {
                if waiting.freeze.waits_for() != before {
                    waiting.deadline = Instant::now() + waiting.timeout;
                }
                call.state = CallState::Freezing(waiting);
                self.devices[device].calls.insert(call);
                self.freezes.push((device, unique));
            }
        }
    }

    fn set_alarm(&self) {
        let deadlines = self.freezes.iter().filter_map(|name| self.waiting_freeze(*name));
        self.alarm.set(deadlines.map(|it| it.deadline).min());
    }

    /// The program that a caller means by a number, which is one of the caller's own pid namespace.
    fn program(
        &mut self,
        asker: &RequestContext,
        caller: &Caller,
        pid: u32,
    ) -> Result<Program, Errno> {
        let context = &mut self.devices[asker.device].context;
        context.note_call(caller);
        let by = context.pid_of(caller.process).cloned().ok_or(Errno::EINVAL)?;
        Program::find(&self.contexts(), &by, pid)
    }

    fn contexts(&mut self) -> Vec<&mut Context> {
        self.devices.iter_mut().map(|device| &mut device.context).collect()
    }
}
