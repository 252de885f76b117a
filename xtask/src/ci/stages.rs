//! Stages of a run: each a command, whose output is printed whole when it has ended.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::limit::{CommandEnd, run_within};
use crate::TaskFailure;
use crate::workspace::{is_root, target_dir};

/// After that a stage hangs: the longest take a quarter of it on two processors.
const LIMIT: Duration = Duration::from_secs(40 * 60);

/// In reasons for which root leaves out nothing, where `.ci/run` has installed what was missing.
const NO_REASONS_FOR_ROOT: [&str; 5] = ["root", "Root", "installed", "gcc", "strace"];

/// Something has failed, here or beside; the stages know what.
pub(super) struct Stopped;

/// All stages of one run; several may be under way.
pub(super) struct Stages {
    begun: Instant,
    /// Where the output of each is kept, for later stages.
    logs: PathBuf,
    ended: Mutex<Vec<EndedStage>>,
}

/// One that has ended.
struct EndedStage {
    name: String,
    took: Duration,
    /// The lines that tell of tests that were left out.
    skipped: Vec<String>,
    failure: Option<StageFailure>,
}

/// Why a stage failed.
struct StageFailure {
    reason: String,
    /// The end of its output, indented: the whole may be pages above what is read first.
    last_lines: String,
}

/// So many lines of a failed stage's output are printed once more at the end.
const LAST_LINES: usize = 60;

impl Stages {
    pub(super) fn new() -> io::Result<Self> {
        let logs = target_dir().join("ci");
        fs::create_dir_all(&logs)?;
        Ok(Self { begun: Instant::now(), logs, ended: Mutex::default() })
    }

    /// Runs a command that must succeed, unless something has failed already.
    pub(super) fn run(&self, name: &str, command: &mut Command) -> Result<(), Stopped> {
        self.run_with(name, command, None).map(|_| ())
    }

    /// The same; returns the standard output, which is not printed.
    pub(super) fn run_for_output(
        &self,
        name: &str,
        command: &mut Command,
    ) -> Result<String, Stopped> {
        let path = self.logs.join(format!("{}.stdout", name.replace(' ', "-")));
        let said = File::create(&path).map_err(|error| self.fail(name, &error))?;
        self.run_with(name, command, Some(said))?;
        fs::read_to_string(&path).map_err(|error| self.fail(name, &error))
    }

    fn run_with(
        &self,
        name: &str,
        command: &mut Command,
        stdout: Option<File>,
    ) -> Result<(), Stopped> {
        if self.ended().iter().any(|stage| stage.failure.is_some()) {
            return Err(Stopped);
        }
        let path = self.logs.join(format!("{}.log", name.replace(' ', "-")));
        let begun = Instant::now();
        let outcome = File::create(&path).and_then(|log| {
            let stdout = stdout.map_or_else(|| log.try_clone(), Ok)?;
            run_within(command.stdin(Stdio::null()).stdout(stdout).stderr(log), LIMIT)
        });
        let took = begun.elapsed();
        let said = fs::read(&path).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let reason = match outcome {
            Ok(CommandEnd::Ended(status)) if status.success() => None,
            Ok(CommandEnd::Ended(status)) => Some(format!("{command:?}: {status}")),
            Ok(CommandEnd::Hung(descendants)) => {
                let descendants = descendants.join("\n    ");
                Some(format!("{command:?}: hangs after {LIMIT:?}, with\n    {descendants}"))
            }
            Err(error) => Some(format!("{command:?}: {error}")),
        };
        let failure =
            reason.map(|reason| StageFailure { reason, last_lines: last_lines_of(&said) });
        let verdict = if failure.is_some() { ", FAILED" } else { "" };
        let skipped = said.lines().filter(|line| line.starts_with("SKIPPED: ")).map(str::to_owned);
        let skipped = skipped.collect();
        let is_ok = failure.is_none();
        let mut ended = self.ended();
        // Under the lock, so that what two stages say is not mixed.
        println!("\n=== {name} ({:.1} s{verdict})\n{}", took.as_secs_f64(), said.trim_end());
        ended.push(EndedStage { name: name.to_owned(), took, skipped, failure });
        if is_ok { Ok(()) } else { Err(Stopped) }
    }

    /// Notes a failure of our own.
    pub(super) fn fail(&self, name: &str, error: &dyn std::fmt::Display) -> Stopped {
        let failure = Some(StageFailure { reason: error.to_string(), last_lines: String::new() });
        let (name, took, skipped) = (name.to_owned(), Duration::ZERO, Vec::new());
        self.ended().push(EndedStage { name, took, skipped, failure });
        Stopped
    }

    /// Prints how long each took, what was skipped and what failed.
    pub(super) fn conclude(&self) -> Result<(), TaskFailure> {
        let mut ended = self.ended();
        ended.sort_by_key(|stage| std::cmp::Reverse(stage.took));
        println!("\nseconds  stage");
        for stage in &*ended {
            println!("{:7.1}  {}", stage.took.as_secs_f64(), stage.name);
        }
        println!("{:7.1}  in all", self.begun.elapsed().as_secs_f64());
        ended.iter().flat_map(|stage| &stage.skipped).for_each(|line| println!("{line}"));
        for stage in &*ended {
            if let Some(failure) = &stage.failure {
                println!("\n=== the end of {}, once more\n{}", stage.name, failure.last_lines);
            }
        }
        let is_root = is_root()?;
        let failures = ended.iter().filter_map(|stage| {
            let mut skipped = stage.skipped.iter();
            let unfounded = || skipped.find(|line| is_root && is_unfounded(line));
            let failure = stage.failure.as_ref().map(|it| &it.reason).or_else(unfounded)?;
            Some(format!("\n  {}: {failure}", stage.name))
        });
        let failures: String = failures.collect();
        if failures.is_empty() { Ok(()) } else { Err(format!("failed:{failures}").into()) }
    }

    fn ended(&self) -> MutexGuard<'_, Vec<EndedStage>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The last [`LAST_LINES`] of an output, indented: results of tests are not to be counted twice.
fn last_lines_of(said: &str) -> String {
    let lines: Vec<_> = said.trim_end().lines().collect();
    let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
    last.iter().map(|line| format!("    {line}\n")).collect()
}

/// Whether a line tells of a test that root could make.
fn is_unfounded(skipped: &str) -> bool {
    let named = skipped.trim_start_matches("SKIPPED: ");
    let reason = named.split_once(": ").map_or(named, |(_test, reason)| reason);
    NO_REASONS_FOR_ROOT.iter().any(|it| reason.contains(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_output_the_end_is_printed_once_more() {
        let said: String = (0..100).map(|line| format!("{line}\n")).collect();
        let last = last_lines_of(&said);
        assert_eq!(last.lines().count(), LAST_LINES);
        assert!(last.starts_with("    40\n") && last.ends_with("\n    99\n"), "{last}");
        assert_eq!(last_lines_of("one\n"), "    one\n");
        assert_eq!(last_lines_of(""), "");
    }

    #[test]
    fn root_leaves_out_what_the_machine_lacks_and_nothing_else() {
        assert!(is_unfounded("SKIPPED: raw_c::files_go: only root can mount a binderfs"));
        assert!(is_unfounded("SKIPPED: logs::a_stream: python3 is not installed"));
        assert!(!is_unfounded("SKIPPED: raw_c::root_is_served: this user may not withhold pages"));
    }
}
