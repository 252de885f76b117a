//! Carries out the commands (`BC_*`) of a write buffer, one by one.

use binder_uapi::{
    BC_ACQUIRE, BC_ACQUIRE_DONE, BC_CLEAR_DEATH_NOTIFICATION, BC_CLEAR_FREEZE_NOTIFICATION,
    BC_DEAD_BINDER_DONE, BC_DECREFS, BC_ENTER_LOOPER, BC_EXIT_LOOPER, BC_FREE_BUFFER,
    BC_FREEZE_NOTIFICATION_DONE, BC_INCREFS, BC_INCREFS_DONE, BC_REGISTER_LOOPER, BC_RELEASE,
    BC_REPLY, BC_REPLY_SG, BC_REQUEST_DEATH_NOTIFICATION, BC_REQUEST_FREEZE_NOTIFICATION,
    BC_TRANSACTION, BC_TRANSACTION_SG, BinderHandleCookie, BinderPtrCookie, BinderWriteRead,
};

use crate::context::{Caller, Context};
use crate::env::ReceiveBuffers;
use crate::error::Errno;
use crate::fetch::Commands;
use crate::looper::Looper;
use crate::node::Strength;
use crate::process::ProcessKey;
use crate::thread::ThreadKey;

/// Where a write buffer stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WriteProgress {
    /// All of it was run, or as much as may be before the thread has read an error.
    Run,
    /// What follows is to be fetched.
    Partly,
    /// The last command goes on in another slice.
    Unfinished,
    /// It must be known first where this process has its receive buffer mapped.
    Unlocated(ProcessKey),
}

impl Context {
    /// Runs the commands that were fetched until one fails, or one leaves an error that the thread must
    /// read first.
    pub(crate) fn run_commands(
        &mut self,
        caller: &Caller,
        thread: ThreadKey,
        request: &mut BinderWriteRead,
        commands: &mut Commands,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<WriteProgress, Errno> {
        debug_assert_eq!(commands.position(), request.write_consumed, "fetched for this call");
        while request.write_consumed < request.write_size
            && self.threads[thread].return_error.is_none()
        {
            if commands.are_used_up() {
                return Ok(WriteProgress::Partly);
            }
            match commands.next_send() {
                None => self.run_command(caller, thread, commands, memory)?,
                Some(send) => {
                    if !self.is_in_place(caller, &send, commands, memory) {
                        return Ok(WriteProgress::Partly);
                    }
                    let target = self.target_of(caller.process, &send);
                    if let Some(receiver) = self.unlocated_receiver(thread, target.as_ref()) {
                        return Ok(WriteProgress::Unlocated(receiver));
                    }
                    let payload = commands.take_send(&send)?;
                    self.processes[caller.process].counters.count_command(send.code);
                    match target {
                        Some(target) => {
                            self.transact(caller, thread, &send, target, payload, memory);
                        }
                        None => self.reply(caller, thread, &send.data, payload, memory),
                    }
                }
            }
            if self.threads[thread].unfinished.is_some() {
                return Ok(WriteProgress::Unfinished);
            }
            request.write_consumed = commands.position();
        }
        Ok(WriteProgress::Run)
    }

    /// Runs the next command, which is no send.
    fn run_command(
        &mut self,
        caller: &Caller,
        thread: ThreadKey,
        commands: &mut Commands,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<(), Errno> {
        let process = caller.process;
        let code: u32 = commands.take()?;
        self.processes[process].counters.count_command(code);
        match code {
            // A send that could not be read as a whole.
            BC_TRANSACTION | BC_REPLY | BC_TRANSACTION_SG | BC_REPLY_SG => {
                return Err(Errno::EFAULT);
            }
            BC_FREE_BUFFER => {
                let address: u64 = commands.take()?;
                self.free_buffer_at(thread, address, memory);
            }
            BC_INCREFS => self.add_count(process, commands.take()?, Strength::Weak)?,
            BC_ACQUIRE => self.add_count(process, commands.take()?, Strength::Strong)?,
            BC_RELEASE => self.drop_count(process, commands.take()?, Strength::Strong),
            BC_DECREFS => self.drop_count(process, commands.take()?, Strength::Weak),
            BC_INCREFS_DONE => {
                let BinderPtrCookie { ptr, cookie } = commands.take()?;
                self.acknowledge(process, ptr, cookie, Strength::Weak);
            }
            BC_ACQUIRE_DONE => {
                let BinderPtrCookie { ptr, cookie } = commands.take()?;
                self.acknowledge(process, ptr, cookie, Strength::Strong);
            }
            BC_REGISTER_LOOPER => self.register_looper(thread),
            BC_ENTER_LOOPER => self.enter_looper(thread),
            BC_EXIT_LOOPER => self.threads[thread].looper |= Looper::EXITED,
            BC_REQUEST_DEATH_NOTIFICATION => {
                let BinderHandleCookie { handle, cookie } = commands.take()?;
                self.request_death(thread, handle, cookie);
            }
            BC_CLEAR_DEATH_NOTIFICATION => {
                let BinderHandleCookie { handle, cookie } = commands.take()?;
                self.clear_death(thread, handle, cookie);
            }
            BC_DEAD_BINDER_DONE => self.acknowledge_death(thread, commands.take()?),
            BC_REQUEST_FREEZE_NOTIFICATION => {
                let BinderHandleCookie { handle, cookie } = commands.take()?;
                self.request_freeze(process, handle, cookie)?;
            }
            BC_CLEAR_FREEZE_NOTIFICATION => {
                let BinderHandleCookie { handle, cookie } = commands.take()?;
                self.clear_freeze(process, handle, cookie)?;
            }
            BC_FREEZE_NOTIFICATION_DONE => {
                self.acknowledge_freeze(process, commands.take()?)?;
            }
            // Unknown ones, BC_ATTEMPT_ACQUIRE and BC_ACQUIRE_RESULT, which no driver supports.
            _ => return Err(Errno::EINVAL),
        }
        Ok(())
    }
}
