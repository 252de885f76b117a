//! `freeze`: what it takes to freeze a process, and to thaw it, by who watches its objects.
//!
//! A freeze must not depend on how many objects its process has. The processes that asked to be
//! told of it are told, one by one, and that takes its time.

use std::path::Path;
use std::time::Instant;

use serde::Serialize;
use zerocopy::IntoBytes;

use crate::actor::{Actor, ActorLink};
use crate::affinity::{self, Pin};
use crate::error::{BenchError, failed};
use crate::handles::object;
use crate::report::BenchReport;
use crate::service::{self, ECHO, KEEP, WATCH};
use crate::session::DriverSession;
use crate::statistics::Samples;
use crate::table::{self, TextTable};
use crate::target::BenchTarget;

/// Time the freezing and thawing of a process with many objects.
///
/// Another process holds a reference to each: at first silently, then it asks to be told of freezes.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  anybinder run -- anybinder bench freeze
  anybinder run -- anybinder bench freeze --nodes 100000")]
pub struct FreezeOptions {
    #[command(flatten)]
    pub(crate) target: BenchTarget,

    /// How many objects the process has
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    nodes: u32,

    /// How often it is frozen
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Where the processes run, the daemon's included
    #[arg(long, value_enum, default_value = "same")]
    pin: Pin,
}

/// A line of the result.
#[derive(Debug, Clone, Serialize)]
struct FreezeRow {
    nodes: u32,
    is_watched: bool,
    freeze_p50_ns: u64,
    freeze_p99_ns: u64,
    thaw_p50_ns: u64,
    thaw_p99_ns: u64,
}

pub(crate) fn run(options: &FreezeOptions, report: &mut BenchReport<'_>) -> Result<(), BenchError> {
    let core = (options.pin == Pin::Same).then(affinity::core).transpose()?;
    let _pinned = options.target.pin_daemon(core, report)?;
    let device = options.target.device();
    let mut table =
        TextTable::new(["nodes", "watched", "freeze p50", "freeze p99", "thaw p50", "thaw p99"]);
    for is_watched in [false, true] {
        let mut server = service::start(device, core)?;
        let mut owner = Actor::start("owner of the objects", |link| {
            core.map_or(Ok(()), affinity::pin_self)?;
            offer(link, device, if is_watched { WATCH } else { KEEP })
        })?;
        owner.ask_beside::<()>(&mut server, &options.nodes)?;
        let (pid, rounds) = (owner.pid(), options.rounds);
        let mut freezer = Actor::start("freezer", |link| {
            core.map_or(Ok(()), affinity::pin_self)?;
            freeze_as_ordered(link, device, pid)
        })?;
        let [freezes, thaws]: [Vec<u64>; 2] = freezer.ask_beside(&mut server, &rounds)?;
        let [mut freeze, mut thaw] = [freezes, thaws].map(|times| {
            let mut samples = Samples::default();
            samples.extend(&times);
            samples
        });
        let row = FreezeRow {
            nodes: options.nodes,
            is_watched,
            freeze_p50_ns: freeze.percentile(50),
            freeze_p99_ns: freeze.percentile(99),
            thaw_p50_ns: thaw.percentile(50),
            thaw_p99_ns: thaw.percentile(99),
        };
        report.record(&row)?;
        table.row(row.cells());
    }
    report.table(&table)?;
    match core {
        Some(core) => report.summary(&format!("all on core {core}")),
        None => report.summary("not pinned"),
    }
}

/// In the owner: gives the server as many objects as ordered.
fn offer(link: &mut ActorLink, device: &Path, code: u32) -> Result<(), BenchError> {
    let mut session = DriverSession::open(device)?;
    let mut reply = Vec::new();
    while let Some(nodes) = link.receive::<u32>()? {
        for node in 0..nodes {
            session.call(code, object(node).as_bytes(), &[0], &mut reply)?;
        }
        link.answer(&())?;
    }
    Ok(())
}

/// In the freezer: freezes and thaws process `pid` as often as ordered, and answers with the times.
fn freeze_as_ordered(link: &mut ActorLink, device: &Path, pid: u32) -> Result<(), BenchError> {
    let mut session = DriverSession::open(device)?;
    while let Some(rounds) = link.receive::<u32>()? {
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            for (is_frozen, times) in [true, false].into_iter().zip(&mut times) {
                let start = Instant::now();
                let set = session.client().set_frozen(pid, is_frozen);
                let ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
                set.map_err(failed("freezing or thawing a process"))?;
                times.push(ns);
                // The server answers once it has read all that it was told.
                session.call(ECHO, &[], &[], &mut Vec::new())?;
            }
        }
        link.answer(&times)?;
    }
    Ok(())
}

impl FreezeRow {
    fn cells(&self) -> [String; 6] {
        [
            self.nodes.to_string(),
            if self.is_watched { "all" } else { "none" }.into(),
            table::duration(Some(self.freeze_p50_ns)),
            table::duration(Some(self.freeze_p99_ns)),
            table::duration(Some(self.thaw_p50_ns)),
            table::duration(Some(self.thaw_p99_ns)),
        ]
    }
}
