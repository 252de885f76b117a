//! A limit to the time of a command: one that hangs is named and ended, so that a run of CI tells of it before its own end.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use binder_os::{descendants, processes};

/// How often it looks whether the command has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How a command ended.
pub(super) enum CommandEnd {
    Ended(ExitStatus),
    /// It was ended after the limit, with these descendants: their numbers and command lines.
    Hung(Vec<String>),
}

/// Runs a command, and ends it and its descendants if it takes longer than `limit`.
pub(super) fn run_within(command: &mut Command, limit: Duration) -> io::Result<CommandEnd> {
    let begun = Instant::now();
    let mut child = command.spawn()?;
    while begun.elapsed() < limit {
        if let Some(status) = child.try_wait()? {
            return Ok(CommandEnd::Ended(status));
        }
        thread::sleep(LOOK_EVERY);
    }
    // All are held before the first ends, for what it leaves behind gets another parent.
    let held: Vec<(String, OwnedFd)> = descendants::list(child.id(), None)
        .into_iter()
        .filter_map(|pid| Some((describe(pid), processes::pidfd(pid).ok()?)))
        .collect();
    child.kill()?;
    child.wait()?;
    for (_, descendant) in &held {
        // It may have ended with the command.
        drop(processes::kill(descendant));
    }
    Ok(CommandEnd::Hung(held.into_iter().map(|(line, _)| line).collect()))
}

fn describe(pid: u32) -> String {
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&arguments).replace('\0', " ");
    format!("{pid} {}", line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_hangs_is_ended_with_its_descendants() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000 & wait"]);
        let CommandEnd::Hung(lines) = run_within(&mut command, Duration::from_millis(500)).unwrap()
        else {
            panic!("it sleeps for longer");
        };
        let [line] = &lines[..] else { panic!("one descendant, not {lines:?}") };
        let (pid, name) = line.split_once(' ').unwrap();
        assert_eq!(name, "sleep 1000");
        // One that has ended, and that its parent has not waited for yet, has none either.
        let command_line = || fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        binder_testkit::wait_until(|| command_line().is_empty());
    }

    #[test]
    fn a_command_that_ends_has_its_status() {
        let limit = binder_testkit::HANG_TIMEOUT;
        let outcome = run_within(Command::new("sh").args(["-c", "exit 3"]), limit).unwrap();
        assert!(matches!(outcome, CommandEnd::Ended(status) if status.code() == Some(3)));
    }
}
