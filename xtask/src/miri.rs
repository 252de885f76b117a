//! `cargo xtask miri`: the crates with `unsafe` of their own, in an interpreter that sees undefined
//! behaviour.
//!
//! Not part of `cargo xtask ci`: it takes minutes, and a toolchain that few have.

use std::process::{Command, Stdio};

use crate::TaskFailure;
use crate::workspace::{cargo_of, succeed};

/// The packages, with the tests left out that have no `unsafe` below them.
const TESTS: [&[&str]; 3] = [
    &["--package=bitsearch", "--lib", "--test=all"],
    &[
        "--package=idr",
        "--features=idr/std",
        "--lib",
        "--test=all",
        "--",
        "--skip=pool::",
        "--skip=pool_props::",
    ],
    &["--package=pidns", "--lib", "--test=props"],
];

/// How Miri looks at them.
///
/// The epochs that `idr` uses go from a field to the structure around it, which tree borrows allow
/// and stacked borrows do not, and keep marks in pointers. What still waits there to be dropped when the
/// process ends is never dropped, which looks like leaks. Tests of properties look for the file with
/// their regressions.
const FLAGS: &str = "-Zmiri-tree-borrows -Zmiri-permissive-provenance -Zmiri-ignore-leaks \
                     -Zmiri-disable-isolation";

/// Runs all of it, or tells which tool is missing.
pub(crate) fn run() -> Result<(), TaskFailure> {
    let mut probe = miri();
    probe.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    if !probe.status().is_ok_and(|status| status.success()) {
        println!("SKIPPED: there is no Miri here. To have it:");
        println!("    rustup toolchain install nightly --component miri --component rust-src");
        return Ok(());
    }
    for tests in TESTS {
        let mut command = miri();
        command.arg("test").args(tests).env("MIRIFLAGS", FLAGS).env("PROPTEST_CASES", "2");
        succeed(&mut command)?;
    }
    Ok(())
}

/// Miri of the nightly toolchain.
fn miri() -> Command {
    let mut command = cargo_of("nightly", &["miri"]);
    command.env_remove("RUSTFLAGS");
    command
}
