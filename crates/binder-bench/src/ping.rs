//! `ping`: round trips of some bytes, through the device and beside it.
//!
//! Every peer is a client and a server in processes of their own. They take turns in short rounds,
//! size by size, so that whatever else the machine does hits all alike.

pub(crate) mod binder;
pub(crate) mod caller;
pub(crate) mod files;
mod futex;
mod library;
mod placement;
mod stream;
mod trace;

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde::Serialize;

use ::binder::transport::driver::DeviceOptions;
use binder_os::lanes_wanted_after;

use crate::actor::Actor;
use crate::bench_device::BenchDevice;
use crate::daemon::{self, Daemon};
use crate::error::BenchError;
use crate::ping::binder::Completions;
use crate::ping::caller::{Round, Timings};
use crate::ping::files::MAX_FILES;
use crate::ping::placement::{Cores, Placement};
use crate::ping::trace::StreamFollower;
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
  anybinder bench ping --trace --sizes 64
  ANYBINDER_LANES=32 anybinder run -- anybinder bench ping --libbinder
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

    /// Measure also calls that bring that many files, and whose replies bring them back
    #[arg(long, value_name = "COUNTS", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_FILES)))]
    descriptors: Vec<u32>,

    /// Measure also calls through the client library, by shared memory, on the device `hwbinder` beside the other
    #[arg(long)]
    libbinder: bool,

    /// Measure also calls that are traced, as `anybinder trace` has them traced
    #[arg(long)]
    trace: bool,

    /// Measure these peers alone
    #[arg(long, value_enum, value_name = "PEERS", value_delimiter = ',')]
    only: Vec<PingFigure>,

    /// Where the processes run, the daemon's included
    #[arg(long, value_enum, default_value = "same")]
    pin: Placement,

    /// The kernel's own binder, to measure beside [default: /dev/binder, if it is one]
    #[arg(long, value_name = "PATH")]
    kernel_device: Option<PathBuf>,
}

impl PingOptions {
    /// Whether it reads the driver's logs.
    pub(crate) fn reads_logs(&self) -> bool {
        self.trace
    }
}

/// The longest message; two thirds of what a socket holds, and half a receive buffer.
const MAX_BYTES: usize = 128 * 1024;

/// The figures measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
enum PingFigure {
    /// The device, by ioctls.
    Binder,
    /// The device, with a server whose replies' completions ride along with the next call.
    Deferred,
    /// The device `vndbinder`, by shared memory.
    Ring,
    /// The same with a server as that of `Deferred`.
    DeferredRing,
    /// As `Ring`, and past the driver where that allows it.
    Lane,
    /// As `DeferredRing`, likewise.
    DeferredLane,
    /// A device of its own, by ioctls as a program makes them that knows of nothing else: the preloaded library takes them up.
    Unmodified,
    /// As `Binder`, while a trace of the device is followed.
    Traced,
    /// As `DeferredRing`, traced.
    TracedRing,
    /// The client library, whose server defers completions too.
    Library,
    /// The same past the driver.
    LibraryLane,
    /// The device of the kernel's driver.
    Kernel,
    /// A futex and shared memory.
    Futex,
    /// An AF_UNIX stream.
    Unix,
}

/// A client and a server who know each other.
struct PingPeer {
    what: PingFigure,
    carries: CallCargo,
    client: Actor,
    /// Shared with a peer that uses the same device.
    server: Rc<RefCell<Actor>>,
    /// The process in the middle, if there is one.
    daemon: Option<Daemon>,
    /// The device whose trace is followed during its rounds.
    traced: Option<PathBuf>,
}

/// What the calls of a peer can bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallCargo {
    Bytes,
    Files,
    Both,
}

/// What the rounds of a peer and a size came to.
#[derive(Debug, Clone, Default)]
struct PingTally {
    samples: Samples,
    client_cpu_ns: u64,
    server_cpu_ns: Option<u64>,
    daemon_cpu_ns: Option<u64>,
}

/// A line of the result.
#[derive(Debug, Clone, Serialize)]
struct PingRow {
    what: PingFigure,
    bytes: u32,
    /// Files that each call brings, and its reply brings back.
    files: u32,
    p50_ns: u64,
    p99_ns: u64,
    client_cpu_ns: u64,
    server_cpu_ns: Option<u64>,
    daemon_cpu_ns: Option<u64>,
    times_futex: Option<f64>,
    times_unix: Option<f64>,
    /// A call with files, through the library, or traced, set against the same without.
    times_without: Option<f64>,
}

pub(crate) fn run(options: &PingOptions, report: &mut BenchReport<'_>) -> Result<(), BenchError> {
    let cores = options.pin.cores()?;
    let daemon = options.target.daemon();
    // Before the servers: a thread that the daemon starts for them is pinned from its first moment.
    let _pinned = options.target.pin_daemon(cores.daemon, report)?;
    let spare = bench_device(options, report)?;
    let mut peers = assemble(options, daemon, spare.as_ref(), cores, report)?;
    peers.retain(|peer| options.only.is_empty() || options.only.contains(&peer.what));

    // First without.
    let file_counts: Vec<u32> =
        [0].into_iter().chain(options.descriptors.iter().copied()).collect();
    let played = |files| peers.iter().filter(|peer| peer.carries.has(files)).count();
    let steps = file_counts.iter().map(|files| played(*files)).sum::<usize>();
    let bar = report.progress(options.sizes.len() * steps * (options.rounds as usize + 1));
    let heads = [
        "peer",
        "bytes",
        "files",
        "p50",
        "p99",
        "client CPU",
        "server CPU",
        "daemon CPU",
        "x futex",
        "x unix",
        "x without",
    ];
    // The last is about files, the library, and traces.
    let has_without = !options.descriptors.is_empty() || options.libbinder || options.trace;
    let columns = if has_without { heads.len() } else { heads.len() - 1 };
    let mut table = TextTable::new(heads.into_iter().take(columns));
    for &bytes in &options.sizes {
        let mut plain = Vec::new();
        for &files in &file_counts {
            let mut lines: Vec<_> = peers
                .iter_mut()
                .filter(|peer| peer.carries.has(files))
                .map(|peer| (peer, PingTally::default()))
                .collect();
            for round in 0..=options.rounds {
                for (peer, tally) in &mut lines {
                    bar.set_message(format!("{bytes} bytes, {files} files, {}", peer.what.name()));
                    let outcome = peer.play(Round { bytes, calls: options.calls, files })?;
                    // The first warms up.
                    if round > 0 {
                        tally.add(&outcome);
                    }
                    bar.inc(1);
                }
            }
            let medians: Medians = lines
                .iter_mut()
                .map(|(peer, tally)| (peer.what, tally.samples.percentile(50)))
                .collect();
            if files == 0 {
                plain.clone_from(&medians);
            }
            for (peer, tally) in &mut lines {
                let row = PingRow::new(peer.what, (bytes, files), tally, &medians, &plain);
                report.record(&row)?;
                table.row(row.cells().into_iter().take(columns));
            }
        }
    }
    bar.finish_and_clear();
    report.table(&table)?;
    report.summary(&cores.summary())
}

/// Makes a device for programs that know nothing of rings, if there are to be such.
fn bench_device(
    options: &PingOptions,
    report: &mut BenchReport<'_>,
) -> Result<Option<BenchDevice>, BenchError> {
    let device = options.target.device();
    if is_of_kernel(device) {
        return Ok(None);
    }
    match BenchDevice::of_unmodified(device) {
        Ok(device) => Ok(Some(device)),
        Err(reason) => {
            report.note(&format!("unmodified programs are left out: {reason}"))?;
            Ok(None)
        }
    }
}

/// Starts all clients and servers.
fn assemble(
    options: &PingOptions,
    daemon: Option<Daemon>,
    spare: Option<&BenchDevice>,
    cores: Cores,
    report: &mut BenchReport<'_>,
) -> Result<Vec<PingPeer>, BenchError> {
    let device = options.target.device();
    let mut peers = Vec::new();
    let plain = DriverSession::open_without_ring;
    let server = shared(service::start_with(device, cores.server, plain)?);
    if is_of_kernel(device) {
        let client = binder::start(device, cores.client, None, plain)?;
        let (what, carries) = (PingFigure::Kernel, CallCargo::Both);
        peers.push(PingPeer { what, carries, client, server, daemon, traced: None });
    } else {
        let carries = CallCargo::Both;
        let mut kinds = vec![
            (PingFigure::Binder, Completions::Own),
            (PingFigure::Deferred, Completions::Deferred),
        ];
        kinds.extend(options.trace.then_some((PingFigure::Traced, Completions::Own)));
        for (what, completions) in kinds {
            let client = binder::start(device, cores.client, Some(completions), plain)?;
            let traced = what.is_traced().then(|| device.to_owned());
            peers.push(PingPeer { what, carries, client, server: server.clone(), daemon, traced });
        }
        // Handle 0 of a device is one server's.
        let device = device.with_file_name("vndbinder");
        if device.exists() {
            let open = DriverSession::open;
            let server = shared(service::start_with(&device, cores.server, open)?);
            let mut kinds = vec![
                (PingFigure::Ring, Completions::Own),
                (PingFigure::DeferredRing, Completions::Deferred),
            ];
            if lanes_wanted_after(None).is_some() {
                kinds = vec![
                    (PingFigure::Lane, Completions::Own),
                    (PingFigure::DeferredLane, Completions::Deferred),
                ];
            }
            kinds.extend(options.trace.then_some((PingFigure::TracedRing, Completions::Deferred)));
            for (what, completions) in kinds {
                let client = binder::start(&device, cores.client, Some(completions), open)?;
                let traced = what.is_traced().then(|| device.clone());
                peers.push(PingPeer {
                    what,
                    carries,
                    client,
                    server: server.clone(),
                    daemon,
                    traced,
                });
            }
        } else {
            report
                .note(&format!("calls by shared memory are left out: no {}", device.display()))?;
        }
    }
    if let Some(device) = spare.map(BenchDevice::path) {
        let open = DriverSession::open_unmodified;
        let server = shared(service::start_with(device, cores.server, open)?);
        let client = binder::start(device, cores.client, None, open)?;
        let (what, carries) = (PingFigure::Unmodified, CallCargo::Both);
        peers.push(PingPeer { what, carries, client, server, daemon, traced: None });
    }
    if options.libbinder {
        let (client, server) = library::start(&device.with_file_name("hwbinder"), cores)?;
        let has_lanes = DeviceOptions::default().lanes_after.is_some();
        let what = if has_lanes { PingFigure::LibraryLane } else { PingFigure::Library };
        let carries = CallCargo::Bytes;
        peers.push(PingPeer {
            what,
            carries,
            client,
            server: shared(server),
            daemon,
            traced: None,
        });
    }
    if let Some(kernel) = kernel_device(options.kernel_device.as_deref(), device)? {
        let started = service::start_with(&kernel, cores.server, plain)
            .and_then(|server| Ok((binder::start(&kernel, cores.client, None, plain)?, server)));
        match started {
            Ok((client, server)) => {
                let (what, server, carries) = (PingFigure::Kernel, shared(server), CallCargo::Both);
                let (daemon, traced) = (None, None);
                peers.push(PingPeer { what, carries, client, server, daemon, traced });
            }
            // The user did not ask for it.
            Err(error) if options.kernel_device.is_none() => {
                report.note(&format!("{} is left out: {error}", kernel.display()))?;
            }
            Err(error) => return Err(error),
        }
    }
    let room_bytes = options.sizes.iter().max().copied().unwrap_or(0);
    let baseline = |what, carries, (client, server)| {
        let server = shared(server);
        PingPeer { what, carries, client, server, daemon: None, traced: None }
    };
    let ends = futex::start(room_bytes as usize, cores)?;
    peers.push(baseline(PingFigure::Futex, CallCargo::Bytes, ends));
    for carries in [CallCargo::Bytes, CallCargo::Files] {
        let ends = stream::start(cores, carries == CallCargo::Files)?;
        peers.push(baseline(PingFigure::Unix, carries, ends));
    }
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

impl PingFigure {
    fn name(self) -> &'static str {
        match self {
            Self::Binder => "binder",
            Self::Deferred => "deferred",
            Self::Ring => "ring",
            Self::DeferredRing => "deferred ring",
            Self::Lane => "lane",
            Self::DeferredLane => "deferred lane",
            Self::Unmodified => "unmodified",
            Self::LibraryLane => "libbinder lane",
            Self::Traced => "traced",
            Self::TracedRing => "traced ring",
            Self::Library => "libbinder",
            Self::Kernel => "kernel",
            Self::Futex => "futex",
            Self::Unix => "unix",
        }
    }

    /// Whether its calls are traced.
    fn is_traced(self) -> bool {
        matches!(self, Self::Traced | Self::TracedRing)
    }

    /// The baseline: the same with as many files, but without them, without the library, or without a trace.
    fn without(self, files: u32) -> Option<Self> {
        match self {
            Self::Library | Self::TracedRing => Some(Self::DeferredRing),
            Self::Traced => Some(Self::Binder),
            Self::LibraryLane => Some(Self::DeferredLane),
            _ if files > 0 => Some(self),
            _ => None,
        }
    }
}

impl CallCargo {
    fn has(self, files: u32) -> bool {
        match self {
            Self::Bytes => files == 0,
            Self::Files => files > 0,
            Self::Both => true,
        }
    }
}

impl PingPeer {
    /// Has the client make the calls of a round.
    fn play(&mut self, round: Round) -> Result<PingTally, BenchError> {
        let _follower = self.traced.as_deref().map(StreamFollower::start).transpose()?;
        let mut actor = self.server.borrow_mut();
        let server = actor.pid();
        let daemon = self.daemon.map(|daemon| daemon.pid);
        let before = (daemon::cpu_ns(server), daemon.and_then(daemon::cpu_ns));
        let timings: Timings = self.client.ask_beside(&mut actor, &round)?;
        let after = (daemon::cpu_ns(server), daemon.and_then(daemon::cpu_ns));
        let mut samples = Samples::default();
        samples.extend(&timings.round_trips_ns);
        Ok(PingTally {
            samples,
            client_cpu_ns: timings.cpu_ns,
            server_cpu_ns: since(before.0, after.0),
            daemon_cpu_ns: since(before.1, after.1),
        })
    }
}

impl PingTally {
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

/// Half of the round trips took no longer.
type Medians = Vec<(PingFigure, u64)>;

impl PingRow {
    /// A line, set against the medians of the same bytes and files, and against those without files.
    fn new(
        what: PingFigure,
        (bytes, files): (u32, u32),
        tally: &mut PingTally,
        medians: &Medians,
        plain: &Medians,
    ) -> Self {
        let calls = tally.samples.len() as u64;
        let p50_ns = tally.samples.percentile(50);
        let times = |medians: &Medians, what| {
            let (_, base) = medians.iter().find(|(known, _)| *known == what)?;
            ratio(p50_ns, *base)
        };
        Self {
            what,
            bytes,
            files,
            p50_ns,
            p99_ns: tally.samples.percentile(99),
            client_cpu_ns: tally.client_cpu_ns / calls,
            server_cpu_ns: tally.server_cpu_ns.map(|ns| ns / calls),
            daemon_cpu_ns: tally.daemon_cpu_ns.map(|ns| ns / calls),
            times_futex: times(medians, PingFigure::Futex),
            times_unix: times(medians, PingFigure::Unix),
            times_without: what.without(files).and_then(|without| times(plain, without)),
        }
    }

    fn cells(&self) -> [String; 11] {
        [
            self.what.name().into(),
            self.bytes.to_string(),
            self.files.to_string(),
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
