//! The program, as its users meet it: run, signalled and killed from outside.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod caller;
mod hidden;
mod inspect;
mod limits;
mod logs;
mod memory;
mod mount;
mod procview;
mod run;
mod signals;
mod stderr;
