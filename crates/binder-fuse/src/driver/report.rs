//! Writes the files of `binder_logs/`: each a snapshot of all devices, as text.

use std::hash::BuildHasher;

use binder_core::{Context, LogEntry, ProcessKey};
use binder_report::{Pointers, records};

use super::{Device, DeviceId, Driver};
use crate::descriptors::{descriptors, mappings};
use crate::logs::LogFile;

impl Driver {
    /// The text of a log at this moment.
    pub(super) fn write_log(&mut self, log: LogFile) -> String {
        let now_ns = self.now_ns();
        for device in &mut self.devices {
            device.context.set_now(now_ns);
        }
        let hash = |pointer: u64| self.obscurity.hash_one(pointer);
        let hashed = Pointers::Hashed(&hash);
        match log {
            LogFile::State => binder_report::state(&self.snapshots(), Pointers::Plain),
            LogFile::StateHashed => binder_report::state(&self.snapshots(), hashed),
            LogFile::Stats => binder_report::stats(&self.snapshots()),
            LogFile::Transactions => {
                binder_report::transactions(&self.snapshots(), Pointers::Plain)
            }
            LogFile::TransactionsHashed => binder_report::transactions(&self.snapshots(), hashed),
            LogFile::TransactionLog => {
                self.log_of(self.past.recent(), |context| context.transaction_log())
            }
            LogFile::FailedTransactionLog => {
                self.log_of(self.past.failed(), |context| context.failed_transaction_log())
            }
            LogFile::Process(pid) => {
                binder_report::process_state(&self.snapshots(), pid, Pointers::Plain)
            }
            LogFile::ProcessRecords => records::to_lines(records::processes(&self.snapshots())),
            LogFile::CallRecords => {
                let calls = self.devices.iter().flat_map(Device::calls);
                records::to_lines(calls)
            }
            LogFile::StateRecords => records::to_lines(records::state_records(&self.snapshots())),
            LogFile::StatsRecords => {
                let shares: Vec<_> = descriptors().shares().chain(mappings().shares()).collect();
                let memory = records::MemoryRecord {
                    present_bytes: self.budget.present_bytes(),
                    used_bytes: self.budget.used_bytes(),
                    limit_bytes: self.budget.limit_bytes(),
                };
                records::to_lines(records::stats_records(&self.snapshots(), &shares, memory))
            }
            LogFile::EventRecords | LogFile::EventStream => self.events.lines(),
        }
    }

    /// The time by the clock of all devices.
    fn now_ns(&self) -> u64 {
        let elapsed = self.start.map(|start| start.elapsed().as_nanos());
        elapsed.map_or(0, |elapsed| u64::try_from(elapsed).unwrap_or(u64::MAX))
    }

    /// Tells a device what time it is.
    pub(super) fn note_time(&mut self, device: DeviceId) {
        let now_ns = self.now_ns();
        self.devices[device].context.set_now(now_ns);
    }

    /// Writes down what a call has left to report.
    pub(crate) fn note_reports(&mut self, device: DeviceId) {
        if self.start.is_none() {
            return;
        }
        let Device { name, context, .. } = &mut self.devices[device];
        while let Some(report) = context.poll_report() {
            self.events.note(name, &report);
        }
    }

    fn snapshots(&self) -> Vec<binder_report::DeviceReport> {
        let past =
            binder_report::DeviceReport { name: String::new(), snapshot: self.past.totals() };
        self.devices.iter().map(Device::snapshot).chain([past]).collect()
    }

    fn log_of<'a, I: Iterator<Item = &'a LogEntry> + 'a>(
        &'a self,
        past: &'a [(String, LogEntry)],
        log: impl Fn(&'a Context) -> I,
    ) -> String {
        let past = past.iter().map(|(name, entry)| (name.as_str(), *entry));
        let present = self
            .devices
            .iter()
            .flat_map(|device| log(&device.context).map(|entry| (device.name.as_str(), *entry)));
        let newest = binder_report::newest_entries(past.chain(present), self.ids.latest());
        binder_report::transaction_log(&newest)
    }
}

impl Device {
    fn snapshot(&self) -> binder_report::DeviceReport {
        binder_report::DeviceReport { name: self.name.clone(), snapshot: self.context.snapshot() }
    }

    fn calls(&self) -> Vec<records::CallRecord> {
        let peek = |process: ProcessKey, offset: usize, into: &mut [u8]| {
            let client = self.clients.get(process);
            client.is_some_and(|client| client.buffer.memory().read(offset, into).is_ok())
        };
        records::calls(&self.snapshot(), &peek)
    }
}
