//! The test programs of the workspace: built by one command, then several run at once.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::Value;

use super::built_programs;
use super::stages::{Stages, Stopped};
use crate::workspace::{PROGRAMS_VARIABLE, cargo};

/// How many run at once. Most of them wait for others more than they work.
const AT_ONCE: usize = 3;

/// Those that take longest: they begin first.
const LONGEST: [&str; 4] =
    ["foreign all", "anybinder program", "conformance checks", "binder-testkit all"];

/// Those of packages that need a device are run in a world that has one.
const WITH_A_DEVICE: [&str; 2] = ["binder-bench", "conformance"];

/// A program of tests that cargo has built.
pub(super) struct TestProgram {
    /// Package and target: `binder-os lib`, `foreign all`.
    name: String,
    /// Of its package; cargo, too, runs it there.
    directory: PathBuf,
    path: PathBuf,
}

/// Builds all test programs, and the programs that they start.
pub(super) fn build(stages: &Stages) -> Result<Vec<TestProgram>, Stopped> {
    let mut command = cargo(&["build", "--workspace", "--bins", "--tests"]);
    command.arg("--message-format=json-render-diagnostics");
    let told = stages.run_for_output("build", &mut command)?;
    let messages = told.lines().filter_map(|line| serde_json::from_str(line).ok());
    let mut programs: Vec<_> = messages.filter_map(|message| test_program(&message)).collect();
    if programs.is_empty() {
        return Err(stages.fail("build", &"cargo names no test program"));
    }
    programs.sort_by_key(|program| {
        LONGEST.iter().position(|it| *it == program.name).unwrap_or(LONGEST.len())
    });
    Ok(programs)
}

/// The test program that a message of cargo's tells of.
fn test_program(message: &Value) -> Option<TestProgram> {
    if message["profile"]["test"] != true {
        return None;
    }
    let directory = Path::new(message["manifest_path"].as_str()?).parent()?;
    let package = directory.file_name()?.to_str()?;
    let target = &message["target"];
    let target = if target["kind"][0] == "lib" { "lib" } else { target["name"].as_str()? };
    Some(TestProgram {
        name: format!("{package} {target}"),
        directory: directory.to_owned(),
        path: message["executable"].as_str()?.into(),
    })
}

/// Runs them, several at once.
pub(super) fn run(stages: &Stages, programs: &[TestProgram]) -> Result<(), Stopped> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), Stopped> {
        while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
            stages.run(&program.name, &mut program.command())?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        let outcomes =
            workers.into_iter().map(|worker| worker.join().expect("what fails is noted"));
        outcomes.fold(Ok(()), Result::and)
    })
}

impl TestProgram {
    fn command(&self) -> Command {
        let needs_a_device = WITH_A_DEVICE.iter().any(|it| self.directory.ends_with(it));
        let mut command = if needs_a_device {
            let mut command = Command::new(built_programs().join("anybinder"));
            command.args(["run", "--no-manager", "--"]).arg(&self.path);
            command.env("ANYBINDER_TEST_DEVICE", "/dev/binder").env("ANYBINDER_TEST_KILLS", "1000");
            // Those of `foreign` go by the ring, too.
            command.env("ANYBINDER_TEST_DOORS", "fuse");
            command
        } else {
            Command::new(&self.path)
        };
        command.current_dir(&self.directory).env("CARGO_MANIFEST_DIR", &self.directory);
        command.env(PROGRAMS_VARIABLE, built_programs());
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_told_from_other_programs() {
        let message = |is_test: bool| {
            serde_json::json!({
                "manifest_path": "/w/crates/binder-os/Cargo.toml",
                "target": { "kind": ["test"], "name": "heap" },
                "profile": { "test": is_test },
                "executable": "/w/target/debug/deps/heap-1",
            })
        };
        assert!(test_program(&message(false)).is_none());
        let program = test_program(&message(true)).expect("it is one");
        assert_eq!(program.name, "binder-os heap");
        assert_eq!(program.directory, Path::new("/w/crates/binder-os"));
    }
}
