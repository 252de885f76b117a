//! A thread's calls by a lane (`binder-lane`), past the driver.
//!
//! A thread has one lane at most by which it calls, to the object that it has called most of late. [`LaneCaller`] sees its
//! `BINDER_WRITE_READ`s before the ring does, and leaves to that whatever is not plain: anything but one call without objects, which
//! is waited for. What the process does for it, and where its memory is, [`LaneSystem`] says.

mod caller;
mod commands;
mod system;
mod wait;

#[cfg(test)]
mod tests;

pub use caller::{LaneCaller, finish};
pub use commands::{LaneCommands, LaneReturns, PlainSend, ReceivedBuffers};
pub use system::{LaneSystem, create_segment};

use crate::exchange::RingOutcome;

/// What became of a call that could take a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "the driver may be due"]
pub enum LaneEnd {
    /// It is over.
    Done,
    /// Its commands are to be run by the driver, and its returns read there.
    ByRing,
    /// Its commands were run; its returns are to be read.
    ReadByRing,
    /// It is over as far as it can be, and ended so.
    Ended(RingOutcome),
}
