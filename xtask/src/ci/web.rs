//! The page of `anybinder web`: its types, its unit tests, and that the bundle which is checked in is what its sources
//! build to. What a browser shows of it is seen by the test `scenario` of `anybinder`, with the packages that come here.

use std::path::PathBuf;
use std::process::Command;

use super::skip;
use super::stages::{Stages, Stopped};
use crate::workspace::root;

/// How npm says that it has not come to the registry.
const WITHOUT_NETWORK: [&str; 6] =
    ["ENOTFOUND", "ECONNREFUSED", "ECONNRESET", "EAI_AGAIN", "ETIMEDOUT", "ENOTCACHED"];

/// Where the page's sources are.
fn place() -> PathBuf {
    root().join("web")
}

fn npm(arguments: &[&str]) -> Command {
    let mut command = Command::new("npm");
    command.current_dir(place()).args(arguments);
    command
}

/// Runs all of it, where there is npm and what it fetches.
pub(super) fn check(stages: &Stages) -> Result<(), Stopped> {
    if npm(&["--version"]).output().is_err() {
        return skip(stages, "web", "there is no npm");
    }
    let fetched = npm(&["ci", "--prefer-offline"]).output();
    let fetched = fetched.map_err(|error| stages.fail("web", &error))?;
    let told = String::from_utf8_lossy(&fetched.stderr);
    if !fetched.status.success() && WITHOUT_NETWORK.iter().any(|code| told.contains(code)) {
        return skip(stages, "web", "npm does not reach its registry");
    }
    if !fetched.status.success() {
        return Err(stages.fail("web", &told));
    }
    stages.run("web types", &mut npm(&["run", "check"]))?;
    stages.run("web tests", &mut npm(&["test"]))?;
    stages.run("web bundle", &mut npm(&["run", "verify"]))
}
