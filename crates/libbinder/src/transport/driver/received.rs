//! What was received, as long as it lies in the receive buffer.

use std::io;
use std::sync::Arc;

use binder_os::IncomingTransaction;
use binder_os::delivery::ReceivedObject;

use super::device::DeviceShared;
use crate::transport::ReceivedBytes;

/// From which size on bytes are read where they lie. To copy fewer costs less than half a microsecond
/// in a call of thirty, and the parcel is a plain value.
const IN_PLACE_BYTES: usize = 16 << 10;

/// A received transaction, whose part of the receive buffer is freed when this is dropped: with
/// whatever the thread writes next.
pub(super) struct ReceivedTransaction {
    device: Arc<DeviceShared>,
    /// There until it is dropped.
    delivery: Option<IncomingTransaction>,
    /// How much of the receive buffer the device was told that a parcel keeps.
    kept_bytes: usize,
}

impl ReceivedTransaction {
    pub(super) fn new(device: &Arc<DeviceShared>, delivery: IncomingTransaction) -> Self {
        Self { device: Arc::clone(device), delivery: Some(delivery), kept_bytes: 0 }
    }

    fn delivery(&self) -> &IncomingTransaction {
        self.delivery.as_ref().expect("only drop takes it")
    }

    /// Lends its bytes.
    pub(super) fn bytes(&self) -> io::Result<&[u8]> {
        self.delivery().bytes()
    }

    pub(super) fn take_objects(&mut self) -> io::Result<Vec<ReceivedObject>> {
        self.delivery.as_mut().expect("only drop takes it").take_objects()
    }

    /// Whether a parcel may keep it, and be read where it lies; if not, its bytes are to be copied.
    ///
    /// With objects it may not: what this thread says of them must come to the driver before
    /// whichever thread drops the parcel has it freed.
    pub(super) fn keep(&mut self) -> bool {
        let bytes = self.delivery().buffer_bytes();
        if bytes < IN_PLACE_BYTES || self.delivery().has_objects() {
            return false;
        }
        self.kept_bytes = bytes;
        self.device.hold_back(bytes)
    }
}

impl ReceivedBytes for ReceivedTransaction {
    fn bytes(&self) -> &[u8] {
        // Of a child of the process that received it nothing is left to read.
        self.delivery().bytes().unwrap_or_default()
    }
}

impl Drop for ReceivedTransaction {
    fn drop(&mut self) {
        self.device.release_held_back(self.kept_bytes);
        let Some(delivery) = self.delivery.take() else { return };
        if self.device.check_process().is_err() {
            // It is the parent's to free.
            return;
        }
        self.device.with_link(|link| {
            link.push_free(delivery);
            // If the device fails, the next call says so.
            let _ = link.settle(&self.device);
        });
    }
}
