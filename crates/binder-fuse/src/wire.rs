//! Sends replies and notifications.

use binder_os::{FuseDevice, ReplyOutcome};
use fuse_wire::Message;

/// Writes one message. A request that is gone meanwhile (its caller was killed) needs no reply.
pub(crate) fn send(device: &FuseDevice, message: &Message<'_>) {
    match device.send(message.slices()) {
        Ok(ReplyOutcome::Delivered | ReplyOutcome::Gone) => {}
        Err(error) => tracing::error!(%error, ?message, "the kernel refused a reply"),
    }
}
