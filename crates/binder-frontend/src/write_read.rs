//! `BINDER_WRITE_READ`, whose commands and returns lie in its client's memory.

use alloc::boxed::Box;

use binder_core::{
    Caller, Commands, CopyOut, EarlyReservation, EarlyReservationKey, Errno, MappingArea, Outcome,
    ProcessKey, ReceiveBuffers, ThreadKey, TransactionKind, Waits,
};
use binder_uapi::{BinderTransactionDataSg, BinderWriteRead};

use crate::access::{AccessEnd, AccessRequest, MemoryAccess};
use crate::action::{Action, Answer};
use crate::calls::{Call, CallState, Check};
use crate::frontend::Frontend;
use crate::ioctl::IoctlData;
use crate::request::RequestContext;

/// How many pieces of one write buffer are fetched before others go first: some ten sends.
const PIECES_IN_A_ROW: u32 = 4;

impl<F: Clone> Frontend<F> {
    /// Has a call wait for memory of its client.
    fn access(&mut self, mut call: Box<Call>, access: MemoryAccess) {
        let request = call.context;
        let Some(file) = self.files.get(request.process) else {
            debug_assert!(false, "a file that has ended has no call that goes on");
            return self.end_call(call, Err(Errno::EINVAL));
        };
        let file = file.handle.clone();
        call.state = match access {
            MemoryAccess::Commands(..) => CallState::Fetching,
            MemoryAccess::CopyOut(_) => CallState::CopyingOut,
            MemoryAccess::Turn(..) | MemoryAccess::Nothing => CallState::Yielding,
        };
        let can_wait = call.state == CallState::Yielding || call.pieces >= PIECES_IN_A_ROW;
        self.calls.insert(call);
        let access = self.free_lists.access(request, access, can_wait);
        self.actions.push(Action::Access { file, access });
    }

    /// Has the returns of a call written to its client's memory. If it is over then, it leaves the front end now.
    fn copy_out(&mut self, mut call: Box<Call>, copy_out: CopyOut) {
        if !copy_out.is_final() || call.returns.are_wanted() {
            return self.access(call, MemoryAccess::CopyOut(copy_out));
        }
        let request = call.context;
        let Some(file) = self.files.get(request.process) else {
            return self.end_call(call, Err(Errno::EINVAL));
        };
        let file = file.handle.clone();
        if let Some(memory) = call.returns.take_memory() {
            self.context.keep_memory(memory);
        }
        let read_consumed = call.request.read_consumed + copy_out.bytes.len() as u64;
        call.data = IoctlData::of(&BinderWriteRead { read_consumed, ..call.request });
        call.note_standing(&self.context);
        let mut access = self.free_lists.access(request, MemoryAccess::CopyOut(copy_out), false);
        call.state = CallState::Running;
        access.last_of = Some(call);
        self.actions.push(Action::Access { file, access });
    }

    /// Fetches the first commands of a call, if there are any and they were not fetched before it came, and runs them.
    pub(crate) fn begin_write_read(
        &mut self,
        mut call: Box<Call>,
        memory: &mut dyn ReceiveBuffers,
    ) {
        if let Some(fetched) = call.fetched.take() {
            let (access, end) = self.take_access(fetched);
            self.go_on_after_access(call, access, end, memory);
        } else if call.request.write_consumed < call.request.write_size {
            self.fetch(call);
        } else {
            let mut commands = self.free_lists.commands(&call.request);
            commands.clear(&call.request);
            self.run_commands(call, commands, None, memory);
        }
    }

    /// Has a call wait for its next commands.
    fn fetch(&mut self, call: Box<Call>) {
        let commands = self.free_lists.commands(&call.request);
        let access = MemoryAccess::Commands(call.request, commands);
        self.access(call, access);
    }

    /// Makes a reservation for what a call sends, while its commands are being fetched: for which open file, and where
    /// in its receive buffer.
    pub fn reserve_early(
        &mut self,
        request: &RequestContext,
        kind: TransactionKind,
        data: &BinderTransactionDataSg,
        memory: &mut dyn ReceiveBuffers,
    ) -> Option<EarlyReservation> {
        self.files.get(request.process)?;
        self.context.reserve_early(request.process, request.tid, kind, data, memory)
    }

    /// Gives up what was reserved early.
    pub fn give_up_reservation(
        &mut self,
        reservation: EarlyReservationKey,
        memory: &mut dyn ReceiveBuffers,
    ) {
        self.context.give_up_reservation(reservation, memory);
    }

    /// Goes on with a call whose client's memory was accessed, unless it was answered meanwhile.
    pub(crate) fn go_on(
        &mut self,
        mut accessed: Box<AccessRequest>,
        memory: &mut dyn ReceiveBuffers,
    ) {
        let request = accessed.request;
        let last_of = accessed.last_of.take();
        let (access, end) = self.take_access(accessed);
        let Some(mut call) = last_of.or_else(|| self.calls.take(request.unique)) else {
            return self.give_up_reservations(access, memory);
        };
        debug_assert!(
            matches!(
                call.state,
                CallState::Running
                    | CallState::Fetching
                    | CallState::CopyingOut
                    | CallState::Yielding
            ),
            "no other call has its client's memory accessed"
        );
        call.state = CallState::Running;
        if self.files.get(request.process).is_none() {
            self.give_up_reservations(access, memory);
            return self.end_call(call, Err(Errno::EINVAL));
        }
        self.go_on_after_access(call, access, end, memory);
    }

    /// What was accessed, and how that ended.
    fn take_access(&mut self, mut accessed: Box<AccessRequest>) -> (MemoryAccess, AccessEnd) {
        let access = core::mem::replace(&mut accessed.access, MemoryAccess::Nothing);
        let end = accessed.end;
        self.free_lists.keep_access(accessed);
        (access, end)
    }

    fn go_on_after_access(
        &mut self,
        mut call: Box<Call>,
        access: MemoryAccess,
        end: AccessEnd,
        memory: &mut dyn ReceiveBuffers,
    ) {
        match (access, end) {
            (access, AccessEnd::Bug) => {
                self.give_up_reservations(access, memory);
                self.fail(call, Errno::EIO);
            }
            // What was fetched may lack what was cut off.
            (access @ MemoryAccess::Commands(..), AccessEnd::Cut) => {
                self.give_up_reservations(access, memory);
                self.interrupted(call);
            }
            (MemoryAccess::Commands(_, commands), _) => {
                self.run_commands(call, commands, None, memory);
            }
            (MemoryAccess::Turn(thread, commands), _) => {
                self.run_commands(call, commands, Some(thread), memory);
            }
            (MemoryAccess::CopyOut(copy_out), end) => {
                let written = if let AccessEnd::Fault(fault) = end { Err(fault) } else { Ok(()) };
                let request = &mut call.request;
                let outcome = self.context.finish_copy_out(copy_out, written, request, memory);
                self.go_on_after(call, outcome);
            }
            (MemoryAccess::Nothing, _) => {
                debug_assert!(false, "an access comes back once");
                self.fail(call, Errno::EIO);
            }
        }
    }

    /// Gives up what was reserved for commands that no call will run.
    pub(crate) fn give_up_reservations(
        &mut self,
        access: MemoryAccess,
        memory: &mut dyn ReceiveBuffers,
    ) {
        if let MemoryAccess::Commands(_, mut commands) | MemoryAccess::Turn(_, mut commands) =
            access
        {
            self.context.give_up_reservations(&mut commands, memory);
        }
    }

    /// Runs the commands of a call, or goes on with those of `thread`.
    fn run_commands(
        &mut self,
        mut call: Box<Call>,
        mut commands: Box<Commands>,
        thread: Option<ThreadKey>,
        memory: &mut dyn ReceiveBuffers,
    ) {
        let mut caller = self.caller(&call.context);
        if call.reads_at_once {
            caller.waits = Waits::Never;
        }
        let request = &mut call.request;
        let outcome = match thread {
            None => self.context.write_read(&caller, request, &mut commands, memory),
            Some(thread) => self.context.go_on(&caller, thread, request, &mut commands, memory),
        };
        match outcome {
            Ok(Outcome::Yield(thread)) => {
                return self.access(call, MemoryAccess::Turn(thread, commands));
            }
            Ok(Outcome::Locate(receiver)) => return self.locate(call, receiver, commands),
            _ => {}
        }
        self.free_lists.keep_commands(commands);
        self.go_on_after(call, outcome);
    }

    /// Has a call wait for where the receiver of its next command has its receive buffer mapped.
    fn locate(&mut self, mut call: Box<Call>, receiver: ProcessKey, commands: Box<Commands>) {
        let request = Box::new(call.context);
        let (Some(file), Some(caller)) =
            (self.files.get(receiver), self.files.get(request.process))
        else {
            debug_assert!(false, "a process that is open has a file");
            return self.end_call(call, Err(Errno::EINVAL));
        };
        let (file, caller) = (file.handle.clone(), caller.handle.clone());
        call.state = CallState::Locating;
        self.calls.insert(call);
        self.actions.push(Action::Locate { file, receiver, caller, request, commands });
    }

    /// Goes on with a call that waits for where a process has its receive buffer mapped: there, or nowhere.
    pub fn located(
        &mut self,
        request: RequestContext,
        mut commands: Box<Commands>,
        receiver: ProcessKey,
        found: Option<MappingArea>,
        memory: &mut dyn ReceiveBuffers,
    ) {
        self.context.note_mapping(receiver, found);
        match self.calls.take(request.unique) {
            Some(mut call) if self.files.get(request.process).is_some() => {
                call.state = CallState::Running;
                self.run_commands(call, commands, None, memory);
            }
            call => {
                self.context.give_up_reservations(&mut commands, memory);
                if let Some(call) = call {
                    self.end_call(call, Err(Errno::EINVAL));
                }
            }
        }
        self.carry_out_effects();
    }

    /// Reads for a call that has found nothing and may sleep after all. The struct shows what was done: this
    /// only reads.
    pub(crate) fn read_again(&mut self, mut call: Box<Call>, memory: &mut dyn ReceiveBuffers) {
        let caller = Caller { waits: Waits::UntilReady, ..self.caller(&call.context) };
        let mut commands = self.free_lists.commands(&call.request);
        commands.clear(&call.request);
        let outcome = self.context.write_read(&caller, &mut call.request, &mut commands, memory);
        self.free_lists.keep_commands(commands);
        self.go_on_after(call, outcome);
    }

    /// Goes on with a call as the core says: answers it, unless it waits for something. The caller's
    /// struct goes back in any case: it shows how far the call came.
    ///
    /// What a signal wants to end does not begin to wait again, but for what cannot be taken back.
    pub(crate) fn go_on_after(&mut self, mut call: Box<Call>, outcome: Result<Outcome, Errno>) {
        let result = match outcome {
            Ok(Outcome::Fetch) if call.was_interrupted => return self.interrupted(call),
            Ok(Outcome::Fetch) => {
                call.pieces += 1;
                return self.fetch(call);
            }
            Ok(Outcome::Park(thread)) if call.was_interrupted => {
                self.wake_up(thread);
                Err(Errno::EINTR)
            }
            Ok(Outcome::Park(thread)) => {
                // By two doors a thread can have begun two calls, and sleeps in the last.
                if let Some(left) = self.calls.take_asleep(thread) {
                    self.end_call(left, Err(Errno::EINTR));
                }
                call.state = CallState::Asleep(thread, Check::Fresh);
                return self.calls.insert(call);
            }
            Ok(Outcome::CopyOut(copy_out)) => {
                if !call.returns.take(copy_out.address.0, &copy_out.bytes) {
                    return self.copy_out(call, copy_out);
                }
                let outcome = self.context.finish_copied_out(copy_out, &mut call.request);
                return self.go_on_after(call, outcome);
            }
            Ok(Outcome::FdWork(work)) => return self.begin_fd_work(call, work),
            Ok(Outcome::Yield(_) | Outcome::Locate(_)) => {
                debug_assert!(false, "only a call with commands waits for that");
                Err(Errno::EINVAL)
            }
            Ok(Outcome::Done) => Ok(()),
            Err(Errno::EAGAIN)
                if !call.reads_at_once && self.files.get(call.context.process).is_some() =>
            {
                return self.look_at_mode(call);
            }
            Err(error) => Err(error),
        };
        self.end_call(call, result);
    }

    /// Has a call wait for a look at whether its file is still non-blocking.
    fn look_at_mode(&mut self, mut call: Box<Call>) {
        let RequestContext { unique, process, .. } = call.context;
        let Some(file) = self.files.get(process) else { return };
        let file = file.handle.clone();
        call.state = CallState::LookingAtMode;
        self.calls.insert(call);
        self.actions.push(Action::LookAtMode { file, process, unique });
    }

    /// Answers a `BINDER_WRITE_READ`.
    pub(crate) fn end_call(&mut self, call: Box<Call>, result: Result<(), Errno>) {
        self.answer_call(call, result.map_or_else(Answer::Failed, |()| Answer::Done));
    }

    pub(crate) fn answer_call(&mut self, mut call: Box<Call>, answer: Answer) {
        if self.inherits {
            // Its thread is to have its own priority when it goes on.
            self.carry_out_effects();
        }
        call.data = IoctlData::of(&call.request);
        call.note_standing(&self.context);
        self.actions.push(Action::Answer { call, answer });
    }
}
