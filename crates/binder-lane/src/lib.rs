//! The lane: words by which two programs exchange calls without the driver, which can take over any of them at any moment.
//!
//! A lane leads from a caller's process to a server's. Each thread of the caller has one call in it at most, which has a number.
//! The words of that call lie in three segments, so that whoever lies harms its own calls alone:
//!
//! | word | written by | read by | says |
//! |---|---|---|---|
//! | [`PostedWord`] | the caller | server, driver | which call it has made last, and whether it sleeps |
//! | [`ServedWord`] | server, driver | the caller | what has become of that call |
//! | [`GrantWord`] | the driver | caller, server | whether calls may be made and served |
//!
//! The word that is written by two is where a call is decided: a server's thread [claims](ServedWord::claim) it, and
//! [replies](ServedWord::reply), unless the driver has [adopted](ServedWord::adopt) it before. An adopted call is one of the
//! driver's from then on, as if it had never gone another way: if a thread serves it, the driver knows which.
//!
//! Here is who must be woken and who has what, free of system calls. The segments, and when the driver grants, adopts
//! and revokes, are not. `docs/decisions/0042-the-lane.md` has the reasons.

#![no_std]

mod attention;
mod grant;
#[cfg(not(loom))]
pub mod layout;
mod posted;
#[cfg(not(loom))]
mod segment;
mod served;

pub use attention::{AwakeCount, CallBell};
pub use grant::GrantWord;
pub use posted::{CallNumber, PostedWord};
#[cfg(not(loom))]
pub use segment::{CallerSegment, LaneSegment, ServerSegment};
pub use served::{Adoption, AlreadyAdopted, CallProgress, ServedWord};

#[cfg(all(test, loom))]
mod interleavings;

#[cfg(loom)]
use loom::sync::atomic;

#[cfg(not(loom))]
use core::sync::atomic;
