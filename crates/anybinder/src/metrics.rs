//! `--metrics`: the figures of a driver or a service manager, for Prometheus.
//!
//! The socket is made before there is a process to serve it, so that a wrong address is told at once, and a thread of
//! that process serves it. It reads what there is when it is asked, as `stats` and `ps` do, and nothing else.

use std::net::SocketAddr;

use binder_fuse::{DeviceFigures, DriverFigures, MountedBinderfs};
use binder_http::{MetricFamilies, MetricsListener, SampleList, SampleValue};
use service_manager::ManagerServer;

use crate::failure::{Failure, failed};
use crate::log;

/// Microseconds of a second, and nanoseconds.
const MICROS: f64 = 1e6;
const NANOS: f64 = 1e9;

/// Listens where it was asked for. A port that the system chose is told on stderr.
pub(crate) fn listen(address: Option<SocketAddr>) -> Result<Option<MetricsListener>, Failure> {
    let Some(address) = address else { return Ok(None) };
    let listener = MetricsListener::bind(address);
    let listener = listener.map_err(|error| {
        let advice = "--metrics 0 takes any port that is free, and tells which";
        Failure::new(format!("listening at {address}"), error).advise(advice)
    })?;
    if address.port() == 0 {
        log::tell(format_args!("anybinder: figures are at {}", listener.url()));
    }
    Ok(Some(listener))
}

/// In the driver's process: serves its figures.
pub(crate) fn serve_driver(
    listener: MetricsListener,
    session: &MountedBinderfs,
) -> Result<(), Failure> {
    let reader = session.figures();
    let started = listener.start(move || reader.read().map(|figures| families_of(&figures)));
    started.map_err(failed("starting a thread"))
}

/// In the process of a service manager: serves its figures.
pub(crate) fn serve_manager(
    listener: MetricsListener,
    server: &ManagerServer,
) -> Result<(), Failure> {
    let server = server.clone();
    let collect = move || {
        let mut families = MetricFamilies::default();
        write_build(&mut families);
        server.write_figures(&mut families);
        Some(families)
    };
    listener.start(collect).map_err(failed("starting a thread"))
}

fn write_build(families: &mut MetricFamilies) {
    let build = families.gauge("anybinder_build_info", "The version of the program.");
    build.add(&[("version", env!("CARGO_PKG_VERSION"))], 1_u64);
}

/// The figures of a driver. No family has more samples than there are devices, times some number that does not depend on
/// who uses them.
fn families_of(figures: &DriverFigures) -> MetricFamilies {
    let mut families = MetricFamilies::default();
    write_build(&mut families);
    write_counters(&figures.devices, &mut families);
    write_objects(&figures.devices, &mut families);
    // The last are those that are gone, which have counted and have nothing any more.
    let present: Vec<_> = figures.devices.iter().filter(|it| it.lock.is_some()).collect();
    write_devices(&present, &mut families);
    write_quotas(&present, &mut families);
    write_daemon(figures, &mut families);
    families
}

fn write_counters(devices: &[DeviceFigures], families: &mut MetricFamilies) {
    let kinds = [
        ("anybinder_commands", "command", "BC_", "Commands that clients have given, by name."),
        ("anybinder_returns", "return", "BR_", "Returns that clients have read, by name."),
    ];
    for (family, label, prefix, help) in kinds {
        let samples = families.counter(family, help);
        for DeviceFigures { device, counters, .. } in devices {
            for (name, count) in counters.iter().filter(|(name, _)| name.starts_with(prefix)) {
                samples.add(&[("device", device), (label, name)], *count);
            }
        }
    }
}

fn write_objects(devices: &[DeviceFigures], families: &mut MetricFamilies) {
    let help = "Objects of the driver that are alive, by kind.";
    let alive = families.gauge("anybinder_objects", help);
    for DeviceFigures { device, objects, .. } in devices.iter().filter(|it| it.lock.is_some()) {
        for (kind, active, _) in objects {
            alive.add(&[("device", device), ("kind", kind)], *active);
        }
    }
    let help = "Objects of the driver that there ever were, by kind.";
    let made = families.counter("anybinder_objects_created", help);
    for DeviceFigures { device, objects, .. } in devices {
        for (kind, _, total) in objects {
            made.add(&[("device", device), ("kind", kind)], *total);
        }
    }
}

fn write_devices(devices: &[&DeviceFigures], families: &mut MetricFamilies) {
    let open = families.gauge("anybinder_open_files", "Open files, by the door of their clients.");
    for it in devices {
        let [fuse, ring] = it.open_files;
        open.add(&[("device", &it.device), ("door", "fuse")], fuse);
        open.add(&[("device", &it.device), ("door", "ring")], ring);
    }
    let threads = families.gauge("anybinder_threads", "Threads that the driver knows.");
    for it in devices {
        let busy = it.threads.saturating_sub(it.ready_threads);
        threads.add(&[("device", &it.device), ("state", "ready")], it.ready_threads);
        threads.add(&[("device", &it.device), ("state", "busy")], busy);
    }
    type Figure = fn(&DeviceFigures) -> SampleValue;
    let gauges: [(&str, &str, Figure); 11] = [
        ("anybinder_nodes", "Objects that processes offer.", |it| it.nodes.into()),
        ("anybinder_handles", "Handles of objects of others.", |it| it.handles.into()),
        ("anybinder_death_links", "Handles whose holder is told of a death.", |it| {
            it.death_links.into()
        }),
        ("anybinder_buffers", "Buffers in receive areas.", |it| it.buffers.into()),
        ("anybinder_buffer_bytes", "The bytes that buffers take.", |it| it.buffer_bytes.into()),
        ("anybinder_receive_area_bytes", "The length of all receive areas.", |it| {
            it.area_bytes.into()
        }),
        ("anybinder_queued_work", "Items that wait to be read, without completions.", |it| {
            it.queued.into()
        }),
        ("anybinder_waiting_oneways", "One-ways behind another to the same object.", |it| {
            it.waiting_oneways.into()
        }),
        ("anybinder_calls_under_way", "Calls that are not answered.", |it| {
            it.calls_under_way.into()
        }),
        ("anybinder_longest_call_seconds", "The longest call to any open file there is.", |it| {
            seconds(it.longest_call_us, MICROS)
        }),
        ("anybinder_device_present", "Whether the device is there.", |_| 1_u64.into()),
    ];
    for (name, help, figure) in gauges {
        let samples = families.gauge(name, help);
        devices.iter().for_each(|it| samples.add(&[("device", &it.device)], figure(it)));
    }
    let locks = devices.iter().filter_map(|it| Some((&it.device, it.lock?)));
    let help = "How often a device's lock was taken for clients.";
    let holds = families.counter("anybinder_lock_holds", help);
    locks.clone().for_each(|(device, lock)| holds.add(&[("device", device)], lock.holds));
    let help = "For how long a device's lock was held for clients, made of one of 16 holds.";
    let held = families.counter("anybinder_lock_held_seconds", help);
    locks.for_each(|(device, lock)| held.add(&[("device", device)], seconds(lock.held_ns, NANOS)));
}

fn write_quotas(devices: &[&DeviceFigures], families: &mut MetricFamilies) {
    let each = |samples: &mut SampleList, figure: fn(&(&'static str, u64, u64)) -> u64| {
        for DeviceFigures { device, quotas, .. } in devices {
            for quota in quotas {
                samples.add(&[("device", device), ("resource", quota.0)], figure(quota));
            }
        }
    };
    let help = "What the user has who has most of a resource.";
    each(families.gauge("anybinder_quota_used", help), |(_, used, _)| *used);
    let help = "How much of a resource a user may have.";
    each(families.gauge("anybinder_quota_limit", help), |(_, _, limit)| *limit);
}

fn write_daemon(figures: &DriverFigures, families: &mut MetricFamilies) {
    let memory = &figures.memory;
    let help = "The memory of all receive buffers: what pages have, and what buffers use of it.";
    let bytes = families.gauge("anybinder_receive_memory_bytes", help);
    bytes.add(&[("state", "present")], memory.present_bytes);
    bytes.add(&[("state", "used")], memory.used_bytes);
    let help = "How much memory receive buffers may use.";
    families.gauge("anybinder_receive_memory_limit_bytes", help).add(&[], memory.limit_bytes);
    let mut kinds: Vec<&str> = figures.shares.iter().map(|share| share.name.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let of = |kind: &str| {
        figures.shares.iter().filter(|share| share.name == kind).max_by_key(|share| share.used)
    };
    let most: Vec<_> = kinds.into_iter().filter_map(of).collect();
    let help = "What the daemon spends of itself for the user for whom it spends most.";
    let used = families.gauge("anybinder_share_used", help);
    most.iter().for_each(|share| used.add(&[("resource", &share.name)], share.used));
    let help = "What the daemon may spend of itself for a user.";
    let limit = families.gauge("anybinder_share_limit", help);
    most.iter().for_each(|share| limit.add(&[("resource", &share.name)], share.limit));
}

/// A time in the unit that Prometheus wants.
fn seconds(count: u64, per_second: f64) -> SampleValue {
    // Beyond 2^53 nanoseconds, 104 days, the last digits do not matter.
    SampleValue::Real(count as f64 / per_second)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use binder_fuse::LockUsage;
    use binder_report::records::{MemoryRecord, Share};

    use super::*;

    fn samples() -> BTreeMap<String, f64> {
        let device = DeviceFigures {
            device: "binder".into(),
            counters: vec![("BC_TRANSACTION", 7), ("BR_REPLY", 6), ("BR_FAILED_REPLY", 1)],
            objects: vec![("node", 2, 5)],
            open_files: [3, 1],
            threads: 9,
            ready_threads: 4,
            longest_call_us: 1_500_000,
            quotas: vec![("handles", 12, 100)],
            lock: Some(LockUsage { holds: 10, held_ns: 250_000_000 }),
            ..DeviceFigures::default()
        };
        let gone = DeviceFigures {
            counters: vec![("BC_TRANSACTION", 2)],
            objects: vec![("node", 0, 3)],
            ..DeviceFigures::default()
        };
        let share = |uid, used| Share { uid, name: "descriptors".into(), used, limit: 50 };
        let memory = MemoryRecord { present_bytes: 8192, used_bytes: 4096, limit_bytes: 1 << 20 };
        let shares = vec![share(1, 3), share(2, 5)];
        let figures = DriverFigures { devices: vec![device, gone], memory, shares };
        binder_testkit::read_exposition(&families_of(&figures).to_prometheus())
    }

    #[test]
    fn figures_of_a_driver() {
        let samples = samples();
        for (sample, value) in [
            ("anybinder_commands_total{device=\"binder\",command=\"BC_TRANSACTION\"}", 7.0),
            ("anybinder_commands_total{device=\"\",command=\"BC_TRANSACTION\"}", 2.0),
            ("anybinder_returns_total{device=\"binder\",return=\"BR_FAILED_REPLY\"}", 1.0),
            ("anybinder_objects{device=\"binder\",kind=\"node\"}", 2.0),
            ("anybinder_objects_created_total{device=\"\",kind=\"node\"}", 3.0),
            ("anybinder_open_files{device=\"binder\",door=\"fuse\"}", 3.0),
            ("anybinder_open_files{device=\"binder\",door=\"ring\"}", 1.0),
            ("anybinder_threads{device=\"binder\",state=\"busy\"}", 5.0),
            ("anybinder_longest_call_seconds{device=\"binder\"}", 1.5),
            ("anybinder_lock_held_seconds_total{device=\"binder\"}", 0.25),
            ("anybinder_quota_used{device=\"binder\",resource=\"handles\"}", 12.0),
            ("anybinder_quota_limit{device=\"binder\",resource=\"handles\"}", 100.0),
            ("anybinder_receive_memory_bytes{state=\"used\"}", 4096.0),
            ("anybinder_share_used{resource=\"descriptors\"}", 5.0),
        ] {
            assert_eq!(samples.get(sample), Some(&value), "{sample} of {samples:#?}");
        }
        assert!(!samples.contains_key("anybinder_objects{device=\"\",kind=\"node\"}"));
    }
}
