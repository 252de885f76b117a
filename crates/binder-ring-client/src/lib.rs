//! The client's side of the [ring](binder_ring): `BINDER_WRITE_READ`s of a device by shared memory.
//!
//! A [`ClientRing`] is the segment of one open device, attached to its driver. Each thread [claims](ClientRing::claim) a
//! slot in it and [exchanges](ClientRing::exchange) its calls there; what the ring cannot do is left to the plain ioctl
//! ([`RingOutcome`]).
//!
//! [`exchange`](ClientRing::exchange) decides, [`KernelCalls`] makes the few system calls, and the caller's own
//! [`CallMemory`] copies to and from its memory. So the client library, which lends what it sends, and a
//! library between a program and its ioctls, which must expect any address, use the same code.
//!
//! Plain calls in a row to one object may pass the driver by: see [`lane`].
//!
//! No standard library, no allocation, no thread-local variable, no lock, and no descriptor that stays open: the crate
//! serves programs that know nothing of it, in their signal handlers too.

#![no_std]

#[cfg(test)]
extern crate std;

mod caller;
mod exchange;
mod files;
mod kernel;
pub mod lane;
mod ring;
mod spin;
mod thread_directory;
mod thread_info;

pub use caller::{CallMemory, RingSystem, SleepEnd};
pub use exchange::{ReadWait, RingOutcome};
pub use kernel::KernelCalls;
pub use ring::{ClientRing, MARKED, check_segment};
pub use spin::SpinHistory;
pub use thread_directory::{CallerThread, ProcEntry};
pub use thread_info::{PIDFD_GET_INFO, ThreadInfo};
