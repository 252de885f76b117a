//! `serial-fraction`: what share of the daemon's work for a call is done with the lock of its device held.
//!
//! Processors can divide the rest among them, and not that: Amdahl's law says what they bring at most. Everything runs on
//! one core, so that a lock is never waited for, and the time that a lock is held is work for as long.

use std::fs;

use serde::{Deserialize, Serialize};

use crate::actor::Actor;
use crate::affinity;
use crate::daemon::{self, Daemon};
use crate::error::BenchError;
use crate::logs;
use crate::ping::binder::{self, Completions};
use crate::ping::caller::{Round, Timings};
use crate::report::BenchReport;
use crate::service;
use crate::session::DriverSession;
use crate::table::{self, TextTable};
use crate::target::BenchTarget;

/// Measure what share of the daemon's work is done with the lock of a device held.
///
/// A client makes calls of some bytes. The driver tells for how long it held the lock, the system for how long the
/// daemon ran.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  anybinder run -- anybinder bench serial-fraction
  anybinder bench serial-fraction --sizes 64,4096 --calls 50000")]
pub struct SerialFractionOptions {
    #[command(flatten)]
    pub(crate) target: BenchTarget,

    /// The bytes of a call, and of its reply
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_value = "64,4096,65536",
          value_parser = clap::value_parser!(u32).range(..=65536))]
    sizes: Vec<u32>,

    /// How many calls of each size are made
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..))]
    calls: u32,
}

/// How the locks of all devices were used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
struct HeldLocks {
    holds: u64,
    held_ns: u64,
}

/// What was used until some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CallCosts {
    lock: HeldLocks,
    daemon_cpu_ns: u64,
    server_cpu_ns: u64,
}

/// A line of the result.
#[derive(Debug, Clone, Serialize)]
struct SerialFractionRow {
    what: &'static str,
    bytes: u32,
    /// Each for one call.
    holds: f64,
    held_ns: u64,
    daemon_cpu_ns: u64,
    /// Of client, server and daemon.
    all_cpu_ns: u64,
    /// How much of the daemon's time the lock was held.
    share: f64,
    /// How many times as fast the daemon's work for one device is at most, with that many processors.
    times_of_8: f64,
    times_of_16: f64,
    times_of_64: f64,
    /// The same with any number.
    times_at_most: f64,
}

pub(crate) fn run(
    options: &SerialFractionOptions,
    report: &mut BenchReport<'_>,
) -> Result<(), BenchError> {
    let daemon = options.target.daemon().ok_or(BenchError::NoDaemon)?;
    let core = affinity::core()?;
    let _pinned = options.target.pin_daemon(Some(core), report)?;
    let device = options.target.device();
    let plain = DriverSession::open_without_ring;
    let mut server = service::start_with(device, Some(core), plain)?;
    let kinds = [("binder", Completions::Own), ("deferred", Completions::Deferred)];
    let bar = report.progress(kinds.len() * options.sizes.len());
    let mut table = TextTable::new([
        "peer",
        "bytes",
        "holds",
        "held",
        "daemon CPU",
        "all CPU",
        "share",
        "x of 8",
        "x of 16",
        "x of 64",
        "x at most",
    ]);
    for &bytes in &options.sizes {
        for (what, completions) in kinds {
            bar.set_message(format!("{bytes} bytes, {what}"));
            let mut client = binder::start(device, Some(core), Some(completions), plain)?;
            let mut play = |server: &mut Actor, calls| {
                client.ask_beside::<Timings>(server, &Round { bytes, calls, files: 0 })
            };
            // The first warms up.
            play(&mut server, options.calls.div_ceil(10))?;
            let before = CallCosts::until_now(options, daemon, &server)?;
            let timings = play(&mut server, options.calls)?;
            let used = CallCosts::until_now(options, daemon, &server)?.since(&before);
            let row = SerialFractionRow::new(what, bytes, options.calls, &used, timings.cpu_ns);
            report.record(&row)?;
            table.row(row.cells());
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    report.table(&table)?;
    report.summary(&format!(
        "all on core {core}, for one call; x: how much faster the daemon is at most for one device, with so many \
         processors"
    ))
}

impl CallCosts {
    fn until_now(
        options: &SerialFractionOptions,
        daemon: Daemon,
        server: &Actor,
    ) -> Result<Self, BenchError> {
        let cpu_ns = |pid| daemon::cpu_ns(pid).ok_or(BenchError::NoDaemon);
        Ok(Self {
            lock: HeldLocks::read(options)?,
            daemon_cpu_ns: cpu_ns(daemon.pid)?,
            server_cpu_ns: cpu_ns(server.pid())?,
        })
    }

    fn since(&self, before: &Self) -> Self {
        Self {
            lock: HeldLocks {
                holds: self.lock.holds.saturating_sub(before.lock.holds),
                held_ns: self.lock.held_ns.saturating_sub(before.lock.held_ns),
            },
            daemon_cpu_ns: self.daemon_cpu_ns.saturating_sub(before.daemon_cpu_ns),
            server_cpu_ns: self.server_cpu_ns.saturating_sub(before.server_cpu_ns),
        }
    }
}

impl HeldLocks {
    fn read(options: &SerialFractionOptions) -> Result<Self, BenchError> {
        let mut places = logs::places(options.target.device(), "anybinder/stats.json");
        let text = places.find_map(|place| fs::read_to_string(place).ok());
        text.and_then(|text| Self::sum(&text)).ok_or(BenchError::NoStatistics)
    }

    /// The sum of what the records tell of; `None` if there is none of a lock.
    fn sum(records: &str) -> Option<Self> {
        #[derive(Deserialize)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        enum Record {
            Lock(HeldLocks),
        }
        let locks = records.lines().filter_map(|line| serde_json::from_str(line).ok());
        locks
            .map(|Record::Lock(usage)| usage)
            .reduce(|a, b| Self { holds: a.holds + b.holds, held_ns: a.held_ns + b.held_ns })
    }
}

impl SerialFractionRow {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    fn new(
        what: &'static str,
        bytes: u32,
        calls: u32,
        used: &CallCosts,
        client_cpu_ns: u64,
    ) -> Self {
        let calls = u64::from(calls);
        let HeldLocks { holds, held_ns } = used.lock;
        let share = held_ns as f64 / used.daemon_cpu_ns.max(1) as f64;
        let [times_of_8, times_of_16, times_of_64, times_at_most] =
            [8.0, 16.0, 64.0, f64::INFINITY].map(|processors| speedup(share, processors));
        Self {
            what,
            bytes,
            holds: holds as f64 / calls as f64,
            held_ns: held_ns / calls,
            daemon_cpu_ns: used.daemon_cpu_ns / calls,
            all_cpu_ns: (used.daemon_cpu_ns + used.server_cpu_ns + client_cpu_ns) / calls,
            share,
            times_of_8,
            times_of_16,
            times_of_64,
            times_at_most,
        }
    }

    fn cells(&self) -> [String; 11] {
        [
            self.what.into(),
            self.bytes.to_string(),
            format!("{:.1}", self.holds),
            table::duration(Some(self.held_ns)),
            table::duration(Some(self.daemon_cpu_ns)),
            table::duration(Some(self.all_cpu_ns)),
            format!("{:.1} %", 100.0 * self.share),
            table::times(Some(self.times_of_8)),
            table::times(Some(self.times_of_16)),
            table::times(Some(self.times_of_64)),
            table::times(Some(self.times_at_most)),
        ]
    }
}

/// How many times as fast work is with that many processors of which `serial` is done by one at a time: Amdahl's law.
fn speedup(serial: f64, processors: f64) -> f64 {
    1.0 / (serial + (1.0 - serial) / processors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_locks_of_all_devices_are_added_up() {
        let records = r#"{"kind":"memory","present_bytes":0}
{"kind":"lock","device":"binder","holds":3,"held_ns":500}
{"kind":"lock","device":"hwbinder","holds":1,"held_ns":20}
{"kind":"counter","pid":null,"device":null,"name":"BC_REPLY","count":2}"#;
        assert_eq!(HeldLocks::sum(records), Some(HeldLocks { holds: 4, held_ns: 520 }));
        assert_eq!(HeldLocks::sum(records.lines().next().unwrap()), None);
    }

    #[test]
    fn what_one_does_at_a_time_limits_the_speedup() {
        let tenths = |serial, processors| (10.0 * speedup(serial, processors)).round();
        assert_eq!([1.0, 8.0].map(|processors| tenths(0.0, processors)), [10.0, 80.0]);
        assert_eq!([8.0, 16.0, f64::INFINITY].map(|it| tenths(0.2, it)), [33.0, 40.0, 50.0]);
    }
}
