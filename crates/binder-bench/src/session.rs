//! What client and server of a bench say to the driver, command by command.
//!
//! As libbinder does: a call is written and its reply awaited in one ioctl, a reply is written in
//! one and the next call awaited in another, and buffers are freed along with whatever is written
//! next.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use binder_os::BinderClient;
use binder_uapi::{
    BC_ACQUIRE, BC_ACQUIRE_DONE, BC_ENTER_LOOPER, BC_FREE_BUFFER, BC_FREEZE_NOTIFICATION_DONE,
    BC_INCREFS_DONE, BC_REPLY, BC_TRANSACTION, BC_TRANSACTION_SG, BINDER_TYPE_FDA, BINDER_TYPE_PTR,
    BR_ACQUIRE, BR_CLEAR_DEATH_NOTIFICATION_DONE, BR_DEAD_BINDER, BR_DEAD_REPLY, BR_DECREFS,
    BR_FAILED_REPLY, BR_FROZEN_BINDER, BR_FROZEN_REPLY, BR_INCREFS, BR_NOOP, BR_RELEASE, BR_REPLY,
    BR_TRANSACTION, BR_TRANSACTION_COMPLETE, BinderBufferObject, BinderFdArrayObject,
    BinderTransactionData, BinderTransactionDataSg, FlatBinderObject, TF_ACCEPT_FDS, TF_ONE_WAY,
    name_of, payload_len,
};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::error::{BenchError, failed};

/// A thread's conversation with the driver.
pub(crate) struct DriverSession {
    client: BinderClient,
    /// To be written with the next exchange.
    commands: Vec<u8>,
    returns: [u8; RETURNS_BYTES],
    /// The part of `returns` that was filled and not looked at yet.
    unread: Range<usize>,
}

/// The driver's returns, but for those that are only acknowledged.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ReceivedReturn {
    Call(BinderTransactionData),
    Reply(BinderTransactionData),
    /// What was sent is on its way.
    Complete,
    /// A send was refused, or the process that was to reply is gone; with the return that tells.
    Refused(u32),
    /// The owner of an object is gone, to which there is a link with this cookie.
    Died(u64),
    /// The link with this cookie is no more.
    Unlinked(u64),
}

/// Room for the returns of one read, as libbinder has it.
const RETURNS_BYTES: usize = 256;
/// The longest payload of a return that benches get.
const PAYLOAD_MAX_BYTES: usize = size_of::<BinderTransactionData>();

/// How the calls of a process come to the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SessionDoor {
    /// By shared memory, if the driver has rings.
    Ring,
    /// By ioctls.
    Fuse,
    /// As a program that knows nothing of rings: by what the preloaded library makes of its ioctls.
    Unmodified,
}

impl DriverSession {
    /// A conversation by this door.
    pub(crate) fn open_by(door: SessionDoor, device: &Path) -> Result<Self, BenchError> {
        match door {
            SessionDoor::Ring => Self::open(device),
            SessionDoor::Fuse => Self::open_without_ring(device),
            SessionDoor::Unmodified => Self::open_unmodified(device),
        }
    }

    /// A conversation by the ring, if the driver has one.
    pub(crate) fn open(device: &Path) -> Result<Self, BenchError> {
        Self::of(device, BinderClient::open(device))
    }

    /// A conversation by ioctls, as that of a program which knows no rings.
    pub(crate) fn open_without_ring(device: &Path) -> Result<Self, BenchError> {
        Self::of(device, BinderClient::open_without_ring(device))
    }

    /// A conversation as that of a program which knows no rings, by what the preloaded library makes of it.
    pub(crate) fn open_unmodified(device: &Path) -> Result<Self, BenchError> {
        Self::of(device, BinderClient::open_unmodified(device))
    }

    /// A conversation by ioctls to which nothing can be sent.
    pub(crate) fn open_without_buffer(device: &Path) -> Result<Self, BenchError> {
        Self::of(device, BinderClient::open_without_buffer(device))
    }

    fn of(device: &Path, opened: io::Result<BinderClient>) -> Result<Self, BenchError> {
        let client = opened.map_err(failed(format!("opening {}", device.display())))?;
        Ok(Self { client, commands: Vec::new(), returns: [0; RETURNS_BYTES], unread: 0..0 })
    }

    /// Returns the conversation of another thread of this process.
    pub(crate) fn for_another_thread(&self) -> Self {
        let client = self.client.for_another_thread();
        Self { client, commands: Vec::new(), returns: [0; RETURNS_BYTES], unread: 0..0 }
    }

    pub(crate) fn client(&self) -> &BinderClient {
        &self.client
    }

    /// Adds a command to the next exchange.
    pub(crate) fn push(&mut self, command: u32, payload: &(impl IntoBytes + Immutable)) {
        debug_assert_eq!(payload_len(command), size_of_val(payload), "{}", name_of(command));
        self.commands.extend(command.to_ne_bytes());
        self.commands.extend(payload.as_bytes());
    }

    /// Calls handle 0 with objects at `offsets` of the data, and waits for the reply. The files that it brings close.
    pub(crate) fn call(
        &mut self,
        code: u32,
        data: &[u8],
        offsets: &[u64],
        reply: &mut Vec<u8>,
    ) -> Result<(), BenchError> {
        self.transact(BC_TRANSACTION, code, data, offsets)?;
        let answer = self.next_of(BR_REPLY)?;
        self.copy(&answer, reply)?;
        drop(self.files_of(&answer)?);
        self.push(BC_FREE_BUFFER, &answer.buffer);
        Ok(())
    }

    /// Where the objects of a transaction are.
    pub(crate) fn offsets_of(
        &self,
        received: &BinderTransactionData,
    ) -> Result<Vec<u64>, BenchError> {
        self.client.offsets_of(received).map_err(failed("reading what was received"))
    }

    /// The files that a transaction has brought, once.
    pub(crate) fn files_of(
        &self,
        received: &BinderTransactionData,
    ) -> Result<Vec<OwnedFd>, BenchError> {
        self.client.files_of(received).map_err(failed("taking the files that were received"))
    }

    /// Calls handle 0 with an object, and awaits no answer but that there is none: without a receive buffer none can come.
    pub(crate) fn call_in_vain(&mut self, code: u32, object: &[u8]) -> Result<(), BenchError> {
        self.transact(BC_TRANSACTION, code, object, &[0])?;
        loop {
            match self.next_event()? {
                ReceivedReturn::Complete => {}
                ReceivedReturn::Refused(_) => return Ok(()),
                other => return Err(BenchError::Unexpected(name_of(other.code()))),
            }
        }
    }

    /// Waits for the next call; its bytes replace the contents of `data`.
    pub(crate) fn next_call(
        &mut self,
        data: &mut Vec<u8>,
    ) -> Result<BinderTransactionData, BenchError> {
        let call = self.next_of(BR_TRANSACTION)?;
        self.copy(&call, data)?;
        Ok(call)
    }

    /// Frees the buffer of a call, and with it the handles in there that were not acquired, and
    /// replies.
    pub(crate) fn reply(
        &mut self,
        call: &BinderTransactionData,
        data: &[u8],
    ) -> Result<(), BenchError> {
        self.reply_with(call, data, &[])
    }

    /// The same with objects at `offsets` of the data.
    pub(crate) fn reply_with(
        &mut self,
        call: &BinderTransactionData,
        data: &[u8],
        offsets: &[u64],
    ) -> Result<(), BenchError> {
        self.push(BC_FREE_BUFFER, &call.buffer);
        self.transact(BC_REPLY, 0, data, offsets)
    }

    /// Calls handle 0 for an object, which this process then holds, and returns its handle.
    pub(crate) fn fetch(&mut self, code: u32, data: &[u8]) -> Result<u32, BenchError> {
        self.transact(BC_TRANSACTION, code, data, &[])?;
        let answer = self.next_of(BR_REPLY)?;
        let mut bytes = Vec::new();
        self.copy(&answer, &mut bytes)?;
        let object = FlatBinderObject::read_from_bytes(&bytes).ok();
        let handle = object.ok_or(BenchError::Unexpected(name_of(BR_REPLY)))?.handle();
        self.push(BC_ACQUIRE, &handle);
        self.push(BC_FREE_BUFFER, &answer.buffer);
        Ok(handle)
    }

    /// Replies with an object at the start of the data.
    pub(crate) fn reply_object(
        &mut self,
        call: &BinderTransactionData,
        object: &FlatBinderObject,
    ) -> Result<(), BenchError> {
        self.reply_with(call, object.as_bytes(), &[0])
    }

    /// Sends a one-way, and waits until it was accepted or refused. Says whether it was accepted.
    pub(crate) fn send(
        &mut self,
        handle: u32,
        data: &[u8],
        offsets: &[u64],
    ) -> Result<bool, BenchError> {
        self.push(BC_TRANSACTION, &oneway(handle, data, offsets));
        self.exchange(&[data, offsets.as_bytes()])?;
        let ends = [BR_TRANSACTION_COMPLETE, BR_FAILED_REPLY, BR_DEAD_REPLY];
        let end = self.read_until(&ends)?;
        Ok(end == BR_TRANSACTION_COMPLETE)
    }

    /// Sends a one-way with an array of files, which the driver closes when its receiver frees it, and
    /// waits until it was accepted or refused.
    pub(crate) fn send_files(
        &mut self,
        handle: u32,
        files: &[BorrowedFd<'_>],
    ) -> Result<(), BenchError> {
        let numbers: Vec<i32> = files.iter().map(AsRawFd::as_raw_fd).collect();
        let length = size_of_val(numbers.as_slice()) as u64;
        let buffer = numbers.as_ptr() as u64;
        let buffer =
            BinderBufferObject { kind: BINDER_TYPE_PTR, buffer, length, ..Default::default() };
        let num_fds = numbers.len() as u64;
        let array = BinderFdArrayObject { kind: BINDER_TYPE_FDA, num_fds, ..Default::default() };
        let data = [buffer.as_bytes(), array.as_bytes()].concat();
        let transaction_data = oneway(handle, &data, &[0, size_of_val(&buffer) as u64]);
        let buffers_size = length.next_multiple_of(8);
        let transaction = BinderTransactionDataSg { transaction_data, buffers_size };
        self.push(BC_TRANSACTION_SG, &transaction);
        self.exchange(&[&data])?;
        self.read_until(&[BR_TRANSACTION_COMPLETE, BR_FAILED_REPLY]).map(drop)
    }

    /// Writes what was pushed, and reads until `end` has come. Leaves out everything else.
    pub(crate) fn run_until(&mut self, end: u32) -> Result<(), BenchError> {
        self.exchange(&[])?;
        self.read_until(&[end]).map(drop)
    }

    /// Reads until one of `ends` has come, and returns which.
    fn read_until(&mut self, ends: &[u32]) -> Result<u32, BenchError> {
        loop {
            let mut end = None;
            while let Some((code, _)) = self.next_unread() {
                if ends.contains(&code) {
                    end = Some(code);
                }
            }
            if let Some(end) = end {
                return Ok(end);
            }
            self.exchange(&[])?;
        }
    }

    /// Frees the buffer of a one-way, with the next exchange.
    pub(crate) fn free(&mut self, oneway: &BinderTransactionData) {
        self.push(BC_FREE_BUFFER, &oneway.buffer);
    }

    /// Says that this thread takes calls, with the next exchange.
    pub(crate) fn enter_looper(&mut self) {
        self.push(BC_ENTER_LOOPER, &());
    }

    /// Writes a transaction, with all other commands, and awaits the first returns.
    fn transact(
        &mut self,
        command: u32,
        code: u32,
        data: &[u8],
        offsets: &[u64],
    ) -> Result<(), BenchError> {
        self.push(command, &transaction(code, data, offsets));
        self.exchange(&[data, offsets.as_bytes()])
    }

    /// Writes the commands, which may point to the payloads, and awaits returns.
    fn exchange(&mut self, payloads: &[&[u8]]) -> Result<(), BenchError> {
        debug_assert!(self.unread.is_empty(), "returns come one exchange at a time");
        let exchanged = self.client.exchange(&self.commands, payloads, &mut self.returns);
        self.unread = 0..exchanged.map_err(failed("speaking to the driver"))?;
        self.commands.clear();
        Ok(())
    }

    /// Waits for a transaction that comes as `wanted`.
    fn next_of(&mut self, wanted: u32) -> Result<BinderTransactionData, BenchError> {
        loop {
            match self.next_event()? {
                ReceivedReturn::Complete => {}
                ReceivedReturn::Call(call) if wanted == BR_TRANSACTION => return Ok(call),
                ReceivedReturn::Reply(reply) if wanted == BR_REPLY => return Ok(reply),
                other => return Err(BenchError::Unexpected(name_of(other.code()))),
            }
        }
    }

    /// Waits for what the driver has to say. What was pushed is written before.
    pub(crate) fn next_event(&mut self) -> Result<ReceivedReturn, BenchError> {
        loop {
            let Some((code, payload)) = self.next_unread() else {
                self.exchange(&[])?;
                continue;
            };
            if [BR_NOOP, BR_RELEASE, BR_DECREFS].contains(&code) {
                continue;
            }
            return ReceivedReturn::read(code, &payload)
                .ok_or(BenchError::Unexpected(name_of(code)));
        }
    }

    /// Takes the next return that was read, if there is one, acknowledging references and freezes.
    fn next_unread(&mut self) -> Option<(u32, [u8; PAYLOAD_MAX_BYTES])> {
        loop {
            let Some((code, payload)) = first_return(&self.returns[self.unread.clone()]) else {
                self.unread = 0..0;
                return None;
            };
            self.unread.start += size_of_val(&code) + payload.len();
            let (acknowledgement, of_it) = match code {
                BR_INCREFS => (BC_INCREFS_DONE, payload),
                BR_ACQUIRE => (BC_ACQUIRE_DONE, payload),
                BR_FROZEN_BINDER => (BC_FREEZE_NOTIFICATION_DONE, &payload[..size_of::<u64>()]),
                _ => {
                    let mut whole = [0; PAYLOAD_MAX_BYTES];
                    // Longer ones are none that benches understand.
                    let len = payload.len().min(PAYLOAD_MAX_BYTES);
                    whole[..len].copy_from_slice(&payload[..len]);
                    return Some((code, whole));
                }
            };
            self.commands.extend(acknowledgement.to_ne_bytes());
            self.commands.extend(of_it);
        }
    }

    /// Copies the bytes received and not freed; they replace the contents of `into`.
    pub(crate) fn copy(
        &self,
        received: &BinderTransactionData,
        into: &mut Vec<u8>,
    ) -> Result<(), BenchError> {
        self.client.copy_received(received, into).map_err(failed("reading what was received"))
    }
}

impl ReceivedReturn {
    fn read(code: u32, payload: &[u8; PAYLOAD_MAX_BYTES]) -> Option<Self> {
        let transaction = || Some(BinderTransactionData::read_from_prefix(payload).ok()?.0);
        let cookie = || payload.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes));
        match code {
            BR_TRANSACTION => transaction().map(Self::Call),
            BR_REPLY => transaction().map(Self::Reply),
            BR_TRANSACTION_COMPLETE => Some(Self::Complete),
            BR_FAILED_REPLY | BR_DEAD_REPLY | BR_FROZEN_REPLY => Some(Self::Refused(code)),
            BR_DEAD_BINDER => cookie().map(Self::Died),
            BR_CLEAR_DEATH_NOTIFICATION_DONE => cookie().map(Self::Unlinked),
            _ => None,
        }
    }

    /// The return that it came as.
    pub(crate) fn code(&self) -> u32 {
        match self {
            Self::Call(_) => BR_TRANSACTION,
            Self::Reply(_) => BR_REPLY,
            Self::Complete => BR_TRANSACTION_COMPLETE,
            Self::Refused(code) => *code,
            Self::Died(_) => BR_DEAD_BINDER,
            Self::Unlinked(_) => BR_CLEAR_DEATH_NOTIFICATION_DONE,
        }
    }
}

/// A call of handle 0, or a reply. The driver reads data and offsets in the exchange that follows.
pub(crate) fn transaction(code: u32, data: &[u8], offsets: &[u64]) -> BinderTransactionData {
    BinderTransactionData {
        code,
        // Its reply may bring files.
        flags: TF_ACCEPT_FDS,
        data_size: data.len() as u64,
        buffer: data.as_ptr() as u64,
        offsets_size: size_of_val(offsets) as u64,
        offsets: offsets.as_ptr() as u64,
        ..Default::default()
    }
}

/// A one-way to a handle; the same holds for it.
fn oneway(handle: u32, data: &[u8], offsets: &[u64]) -> BinderTransactionData {
    let transaction = transaction(0, data, offsets);
    BinderTransactionData { target: handle.into(), flags: TF_ONE_WAY, ..transaction }
}

/// Splits off the first return with its payload, if it is whole.
fn first_return(returns: &[u8]) -> Option<(u32, &[u8])> {
    let (code, rest) = returns.split_first_chunk()?;
    let code = u32::from_ne_bytes(*code);
    Some((code, rest.get(..payload_len(code))?))
}

#[cfg(test)]
mod tests {
    use binder_uapi::BinderPtrCookie;

    use super::*;

    #[test]
    fn returns_are_taken_one_by_one() {
        let names = BinderPtrCookie { ptr: 16, cookie: 17 };
        let mut returns = BR_NOOP.to_ne_bytes().to_vec();
        returns.extend(BR_INCREFS.to_ne_bytes());
        returns.extend(names.as_bytes());
        assert_eq!(first_return(&returns), Some((BR_NOOP, &[][..])));
        assert_eq!(first_return(&returns[4..]), Some((BR_INCREFS, names.as_bytes())));
        assert_eq!(first_return(&returns[4..23]), None);
        assert_eq!(first_return(&returns[24..]), None);
    }
}
