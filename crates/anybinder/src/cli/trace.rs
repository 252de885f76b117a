//! The options of `anybinder trace`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::InspectOptions;
use super::worlds::seconds;

/// The most bytes of a transaction's data that a driver tells.
const DATA_BYTES_MAX: i64 = 4096;

/// Show every call as it is made: who calls whom, by what method, how long it takes and how it ends.
///
/// A call and its reply are a line each, indented for each call that they are made within; a reply's tells how long
/// the call was queued, served, and on its way back. Follows the binderfs that is mounted, or runs CMD in a private
/// world and follows that, on stderr; CMD's arguments come after `--`. Ends with CMD, or by ^C. Interfaces are told
/// where the data begins with their names, methods where --aidl or --codes name them. Root, and the user who serves the
/// binderfs, see all calls; other users see their own.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_value_name = "ACTION",
    after_help = "\
Examples:
  anybinder trace -- ./my-client
  anybinder trace --manager -- ./my-service
  anybinder trace --aidl src/aidl --interface IGreeter -- ./my-client
  anybinder trace -c --pid 4711                 count, until ^C
  anybinder trace --pid 4711 --follow           and all that it starts
  anybinder trace --errors --json | jq .status
  anybinder trace record calls.abtrace -- ./my-client
  anybinder trace export calls.abtrace --format perfetto -o calls.pftrace

Exit status: that of CMD, or 0."
)]
pub(crate) struct TraceOptions {
    #[command(subcommand)]
    pub(crate) action: Option<TraceAction>,

    #[command(flatten)]
    pub(crate) inspect: InspectOptions,

    #[command(flatten)]
    pub(crate) report: TraceReportOptions,

    /// Show this many bytes of the data of calls and replies: as arguments and results where --aidl tells their types,
    /// in hexadecimal else. A binderfs that `anybinder mount` makes tells them with --trace-data only [default: 1024
    /// where CMD has a world of its own and --aidl is given, else 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=DATA_BYTES_MAX))]
    pub(crate) max_bytes: Option<u32>,

    /// Write to this file
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) traced: TracedCommand,
}

/// The command that is traced.
#[derive(Debug, Args)]
pub(crate) struct TracedCommand {
    /// Run CMD where this program runs, and follow the binderfs there, instead of a world of its own
    #[arg(long, requires = "command")]
    pub(crate) here: bool,

    /// Have a service manager in CMD's world
    #[arg(long, requires = "command", conflicts_with = "here")]
    pub(crate) manager: bool,

    /// The command and its arguments
    #[arg(last = true, value_name = "CMD", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

/// Which calls of a trace are shown, and how.
#[derive(Debug, Args)]
pub(crate) struct TraceReportOptions {
    /// Count calls, time and errors, by method and by pair of processes, and tell at the end
    #[arg(short = 'c', long = "count")]
    pub(crate) counts: bool,

    /// Only calls that these processes send or receive
    #[arg(short, long = "pid", value_name = "PID", value_delimiter = ',')]
    pub(crate) pids: Vec<u32>,

    /// Only calls that processes send or receive whose names contain this
    #[arg(short, long = "name", value_name = "TEXT")]
    pub(crate) names: Vec<String>,

    /// With --pid or --name, also calls of processes that open a device while it is traced: descendants of a chosen
    /// process ("descendants", the default), or all ("all"). A process that has a device open already is not new, nor is
    /// one that uses its parent's open device. A process whose parent has ended before it opens a device is no
    /// descendant
    #[arg(long, value_name = "WHO", value_enum, num_args = 0..=1, require_equals = true,
          default_missing_value = "descendants")]
    pub(crate) follow: Option<FollowedProcesses>,

    /// Only calls on these devices
    #[arg(long = "device", value_name = "NAME")]
    pub(crate) devices: Vec<String>,

    /// Only calls of interfaces whose names contain this
    #[arg(short, long = "interface", value_name = "TEXT")]
    pub(crate) interfaces: Vec<String>,

    /// Only calls of methods of this name or code
    #[arg(short, long = "method", value_name = "NAME")]
    pub(crate) methods: Vec<String>,

    /// Only calls that take as many milliseconds, told when they have ended
    #[arg(long, value_name = "MS")]
    pub(crate) slower_than: Option<f64>,

    /// Only calls that fail, told when they have
    #[arg(long)]
    pub(crate) errors: bool,

    /// Name methods, and decode what they send and return, as the AIDL sources below this directory tell; may be
    /// repeated
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) aidl: Vec<PathBuf>,

    /// Name methods as this file does: a line for each, of an interface, a code and a name; may be repeated
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) codes: Vec<PathBuf>,
}

/// Processes that are shown besides those that were asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FollowedProcesses {
    /// Descendants of a chosen process
    Descendants,
    /// All processes that open a device
    All,
}

/// The actions on recordings.
#[derive(Debug, Subcommand)]
pub(crate) enum TraceAction {
    Record(TraceRecordOptions),
    Show(TraceShowOptions),
    Stats(TraceStatsOptions),
    Export(TraceExportOptions),
    Replay(TraceReplayOptions),
}

/// Record a trace in a file.
///
/// Ends with CMD, or by ^C. A recording that is ended otherwise, by SIGKILL even, is whole but for the last
/// moment.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder trace record calls.abtrace -- ./my-client
  anybinder trace record --max-bytes 256 calls.abtrace")]
pub(crate) struct TraceRecordOptions {
    /// The binderfs to look into, by its directory [default: the one that is mounted]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,

    /// Record data of calls and replies, this many bytes of each
    #[arg(long, value_name = "N", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(0..=DATA_BYTES_MAX))]
    pub(crate) max_bytes: u32,

    /// The file; one that is there is replaced
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) traced: TracedCommand,
}

/// Show a recording, as `anybinder trace` shows calls that are made.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder trace show calls.abtrace
  anybinder trace show calls.abtrace --errors --json | jq .status")]
pub(crate) struct TraceShowOptions {
    /// The recording
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,

    /// Show this many of the bytes that were recorded of calls and replies: as arguments and results where --aidl tells
    /// their types, in hexadecimal else [default: 1024 with --aidl, else 0]
    #[arg(long, value_name = "N")]
    pub(crate) max_bytes: Option<u32>,

    #[command(flatten)]
    pub(crate) report: TraceReportOptions,
}

/// Count the calls of a recording, by method and by pair of processes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder trace stats calls.abtrace
  anybinder trace stats calls.abtrace --pid 4711")]
pub(crate) struct TraceStatsOptions {
    /// The recording
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) report: TraceReportOptions,
}

/// Write a recording in the format of another program.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder trace export calls.abtrace --format perfetto -o calls.pftrace    for ui.perfetto.dev
  anybinder trace export calls.abtrace --format pcapng -o calls.pcapng
  anybinder trace export --dissector > ~/.local/lib/wireshark/plugins/anybinder.lua")]
pub(crate) struct TraceExportOptions {
    /// The recording
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, required_unless_present = "dissector")]
    pub(crate) file: Option<PathBuf>,

    /// The format
    #[arg(short, long, value_enum, required_unless_present = "dissector")]
    pub(crate) format: Option<TraceFormat>,

    /// Print the dissector by which Wireshark and tshark understand pcapng files of this program
    #[arg(long, conflicts_with_all = ["file", "format"])]
    pub(crate) dissector: bool,

    /// Write to this file [default: stdout]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    /// Name methods as the AIDL sources below this directory do; may be repeated
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) aidl: Vec<PathBuf>,

    /// Name methods as this file does: a line for each, of an interface, a code and a name; may be repeated
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) codes: Vec<PathBuf>,
}

/// A format of another program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraceFormat {
    /// Perfetto's protobuf: slices of callers and servers, with flows between them
    Perfetto,
    /// The JSON of Chrome's trace viewer
    Chrome,
    /// A capture for Wireshark; see --dissector
    Pcapng,
    /// A table, with a line for each call
    Csv,
}

/// Make the calls of a recording once more, and compare the replies.
///
/// The calls of the interface that the service has are made in their order, one after the other, by this program;
/// one-ways among them are sent, with no reply to compare. Replies are equal if all their bytes are, or their status
/// is. Calls with objects or descriptors, or recorded in part, are refused and counted: record with --max-bytes 4096.
/// A call that is not answered in time is told and is the last.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder trace record --max-bytes 4096 calls.abtrace
  anybinder trace replay calls.abtrace --against com.example.IHello/default --aidl src/aidl
  anybinder trace replay calls.abtrace --against com.example.IHello/default --method greet --limit 100

Exit status: 0 if all replies are equal, 1 if not, if one did not come, or if no call could be made.")]
pub(crate) struct TraceReplayOptions {
    /// The recording
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// The service, by its name at the service manager
    #[arg(long, value_name = "NAME")]
    pub(crate) against: String,

    /// The device
    #[arg(long, value_name = "PATH", default_value = "/dev/binder", value_hint = ValueHint::AnyPath)]
    pub(crate) device: PathBuf,

    /// Only calls of methods of this name or code
    #[arg(short, long = "method", value_name = "NAME")]
    pub(crate) methods: Vec<String>,

    /// At most this many calls, from the first on
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,

    /// Wait this long for each reply
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) timeout: Duration,

    /// Print a JSON object for each call and for all together
    #[arg(long)]
    pub(crate) json: bool,

    /// Name methods, and decode what they send and return, as the AIDL sources below this directory tell; may be
    /// repeated
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) aidl: Vec<PathBuf>,

    /// Name methods as this file does: a line for each, of an interface, a code and a name; may be repeated
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) codes: Vec<PathBuf>,
}
