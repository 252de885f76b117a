//! Calls by lanes (`binder-lane`), past the driver.
//!
//! [`ThreadLanes`] sees a thread's `BINDER_WRITE_READ`s before the ring does, and leaves to that whatever is not plain: anything but one
//! call without objects, which is waited for, its reply, and the read of an idle thread. A thread has one lane at most by
//! which it calls, to the object that it has called most of late ([`LaneCaller`]). It serves the calls of all lanes to its process
//! that no other thread looks at. What the process does for it, and where its memory is, [`LaneSystem`] and [`LaneServing`] say.

mod caller;
mod commands;
mod poller;
mod served;
mod server;
mod system;
mod thread;
mod wait;

#[cfg(test)]
mod tests;

pub use caller::LaneCaller;
pub use commands::{LaneCommands, LaneReturns, PlainSend, ReceivedBuffers};
pub use poller::LaneWaits;
pub use served::{MAX_SERVED, ServedLanes, ServedPlace};
pub use system::{LaneServing, LaneSystem, create_segment, map_segment, take_offer};
pub use thread::ThreadLanes;

use crate::exchange::RingOutcome;

/// What became of a call that could take a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "the driver may be due"]
pub enum LaneEnd {
    /// It is over.
    Done,
    /// Its commands are to be run by the driver, and its returns read there.
    ByRing,
    /// The same, if there is something to read: else the thread waits there, and looks at no lane meanwhile.
    ByRingAtOnce,
    /// Its commands were run; its returns are to be read.
    ReadByRing,
    /// It is over as far as it can be, and ended so.
    Ended(RingOutcome),
}
