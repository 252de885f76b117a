//! The options of the subcommands that look into a driver.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Where to look, and how to tell.
#[derive(Debug, Args)]
pub(crate) struct InspectOptions {
    /// The binderfs to look into, by its directory [default: the one that is mounted]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,

    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// List the processes that use a binder, and what each holds.
///
/// IDLE counts threads that wait for a call, NODES objects that the process offers, HANDLES objects of
/// others that it knows, QUEUED work that it has not read, BYTES data in its receive area; SERVING
/// counts calls that it has not answered, WAITING its own calls.
///
/// Below come the RPC servers that programs publish, and their sessions: those of this user, and for root of all users.
/// A program publishes its servers if it is started with ANYBINDER_PUBLISH_RPC=1 set, or by a call of the library.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder run -- sh -c './my-service & sleep 1; anybinder ps'
  sudo anybinder mount /dev/binderfs --stats && anybinder ps
  anybinder ps --json | jq 'select(.handles > 1000) | .pid'
  ANYBINDER_PUBLISH_RPC=1 ./my-rpc-server & anybinder ps")]
pub(crate) struct PsOptions {
    #[command(flatten)]
    pub(crate) inspect: InspectOptions,
}

/// Show the activity of a binder's processes, as it changes.
///
/// For each open device: threads, calls and one-ways in a second, queues, buffers and pages, objects and
/// handles, and how long calls to it have taken. Press ? for the keys.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder top
  anybinder top --dir /dev/binderfs --interval 0.5
  anybinder top --json --count 1 | jq 'select(.received_per_s > 1000) | .name'")]
pub(crate) struct TopOptions {
    #[command(flatten)]
    pub(crate) inspect: InspectOptions,

    /// Seconds from one look to the next
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = interval)]
    pub(crate) interval: f64,

    /// How many intervals to show [default: until told to stop]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) count: Option<u32>,
}

fn interval(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.05..=3600.0).contains(seconds));
    seconds.ok_or_else(|| "an interval is between 0.05 and 3600 seconds".into())
}

/// Show the driver's tables: threads, objects, handles, buffers.
///
/// CALLS are the numbers of the calls that a thread waits for or serves, the innermost first. STRONG
/// counts references of others, LOCAL those of buffers and of the manager. A buffer is active while
/// its transaction lives, and delivered until it is freed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder state
  anybinder state --pid 4711
  anybinder state --json | jq 'select(.kind == \"node\")'

The same in Linux's format: binder_logs/state in the directory.")]
pub(crate) struct StateOptions {
    #[command(flatten)]
    pub(crate) inspect: InspectOptions,

    /// Only threads, objects, handles and buffers of this process
    #[arg(long)]
    pub(crate) pid: Option<u32>,
}

/// Show counters: objects made, commands given, returns read.
///
/// Totals include processes that are gone.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder stats
  anybinder stats --pid 4711
  anybinder stats --json | jq 'select(.name == \"BR_FAILED_REPLY\")'")]
pub(crate) struct StatsOptions {
    #[command(flatten)]
    pub(crate) inspect: InspectOptions,

    /// The counters of this process alone
    #[arg(long)]
    pub(crate) pid: Option<u32>,
}

/// Show the calls under way: caller, receiver, and since when.
///
/// A call is served once its receiver has read it, queued before, and in line if it is a one-way that
/// waits behind another to the same object. INTERFACE is told where the data begins with its name, as
/// that of Android's libraries does.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder transactions
  anybinder transactions --json | jq 'select(.elapsed_ms > 1000)'
  anybinder transactions --graph | dot -Tsvg > waits.svg")]
pub(crate) struct TransactionsOptions {
    #[command(flatten)]
    pub(crate) inspect: InspectOptions,

    /// Print a graph of processes and calls for Graphviz, with deadlocks in red
    #[arg(long, conflicts_with = "json")]
    pub(crate) graph: bool,
}

/// Find waits that will not end by themselves: deadlocks, processes without a thread left, one-ways that pile up.
///
/// Looks for half a second, so that waits which pass are not shown. A deadlock is a circle of calls in which each waits
/// for a process all of whose threads wait in it; one that involves more than Binder is not seen. A process has no thread
/// left when a call waits for it and none of its threads is idle: the calls that these serve are shown with it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder waits
  anybinder waits --watch --longer-than 10
  anybinder waits --json | jq 'select(.kind == \"deadlock\")'")]
pub(crate) struct WaitsOptions {
    #[command(flatten)]
    pub(crate) inspect: InspectOptions,

    /// Go on, and report each finding once it has lasted, and when it is over
    #[arg(short, long)]
    pub(crate) watch: bool,

    /// Seconds from one look to the next, with --watch
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = interval, requires = "watch")]
    pub(crate) interval: f64,

    /// Seconds for which a finding must last to be reported, with --watch
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, value_parser = interval, requires = "watch")]
    pub(crate) longer_than: f64,
}

/// Show processes, objects and calls in a browser, as they change: a graph of handles and waits, and how long calls take.
///
/// Prints the address of the page, which contains a secret: all who know the address see the page, with the rights of
/// the user who has started it. Nothing is read, and no call traced, while no browser shows the page. Ends by ^C.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder web
  anybinder web --listen 127.0.0.1:8377     on another machine: ssh -L 8377:127.0.0.1:8377 THIS_ONE
  sudo anybinder web --dir /dev/binderfs    with all users' calls")]
pub(crate) struct WebOptions {
    /// The binderfs to look into, by its directory [default: the one that is mounted]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,

    /// The address and port of the page; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,

    /// Seconds from one look to the next
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = interval)]
    pub(crate) interval: f64,
}

/// Show sends that failed, floods of one-ways, and one-ways that wait for a frozen process.
///
/// Times are UTC. The driver keeps the last 1024 events.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder log
  anybinder log --follow
  anybinder log --follow --json | jq .error")]
pub(crate) struct LogOptions {
    #[command(flatten)]
    pub(crate) inspect: InspectOptions,

    /// Go on, and tell of each event as it happens
    #[arg(short, long)]
    pub(crate) follow: bool,

    /// With --follow, also report calls that wait for this many seconds, and waits that will not end by themselves and have
    /// lasted for as long, as `anybinder waits --watch` does: deadlocks, processes without a thread left, one-ways that
    /// pile up
    #[arg(long, value_name = "SECONDS", value_parser = interval, num_args = 0..=1, require_equals = true,
          default_missing_value = "5", requires = "follow")]
    pub(crate) waits: Option<f64>,
}
