//! Where the freezer is told what to do.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

use binder_frontend::RequestContext;
use binder_uapi::{BinderFreezeInfo, BinderFrozenStatusInfo};

use crate::device::Device;

/// What the freezer is told.
pub(crate) enum FreezerEvent {
    Freeze {
        device: Arc<Device>,
        request: RequestContext,
        info: BinderFreezeInfo,
    },
    FrozenInfo {
        device: Arc<Device>,
        request: RequestContext,
        info: BinderFrozenStatusInfo,
    },
    /// A signal ends the freeze that a request waits for.
    Interrupt {
        device: Arc<Device>,
        unique: u64,
    },
    /// Nothing is outstanding at a process any more that a freeze may wait for.
    Settled,
    End,
}

/// Where the freezer is told.
pub(crate) struct FreezeQueue {
    tell: Sender<FreezerEvent>,
}

impl FreezeQueue {
    /// A freezer, and where its thread receives what it is told.
    pub(crate) fn new() -> (Self, Receiver<FreezerEvent>) {
        let (tell, told) = mpsc::channel();
        (Self { tell }, told)
    }

    pub(crate) fn tell(&self, event: FreezerEvent) {
        // After its end no request waits for an answer: the file system is unmounted.
        let _ = self.tell.send(event);
    }
}
