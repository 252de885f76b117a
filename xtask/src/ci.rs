//! `cargo xtask ci`: everything that must pass before a push.

use std::path::PathBuf;
use std::process::Command;

use crate::workspace::{cargo, root, succeed};
use crate::{Failure, check, differential};

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
    try_static_build()?;
    let elsewhere = WITH_A_DEVICE.iter().flat_map(|package| ["--exclude", package]);
    succeed(cargo(&["test", "--workspace"]).args(elsewhere))?;
    test_with_a_device()?;
    differential::run(&differential::Plays::default())?;
    check_interleavings()
}

/// Where no library of the system is linked: the program runs on any distribution.
const STATIC_TARGET: &str = "x86_64-unknown-linux-musl";

/// Builds the program for [`STATIC_TARGET`] and has a service answer a client with it.
fn try_static_build() -> Result<(), Failure> {
    succeed(&mut cargo(&["build", "--package", "anybinder", "--target", STATIC_TARGET]))?;
    let program = target_dir().join(STATIC_TARGET).join("debug/anybinder");
    succeed(Command::new(program).args(["demo", "--calls", "100"]))
}

/// Where cargo puts what it builds.
fn target_dir() -> PathBuf {
    root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// Packages with tests that need a device.
const WITH_A_DEVICE: [&str; 2] = ["binder-bench", "conformance"];

/// Runs the tests that need a device, in a world that has one.
fn test_with_a_device() -> Result<(), Failure> {
    let mut command = Command::new(target_dir().join("debug/anybinder"));
    command.current_dir(root()).args(["run", "--", env!("CARGO"), "test"]);
    command.args(WITH_A_DEVICE.iter().flat_map(|package| ["--package", package]));
    command.env("ANYBINDER_TEST_KILLS", "1000");
    succeed(command.env("ANYBINDER_TEST_DEVICE", "/dev/binder"))
}

/// Runs the small concurrent parts through every interleaving.
fn check_interleavings() -> Result<(), Failure> {
    for (packages, tests) in [
        (&["--package=binder-fuse"][..], "combining_lock"),
        (&["--package=binder-os"], "cancel_token::tests"),
        (&["--package=idr", "--package=pidns", "--features=idr/std"], "interleavings"),
    ] {
        let mut command = cargo(&["test", "--lib"]);
        command.args(packages).arg(tests);
        // Other flags are another build of everything: it must not push out the usual one.
        command.env("CARGO_TARGET_DIR", root().join("target/loom"));
        // The second name is that of the epochs that `idr` uses.
        succeed(command.env("RUSTFLAGS", "--cfg loom --cfg crossbeam_loom"))?;
    }
    Ok(())
}
