//! `flood`: what round trips take while another client floods the driver, set against what they take
//! without.
//!
//! The flood has processes of its own, and one that receives it: what the calls wait for is the
//! driver, and the processor, but never their own server.

mod floods;

use std::collections::HashMap;
use std::iter;
use std::time::Instant;

use serde::Serialize;

use crate::actor::{Actor, ActorLink};
use crate::error::BenchError;
use crate::flood::floods::FloodKind;
use crate::report::BenchReport;
use crate::service::{self, ECHO};
use crate::session::DriverSession;
use crate::statistics::{Samples, ratio};
use crate::table::{self, TextTable};
use crate::target::BenchTarget;

/// Time round trips beside clients that flood the driver.
///
/// A client makes calls of some bytes: alone, and then beside each flood in turn.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  anybinder run -- anybinder bench flood
  anybinder run -- anybinder bench flood --calls 10000 --floods oneways,opens")]
pub struct FloodOptions {
    #[command(flatten)]
    pub(crate) target: BenchTarget,

    /// What the driver is flooded with [default: everything, in turn]
    #[arg(long, value_enum, value_name = "FLOODS", value_delimiter = ',')]
    floods: Vec<FloodKind>,

    /// How many calls are made beside each
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..))]
    calls: u32,

    /// The bytes of a call, and of its reply
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(..=65536))]
    bytes: u32,

    /// How many objects the log tells of that `logs` reads
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    objects: u32,
}

/// Calls before the first that is timed.
const WARM_UP: u32 = 200;

/// A line of the result.
#[derive(Debug, Clone, Serialize)]
struct FloodRow {
    /// Absent for the calls that are made alone.
    flood: Option<FloodKind>,
    p50_ns: u64,
    p99_ns: u64,
    times_alone_p50: Option<f64>,
    times_alone_p99: Option<f64>,
    /// Beside a process that takes the processors in the same way and makes no calls; absent if
    /// there was none.
    times_still_p99: Option<f64>,
}

pub(crate) fn run(options: &FloodOptions, report: &mut BenchReport<'_>) -> Result<(), BenchError> {
    let device = options.target.device();
    let mut server = service::start(device, None)?;
    let bytes = options.bytes as usize;
    let mut client = Actor::start("binder client", |link| {
        call_as_ordered(link, DriverSession::open(device)?, bytes)
    })?;
    let kinds = match &options.floods[..] {
        [] => FloodKind::ALL.iter().copied().filter(|kind| kind.is_possible(device)).collect(),
        chosen => chosen.to_vec(),
    };
    let bar = report.progress(1 + kinds.len());
    let mut table =
        TextTable::new(["beside", "p50", "p99", "x alone p50", "x alone p99", "x still p99"]);
    let mut alone = None;
    let mut still_p99 = HashMap::new();
    for flood in iter::once(None).chain(kinds.iter().copied().map(Some)) {
        bar.set_message(flood.map_or("alone", FloodKind::name));
        let flooders =
            flood.map(|kind| floods::start(kind, device, options.objects.into())).transpose()?;
        let mut samples = Samples::default();
        samples.extend(&client.ask_beside::<Vec<u64>>(&mut server, &options.calls)?);
        drop(flooders);
        let (p50_ns, p99_ns) = (samples.percentile(50), samples.percentile(99));
        let (alone_p50, alone_p99) = *alone.get_or_insert((p50_ns, p99_ns));
        still_p99.insert(flood, p99_ns);
        let still = flood.and_then(|kind| still_p99.get(&Some(kind.without_calls())));
        let row = FloodRow {
            flood,
            p50_ns,
            p99_ns,
            times_alone_p50: ratio(p50_ns, alone_p50),
            times_alone_p99: ratio(p99_ns, alone_p99),
            times_still_p99: still.and_then(|still| ratio(p99_ns, *still)),
        };
        report.record(&row)?;
        table.row(row.cells());
        bar.inc(1);
    }
    bar.finish_and_clear();
    report.table(&table)?;
    report.summary(
        "nobody is pinned: a flood takes its share of the processors as well; so do those who make no calls",
    )
}

/// In the client: makes as many calls as ordered, and answers with what each took.
fn call_as_ordered(
    link: &mut ActorLink,
    mut session: DriverSession,
    bytes: usize,
) -> Result<(), BenchError> {
    let message = vec![0x5a; bytes];
    let mut reply = Vec::with_capacity(bytes);
    while let Some(calls) = link.receive::<u32>()? {
        let mut round_trips_ns = Vec::with_capacity(calls as usize);
        for call in 0..WARM_UP + calls {
            let start = Instant::now();
            session.call(ECHO, &message, &[], &mut reply)?;
            let ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
            if call >= WARM_UP {
                round_trips_ns.push(ns);
            }
            if reply != message {
                let (sent_bytes, received_bytes) = (message.len(), reply.len());
                return Err(BenchError::WrongEcho { sent_bytes, received_bytes });
            }
        }
        link.answer(&round_trips_ns)?;
    }
    Ok(())
}

impl FloodRow {
    fn cells(&self) -> [String; 6] {
        [
            self.flood.map_or("nobody", FloodKind::name).into(),
            table::duration(Some(self.p50_ns)),
            table::duration(Some(self.p99_ns)),
            table::times(self.times_alone_p50),
            table::times(self.times_alone_p99),
            table::times(self.times_still_p99),
        ]
    }
}
