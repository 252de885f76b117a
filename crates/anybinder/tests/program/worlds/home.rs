//! Where the worlds of a test are kept.

use std::os::unix::fs::chown;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::caller::{Caller, Outcome, finish};

/// A directory of a caller's own for worlds, which end with this.
pub(super) struct Home {
    caller: Caller,
    dir: TempDir,
}

impl Home {
    pub(super) fn of(caller: Caller) -> Self {
        let dir = tempfile::Builder::new().prefix("worlds").tempdir_in("/tmp").unwrap();
        let uid = caller.uid().trim_end().parse().unwrap();
        chown(dir.path(), Some(uid), Some(uid)).unwrap();
        Self { caller, dir }
    }

    pub(super) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// `anybinder world WORDS`.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        self.program(&[&["world"], words].concat())
    }

    /// `anybinder WORDS`.
    pub(super) fn program(&self, words: &[&str]) -> Command {
        let mut command = self.caller.command(words);
        command.env("XDG_RUNTIME_DIR", self.dir()).env_remove("ANYBINDER_WORLD");
        command
    }

    pub(super) fn world(&self, words: &[&str]) -> Outcome {
        finish(&mut self.command(words))
    }

    /// What it prints when it succeeds.
    #[track_caller]
    pub(super) fn fine(&self, words: &[&str]) -> String {
        let outcome = self.world(words);
        assert!(outcome.code() == 0 && outcome.stderr.is_empty(), "{words:?}: {outcome:?}");
        outcome.stdout
    }

    pub(super) fn exec(&self, world: &str, script: &str) -> Command {
        self.command(&["exec", world, "--", "sh", "-c", script])
    }

    pub(super) fn list(&self) -> Vec<String> {
        self.fine(&["list", "--json"]).lines().map(str::to_owned).collect()
    }

    /// A number that the list tells of a world.
    pub(super) fn number(&self, name: &str, field: &str) -> u32 {
        let listed = self.list();
        let line =
            listed.iter().find(|line| line.contains(&format!("\"name\":\"{name}\""))).unwrap();
        let rest = line.split(&format!("\"{field}\":")).nth(1).unwrap();
        rest.split([',', '}']).next().unwrap().parse().unwrap()
    }

    pub(super) fn state(&self, name: &str) -> Option<String> {
        let listed = self.list();
        let line = listed.iter().find(|line| line.contains(&format!("\"name\":\"{name}\"")))?;
        Some(line.split("\"state\":\"").nth(1)?.split('"').next()?.to_owned())
    }
}

impl Drop for Home {
    /// Ends what a failed test left.
    fn drop(&mut self) {
        let listed = self.world(&["list"]).stdout;
        for name in listed.lines().skip(1).filter_map(|line| line.split(' ').next()) {
            drop(self.world(&["rm", "--force", name]));
        }
    }
}
