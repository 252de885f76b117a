//! The command line, from which help, completions and the man page are made.

mod aidl;
mod inspect;
mod limits;
mod manager;
mod oci;
mod procview;
mod slips;
mod trace;
mod worlds;

use std::env;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use binder_bench::Bench;
use binder_fuse::{BufferRoute, DEVICES_MAX, DeviceSpec, Inheritance, NAME_MAX_BYTES, Scheduling};
use binder_http::parse_metrics_address;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

use crate::world_name::WorldName;

pub(crate) use aidl::AidlArguments;
pub(crate) use inspect::{
    InspectOptions, LogOptions, PsOptions, StateOptions, StatsOptions, TopOptions,
    TransactionsOptions, WaitsOptions, WebOptions,
};
pub(crate) use limits::{Limit, limits};
pub(crate) use manager::{
    ClusterArguments, DumpPriority, ManagerArguments, ServiceArguments, ServiceCallOptions,
    ServiceCommand, ServiceDumpOptions, ServiceListOptions, ServiceNameOptions,
    ServiceShellOptions, ServiceWaitOptions, ServicemanagerOptions,
};
pub(crate) use oci::{ListHookOptions, OciOptions};
pub(crate) use procview::{
    ProcviewCommand, ProcviewMountOptions, ProcviewRunOptions, ShownOptions,
};
pub(crate) use trace::{
    FollowedProcesses, TraceAction, TraceExportOptions, TraceFormat, TraceOptions,
    TraceRecordOptions, TraceReplayOptions, TraceReportOptions, TraceShowOptions,
    TraceStatsOptions, TracedCommand,
};
pub(crate) use worlds::{
    CreateOptions, EnterOptions, ExecOptions, ListOptions, LogsOptions, RemoveOptions, StopOptions,
    WorldCommand,
};

/// Binder on any Linux, without a kernel module.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Cli {
    /// Log more: info, debug, trace. RUST_LOG, if set, decides instead.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,

    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// Reads the command line. One that asks for what cannot be ends the program, with a usage error.
    pub(crate) fn parse_and_check() -> Self {
        let words = cli_words(env::args_os().collect());
        let parsed = Self::try_parse_from(&words);
        let cli = parsed.unwrap_or_else(|error| slips::explain(error, &words).exit());
        if let Err((subcommand, words)) = cli.command.check_devices() {
            let mut command = Self::command();
            command.build();
            let command = command.find_subcommand_mut(subcommand).expect("it was given");
            command.error(ErrorKind::ValueValidation, words).exit();
        }
        cli
    }
}

impl Command {
    /// Checks the devices of all options together. Returns the subcommand and the mistake.
    fn check_devices(&self) -> Result<(), (&'static str, String)> {
        let (subcommand, devices, most) = match self {
            Self::Run(options) => ("run", &options.world.devices, DEVICES_MAX),
            Self::World(WorldCommand::Create(options)) => {
                ("world", &options.world.devices, DEVICES_MAX)
            }
            Self::Mount(options) => ("mount", &options.devices, options.max),
            _ => return Ok(()),
        };
        devices.check(most).map_err(|words| (subcommand, words))
    }
}

/// A link to the program that is called so is `anybinder oci`: podman and CRI-O give a runtime no words before its own.
const OCI_NAME: &str = "anybinder-oci";

/// Returns the words of the command line, with the subcommand that the program's name stands for.
fn cli_words(mut words: Vec<OsString>) -> Vec<OsString> {
    if words.first().is_some_and(|name| Path::new(name).file_name() == Some(OCI_NAME.as_ref())) {
        words.splice(..1, ["anybinder".into(), "oci".into()]);
    }
    words
}

const EXAMPLES: &str = "\
Examples:
  anybinder demo                            see a service answer calls
  anybinder run -- ./my-service             give one program, and what it starts, a binder
  anybinder run bash                        a shell with /dev/binder in it
  anybinder world create dev                a world that stays; `world enter dev` from any terminal
  sudo anybinder mount /dev/binderfs        give the whole machine a binder
  anybinder run --manager -- ./my-service   the same, with a service manager to register at
  anybinder service list                    the services that are registered
  anybinder ps                              who uses the binder here, and for what
  anybinder top                             the same as it changes, in the terminal
  anybinder web                             a graph of it all, in a browser
  anybinder trace -- ./my-client            every call that it makes, and what becomes of it
  anybinder aidl -o src/generated aidl/     AIDL to Rust, without Android's compiler
  anybinder procview run --scenario pstree  made-up processes, for ps and pstree
  anybinder doctor                          find out what this machine allows
  anybinder bench ping                      measure calls, beside a futex and a socket

Exit status: 0 done, 1 failed, 2 wrong usage; `run` exits as its command does.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(RunOptions),
    #[command(subcommand)]
    World(WorldCommand),
    Mount(MountArguments),
    Oci(OciOptions),
    #[command(subcommand)]
    Procview(ProcviewCommand),
    Preload(PreloadOptions),
    Doctor(DoctorOptions),
    Demo(DemoOptions),
    Ps(PsOptions),
    Top(TopOptions),
    State(StateOptions),
    Stats(StatsOptions),
    Transactions(TransactionsOptions),
    Waits(WaitsOptions),
    Log(LogOptions),
    Trace(Box<TraceOptions>),
    Aidl(AidlArguments),
    Web(WebOptions),
    Servicemanager(ServicemanagerOptions),
    Service(ServiceArguments),
    /// Measure a device, each time beside its baselines
    #[command(subcommand)]
    Bench(Bench),
    /// The actors of `demo`, inside its world
    #[command(hide = true)]
    DemoCast(DemoCastOptions),
    /// A hook of containers: shows a list of file systems in one that is about to be made
    #[command(hide = true)]
    ListHook(ListHookOptions),
    /// Lends files to processes of a user
    #[command(hide = true)]
    Broker(BrokerOptions),
    Completions(CompletionsOptions),
    Man(ManOptions),
}

/// Run a command in a private binder world.
///
/// The command sees /dev/binder, /dev/hwbinder and /dev/vndbinder (or the devices named), served by
/// this program and private to this world. Root is not needed. When the command ends, all processes that it has left
/// running end too, and nothing remains.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder run -- ./service --port 1
  anybinder run --device binder --device mybinder bash
  anybinder run --name dev bash             others join it by `anybinder world enter dev`

Exit status: that of the command, 128 and the signal if one ended it, 126 if it cannot be executed,
127 if it does not exist, 1 if there is no world to run it in.")]
pub(crate) struct RunOptions {
    #[command(flatten)]
    pub(crate) world: WorldOptions,

    /// Give the world a name, by which other terminals join it (`anybinder world`). It ends with its last process instead of
    /// with this command
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<WorldName>,

    /// Return as soon as the command runs. Its output goes to the world's log
    #[arg(short, long, requires = "name")]
    pub(crate) detach: bool,

    /// Start no service manager, though programs call for one and none of them is it
    #[arg(long, conflicts_with = "manager")]
    pub(crate) no_manager: bool,

    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD",
          value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}

/// How a private world is made.
#[derive(Debug, Args)]
pub(crate) struct WorldOptions {
    #[command(flatten)]
    pub(crate) devices: DeviceArguments,

    /// How received data reaches the memory of a process
    #[arg(long, value_enum, default_value_t, hide_short_help = true)]
    pub(crate) delivery: DeliveryChoice,

    /// Do not supervise system calls. Then the command cannot mount binderfs itself, and ioctls without an argument, such
    /// as BINDER_THREAD_EXIT, fail
    #[arg(long, hide_short_help = true)]
    pub(crate) no_seccomp: bool,

    /// Have all calls go through the kernel's FUSE, none by shared memory: preload no library for that
    #[arg(long)]
    pub(crate) no_ring: bool,

    #[command(flatten)]
    pub(crate) clients: ClientOptions,

    #[command(flatten)]
    pub(crate) manager: ManagerArguments,

    #[command(flatten)]
    pub(crate) metrics: MetricsArguments,

    /// Show the command its world at /proc: itself, the processes that it starts, and the driver
    #[arg(long)]
    pub(crate) proc: bool,

    /// Have /proc show each change at once, instead of caching names and listings for 100 ms
    #[arg(long, requires = "proc")]
    pub(crate) fresh: bool,

    /// Have /proc/filesystems list binder, for scripts that look there first. Then programs in user namespaces of their
    /// own, as bubblewrap makes them, cannot mount /proc
    #[arg(long, hide_short_help = true, conflicts_with = "proc")]
    pub(crate) list_binder: bool,

    /// Have further users in an ordinary user's world: those that /etc/subuid and /etc/subgid grant, numbered from 0 on,
    /// beside the caller. Root's worlds have all users
    #[arg(long)]
    pub(crate) map_users: bool,
}

/// Serve binderfs at a directory, for all who can see it.
///
/// Returns once the file system answers, and serves it in the background until it is unmounted.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo mkdir -p /dev/binderfs
  sudo anybinder mount /dev/binderfs
  sudo anybinder mount /dev/binderfs --mode 0666 --links --stats
  sudo anybinder mount /dev/binderfs --devices binder --foreground
  sudo umount /dev/binderfs

SIGTERM and SIGINT unmount it, too, and SIGHUP, unless there is a file of limits to read again.")]
pub(crate) struct MountArguments {
    /// The directory
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,

    #[command(flatten)]
    pub(crate) devices: DeviceArguments,

    /// The permissions of the devices, in octal
    #[arg(long, value_name = "MODE", value_parser = octal_mode, default_value = "0600")]
    pub(crate) mode: u32,

    /// The owner of the devices, by uid [default: the caller]
    #[arg(long, value_name = "UID", value_parser = clap::value_parser!(u32).range(..i64::from(u32::MAX)))]
    pub(crate) uid: Option<u32>,

    /// The group of the devices, by gid [default: the caller's]
    #[arg(long, value_name = "GID", value_parser = clap::value_parser!(u32).range(..i64::from(u32::MAX)))]
    pub(crate) gid: Option<u32>,

    /// How many devices there may be
    #[arg(long, value_name = "N", default_value_t = DEVICES_MAX,
          value_parser = clap::value_parser!(u32).range(0..=i64::from(DEVICES_MAX)))]
    pub(crate) max: u32,

    /// Show what the driver does in binder_logs/, to all who can see the directory
    #[arg(long)]
    pub(crate) stats: bool,

    /// Let the data of calls be traced, too: each user traces the data of own processes, root all
    #[arg(long, requires = "stats")]
    pub(crate) trace_data: bool,

    /// Make /dev/NAME a symbolic link to each device while it is mounted. Other files of that name stay. This is the default
    /// for root at a directory below /dev, if none of the names is taken
    #[arg(long)]
    pub(crate) links: bool,

    /// Make no links
    #[arg(long, conflicts_with = "links")]
    pub(crate) no_links: bool,

    /// Read limits from this file, one NAME=NUMBER in a line, and again on SIGHUP. Those of --limit take precedence
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) limits_file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) metrics: MetricsArguments,

    /// Take the place of a binderfs that is served there; programs that have its devices open keep them
    #[arg(long)]
    pub(crate) replace: bool,

    /// Stay in the foreground, and notify systemd when it is mounted
    #[arg(long)]
    pub(crate) foreground: bool,

    /// How received data reaches the memory of a process
    #[arg(long, value_enum, default_value_t, hide_short_help = true)]
    pub(crate) delivery: DeliveryChoice,

    #[command(flatten)]
    pub(crate) clients: ClientOptions,

    #[command(flatten)]
    pub(crate) manager: ManagerArguments,
}

/// Whether the driver's figures are shown.
#[derive(Debug, Clone, Args)]
pub(crate) struct MetricsArguments {
    /// Serve the driver's figures over HTTP at /metrics, for Prometheus: at this port of the loopback interface, or at an
    /// address. Port 0 means any free one, which is printed to stderr
    #[arg(long = "metrics", value_name = "[ADDRESS:]PORT", value_parser = parse_metrics_address)]
    pub(crate) address: Option<SocketAddr>,
}

/// The devices of a binderfs.
#[derive(Debug, Clone, Args)]
pub(crate) struct DeviceArguments {
    /// The devices in it, with commas between their names; may be repeated
    #[arg(long = "devices", visible_alias = "device", value_delimiter = ',', value_name = "NAMES",
          value_parser = device_name, default_value = "binder,hwbinder,vndbinder")]
    pub(crate) names: Vec<String>,
}

impl DeviceArguments {
    /// Checks them where there may be `most`.
    fn check(&self, most: u32) -> Result<(), String> {
        let names = &self.names;
        let is_named_before = |(at, name): &(usize, &String)| names[..*at].contains(name);
        if let Some((_, name)) = names.iter().enumerate().find(is_named_before) {
            return Err(format!("the device '{name}' is named twice"));
        }
        if names.len() > usize::try_from(most).unwrap_or(usize::MAX) {
            return Err(format!(
                "--max {most} leaves no room for the {} devices {}: allow as many, or name fewer by \
                 --devices",
                names.len(),
                names.join(",")
            ));
        }
        Ok(())
    }
}

/// How the driver treats its clients.
#[derive(Debug, Clone, Args)]
pub(crate) struct ClientOptions {
    /// The security label of processes that have none, for services that ask for labels
    #[arg(long, value_name = "TEXT", value_parser = security_label, hide_short_help = true)]
    pub(crate) security_label: Option<String>,

    /// Let a thread that serves a call have the caller's nice value meanwhile, within RLIMIT_NICE
    #[arg(long, hide_short_help = true)]
    pub(crate) inherit_nice: bool,

    /// Let a thread that serves a call have the caller's scheduling policy and priority meanwhile, and
    /// no less than the object asks for, as in Android's kernels: within RLIMIT_RTPRIO and RLIMIT_NICE,
    /// and a real-time caller's for objects that want it
    #[arg(long, hide_short_help = true)]
    pub(crate) inherit_priority: bool,

    /// The scheduling of the threads that read requests
    #[arg(long, value_enum, default_value_t, hide_short_help = true)]
    pub(crate) scheduling: SchedulingChoice,
    /// The greatest number of threads that read requests, instead of one for every two processors. All but the first read
    /// only while requests come faster than they are answered
    #[arg(long, value_name = "N")]
    pub(crate) readers: Option<NonZeroUsize>,

    /// Limit what an open file, or a user (user-...), may make the driver keep: NAME=NUMBER, with the
    /// names threads, nodes, handles, deaths, freezes, calls, oneways, unread, descriptors; the same
    /// after user-; user-processes, user-opens, user-bytes; and all-bytes, of all users
    #[arg(long = "limit", value_name = "NAME=NUMBER", value_parser = Limit::parse,
          hide_short_help = true)]
    pub(crate) limits: Vec<Limit>,
}

impl ClientOptions {
    /// Adds these to a driver's options.
    pub(crate) fn apply(&self, options: binder_fuse::Options) -> binder_fuse::Options {
        let security_label = self.security_label.clone().unwrap_or(options.security_label);
        let limits = limits(&self.limits);
        let (scheduling, readers) = (self.scheduling.into(), self.readers);
        let inheritance = match (self.inherit_priority, self.inherit_nice) {
            (true, _) => Inheritance::Priority,
            (false, true) => Inheritance::Nice,
            (false, false) => Inheritance::Nothing,
        };
        binder_fuse::Options { security_label, inheritance, limits, scheduling, readers, ..options }
    }
}

/// Tell what this machine offers and which way will be used.
///
/// Everything is really tried, in a world that is thrown away. Exits with 0 if `run` would work.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder doctor
  anybinder doctor --json | jq 'select(.found == false) | .advice'")]
pub(crate) struct DoctorOptions {
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show a service and a client at work.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder demo
  anybinder demo --calls 100000")]
pub(crate) struct DemoOptions {
    /// How many calls to make
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) calls: u32,
}

#[derive(Debug, Args)]
pub(crate) struct BrokerOptions {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// A thread whose namespaces to enter
    pub(crate) beside: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct DemoCastOptions {
    pub(crate) role: DemoRole,
    #[arg(default_value_t = 1)]
    pub(crate) calls: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DemoRole {
    Director,
    Service,
}

/// Write the library by which unmodified programs call through shared memory.
///
/// Programs of a world load it by themselves. Those that use devices of `anybinder mount` do if LD_PRELOAD names the file, and their calls
/// take a fifth to nine tenths of the time then. It is for dynamically linked programs of this processor and 64 bits;
/// others, and those whose driver is of another version, call as without it. A program that installs a seccomp filter must allow
/// futex, gettid, lseek and rt_sigprocmask, or be started with ANYBINDER_NO_RING=1.
///
/// A file that is there is replaced as a whole, so programs that have loaded it go on.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo anybinder preload /usr/local/lib/libanybinder_ring.so
  anybinder preload ~/libanybinder_ring.so && LD_PRELOAD=~/libanybinder_ring.so ./my-service")]
pub(crate) struct PreloadOptions {
    /// The file to write, where programs may execute what is mapped
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
}

/// Print completions for a shell.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder completions bash > ~/.local/share/bash-completion/completions/anybinder
  anybinder completions fish > ~/.config/fish/completions/anybinder.fish")]
pub(crate) struct CompletionsOptions {
    pub(crate) shell: Shell,
}

/// Print a manual page, in roff, or write all of them to a directory.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder man procview run | man -l -
  anybinder man --dir ~/.local/share/man/man1 && man anybinder-run")]
pub(crate) struct ManOptions {
    /// The subcommand whose page to print [default: the program's own]
    pub(crate) subcommand: Vec<String>,

    /// Write the pages of the program and of all subcommands here
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "subcommand")]
    pub(crate) dir: Option<PathBuf>,
}

/// [`BufferRoute`] as an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum DeliveryChoice {
    /// By passthrough where the kernel allows it, else by the page cache
    #[default]
    Auto,
    /// By FUSE passthrough, which needs CAP_SYS_ADMIN
    Passthrough,
    /// Through the page cache, which needs no privilege
    Store,
}

impl From<DeliveryChoice> for BufferRoute {
    fn from(choice: DeliveryChoice) -> Self {
        match choice {
            DeliveryChoice::Auto => Self::Auto,
            DeliveryChoice::Passthrough => Self::Passthrough,
            DeliveryChoice::Store => Self::Store,
        }
    }
}

/// [`Scheduling`] as an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum SchedulingChoice {
    /// At a real-time priority where that is allowed
    #[default]
    Auto,
    /// At a real-time priority, or not at all
    Realtime,
    /// As other threads
    Ordinary,
}

impl From<SchedulingChoice> for Scheduling {
    fn from(choice: SchedulingChoice) -> Self {
        match choice {
            SchedulingChoice::Auto => Self::Auto,
            SchedulingChoice::Realtime => Self::Realtime,
            SchedulingChoice::Ordinary => Self::Ordinary,
        }
    }
}

/// Makes a driver's options of what was asked for.
pub(crate) fn driver_options(
    devices: &[String],
    mode: u32,
    delivery: DeliveryChoice,
) -> binder_fuse::Options {
    let devices = devices.iter().map(|name| DeviceSpec::new(name, mode)).collect();
    let broker = Some(["/proc/self/exe", "broker"].map(OsString::from).to_vec());
    let rest = binder_fuse::Options::default();
    binder_fuse::Options { devices, delivery: delivery.into(), broker, ..rest }
}

fn device_name(name: &str) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let reserved = ["binderfs", "binder-control", "features", "binder_logs"];
    let len = name.len();
    if len > NAME_MAX_BYTES {
        return Err(format!("it has {len} bytes, and a device name {NAME_MAX_BYTES} at most"));
    }
    if name.is_empty() || name.starts_with('.') || !name.bytes().all(is_plain) {
        return Err(
            "a device name consists of letters, digits, '-', '_' and '.', the last not at \
                    its beginning"
                .into(),
        );
    }
    if reserved.contains(&name) {
        return Err("binderfs uses this name itself".into());
    }
    Ok(name.to_owned())
}

fn security_label(text: &str) -> Result<String, String> {
    if text.is_empty() || text.len() > 1024 || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("a label consists of up to 1024 visible ASCII characters".into());
    }
    Ok(text.to_owned())
}

fn octal_mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text.trim_start_matches("0o"), 8).ok();
    mode.filter(|mode| *mode <= 0o777).ok_or_else(|| "not octal permissions, such as 0660".into())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_command_needs_no_separator_to_keep_its_own_options() {
        for line in
            ["anybinder run --device a ls -l -- x", "anybinder run --device a -- ls -l -- x"]
        {
            let Command::Run(options) = Cli::parse_from(line.split(' ')).command else {
                panic!("not parsed as run");
            };
            assert_eq!(options.world.devices.names, ["a"]);
            assert_eq!(options.command, ["ls", "-l", "--", "x"]);
        }
        assert!(Cli::try_parse_from(["anybinder", "run"]).is_err());
    }

    /// The subcommands that do something themselves, with the words that call them.
    fn leaves(command: &clap::Command, words: &str) -> Vec<(String, clap::Command)> {
        if !command.has_subcommands() {
            return vec![(words.to_owned(), command.clone())];
        }
        let shown = command.get_subcommands().filter(|it| !it.is_hide_set());
        shown.flat_map(|it| leaves(it, &format!("{words} {}", it.get_name()))).collect()
    }

    #[test]
    fn the_help_of_each_subcommand_shows_its_two_commonest_uses() {
        for (words, mut command) in leaves(&Cli::command(), "anybinder") {
            let help = command.render_long_help().to_string();
            let examples = help.split("Examples:\n").nth(1).unwrap_or_default();
            let shown = examples.lines().take_while(|line| line.starts_with("  "));
            let name = command.get_name();
            assert!(shown.filter(|line| line.contains(name)).count() >= 2, "{words}: {help}");
        }
    }

    #[test]
    fn the_unit_of_systemd_mounts_for_everybody_with_links_and_statistics() {
        let unit = include_str!("../../../contrib/systemd/anybinder.service");
        let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
        let Command::Mount(options) = Cli::parse_from(line.split(' ')).command else {
            panic!("not parsed as mount");
        };
        assert!(options.foreground && options.links && options.stats && !options.replace);
        assert_eq!((options.dir, options.mode), ("/dev/binderfs".into(), 0o666));
        assert_eq!(options.limits_file, Some("/etc/anybinder/limits".into()));
        assert!(unit.contains("\nExecReload=/bin/kill -HUP $MAINPID\n"));
        assert!(unit.contains("\nBefore=waydroid-container.service\n"));
    }

    #[test]
    fn who_inherits_priorities_inherits_nice_values_with_them() {
        let inheritance = |words: &[&str]| {
            let line = ["anybinder", "mount", "/x"].iter().chain(words);
            let Command::Mount(options) = Cli::parse_from(line).command else {
                panic!("not parsed as mount");
            };
            options.clients.apply(binder_fuse::Options::default()).inheritance
        };
        let (nice, priority) = ("--inherit-nice", "--inherit-priority");
        assert_eq!(inheritance(&[]), Inheritance::Nothing);
        assert_eq!(inheritance(&[nice]), Inheritance::Nice);
        assert_eq!(inheritance(&[priority]), Inheritance::Priority);
        assert_eq!(inheritance(&[nice, priority]), Inheritance::Priority);
    }

    #[test]
    fn devices_and_modes_are_checked() {
        let mount = |words: &[&str]| {
            let line = ["anybinder", "mount", "/x"].iter().chain(words);
            match Cli::try_parse_from(line).map(|cli| cli.command) {
                Ok(Command::Mount(options)) => Some((options.devices.names, options.mode)),
                _ => None,
            }
        };
        let all = ["binder", "hwbinder", "vndbinder"].map(String::from).to_vec();
        assert_eq!(mount(&[]), Some((all.clone(), 0o600)));
        assert_eq!(mount(&["--mode", "0o666"]), Some((all, 0o666)));
        assert_eq!(mount(&["--devices", "a,b"]), Some((vec!["a".into(), "b".into()], 0o600)));
        for wrong in
            [["--mode", "8"], ["--mode", "1000"], ["--devices", "a/b"], ["--devices", "a,"]]
        {
            assert_eq!(mount(&wrong), None, "{wrong:?}");
        }
        assert_eq!(mount(&["--devices", "binder-control"]), None);
        assert_eq!(mount(&["--max", "1048577"]), None);
    }
}
