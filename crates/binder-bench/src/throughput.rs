//! `throughput`: how many calls several clients make in a second, together.
//!
//! As binderThroughputTest does: every client is a process that calls one server after another as
//! fast as it can, and notes how long each call takes. The same goes over sockets, for comparison.
//! Clients may be spread over devices, and all processes held to some cores: so it shows what a second core, and a
//! second device, bring.

mod histogram;
mod socket;

use std::path::{Path, PathBuf};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::actor::{Actor, ActorLink};
use crate::affinity::{self, PinnedSelf};
use crate::bench_device::BenchDevice;
use crate::error::BenchError;
use crate::report::BenchReport;
use crate::service::{self, ECHO, OpenSession};
use crate::session::DriverSession;
use crate::statistics::{Samples, ratio};
use crate::table::{self, TextTable};
use crate::target::BenchTarget;
use crate::throughput::histogram::Histogram;

/// Count the calls that several clients make together in a second.
///
/// All clients of a device call one server, which has a thread for each of them.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  anybinder run -- anybinder bench throughput
  anybinder run -- anybinder bench throughput --workers 2,16 --bytes 4096 --histogram
  anybinder run -- anybinder bench throughput --workers 8 --devices 1,2 --cores 1,2")]
pub struct ThroughputOptions {
    #[command(flatten)]
    pub(crate) target: BenchTarget,

    /// How many clients there are
    #[arg(long, value_name = "COUNTS", value_delimiter = ',', default_value = "1,2,4,8",
          value_parser = clap::value_parser!(u32).range(1..=256))]
    workers: Vec<u32>,

    /// Over how many devices they are spread: the one that is measured, and others beside it
    #[arg(long, value_name = "COUNTS", value_delimiter = ',', default_value = "1",
          value_parser = clap::value_parser!(u32).range(1..=DEVICES.len() as i64))]
    devices: Vec<u32>,

    /// On how many cores all run, the daemon included [default: wherever the scheduler puts them]
    #[arg(long, value_name = "COUNTS", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(1..))]
    cores: Vec<u32>,

    /// How many calls each of them makes in a round
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..))]
    iterations: u32,

    /// In how many rounds, taking turns with the sockets
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// The bytes of a call, and of its reply
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(..=65536))]
    bytes: u32,

    /// Show how the times of the calls are spread
    #[arg(long)]
    histogram: bool,
}

/// What the clients call through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum ThroughputTarget {
    /// The devices, by ioctls.
    Binder,
    /// Devices beside them, by shared memory.
    Ring,
    /// Devices of their own, by ioctls as programs make them that know of nothing else: the preloaded library takes them up.
    Unmodified,
    /// AF_UNIX streams, one for each client.
    Unix,
}

/// Who calls, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct Setting {
    workers: u32,
    devices: u32,
    /// Absent if no thread is pinned.
    cores: Option<u32>,
}

/// Clients and their servers.
struct ThroughputCrowd {
    what: ThroughputTarget,
    clients: Vec<Actor>,
    _servers: Vec<Actor>,
    _spares: Vec<BenchDevice>,
    samples: Samples,
    /// Of all rounds, from the first call of any client to the last return of any.
    run_ns: u64,
}

/// What a client answers after a round, by the monotonic clock.
#[derive(Debug, Serialize, Deserialize)]
struct RoundAnswer {
    start_ns: u64,
    end_ns: u64,
    round_trips_ns: Vec<u64>,
}

/// A line of the result.
#[derive(Debug, Clone, Serialize)]
struct ThroughputRow {
    what: ThroughputTarget,
    #[serde(flatten)]
    setting: Setting,
    bytes: u32,
    calls_per_s: u64,
    /// Against the first line of the same kind.
    times_first: Option<f64>,
    /// Against the line with the first number of cores, of the same kind, workers and devices.
    times_first_cores: Option<f64>,
    /// Against ioctls in the same setting.
    times_binder: Option<f64>,
    mean_ns: u64,
    p50_ns: u64,
    p90_ns: u64,
    p99_ns: u64,
    max_ns: u64,
}

/// Calls of each client before the first that counts.
const WARM_UP: u32 = 200;

/// The devices that a mount has, unless it is told otherwise.
const DEVICES: [&str; 3] = ["binder", "hwbinder", "vndbinder"];

pub(crate) fn run(
    options: &ThroughputOptions,
    report: &mut BenchReport<'_>,
) -> Result<(), BenchError> {
    let settings = options.settings();
    if let Err(reason) = BenchDevice::of_unmodified(options.target.device()) {
        report.note(&format!("unmodified programs are left out: {reason}"))?;
    }
    let bar = report.progress(settings.len() * options.rounds as usize * 4);
    let mut table = TextTable::new([
        "peer",
        "workers",
        "devices",
        "cores",
        "calls/s",
        "x first",
        "x first cores",
        "x binder",
        "mean",
        "p50",
        "p90",
        "p99",
        "max",
    ]);
    let mut rows: Vec<ThroughputRow> = Vec::new();
    let mut histograms = Vec::new();
    for setting in settings {
        let cores = setting.cores.map(affinity::first_cores).transpose()?;
        let daemon = options.target.daemon();
        // Without it the line would be of something else than it says.
        let _pinned_daemon =
            cores.map(|cores| daemon.ok_or(BenchError::NoDaemon)?.pin(cores)).transpose()?;
        let _pinned = cores.as_ref().map(PinnedSelf::new).transpose()?;
        let mut crowds = assemble(options, setting)?;
        for _ in 0..options.rounds {
            for crowd in &mut crowds {
                bar.set_message(format!("{} clients, {}", setting.workers, crowd.what.name()));
                crowd.play(options.iterations)?;
                bar.inc(1);
            }
        }
        for mut crowd in crowds {
            let row = crowd.row(setting, options.bytes, &rows);
            report.record(&row)?;
            table.row(row.cells());
            histograms.push((crowd.what, setting, Histogram::new(&crowd.samples)));
            rows.push(row);
        }
    }
    bar.finish_and_clear();
    report.table(&table)?;
    let pinned = if options.cores.is_empty() { "nobody is pinned" } else { "all on so many cores" };
    report
        .summary(&format!("{pinned}; sockets have a server thread each and carry bytes alone"))?;
    if options.histogram {
        for (what, Setting { workers, .. }, histogram) in histograms {
            report.summary(&format!("\n{}, {workers} workers\n{histogram}", what.name()))?;
        }
    }
    Ok(())
}

fn assemble(
    options: &ThroughputOptions,
    setting: Setting,
) -> Result<Vec<ThroughputCrowd>, BenchError> {
    let Setting { workers, .. } = setting;
    let bytes = options.bytes as usize;
    let kinds: [(_, OpenSession); 2] = [
        (ThroughputTarget::Binder, DriverSession::open_without_ring),
        (ThroughputTarget::Ring, DriverSession::open),
    ];
    let mut all_devices = options.devices();
    let crowd = |what, devices: &[&Path], open| -> Result<ThroughputCrowd, BenchError> {
        // No server is without a client.
        let devices = &devices[..devices.len().min(workers as usize)];
        let threads = workers.div_ceil(setting.devices);
        let servers = devices.iter().map(|device| service::start_threads(device, threads, open));
        let servers = servers.collect::<Result<_, _>>()?;
        let clients = devices.iter().cycle().take(workers as usize);
        let clients = clients.map(|device| start_client(device, bytes, open));
        Ok(ThroughputCrowd::new(what, clients.collect::<Result<_, _>>()?, servers))
    };
    let mut crowds = Vec::new();
    for (what, open) in kinds {
        let devices: Vec<_> = all_devices.by_ref().take(setting.devices as usize).collect();
        // Handle 0 of a device is one server's, so rings need as many devices more.
        if devices.len() < setting.devices as usize && what == ThroughputTarget::Ring {
            break;
        }
        let devices: Vec<_> = devices.iter().map(PathBuf::as_path).collect();
        crowds.push(crowd(what, &devices, open)?);
    }
    let spares = (0..setting.devices).map(|_| BenchDevice::of_unmodified(options.target.device()));
    // Why there are none was told.
    if let Ok(spares) = spares.collect::<Result<Vec<_>, _>>() {
        let devices: Vec<_> = spares.iter().map(BenchDevice::path).collect();
        let unmodified =
            crowd(ThroughputTarget::Unmodified, &devices, DriverSession::open_unmodified)?;
        crowds.push(ThroughputCrowd { _spares: spares, ..unmodified });
    }
    // Sockets know no devices: one line is enough.
    if Some(&setting.devices) == options.devices.first() {
        let (server, clients) = socket::start(workers, bytes)?;
        crowds.push(ThroughputCrowd::new(ThroughputTarget::Unix, clients, vec![server]));
    }
    Ok(crowds)
}

impl ThroughputOptions {
    /// All that is to be measured, in this order.
    fn settings(&self) -> Vec<Setting> {
        let cores: Vec<_> = match &self.cores[..] {
            [] => vec![None],
            chosen => chosen.iter().copied().map(Some).collect(),
        };
        let mut settings = Vec::new();
        for &devices in &self.devices {
            for &cores in &cores {
                let setting = |&workers| Setting { workers, devices, cores };
                settings.extend(self.workers.iter().map(setting));
            }
        }
        settings
    }

    /// The device that is measured, and those beside it.
    fn devices(&self) -> impl Iterator<Item = PathBuf> {
        let first = self.target.device().to_owned();
        let others = DEVICES.map(|name| first.with_file_name(name));
        let others = others.into_iter().filter({
            let first = first.clone();
            move |other| *other != first && other.exists()
        });
        std::iter::once(first).chain(others)
    }
}

fn start_client(device: &Path, bytes: usize, open: OpenSession) -> Result<Actor, BenchError> {
    Actor::start("binder client", |link| {
        let mut session = open(device)?;
        play(link, bytes, |message, reply| session.call(ECHO, message, &[], reply))
    })
}

/// In a client: makes as many calls as ordered, and answers with what they took.
fn play(
    link: &mut ActorLink,
    bytes: usize,
    mut call: impl FnMut(&[u8], &mut Vec<u8>) -> Result<(), BenchError>,
) -> Result<(), BenchError> {
    let mut message = vec![0x5a; bytes];
    let mut reply = Vec::with_capacity(bytes);
    for _ in 0..WARM_UP {
        call(&message, &mut reply)?;
    }
    while let Some(calls) = link.receive::<u32>()? {
        let mut round_trips_ns = Vec::with_capacity(calls as usize);
        let start_ns = now_ns();
        let mut before = start_ns;
        for number in 0..calls {
            let stamp = number.to_ne_bytes();
            let len = stamp.len().min(message.len());
            message[..len].copy_from_slice(&stamp[..len]);
            call(&message, &mut reply)?;
            if reply != message {
                let (sent_bytes, received_bytes) = (message.len(), reply.len());
                return Err(BenchError::WrongEcho { sent_bytes, received_bytes });
            }
            let after = now_ns();
            round_trips_ns.push(after - before);
            before = after;
        }
        link.answer(&RoundAnswer { start_ns, end_ns: before, round_trips_ns })?;
    }
    Ok(())
}

/// The same clock for all processes.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

impl ThroughputTarget {
    fn name(self) -> &'static str {
        match self {
            Self::Binder => "binder",
            Self::Ring => "ring",
            Self::Unmodified => "unmodified",
            Self::Unix => "unix",
        }
    }
}

impl ThroughputCrowd {
    fn new(what: ThroughputTarget, clients: Vec<Actor>, servers: Vec<Actor>) -> Self {
        let (_servers, _spares) = (servers, Vec::new());
        Self { what, clients, _servers, _spares, samples: Samples::default(), run_ns: 0 }
    }

    /// Has all clients make their calls at once.
    fn play(&mut self, calls: u32) -> Result<(), BenchError> {
        for client in &mut self.clients {
            client.tell(&calls)?;
        }
        let (mut start_ns, mut end_ns) = (u64::MAX, 0);
        for client in &mut self.clients {
            let round: RoundAnswer = client.hear()?;
            start_ns = start_ns.min(round.start_ns);
            end_ns = end_ns.max(round.end_ns);
            self.samples.extend(&round.round_trips_ns);
        }
        self.run_ns += end_ns.saturating_sub(start_ns);
        Ok(())
    }

    /// The line of the crowd, behind those before it.
    fn row(&mut self, setting: Setting, bytes: u32, before: &[ThroughputRow]) -> ThroughputRow {
        let calls = self.samples.len() as u64;
        let calls_per_s = u128::from(calls) * 1_000_000_000 / u128::from(self.run_ns.max(1));
        let calls_per_s = u64::try_from(calls_per_s).unwrap_or(u64::MAX);
        let mut peers = before.iter().filter(|row| row.what == self.what);
        let first = peers.clone().next();
        let first_cores =
            peers.find(|row| Setting { cores: setting.cores, ..row.setting } == setting);
        let is_by_ioctls =
            |row: &&ThroughputRow| row.what == ThroughputTarget::Binder && row.setting == setting;
        let has_binder = matches!(self.what, ThroughputTarget::Ring | ThroughputTarget::Unmodified);
        let binder = before.iter().rev().find(is_by_ioctls).filter(|_| has_binder);
        let times = |other: Option<&ThroughputRow>| {
            ratio(calls_per_s, other.map_or(calls_per_s, |other| other.calls_per_s))
        };
        let [p50_ns, p90_ns, p99_ns, max_ns] =
            [50, 90, 99, 100].map(|percent| self.samples.percentile(percent));
        ThroughputRow {
            what: self.what,
            setting,
            bytes,
            calls_per_s,
            times_first: times(first),
            times_first_cores: setting.cores.and_then(|_| times(first_cores)),
            times_binder: binder.and_then(|binder| times(Some(binder))),
            mean_ns: self.samples.mean(),
            p50_ns,
            p90_ns,
            p99_ns,
            max_ns,
        }
    }
}

impl ThroughputRow {
    fn cells(&self) -> [String; 13] {
        let Setting { workers, devices, cores } = self.setting;
        [
            self.what.name().into(),
            workers.to_string(),
            devices.to_string(),
            cores.map_or("all".into(), |cores| cores.to_string()),
            self.calls_per_s.to_string(),
            table::times(self.times_first),
            table::times(self.times_first_cores),
            table::times(self.times_binder),
            table::duration(Some(self.mean_ns)),
            table::duration(Some(self.p50_ns)),
            table::duration(Some(self.p90_ns)),
            table::duration(Some(self.p99_ns)),
            table::duration(Some(self.max_ns)),
        ]
    }
}
