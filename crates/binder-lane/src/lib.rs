//! The lane: words by which a thread exchanges calls with a server, past the driver, which can be given any of them.
//!
//! A lane leads from one thread of a client to one object of another process. The words of a call lie where the two parties of
//! each alone can write, so that one that lies harms its own calls:
//!
//! | word | where | parties | says |
//! |---|---|---|---|
//! | [`LaneWord`] | the lane's segment | caller, server | whether the server looks for a call, and how far one has come |
//! | [`LaneNote`] of the caller | its slot in its ring | caller, driver | that its thread makes a call by a lane |
//! | [`LaneNote`] of the server | a slot in its ring | server, driver | that its thread serves one |
//!
//! The driver has no part in a lane's segment. It takes a call over when the caller or the server asks for that: both have
//! noted the call then, and from what the driver makes of the two notes on, the call is one of its own. Who is to be woken, and who
//! has what, is here, free of system calls. `docs/decisions/0042-the-lane.md` has the reasons.

#![no_std]

#[cfg(not(all(test, loom)))]
pub mod layout;
mod note;
#[cfg(not(all(test, loom)))]
mod segment;
mod word;

pub use note::{LaneId, LaneNote, NoteKind};
#[cfg(not(all(test, loom)))]
pub use segment::LaneSegment;
pub use word::{CallLeft, LaneState, LaneWord, LeftToDriver, Woken};

#[cfg(all(test, loom))]
mod interleavings;

#[cfg(all(test, loom))]
use loom::sync::atomic;

#[cfg(not(all(test, loom)))]
use core::sync::atomic;
