//! Returns: what a client reads.

use crate::code::{io, ior, named_codes};
use crate::info::BinderFrozenStateInfo;
use crate::transaction::{
    BinderPriPtrCookie, BinderPtrCookie, BinderTransactionData, BinderTransactionDataSecctx,
};

named_codes! {
    /// The driver ran out of memory for a death registration.
    BR_ERROR = ior::<i32>(b'r', 0);
    /// Never sent; means "no error" in an extended error.
    BR_OK = io(b'r', 1);
    /// A call or a oneway, with the sender's security context.
    BR_TRANSACTION_SEC_CTX = ior::<BinderTransactionDataSecctx>(b'r', 2);
    /// A call or a oneway.
    BR_TRANSACTION = ior::<BinderTransactionData>(b'r', 2);
    /// The reply to the thread's call.
    BR_REPLY = ior::<BinderTransactionData>(b'r', 3);
    /// Never sent.
    BR_ACQUIRE_RESULT = ior::<i32>(b'r', 4);
    /// The target is gone.
    BR_DEAD_REPLY = io(b'r', 5);
    /// The thread's transaction or reply was accepted.
    BR_TRANSACTION_COMPLETE = io(b'r', 6);
    /// A first weak reference exists.
    BR_INCREFS = ior::<BinderPtrCookie>(b'r', 7);
    /// A first strong reference exists.
    BR_ACQUIRE = ior::<BinderPtrCookie>(b'r', 8);
    /// The last strong reference is gone.
    BR_RELEASE = ior::<BinderPtrCookie>(b'r', 9);
    /// The last weak reference is gone.
    BR_DECREFS = ior::<BinderPtrCookie>(b'r', 10);
    /// Never sent.
    BR_ATTEMPT_ACQUIRE = ior::<BinderPriPtrCookie>(b'r', 11);
    /// Nothing: the first word of a fresh read.
    BR_NOOP = io(b'r', 12);
    /// The process should start another looper.
    BR_SPAWN_LOOPER = io(b'r', 13);
    /// Never sent.
    BR_FINISHED = io(b'r', 14);
    /// The owner of a handle has died.
    BR_DEAD_BINDER = ior::<u64>(b'r', 15);
    /// A death registration has been taken back.
    BR_CLEAR_DEATH_NOTIFICATION_DONE = ior::<u64>(b'r', 16);
    /// The transaction failed.
    BR_FAILED_REPLY = io(b'r', 17);
    /// The call was refused: its target is frozen.
    BR_FROZEN_REPLY = io(b'r', 18);
    /// The oneway was accepted, but the sender floods its target.
    BR_ONEWAY_SPAM_SUSPECT = io(b'r', 19);
    /// The oneway was queued for a frozen target.
    BR_TRANSACTION_PENDING_FROZEN = io(b'r', 20);
    /// The owner of a handle was frozen or thawed.
    BR_FROZEN_BINDER = ior::<BinderFrozenStateInfo>(b'r', 21);
    /// A freeze registration has been taken back.
    BR_CLEAR_FREEZE_NOTIFICATION_DONE = ior::<u64>(b'r', 22);
}
