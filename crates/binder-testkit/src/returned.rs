//! Parses read buffers.

use binder_uapi::{
    BR_ACQUIRE, BR_CLEAR_DEATH_NOTIFICATION_DONE, BR_CLEAR_FREEZE_NOTIFICATION_DONE,
    BR_DEAD_BINDER, BR_DEAD_REPLY, BR_DECREFS, BR_ERROR, BR_FAILED_REPLY, BR_FROZEN_BINDER,
    BR_FROZEN_REPLY, BR_INCREFS, BR_NOOP, BR_ONEWAY_SPAM_SUSPECT, BR_RELEASE, BR_REPLY,
    BR_SPAWN_LOOPER, BR_TRANSACTION, BR_TRANSACTION_COMPLETE, BR_TRANSACTION_PENDING_FROZEN,
    BR_TRANSACTION_SEC_CTX, BinderFrozenStateInfo, BinderPtrCookie, BinderTransactionData,
    BinderTransactionDataSecctx, name_of,
};
use zerocopy::FromBytes;

/// One return, with its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are the returns of binder.h, one for one")]
pub enum Return {
    Noop,
    Error,
    SpawnLooper,
    Transaction(BinderTransactionData),
    TransactionSecCtx(BinderTransactionDataSecctx),
    Reply(BinderTransactionData),
    TransactionComplete,
    TransactionPendingFrozen,
    OnewaySpamSuspect,
    FailedReply,
    DeadReply,
    FrozenReply,
    Increfs(u64, u64),
    Acquire(u64, u64),
    Release(u64, u64),
    Decrefs(u64, u64),
    DeadBinder(u64),
    ClearDeathDone(u64),
    FrozenBinder { cookie: u64, is_frozen: bool },
    ClearFreezeDone(u64),
}

/// Parses what a read filled.
///
/// # Panics
///
/// On anything that a driver must not write.
#[must_use]
pub fn parse_returns(mut bytes: &[u8]) -> Vec<Return> {
    let mut returns = Vec::new();
    while !bytes.is_empty() {
        let code: u32 = take(&mut bytes);
        returns.push(parse_one(code, &mut bytes));
    }
    returns
}

fn parse_one(code: u32, bytes: &mut &[u8]) -> Return {
    match code {
        BR_NOOP => Return::Noop,
        // The code declares a payload that no driver writes.
        BR_ERROR => Return::Error,
        BR_SPAWN_LOOPER => Return::SpawnLooper,
        BR_TRANSACTION => Return::Transaction(take(bytes)),
        BR_TRANSACTION_SEC_CTX => Return::TransactionSecCtx(take(bytes)),
        BR_REPLY => Return::Reply(take(bytes)),
        BR_TRANSACTION_COMPLETE => Return::TransactionComplete,
        BR_TRANSACTION_PENDING_FROZEN => Return::TransactionPendingFrozen,
        BR_ONEWAY_SPAM_SUSPECT => Return::OnewaySpamSuspect,
        BR_FAILED_REPLY => Return::FailedReply,
        BR_DEAD_REPLY => Return::DeadReply,
        BR_FROZEN_REPLY => Return::FrozenReply,
        BR_INCREFS => node(bytes, Return::Increfs),
        BR_ACQUIRE => node(bytes, Return::Acquire),
        BR_RELEASE => node(bytes, Return::Release),
        BR_DECREFS => node(bytes, Return::Decrefs),
        BR_DEAD_BINDER => Return::DeadBinder(take(bytes)),
        BR_CLEAR_DEATH_NOTIFICATION_DONE => Return::ClearDeathDone(take(bytes)),
        BR_FROZEN_BINDER => {
            let state: BinderFrozenStateInfo = take(bytes);
            Return::FrozenBinder { cookie: state.cookie, is_frozen: state.is_frozen != 0 }
        }
        BR_CLEAR_FREEZE_NOTIFICATION_DONE => Return::ClearFreezeDone(take(bytes)),
        other => panic!("the driver returned {other:#010x} ({})", name_of(other)),
    }
}

fn node(bytes: &mut &[u8], notice: fn(u64, u64) -> Return) -> Return {
    let BinderPtrCookie { ptr, cookie } = take(bytes);
    notice(ptr, cookie)
}

fn take<T: FromBytes>(bytes: &mut &[u8]) -> T {
    let (value, rest) = T::read_from_prefix(bytes).expect("a return is cut off");
    *bytes = rest;
    value
}

/// Asserts the sequence of returns that a read brought, and binds parts of it.
///
/// ```
/// use binder_testkit::{Return::*, expect};
/// let returns = vec![TransactionComplete, DeadBinder(7)];
/// expect!(returns => [TransactionComplete, DeadBinder(cookie)]);
/// assert_eq!(cookie, 7);
/// ```
#[macro_export]
macro_rules! expect {
    ($returns:expr => [$($pattern:pat),* $(,)?]) => {
        let returns: Vec<$crate::Return> = $returns;
        #[allow(irrefutable_let_patterns)]
        let [$($pattern),*] = returns[..] else {
            panic!(
                "read {returns:#x?} where {} was expected",
                stringify!([$($pattern),*]),
            );
        };
    };
}
