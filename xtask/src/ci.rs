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
    check_our_driver()
}

/// Runs the checks on a device on our own driver, in a world of its own.
fn check_our_driver() -> Result<(), Failure> {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let program = root().join(target).join("debug/anybinder");
    let mut command = std::process::Command::new(program);
    command.current_dir(root()).args(["run", "--", env!("CARGO"), "test", "--package"]);
    command.args(["conformance", "--test", "checks", "--", "device::"]);
    succeed(command.env("ANYBINDER_TEST_DEVICE", "/dev/binder"))
}
