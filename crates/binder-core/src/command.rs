//! Reads the commands (`BC_*`) of a write buffer and carries them out, one by one.

use binder_uapi::{
    BC_ACQUIRE, BC_ACQUIRE_DONE, BC_CLEAR_DEATH_NOTIFICATION, BC_CLEAR_FREEZE_NOTIFICATION,
    BC_DEAD_BINDER_DONE, BC_DECREFS, BC_ENTER_LOOPER, BC_EXIT_LOOPER, BC_FREE_BUFFER,
    BC_FREEZE_NOTIFICATION_DONE, BC_INCREFS, BC_INCREFS_DONE, BC_REGISTER_LOOPER, BC_RELEASE,
    BC_REPLY, BC_REPLY_SG, BC_REQUEST_DEATH_NOTIFICATION, BC_REQUEST_FREEZE_NOTIFICATION,
    BC_TRANSACTION, BC_TRANSACTION_SG, BinderHandleCookie, BinderPtrCookie, BinderTransactionData,
    BinderTransactionDataSg, BinderWriteRead,
};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use crate::context::{Caller, Context};
use crate::env::{ClaimedAddr, ClientMemory};
use crate::error::Errno;
use crate::looper::Looper;
use crate::node::Strength;
use crate::process::ProcessKey;
use crate::thread::ThreadKey;

/// As much of a write buffer as is fetched at once: enough for a reply with its clean-up.
const CHUNK_BYTES: usize = 256;

/// A write buffer in the client's memory, of which a piece has been fetched.
struct CommandReader {
    process: ProcessKey,
    buffer: u64,
    len: u64,
    at: u64,
    chunk: [u8; CHUNK_BYTES],
    chunk_start: u64,
    chunk_len: usize,
}

impl CommandReader {
    fn new(process: ProcessKey, request: &BinderWriteRead) -> Self {
        Self {
            process,
            buffer: request.write_buffer,
            len: request.write_size,
            at: request.write_consumed,
            chunk: [0; CHUNK_BYTES],
            chunk_start: 0,
            chunk_len: 0,
        }
    }

    fn is_at_end(&self) -> bool {
        self.at >= self.len
    }

    /// Takes the next value. Each byte is fetched once: what the client changes meanwhile is seen
    /// before or after, never in between.
    fn take<T: FromBytes + IntoBytes>(
        &mut self,
        memory: &mut dyn ClientMemory,
    ) -> Result<T, Errno> {
        let len = size_of::<T>();
        if self.fetched(len).is_none() {
            self.fetch(len, memory)?;
        }
        let bytes = self.fetched(len).ok_or(Errno::EFAULT)?;
        let value = T::read_from_bytes(bytes).map_err(|_| Errno::EFAULT)?;
        self.at += len as u64;
        Ok(value)
    }

    fn fetched(&self, len: usize) -> Option<&[u8]> {
        let from = usize::try_from(self.at.checked_sub(self.chunk_start)?).ok()?;
        self.chunk[..self.chunk_len].get(from..from.checked_add(len)?)
    }

    /// Fetches as much as is left, or at least the `len` bytes that are needed now.
    fn fetch(&mut self, len: usize, memory: &mut dyn ClientMemory) -> Result<(), Errno> {
        let left = usize::try_from(self.len - self.at).unwrap_or(usize::MAX);
        if len > left {
            return Err(Errno::EFAULT);
        }
        let address = self.buffer.checked_add(self.at).map(ClaimedAddr).ok_or(Errno::EFAULT)?;
        self.chunk_start = self.at;
        self.chunk_len = left.min(CHUNK_BYTES);
        if memory.read(self.process, address, &mut self.chunk[..self.chunk_len]).is_err() {
            self.chunk_len = len;
            memory.read(self.process, address, &mut self.chunk[..len])?;
        }
        Ok(())
    }
}

impl Context {
    /// Runs the commands of a write buffer until it ends, one fails, or one leaves an error that
    /// the thread must read first.
    pub(crate) fn run_commands(
        &mut self,
        caller: &Caller,
        thread: ThreadKey,
        request: &mut BinderWriteRead,
        memory: &mut dyn ClientMemory,
    ) -> Result<(), Errno> {
        let mut commands = CommandReader::new(caller.process, request);
        while !commands.is_at_end() && self.threads[thread].return_error.is_none() {
            self.run_command(caller, thread, &mut commands, memory)?;
            request.write_consumed = commands.at;
        }
        Ok(())
    }

    fn run_command(
        &mut self,
        caller: &Caller,
        thread: ThreadKey,
        commands: &mut CommandReader,
        memory: &mut dyn ClientMemory,
    ) -> Result<(), Errno> {
        let process = caller.process;
        let code: u32 = commands.take(memory)?;
        self.processes[process].counters.count_command(code);
        match code {
            BC_TRANSACTION | BC_REPLY => {
                let mut data = BinderTransactionDataSg::new_zeroed();
                data.transaction_data = commands.take::<BinderTransactionData>(memory)?;
                self.run_transaction(caller, thread, code == BC_REPLY, &data, memory);
            }
            BC_TRANSACTION_SG | BC_REPLY_SG => {
                let data: BinderTransactionDataSg = commands.take(memory)?;
                self.run_transaction(caller, thread, code == BC_REPLY_SG, &data, memory);
            }
            BC_FREE_BUFFER => {
                let address: u64 = commands.take(memory)?;
                self.free_buffer_at(thread, address, memory);
            }
            BC_INCREFS => self.add_count(process, commands.take(memory)?, Strength::Weak)?,
            BC_ACQUIRE => self.add_count(process, commands.take(memory)?, Strength::Strong)?,
            BC_RELEASE => self.drop_count(process, commands.take(memory)?, Strength::Strong),
            BC_DECREFS => self.drop_count(process, commands.take(memory)?, Strength::Weak),
            BC_INCREFS_DONE => {
                let BinderPtrCookie { ptr, cookie } = commands.take(memory)?;
                self.acknowledge(process, ptr, cookie, Strength::Weak);
            }
            BC_ACQUIRE_DONE => {
                let BinderPtrCookie { ptr, cookie } = commands.take(memory)?;
                self.acknowledge(process, ptr, cookie, Strength::Strong);
            }
            BC_REGISTER_LOOPER => self.register_looper(thread),
            BC_ENTER_LOOPER => self.enter_looper(thread),
            BC_EXIT_LOOPER => self.threads[thread].looper |= Looper::EXITED,
            BC_REQUEST_DEATH_NOTIFICATION => {
                let BinderHandleCookie { handle, cookie } = commands.take(memory)?;
                self.request_death(thread, handle, cookie);
            }
            BC_CLEAR_DEATH_NOTIFICATION => {
                let BinderHandleCookie { handle, cookie } = commands.take(memory)?;
                self.clear_death(thread, handle, cookie);
            }
            BC_DEAD_BINDER_DONE => self.acknowledge_death(thread, commands.take(memory)?),
            BC_REQUEST_FREEZE_NOTIFICATION => {
                let BinderHandleCookie { handle, cookie } = commands.take(memory)?;
                self.request_freeze(process, handle, cookie)?;
            }
            BC_CLEAR_FREEZE_NOTIFICATION => {
                let BinderHandleCookie { handle, cookie } = commands.take(memory)?;
                self.clear_freeze(process, handle, cookie)?;
            }
            BC_FREEZE_NOTIFICATION_DONE => {
                self.acknowledge_freeze(process, commands.take(memory)?)?;
            }
            // Unknown ones, BC_ATTEMPT_ACQUIRE and BC_ACQUIRE_RESULT, which no driver supports.
            _ => return Err(Errno::EINVAL),
        }
        Ok(())
    }

    fn run_transaction(
        &mut self,
        caller: &Caller,
        thread: ThreadKey,
        is_reply: bool,
        data: &BinderTransactionDataSg,
        memory: &mut dyn ClientMemory,
    ) {
        if is_reply {
            self.reply(caller, thread, data, memory);
        } else {
            self.transact(caller, thread, data, memory);
        }
    }
}
