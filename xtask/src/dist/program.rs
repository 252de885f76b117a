//! The static programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::architecture::Architecture;
use crate::TaskFailure;
use crate::workspace::{cargo, succeed, target_dir};

/// The main program.
pub(crate) const PROGRAM: &str = "anybinder";
/// The program beside it, for names of many machines.
pub(crate) const CLUSTER_PROGRAM: &str = "anybinder-cluster";
/// The greatest size of each.
const MAX_BYTES: u64 = 8_000_000;

/// Builds one of them for a processor, and returns where it is.
pub(crate) fn build(name: &str, architecture: Architecture) -> Result<PathBuf, TaskFailure> {
    let target = architecture.target();
    let arguments = ["build", "--locked", "--package", name, "--profile", "dist"];
    let mut command = cargo(&arguments);
    command.args(["--target", &target]);
    architecture.cross_compile(&target, &mut command);
    if let Some(option) = architecture.packed_relocations() {
        // Not by the environment, which the build of the preloaded library would see as well.
        command.args(["--config", &format!("target.{target}.rustflags = ['{option}']")]);
    }
    let built = succeed(&mut command);
    built.map_err(|failure| format!("{failure}\n{}", architecture.advice(&target)))?;
    let program = target_dir().join(target).join("dist").join(name);
    let bytes = fs::metadata(&program)?.len();
    if bytes > MAX_BYTES {
        return Err(format!("{}: {bytes} bytes, {MAX_BYTES} at most", program.display()).into());
    }
    println!("{}: {bytes} bytes", program.display());
    Ok(program)
}

/// Copies one that has been built otherwise, without what only debuggers read.
pub(super) fn strip(program: &Path, place: &Path) -> Result<PathBuf, TaskFailure> {
    succeed(Command::new("strip").arg("-o").args([place, program]))?;
    Ok(place.to_owned())
}
