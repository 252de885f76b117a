//! Threads of clients that begin, and that end without a word.

use binder_core::{Caller, Waits};

use super::Driver;
use crate::driver::DeviceId;
use crate::thread_ends::CallerName;

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

    /// Ends those that have ended among the threads that cannot be watched, if others depend on them.
    /// Says whether there are such threads.
    pub(crate) fn find_ended_threads(&mut self) -> bool {
        let mut names = Vec::new();
        for (device, state) in self.devices.iter().enumerate() {
            for (process, tid) in state.clients.unwatched_threads() {
                if state.context.is_depended_on(process, tid) {
                    names.push(CallerName { device, slot: process.slot(), tid });
                }
            }
        }
        for name in &names {
            self.end_thread(*name);
        }
        !names.is_empty()
    }
}
