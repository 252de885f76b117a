//! The tests of generated code, with ours.

// The name by which the tests of `tests/aidl` know what they test.
extern crate aidl_own_tests as aidl_tests;

#[path = "../../../aidl/tests/all/asynchronous.rs"]
mod asynchronous;
mod decoded;
mod hard;
#[path = "../../../aidl/tests/all/hostile.rs"]
mod hostile;
#[path = "../../../aidl/tests/all/local.rs"]
mod local;
#[path = "../../../aidl/tests/all/objects.rs"]
mod objects;
#[path = "../../../aidl/tests/all/rpc.rs"]
mod rpc;
mod shapes;
