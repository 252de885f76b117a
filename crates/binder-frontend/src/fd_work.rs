//! Descriptor work: files that are installed in a client before its read can go on, and descriptors that are
//! closed there.

use alloc::boxed::Box;
use alloc::vec::Vec;

use binder_core::{
    CopyFault, CopyOut, Errno, FdWork, NotInstalled, Outcome, ReceiveBuffers, SuspendedCallKey,
};
use binder_uapi::BinderWriteRead;

use crate::action::Action;
use crate::calls::{Call, CallState};
use crate::frontend::Frontend;
use crate::ioctl::IoctlData;
use crate::request::RequestContext;

/// What was done for a call that waits for [descriptor work](Action::FdWork).
#[derive(Debug)]
pub enum FdWorkResult {
    /// Files were installed, with these numbers, or were not.
    FdWork(SuspendedCallKey, Result<Vec<u32>, NotInstalled>),
    /// Returns were written to the memory of a thread on its way out, or could not be.
    Written(CopyOut, Result<(), CopyFault>),
}

/// Where the thread is for which that was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallerState {
    /// In its ioctl, which waits for its answer.
    Waiting,
    /// Held on its way out: the executor is told how it goes on.
    Stopped,
    /// It was killed.
    Gone,
}

/// How a held thread goes on.
#[derive(Debug)]
pub enum NextStep {
    /// Its ioctl ends with this result and struct.
    Return(i32, BinderWriteRead),
    /// Returns are to be written to its memory.
    CopyOut(BinderWriteRead, CopyOut),
    /// There is more descriptor work.
    FdWork(BinderWriteRead, Box<FdWork>),
    /// It makes the same ioctl again, from its beginning.
    Repeat,
}

impl<F: Clone> Frontend<F> {
    /// Hands descriptor work to the executor. A signal does not end the call meanwhile, but is remembered.
    pub(crate) fn begin_fd_work(&mut self, mut call: Box<Call>, work: Box<FdWork>) {
        let request = Box::new(call.context);
        let Some(file) = self.files.get(request.process) else {
            return self.end_call(call, Err(Errno::EINVAL));
        };
        let file = file.handle.clone();
        call.state = CallState::ChangingFiles;
        let struct_so_far = Box::new(call.request);
        let returns = call.returns().into();
        self.calls.insert(call);
        self.actions.push(Action::FdWork { file, request, call: struct_so_far, work, returns });
    }

    /// Goes on with a call that waits for descriptor work as another of its thread, `to`: where the call came from,
    /// the work cannot be done.
    pub fn move_fd_work(&mut self, from: u64, mut to: Box<Call>, work: Box<FdWork>) {
        match self.calls.take(from) {
            Some(call) => {
                to.request = call.request;
                self.begin_fd_work(to, work);
            }
            None => self.fail(to, Errno::EINVAL),
        }
    }

    /// Goes on with a call as another of its thread, `to`, which has installed the files itself and tells their numbers.
    pub fn finish_moved_fd_work(
        &mut self,
        from: u64,
        mut to: Box<Call>,
        work: SuspendedCallKey,
        numbers: Vec<u32>,
        memory: &mut dyn ReceiveBuffers,
    ) {
        match self.calls.take(from) {
            Some(call) => {
                to.request = call.request;
                let outcome = self.context.finish_fd_work(work, Ok(numbers), &to.request, memory);
                self.go_on_after(to, outcome);
                self.carry_out_effects();
            }
            None => self.fail(to, Errno::EINVAL),
        }
    }

    /// Goes on with a call whose descriptor work was done, or could not be. Says how its thread goes on if that
    /// is held.
    pub fn finish_fd_work(
        &mut self,
        request: RequestContext,
        struct_so_far: BinderWriteRead,
        done: FdWorkResult,
        caller: CallerState,
        memory: &mut dyn ReceiveBuffers,
    ) -> Option<NextStep> {
        let before = self.calls.take(request.unique);
        let mut call = before.unwrap_or_else(|| Call::new(request, IoctlData::NOTHING).into());
        (call.state, call.request) = (CallState::Running, struct_so_far);
        let outcome = match done {
            FdWorkResult::FdWork(work, installed) => {
                self.context.finish_fd_work(work, installed, &call.request, memory)
            }
            FdWorkResult::Written(copy_out, written) => {
                self.context.finish_copy_out(copy_out, written, &mut call.request, memory)
            }
        };
        let next = match caller {
            CallerState::Waiting => {
                self.go_on_after(call, outcome);
                None
            }
            CallerState::Stopped => Some(self.next_of_held(call, outcome)),
            CallerState::Gone => {
                self.drop_outcome(&mut call, outcome, memory);
                None
            }
        };
        self.carry_out_effects();
        next
    }

    /// Ends the descriptor work of a call whose thread was killed before the executor had begun it, and the call.
    /// What the work was done for is undelivered, and fails with the process.
    pub fn end_fd_work_of_killed(
        &mut self,
        request: RequestContext,
        struct_so_far: BinderWriteRead,
        work: Option<Box<FdWork>>,
    ) {
        match work {
            Some(work) => self.retract_fd_work(request.unique, *work),
            None => {
                self.calls.take(request.unique);
            }
        }
        let mut call = Call::new(request, IoctlData::NOTHING);
        call.request = struct_so_far;
        self.end_call(call.into(), Err(Errno::EINTR));
    }

    fn next_of_held(&mut self, mut call: Box<Call>, outcome: Result<Outcome, Errno>) -> NextStep {
        let request = call.request;
        call.state = CallState::ChangingFiles;
        let result = match outcome {
            // It sleeps as every read does: in an ioctl of its own.
            Ok(Outcome::Park(thread)) => {
                self.wake_up(thread);
                return NextStep::Repeat;
            }
            Ok(Outcome::FdWork(work)) => {
                self.calls.insert(call);
                return NextStep::FdWork(request, work);
            }
            Ok(Outcome::CopyOut(copy_out)) => {
                self.calls.insert(call);
                return NextStep::CopyOut(request, copy_out);
            }
            Ok(Outcome::Done) => 0,
            // Only the beginning of a call has commands.
            Ok(Outcome::Fetch | Outcome::Yield(_) | Outcome::Locate(_)) => -Errno::EINVAL.number(),
            Err(error) => -error.number(),
        };
        NextStep::Return(result, request)
    }

    /// Drops what a call has come to whose thread is gone.
    fn drop_outcome(
        &mut self,
        call: &mut Call,
        outcome: Result<Outcome, Errno>,
        memory: &mut dyn ReceiveBuffers,
    ) {
        match outcome {
            Ok(Outcome::Park(thread)) => self.wake_up(thread),
            // What it was to close goes with it.
            Ok(Outcome::CopyOut(copy_out)) => {
                let unwritten = Err(CopyFault);
                let _ =
                    self.context.finish_copy_out(copy_out, unwritten, &mut call.request, memory);
            }
            Ok(
                Outcome::Done
                | Outcome::Fetch
                | Outcome::Yield(_)
                | Outcome::Locate(_)
                | Outcome::FdWork(_),
            )
            | Err(_) => {}
        }
    }
}
