//! Samples of a driver, and the rates between two of them.

use std::collections::HashMap;
use std::time::Instant;

use binder_report::records::{CallRecord, ProcessRecord, StatsRecord};
use serde::Serialize;

use crate::failure::Failure;
use crate::inspect::{Binderfs, limits_table, name_of};

/// The records of one moment, or nearly: each file is of a moment of its own.
#[derive(Debug)]
pub(crate) struct Sample {
    at: Instant,
    processes: Vec<ProcessRecord>,
    calls: Vec<CallRecord>,
    /// The resources that users have, and their limits.
    limits: String,
    /// By process and device.
    counts: HashMap<(u32, String), ProcessCounts>,
    /// Commands of all processes, including those that are gone.
    all: ProcessCounts,
}

/// How often a process did something since it came, modulo 2^32.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ProcessCounts {
    sent: u32,
    received: u32,
}

/// A process, as it has been since the sample before.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ProcessRow {
    pub(super) name: String,
    #[serde(flatten)]
    pub(super) process: ProcessRecord,
    /// Transactions that it has sent in a second; replies are none.
    pub(super) sent_per_s: f64,
    /// Transactions that it has received in a second.
    pub(super) received_per_s: f64,
    /// For how long the oldest call to it that has no answer yet has been waiting.
    pub(super) oldest_call_ms: u64,
    /// Its rates in the last intervals, drawn.
    #[serde(skip)]
    pub(super) history: String,
}

/// All processes together.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Totals {
    pub(super) processes: usize,
    pub(super) threads: usize,
    pub(super) idle_threads: usize,
    /// Calls and one-ways in a second, also of processes that are gone.
    pub(super) sent_per_s: f64,
    pub(super) queued: usize,
    pub(super) nodes: usize,
    pub(super) handles: usize,
    pub(super) buffer_bytes: u64,
    pub(super) pages_in_use: u64,
    pub(super) pages_idle: u64,
    pub(super) longest_call_us: u64,
}

impl Sample {
    /// Reads the records of a driver.
    pub(crate) fn take(binderfs: &Binderfs) -> Result<Self, Failure> {
        Self::take_with(binderfs, binderfs.read("transactions.json")?)
    }

    /// Reads all records but those of calls under way, which the caller has read.
    pub(crate) fn take_with(binderfs: &Binderfs, calls: Vec<CallRecord>) -> Result<Self, Failure> {
        let processes = binderfs.read("processes.json")?;
        let stats = binderfs.read("stats.json")?;
        Ok(Self::new(Instant::now(), processes, calls, &stats))
    }

    fn new(
        at: Instant,
        processes: Vec<ProcessRecord>,
        calls: Vec<CallRecord>,
        stats: &[StatsRecord],
    ) -> Self {
        let (mut counts, mut all) = (HashMap::<_, ProcessCounts>::new(), ProcessCounts::default());
        for record in stats {
            let StatsRecord::Counter { pid, device, name, count } = record else { continue };
            let whose = match (pid, device) {
                (Some(pid), Some(device)) => counts.entry((*pid, device.clone())).or_default(),
                (None, _) | (_, None) => &mut all,
            };
            let (sent, received) = match name.as_str() {
                "BC_TRANSACTION" | "BC_TRANSACTION_SG" => (*count, 0),
                "BR_TRANSACTION" | "BR_TRANSACTION_SEC_CTX" => (0, *count),
                _ => continue,
            };
            whose.sent = whose.sent.wrapping_add(sent);
            whose.received = whose.received.wrapping_add(received);
        }
        let limits = limits_table(stats.iter()).unwrap_or_default();
        Self { at, processes, calls, limits, counts, all }
    }

    /// Makes a row of each process, with its rates since `before`.
    pub(crate) fn rows(&self, before: &Self) -> Vec<ProcessRow> {
        let seconds = self.seconds_since(before);
        let rows = self.processes.iter().map(|process| {
            let of =
                |sample: &Self| sample.counts.get(&(process.pid, process.device.clone())).copied();
            let now = of(self).unwrap_or_default();
            // One that was not there before has done all of it since, if its number is not another's.
            let then = of(before).filter(|then| then.sent <= now.sent).unwrap_or_default();
            let waits = self
                .calls
                .iter()
                .filter(|call| call.to_pid == process.pid && call.device == process.device);
            ProcessRow {
                name: name_of(process.pid),
                sent_per_s: f64::from(now.sent.wrapping_sub(then.sent)) / seconds,
                received_per_s: f64::from(now.received.wrapping_sub(then.received)) / seconds,
                oldest_call_ms: waits.map(|call| call.elapsed_ms).max().unwrap_or(0),
                history: String::new(),
                process: process.clone(),
            }
        });
        rows.collect()
    }

    /// The resources of users beside their limits, as a table.
    pub(super) fn limits(&self) -> &str {
        &self.limits
    }

    /// Adds everything up.
    pub(super) fn totals(&self, before: &Self) -> Totals {
        let mut totals = Totals {
            processes: self.processes.len(),
            sent_per_s: f64::from(self.all.sent.wrapping_sub(before.all.sent))
                / self.seconds_since(before),
            ..Totals::default()
        };
        for process in &self.processes {
            totals.threads += process.threads;
            totals.idle_threads += process.ready_threads;
            totals.queued += process.queued + process.waiting_oneways;
            totals.nodes += process.nodes;
            totals.handles += process.handles;
            totals.buffer_bytes += process.buffer_bytes;
            totals.pages_in_use += u64::from(process.pages_in_use);
            totals.pages_idle += u64::from(process.pages_idle);
            totals.longest_call_us = totals.longest_call_us.max(process.longest_call_us);
        }
        totals
    }

    fn seconds_since(&self, before: &Self) -> f64 {
        self.at.duration_since(before.at).as_secs_f64().max(0.001)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use super::*;

    pub(crate) fn process(pid: u32) -> ProcessRecord {
        let line = format!(
            r#"{{"pid":{pid},"device":"binder","threads":3,"ready_threads":1,"max_threads":15,"nodes":4,
            "handles":5,"queued":2,"waiting_oneways":1,"buffers":1,"buffer_bytes":4096,
            "area_bytes":1040384,"pages_in_use":1,"pages_idle":6,"longest_call_us":1500,
            "incoming_calls":1,"outgoing_calls":0}}"#
        );
        serde_json::from_str(&line).unwrap()
    }

    fn counter(pid: Option<u32>, name: &str, count: u32) -> StatsRecord {
        let device = pid.map(|_| "binder".to_owned());
        StatsRecord::Counter { pid, device, name: name.into(), count }
    }

    pub(crate) fn sample(at: Instant, pids: &[u32], sent: u32) -> Sample {
        let mut stats = vec![counter(None, "BC_TRANSACTION", sent)];
        for &pid in pids {
            stats.push(counter(Some(pid), "BC_TRANSACTION", sent));
            stats.push(counter(Some(pid), "BC_FREE_BUFFER", 77));
            stats.push(counter(Some(pid), "BR_TRANSACTION_SEC_CTX", 2 * sent));
        }
        let processes = pids.iter().map(|pid| process(*pid)).collect();
        Sample::new(at, processes, Vec::new(), &stats)
    }

    #[test]
    fn rates_are_of_the_time_between() {
        let start = Instant::now();
        let before = sample(start, &[7], 100);
        let after = sample(start + Duration::from_secs(2), &[7, 8], 300);
        let rows = after.rows(&before);
        assert_eq!((rows[0].sent_per_s, rows[0].received_per_s), (100.0, 200.0));
        // This one has come since.
        assert_eq!(rows[1].sent_per_s, 150.0);
        let totals = after.totals(&before);
        assert_eq!((totals.processes, totals.threads, totals.sent_per_s), (2, 6, 100.0));
        assert_eq!((totals.queued, totals.pages_idle, totals.longest_call_us), (6, 12, 1500));
    }

    #[test]
    fn a_number_that_another_has_now_does_not_count_backwards() {
        let start = Instant::now();
        let before = sample(start, &[7], 1000);
        let after = sample(start + Duration::from_secs(1), &[7], 10);
        assert_eq!(after.rows(&before)[0].sent_per_s, 10.0);
    }
}
