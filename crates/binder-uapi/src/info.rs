//! The small structures of single requests and notices.

use crate::layout::layouts;

layouts! {
    /// The argument of [`BINDER_VERSION`](crate::BINDER_VERSION).
    #[repr(C)]
    struct BinderVersion[4] {
        /// Out: [`BINDER_CURRENT_PROTOCOL_VERSION`](crate::BINDER_CURRENT_PROTOCOL_VERSION).
        protocol_version: i32,
    }

    /// The argument of [`BINDER_GET_NODE_DEBUG_INFO`](crate::BINDER_GET_NODE_DEBUG_INFO).
    #[repr(C)]
    struct BinderNodeDebugInfo[24] {
        /// In: find the next node above this; out: that node, 0 if there is none.
        ptr: u64,
        /// Out: the node's cookie.
        cookie: u64,
        /// Out: whether the owner was told of a strong reference.
        has_strong_ref: u32,
        /// Out: whether the owner was told of a weak reference.
        has_weak_ref: u32,
    }

    /// The argument of [`BINDER_GET_NODE_INFO_FOR_REF`](crate::BINDER_GET_NODE_INFO_FOR_REF).
    #[repr(C)]
    struct BinderNodeInfoForRef[24] {
        /// In: the caller's handle.
        handle: u32,
        /// Out: strong counts on the node.
        strong_count: u32,
        /// Out: weak counts on the node.
        weak_count: u32,
        /// Must be 0.
        reserved1: u32,
        /// Must be 0.
        reserved2: u32,
        /// Must be 0.
        reserved3: u32,
    }

    /// The argument of [`BINDER_FREEZE`](crate::BINDER_FREEZE).
    #[repr(C)]
    struct BinderFreezeInfo[12] {
        /// The process to act on.
        pid: u32,
        /// 1 freezes, 0 thaws.
        enable: u32,
        /// How long to wait for its pending transactions.
        timeout_ms: u32,
    }

    /// The argument of [`BINDER_GET_FROZEN_INFO`](crate::BINDER_GET_FROZEN_INFO).
    #[repr(C)]
    struct BinderFrozenStatusInfo[12] {
        /// In: the process asked about.
        pid: u32,
        /// Out: bit 0, a call was refused; bit 1, transactions are pending.
        sync_recv: u32,
        /// Out: 1 if a oneway arrived.
        async_recv: u32,
    }

    /// The payload of [`BR_FROZEN_BINDER`](crate::BR_FROZEN_BINDER).
    #[repr(C)]
    struct BinderFrozenStateInfo[16] {
        /// The cookie of the registration.
        cookie: u64,
        /// Whether the node's process is frozen.
        is_frozen: u32,
        /// 0.
        reserved: u32,
    }

    /// The argument of [`BINDER_GET_EXTENDED_ERROR`](crate::BINDER_GET_EXTENDED_ERROR).
    #[repr(C)]
    struct BinderExtendedError[12] {
        /// The debug id of the transaction.
        id: u32,
        /// The `BR_` code, [`BR_OK`](crate::BR_OK) if there was no error.
        command: u32,
        /// A negative errno, or 0.
        param: i32,
    }
}
