//! Checks, conformance table and oracle runs of this workspace.
fn main() {}
