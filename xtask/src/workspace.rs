//! Where things are, and how programs are run.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::TaskFailure;

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// Whether root runs this.
pub(crate) fn is_root() -> io::Result<bool> {
    Ok(fs::metadata("/proc/self")?.uid() == 0)
}

/// Names a directory of our programs to tests that would build them otherwise.
pub(crate) const PROGRAMS_VARIABLE: &str = "ANYBINDER_TEST_PROGRAMS";

/// Where cargo puts what it builds.
pub(crate) fn target_dir() -> PathBuf {
    root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// A cargo command at the root.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root()).args(arguments);
    bring_protoc(&mut command);
    command
}

/// Names a compiler of protocols to a build that may need one, on a machine that has none.
fn bring_protoc(command: &mut Command) {
    let has_own = || Command::new("protoc").arg("--version").output().is_ok();
    if std::env::var_os("PROTOC").is_none()
        && !has_own()
        && let Ok(protoc) = protoc_bin_vendored::protoc_bin_path()
    {
        command.env("PROTOC", protoc);
    }
}

/// A cargo command at the root, of another compiler's cargo, which builds into a directory of its own.
pub(crate) fn cargo_of(toolchain: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.current_dir(root()).args(["run", toolchain, "cargo"]).args(arguments);
    bring_protoc(&mut command);
    // Variables that the cargo that started this program has set.
    for variable in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(variable);
    }
    // The output of one compiler is of no use to another.
    command.env("CARGO_TARGET_DIR", root().join("target").join(toolchain));
    command
}

/// Runs a command that must succeed.
pub(crate) fn succeed(command: &mut Command) -> Result<(), TaskFailure> {
    let described = format!("{command:?}");
    println!("+ {described}");
    let status = command.status().map_err(|error| format!("{described}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{described}: {status}").into()) }
}

/// Rewrites the part of a page that a task has generated, by what it was.
pub(crate) fn regenerate(
    page: &str,
    (begin, end): (&str, &str),
    new: impl FnOnce(&str) -> String,
) -> Result<(), TaskFailure> {
    let text = text(Path::new(page))?;
    let (before, rest) = text.split_once(begin).ok_or("the page has no generated part")?;
    let (old, after) = rest.split_once(end).ok_or("the generated part of the page has no end")?;
    fs::write(root().join(page), format!("{before}{begin}{}{end}{after}", new(old)))?;
    Ok(())
}

/// Runs a guest, and returns what it says, whose lines end as a terminal's do.
pub(crate) fn output_of_guest(command: &mut Command) -> Result<String, TaskFailure> {
    println!("+ {command:?}");
    let output = command.output()?;
    Ok(String::from_utf8_lossy(&output.stdout).replace('\r', ""))
}

/// All files below `directory` with one of these extensions, relative to the root, sorted.
pub(crate) fn files(directory: &str, extensions: &[&str]) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    collect(&root().join(directory), extensions, &mut found)?;
    found.sort();
    Ok(found)
}

fn collect(directory: &Path, extensions: &[&str], found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            if path.file_name() != Some(OsStr::new("target")) {
                collect(&path, extensions, found)?;
            }
        } else if path.extension().is_some_and(|it| extensions.iter().any(|wanted| it == *wanted)) {
            found.push(path.strip_prefix(root()).expect("below the root").to_owned());
        }
    }
    Ok(())
}

/// The text of a file, by its path from the root.
pub(crate) fn text(path: &Path) -> Result<String, TaskFailure> {
    fs::read_to_string(root().join(path))
        .map_err(|error| format!("{}: {error}", path.display()).into())
}
