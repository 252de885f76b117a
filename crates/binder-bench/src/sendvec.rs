//! `sendvec`: vectors of words there and back, while memory is plenty and while it is short.
//!
//! As BM_sendVec_binder of Android does, which showed that a driver whose tables are large suffers
//! first when memory is short. Quiet passes and loaded ones take turns, so that whatever else the
//! machine does hits both alike.

mod cage;
mod eater;
mod footprint;

use std::iter;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::actor::{Actor, ActorLink};
use crate::affinity;
use crate::daemon::{self, Daemon};
use crate::error::BenchError;
use crate::report::BenchReport;
use crate::sendvec::cage::Cage;
use crate::sendvec::eater::{Eater, EaterKind};
use crate::sendvec::footprint::Footprint;
use crate::service::{self, ECHO};
use crate::session::DriverSession;
use crate::statistics::Samples;
use crate::table::{self, TextTable};
use crate::target::BenchTarget;

/// Time vectors of words, there and back, also while memory is short.
///
/// Client, server and daemon share a core. For the time of a loaded pass the daemon, the clients and the eater of memory are put into a memory
/// cgroup, where that is permitted, of which the eater holds nearly all.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  anybinder run -- anybinder bench sendvec
  anybinder run -- anybinder bench sendvec --eat 2048 --eater builtin --json")]
pub struct SendvecOptions {
    #[command(flatten)]
    pub(crate) target: BenchTarget,

    /// The words of a vector, 4 bytes each
    #[arg(long, value_name = "WORDS", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(1..=MAX_WORDS),
          default_value = "4,8,16,32,64,128,256,512,1024,2048,4096,8192,16384,32768,65536")]
    words: Vec<u32>,

    /// How many passes of each kind there are
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// How long vectors of one size are sent in a pass
    #[arg(long, value_name = "MS", default_value_t = 40,
          value_parser = clap::value_parser!(u64).range(1..=60_000))]
    millis: u64,

    /// How much memory is eaten, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 512,
          value_parser = clap::value_parser!(u32).range(64..))]
    eat: u32,

    /// Who eats it [default: stressapptest where it is installed]
    #[arg(long, value_enum)]
    eater: Option<EaterKind>,
}

/// How many words fit into a receive buffer twice.
const MAX_WORDS: i64 = 65_536;
const WORD_BYTES: u32 = 4;

/// How much of the memory before the burst may remain beside it, in percent,
const REMAINS_PERCENT: i64 = 5;
/// and how soon all else must be gone.
const RECOVERS_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What the memory is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum MemoryLoad {
    Quiet,
    Short,
}

/// An order to send vectors for some time.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct SendvecOrder {
    words: u32,
    millis: u64,
}

/// What that came to.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Sent {
    round_trips_ns: Vec<u64>,
}

/// The vectors of one size under one load.
#[derive(Debug, Clone, Default)]
struct SendvecTally {
    call_ns: Samples,
    /// Of a call, in each pass.
    cpu_ns: Samples,
}

/// A line of the result.
#[derive(Debug, Clone, Copy, Serialize)]
struct SendvecRow {
    words: u32,
    load: MemoryLoad,
    /// Half of the calls took no longer.
    ns: u64,
    /// How long client, server and daemon ran for a call, in the median of the passes.
    cpu_ns: u64,
    iterations: u64,
    /// Bytes per second, counted once for there and back.
    throughput: u64,
}

/// How the memory came back.
#[derive(Debug, Clone, Copy, Serialize)]
struct Recovery {
    before_bytes: i64,
    burst_bytes: i64,
    after_bytes: i64,
    /// Until no more than the allowed remains; absent if that took too long.
    recovered_ms: Option<u64>,
}

pub(crate) fn run(
    options: &SendvecOptions,
    report: &mut BenchReport<'_>,
) -> Result<(), BenchError> {
    let daemon = options.target.daemon().ok_or(BenchError::NoDaemon)?;
    let device = options.target.device();
    let core = affinity::core()?;
    let _pinned = options.target.pin_daemon(Some(core), report)?;
    let mut stage = SendvecStage {
        server: service::start(device, Some(core))?,
        client: Actor::start("binder client", |link| {
            affinity::pin_self(core)?;
            send_as_ordered(link, DriverSession::open(device)?)
        })?,
        daemon,
    };
    let mut eater = Eater::new(options.eater, options.eat)?;
    let cage = Cage::build(eater.limit_bytes());
    if let Err(reason) = &cage {
        report
            .note(&format!("memory is eaten, but not short, for there is no cgroup: {reason}"))?;
    }
    // What the first call of each size needs is no part of a burst.
    for words in &options.words {
        stage.send(SendvecOrder { words: *words, millis: 1 })?;
    }
    let before = Footprint::settled(daemon, device, stage.clients())?;

    let sizes = options.words.len();
    let passes = [MemoryLoad::Quiet, MemoryLoad::Short];
    let bar = report.progress((options.rounds as usize + 1) * passes.len() * sizes);
    let mut tallies = [(); 2].map(|()| vec![SendvecTally::default(); sizes]);
    for round in 0..=options.rounds {
        for (load, tallies) in passes.into_iter().zip(&mut tallies) {
            bar.set_message(format!("{} words, {}", options.words[0], load.name()));
            let caught = stage.set(load, &mut eater, cage.as_ref().ok())?;
            for (words, tally) in options.words.iter().zip(tallies) {
                let order = SendvecOrder { words: *words, millis: options.millis };
                let pass = stage.play(order)?;
                // The first warms up.
                if round > 0 {
                    tally.add(pass);
                }
                bar.inc(1);
            }
            drop(caught);
            eater.let_go()?;
        }
    }
    bar.finish_and_clear();
    let burst = Footprint::measure(daemon, device, stage.clients())?;
    let recovery = recover(before, burst, || {
        // Clients go on using the device: memory in use stays, and the rest must go all the same.
        stage.send(SendvecOrder { words: 4, millis: 1 })?;
        Footprint::measure(daemon, device, stage.clients())
    })?;
    tell(options, tallies, recovery, report)
}

/// The processes that take part.
struct SendvecStage {
    server: Actor,
    client: Actor,
    daemon: Daemon,
}

impl SendvecStage {
    fn clients(&self) -> [u32; 2] {
        [self.server.pid(), self.client.pid()]
    }

    fn send(&mut self, order: SendvecOrder) -> Result<Sent, BenchError> {
        self.client.ask_beside(&mut self.server, &order)
    }

    /// Has memory as it is to be for a pass.
    fn set<'cage>(
        &self,
        load: MemoryLoad,
        eater: &mut Eater,
        cage: Option<&'cage Cage>,
    ) -> Result<Option<cage::Caught<'cage>>, BenchError> {
        if load == MemoryLoad::Quiet {
            return Ok(None);
        }
        let [server, client] = self.clients();
        let pids = [self.daemon.pid, server, client, eater.pid()];
        let caught = cage.map(|cage| cage.catch(&pids)).transpose()?;
        eater.eat(cage)?;
        Ok(caught)
    }

    fn play(&mut self, order: SendvecOrder) -> Result<(Sent, Option<u64>), BenchError> {
        let [server, client] = self.clients();
        let pids = [self.daemon.pid, server, client];
        let cpu_ns = || pids.iter().map(|pid| daemon::cpu_ns(*pid)).sum::<Option<u64>>();
        let before = cpu_ns();
        let sent = self.send(order)?;
        Ok((sent, cpu_ns().zip(before).map(|(after, before)| after.saturating_sub(before))))
    }
}

/// In the client: sends vectors of as many words, for as long as ordered, and looks at what comes.
fn send_as_ordered(link: &mut ActorLink, mut session: DriverSession) -> Result<(), BenchError> {
    let mut reply = Vec::new();
    while let Some(SendvecOrder { words, millis }) = link.receive()? {
        let mut message: Vec<u8> = (0..words * WORD_BYTES).map(|at| (at % 251) as u8).collect();
        let (start, enough) = (Instant::now(), Duration::from_millis(millis));
        let mut round_trips_ns = Vec::new();
        while start.elapsed() < enough || round_trips_ns.is_empty() {
            let number = round_trips_ns.len().to_ne_bytes();
            message[..WORD_BYTES as usize].copy_from_slice(&number[..WORD_BYTES as usize]);
            let before = Instant::now();
            session.call(ECHO, &message, &[], &mut reply)?;
            round_trips_ns.push(u64::try_from(before.elapsed().as_nanos()).unwrap_or(u64::MAX));
            let is_echo =
                reply.len() == message.len() && reply.first_chunk::<4>() == message.first_chunk();
            if !is_echo {
                let (sent_bytes, received_bytes) = (message.len(), reply.len());
                return Err(BenchError::WrongEcho { sent_bytes, received_bytes });
            }
        }
        // All bytes once, and not while the clock runs.
        if reply != message {
            let (sent_bytes, received_bytes) = (message.len(), reply.len());
            return Err(BenchError::WrongEcho { sent_bytes, received_bytes });
        }
        link.answer(&Sent { round_trips_ns })?;
    }
    Ok(())
}

/// Looks on until the memory is back, or for as long as that may take.
fn recover(
    before: Footprint,
    burst: Footprint,
    mut look: impl FnMut() -> Result<Footprint, BenchError>,
) -> Result<Recovery, BenchError> {
    let start = Instant::now();
    let allowed = before.bytes() + before.bytes() * REMAINS_PERCENT / 100;
    loop {
        let after = look()?;
        let is_back = after.bytes() <= allowed;
        if is_back || start.elapsed() > RECOVERS_WITHIN {
            let ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
            return Ok(Recovery {
                before_bytes: before.bytes(),
                burst_bytes: burst.bytes(),
                after_bytes: after.bytes(),
                recovered_ms: is_back.then_some(ms),
            });
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Writes the table, the sums and how the memory came back.
fn tell(
    options: &SendvecOptions,
    tallies: [Vec<SendvecTally>; 2],
    recovery: Recovery,
    report: &mut BenchReport<'_>,
) -> Result<(), BenchError> {
    let mut table = TextTable::new([
        "words",
        "quiet",
        "CPU",
        "iterations",
        "MB/s",
        "short",
        "CPU",
        "iterations",
        "MB/s",
        "loss",
    ]);
    let [quiet, short] = tallies;
    let mut sums = [0, 0];
    for (words, (quiet, short)) in options.words.iter().zip(iter::zip(quiet, short)) {
        let rows = [quiet.row(*words, MemoryLoad::Quiet), short.row(*words, MemoryLoad::Short)];
        for (row, sum) in rows.iter().zip(&mut sums) {
            report.record(row)?;
            *sum += row.throughput;
        }
        let cells = rows.iter().flat_map(SendvecRow::cells);
        let loss = loss(rows.map(|row| row.throughput));
        table.row(iter::once(words.to_string()).chain(cells).chain([loss]));
    }
    report.record(&recovery)?;
    report.table(&table)?;
    let [quiet, short] = sums.map(megabytes);
    report.summary(&format!(
        "throughput of all sizes: {quiet} MB/s quiet, {short} MB/s while memory is short: loss {}; \
         no call failed",
        loss(sums)
    ))?;
    report.summary(&recovery.to_string())
}

impl SendvecTally {
    fn add(&mut self, (sent, cpu_ns): (Sent, Option<u64>)) {
        let calls = sent.round_trips_ns.len() as u64;
        self.call_ns.extend(&sent.round_trips_ns);
        if let Some(ns) = cpu_ns {
            self.cpu_ns.extend(&[ns / calls.max(1)]);
        }
    }

    fn row(mut self, words: u32, load: MemoryLoad) -> SendvecRow {
        let ns = self.call_ns.percentile(50);
        let bytes = u64::from(words * WORD_BYTES);
        SendvecRow {
            words,
            load,
            ns,
            cpu_ns: self.cpu_ns.percentile(50),
            iterations: self.call_ns.len() as u64,
            throughput: bytes * 1_000_000_000 / ns.max(1),
        }
    }
}

impl SendvecRow {
    fn cells(&self) -> [String; 4] {
        [
            table::duration(Some(self.ns)),
            table::duration(Some(self.cpu_ns)),
            self.iterations.to_string(),
            megabytes(self.throughput),
        ]
    }
}

impl MemoryLoad {
    fn name(self) -> &'static str {
        match self {
            Self::Quiet => "memory is plenty",
            Self::Short => "memory is short",
        }
    }
}

impl std::fmt::Display for Recovery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "daemon and mappings: {} before, {} after the burst, ",
            table::bytes(self.before_bytes),
            table::bytes(self.burst_bytes)
        )?;
        let after = table::bytes(self.after_bytes);
        match self.recovered_ms {
            Some(ms) => write!(f, "{after} within {ms} ms of it, with calls going on"),
            None => write!(f, "and {after} still {} s later", RECOVERS_WITHIN.as_secs()),
        }
    }
}

/// Bytes in millions, with a digit behind the point.
fn megabytes(bytes: u64) -> String {
    format!("{}.{}", bytes / 1_000_000, bytes / 100_000 % 10)
}

/// The loss from the first to the second, in percent.
#[expect(clippy::cast_precision_loss, reason = "one digit behind the point is shown")]
fn loss([quiet, short]: [u64; 2]) -> String {
    format!("{:.1} %", 100.0 * (1.0 - short as f64 / quiet.max(1) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_counts_the_bytes_of_the_median_call() {
        let mut tally = SendvecTally::default();
        for ns in [40_000, 20_000, 90_000] {
            tally.add((Sent { round_trips_ns: vec![ns; 2] }, Some(2 * ns / 4)));
        }
        let row = tally.row(1000, MemoryLoad::Short);
        assert_eq!((row.ns, row.cpu_ns, row.iterations), (40_000, 10_000, 6));
        assert_eq!(row.throughput, 100_000_000);
        assert_eq!(row.cells()[3], "100.0");
        let json = serde_json::to_string(&row).unwrap();
        let expected = r#"{"words":1000,"load":"short","ns":40000,"cpu_ns":10000,"iterations":6,"#;
        assert!(json.starts_with(expected), "{json}");
    }

    #[test]
    fn a_loss_may_be_a_gain() {
        assert_eq!([loss([200, 194]), loss([100, 110])], ["3.0 %", "-10.0 %"]);
    }

    #[test]
    fn memory_is_back_when_little_of_the_burst_remains() {
        let footprint = Footprint::of_bytes;
        let mut seen = [1_300, 1_051, 1_050, 0].map(footprint).into_iter();
        let look = || Ok(seen.next().unwrap());
        let recovery = recover(footprint(1_000), footprint(2_000), look).unwrap();
        assert_eq!((recovery.burst_bytes, recovery.after_bytes), (2_000, 1_050));
        assert!(recovery.recovered_ms.is_some());
    }
}
