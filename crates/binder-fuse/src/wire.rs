//! Sends replies and notifications.

use binder_os::{FuseDevice, ReplyOutcome};
use fuse_wire::{Message, reply};

const POLLIN: u32 = 0x001;
const POLLRDNORM: u32 = 0x040;

/// Writes one message. A request that is gone meanwhile (its caller was killed) needs no reply.
pub(crate) fn send(device: &FuseDevice, message: &Message<'_>) {
    match device.send(message.slices()) {
        Ok(ReplyOutcome::Delivered | ReplyOutcome::Gone) => {}
        Err(error) => tracing::error!(%error, ?message, "the kernel refused a reply"),
    }
}

/// Answers poll(2) on a file that can be read now, or not.
pub(crate) fn answer_poll(device: &FuseDevice, unique: u64, is_readable: bool) {
    let events = if is_readable { POLLIN | POLLRDNORM } else { 0 };
    send(device, &reply::poll(unique, events));
}
