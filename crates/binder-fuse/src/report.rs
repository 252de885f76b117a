//! What the files of `binder_logs/` are made of: all tables, slice by slice, and the last sends and events. Devices
//! are asked one after the other.

use std::sync::{Arc, Weak};

use binder_core::{Context, LogEntry, ProcessKey, Snapshot, SnapshotCursor, SnapshotItem};
use binder_report::records::{MemoryRecord, Share};
use binder_report::{DeviceFigures, Door, Doors, Interfaces, LockUsage};

use crate::device::DeviceState;
use crate::logs::ShortLog;
use crate::shared::SessionShared;
use crate::tree::DeviceId;

/// By which a binderfs that is served is told in numbers.
#[derive(Clone)]
pub struct FiguresReader {
    session: Weak<SessionShared>,
}

impl FiguresReader {
    pub(crate) fn new(session: &Arc<SessionShared>) -> Self {
        Self { session: Arc::downgrade(session) }
    }

    /// The figures of this moment, device by device; each waits for its turn as clients do. `None` when the binderfs is
    /// gone, or a bug was met.
    pub fn read(&self) -> Option<DriverFigures> {
        self.session.upgrade()?.figures()
    }
}

/// A mount in numbers.
#[derive(Clone, Debug)]
pub struct DriverFigures {
    /// Each device, and last those that are gone.
    pub devices: Vec<DeviceFigures>,
    /// The memory of receive buffers.
    pub memory: MemoryRecord,
    /// What the daemon spends for each user.
    pub shares: Vec<Share>,
}

/// How far the tables of all devices are taken down.
#[derive(Debug)]
pub(crate) struct ReportCursor {
    device: DeviceId,
    cursor: SnapshotCursor,
    /// Whether the interfaces of calls are wanted, too.
    shows_interfaces: bool,
}

/// A part of a snapshot that is taken down in one slice.
#[derive(Debug)]
pub(crate) enum ReportSlice {
    /// Some of a device, whose name comes with the first of it, and how its lock was used.
    Device {
        heading: Option<(String, LockUsage)>,
        items: Vec<SnapshotItem>,
        doors: Doors,
        interfaces: Interfaces,
        next: ReportCursor,
    },
    /// What devices counted that are gone; it is the last.
    Removed(Box<Snapshot>),
}

/// The last sends of devices, by their names.
type NamedEntries = Vec<(String, LogEntry)>;

impl ReportCursor {
    pub(crate) fn new(shows_interfaces: bool) -> Self {
        Self { device: 0, cursor: SnapshotCursor::default(), shows_interfaces }
    }

    fn follow(&mut self) {
        if self.cursor.is_at_end() {
            *self = Self { device: self.device + 1, ..Self::new(self.shows_interfaces) };
        }
    }
}

impl SessionShared {
    /// Takes down the next slice of all tables. `None` if that met a bug.
    pub(crate) fn take_report_slice(&self, mut next: ReportCursor) -> Option<ReportSlice> {
        let Some(device) = self.device_numbered(next.device) else {
            return Some(ReportSlice::Removed(Box::new(self.removed_devices().totals())));
        };
        let name = next.cursor.is_at_start().then(|| device.name.clone());
        self.ask(&device, move |state| {
            if next.cursor.is_at_start() {
                state.count_lane_calls();
            }
            let items = state.frontend.context().snapshot_slice(&mut next.cursor);
            let interfaces = if next.shows_interfaces {
                interfaces_of(state, &items)
            } else {
                Interfaces::default()
            };
            let doors = doors_of(state, &items);
            next.follow();
            let heading = name.map(|name| (name, state.lock_usage()));
            ReportSlice::Device { heading, items, doors, interfaces, next }
        })
    }

    /// The text of a short log at this moment.
    pub(crate) fn short_log(&self, log: ShortLog) -> String {
        match log {
            ShortLog::Transactions => {
                let removed = self.removed_devices().recent().to_vec();
                self.log_of(removed, |context| context.transaction_log().copied().collect())
            }
            ShortLog::FailedTransactions => {
                let removed = self.removed_devices().failed().to_vec();
                self.log_of(removed, |context| context.failed_transaction_log().copied().collect())
            }
            ShortLog::Events => self.events().lines(),
        }
    }

    fn log_of(
        &self,
        removed: NamedEntries,
        log: impl Fn(&Context) -> Vec<LogEntry> + Send + Copy + 'static,
    ) -> String {
        let mut all = removed;
        for device in self.devices() {
            let present = self.ask(&device, move |state| log(state.frontend.context()));
            let named = present.unwrap_or_default().into_iter();
            all.extend(named.map(|entry| (device.name.clone(), entry)));
        }
        let all = all.iter().map(|(name, entry)| (name.as_str(), *entry));
        binder_report::transaction_log(&binder_report::newest_entries(all, self.latest_id()))
    }
}

fn interfaces_of(state: &DeviceState, items: &[SnapshotItem]) -> Interfaces {
    let peek = |process: ProcessKey, offset: usize, into: &mut [u8]| {
        let client = state.clients.get(process);
        client.is_some_and(|client| client.buffer.memory().read(offset, into).is_ok())
    };
    Interfaces::of_slice(items, &peek)
}

fn doors_of(state: &DeviceState, items: &[SnapshotItem]) -> Doors {
    let mut doors = Doors::default();
    for item in items {
        if let SnapshotItem::Process(process) = item
            && state.clients.get(process.key).is_some_and(|client| client.file.ring().is_some())
        {
            let has_lanes = state.lanes.count_of(process.key) > 0;
            doors.add(process.key, if has_lanes { Door::Lane } else { Door::Ring });
        }
    }
    doors
}
