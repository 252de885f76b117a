//! The numbered checks of the driver's specification, and foreign clients.
//!
//! [`checks`] holds the checks, each written once; [`registry`] tells what they cover and what is
//! not covered yet; [`runner`] makes a test program of them.

pub mod checks;
pub mod registry;
pub mod runner;
