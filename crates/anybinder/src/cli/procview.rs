//! The command line of `anybinder procview`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

/// Show processes in the shape of /proc, for ps, pstree and all that reads it.
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  anybinder procview run --scenario pstree -p
  sudo anybinder procview mount /mnt/proc")]
pub(crate) enum ProcviewCommand {
    Mount(ProcviewMountOptions),
    Run(ProcviewRunOptions),
}

/// Show processes at a directory, in the shape of /proc.
///
/// Without a scenario these are the processes that have a device of a binderfs open, as they are at
/// the moment of each read. Returns once the directory answers, and serves it in the background until
/// it is unmounted.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo anybinder procview mount /mnt/proc
  sudo anybinder procview mount /mnt/proc --scenario=5000 --foreground
  sudo umount /mnt/proc

SIGTERM and SIGINT unmount it, too.")]
pub(crate) struct ProcviewMountOptions {
    /// The directory
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,

    #[command(flatten)]
    pub(crate) shown: ShownOptions,

    /// Stay in the foreground
    #[arg(long)]
    pub(crate) foreground: bool,
}

/// Run a command that sees processes at /proc.
///
/// Root is not needed. The view ends with the last process that sees it.
///
/// Only what is read at /proc is another: a signal to the number of a process that a scenario shows
/// goes to the real process that has this number, if there is one. Do not run `kill` or `pkill` on them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder procview run --scenario pstree -p
  anybinder procview run --scenario=100 --levels 2 -- ps aux

Exit status: that of the command; 126 if it cannot be executed, 127 if it does not exist, 1 if there
is no view to show.")]
pub(crate) struct ProcviewRunOptions {
    #[command(flatten)]
    pub(crate) shown: ShownOptions,

    /// Believe no name or listing of the kernel's processes that was told before, not for 100 ms
    #[arg(long, conflicts_with = "scenario")]
    pub(crate) fresh: bool,

    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD",
          value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

/// Which processes are shown.
#[derive(Debug, Clone, Args)]
pub(crate) struct ShownOptions {
    /// Show this many processes that nobody has started, in namespaces inside each other
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true,
          default_missing_value = "10000",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) scenario: Option<u32>,

    /// How many namespaces of the scenario lie inside each other
    #[arg(long, value_name = "N", default_value_t = 3, requires = "scenario",
          value_parser = clap::value_parser!(u32).range(1..=33))]
    pub(crate) levels: u32,

    /// Show what the scenario's innermost namespace sees, instead of the outermost
    #[arg(long, requires = "scenario")]
    pub(crate) innermost: bool,

    /// The binderfs whose users are shown; needed where there are several
    #[arg(long, visible_alias = "dir", value_name = "DIR", value_hint = ValueHint::DirPath,
          conflicts_with = "scenario")]
    pub(crate) binderfs: Option<PathBuf>,

    /// Show all processes of the machine
    #[arg(long, conflicts_with_all = ["scenario", "binderfs"])]
    pub(crate) all: bool,
}
