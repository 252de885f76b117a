//! The ring: shared memory by which the threads of one open file exchange `BINDER_WRITE_READ`s with the driver,
//! without a system call but the wake-ups.
//!
//! A client offers a [segment](layout) with a slot for each of its threads. A thread copies its struct, its commands and
//! the data they point to into its slot, [posts](SlotWord::post) it, and [rings](Bell::ring) the segment's bell; the driver
//! takes the request out, runs it as it runs any ioctl, puts the returns into the slot and [answers](SlotWord::answer).
//! The driver believes nothing in a segment: it copies each thing once, and then looks at it.
//!
//! * The driver watches the segments of busy clients only. For a bell that is [not watched](BellState::Unwatched) a thread makes
//!   an ioctl, [`ANYBINDER_RING_WAIT`](binder_uapi::ANYBINDER_RING_WAIT), which has the driver watch it again.
//! * A thread waits in its slot for [`PATIENCE_MS`] at most, and then by that same ioctl, as a thread waits that knows
//!   no ring. So signals, freezers, debuggers and the end of the driver meet idle threads where they always were.
//! * Each bell and each slot's word is shared by two parties alone, so none can take another's wake-up.
//!
//! [`bell`](Bell) and [`slot`](SlotWord) are the protocol, free of system calls: they say which side must be woken, and on which
//! value to sleep. [`layout`] is where things lie, [`MemoryWindows`] are the ranges that a client copies into its slot.

#![no_std]

mod bell;
#[cfg(not(all(test, loom)))]
pub mod layout;
#[cfg(not(all(test, loom)))]
mod segment;
mod slot;
#[cfg(not(all(test, loom)))]
mod switch;
mod windows;

pub use bell::{Bell, BellState, Ring};
#[cfg(not(all(test, loom)))]
pub use segment::{RequestKind, RingAnswer, RingRequest, Segment, SlotIndex};
pub use slot::SlotWord;
#[cfg(not(all(test, loom)))]
pub use switch::RingSwitch;
pub use windows::{MemoryWindow, MemoryWindows};

#[cfg(all(test, loom))]
mod interleavings;

/// The most files of a call that are sent to a [socket](RequestKind::Socket): one message of Linux carries no more.
#[cfg(not(all(test, loom)))]
pub const MAX_FILES: usize = 253;

/// How long a thread waits in its slot before it waits by an ioctl, in milliseconds.
pub const PATIENCE_MS: u32 = SLEEPS * SLEEP_MS;
/// How many times in a row it sleeps meanwhile.
pub const SLEEPS: u32 = 5;
/// How long a sleep takes at most, in milliseconds.
pub const SLEEP_MS: u32 = 4;
