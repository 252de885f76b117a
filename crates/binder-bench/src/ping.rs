//! `ping`: round trips of some bytes, through the device and beside it.
//!
//! Every peer is a client and a server in processes of their own. They take turns in short rounds,
//! size by size, so that whatever else the machine does hits all alike.

pub(crate) mod binder;
pub(crate) mod caller;
mod futex;
mod library;
mod stream;

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde::Serialize;

use crate::actor::Actor;
use crate::affinity::{self, Pin};
use crate::daemon::{self, Daemon};
use crate::error::BenchError;
use crate::ping::binder::{Completions, Load};
use crate::ping::caller::{Round, Timings};
use crate::report::BenchReport;
use crate::service;
use crate::session::DriverSession;
use crate::statistics::{Samples, ratio};
use crate::table::{self, TextTable};
use crate::target::BenchTarget;

/// Time round trips through a device, beside a futex and a Unix socket.
///
/// Client and server are two processes that use the raw ioctls; every reply is checked.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  anybinder run -- anybinder bench ping
  anybinder bench ping --device /dev/binderfs/binder --daemon-pid 1234 --sizes 64,4096")]
pub struct PingOptions {
    #[command(flatten)]
    pub(crate) target: BenchTarget,

    /// The bytes of a call, and of its reply
    #[arg(long, value_name = "BYTES", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(..=MAX_BYTES as i64),
          default_value = "0,4,64,1024,4096,16384,65536")]
    sizes: Vec<u32>,

    /// In how many rounds each peer makes its calls
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// How many calls a round has
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    calls: u32,

    /// Measure also calls that bring a file
    #[arg(long)]
    descriptors: bool,

    /// Measure also calls through the client library, by shared memory, on the device `hwbinder` beside the other
    #[arg(long)]
    libbinder: bool,

    /// Measure these peers alone
    #[arg(long, value_enum, value_name = "PEERS", value_delimiter = ',')]
    only: Vec<What>,

    /// Where the processes run, the daemon's included
    #[arg(long, value_enum, default_value = "same")]
    pin: Pin,

    /// The kernel's own binder, to measure beside [default: /dev/binder, if it is one]
    #[arg(long, value_name = "PATH")]
    kernel_device: Option<PathBuf>,
}

/// The longest message; two thirds of what a socket holds, and half a receive buffer.
const MAX_BYTES: usize = 128 * 1024;
/// As many calls of a round bring files: the server keeps them all.
const MAX_FILE_CALLS: u32 = 50;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
enum What {
    /// The device, by ioctls.
    Binder,
    /// The device, with a server whose replies' completions ride along with the next call.
    Deferred,
    /// The device `vndbinder`, by shared memory.
    Ring,
    /// The same with a server as that of `Deferred`.
    DeferredRing,
    /// The device, and every call brings a file.
    File,
    /// The same with the server of `Deferred`.
    DeferredFile,
    /// The client library, whose server defers completions too.
    Library,
    /// The device of the kernel's driver.
    Kernel,
    /// A futex and shared memory.
    Futex,
    /// An AF_UNIX stream.
    Unix,
}

/// A client and a server who know each other.
struct Peer {
    what: What,
    client: Actor,
    /// Shared with a peer that uses the same device.
    server: Rc<RefCell<Actor>>,
    /// The process in the middle, if there is one.
    daemon: Option<Daemon>,
}

/// What the rounds of a peer and a size came to.
#[derive(Debug, Clone, Default)]
struct Tally {
    samples: Samples,
    client_cpu_ns: u64,
    server_cpu_ns: Option<u64>,
    daemon_cpu_ns: Option<u64>,
}

/// A line of the result.
#[derive(Debug, Clone, Serialize)]
struct Row {
    what: What,
    bytes: u32,
    p50_ns: u64,
    p99_ns: u64,
    client_cpu_ns: u64,
    server_cpu_ns: Option<u64>,
    daemon_cpu_ns: Option<u64>,
    times_futex: Option<f64>,
    times_unix: Option<f64>,
    /// A call with a file, or through the library, set against the same without.
    times_without: Option<f64>,
}

pub(crate) fn run(options: &PingOptions, report: &mut BenchReport<'_>) -> Result<(), BenchError> {
    let core = (options.pin == Pin::Same).then(affinity::core).transpose()?;
    let daemon = options.target.daemon();
    // Before the servers: a thread that the daemon starts for them is pinned from its first moment.
    let _pinned = options.target.pin_daemon(core, report)?;
    let mut peers = assemble(options, daemon, core, report)?;
    peers.retain(|peer| options.only.is_empty() || options.only.contains(&peer.what));

    let steps = options.sizes.len() * peers.len() * (options.rounds as usize + 1);
    let bar = report.progress(steps);
    let heads = [
        "peer",
        "bytes",
        "p50",
        "p99",
        "client CPU",
        "server CPU",
        "daemon CPU",
        "x futex",
        "x unix",
        "x without",
    ];
    // The last is about files and the library.
    let has_without = options.descriptors || options.libbinder;
    let columns = if has_without { heads.len() } else { heads.len() - 1 };
    let mut table = TextTable::new(heads.into_iter().take(columns));
    for &bytes in &options.sizes {
        let mut tallies = vec![Tally::default(); peers.len()];
        for round in 0..=options.rounds {
            for (peer, tally) in peers.iter_mut().zip(&mut tallies) {
                bar.set_message(format!("{bytes} bytes, {}", peer.what.name()));
                let outcome = peer.play(Round { bytes, calls: options.calls })?;
                // The first warms up.
                if round > 0 {
                    tally.add(&outcome);
                }
                bar.inc(1);
            }
        }
        for row in rows(bytes, &peers, &mut tallies) {
            report.record(&row)?;
            table.row(row.cells().into_iter().take(columns));
        }
    }
    bar.finish_and_clear();
    report.table(&table)?;
    match core {
        Some(core) => report.summary(&format!("all on core {core}; CPU is per call")),
        None => report.summary("not pinned; CPU is per call"),
    }
}

/// Starts all clients and servers.
fn assemble(
    options: &PingOptions,
    daemon: Option<Daemon>,
    core: Option<usize>,
    report: &mut BenchReport<'_>,
) -> Result<Vec<Peer>, BenchError> {
    let device = options.target.device();
    let mut peers = Vec::new();
    let plain = DriverSession::open_without_ring;
    let server = shared(service::start_with(device, core, plain)?);
    if is_of_kernel(device) {
        peers.push(Peer {
            what: What::Kernel,
            client: binder::start(device, core, None, Load::Bytes, plain)?,
            server,
            daemon,
        });
    } else {
        let mut kinds = vec![
            (What::Binder, Completions::Own, Load::Bytes),
            (What::Deferred, Completions::Deferred, Load::Bytes),
        ];
        if options.descriptors {
            kinds.push((What::File, Completions::Own, Load::File));
            kinds.push((What::DeferredFile, Completions::Deferred, Load::File));
        }
        for (what, completions, load) in kinds {
            let client = binder::start(device, core, Some(completions), load, plain)?;
            peers.push(Peer { what, client, server: server.clone(), daemon });
        }
        // Handle 0 of a device is one server's.
        let device = device.with_file_name("vndbinder");
        if device.exists() {
            let open = DriverSession::open;
            let server = shared(service::start_with(&device, core, open)?);
            let kinds =
                [(What::Ring, Completions::Own), (What::DeferredRing, Completions::Deferred)];
            for (what, completions) in kinds {
                let client = binder::start(&device, core, Some(completions), Load::Bytes, open)?;
                peers.push(Peer { what, client, server: server.clone(), daemon });
            }
        } else {
            report
                .note(&format!("calls by shared memory are left out: no {}", device.display()))?;
        }
    }
    if options.libbinder {
        let (client, server) = library::start(&device.with_file_name("hwbinder"), core)?;
        peers.push(Peer { what: What::Library, client, server: shared(server), daemon });
    }
    if let Some(kernel) = kernel_device(options.kernel_device.as_deref(), device)? {
        let started = service::start_with(&kernel, core, plain).and_then(|server| {
            Ok((binder::start(&kernel, core, None, Load::Bytes, plain)?, server))
        });
        match started {
            Ok((client, server)) => {
                let server = shared(server);
                peers.push(Peer { what: What::Kernel, client, server, daemon: None });
            }
            // The user did not ask for it.
            Err(error) if options.kernel_device.is_none() => {
                report.note(&format!("{} is left out: {error}", kernel.display()))?;
            }
            Err(error) => return Err(error),
        }
    }
    let room_bytes = options.sizes.iter().max().copied().unwrap_or(0);
    let (client, server) = futex::start(room_bytes as usize, core)?;
    peers.push(Peer { what: What::Futex, client, server: shared(server), daemon: None });
    let (client, server) = stream::start(core)?;
    peers.push(Peer { what: What::Unix, client, server: shared(server), daemon: None });
    Ok(peers)
}

fn shared(server: Actor) -> Rc<RefCell<Actor>> {
    Rc::new(RefCell::new(server))
}

/// Whether a kernel's driver serves this device; ours is a regular file.
fn is_of_kernel(device: &Path) -> bool {
    fs::metadata(device).is_ok_and(|file| file.file_type().is_char_device())
}

/// Returns the device of the kernel's driver, unless it is the one being measured anyway.
fn kernel_device(named: Option<&Path>, device: &Path) -> Result<Option<PathBuf>, BenchError> {
    let path = named.unwrap_or(Path::new("/dev/binder"));
    let of_kernel = fs::metadata(path).ok().filter(|file| file.file_type().is_char_device());
    match (of_kernel, fs::metadata(device)) {
        (None, _) if named.is_some() => Err(BenchError::NotTheKernels(path.into())),
        (Some(kernel), Ok(device))
            if (kernel.dev(), kernel.ino()) != (device.dev(), device.ino()) =>
        {
            Ok(Some(path.into()))
        }
        (None | Some(_), _) => Ok(None),
    }
}

impl What {
    fn name(self) -> &'static str {
        match self {
            Self::Binder => "binder",
            Self::Deferred => "deferred",
            Self::Ring => "ring",
            Self::DeferredRing => "deferred ring",
            Self::File => "file",
            Self::DeferredFile => "deferred file",
            Self::Library => "libbinder",
            Self::Kernel => "kernel",
            Self::Futex => "futex",
            Self::Unix => "unix",
        }
    }

    /// What is the same without a file, or without the library.
    fn without(self) -> Option<Self> {
        match self {
            Self::File => Some(Self::Binder),
            Self::DeferredFile => Some(Self::Deferred),
            Self::Library => Some(Self::DeferredRing),
            Self::Binder
            | Self::Deferred
            | Self::Ring
            | Self::DeferredRing
            | Self::Kernel
            | Self::Futex
            | Self::Unix => None,
        }
    }
}

impl Peer {
    /// Has the client make the calls of a round.
    fn play(&mut self, mut round: Round) -> Result<Tally, BenchError> {
        if matches!(self.what, What::File | What::DeferredFile) {
            round.calls = round.calls.min(MAX_FILE_CALLS);
        }
        let mut actor = self.server.borrow_mut();
        let server = actor.pid();
        let daemon = self.daemon.map(|daemon| daemon.pid);
        let before = (daemon::cpu_ns(server), daemon.and_then(daemon::cpu_ns));
        let timings: Timings = self.client.ask_beside(&mut actor, &round)?;
        let after = (daemon::cpu_ns(server), daemon.and_then(daemon::cpu_ns));
        let mut samples = Samples::default();
        samples.extend(&timings.round_trips_ns);
        Ok(Tally {
            samples,
            client_cpu_ns: timings.cpu_ns,
            server_cpu_ns: since(before.0, after.0),
            daemon_cpu_ns: since(before.1, after.1),
        })
    }
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.samples.append(&other.samples);
        self.client_cpu_ns += other.client_cpu_ns;
        add(&mut self.server_cpu_ns, other.server_cpu_ns);
        add(&mut self.daemon_cpu_ns, other.daemon_cpu_ns);
    }
}

fn since(before: Option<u64>, after: Option<u64>) -> Option<u64> {
    Some(after?.saturating_sub(before?))
}

fn add(sum: &mut Option<u64>, more: Option<u64>) {
    *sum = more.map(|more| sum.unwrap_or(0) + more);
}

/// Makes the lines of one size, each set against the baselines.
fn rows(bytes: u32, peers: &[Peer], tallies: &mut [Tally]) -> Vec<Row> {
    let medians: Vec<(What, u64)> = (peers.iter().zip(tallies.iter_mut()))
        .map(|(peer, tally)| (peer.what, tally.samples.percentile(50)))
        .collect();
    let times = |p50_ns, what| {
        let (_, base) = medians.iter().find(|(known, _)| *known == what)?;
        ratio(p50_ns, *base)
    };
    let lines = medians.iter().zip(tallies);
    lines
        .map(|(&(what, p50_ns), tally)| {
            let calls = tally.samples.len() as u64;
            Row {
                what,
                bytes,
                p50_ns,
                p99_ns: tally.samples.percentile(99),
                client_cpu_ns: tally.client_cpu_ns / calls,
                server_cpu_ns: tally.server_cpu_ns.map(|ns| ns / calls),
                daemon_cpu_ns: tally.daemon_cpu_ns.map(|ns| ns / calls),
                times_futex: times(p50_ns, What::Futex),
                times_unix: times(p50_ns, What::Unix),
                times_without: what.without().and_then(|without| times(p50_ns, without)),
            }
        })
        .collect()
}

impl Row {
    fn cells(&self) -> [String; 10] {
        [
            self.what.name().into(),
            self.bytes.to_string(),
            table::duration(Some(self.p50_ns)),
            table::duration(Some(self.p99_ns)),
            table::duration(Some(self.client_cpu_ns)),
            table::duration(self.server_cpu_ns),
            table::duration(self.daemon_cpu_ns),
            table::times(self.times_futex),
            table::times(self.times_unix),
            table::times(self.times_without),
        ]
    }
}
