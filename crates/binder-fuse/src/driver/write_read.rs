//! `BINDER_WRITE_READ`, whose commands and returns lie in its client's memory, and signals that come
//! meanwhile.

use binder_core::{
    Caller, Commands, EarlyReservation, Errno, Outcome, ThreadKey, TransactionKind, Waits,
};
use binder_os::injection;
use binder_uapi::BinderTransactionDataSg;
use fuse_wire::reply;

use super::{Device, DeviceId, Driver, EIO, RequestContext};
use crate::calls::{Call, CallState, Check};
use crate::client::LentMemory;
use crate::ioctl::IoctlReply;
use crate::memory_op::{
    IoRequest, MemoryAccess, MemoryHandle, MemoryOp, MemoryOpEnd, ReservedBuffer,
};
use crate::quota::Account;
use crate::wire::send;

/// As many pieces of one write buffer are fetched before others go first: some ten sends.
const PIECES_IN_A_ROW: u32 = 4;

impl Driver {
    /// Has a call wait for memory of its client.
    fn reach(&mut self, mut call: Call, want: MemoryAccess) {
        let asker = call.asker;
        let Some(client) = self.devices[asker.device].clients.get_mut(asker.process) else {
            self.give_up_reservations(asker.device, want);
            return self.end_call(&call, Err(Errno::EINVAL));
        };
        let payer = Account { pid: client.pid, uid: asker.uid };
        let LentMemory { mut way, token } = client.lend_memory(asker.tid);
        call.state = match want {
            MemoryAccess::Commands(..) => CallState::Fetching(token),
            MemoryAccess::CopyOut(_) => CallState::CopyingOut(token),
            MemoryAccess::Turn(..) => CallState::Yielding(token),
        };
        let is_yielding = matches!(want, MemoryAccess::Turn(..));
        way.reach = Some(MemoryOp {
            unique: asker.unique,
            device: asker.device,
            process: asker.process,
            client: payer,
            want,
            can_wait: is_yielding || call.pieces >= PIECES_IN_A_ROW,
            end: MemoryOpEnd::NotYet,
        });
        self.devices[asker.device].calls.insert(call);
        self.left.push(IoRequest::Reach(way));
    }

    /// Fetches the next commands of a call, if there are any, and runs them.
    pub(super) fn begin_write_read(&mut self, call: Call) {
        if call.request.write_consumed < call.request.write_size {
            self.fetch(call);
        } else {
            let mut commands = self.spare_commands(&call);
            commands.clear(&call.request);
            self.run_commands(call, commands, None);
        }
    }

    /// Commands that nobody needs, to be replaced.
    fn spare_commands(&mut self, call: &Call) -> Box<Commands> {
        self.used_commands.take().unwrap_or_else(|| Commands::none(&call.request).into())
    }

    /// Has a call wait for its next commands.
    fn fetch(&mut self, call: Call) {
        let commands = self.spare_commands(&call);
        let want = MemoryAccess::Commands(call.request, commands);
        self.reach(call, want);
    }

    /// Reserves room for what the call behind request `unique` sends.
    pub(crate) fn reserve_early(
        &mut self,
        device: DeviceId,
        unique: u64,
        kind: TransactionKind,
        data: &BinderTransactionDataSg,
    ) -> Option<ReservedBuffer> {
        let Device { context, clients, calls, .. } = &mut self.devices[device];
        let asker = &calls.get(unique)?.asker;
        let EarlyReservation { key: room, receiver, offset } =
            context.reserve_early(asker.process, asker.tid, kind, data, clients)?;
        let Some(client) = clients.get(receiver) else {
            context.give_up_reservation(room, clients);
            return None;
        };
        let buffer = client.buffer.memory().clone();
        // Before the room is filled.
        self.keep_to_budget();
        Some(ReservedBuffer { room, buffer, offset: offset as usize })
    }

    /// Goes on with a call, unless it was answered meanwhile.
    pub(super) fn go_on(&mut self, mut way: Box<MemoryHandle>) {
        let Some(MemoryOp { unique, device, want, end, .. }) = way.reach.take() else {
            return;
        };
        let Device { context, clients, calls, .. } = &mut self.devices[device];
        let Some(mut call) = calls.take(unique) else {
            return self.give_up_reservations(device, want);
        };
        let (CallState::Fetching(token)
        | CallState::CopyingOut(token)
        | CallState::Yielding(token)) = std::mem::replace(&mut call.state, CallState::Running)
        else {
            debug_assert!(false, "no other call has its client's memory accessed");
            return self.end_call(&call, Err(Errno::EINVAL));
        };
        let Some(client) = clients.get_mut(call.asker.process) else {
            self.give_up_reservations(device, want);
            return self.end_call(&call, Err(Errno::EINVAL));
        };
        client.resume_call(call.asker.tid);
        let is_cut = token.is_cancelled();
        if !is_cut {
            client.take_back_memory(LentMemory { way, token });
        }
        match (want, end) {
            (want, MemoryOpEnd::NotYet | MemoryOpEnd::Bug) => {
                self.give_up_reservations(device, want);
                send(&self.fuse, &reply::error(unique, EIO));
            }
            // What was fetched may lack what was cut off.
            (want @ MemoryAccess::Commands(..), _) if is_cut => {
                self.give_up_reservations(device, want);
                self.repeat(&call);
            }
            (MemoryAccess::Commands(_, commands), _) => {
                self.note_time(device);
                self.run_commands(call, commands, None);
            }
            (MemoryAccess::Turn(thread, commands), _) => {
                self.note_time(device);
                self.run_commands(call, commands, Some(thread));
            }
            (MemoryAccess::CopyOut(copy_out), end) => {
                let written = if let MemoryOpEnd::Fault(fault) = end { Err(fault) } else { Ok(()) };
                let request = &mut call.request;
                let outcome = context.finish_copy_out(copy_out, written, request, clients);
                self.go_on_after(call, outcome);
            }
        }
        self.carry_out_effects(device);
        self.note_reports(device);
    }

    /// Gives up what was reserved for commands that nobody will run.
    fn give_up_reservations(&mut self, device: DeviceId, want: MemoryAccess) {
        if let MemoryAccess::Commands(_, mut commands) | MemoryAccess::Turn(_, mut commands) = want
        {
            let Device { context, clients, .. } = &mut self.devices[device];
            context.give_up_reservations(&mut commands, clients);
        }
    }

    /// Runs the commands of a call, or goes on with those of `thread`.
    fn run_commands(
        &mut self,
        mut call: Call,
        mut commands: Box<Commands>,
        thread: Option<ThreadKey>,
    ) {
        let Call { asker, request, .. } = &mut call;
        let state = &mut self.devices[asker.device];
        let client = state.clients.get(asker.process);
        let is_nonblocking = client.is_some_and(|client| client.open_mode.is_nonblocking());
        let waits = if is_nonblocking { Waits::Never } else { Waits::UntilReady };
        let caller = Caller { process: asker.process, tid: asker.tid, euid: asker.uid, waits };
        let Device { context, clients, .. } = state;
        let outcome = match thread {
            None => context.write_read(&caller, request, &mut commands, clients),
            Some(thread) => context.go_on(&caller, thread, request, &mut commands, clients),
        };
        if let Ok(Outcome::Yield(thread)) = outcome {
            return self.reach(call, MemoryAccess::Turn(thread, commands));
        }
        commands.trim();
        self.used_commands = Some(commands);
        self.go_on_after(call, outcome);
    }

    /// Goes on with a call as the core says: answers it, unless it waits for something. The caller's
    /// struct goes back in any case: it shows how far the call came.
    ///
    /// What a signal wants to end does not begin to wait again, but for what cannot be taken back.
    pub(crate) fn go_on_after(&mut self, mut call: Call, mut outcome: Result<Outcome, Errno>) {
        let RequestContext { device, process, tid, uid, .. } = call.asker;
        if matches!(outcome, Err(Errno::EAGAIN)) && self.may_sleep(device, process) {
            // The request shows what was done: the repetition only reads.
            let caller = Caller { process, tid, euid: uid, waits: Waits::UntilReady };
            let mut none = Commands::none(&call.request);
            let Device { context, clients, .. } = &mut self.devices[device];
            outcome = context.write_read(&caller, &mut call.request, &mut none, clients);
        }
        let result = match outcome {
            Ok(Outcome::Fetch) if call.was_interrupted => return self.repeat(&call),
            Ok(Outcome::Fetch) => {
                call.pieces += 1;
                return self.fetch(call);
            }
            Ok(Outcome::Park(thread)) if call.was_interrupted => {
                self.devices[device].context.interrupt(thread);
                Err(Errno::EINTR)
            }
            Ok(Outcome::Park(thread)) => {
                call.state = CallState::Asleep(thread, Check::Fresh);
                return self.devices[device].calls.insert(call);
            }
            Ok(Outcome::CopyOut(copy_out)) => {
                return self.reach(call, MemoryAccess::CopyOut(copy_out));
            }
            Ok(Outcome::FdWork(fd_work)) => return self.begin_fd_task(call, fd_work),
            Ok(Outcome::Yield(_)) => {
                debug_assert!(false, "only a call with commands yields");
                Err(Errno::EINVAL)
            }
            Ok(Outcome::Done) => Ok(()),
            Err(error) => Err(error),
        };
        self.end_call(&call, result);
    }

    /// Answers a `BINDER_WRITE_READ`.
    pub(crate) fn end_call(&self, call: &Call, result: Result<(), Errno>) {
        self.answer(call.asker.unique, result, IoctlReply::of(&call.request).bytes());
    }

    /// Ends a call because of a signal, with its commands run in part or not at all: it is repeated, or
    /// fails with `EINTR`, as the signal's handler was set up.
    ///
    /// `Differs from Linux:` there no signal but one that kills ends an access to memory.
    fn repeat(&self, call: &Call) {
        let bytes = IoctlReply::of(&call.request);
        send(&self.fuse, &reply::ioctl(call.asker.unique, injection::REPEAT, bytes.bytes()));
    }

    /// Ends the call behind request `target` because of a signal; the interruption itself is request
    /// `unique`. If there is no such call (yet), the kernel is asked to repeat the interruption, and forgets
    /// it if the request is gone.
    pub(super) fn interrupt(&mut self, unique: u64, target: u64) {
        let is_its = |device: &Device| device.calls.get(target).is_some();
        if let Some(device) = self.devices.iter().position(is_its) {
            self.interrupt_call(device, target);
        } else if !self.events.interrupt(target) {
            send(&self.fuse, &reply::error(unique, Errno::EAGAIN.number()));
        }
    }

    fn interrupt_call(&mut self, device: DeviceId, target: u64) {
        let calls = &mut self.devices[device].calls;
        match calls.get(target).map(|call| &call.state) {
            Some(CallState::Asleep(..)) => {
                if let Some(call) = calls.take(target) {
                    self.end_sleep(&call, Errno::EINTR);
                    self.carry_out_effects(device);
                }
            }
            Some(CallState::Freezing(_)) => self.interrupt_freeze(device, target),
            Some(
                CallState::Fetching(_)
                | CallState::CopyingOut(_)
                | CallState::Yielding(_)
                | CallState::ChangingFiles,
            ) => {
                calls.note_interruption(target);
                self.end_if_possible(device, target);
            }
            Some(CallState::Running) | None => {}
        }
    }

    /// Ends the calls that a signal wants to end, as far as they can be now.
    pub(super) fn end_interrupted(&mut self) {
        for device in 0..self.devices.len() {
            for target in self.devices[device].calls.interrupted() {
                self.end_if_possible(device, target);
            }
        }
    }

    /// Whether there are calls that a signal wants to end.
    pub(super) fn has_interrupted(&mut self) -> bool {
        self.devices.iter_mut().any(|device| !device.calls.interrupted().is_empty())
    }

    /// Ends an interrupted call if what it waits for can be given up. Returns that are on their way cannot
    /// be taken back, nor files, so that such a call ends only if its thread does.
    fn end_if_possible(&mut self, device: DeviceId, target: u64) {
        let calls = &mut self.devices[device].calls;
        let Some(Call { asker, state, .. }) = calls.get(target) else { return };
        let may_end = match state {
            // One that is in line keeps its place there: a client that is interrupted again and again
            // would else take more and more.
            CallState::Fetching(token) => {
                (token.is_in_use() || asker.is_killed()) && token.cancel()
            }
            CallState::CopyingOut(token) | CallState::Yielding(token) => {
                asker.is_killed() && token.cancel()
            }
            CallState::ChangingFiles => return self.end_fd_task_of_killed(device, target),
            // What may end at once has ended.
            CallState::Running | CallState::Asleep(..) | CallState::Freezing(_) => false,
        };
        let call = if may_end { calls.take(target) } else { None };
        match call {
            Some(call) if matches!(call.state, CallState::Fetching(_)) => self.repeat(&call),
            Some(call) => self.end_call(&call, Err(Errno::EINTR)),
            None => {}
        }
    }
}
