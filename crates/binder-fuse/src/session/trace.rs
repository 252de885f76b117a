//! Open files by which traces are followed, and the devices that are traced for them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use binder_core::Errno;
use fuse_wire::flags::{FOPEN_DIRECT_IO, FOPEN_STREAM};
use fuse_wire::{Header, Read};

use crate::device::Device;
use crate::events::FollowerId;
use crate::logs::DataWanted;
use crate::quota::Account;
use crate::shared::{File, SessionShared};
use crate::stream_reads::StreamRead;
use crate::trace::FollowerAccess;

impl SessionShared {
    /// Opens a trace: from the return of open(2) on, all events are noted.
    pub(super) fn open_trace(&self, header: &Header, data: DataWanted) {
        if data == DataWanted::Yes && !self.traces_data {
            return self.refuse(header.unique, Errno::EPERM);
        }
        let Header { unique, pid, uid, .. } = *header;
        let sees_all = uid == 0 || uid == binder_os::processes::user().0;
        let access = FollowerAccess { uid, sees_all, data };
        let id = self.next_follower.fetch_add(1, Ordering::Relaxed);
        // All devices are told, and the lock of each is waited for.
        self.run_in_pool(Account { pid, uid }, move |shared| {
            match shared.trace.add_follower(id, access) {
                Ok(()) => {
                    shared.switch_tracing();
                    shared.opened(unique, File::Trace(id), FOPEN_DIRECT_IO | FOPEN_STREAM, 0);
                }
                Err(refused) => shared.refuse(unique, refused),
            }
        });
    }

    /// Ends an open trace.
    pub(super) fn close_trace(&self, id: FollowerId) {
        self.trace.forget(id);
        let payer = Account { pid: std::process::id(), uid: binder_os::processes::user().0 };
        self.run_in_pool(payer, move |shared| shared.switch_tracing());
    }

    pub(super) fn read_trace(&self, unique: u64, id: FollowerId, read: &Read) {
        self.trace.read(id, StreamRead::new(unique, read));
    }

    /// Traces devices as the followers want it.
    fn switch_tracing(self: &Arc<Self>) {
        let mut switch = self.trace.switch();
        let wanted = self.trace.wanted();
        if *switch == wanted {
            return;
        }
        if wanted.is_some()
            && let Err(error) = self.trace.start_writer()
        {
            tracing::warn!(%error, "the writer of traces cannot be started");
            return;
        }
        for device in self.devices() {
            let pids = self.set_traced(&device, wanted);
            self.trace.name_processes(pids);
        }
        if wanted.is_none() {
            self.trace.stop_writer();
        }
        *switch = wanted;
    }

    /// Begins or ends to trace a device. Returns the processes that have it open, if it is traced.
    fn set_traced(self: &Arc<Self>, device: &Arc<Device>, wanted: Option<DataWanted>) -> Vec<u32> {
        let (hub, name) = (self.trace.clone(), device.name.clone());
        let set = self.ask(device, move |state| {
            state.set_traced(wanted.map(|data| (hub, &*name, data)));
            wanted.map(|_| state.frontend.context().openers().map(|(pid, _)| pid).collect())
        });
        set.flatten().unwrap_or_default()
    }

    /// Traces a device that was just made, if the others are traced.
    pub(super) fn trace_new_device(&self, device: &Device) {
        if let Some(data) = self.trace.wanted() {
            let hub = self.trace.clone();
            device.lock().set_traced(Some((hub, &device.name, data)));
        }
    }
}
