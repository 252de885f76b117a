//! `throughput`: how many calls several clients make in a second, together.
//!
//! As binderThroughputTest does: every client is a process that calls one server after another as
//! fast as it can, and notes how long each call takes. The same goes over sockets, for comparison.

mod histogram;
mod socket;

use std::path::Path;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::actor::{Actor, ActorLink};
use crate::error::BenchError;
use crate::report::BenchReport;
use crate::service::{self, ECHO};
use crate::session::DriverSession;
use crate::statistics::{Samples, ratio};
use crate::table::{self, TextTable};
use crate::target::BenchTarget;
use crate::throughput::histogram::Histogram;

/// Count the calls that several clients make together in a second.
///
/// All clients call one server, which has a thread for each of them. Nobody is pinned.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  anybinder run -- anybinder bench throughput
  anybinder run -- anybinder bench throughput --workers 2,16 --bytes 4096 --histogram")]
pub struct ThroughputOptions {
    #[command(flatten)]
    pub(crate) target: BenchTarget,

    /// How many clients there are
    #[arg(long, value_name = "COUNTS", value_delimiter = ',', default_value = "1,2,4,8",
          value_parser = clap::value_parser!(u32).range(1..=256))]
    workers: Vec<u32>,

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
enum What {
    Binder,
    /// AF_UNIX streams, one for each client.
    Unix,
}

/// Clients and their server.
struct Crowd {
    what: What,
    clients: Vec<Actor>,
    _server: Actor,
    samples: Samples,
    /// Of all rounds, from the first call of any client to the last return of any.
    run_ns: u64,
}

/// What a client answers after a round, by the monotonic clock.
#[derive(Debug, Serialize, Deserialize)]
struct Round {
    start_ns: u64,
    end_ns: u64,
    round_trips_ns: Vec<u64>,
}

/// A line of the result.
#[derive(Debug, Clone, Serialize)]
struct Row {
    what: What,
    workers: u32,
    bytes: u32,
    calls_per_s: u64,
    /// Against the first line of the same kind.
    times_first: Option<f64>,
    mean_ns: u64,
    p50_ns: u64,
    p90_ns: u64,
    p99_ns: u64,
    max_ns: u64,
}

/// Calls of each client before the first that counts.
const WARM_UP: u32 = 200;

pub(crate) fn run(
    options: &ThroughputOptions,
    report: &mut BenchReport<'_>,
) -> Result<(), BenchError> {
    let bar = report.progress(options.workers.len() * options.rounds as usize * 2);
    let heads = ["peer", "workers", "calls/s", "x first", "mean", "p50", "p90", "p99", "max"];
    let mut table = TextTable::new(heads);
    let mut firsts: Vec<(What, u64)> = Vec::new();
    let mut histograms = Vec::new();
    for &workers in &options.workers {
        let mut crowds = assemble(options, workers)?;
        for _ in 0..options.rounds {
            for crowd in &mut crowds {
                bar.set_message(format!("{} clients, {}", workers, crowd.what.name()));
                crowd.play(options.iterations)?;
                bar.inc(1);
            }
        }
        for mut crowd in crowds {
            let row = crowd.row(workers, options.bytes, &mut firsts);
            report.record(&row)?;
            table.row(row.cells());
            histograms.push((row, Histogram::new(&crowd.samples)));
        }
    }
    bar.finish_and_clear();
    report.table(&table)?;
    report.summary("nobody is pinned; sockets have a server thread each and carry bytes alone")?;
    if options.histogram {
        for (row, histogram) in histograms {
            report.summary(&format!(
                "\n{}, {} workers\n{histogram}",
                row.what.name(),
                row.workers
            ))?;
        }
    }
    Ok(())
}

fn assemble(options: &ThroughputOptions, workers: u32) -> Result<[Crowd; 2], BenchError> {
    let device = options.target.device();
    let bytes = options.bytes as usize;
    let server = service::start_threads(device, workers)?;
    let clients = (0..workers).map(|_| start_client(device, bytes));
    let binder = Crowd::new(What::Binder, clients.collect::<Result<_, _>>()?, server);
    let (server, clients) = socket::start(workers, bytes)?;
    Ok([binder, Crowd::new(What::Unix, clients, server)])
}

fn start_client(device: &Path, bytes: usize) -> Result<Actor, BenchError> {
    Actor::start("binder client", |link| {
        let mut session = DriverSession::open(device)?;
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
        link.answer(&Round { start_ns, end_ns: before, round_trips_ns })?;
    }
    Ok(())
}

/// The same clock for all processes.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

impl What {
    fn name(self) -> &'static str {
        match self {
            Self::Binder => "binder",
            Self::Unix => "unix",
        }
    }
}

impl Crowd {
    fn new(what: What, clients: Vec<Actor>, server: Actor) -> Self {
        Self { what, clients, _server: server, samples: Samples::default(), run_ns: 0 }
    }

    /// Has all clients make their calls at once.
    fn play(&mut self, calls: u32) -> Result<(), BenchError> {
        for client in &mut self.clients {
            client.tell(&calls)?;
        }
        let (mut start_ns, mut end_ns) = (u64::MAX, 0);
        for client in &mut self.clients {
            let round: Round = client.hear()?;
            start_ns = start_ns.min(round.start_ns);
            end_ns = end_ns.max(round.end_ns);
            self.samples.extend(&round.round_trips_ns);
        }
        self.run_ns += end_ns.saturating_sub(start_ns);
        Ok(())
    }

    fn row(&mut self, workers: u32, bytes: u32, firsts: &mut Vec<(What, u64)>) -> Row {
        let calls = self.samples.len() as u64;
        let calls_per_s = u128::from(calls) * 1_000_000_000 / u128::from(self.run_ns.max(1));
        let calls_per_s = u64::try_from(calls_per_s).unwrap_or(u64::MAX);
        if !firsts.iter().any(|(what, _)| *what == self.what) {
            firsts.push((self.what, calls_per_s));
        }
        let first = firsts.iter().find(|(what, _)| *what == self.what);
        let [p50_ns, p90_ns, p99_ns, max_ns] =
            [50, 90, 99, 100].map(|percent| self.samples.percentile(percent));
        Row {
            what: self.what,
            workers,
            bytes,
            calls_per_s,
            times_first: first.and_then(|(_, first)| ratio(calls_per_s, *first)),
            mean_ns: self.samples.mean(),
            p50_ns,
            p90_ns,
            p99_ns,
            max_ns,
        }
    }
}

impl Row {
    fn cells(&self) -> [String; 9] {
        [
            self.what.name().into(),
            self.workers.to_string(),
            self.calls_per_s.to_string(),
            table::times(self.times_first),
            table::duration(Some(self.mean_ns)),
            table::duration(Some(self.p50_ns)),
            table::duration(Some(self.p90_ns)),
            table::duration(Some(self.p99_ns)),
            table::duration(Some(self.max_ns)),
        ]
    }
}
