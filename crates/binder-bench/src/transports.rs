//! `transports`: calls of a typed interface over each transport, beside a bare socket.
//!
//! Every peer is a client and a server in processes of their own. They take turns in short rounds,
//! so that whatever else the machine does hits all alike. The bare socket carries as many bytes
//! there and back as RPC Binder needs for the call. What comes back is checked after the time was
//! taken.

mod calls;
mod concurrent;
mod raw;
mod rest;
mod rpc;
#[cfg(feature = "rsbinder")]
mod rsbinder;
mod syscalls;

use serde::Serialize;

use crate::actor::{Actor, ActorLink};
use crate::affinity::{self, Pin};
use crate::error::BenchError;
use crate::library;
use crate::report::BenchReport;
use crate::statistics::{Samples, ratio};
use crate::table::{self, TextTable};
use crate::target::BenchTarget;
use crate::transports::calls::{CallsOrder, Op};

/// Time calls over sockets, beside bare messages of the same bytes.
///
/// Client and server are two processes that use the library as any program does: typed arguments
/// are written, sent, read, and sent back. System calls are counted by strace, if there is one.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  anybinder bench transports
  anybinder bench transports --calls 5000 --json
  anybinder bench transports --driver
  anybinder bench transports --pin none --concurrent")]
pub struct TransportsOptions {
    /// In how many rounds each peer makes its calls
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// How many calls a round has
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    calls: u32,

    /// Where the processes run
    #[arg(long, value_enum, default_value = "same")]
    pin: Pin,

    /// Count the calls of 1 to 8 threads instead, with sessions of their own and shared ones
    #[arg(long)]
    concurrent: bool,

    /// Make the calls over a binder device as well
    #[arg(long, conflicts_with = "concurrent")]
    pub(crate) driver: bool,

    #[command(flatten)]
    pub(crate) target: BenchTarget,
}

/// What carries the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Transport {
    /// Bare messages over a Unix socket.
    Raw,
    /// RPC Binder over a Unix socket.
    Rpc,
    /// A binder device.
    Driver,
    /// The same, by another library.
    #[cfg(feature = "rsbinder")]
    Rsbinder,
}

/// A client and a server who know each other.
struct TransportPeer {
    transport: Transport,
    client: Actor,
    server: Actor,
}

/// A line of the result.
#[derive(Debug, Clone, Serialize)]
struct TransportsRow {
    transport: Transport,
    op: &'static str,
    bytes: u32,
    p50_ns: u64,
    syscalls_client: Option<f64>,
    syscalls_server: Option<f64>,
    times_raw: Option<f64>,
}

pub(crate) fn run(
    options: &TransportsOptions,
    report: &mut BenchReport<'_>,
) -> Result<(), BenchError> {
    if options.concurrent {
        return concurrent::run(options.rounds, options.calls, report);
    }
    let core = (options.pin == Pin::Same).then(affinity::core).transpose()?;
    let _pinned = if options.driver { options.target.pin_daemon(core, report)? } else { None };
    let mut peers = assemble(options, core)?;
    let bar = report.progress(Op::ALL.len() * peers.len() * (options.rounds as usize + 1));
    let mut table = TextTable::new([
        "transport",
        "op",
        "bytes",
        "p50",
        "x raw",
        "client calls",
        "server calls",
    ]);
    for op in Op::ALL {
        let mut tallies = vec![Samples::default(); peers.len()];
        for round in 0..=options.rounds {
            for (peer, samples) in peers.iter_mut().zip(&mut tallies) {
                let order = CallsOrder { op, calls: options.calls };
                let taken: Vec<u64> = peer.client.ask_beside(&mut peer.server, &order)?;
                // The first warms up.
                if round > 0 {
                    samples.extend(&taken);
                }
                bar.inc(1);
            }
        }
        let medians: Vec<u64> = tallies.iter_mut().map(|tally| tally.percentile(50)).collect();
        for (peer, p50_ns) in peers.iter_mut().zip(&medians) {
            let (syscalls_client, syscalls_server) = syscalls::of_one_call(peer, op)?;
            let row = TransportsRow {
                transport: peer.transport,
                op: op.name(),
                bytes: op.bytes(),
                p50_ns: *p50_ns,
                syscalls_client,
                syscalls_server,
                times_raw: ratio(*p50_ns, medians[0]),
            };
            report.record(&row)?;
            table.row(row.cells());
        }
    }
    bar.finish_and_clear();
    report.table(&table)?;
    for peer in &peers {
        let row = rest::of_server(peer)?;
        report.record(&row)?;
        report.summary(&row.text())?;
    }
    match core {
        Some(core) => report.summary(&format!("all on core {core}; calls are system calls")),
        None => report.summary("not pinned; calls are system calls"),
    }
}

/// Starts all clients and servers, the baseline first.
fn assemble(
    options: &TransportsOptions,
    core: Option<usize>,
) -> Result<Vec<TransportPeer>, BenchError> {
    let (client, server) = raw::start(core)?;
    let mut peers = vec![TransportPeer { transport: Transport::Raw, client, server }];
    let (client, server) = rpc::start(core)?;
    peers.push(TransportPeer { transport: Transport::Rpc, client, server });
    if options.driver {
        let device = options.target.device();
        let play = |link: &mut ActorLink, object| calls::play(link, &object);
        let (client, server) = library::start(device, (core, core), calls::new_service, play)?;
        peers.push(TransportPeer { transport: Transport::Driver, client, server });
    }
    #[cfg(feature = "rsbinder")]
    {
        let (client, server) = rsbinder::start(core)?;
        peers.push(TransportPeer { transport: Transport::Rsbinder, client, server });
    }
    Ok(peers)
}

impl Transport {
    fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Rpc => "rpc",
            Self::Driver => "driver",
            #[cfg(feature = "rsbinder")]
            Self::Rsbinder => "rsbinder",
        }
    }
}

impl TransportsRow {
    fn cells(&self) -> [String; 7] {
        let count = |count: Option<f64>| count.map_or("-".into(), |count| format!("{count:.2}"));
        [
            self.transport.name().into(),
            self.op.into(),
            self.bytes.to_string(),
            table::duration(Some(self.p50_ns)),
            table::times(self.times_raw),
            count(self.syscalls_client),
            count(self.syscalls_server),
        ]
    }
}
