//! Threads of clients that begin, and that end without a word; processes that are out of reach.

use binder_core::{Caller, ProcessKey, Waits};

use super::{Device, Driver};
use crate::client::Client;
use crate::driver::{DeviceId, Job};
use crate::exit_watcher::{ThreadName, Watched};

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
        let name = ThreadName { device, slot: process.slot(), tid };
        if let Some(client) = state.clients.get_mut(process) {
            client.watch_thread(tid, &self.threads, Watched::Thread(name).to_u64());
        }
        if follows_another {
            state.context.exit_thread(caller, &mut state.clients);
            self.carry_out_effects(device);
        }
    }

    /// Ends a thread that was seen to end, unless it is another's name now.
    pub(crate) fn end_thread(&mut self, name: ThreadName) {
        let ThreadName { device, slot, tid } = name;
        let Some(state) = self.devices.get_mut(device) else { return };
        let Some((process, client)) = state.clients.in_slot(slot) else { return };
        if !client.has_ended(tid) {
            return;
        }
        if let Some(client) = state.clients.get_mut(process) {
            client.forget_thread(tid);
        }
        self.retract_expected_call(tid);
        let state = &mut self.devices[device];
        let caller = Caller { process, tid, euid: 0, waits: Waits::Never };
        state.context.exit_thread(&caller, &mut state.clients);
        self.carry_out_effects(device);
    }

    /// Ends the open files of a process that was seen to end. Others may have them open still, as children
    /// that inherited them, but none who may use them.
    ///
    /// Differs from Linux, where they end when the last descriptor is closed.
    pub(super) fn end_process(&mut self, pid: u32) {
        for device in 0..self.devices.len() {
            for process in self.devices[device].clients.of_ended(pid) {
                self.end_file(device, process);
            }
        }
    }

    /// Ends those that have ended among the threads that cannot be watched, if others depend on them, and
    /// has a look begun at processes that let a call wait: goes on where it stopped, for a slice. Says
    /// whether it is to go on: all were seen, and there are no such threads or processes, when it is not.
    pub(crate) fn find_ended_threads(&mut self) -> bool {
        let mut found = Found::default();
        let is_round = self.look.list_depended_on(&self.devices, &mut found);
        let Found { threads, processes } = found;
        for name in &threads {
            self.end_thread(*name);
        }
        for (device, process) in &processes {
            self.look_for_mapping(*device, *process);
        }
        self.look.has_found |= !threads.is_empty() || !processes.is_empty();
        !is_round || std::mem::take(&mut self.look.has_found)
    }

    /// Has a runner look whether a process has its receive buffer still. Nobody tells of munmap(2) and
    /// execve(2), after which it could not take what is sent to it.
    fn look_for_mapping(&mut self, device: DeviceId, process: ProcessKey) {
        let client = self.devices[device].clients.get_mut(process);
        let Some(look) = client.and_then(Client::begin_look) else { return };
        self.runners.run(look.payer, move |shared| {
            if look.finds_none() {
                shared.submit(Job::LoseMapping { device, process });
            }
        });
    }

    /// Ends what waits for a process that has its receive buffer no more.
    pub(super) fn lose_mapping(&mut self, device: DeviceId, process: ProcessKey) {
        let state = &mut self.devices[device];
        if let Some(client) = state.clients.get(process) {
            tracing::debug!(pid = client.pid, "a receive buffer is mapped no more");
        }
        state.context.lose_mapping(process, &mut state.clients);
        self.carry_out_effects(device);
    }
}

/// What others depend on.
#[derive(Debug, Default)]
struct Found {
    threads: Vec<ThreadName>,
    processes: Vec<(DeviceId, ProcessKey)>,
}

/// How far the look at threads has come that cannot be watched, and at processes.
#[derive(Debug, Default)]
pub(super) struct Look {
    device: DeviceId,
    /// The next process there.
    slot: usize,
    /// Others depend on one that was seen since the look began.
    has_found: bool,
}

impl Look {
    /// Lists threads and processes of the next slice that others depend on. Says whether that was the last.
    fn list_depended_on(&mut self, devices: &[Device], found: &mut Found) -> bool {
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
                if state.context.has_unread_call(*process) {
                    found.processes.push((device, *process));
                }
                for tid in client.unwatched_threads() {
                    room = room.saturating_sub(1);
                    if state.context.is_depended_on(*process, tid) {
                        found.threads.push(ThreadName { device, slot: process.slot(), tid });
                    }
                }
            }
            (self.device, self.slot) = (device + 1, 0);
        }
        (self.device, self.slot) = (0, 0);
        true
    }
}
