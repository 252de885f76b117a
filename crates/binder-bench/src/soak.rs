//! `soak`: mixed calls by many clients that come and go, and a close look at what arrives.
//!
//! Clients call, send one-ways, are called back, show objects, get files, and end: in peace, abruptly
//! and by SIGKILL. Nothing may be lost, doubled or crossed, and nothing may be left of them.

mod client;
mod counts;
mod message;
mod server;
mod talk;

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::actor::{self, Actor, HANG_TIMEOUT};
use crate::error::BenchError;
use crate::random::Random;
use crate::report::BenchReport;
use crate::session::SessionDoor;
use crate::soak::client::{ClientLife, Deed};
use crate::soak::counts::SoakCounts;
use crate::soak::message::broken;
use crate::soak::server::ServerProgress;
use crate::table::{self, TextTable};
use crate::target::BenchTarget;

/// Have many clients make mixed calls, come and go, and look that all is well.
///
/// Fails if a message is lost, doubled, crossed or changed, or if the driver counts anything of the
/// clients when they are gone.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  anybinder bench soak --seconds 600
  anybinder bench soak --device /dev/binderfs/binder --doors fuse --kills-per-s 0")]
pub struct SoakOptions {
    #[command(flatten)]
    pub(crate) target: BenchTarget,

    /// For how long
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,

    /// How many clients there are at a time
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1000))]
    clients: u32,

    /// How many threads the server has
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=1000))]
    threads: u32,

    /// How many clients are killed in a second
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(..=1000))]
    kills_per_s: u32,

    /// By which doors clients come to the driver, in turn; the server comes by the first
    #[arg(long, value_enum, value_name = "DOORS", value_delimiter = ',',
        default_value = "ring,fuse", num_args = 1..)]
    doors: Vec<SessionDoor>,

    /// What decides who does what
    #[arg(long, default_value_t = 1)]
    seed: u32,
}

/// What one kind of deed took.
#[derive(Debug, Clone, Serialize)]
struct SoakRow {
    deed: Deed,
    calls: u64,
    p50_ns: u64,
    p99_ns: u64,
    max_ns: u64,
}

/// What it came to.
#[derive(Debug, Clone, Default, Serialize)]
struct SoakOutcome {
    seconds: u32,
    /// Transactions that the server has received.
    served: u64,
    /// Clients that ended by themselves.
    ended: u64,
    /// Of those, the ones that left with one-ways under way.
    abrupt: u64,
    killed: u64,
    /// Deaths of owners of kept objects.
    deaths: u64,
    /// One-ways that the server had no room for, and said so.
    refused_oneways: u64,
    /// What the driver counts more of than before; absent if it does not tell.
    left: Option<SoakCounts>,
}

/// The clients and what they have told.
struct SoakCrowd<'a> {
    options: &'a SoakOptions,
    end: Instant,
    living: Vec<Actor>,
    lives: u32,
    outcome: SoakOutcome,
    times: BTreeMap<Deed, Histogram<u64>>,
}

/// How often the server is asked how things are.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// A server that has received nothing for this long after the last client's end has received all.
const SETTLED_AFTER: Duration = Duration::from_millis(100);

pub(crate) fn run(options: &SoakOptions, report: &mut BenchReport<'_>) -> Result<(), BenchError> {
    let device = options.target.device();
    let before = counts::read(device);
    let mut server = server::start(device, options.threads, options.door(0))?;
    let mut crowd = SoakCrowd {
        options,
        end: Instant::now() + Duration::from_secs(options.seconds.into()),
        living: Vec::new(),
        lives: 0,
        outcome: SoakOutcome { seconds: options.seconds, ..SoakOutcome::default() },
        times: BTreeMap::new(),
    };
    crowd.live(&mut server, report)?;
    crowd.outlive()?;
    let last = settled(&mut server)?;
    drop(server);
    let SoakCrowd { mut outcome, times, .. } = crowd;
    (outcome.served, outcome.deaths) = (last.served, last.deaths);
    outcome.left = before.map(|before| left_after(&before, options)).transpose()?;

    let mut table = TextTable::new(["deed", "calls", "p50", "p99", "max"]);
    for (deed, times) in &times {
        let row = SoakRow {
            deed: *deed,
            calls: times.len(),
            p50_ns: times.value_at_quantile(0.5),
            p99_ns: times.value_at_quantile(0.99),
            max_ns: times.max(),
        };
        report.record(&row)?;
        table.row(row.cells());
    }
    report.table(&table)?;
    report.record(&outcome)?;
    report.summary(&outcome.tell())?;
    match &outcome.left {
        Some(left) if !left.is_empty() => Err(broken(format!("the driver still counts {left:?}"))),
        Some(_) | None => Ok(()),
    }
}

impl SoakOptions {
    /// The door of a client, or of the server, which is number 0.
    fn door(&self, number: u32) -> SessionDoor {
        self.doors[number as usize % self.doors.len()]
    }
}

/// Waits until the server keeps nothing of the clients, who are all gone, and has received the last of their one-ways.
fn settled(server: &mut Actor) -> Result<ServerProgress, BenchError> {
    let start = Instant::now();
    let mut before = look_at(server)?;
    loop {
        thread::sleep(SETTLED_AFTER);
        let progress = look_at(server)?;
        if progress.kept == 0 && progress.served == before.served {
            return Ok(progress);
        }
        if start.elapsed() > HANG_TIMEOUT {
            let kept = progress.kept;
            return Err(broken(format!(
                "of {kept} objects, nobody told that their owners are gone"
            )));
        }
        before = progress;
    }
}

fn look_at(server: &mut Actor) -> Result<ServerProgress, BenchError> {
    let progress: ServerProgress = server.ask(&())?;
    match progress.failure {
        Some(reason) => Err(BenchError::Actor { actor: "server of the soak".into(), reason }),
        None => Ok(progress),
    }
}

/// Returns what the driver counts more of than before, once it has had its time.
fn left_after(before: &SoakCounts, options: &SoakOptions) -> Result<SoakCounts, BenchError> {
    let start = Instant::now();
    loop {
        let after = counts::read(options.target.device());
        let after = after.ok_or_else(|| broken("the log of the driver has gone"))?;
        let left = counts::left(before, &after);
        if left.is_empty() || start.elapsed() > HANG_TIMEOUT {
            return Ok(left);
        }
        thread::sleep(Duration::from_millis(10));
    }
}

impl SoakCrowd<'_> {
    /// Keeps as many clients alive as wished, and kills some, until the time is over.
    fn live(&mut self, server: &mut Actor, report: &BenchReport<'_>) -> Result<(), BenchError> {
        let bar = report.progress(self.options.seconds as usize);
        let mut random = Random::new(self.options.seed);
        let start = Instant::now();
        let mut next_look = start;
        while Instant::now() < self.end {
            while self.living.len() < self.options.clients as usize {
                self.add()?;
            }
            for ended in actor::wait_for_any(&self.living, Duration::from_millis(5))? {
                self.bury(ended)?;
            }
            let seconds = start.elapsed().as_secs_f64();
            #[expect(clippy::cast_precision_loss, reason = "a rate")]
            if (self.outcome.killed as f64) < seconds * f64::from(self.options.kills_per_s)
                && !self.living.is_empty()
            {
                // Dropped, it is killed.
                let index = random.index(self.living.len());
                drop(self.living.swap_remove(index));
                self.outcome.killed += 1;
            }
            if Instant::now() >= next_look {
                let progress = look_at(server)?;
                bar.set_position(start.elapsed().as_secs());
                bar.set_message(format!("{} served, {} clients", progress.served, self.lives));
                next_look = Instant::now() + LOOK_EVERY;
            }
        }
        bar.finish_and_clear();
        Ok(())
    }

    fn add(&mut self) -> Result<(), BenchError> {
        self.lives += 1;
        let Self { options, lives, end, .. } = *self;
        let device = options.target.device();
        let door = options.door(lives);
        self.living.push(client::start(device, door, lives, options.seed, end)?);
        Ok(())
    }

    /// Waits for the clients that live, which know that the time is over.
    fn outlive(&mut self) -> Result<(), BenchError> {
        while !self.living.is_empty() {
            self.bury(0)?;
        }
        Ok(())
    }

    /// Takes what a client told at the end of its life.
    fn bury(&mut self, index: usize) -> Result<(), BenchError> {
        let mut client = self.living.swap_remove(index);
        let life: ClientLife = client.hear()?;
        self.outcome.ended += 1;
        self.outcome.abrupt += u64::from(life.is_abrupt);
        self.outcome.refused_oneways += life.refused;
        for (deed, times_ns) in life.times_ns {
            let histogram = self.times.entry(deed).or_insert_with(client::histogram);
            for (ns, count) in times_ns {
                histogram.saturating_record_n(ns, count);
            }
        }
        Ok(())
    }
}

impl SoakRow {
    fn cells(&self) -> [String; 5] {
        [
            self.deed.name().into(),
            self.calls.to_string(),
            table::duration(Some(self.p50_ns)),
            table::duration(Some(self.p99_ns)),
            table::duration(Some(self.max_ns)),
        ]
    }
}

impl SoakOutcome {
    fn tell(&self) -> String {
        let Self { seconds, served, ended, abrupt, killed, deaths, refused_oneways, .. } = self;
        let left = match &self.left {
            None => "the driver does not tell what it counts".to_owned(),
            Some(left) if left.is_empty() => "every count of the driver is back".to_owned(),
            Some(left) => format!("the driver still counts {left:?}"),
        };
        format!(
            "{seconds} s: {served} transactions served; {ended} clients ended, {abrupt} of them \
             abruptly, {killed} were killed; {deaths} deaths told; {refused_oneways} one-ways \
             refused for want of room\nnothing lost, doubled or crossed; {left}"
        )
    }
}
