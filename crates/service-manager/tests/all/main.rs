//! The service manager from outside, without a device.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

pub mod corpus;
mod model;
mod props;
mod rules;
