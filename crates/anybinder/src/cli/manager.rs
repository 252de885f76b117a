//! The options of service managers, and of the subcommands that ask one.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use binder_http::parse_metrics_address;
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use service_manager::DialectChoice;

/// The device that is used if none is named.
const DEVICE: &str = "/dev/binder";

/// Whether there is a service manager in a world or at a mount, and how it is to be.
#[derive(Debug, Clone, Args)]
pub(crate) struct ManagerArguments {
    /// Start a service manager at the first of the devices, by which programs find each other's services. Without it a
    /// program may become the manager
    #[arg(long)]
    pub(crate) manager: bool,

    /// Let every user register and find services
    #[arg(long, requires = "manager", conflicts_with = "manager_policy", hide_short_help = true)]
    pub(crate) manager_allow_all: bool,

    /// Read access rules from a file, as `anybinder servicemanager --policy` does
    #[arg(long, requires = "manager", value_name = "FILE", value_hint = ValueHint::FilePath,
          hide_short_help = true)]
    pub(crate) manager_policy: Option<PathBuf>,

    /// Read declared services from a file, as `anybinder servicemanager --declared` does
    #[arg(long, requires = "manager", value_name = "FILE", value_hint = ValueHint::FilePath,
          hide_short_help = true)]
    pub(crate) manager_declared: Option<PathBuf>,

    /// Serve the manager's figures over HTTP, as of `anybinder servicemanager --metrics`
    #[arg(long, requires = "manager", value_name = "[ADDRESS:]PORT", value_parser = parse_metrics_address,
          hide_short_help = true)]
    pub(crate) manager_metrics: Option<SocketAddr>,

    /// The Android release of its callers, as for `anybinder servicemanager --dialect`
    #[arg(
        long,
        requires = "manager",
        value_name = "RELEASE",
        default_value_t,
        hide_short_help = true
    )]
    pub(crate) manager_dialect: DialectChoice,
}

/// Be the service manager of a device, by which programs find each other's services.
///
/// It has the interfaces of Android's, of releases 11 to 16 and before. Unless a policy says otherwise, its own user and root
/// may do everything, and others nothing.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder run -- sh -c 'anybinder servicemanager --background; ./my-service'
  anybinder run --manager -- ./my-service                         the same
  anybinder servicemanager --policy /etc/anybinder/policy /dev/vndbinder
  anybinder servicemanager --policy policy --cluster etcd://10.0.0.1:2379 --advertise \
tls://a.example:4000 --certificate a.pem --key a.key --ca ca.pem

A line of a policy is `allow ACTIONS WHO [NAMES]`, where ACTIONS are add, find, list, call, with commas, or *; WHO is \
uid=NUMBER, label=PATTERN, machine=PATTERN or *, which is no machine; NAMES is a pattern of names:
  allow add,find  uid=1000                   com.example.*
  allow find      label=u:r:untrusted:*      com.example.IPublic/*
  allow call      machine=spiffe://example/* com.example.IPublic/*

A line of declarations is `NAME [apex=NAME] [address=IP:PORT] [accessor=NAME] [instances=BALANCING]`, where BALANCING \
is pick-first, round-robin or least-busy.")]
pub(crate) struct ServicemanagerOptions {
    /// The device
    #[arg(value_name = "DEVICE", value_hint = ValueHint::FilePath, default_value = DEVICE)]
    positional_device: PathBuf,

    /// The same, as `anybinder service` has it
    #[arg(long = "device", value_name = "PATH", value_hint = ValueHint::FilePath,
          conflicts_with = "positional_device")]
    named_device: Option<PathBuf>,

    /// Let every user register and find services
    #[arg(long, conflicts_with = "policy")]
    pub(crate) allow_all: bool,

    /// Read access rules from a file, and again on SIGHUP
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) policy: Option<PathBuf>,

    /// Read the names of declared services, running or not, from a file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) declared: Option<PathBuf>,

    /// The Android release of its callers, 11 to 16; or auto: by each call, and the newest where a call does not show it.
    /// Releases before 11 are always recognised
    #[arg(long, value_name = "RELEASE", default_value_t)]
    pub(crate) dialect: DialectChoice,

    /// Serve figures over HTTP at /metrics, for Prometheus: at this port of the loopback interface, or at an address. Port
    /// 0 means any free one, which is printed to stderr
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = parse_metrics_address)]
    pub(crate) metrics: Option<SocketAddr>,

    /// Return once it serves, and serve in the background, until the device is gone
    #[arg(long, conflicts_with = "cluster")]
    pub(crate) background: bool,

    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,
}

impl ServicemanagerOptions {
    /// The device that the manager is of.
    pub(crate) fn device(&self) -> &Path {
        self.named_device.as_ref().unwrap_or(&self.positional_device)
    }
}

/// How names are shared with other machines. Without `--cluster` they are not.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Names of many machines")]
pub(crate) struct ClusterArguments {
    /// Share names with other machines by an etcd. What others may do, the policy says
    #[arg(long, value_name = "etcd[s]://HOST:PORT[,HOST:PORT ...][/PREFIX]",
          requires_all = ["advertise", "certificate", "key", "ca"])]
    pub(crate) cluster: Option<String>,

    /// The certificates of issuers whose etcd is believed (PEM), for etcds://
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "cluster")]
    pub(crate) etcd_ca: Option<PathBuf>,

    /// The certificate that etcd is shown (PEM)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath,
          requires_all = ["etcd_ca", "etcd_key"], hide_short_help = true)]
    pub(crate) etcd_certificate: Option<PathBuf>,

    /// The key of that certificate (PEM)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "etcd_certificate",
          hide_short_help = true)]
    pub(crate) etcd_key: Option<PathBuf>,

    /// The user of etcd, if it wants to know one
    #[arg(long, value_name = "NAME", requires_all = ["cluster", "etcd_password_file"],
          hide_short_help = true)]
    pub(crate) etcd_user: Option<String>,

    /// A file with the user's password in its first line
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "etcd_user",
          hide_short_help = true)]
    pub(crate) etcd_password_file: Option<PathBuf>,

    /// Where other machines find this one; its certificate is for the host
    #[arg(long, value_name = "tls://HOST:PORT", requires = "cluster")]
    pub(crate) advertise: Option<String>,

    /// The address to listen at, if not the host's that is advertised
    #[arg(long, value_name = "ADDRESS", requires = "cluster", hide_short_help = true)]
    pub(crate) listen: Option<String>,

    /// The certificate of this machine, and those between it and its issuer (PEM)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "cluster")]
    pub(crate) certificate: Option<PathBuf>,

    /// The key of the certificate (PEM)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "cluster")]
    pub(crate) key: Option<PathBuf>,

    /// The certificates of issuers whose machines are believed (PEM)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "cluster")]
    pub(crate) ca: Option<PathBuf>,

    /// Lists of certificates that are not believed any more (PEM), read again with the others on SIGHUP
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "cluster",
          hide_short_help = true)]
    pub(crate) revoked: Option<PathBuf>,

    /// Which users of machines are the same person, signed in FILE.sig, read again with the others: calls of other
    /// machines are made as these, and all others as nobody
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "cluster",
          requires = "users_key", hide_short_help = true)]
    pub(crate) users: Option<PathBuf>,

    /// The public key of who signs that (PEM, Ed25519)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "users",
          hide_short_help = true)]
    pub(crate) users_key: Option<PathBuf>,

    /// After how many seconds without a word from this machine others take its names
    #[arg(long, value_name = "SECONDS", default_value_t = 10,
          value_parser = clap::value_parser!(u64).range(2..=3600), hide_short_help = true)]
    pub(crate) lease: u64,
}

/// Ask the service manager, and the services that it knows.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder service list
  anybinder service wait com.example.IHello/default --timeout 5
  anybinder service call com.example.IHello/default 1 s16 world
  anybinder service dump com.example.IHello/default
  anybinder service --json debug-info

They are service, dumpsys and cmd of Android. Exit status: 0 done, 1 failed or not found, 2 wrong usage; `shell` \
exits as the service says.")]
pub(crate) struct ServiceArguments {
    /// The device
    #[arg(long, global = true, value_name = "PATH", value_hint = ValueHint::FilePath,
          default_value = DEVICE)]
    pub(crate) device: PathBuf,

    /// Print JSON, one object per line
    #[arg(long, global = true)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: ServiceCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServiceCommand {
    List(ServiceListOptions),
    Check(ServiceNameOptions),
    Wait(ServiceWaitOptions),
    Call(ServiceCallOptions),
    Dump(ServiceDumpOptions),
    Shell(ServiceShellOptions),
    /// List all services with the processes that have registered them
    #[command(after_help = "\
Examples:
  anybinder service debug-info
  anybinder service --json debug-info")]
    DebugInfo,
}

/// List all services, and their interfaces.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder service list
  anybinder service list --names --device /dev/vndbinder
  anybinder service list --cluster")]
pub(crate) struct ServiceListOptions {
    /// Print the names alone, and ask no service for its interface
    #[arg(long)]
    pub(crate) names: bool,

    /// List what all machines share, of a manager with --cluster
    #[arg(long, conflicts_with = "names")]
    pub(crate) cluster: bool,
}

/// Say whether a service is registered.
///
/// Exits with 0 if it is, and with 1 if not.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder service check manager
  anybinder service check com.example.IHello/default && ./client")]
pub(crate) struct ServiceNameOptions {
    /// The service
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
}

/// Wait until a service is registered.
///
/// Exits with 0 once it is, and with 1 when the time is over.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder service wait com.example.IHello/default
  anybinder service wait com.example.IHello/default --timeout 5")]
pub(crate) struct ServiceWaitOptions {
    /// The service
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// How many seconds to wait at most [default: for ever]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<f64>,
}

impl ServiceWaitOptions {
    /// How long it waits at most.
    pub(crate) fn time(&self) -> Option<Duration> {
        self.timeout.map(Duration::from_secs_f64)
    }
}

/// Call a service, and print what it answers as words of bytes.
#[derive(Debug, Args)]
#[command(after_help = "\
Arguments, one after the other:
  i32 N, u32 N, i64 N, u64 N   a number
  f N, d N                     a float, a double
  s16 TEXT                     a string
  null                         no object
  fd PATH                      a file, opened for reading
  nfd N                        the file that is open here as N; opened anew by its name, if it is no standard stream

Examples:
  anybinder service call manager 1 s16 com.example.IHello/default
  anybinder service call com.example.IFiles/default 2 s16 notes fd ./notes.txt")]
pub(crate) struct ServiceCallOptions {
    /// The service
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// The number of the method: the first of an interface has 1
    #[arg(value_name = "CODE")]
    pub(crate) code: u32,

    /// The arguments to send, each with its type before it
    #[arg(value_name = "TYPE VALUE", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}

/// Have services tell people about themselves.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder service dump
  anybinder service dump -t 2 manager
  anybinder service dump --pid com.example.IHello/default")]
pub(crate) struct ServiceDumpOptions {
    /// List the services, and dump none
    #[arg(short = 'l', conflicts_with = "name")]
    pub(crate) list: bool,

    /// How many seconds each may take
    #[arg(short = 't', value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds)]
    pub(crate) timeout: f64,

    /// Wait for the service
    #[arg(short = 'w', requires = "name")]
    pub(crate) wait: bool,

    /// Print the process of each service instead
    #[arg(long)]
    pub(crate) pid: bool,

    /// Only services of this priority
    #[arg(long, value_enum, ignore_case = true, conflicts_with = "name")]
    pub(crate) priority: Option<DumpPriority>,

    /// Not these services, with commas between their names
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "name")]
    pub(crate) skip: Vec<String>,

    /// The service [default: all]
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Arguments for the service's dump
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<String>,
}

/// How urgently a service is dumped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DumpPriority {
    Critical,
    High,
    Normal,
}

/// Give a service a command, as by a shell, with the standard streams of this one.
///
/// Exits with the status that the service answers with.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  anybinder service shell com.example.IHello/default help
  anybinder service shell com.example.IHello/default import < data")]
pub(crate) struct ServiceShellOptions {
    /// The service
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// The command and its arguments
    #[arg(value_name = "COMMAND", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<String>,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.0..=1e6).contains(seconds));
    seconds.ok_or_else(|| "a time is between 0 and 1000000 seconds".into())
}
