//! Sends replies and notifications.

use binder_os::{FuseDevice, Written};
use fuse_wire::Message;

/// Writes one message. A request that is gone meanwhile (its caller was killed) needs no reply.
pub(crate) fn send(device: &FuseDevice, message: &Message<'_>) {
    match device.send(message.slices()) {
        Ok(Written::Delivered | Written::Gone) => {}
        Err(error) => tracing::error!(%error, ?message, "the kernel refused a reply"),
    }
}
