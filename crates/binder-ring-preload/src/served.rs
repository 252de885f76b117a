//! What the program has of a lane by which it is called.
//!
//! No descriptor stays of it: who calls is asked at each call by the directory that the kernel has in /proc for the caller's thread.

use binder_lane::LaneSegment;
use binder_ring_client::CallerThread;
use binder_ring_client::lane::ServedPlace;

use crate::lanes::MappedSegment;
use crate::room_buffers::TakenBuffer;

/// What the program has of a lane by which it is called.
#[derive(Debug)]
pub(crate) struct ProgramServed {
    pub(crate) segment: MappedSegment,
    /// Where the call lies, until it is freed.
    pub(crate) buffer: TakenBuffer,
    pub(crate) caller: CallerThread,
}

impl ServedPlace for ProgramServed {
    fn segment(&self) -> LaneSegment {
        self.segment.get()
    }

    fn caller_uid(&self) -> Option<u32> {
        self.caller.uid()
    }
}
