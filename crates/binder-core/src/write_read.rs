//! `BINDER_WRITE_READ`: run the caller's commands, then fetch what it is owed.

use binder_uapi::BinderWriteRead;

use alloc::boxed::Box;

use crate::command::WriteProgress;
use crate::context::{Caller, Context, Waits};
use crate::copy_out::CopyOut;
use crate::env::ReceiveBuffers;
use crate::error::Errno;
use crate::fetch::Commands;
use crate::process::ProcessKey;
use crate::suspended_call::FdWork;
use crate::thread::ThreadKey;

/// The longest write buffer that is taken: some ten thousand commands.
///
/// `Differs from Linux:` there one call may run for as long as its caller likes, and only that one
/// waits.
const MAX_WRITE_BYTES: u64 = 1 << 20;

/// How a call that did not fail stands.
#[derive(Debug)]
pub enum Outcome {
    /// It is over.
    Done,
    /// Its read found nothing and sleeps; [`Effect::Wake`](crate::Effect::Wake) with this key, or a
    /// signal, ends the sleep.
    Park(ThreadKey),
    /// It goes on with [`Context::write_read`], once its next commands have been fetched.
    Fetch,
    /// It goes on with [`Context::go_on`] and the same commands, once others have had their turn. The
    /// thread is still in its ioctl, and no signal ends that now but one that kills.
    Yield(ThreadKey),
    /// It goes on with [`Context::write_read`] and the same commands, once it was
    /// [noted](Context::note_mapping) where this process has its receive buffer mapped.
    Locate(ProcessKey),
    /// It goes on with [`Context::finish_copy_out`], once its returns have been written to the calling
    /// thread's memory, or could not be. The thread is still in its ioctl, and no signal ends that now.
    CopyOut(CopyOut),
    /// It goes on with [`Context::finish_fd_work`], once the front end has changed the descriptors of
    /// the calling thread's process. The thread is still in its ioctl, and no signal ends that now.
    FdWork(Box<FdWork>),
}

impl Context {
    /// Runs the commands that were fetched of an ioctl's write buffer, and its read phase once all are
    /// run.
    ///
    /// `request` shows the progress afterwards, also after an error: the front end copies it out in
    /// both cases, so that a caller that repeats the ioctl does not repeat commands.
    ///
    /// # Errors
    ///
    /// `EFAULT` and `EINVAL` for commands that cannot be read or understood, `EINVAL` for a write
    /// buffer of more than 1 MiB, `EAGAIN` when there is nothing to read and the caller does not
    /// wait.
    pub fn write_read(
        &mut self,
        caller: &Caller,
        request: &mut BinderWriteRead,
        commands: &mut Commands,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<Outcome, Errno> {
        let thread = self.enter(caller);
        if self.threads[thread].is_in_call() {
            self.leave_call(thread, memory);
        }
        self.run_call(caller, thread, request, commands, memory)
    }

    /// Ends the call before, of a thread that makes another: it does not sleep in that any more.
    fn leave_call(&mut self, thread: ThreadKey, memory: &mut dyn ReceiveBuffers) {
        self.unpark(thread);
        self.leave_suspended_call(thread, memory);
        self.abandon_unfinished(thread, memory);
    }

    /// Runs the commands of a call, from the next on, and its read phase.
    pub(crate) fn run_call(
        &mut self,
        caller: &Caller,
        thread: ThreadKey,
        request: &mut BinderWriteRead,
        commands: &mut Commands,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<Outcome, Errno> {
        let result = self.run_phases(caller, thread, request, commands, memory);
        if !matches!(result, Ok(Outcome::Yield(_) | Outcome::Locate(_))) {
            self.give_up_reservations(commands, memory);
        }
        self.conclude(thread, result)
    }

    fn run_phases(
        &mut self,
        caller: &Caller,
        thread: ThreadKey,
        request: &mut BinderWriteRead,
        commands: &mut Commands,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<Outcome, Errno> {
        if request.write_size > MAX_WRITE_BYTES {
            return Err(Errno::EINVAL);
        }
        match self.run_commands(caller, thread, request, commands, memory) {
            Ok(WriteProgress::Run) => {}
            Ok(WriteProgress::Partly) => return Ok(Outcome::Fetch),
            Ok(WriteProgress::Unfinished) => return Ok(Outcome::Yield(thread)),
            Ok(WriteProgress::Unlocated(receiver)) => return Ok(Outcome::Locate(receiver)),
            Err(error) => {
                request.read_consumed = 0;
                return Err(error);
            }
        }
        if request.read_size == 0 {
            return Ok(Outcome::Done);
        }
        self.read_phase(thread, caller.waits, request)
    }

    /// Continues the read of a thread that was woken.
    ///
    /// # Errors
    ///
    /// As [`write_read`](Self::write_read); `EINVAL` when the thread is gone.
    pub fn resume(
        &mut self,
        thread: ThreadKey,
        request: &BinderWriteRead,
    ) -> Result<Outcome, Errno> {
        if !self.threads.contains(thread) {
            return Err(Errno::EINVAL);
        }
        let result = self.read_phase(thread, Waits::UntilReady, request);
        self.conclude(thread, result)
    }

    /// Ends the sleep of a parked thread because of a signal. Says whether it slept.
    pub fn interrupt(&mut self, thread: ThreadKey) -> bool {
        if !self.threads.contains(thread) {
            return false;
        }
        let has_slept = self.unpark(thread);
        if self.threads[thread].suspended_call.is_none() {
            self.leave_work_to_others(thread);
            self.leave(thread);
        }
        has_slept
    }

    fn read_phase(
        &mut self,
        thread: ThreadKey,
        waits: Waits,
        request: &BinderWriteRead,
    ) -> Result<Outcome, Errno> {
        let result = self.read_returns(thread, waits, request);
        self.pass_on_work(thread, &result);
        result
    }

    /// The end of a read that does not sleep. Also that of one that waits for the front end: what
    /// others could do does not wait for that.
    pub(crate) fn pass_on_work(&mut self, thread: ThreadKey, result: &Result<Outcome, Errno>) {
        match result {
            Ok(Outcome::Park(_)) => {}
            Ok(
                Outcome::Done
                | Outcome::Fetch
                | Outcome::Yield(_)
                | Outcome::Locate(_)
                | Outcome::CopyOut(_)
                | Outcome::FdWork(_),
            )
            | Err(_) => self.leave_work_to_others(thread),
        }
    }

    /// A thread that was woken for work of its process and leaves some of it wakes another.
    fn leave_work_to_others(&mut self, thread: ThreadKey) {
        let process = self.threads[thread].process;
        if !self.processes[process].todo.is_empty() {
            self.wake_for_process_work(process);
        }
    }
}
