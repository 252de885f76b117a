//! Sends replies and notifications.

use std::io::IoSlice;

use binder_os::{FuseDevice, Written};
use fuse_wire::Message;

/// Writes one message. A request that is gone meanwhile (its caller was killed) needs no reply.
pub(crate) fn send(device: &FuseDevice, message: &Message<'_>) {
    let parts = message.slices().map(IoSlice::new);
    match device.write(&parts) {
        Ok(Written::Delivered | Written::Gone) => {}
        Err(error) => tracing::error!(%error, ?message, "the kernel refused a reply"),
    }
}
