//! Calls that wait in the front end of a device: each step goes wrong in each way, and steps end in any order.
//!
//! The rig's executor checks that each request is answered once, and that nothing is done for one that was
//! answered. Nothing may be left when all have gone.

mod actor;
mod schedules;
mod signals;
mod trouble;
