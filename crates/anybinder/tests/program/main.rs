//! The program, as its users meet it: run, signalled and killed from outside.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod action;
mod aidl;
mod android;
mod caller;
mod command_line;
mod containers;
mod hidden;
mod inspect;
mod limits;
mod links;
mod logs;
mod manager;
mod memory;
mod metrics;
mod mount;
mod procview;
mod run;
mod scheduling;
mod servers;
mod signals;
mod stderr;
mod trace;
mod worlds;
