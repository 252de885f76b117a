//! `cargo xtask oracle`: the checks, on the driver of a real kernel.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use conformance::registry::DIFFERENCES;
use conformance::runner::{DEVICE_VARIABLE, name_of};

use crate::TaskFailure;
use crate::dist::Architecture;
use crate::workspace::{cargo, output_of_guest, regenerate, root, succeed, target_dir};

const PAGE: &str = "docs/conformance.md";
const BEGIN: &str = "<!-- begin: cargo xtask oracle -->\n";
const END: &str = "<!-- end: cargo xtask oracle -->\n";

/// Runs the checks in the guest, prints what fails there and rewrites the page's results.
pub(crate) fn run(filter: Option<&str>) -> Result<(), TaskFailure> {
    let share = build_for_guest("conformance", "conformance")?;
    let output = run_in_guest(&share, filter.unwrap_or("device::"))?;
    let results = Results::parse(&output);
    if results.outcomes.is_empty() {
        return Err(format!("the guest ran no check:\n{output}").into());
    }
    for (name, _) in results.outcomes.iter().filter(|(_, outcome)| **outcome == "FAILED") {
        println!("diverges: {name}");
    }
    println!("{}", results.summary());
    if filter.is_none() {
        refresh(&results)?;
    }
    if results.count("FAILED") > 0 {
        return Err(format!("checks fail on the kernel, so they are wrong:\n{output}").into());
    }
    Ok(())
}

/// Builds a program so that it runs without libraries, into a directory for the guest.
pub(crate) fn build_for_guest(package: &str, program: &str) -> Result<PathBuf, TaskFailure> {
    let architecture = Architecture::X86_64;
    let built = build_for(architecture, &architecture.target(), package, program)?;
    let share = target_dir().join("oracle/share");
    fs::create_dir_all(&share)?;
    fs::copy(built, share.join(program))?;
    Ok(share)
}

/// Builds a program for a target of a processor, and returns where it is.
pub(crate) fn build_for(
    architecture: Architecture,
    target: &str,
    package: &str,
    program: &str,
) -> Result<PathBuf, TaskFailure> {
    let mut build = cargo(&["build", "--package", package, "--bin", program, "--target", target]);
    architecture.cross_compile(target, &mut build);
    // Other flags, so another directory: the workspace's own artifacts stay fresh.
    let directory = target_dir().join("oracle");
    build.arg("--target-dir").arg(&directory);
    let built = succeed(build.env("RUSTFLAGS", "-C strip=symbols"));
    built.map_err(|failure| format!("{failure}\n{}", architecture.advice(target)))?;
    Ok(directory.join(target).join("debug").join(program))
}

fn run_in_guest(share: &Path, filter: &str) -> Result<String, TaskFailure> {
    let script = format!(
        "echo kernel: $(uname -r); mount -t debugfs debugfs /sys/kernel/debug; \
         cp conformance /tmp; cd /tmp; \
         {DEVICE_VARIABLE}=/dev/binder ./conformance --color never --test-threads 1 {filter}"
    );
    let mut command = Command::new(root().join("tools/kernel-vm/kernel-vm.sh"));
    output_of_guest(command.args(["run", "-S"]).arg(share).arg(script))
}

/// The output of the guest.
struct Results {
    kernel: String,
    /// By name: `ok`, `FAILED` or `ignored`.
    outcomes: BTreeMap<String, &'static str>,
}

impl Results {
    fn parse(output: &str) -> Self {
        let kernel = output.lines().find_map(|line| line.strip_prefix("kernel: "));
        let mut outcomes = BTreeMap::new();
        let mut name = None;
        // A check that panics says so between its name and its outcome.
        for line in output.lines() {
            let started = line.strip_prefix("test device::").and_then(|it| it.split_once(" ..."));
            let rest = match started {
                Some((started, rest)) => {
                    name = Some(started.trim().to_owned());
                    rest.trim()
                }
                None => line,
            };
            let outcome = ["ok", "FAILED", "ignored"].into_iter().find(|it| rest.starts_with(it));
            if let Some(outcome) = outcome
                && let Some(name) = name.take()
            {
                outcomes.insert(name, outcome);
            }
        }
        Self { kernel: kernel.unwrap_or("unknown").to_owned(), outcomes }
    }

    fn count(&self, outcome: &str) -> usize {
        self.outcomes.values().filter(|it| **it == outcome).count()
    }

    fn summary(&self) -> String {
        format!(
            "Linux {}: {} checks pass, {} fail, {} cannot be made there.",
            self.kernel,
            self.count("ok"),
            self.count("FAILED"),
            self.count("ignored"),
        )
    }
}

/// Rewrites the generated part of the page.
fn refresh(results: &Results) -> Result<(), TaskFailure> {
    let mut generated =
        format!("{}\n\n| check | driver | why |\n|---|---|---|\n", results.summary());
    for difference in DIFFERENCES {
        let driver = name_of(difference.driver);
        generated += &format!("| C{:03} | {driver} | {} |\n", difference.number, difference.reason);
    }
    regenerate(PAGE, (BEGIN, END), |_| generated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_found_behind_panics() {
        let output = "kernel: 7.1\n\
                      test device::c001_one      ... ok\n\
                      test device::c002_two      ... \n\
                      thread 'main' panicked at x.rs:1:1:\n\
                      FAILED\n\
                      test device::c003_three    ... ignored (why)\n\
                      test result: FAILED. 1 passed\n";
        let results = Results::parse(output);
        assert_eq!(results.kernel, "7.1");
        let counts = ["ok", "FAILED", "ignored"].map(|outcome| results.count(outcome));
        assert_eq!(counts, [1, 1, 1]);
    }
}
