//! What an actor does on its own: a server that calls back and watches, and clients that keep it
//! busy until they are killed.
//!
//! A client shows the server objects of its own. The server holds each, watches it, calls it, and
//! lets go of it when its owner dies. So an actor that is killed is in the midst of something.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;

use binder_uapi::{
    BINDER_TYPE_HANDLE, BINDER_WRITE_READ, BinderTransactionData, BinderWriteRead,
    FlatBinderObject, TF_ONE_WAY,
};
use rustix::io::Errno;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::sys;
use crate::command::Placement;
use crate::{Commands, Message, Return, commands, parse_returns};

/// The code of a call that is answered with the server's [`Ledger`].
pub const STATUS: u32 = 0x7374_6174;
/// The code of a call with an object that the server is to keep.
const SHOW: u32 = 1;
/// The code of any other.
const ECHO: u32 = 2;

const READ_LEN_BYTES: usize = 4096;

/// What a server has seen of its clients.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(C)]
pub struct Ledger {
    /// Objects that it watches, or has watched.
    pub watched: u64,
    /// Deaths that it was told of.
    pub deaths: u64,
    /// Own calls that were answered.
    pub answered: u64,
    /// Own calls that ended with `BR_DEAD_REPLY`.
    pub dead: u64,
    /// Own calls that ended with `BR_FAILED_REPLY`.
    pub failed: u64,
}

/// A thread's conversation with the driver.
pub(super) struct Talker {
    fd: BorrowedFd<'static>,
    memory: File,
    ledger: Ledger,
    /// Handles that it holds and watches.
    held: BTreeSet<u32>,
}

impl Talker {
    pub(super) fn new(fd: BorrowedFd<'static>) -> Result<Self, Errno> {
        let memory = File::open("/proc/self/mem").map_err(|_| Errno::NOENT)?;
        Ok(Self { fd, memory, ledger: Ledger::default(), held: BTreeSet::new() })
    }

    /// Answers calls until the file is of no use any more.
    pub(super) fn serve(&mut self) -> Result<u64, Errno> {
        let mut next = commands().enter_looper();
        loop {
            let returns = self.exchange(&next)?;
            next = commands();
            for returned in returns {
                next = next.then(self.take(returned)?);
            }
        }
    }

    /// Plays games by the dice.
    pub(super) fn churn(&mut self, seed: u64) -> Result<u64, Errno> {
        let mut dice = seed;
        let mut roll = |sides: u64| {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            (dice >> 33) % sides
        };
        loop {
            let bytes = vec![0x5a; usize::try_from(roll(5000)).unwrap_or(0)];
            let object = 8 * (1 + roll(64));
            let message = match roll(3) {
                0 => Message::new(SHOW).binder(object, 0),
                1 => Message::new(SHOW).binder(object, 0).bytes(&bytes),
                _ => Message::new(ECHO).bytes(&bytes),
            };
            let ask = match roll(4) {
                0 => commands().acquire(0).oneway(0, message).request_death(0, 1),
                1 => commands().clear_death(0, 1).call(0, message).release(0),
                _ => commands().call(0, message),
            };
            self.converse(ask)?;
        }
    }

    /// Writes a send, with whatever goes with it, and reads until that has come to its end.
    fn converse(&mut self, ask: Commands) -> Result<(), Errno> {
        let is_call = ask.has_call();
        let mut next = ask;
        loop {
            let returns = self.exchange(&next)?;
            next = commands();
            let mut is_over = false;
            for returned in returns {
                is_over |= match returned {
                    Return::TransactionComplete | Return::OnewaySpamSuspect => !is_call,
                    Return::Reply(_) | Return::DeadReply | Return::FailedReply => true,
                    _ => false,
                };
                next = next.then(self.take(returned)?);
            }
            if is_over {
                return self.write(&next);
            }
        }
    }

    /// Does as a return asks, and says which commands are to be written for it.
    fn take(&mut self, returned: Return) -> Result<Commands, Errno> {
        Ok(match returned {
            Return::Increfs(ptr, cookie) => commands().increfs_done(ptr, cookie),
            Return::Acquire(ptr, cookie) => commands().acquire_done(ptr, cookie),
            Return::DeadBinder(handle) => {
                self.ledger.deaths += 1;
                let number = u32::try_from(handle).unwrap_or(0);
                self.held.remove(&number);
                commands().dead_binder_done(handle).clear_death(number, handle).release(number)
            }
            Return::Reply(reply) => {
                self.ledger.answered += 1;
                commands().free(reply.buffer)
            }
            Return::DeadReply => {
                self.ledger.dead += 1;
                commands()
            }
            Return::FailedReply => {
                self.ledger.failed += 1;
                commands()
            }
            Return::Transaction(call) => self.answer(&call)?,
            _ => commands(),
        })
    }

    fn answer(&mut self, call: &BinderTransactionData) -> Result<Commands, Errno> {
        if let Some(handle) = self.new_handle(call)? {
            self.ledger.watched += 1;
            let greeting = Message::new(ECHO);
            let keep = commands().acquire(handle).request_death(handle, handle.into());
            if call.flags & TF_ONE_WAY == 0 {
                // Back to the thread that waits for us, or whatever is left of it.
                self.converse(keep.call(handle, greeting))?;
            } else {
                self.write(&keep)?;
            }
        }
        let done = commands().free(call.buffer);
        Ok(match call.flags & TF_ONE_WAY {
            0 if call.code == STATUS => {
                done.reply(Message::new(STATUS).bytes(self.ledger.as_bytes()))
            }
            0 => done.reply(Message::new(ECHO)),
            _ => done,
        })
    }

    /// The handle in a transaction, if it is not held already.
    fn new_handle(&mut self, call: &BinderTransactionData) -> Result<Option<u32>, Errno> {
        if call.code != SHOW || call.offsets_size == 0 {
            return Ok(None);
        }
        let mut bytes = [0; size_of::<FlatBinderObject>()];
        self.memory.read_exact_at(&mut bytes, call.buffer).map_err(|_| Errno::FAULT)?;
        let object = FlatBinderObject::read_from_bytes(&bytes).map_err(|_| Errno::FAULT)?;
        let handle = object.handle();
        let is_new = object.kind == BINDER_TYPE_HANDLE && self.held.insert(handle);
        Ok(is_new.then_some(handle))
    }

    fn write(&mut self, commands: &Commands) -> Result<(), Errno> {
        self.ioctl(commands, 0).map(drop)
    }

    /// Writes, and reads, asleep until there is something.
    fn exchange(&mut self, commands: &Commands) -> Result<Vec<Return>, Errno> {
        self.ioctl(commands, READ_LEN_BYTES)
    }

    fn ioctl(&mut self, commands: &Commands, room: usize) -> Result<Vec<Return>, Errno> {
        // Alive until the driver has read them.
        let mut payloads: Vec<Vec<u8>> = Vec::new();
        let mut bytes = commands.encode(|message| {
            let [mut data, mut offsets] =
                [message.data.clone(), message.offsets.as_bytes().to_vec()];
            let placement = Placement {
                buffer: data.as_mut_ptr() as u64,
                offsets: offsets.as_mut_ptr() as u64,
            };
            payloads.extend([data, offsets]);
            placement
        });
        let mut returns = vec![0_u8; room];
        let mut argument = BinderWriteRead {
            write_size: bytes.len() as u64,
            write_buffer: bytes.as_mut_ptr() as u64,
            read_size: room as u64,
            read_buffer: returns.as_mut_ptr() as u64,
            ..BinderWriteRead::default()
        };
        loop {
            let address = &raw mut argument;
            match sys::ioctl(self.fd, BINDER_WRITE_READ.into(), address as u64) {
                Ok(()) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        drop(payloads);
        returns.truncate(usize::try_from(argument.read_consumed).unwrap_or(0));
        Ok(parse_returns(&returns))
    }
}
