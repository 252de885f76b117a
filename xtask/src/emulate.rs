//! `cargo xtask emulate`: the crates that need nothing of the kernel, on the other processor, by qemu-user.
//!
//! Not part of `cargo xtask ci`: emulated properties take minutes. What needs the kernel runs in guests
//! (`cargo xtask matrix`).

use crate::TaskFailure;
use crate::dist::Architecture;
use crate::workspace::{cargo, succeed};

/// The tests that run there.
const PACKAGES: [&str; 15] = [
    "binder-aidl",
    "binder-core",
    "binder-frontend",
    "binder-lane",
    "binder-report",
    "binder-ring",
    "binder-rpc",
    "binder-testkit",
    "binder-trace",
    "binder-uapi",
    "bitsearch",
    "fuse-wire",
    "idr",
    "parcel",
    "pidns",
];

/// Of the preloaded library, which needs the kernel, what is written in the processor's own language.
const OF_PRELOAD: [&str; 4] = ["--lib", "--package", "binder-ring-preload", "memory_functions"];

/// Runs all of them, or tells which tool is missing.
pub(crate) fn run() -> Result<(), TaskFailure> {
    let other =
        if Architecture::X86_64.is_own() { Architecture::Aarch64 } else { Architecture::X86_64 };
    let packages = PACKAGES.iter().flat_map(|package| ["--package", package]);
    test(other, ["--lib", "--tests"].into_iter().chain(packages))?;
    test(other, OF_PRELOAD)
}

/// Runs tests on a processor.
fn test<'a>(
    other: Architecture,
    arguments: impl IntoIterator<Item = &'a str>,
) -> Result<(), TaskFailure> {
    let target = other.target();
    let mut command = cargo(&["test", "--target", &target]);
    command.args(arguments);
    other.cross_compile(&target, &mut command);
    let runner = format!("CARGO_TARGET_{}_RUNNER", target.replace('-', "_").to_uppercase());
    command.env(runner, other.starter()?.join(" ")).env("PROPTEST_CASES", "8");
    // An emulated processor is slow enough.
    command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1");
    succeed(&mut command)
}
