//! The AIDL tests once more, with the output of our own compiler in the place of Android's.
//!
//! Services, suite and tests are those of `tests/aidl`; what they are built with is compiled by the build script. Beside
//! them are interfaces of our own in `aidl/`, which use what those do not: `tests/all/hard.rs` calls them.

include!(concat!(env!("OUT_DIR"), "/aidl.rs"));

pub mod by_hand;
#[path = "../../aidl/src/service.rs"]
pub mod service;
#[path = "../../aidl/src/suite.rs"]
pub mod suite;
