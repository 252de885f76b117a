//! Threads of clients that begin, and that end without a word.

use binder_core::{Caller, Waits};

use super::{Device, Driver};
use crate::driver::DeviceId;
use crate::thread_ends::CallerName;

/// Processes and threads that are looked at in one go: a tenth of a millisecond's worth.
const SLICE_THREADS: usize = 1024;

impl Driver {
    /// Has the end of a thread told that calls for the first time. If its number was that of another,
    /// that one ends here.
    pub(crate) fn begin_thread(
        &mut self,
        device: DeviceId,
        caller: &Caller,
        follows_another: bool,
    ) {
        let state = &mut self.devices[device];
        let Caller { process, tid, .. } = *caller;
        let name = CallerName { device, slot: process.slot(), tid };
        if let Some(client) = state.clients.get_mut(process) {
            client.watch_thread(tid, &self.threads, name.to_u64());
        }
        if follows_another {
            state.context.exit_thread(caller, &mut state.clients);
            self.carry_out_effects(device);
        }
    }

    /// Ends a thread that was seen to end, unless it is another's name now.
    pub(crate) fn end_thread(&mut self, name: CallerName) {
        let CallerName { device, slot, tid } = name;
        let Some(state) = self.devices.get_mut(device) else { return };
        let Some((process, client)) = state.clients.in_slot(slot) else { return };
        if !client.has_ended(tid) {
            return;
        }
        if let Some(client) = state.clients.get_mut(process) {
            client.forget_thread(tid);
        }
        self.retract_diversion(tid);
        let state = &mut self.devices[device];
        let caller = Caller { process, tid, euid: 0, waits: Waits::Never };
        state.context.exit_thread(&caller, &mut state.clients);
        self.carry_out_effects(device);
    }

    /// Ends those that have ended among the threads that cannot be watched, if others depend on them:
    /// goes on where it stopped, for a slice. Says whether it is to go on: all were seen, and there are
    /// no such threads, when it is not.
    pub(crate) fn find_ended_threads(&mut self) -> bool {
        let mut names = Vec::new();
        let is_round = self.look.list_depended_on(&self.devices, &mut names);
        for name in &names {
            self.end_thread(*name);
        }
        self.look.has_found |= !names.is_empty();
        !is_round || std::mem::take(&mut self.look.has_found)
    }
}

/// How far the look at threads has come that cannot be watched.
#[derive(Debug, Default)]
pub(super) struct Look {
    device: DeviceId,
    /// The next process there.
    slot: usize,
    /// Others depend on one that was seen since the look began.
    has_found: bool,
}

impl Look {
    /// Lists threads of the next slice that others depend on. Says whether that was the last.
    fn list_depended_on(&mut self, devices: &[Device], names: &mut Vec<CallerName>) -> bool {
        let mut room = SLICE_THREADS;
        while let Some(state) = devices.get(self.device) {
            let device = self.device;
            while let Some(place) = state.clients.place(self.slot) {
                if room == 0 {
                    return false;
                }
                self.slot += 1;
                room -= 1;
                let Some((process, client)) = place else { continue };
                for tid in client.unwatched_threads() {
                    room = room.saturating_sub(1);
                    if state.context.is_depended_on(*process, tid) {
                        names.push(CallerName { device, slot: process.slot(), tid });
                    }
                }
            }
            (self.device, self.slot) = (device + 1, 0);
        }
        (self.device, self.slot) = (0, 0);
        true
    }
}
