//! The requests of a binder device.

use crate::code::{iow, iowr};
use crate::info::{
    BinderExtendedError, BinderFreezeInfo, BinderFrozenStatusInfo, BinderNodeDebugInfo,
    BinderNodeInfoForRef, BinderVersion,
};
use crate::layout::layouts;
use crate::object::FlatBinderObject;

/// The protocol version of 64-bit sizes, the answer to [`BINDER_VERSION`].
pub const BINDER_CURRENT_PROTOCOL_VERSION: i32 = 8;

/// Runs commands, then fetches returns.
pub const BINDER_WRITE_READ: u32 = iowr::<BinderWriteRead>(b'b', 1);
/// Never implemented.
pub const BINDER_SET_IDLE_TIMEOUT: u32 = iow::<i64>(b'b', 3);
/// Sets how many loopers the driver may ask for.
pub const BINDER_SET_MAX_THREADS: u32 = iow::<u32>(b'b', 5);
/// Never implemented.
pub const BINDER_SET_IDLE_PRIORITY: u32 = iow::<i32>(b'b', 6);
/// Makes the caller the context manager, with a node of zeroes.
pub const BINDER_SET_CONTEXT_MGR: u32 = iow::<i32>(b'b', 7);
/// Forgets the calling thread.
pub const BINDER_THREAD_EXIT: u32 = iow::<i32>(b'b', 8);
/// Asks for the protocol version.
pub const BINDER_VERSION: u32 = iowr::<BinderVersion>(b'b', 9);
/// Walks the caller's own nodes.
pub const BINDER_GET_NODE_DEBUG_INFO: u32 = iowr::<BinderNodeDebugInfo>(b'b', 11);
/// Asks for the counts of the node behind a handle.
pub const BINDER_GET_NODE_INFO_FOR_REF: u32 = iowr::<BinderNodeInfoForRef>(b'b', 12);
/// Makes the caller the context manager, with the node described.
pub const BINDER_SET_CONTEXT_MGR_EXT: u32 = iow::<FlatBinderObject>(b'b', 13);
/// Freezes or thaws a process.
pub const BINDER_FREEZE: u32 = iow::<BinderFreezeInfo>(b'b', 14);
/// Asks what a frozen process has missed.
pub const BINDER_GET_FROZEN_INFO: u32 = iowr::<BinderFrozenStatusInfo>(b'b', 15);
/// Lets the caller hear that it floods a receiver.
pub const BINDER_ENABLE_ONEWAY_SPAM_DETECTION: u32 = iow::<u32>(b'b', 16);
/// Fetches the thread's last transaction error.
pub const BINDER_GET_EXTENDED_ERROR: u32 = iowr::<BinderExtendedError>(b'b', 17);

layouts! {
    /// The argument of [`BINDER_WRITE_READ`].
    #[repr(C)]
    struct BinderWriteRead[48] {
        /// Bytes of commands.
        write_size: u64,
        /// In: where to start; out: how far the driver came.
        write_consumed: u64,
        /// Address of the commands.
        write_buffer: u64,
        /// Bytes of room for returns.
        read_size: u64,
        /// In: where to start; out: how far the driver came.
        read_consumed: u64,
        /// Address of the room for returns.
        read_buffer: u64,
    }
}
