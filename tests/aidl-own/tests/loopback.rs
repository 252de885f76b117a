//! The same over a transport that is nothing but the seam, with our output.

// The name by which the tests of `tests/aidl` know what they test.
extern crate aidl_own_tests as aidl_tests;

#[path = "../../aidl/tests/loopback/main.rs"]
mod loopback;
