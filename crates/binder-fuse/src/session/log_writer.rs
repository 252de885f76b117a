//! Logs of the driver's tables: taken down slice by slice, and written with no device's lock held.
//!
//! A thread of the pool does so, for one snapshot at a time: it takes as much memory as there is to tell. All readers that ask while
//! one is taken down share the next, so that no read waits for more than two.

use std::hash::BuildHasher;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Instant;

use binder_core::{Errno, SnapshotBuilder};
use binder_os::ThreadStatus;
use binder_report::records::{self, MemoryRecord, Share};
use binder_report::{DeviceReport, Doors, Interfaces, LockUsage, Pointers};

use super::logs::answer;
use crate::descriptors::{descriptors, mappings};
use crate::log_queue::LogRead;
use crate::logs::{LogFile, LongLog};
use crate::quota::Account;
use crate::report::{DriverFigures, ReportCursor, ReportSlice};
use crate::shared::SessionShared;

/// The tables of all devices.
struct DeviceTables {
    /// The last has no name, and what devices counted that are gone.
    devices: Vec<DeviceReport>,
    interfaces: Interfaces,
}

impl SessionShared {
    /// Answers a read of a log once that is written.
    pub(super) fn queue_log_read(&self, log: LongLog, read: LogRead) {
        if self.log_queue.push(log, read) {
            // For whom it is, changes while it lasts.
            let payer = Account { pid: std::process::id(), uid: binder_os::processes::user().0 };
            self.run_in_pool(payer, |shared| shared.write_logs());
        }
    }

    fn write_logs(&self) {
        while self.log_queue.serve_waiting() {
            if catch_unwind(AssertUnwindSafe(|| self.write_served())).is_err() {
                tracing::error!("a log met a bug");
            }
            while let Some(log) = self.log_queue.next_log() {
                for read in self.log_queue.take(log) {
                    self.refuse(read.unique, Errno::EIO);
                }
            }
        }
    }

    /// Answers the reads that are served, from one snapshot; a read that is left cannot be answered.
    fn write_served(&self) {
        let shows_interfaces = self.log_queue.state().served.contains_key(&LongLog::CallRecords);
        // The readers may be gone.
        let is_wanted = || self.log_queue.next_log().is_some();
        let Some(report) = self.take_report(shows_interfaces, is_wanted) else { return };
        while let Some(log) = self.log_queue.next_log() {
            let text = self.texts.keep(self.text(&report, log));
            for read in self.log_queue.take(log) {
                answer(&self.fuse, &self.files, LogFile::Long(log), text.as_ref(), &read);
            }
        }
    }

    /// Ends the wait of a read of a log whose thread is killed; other signals wait for the answer. Says whether
    /// there is such a read.
    pub(super) fn interrupt_log_read(&self, target: u64) -> bool {
        let mut state = self.log_queue.state();
        let Some(read) = state.find(target) else { return false };
        if ThreadStatus::of(read.tid).is_ok_and(|status| status.is_killed) {
            state.remove(target);
            drop(state);
            self.refuse(target, Errno::EINTR);
        }
        true
    }

    /// The figures of all devices; `None` if taking them met a bug.
    pub(crate) fn figures(&self) -> Option<DriverFigures> {
        let report = self.take_report(false, || true)?;
        Some(DriverFigures {
            devices: binder_report::device_figures(&report.devices),
            memory: self.memory_record(),
            shares: shares(),
        })
    }

    /// Takes all tables down, while that `is_wanted`; in between, others have their turn, for as long as each slice has
    /// taken.
    fn take_report(
        &self,
        shows_interfaces: bool,
        is_wanted: impl Fn() -> bool,
    ) -> Option<DeviceTables> {
        let mut building: Vec<(String, LockUsage, Doors, SnapshotBuilder)> = Vec::new();
        let mut interfaces = Interfaces::default();
        let mut next = ReportCursor::new(shows_interfaces);
        let removed = loop {
            if !is_wanted() {
                return None;
            }
            let start = Instant::now();
            match self.take_report_slice(next)? {
                ReportSlice::Removed(removed) => break removed,
                ReportSlice::Device {
                    heading,
                    items,
                    doors,
                    interfaces: found,
                    next: following,
                } => {
                    let took = start.elapsed();
                    if let Some((name, lock)) = heading {
                        building.push((name, lock, Doors::default(), SnapshotBuilder::default()));
                    }
                    if let Some((.., known, builder)) = building.last_mut() {
                        known.append(doors);
                        builder.add(items);
                    }
                    interfaces.append(found);
                    next = following;
                    thread::sleep(took.saturating_sub(start.elapsed() - took));
                }
            }
        };
        let built = building.into_iter().map(|(name, lock, doors, builder)| {
            let (snapshot, lock) = (builder.finish(), Some(lock));
            DeviceReport { name, snapshot, doors, lock }
        });
        let removed = DeviceReport {
            name: String::new(),
            snapshot: *removed,
            doors: Doors::default(),
            lock: None,
        };
        let devices = built.chain([removed]).collect();
        Some(DeviceTables { devices, interfaces })
    }

    /// The text of a log.
    fn text(&self, report: &DeviceTables, log: LongLog) -> String {
        let DeviceTables { devices, interfaces } = report;
        let hash = |pointer: u64| self.log_queue.obscurity.hash_one(pointer);
        let hashed = Pointers::Hashed(&hash);
        match log {
            LongLog::State => binder_report::state(devices, Pointers::Plain),
            LongLog::StateHashed => binder_report::state(devices, hashed),
            LongLog::Stats => binder_report::stats(devices),
            LongLog::Transactions => binder_report::transactions(devices, Pointers::Plain),
            LongLog::TransactionsHashed => binder_report::transactions(devices, hashed),
            LongLog::Process(pid) => binder_report::process_state(devices, pid, Pointers::Plain),
            LongLog::ProcessRecords => records::to_lines(records::processes(devices)),
            LongLog::CallRecords => records::to_lines(
                devices.iter().flat_map(|device| records::calls(device, interfaces)),
            ),
            LongLog::StateRecords => records::to_lines(records::state_records(devices)),
            LongLog::StatsRecords => {
                let memory = self.memory_record();
                records::to_lines(records::stats_records(devices, &shares(), memory))
            }
        }
    }

    fn memory_record(&self) -> MemoryRecord {
        MemoryRecord {
            present_bytes: self.budget.present_bytes(),
            used_bytes: self.budget.used_bytes(),
            limit_bytes: self.budget.limit_bytes(),
        }
    }
}

/// What the daemon spends for users.
fn shares() -> Vec<Share> {
    descriptors().shares().chain(mappings().shares()).collect()
}
