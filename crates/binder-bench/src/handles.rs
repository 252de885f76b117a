//! `handles`: what a transaction takes that carries a new object, by how many its receiver holds.
//!
//! The driver must find the lowest free handle for each. One that searches gets slower with every
//! object; the time should not depend on their number.

mod allocators;

use std::path::Path;
use std::time::Instant;

use binder_uapi::{BINDER_TYPE_BINDER, FLAT_BINDER_FLAG_ACCEPTS_FDS, FlatBinderObject};
use idr::IdPool;
use serde::{Deserialize, Serialize};
use zerocopy::IntoBytes;

use crate::actor::{Actor, ActorLink};
use crate::affinity::{self, Pin};
use crate::error::{BenchError, failed};
use crate::handles::allocators::ScanTable;
use crate::report::BenchReport;
use crate::service::{self, ECHO, KEEP, NO_HANDLE};
use crate::session::DriverSession;
use crate::statistics::Samples;
use crate::table::{self, TextTable};
use crate::target::BenchTarget;

/// Time the transfer of new objects to a server that holds more and more of them.
///
/// Every call carries an object that the driver has not seen, and the server keeps it. Beside it
/// two ways to find a free handle, alone: the driver's own, and the search that drivers did before.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  anybinder run -- anybinder bench handles
  anybinder run -- anybinder bench handles --nodes 1000000")]
pub struct HandlesOptions {
    #[command(flatten)]
    pub(crate) target: BenchTarget,

    /// How many objects are sent
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=MAX_NODES))]
    nodes: u32,

    /// How many of them make a line of the table
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=MAX_NODES))]
    bucket: u32,

    /// Where the processes run, the daemon's included
    #[arg(long, value_enum, default_value = "same")]
    pin: Pin,
}

/// Far more than a user will wait for.
const MAX_NODES: i64 = 1 << 30;

/// The search is left out from here on: it takes as long as it likes.
const SCANNED_NODES: u32 = 100_000;

/// Calls before the first that is timed, so that it finds the caches as the last does.
const WARM_UP: u32 = 500;

/// An order to send objects.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Bucket {
    first_node: u32,
    nodes: u32,
}

/// Who finds the handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Allocator {
    /// The driver; the time is that of the round trip.
    Device,
    /// The driver's id pool, alone; the time is that of an allocation, as below.
    Pool,
    /// A search through a tree.
    Scan,
}

/// A result.
#[derive(Debug, Clone, Copy, Serialize)]
struct HandlesRow {
    allocator: Allocator,
    first_node: u32,
    p50_ns: f64,
}

/// The last result.
#[derive(Debug, Clone, Copy, Serialize)]
struct HandlesGrowth {
    allocator: Allocator,
    last_over_first: f64,
}

pub(crate) fn run(
    options: &HandlesOptions,
    report: &mut BenchReport<'_>,
) -> Result<(), BenchError> {
    let core = (options.pin == Pin::Same).then(affinity::core).transpose()?;
    let _pinned = options.target.pin_daemon(core, report)?;
    let device = options.target.device();
    let mut server = service::start(device, core)?;
    let mut client = Actor::start("binder client", |link| {
        core.map_or(Ok(()), affinity::pin_self)?;
        send_nodes(link, device)
    })?;

    let (mut pool, mut scan) = (IdPool::new(), ScanTable::default());
    let mut table = TextTable::new(["nodes held", "device", "pool alone", "scan alone"]);
    let mut medians = Vec::new();
    let bar = report.progress(options.nodes as usize);
    for bucket in buckets(options.nodes, options.bucket) {
        let Bucket { first_node, nodes } = bucket;
        bar.set_message(format!("{first_node} nodes held"));
        let row = |allocator, p50_ns| HandlesRow { allocator, first_node, p50_ns };

        let round_trip_ns: u64 = client.ask_beside(&mut server, &bucket)?;
        #[expect(clippy::cast_precision_loss, reason = "times are far below 2^52 ns")]
        let device = round_trip_ns as f64;
        medians.push(device);
        report.record(&row(Allocator::Device, device))?;

        let pool_ns = allocators::time_pool(&mut pool, nodes).map_err(std::io::Error::other);
        let pool_ns = pool_ns.map_err(failed("growing a pool of ids"))?;
        report.record(&row(Allocator::Pool, pool_ns))?;

        let scan_ns = (first_node < SCANNED_NODES).then(|| allocators::time_scan(&mut scan, nodes));
        if let Some(scan_ns) = scan_ns {
            report.record(&row(Allocator::Scan, scan_ns))?;
        }
        table.row([
            format!("{first_node}-{}", first_node + nodes),
            table::duration(Some(round_trip_ns)),
            table::short_duration(Some(pool_ns)),
            table::short_duration(scan_ns),
        ]);
        bar.inc(nodes.into());
    }
    bar.finish_and_clear();
    report.table(&table)?;
    if let [first, .., last] = medians[..] {
        let last_over_first = last / first;
        report.record(&HandlesGrowth { allocator: Allocator::Device, last_over_first })?;
        report
            .summary(&format!("last bucket / first bucket of the device: {last_over_first:.2}"))?;
    }
    Ok(())
}

/// Divides `nodes` into buckets; the last may be smaller.
fn buckets(nodes: u32, bucket: u32) -> impl Iterator<Item = Bucket> {
    let firsts = (0..nodes).step_by(bucket as usize);
    firsts.map(move |first_node| Bucket { first_node, nodes: bucket.min(nodes - first_node) })
}

/// In the client: sends new objects as ordered, and answers with the median of the round trips.
fn send_nodes(link: &mut ActorLink, device: &Path) -> Result<(), BenchError> {
    let mut session = DriverSession::open(device)?;
    let mut reply = Vec::new();
    for _ in 0..WARM_UP {
        session.call(ECHO, &[0; size_of::<FlatBinderObject>()], &[], &mut reply)?;
    }
    let mut last_handle = NO_HANDLE;
    while let Some(Bucket { first_node, nodes }) = link.receive()? {
        let mut round_trips = Samples::default();
        for node in first_node..first_node + nodes {
            let object = object(node);
            let start = Instant::now();
            session.call(KEEP, object.as_bytes(), &[0], &mut reply)?;
            let ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
            round_trips.extend(&[ns]);
            // Nothing is ever released, so the lowest free one is above all others.
            let handle = u32::from_ne_bytes(*reply.first_chunk().unwrap_or(&[0; 4]));
            if handle <= last_handle {
                let arrived = format!("handle {handle}, after {last_handle}");
                return Err(BenchError::NoNewHandle { node, arrived });
            }
            last_handle = handle;
        }
        link.answer(&round_trips.percentile(50))?;
    }
    Ok(())
}

/// Makes an object of ours by its number.
pub(crate) fn object(node: u32) -> FlatBinderObject {
    // Aligned like an address, and not 0.
    let name = (u64::from(node) + 1) * 16;
    let flags = 0x7f | FLAT_BINDER_FLAG_ACCEPTS_FDS;
    FlatBinderObject { kind: BINDER_TYPE_BINDER, flags, binder: name, cookie: name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_cover_all_nodes_once() {
        let covered = |nodes, bucket| -> Vec<_> {
            buckets(nodes, bucket).map(|bucket| (bucket.first_node, bucket.nodes)).collect()
        };
        assert_eq!(covered(30, 10), [(0, 10), (10, 10), (20, 10)]);
        assert_eq!(covered(25, 10), [(0, 10), (10, 10), (20, 5)]);
        assert_eq!(covered(1, 10), [(0, 1)]);
    }

    #[test]
    fn objects_have_names_of_their_own() {
        assert_eq!([0, 1].map(|node| object(node).binder), [16, 32]);
    }
}
