//! `O_NONBLOCK` as fcntl(2) changes it, of which the kernel does not tell.

use std::collections::HashSet;

use binder_core::{Errno, ProcessKey};
use binder_os::proc_files::{self, OpenFile};

use super::{DeviceId, Driver, Job, SleepingFile};

impl Driver {
    /// Lists the files of reads that have slept through a round, once each.
    pub(super) fn sleepers(&mut self) -> Vec<SleepingFile> {
        let (mut found, mut listed) = (Vec::new(), HashSet::new());
        for (device, state) in self.devices.iter_mut().enumerate() {
            for process in state.calls.end_round() {
                // One look serves all reads of a file.
                if listed.insert((device, process))
                    && let Some(client) = state.clients.get_mut(process)
                {
                    let (pid, file) = (client.pid, client.file);
                    found.push(SleepingFile { device, process, pid, file });
                }
            }
        }
        found
    }

    /// Notes what `O_NONBLOCK` has become; reads that sleep against it end with `EAGAIN`.
    pub(super) fn set_nonblocking(
        &mut self,
        device: DeviceId,
        process: ProcessKey,
        found: Option<OpenFile>,
    ) {
        let Some(client) = self.devices[device].clients.get_mut(process) else { return };
        client.open_mode.note(found);
        if !client.open_mode.is_nonblocking() {
            return;
        }
        for call in self.devices[device].calls.take_asleep_of(process) {
            self.end_sleep(&call, Errno::EAGAIN);
        }
        self.carry_out_effects(device);
    }

    /// Whether a read of a file that was non-blocking may sleep: `O_NONBLOCK` is set no longer, or it takes
    /// a look at all that the process has open to tell. A runner looks, for others must not wait for that,
    /// and ends the sleep if it has to.
    pub(super) fn may_sleep(&mut self, device: DeviceId, process: ProcessKey) -> bool {
        let Some(client) = self.devices[device].clients.get_mut(process) else { return false };
        let (payer, file) = (client.payer(), client.file);
        if let Some(is_nonblocking) = client.open_mode.look(client.pid, file) {
            return !is_nonblocking;
        }
        if client.open_mode.begin_search() {
            self.runners.run(payer, move |shared| {
                let found = proc_files::open_files(payer.pid, [file]).unwrap_or_default();
                let found = found.get(&file).copied();
                shared.submit(Job::SetNonblocking { device, process, found });
            });
        }
        true
    }
}
