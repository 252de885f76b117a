//! The tests of generated code, with ours.

#[path = "../../../aidl/tests/all/asynchronous.rs"]
mod asynchronous;
mod hard;
#[path = "../../../aidl/tests/all/hostile.rs"]
mod hostile;
#[path = "../../../aidl/tests/all/local.rs"]
mod local;
#[path = "../../../aidl/tests/all/objects.rs"]
mod objects;
#[path = "../../../aidl/tests/all/rpc.rs"]
mod rpc;
