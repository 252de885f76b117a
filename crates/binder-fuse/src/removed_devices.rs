//! What devices that are gone leave to the statistics of the mount.

use binder_core::{Context, LogEntry, Snapshot};
use binder_report::newest_entries;

/// Counters and logs of devices that are gone.
#[derive(Debug, Default)]
pub(crate) struct RemovedDevices {
    /// Sums, without any process.
    totals: Snapshot,
    /// The last sends.
    recent: Vec<(String, LogEntry)>,
    failed: Vec<(String, LogEntry)>,
}

impl RemovedDevices {
    /// Takes over from a device that no client can get at any more; `latest_id` is the debug id that
    /// was given last.
    pub(crate) fn take_over(&mut self, name: &str, context: &Context, latest_id: u32) {
        self.totals.add_totals(&context.snapshot());
        for object in &mut self.totals.objects {
            object.active = 0;
        }
        take_over_log(&mut self.recent, name, context.transaction_log(), latest_id);
        take_over_log(&mut self.failed, name, context.failed_transaction_log(), latest_id);
    }

    pub(crate) fn totals(&self) -> Snapshot {
        self.totals.clone()
    }

    pub(crate) fn recent(&self) -> &[(String, LogEntry)] {
        &self.recent
    }

    pub(crate) fn failed(&self) -> &[(String, LogEntry)] {
        &self.failed
    }
}

fn take_over_log<'a>(
    kept: &mut Vec<(String, LogEntry)>,
    device: &str,
    log: impl Iterator<Item = &'a LogEntry>,
    latest_id: u32,
) {
    let gone = log.map(|entry| (device.to_owned(), *entry));
    *kept = newest_entries(kept.drain(..).chain(gone), latest_id);
}
