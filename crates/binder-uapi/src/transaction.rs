//! The payloads of commands and returns.

use crate::layout::layouts;

/// The sender does not wait for a reply.
pub const TF_ONE_WAY: u32 = 0x01;
/// Opaque to the driver: the data is a root object.
pub const TF_ROOT_OBJECT: u32 = 0x04;
/// Opaque to the driver: the data is a status of 32 bits.
pub const TF_STATUS_CODE: u32 = 0x08;
/// Replies to this call may carry file descriptors.
pub const TF_ACCEPT_FDS: u32 = 0x10;
/// The buffer is zeroed when it is freed.
pub const TF_CLEAR_BUF: u32 = 0x20;
/// Replaces an equal oneway that waits for a frozen process.
pub const TF_UPDATE_TXN: u32 = 0x40;

layouts! {
    /// A call, a oneway or a reply, in either direction.
    #[repr(C)]
    struct BinderTransactionData[64] {
        /// Sent: a handle in the low half; received: the node's pointer, 0 for a reply.
        target: u64,
        /// Received: the node's cookie, 0 for a reply.
        cookie: u64,
        /// What to do; the driver passes it through.
        code: u32,
        /// `TF_*`.
        flags: u32,
        /// Received: the caller's process, 0 for a oneway or a reply.
        sender_pid: i32,
        /// Received: the sender's effective user.
        sender_euid: u32,
        /// Bytes of data.
        data_size: u64,
        /// Bytes of offsets, eight for each object.
        offsets_size: u64,
        /// Address of the data; received: the start of the buffer.
        buffer: u64,
        /// Address of the offsets.
        offsets: u64,
    }

    /// [`BR_TRANSACTION_SEC_CTX`](crate::BR_TRANSACTION_SEC_CTX): with the caller's label.
    #[repr(C)]
    struct BinderTransactionDataSecctx[72] {
        /// The transaction.
        transaction_data: BinderTransactionData,
        /// Address of a string that ends with a NUL, in the same buffer.
        secctx: u64,
    }

    /// [`BC_TRANSACTION_SG`](crate::BC_TRANSACTION_SG): with room for scatter-gather buffers.
    #[repr(C)]
    struct BinderTransactionDataSg[72] {
        /// The transaction.
        transaction_data: BinderTransactionData,
        /// Bytes of all the buffers, each rounded up to eight.
        buffers_size: u64,
    }

    /// The name of a node at its owner.
    #[repr(C)]
    struct BinderPtrCookie[16] {
        /// The owner's pointer.
        ptr: u64,
        /// The owner's cookie.
        cookie: u64,
    }

    /// A handle and the cookie of a registration on it; packed.
    #[repr(C, packed)]
    struct BinderHandleCookie[12] {
        /// The registering process's handle.
        handle: u32,
        /// Its cookie for the registration.
        cookie: u64,
    }

    /// The payload of [`BC_ATTEMPT_ACQUIRE`](crate::BC_ATTEMPT_ACQUIRE).
    #[repr(C)]
    struct BinderPriDesc[8] {
        /// Unused.
        priority: i32,
        /// A handle.
        desc: u32,
    }

    /// The payload of [`BR_ATTEMPT_ACQUIRE`](crate::BR_ATTEMPT_ACQUIRE).
    #[repr(C)]
    struct BinderPriPtrCookie[24] {
        /// Unused.
        priority: i32,
        /// Unused; the hole of the C structure.
        pad: u32,
        /// The owner's pointer.
        ptr: u64,
        /// The owner's cookie.
        cookie: u64,
    }
}

impl BinderTransactionData {
    /// The handle that is called, of what is sent.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "a handle has the low half")]
    pub fn handle(&self) -> u32 {
        self.target as u32
    }
}
