//! Commands: what a client writes.

use crate::code::{io, iow, named_codes};
use crate::transaction::{
    BinderHandleCookie, BinderPriDesc, BinderPtrCookie, BinderTransactionData,
    BinderTransactionDataSg,
};

named_codes! {
    /// Sends a call or a oneway.
    BC_TRANSACTION = iow::<BinderTransactionData>(b'c', 0);
    /// Answers the top incoming call.
    BC_REPLY = iow::<BinderTransactionData>(b'c', 1);
    /// Unsupported.
    BC_ACQUIRE_RESULT = iow::<i32>(b'c', 2);
    /// Releases a received buffer, by address.
    BC_FREE_BUFFER = iow::<u64>(b'c', 3);
    /// Adds a weak count to a handle.
    BC_INCREFS = iow::<u32>(b'c', 4);
    /// Adds a strong count to a handle.
    BC_ACQUIRE = iow::<u32>(b'c', 5);
    /// Takes a strong count from a handle.
    BC_RELEASE = iow::<u32>(b'c', 6);
    /// Takes a weak count from a handle.
    BC_DECREFS = iow::<u32>(b'c', 7);
    /// Acknowledges [`BR_INCREFS`](crate::BR_INCREFS).
    BC_INCREFS_DONE = iow::<BinderPtrCookie>(b'c', 8);
    /// Acknowledges [`BR_ACQUIRE`](crate::BR_ACQUIRE).
    BC_ACQUIRE_DONE = iow::<BinderPtrCookie>(b'c', 9);
    /// Unsupported.
    BC_ATTEMPT_ACQUIRE = iow::<BinderPriDesc>(b'c', 10);
    /// The thread is a looper that the driver asked for.
    BC_REGISTER_LOOPER = io(b'c', 11);
    /// The thread is a looper on its own account.
    BC_ENTER_LOOPER = io(b'c', 12);
    /// The thread is no longer a looper.
    BC_EXIT_LOOPER = io(b'c', 13);
    /// Registers for the death of a handle's owner.
    BC_REQUEST_DEATH_NOTIFICATION = iow::<BinderHandleCookie>(b'c', 14);
    /// Takes a death registration back.
    BC_CLEAR_DEATH_NOTIFICATION = iow::<BinderHandleCookie>(b'c', 15);
    /// Acknowledges [`BR_DEAD_BINDER`](crate::BR_DEAD_BINDER).
    BC_DEAD_BINDER_DONE = iow::<u64>(b'c', 16);
    /// Sends a call or a oneway with scatter-gather buffers.
    BC_TRANSACTION_SG = iow::<BinderTransactionDataSg>(b'c', 17);
    /// Replies with scatter-gather buffers.
    BC_REPLY_SG = iow::<BinderTransactionDataSg>(b'c', 18);
    /// Registers for freezes of a handle's owner.
    BC_REQUEST_FREEZE_NOTIFICATION = iow::<BinderHandleCookie>(b'c', 19);
    /// Takes a freeze registration back.
    BC_CLEAR_FREEZE_NOTIFICATION = iow::<BinderHandleCookie>(b'c', 20);
    /// Acknowledges [`BR_FROZEN_BINDER`](crate::BR_FROZEN_BINDER).
    BC_FREEZE_NOTIFICATION_DONE = iow::<u64>(b'c', 21);
}
