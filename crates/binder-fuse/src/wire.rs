//! Sends replies and notifications.

use std::io::IoSlice;

use binder_os::{FuseDevice, Written};
use fuse_wire::Message;

/// Messages up to this length, the answer to `BINDER_WRITE_READ` among them, go out in one piece:
/// copying so little costs less than having the kernel look up a second range of memory.
const ONE_PIECE_BYTES: usize = 80;

/// Writes one message. A request that is gone meanwhile (its caller was killed) needs no reply.
pub(crate) fn send(device: &FuseDevice, message: &Message<'_>) {
    let [head, data] = message.slices();
    let mut piece = [0; ONE_PIECE_BYTES];
    let written = match piece.get_mut(..head.len() + data.len()) {
        Some(piece) => {
            piece[..head.len()].copy_from_slice(head);
            piece[head.len()..].copy_from_slice(data);
            device.write(&[IoSlice::new(piece)])
        }
        None => device.write(&[IoSlice::new(head), IoSlice::new(data)]),
    };
    match written {
        Ok(Written::Delivered | Written::Gone) => {}
        Err(error) => tracing::error!(%error, ?message, "the kernel refused a reply"),
    }
}
