//! Binder on any Linux, without a kernel module.
fn main() {}
