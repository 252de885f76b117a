//! `O_NONBLOCK` as fcntl(2) changes it, of which the kernel does not tell.

use std::collections::HashSet;

use binder_core::{Errno, ProcessKey};
use binder_os::proc_files;

use super::{Device, DeviceId, Driver, O_NONBLOCK, Sleeper};

impl Driver {
    /// Lists the files of reads that have slept through a round, once each.
    pub(super) fn sleepers(&mut self) -> Vec<Sleeper> {
        let (mut found, mut listed) = (Vec::new(), HashSet::new());
        for (device, state) in self.devices.iter_mut().enumerate() {
            for process in state.calls.end_round() {
                // One look serves all reads of a file.
                if listed.insert((device, process))
                    && let Some(client) = state.clients.get_mut(process)
                {
                    let (pid, file) = (client.pid, client.file);
                    found.push(Sleeper { device, process, pid, file });
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
        is_nonblocking: bool,
    ) {
        let Some(client) = self.devices[device].clients.get_mut(process) else { return };
        client.is_nonblocking = is_nonblocking;
        if !is_nonblocking {
            return;
        }
        for call in self.devices[device].calls.take_asleep_of(process) {
            self.end_sleep(&call, Errno::EAGAIN);
        }
        self.carry_out_effects(device);
    }
}

impl Device {
    /// Whether `O_NONBLOCK`, known to have been set, is set no longer.
    pub(super) fn has_become_blocking(&mut self, process: ProcessKey) -> bool {
        let Some(client) = self.clients.get_mut(process) else { return false };
        let flags = proc_files::file_flags(client.pid, [client.file]).unwrap_or_default();
        let is_blocking = flags.get(&client.file).is_some_and(|flags| flags & O_NONBLOCK == 0);
        client.is_nonblocking = !is_blocking;
        is_blocking
    }
}
