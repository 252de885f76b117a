//! The options of worlds that have names.

use std::ffi::OsString;
use std::time::Duration;

use binder_os::UserAndGroup;
use clap::{Args, Subcommand, ValueHint};

use super::WorldOptions;
use crate::world_name::WorldName;

/// Keep private binder worlds by name, and run commands in them.
///
/// A world is what `anybinder run` makes: /dev/binder and its like, served by this program, for the processes in it alone.
/// One with a name can be joined from any terminal of the same user, and root is not needed.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  anybinder world create dev
  anybinder world exec dev -- ./my-service      in one terminal,
  anybinder world enter dev                     and a shell in another
  anybinder world stop dev && anybinder world rm dev

What belongs to worlds is in $XDG_RUNTIME_DIR/anybinder, or else in /run/user/UID/anybinder, for root in
/run/anybinder, or in /tmp/anybinder-UID.")]
pub(crate) enum WorldCommand {
    Create(CreateOptions),
    List(ListOptions),
    Enter(EnterOptions),
    Exec(ExecOptions),
    Stop(StopOptions),
    Rm(RemoveOptions),
    Logs(LogsOptions),
}

/// Make a world that stays until it is stopped.
///
/// Returns once its devices answer.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder world create dev
  anybinder world create ci --device binder --limit user-nodes=100000")]
pub(crate) struct CreateOptions {
    /// Its name: up to 64 letters, digits, '-', '_' and '.', the first a letter or a digit
    pub(crate) name: WorldName,

    #[command(flatten)]
    pub(crate) world: WorldOptions,
}

/// List the worlds of this user.
///
/// A world is running; or stopped, and its log is still there; or dead: its process was killed.
#[derive(Debug, Args)]
#[command(
    visible_alias = "ls",
    after_help = "\
Examples:
  anybinder world list
  anybinder world list --json | jq -r 'select(.state == \"dead\") | .name'"
)]
pub(crate) struct ListOptions {
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// How a command runs in a world.
#[derive(Debug, Args)]
pub(crate) struct JoinOptions {
    /// Run as this user of the world, and in this group alone [default: the caller, and the user's number]
    #[arg(short, long, value_name = "UID[:GID]", value_parser = user_and_group)]
    pub(crate) user: Option<UserAndGroup>,
}

/// Run a shell in a world.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder world enter dev
  anybinder world enter dev --user 1000

It is the shell that $SHELL names, and it ends as by `exec`.")]
pub(crate) struct EnterOptions {
    /// The world
    pub(crate) name: WorldName,

    #[command(flatten)]
    pub(crate) join: JoinOptions,
}

/// Run a command in a world.
///
/// It has the caller's environment, directory and files 0 to 2. Where these are a terminal it has a terminal of its own,
/// which the caller's shows. It is killed if this program is; processes that it leaves running go on with the world.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder world exec dev -- ./my-client --verbose
  anybinder world exec dev --detach -- ./my-service
  anybinder world exec dev --user 1000 -- id

Exit status: that of the command, 128 and the signal if one ended it, 126 if it cannot be executed,
127 if it does not exist, 1 if there is no such world.")]
pub(crate) struct ExecOptions {
    /// The world
    pub(crate) name: WorldName,

    #[command(flatten)]
    pub(crate) join: JoinOptions,

    /// Return as soon as the command runs. Its output goes to the world's log
    #[arg(short, long)]
    pub(crate) detach: bool,

    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD",
          value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

/// End a world and every process in it.
///
/// Its processes get SIGTERM, and SIGKILL when the time is over. Returns when none is left. The log stays until `rm`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder world stop dev
  anybinder world stop dev --time 0")]
pub(crate) struct StopOptions {
    /// The worlds
    #[arg(required = true, value_name = "NAME")]
    pub(crate) names: Vec<WorldName>,

    /// How many seconds the processes get to end by themselves
    #[arg(short, long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) time: Duration,
}

/// Remove worlds that are stopped or dead.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder world rm dev
  anybinder world rm --force dev ci")]
pub(crate) struct RemoveOptions {
    /// The worlds
    #[arg(required = true, value_name = "NAME")]
    pub(crate) names: Vec<WorldName>,

    /// Remove running worlds, too: all processes in them are killed
    #[arg(short, long)]
    pub(crate) force: bool,
}

/// Print the log of a world: messages of its driver, output of its detached commands.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder world logs dev
  anybinder world logs --follow dev")]
pub(crate) struct LogsOptions {
    /// The world
    pub(crate) name: WorldName,

    /// Go on printing as the log grows, until the world ends
    #[arg(short, long)]
    pub(crate) follow: bool,
}

fn user_and_group(text: &str) -> Result<UserAndGroup, String> {
    let (uid, gid) = text.split_once(':').unwrap_or((text, text));
    let number = |text: &str| text.parse().ok().filter(|number| *number != u32::MAX);
    match (number(uid), number(gid)) {
        (Some(uid), Some(gid)) => Ok(UserAndGroup { uid, gid }),
        _ => Err("a user is a number, and so is the group after a colon".into()),
    }
}

pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.0..=86_400.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "it is between 0 and 86400 seconds".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_numbers_with_their_groups() {
        let read = |text| user_and_group(text).ok().map(|user| (user.uid, user.gid));
        assert_eq!(read("1000"), Some((1000, 1000)));
        assert_eq!(read("1000:5"), Some((1000, 5)));
        for wrong in ["", "root", "1:", ":1", "-1", "4294967295", "1:2:3"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn times_are_seconds() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["-1", "nan", "inf", "soon", "86401"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
