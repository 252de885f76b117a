//! What devices that are gone leave to the statistics of the mount.

use binder_core::{LogEntry, Snapshot};
use binder_report::newest_entries;

use super::Device;

/// Counters and logs of devices that are gone.
#[derive(Debug, Default)]
pub(super) struct Past {
    /// Sums, without any process.
    totals: Snapshot,
    /// The last sends.
    recent: Vec<(String, LogEntry)>,
    failed: Vec<(String, LogEntry)>,
}

impl Past {
    /// Takes over from a device that nobody can come by any more; `latest_id` is the debug id that
    /// was given last.
    pub(super) fn take_over(&mut self, gone: &Device, latest_id: u32) {
        self.totals.add_totals(&gone.context.snapshot());
        for object in &mut self.totals.objects {
            object.active = 0;
        }
        let Device { name, context, .. } = gone;
        take_over_log(&mut self.recent, name, context.transaction_log(), latest_id);
        take_over_log(&mut self.failed, name, context.failed_transaction_log(), latest_id);
    }

    pub(super) fn totals(&self) -> Snapshot {
        self.totals.clone()
    }

    pub(super) fn recent(&self) -> &[(String, LogEntry)] {
        &self.recent
    }

    pub(super) fn failed(&self) -> &[(String, LogEntry)] {
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
