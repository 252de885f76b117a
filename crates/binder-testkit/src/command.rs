//! Builds write buffers.

use binder_uapi::{
    BC_ACQUIRE, BC_ACQUIRE_DONE, BC_CLEAR_DEATH_NOTIFICATION, BC_CLEAR_FREEZE_NOTIFICATION,
    BC_DEAD_BINDER_DONE, BC_DECREFS, BC_ENTER_LOOPER, BC_FREE_BUFFER, BC_FREEZE_NOTIFICATION_DONE,
    BC_INCREFS, BC_INCREFS_DONE, BC_REGISTER_LOOPER, BC_RELEASE, BC_REPLY, BC_REPLY_SG,
    BC_REQUEST_DEATH_NOTIFICATION, BC_REQUEST_FREEZE_NOTIFICATION, BC_TRANSACTION,
    BC_TRANSACTION_SG, BinderHandleCookie, BinderPtrCookie, BinderTransactionData, TF_ONE_WAY,
};
use zerocopy::IntoBytes;

use crate::Message;

/// Where a message's payload has been put.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placement {
    pub(crate) buffer: u64,
    pub(crate) offsets: u64,
}

#[derive(Clone, Debug)]
enum Part {
    Bytes(Vec<u8>),
    Send { reply: bool, handle: u32, message: Message },
}

/// A sequence of commands, in the order in which they are written.
#[derive(Clone, Debug, Default)]
pub struct Commands {
    parts: Vec<Part>,
}

/// No command yet.
#[must_use]
pub fn commands() -> Commands {
    Commands::default()
}

impl Commands {
    /// Appends raw bytes.
    #[must_use]
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.parts.push(Part::Bytes(bytes.to_vec()));
        self
    }

    /// Appends a command and its payload.
    #[must_use]
    pub fn command(self, code: u32, payload: &[u8]) -> Self {
        self.raw(&code.to_le_bytes()).raw(payload)
    }

    /// Appends other commands.
    #[must_use]
    pub fn then(mut self, others: Self) -> Self {
        self.parts.extend(others.parts);
        self
    }

    /// Whether a call is among them.
    pub(crate) fn has_call(&self) -> bool {
        let is_call = |message: &Message| message.flags & TF_ONE_WAY == 0;
        self.parts.iter().any(
            |part| matches!(part, Part::Send { reply: false, message, .. } if is_call(message)),
        )
    }

    /// Calls `handle`.
    #[must_use]
    pub fn call(mut self, handle: u32, message: Message) -> Self {
        self.parts.push(Part::Send { reply: false, handle, message });
        self
    }

    /// Sends a oneway to `handle`.
    #[must_use]
    pub fn oneway(self, handle: u32, message: Message) -> Self {
        self.call(handle, message.flags(TF_ONE_WAY))
    }

    /// Answers the top incoming call.
    #[must_use]
    pub fn reply(mut self, message: Message) -> Self {
        self.parts.push(Part::Send { reply: true, handle: 0, message });
        self
    }

    /// Releases a received buffer.
    #[must_use]
    pub fn free(self, buffer: u64) -> Self {
        self.command(BC_FREE_BUFFER, buffer.as_bytes())
    }

    /// Adds a weak count.
    #[must_use]
    pub fn increfs(self, handle: u32) -> Self {
        self.command(BC_INCREFS, handle.as_bytes())
    }

    /// Adds a strong count.
    #[must_use]
    pub fn acquire(self, handle: u32) -> Self {
        self.command(BC_ACQUIRE, handle.as_bytes())
    }

    /// Takes a strong count.
    #[must_use]
    pub fn release(self, handle: u32) -> Self {
        self.command(BC_RELEASE, handle.as_bytes())
    }

    /// Takes a weak count.
    #[must_use]
    pub fn decrefs(self, handle: u32) -> Self {
        self.command(BC_DECREFS, handle.as_bytes())
    }

    /// Acknowledges `BR_INCREFS`.
    #[must_use]
    pub fn increfs_done(self, ptr: u64, cookie: u64) -> Self {
        self.command(BC_INCREFS_DONE, BinderPtrCookie { ptr, cookie }.as_bytes())
    }

    /// Acknowledges `BR_ACQUIRE`.
    #[must_use]
    pub fn acquire_done(self, ptr: u64, cookie: u64) -> Self {
        self.command(BC_ACQUIRE_DONE, BinderPtrCookie { ptr, cookie }.as_bytes())
    }

    /// Becomes a looper on its own account.
    #[must_use]
    pub fn enter_looper(self) -> Self {
        self.command(BC_ENTER_LOOPER, &[])
    }

    /// Becomes the looper that the driver asked for.
    #[must_use]
    pub fn register_looper(self) -> Self {
        self.command(BC_REGISTER_LOOPER, &[])
    }

    /// Registers for the death of a handle's owner.
    #[must_use]
    pub fn request_death(self, handle: u32, cookie: u64) -> Self {
        let payload = BinderHandleCookie { handle, cookie };
        self.command(BC_REQUEST_DEATH_NOTIFICATION, payload.as_bytes())
    }

    /// Takes a death registration back.
    #[must_use]
    pub fn clear_death(self, handle: u32, cookie: u64) -> Self {
        let payload = BinderHandleCookie { handle, cookie };
        self.command(BC_CLEAR_DEATH_NOTIFICATION, payload.as_bytes())
    }

    /// Acknowledges `BR_DEAD_BINDER`.
    #[must_use]
    pub fn dead_binder_done(self, cookie: u64) -> Self {
        self.command(BC_DEAD_BINDER_DONE, cookie.as_bytes())
    }

    /// Registers for freezes of a handle's owner.
    #[must_use]
    pub fn request_freeze(self, handle: u32, cookie: u64) -> Self {
        let payload = BinderHandleCookie { handle, cookie };
        self.command(BC_REQUEST_FREEZE_NOTIFICATION, payload.as_bytes())
    }

    /// Takes a freeze registration back.
    #[must_use]
    pub fn clear_freeze(self, handle: u32, cookie: u64) -> Self {
        let payload = BinderHandleCookie { handle, cookie };
        self.command(BC_CLEAR_FREEZE_NOTIFICATION, payload.as_bytes())
    }

    /// Acknowledges `BR_FROZEN_BINDER`.
    #[must_use]
    pub fn freeze_done(self, cookie: u64) -> Self {
        self.command(BC_FREEZE_NOTIFICATION_DONE, cookie.as_bytes())
    }

    /// The bytes to write; `place` puts a message's data and offsets into the sender's memory.
    pub(crate) fn encode(&self, mut place: impl FnMut(&Message) -> Placement) -> Vec<u8> {
        let mut bytes = Vec::new();
        for part in &self.parts {
            match part {
                Part::Bytes(raw) => bytes.extend_from_slice(raw),
                Part::Send { reply, handle, message } => {
                    encode_send(&mut bytes, *reply, *handle, message, place(message));
                }
            }
        }
        bytes
    }
}

fn encode_send(
    bytes: &mut Vec<u8>,
    reply: bool,
    handle: u32,
    message: &Message,
    placement: Placement,
) {
    let transaction = BinderTransactionData {
        target: handle.into(),
        code: message.code,
        flags: message.flags,
        data_size: message.claimed_data_size.unwrap_or(message.data.len() as u64),
        offsets_size: message.claimed_offsets_size.unwrap_or(message.offsets.len() as u64 * 8),
        buffer: message.claimed_buffer.unwrap_or(placement.buffer),
        offsets: placement.offsets,
        ..BinderTransactionData::default()
    };
    let code = match (reply, message.buffers_size.is_some()) {
        (false, false) => BC_TRANSACTION,
        (false, true) => BC_TRANSACTION_SG,
        (true, false) => BC_REPLY,
        (true, true) => BC_REPLY_SG,
    };
    bytes.extend_from_slice(code.as_bytes());
    bytes.extend_from_slice(transaction.as_bytes());
    if let Some(size) = message.buffers_size {
        bytes.extend_from_slice(size.as_bytes());
    }
}
