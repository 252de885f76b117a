//! `cargo xtask ci`: everything that must pass before a push.

use crate::workspace::{cargo, root, succeed};
use crate::{Failure, check};

/// Runs all of it, in order, and stops at the first failure.
pub(crate) fn run() -> Result<(), Failure> {
    succeed(&mut cargo(&["fmt", "--all", "--check"]))?;
    let lints = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    succeed(&mut cargo(&lints))?;
    let docs = ["doc", "--workspace", "--no-deps", "--document-private-items"];
    succeed(cargo(&docs).env("RUSTDOCFLAGS", "-D warnings"))?;
    check::run()?;
    // The program first: tests start it.
    succeed(&mut cargo(&["build", "--package", "anybinder"]))?;
    succeed(&mut cargo(&["test", "--workspace"]))?;
    check_interleavings()
}

/// Runs the small concurrent parts through every interleaving.
fn check_interleavings() -> Result<(), Failure> {
    let mut command = cargo(&["test", "--package", "binder-fuse", "--lib", "turn"]);
    // Other flags are another build of everything: it must not push out the usual one.
    command.env("CARGO_TARGET_DIR", root().join("target/loom"));
    succeed(command.env("RUSTFLAGS", "--cfg loom"))
}
