//! `--metrics`: figures of this machine's part in the cluster, beside those of its manager.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use binder::transport::rpc::{ResourceUse, RpcServer, ServerStatistics};
use binder_cluster::MemberStatus;
use binder_http::{HistogramSample, MetricFamilies, MetricsListener, SampleValue};
use service_manager::ManagerServer;

use crate::clock;
use crate::importers::{ImporterCounts, Importers};
use crate::options::{ClusterError, ServeOptions, failed};
use crate::store::SharedMember;

/// Upper bounds of classes of call times, in seconds. The last class has all longer ones.
const BOUNDS: [f64; 16] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0, 10.0,
];

/// The parts of the program whose figures are shown.
pub(crate) struct MetricsSources {
    pub(crate) manager: ManagerServer,
    pub(crate) member: SharedMember,
    pub(crate) importers: Importers,
    pub(crate) gateway: Arc<RpcServer>,
    pub(crate) calls: Arc<GatewayCalls>,
}

/// Listens where it was asked for. A port that the system chose is told on stderr.
pub(crate) fn listen(options: &ServeOptions) -> Result<Option<MetricsListener>, ClusterError> {
    let Some(address) = options.metrics else { return Ok(None) };
    let listener = MetricsListener::bind(address);
    let listener = listener.map_err(failed(format!("listening at {address}")))?;
    if address.port() == 0 {
        // If it cannot be written, the port is found by other means.
        let _ = writeln!(io::stderr(), "anybinder-cluster: figures are at {}", listener.url());
    }
    Ok(Some(listener))
}

/// Serves what the sources have at the moment of each request.
pub(crate) fn start(
    listener: MetricsListener,
    sources: MetricsSources,
) -> Result<(), ClusterError> {
    let collect = move || {
        let mut families = MetricFamilies::default();
        let build = families.gauge("anybinder_build_info", "The version of the program.");
        build.add(&[("version", env!("CARGO_PKG_VERSION"))], 1_u64);
        sources.manager.write_figures(&mut families);
        let status = sources.member.lock().status(clock::now());
        write_member(&status, &mut families);
        write_importers(sources.importers.counts(), &mut families);
        write_gateway(&sources.gateway.statistics(), &mut families);
        sources.calls.write(&mut families);
        Some(families)
    };
    listener.start(collect).map_err(failed("starting a thread"))
}

fn write_member(status: &MemberStatus, families: &mut MetricFamilies) {
    let help = "Names of all machines, as this one knows them: with one owner, and instances of those with many.";
    let names = families.gauge("anybinder_cluster_names", help);
    names.add(&[("ownership", "single")], status.single);
    names.add(&[("ownership", "many")], status.many);
    let help = "Services that this machine shares: those whose name it owns, and those that wait for that.";
    let own = families.gauge("anybinder_cluster_own_services", help);
    own.add(&[("state", "owned")], status.owned);
    own.add(&[("state", "waiting")], status.awaited);
    let help = "Names that are being written to the store, or deleted there.";
    families.gauge("anybinder_cluster_writes_under_way", help).add(&[], status.writes);
    let help = "For how long this machine may act as an owner if its lease is not renewed.";
    let left = status.lease_left.as_secs_f64();
    families.gauge("anybinder_cluster_lease_left_seconds", help).add(&[], left);
    let help = "Leases that have ended though this machine went on.";
    families.counter("anybinder_cluster_lost_leases", help).add(&[], status.lost_leases);
    let help = "The revision of the store that was heard of last.";
    // Revisions are positive.
    let revision = u64::try_from(status.revision).unwrap_or(0);
    families.gauge("anybinder_cluster_watch_revision", help).add(&[], revision);
    let help = "For how long changes in the store have not been told; 0 while they are.";
    let stale = status.stale_for.as_secs_f64();
    families.gauge("anybinder_cluster_stale_seconds", help).add(&[], stale);
}

fn write_importers(counts: ImporterCounts, families: &mut MetricFamilies) {
    let help = "Processes that stand for services of other machines.";
    let importers = families.gauge("anybinder_cluster_importers", help);
    importers.add(&[("state", "ready")], counts.ready);
    importers.add(&[("state", "starting")], counts.starting);
    let help = "Look-ups that wait for another machine.";
    families.gauge("anybinder_cluster_waiting_lookups", help).add(&[], counts.waiting);
}

fn write_gateway(it: &ServerStatistics, families: &mut MetricFamilies) {
    let help = "Sessions of other machines.";
    families.gauge("anybinder_gateway_sessions", help).add(&[], it.sessions);
    let help = "Threads that serve a call of another machine.";
    families.gauge("anybinder_gateway_threads", help).add(&[], it.threads);
    let objects = families.gauge("anybinder_gateway_objects", "Objects that sessions hold.");
    objects.add(&[("side", "own")], it.own_objects);
    objects.add(&[("side", "client")], it.client_objects);
    let help = "Connections that have come.";
    families.counter("anybinder_gateway_connections", help).add(&[], it.accepted);
    let help =
        "Connections that were refused, and sessions that were ended for what their client did.";
    families.counter("anybinder_gateway_refusals", help).add(&[], it.refused);
    let resources = [
        ("connections", it.connections),
        ("handshakes", it.handshakes),
        ("objects", it.objects),
        ("waiting_bytes", it.waiting_bytes),
        ("waiting_files", it.waiting_files),
        ("streams", it.streams),
    ];
    type Figure = fn(&ResourceUse) -> Option<usize>;
    let figures: [(&str, &str, Figure); 3] = [
        ("anybinder_gateway_quota_used", "What all other machines have.", |it| Some(it.held)),
        ("anybinder_gateway_quota_limit", "How much there may be.", |it| it.limit),
        ("anybinder_gateway_quota_used_max", "What the machine has that has most.", |it| {
            Some(it.most_of_a_peer)
        }),
    ];
    for (name, help, figure) in figures {
        let samples = families.gauge(name, help);
        for (resource, held) in &resources {
            if let Some(value) = figure(held) {
                samples.add(&[("resource", resource)], value);
            }
        }
    }
}

/// How long calls of other machines took, and whether they failed.
#[derive(Debug, Default)]
pub(crate) struct GatewayCalls {
    done: CallTimes,
    failed: CallTimes,
}

#[derive(Debug, Default)]
struct CallTimes {
    total_ns: AtomicU64,
    counts: [AtomicU64; BOUNDS.len() + 1],
}

impl GatewayCalls {
    /// Counts a call that was served.
    pub(crate) fn note(&self, took: Duration, is_done: bool) {
        let times = if is_done { &self.done } else { &self.failed };
        let seconds = took.as_secs_f64();
        let class = BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len());
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        times.counts[class].fetch_add(1, Ordering::Relaxed);
        times.total_ns.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    fn write(&self, families: &mut MetricFamilies) {
        let help = "How long calls of other machines were served, by what became of them.";
        let samples = families.histogram("anybinder_gateway_call_seconds", help);
        for (result, times) in [("done", &self.done), ("failed", &self.failed)] {
            let bounds = BOUNDS.into_iter().chain([f64::INFINITY]);
            let counts = times.counts.iter().map(|count| count.load(Ordering::Relaxed));
            let sum = times.total_ns.load(Ordering::Relaxed) as f64 / 1e9;
            let sample = HistogramSample { sum, buckets: bounds.zip(counts).collect() };
            samples.add(&[("result", result)], SampleValue::Histogram(sample));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_how_long_they_took() {
        let calls = GatewayCalls::default();
        for (millis, is_done) in [(0, true), (1, true), (40, false), (60_000, true)] {
            calls.note(Duration::from_millis(millis), is_done);
        }
        let mut families = MetricFamilies::default();
        calls.write(&mut families);
        let samples = binder_testkit::read_exposition(&families.to_prometheus());
        for (sample, value) in [
            ("_bucket{le=\"0.0001\",result=\"done\"}", 1.0),
            ("_bucket{le=\"0.001\",result=\"done\"}", 2.0),
            ("_bucket{le=\"10.0\",result=\"done\"}", 2.0),
            ("_bucket{le=\"+Inf\",result=\"done\"}", 3.0),
            ("_count{result=\"done\"}", 3.0),
            ("_sum{result=\"failed\"}", 0.04),
            ("_bucket{le=\"0.05\",result=\"failed\"}", 1.0),
        ] {
            let name = format!("anybinder_gateway_call_seconds{sample}");
            assert_eq!(samples.get(&name), Some(&value), "{name} of {samples:#?}");
        }
    }
}
