//! What a read of a binder device brings, as typed values.
//!
//! A transaction comes out of here once, as a [`IncomingTransaction`], so that what it brings along - files
//! above all - has one owner.

use std::ops::Range;
use std::sync::Arc;

use binder_uapi::{
    BR_ACQUIRE, BR_CLEAR_DEATH_NOTIFICATION_DONE, BR_CLEAR_FREEZE_NOTIFICATION_DONE,
    BR_DEAD_BINDER, BR_DEAD_REPLY, BR_DECREFS, BR_FAILED_REPLY, BR_FROZEN_BINDER, BR_FROZEN_REPLY,
    BR_INCREFS, BR_NOOP, BR_OK, BR_ONEWAY_SPAM_SUSPECT, BR_RELEASE, BR_REPLY, BR_SPAWN_LOOPER,
    BR_TRANSACTION, BR_TRANSACTION_COMPLETE, BR_TRANSACTION_PENDING_FROZEN, BR_TRANSACTION_SEC_CTX,
    BinderFrozenStateInfo, BinderPtrCookie, BinderTransactionDataSecctx, payload_len,
};
use zerocopy::FromBytes;

use crate::binder_device::BinderDevice;
use crate::delivery::IncomingTransaction;

/// Room for the returns of one read, as Android's library has it.
const ROOM_BYTES: usize = 256;

/// Returns that were read, until they are taken one by one.
#[derive(Debug)]
pub(crate) struct ReturnStream {
    bytes: [u8; ROOM_BYTES],
    /// The part that was filled and not taken yet.
    unread: Range<usize>,
}

/// One return of the driver.
#[derive(Debug)]
pub enum Return {
    /// A call or a one-way for an object of this process.
    Transaction(IncomingTransaction),
    /// The reply to this thread's call.
    Reply(IncomingTransaction),
    /// This thread's transaction or reply was accepted.
    Complete(Acceptance),
    /// This thread's transaction was refused, or its call will never be answered.
    Refused(NoReply),
    /// What others hold of an object of ours has changed.
    Node(Notice, BinderPtrCookie),
    /// Another looper is wanted.
    SpawnLooper,
    /// The owner of a handle has died; the cookie of the registration.
    DeadBinder(u64),
    /// The owner of a handle was frozen or thawed.
    Frozen(BinderFrozenStateInfo),
    /// Nothing to act upon: a registration that was taken back, or a filler.
    Nothing,
    /// A return that no driver known to us makes.
    Unknown(u32),
}

impl ReturnStream {
    pub(crate) fn new() -> Self {
        Self { bytes: [0; ROOM_BYTES], unread: 0..0 }
    }

    /// Whether all returns were taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.unread.is_empty()
    }

    /// Takes the next return, which `device` has made.
    pub(crate) fn take_next(&mut self, device: &Arc<BinderDevice>) -> Option<Return> {
        let split = split_first(&self.bytes[self.unread.clone()], device);
        // No driver returns half a return; the rest of such a one is worth nothing.
        self.unread.start =
            split.as_ref().map_or(self.unread.end, |(_, len)| self.unread.start + len);
        split.map(|(next, _)| next)
    }

    /// The room for a read, with what was not taken lost.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        self.unread = 0..0;
        &mut self.bytes
    }

    /// Notes how much of the room a read has filled.
    pub(crate) fn set_filled(&mut self, len: usize) {
        self.unread = 0..len.min(ROOM_BYTES);
    }
}

/// How a transaction was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acceptance {
    /// As usual.
    Plain,
    /// This process floods the receiver with one-ways.
    SpamSuspect,
    /// It waits until the receiver is thawed.
    PendingFrozen,
}

/// Why there is no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoReply {
    /// The owner of the object is gone.
    Dead,
    /// The driver could not do it.
    Failed,
    /// The owner of the object is frozen.
    Frozen,
}

/// What the owner of an object is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// There is a weak reference.
    Increfs,
    /// There is a strong reference.
    Acquire,
    /// There is no strong reference any more.
    Release,
    /// There is no reference any more.
    Decrefs,
}

/// Splits the first return off, if it is whole.
fn split_first(bytes: &[u8], device: &Arc<BinderDevice>) -> Option<(Return, usize)> {
    let (code, rest) = bytes.split_first_chunk()?;
    let code = u32::from_ne_bytes(*code);
    let payload = rest.get(..payload_len(code))?;
    Some((parse(code, payload, device)?, size_of_val(&code) + payload.len()))
}

/// Parses a return; the payload has the length that the code declares.
fn parse(code: u32, payload: &[u8], device: &Arc<BinderDevice>) -> Option<Return> {
    Some(match code {
        BR_NOOP | BR_OK | BR_CLEAR_DEATH_NOTIFICATION_DONE | BR_CLEAR_FREEZE_NOTIFICATION_DONE => {
            Return::Nothing
        }
        BR_TRANSACTION => {
            Return::Transaction(IncomingTransaction::new(device, read(payload)?, None))
        }
        BR_TRANSACTION_SEC_CTX => {
            let call: BinderTransactionDataSecctx = read(payload)?;
            Return::Transaction(IncomingTransaction::new(
                device,
                call.transaction_data,
                Some(call.secctx),
            ))
        }
        BR_REPLY => Return::Reply(IncomingTransaction::new(device, read(payload)?, None)),
        BR_TRANSACTION_COMPLETE => Return::Complete(Acceptance::Plain),
        BR_ONEWAY_SPAM_SUSPECT => Return::Complete(Acceptance::SpamSuspect),
        BR_TRANSACTION_PENDING_FROZEN => Return::Complete(Acceptance::PendingFrozen),
        BR_DEAD_REPLY => Return::Refused(NoReply::Dead),
        BR_FAILED_REPLY => Return::Refused(NoReply::Failed),
        BR_FROZEN_REPLY => Return::Refused(NoReply::Frozen),
        BR_INCREFS => Return::Node(Notice::Increfs, read(payload)?),
        BR_ACQUIRE => Return::Node(Notice::Acquire, read(payload)?),
        BR_RELEASE => Return::Node(Notice::Release, read(payload)?),
        BR_DECREFS => Return::Node(Notice::Decrefs, read(payload)?),
        BR_SPAWN_LOOPER => Return::SpawnLooper,
        BR_DEAD_BINDER => Return::DeadBinder(read(payload)?),
        BR_FROZEN_BINDER => Return::Frozen(read(payload)?),
        _ => Return::Unknown(code),
    })
}

fn read<T: FromBytes>(payload: &[u8]) -> Option<T> {
    T::read_from_bytes(payload).ok()
}

#[cfg(test)]
mod tests {
    use zerocopy::IntoBytes;

    use super::*;
    use crate::binder_device::fake_device;

    #[test]
    fn returns_are_split_one_by_one() {
        let names = BinderPtrCookie { ptr: 16, cookie: 17 };
        let mut returns = BR_NOOP.to_ne_bytes().to_vec();
        returns.extend(BR_INCREFS.to_ne_bytes());
        returns.extend(names.as_bytes());
        let device = fake_device(4096);
        assert!(matches!(split_first(&returns, &device), Some((Return::Nothing, 4))));
        let Some((Return::Node(Notice::Increfs, read), 20)) = split_first(&returns[4..], &device)
        else {
            panic!("a notice follows");
        };
        assert_eq!(read, names);
        assert!(split_first(&returns[4..23], &device).is_none());
        assert!(split_first(&returns[24..], &device).is_none());
    }

    #[test]
    fn every_return_that_a_driver_makes_is_known() {
        let known = [
            BR_NOOP,
            BR_TRANSACTION,
            BR_TRANSACTION_SEC_CTX,
            BR_REPLY,
            BR_DEAD_REPLY,
            BR_TRANSACTION_COMPLETE,
            BR_INCREFS,
            BR_ACQUIRE,
            BR_RELEASE,
            BR_DECREFS,
            BR_SPAWN_LOOPER,
            BR_DEAD_BINDER,
            BR_CLEAR_DEATH_NOTIFICATION_DONE,
            BR_FAILED_REPLY,
            BR_FROZEN_REPLY,
            BR_ONEWAY_SPAM_SUSPECT,
            BR_TRANSACTION_PENDING_FROZEN,
            BR_FROZEN_BINDER,
            BR_CLEAR_FREEZE_NOTIFICATION_DONE,
        ];
        let device = fake_device(4096);
        for code in known {
            let mut bytes = code.to_ne_bytes().to_vec();
            bytes.resize(4 + payload_len(code), 0);
            let Some((parsed, len)) = split_first(&bytes, &device) else {
                panic!("{}: not whole", binder_uapi::name_of(code));
            };
            assert!(!matches!(parsed, Return::Unknown(_)), "{}", binder_uapi::name_of(code));
            assert_eq!(len, bytes.len());
        }
        let unknown = split_first(&7_u32.to_ne_bytes(), &device);
        assert!(matches!(unknown, Some((Return::Unknown(7), 4))));
    }
}
