//! A look at threads whose ends the kernel does not report, and at processes that may have lost their
//! receive buffers.

use std::sync::Arc;

use binder_core::ProcessKey;

use crate::client_file::ClientFile;
use crate::device::{Device, DeviceState, DeviceWork, Job};
use crate::readers;
use crate::shared::SessionShared;
use crate::tree::DeviceId;

/// Processes and threads that are looked at in one go: a tenth of a millisecond's worth.
const SLICE_THREADS: usize = 1024;

/// How far the look has come.
#[derive(Debug, Default)]
pub(crate) struct ThreadLook {
    device: DeviceId,
    /// The next process there.
    slot: usize,
    /// Others depend on one that was seen since the look began.
    has_found: bool,
}

/// What others depend on, of a slice.
#[derive(Default)]
struct LookFindings {
    threads: Vec<(ProcessKey, Arc<ClientFile>, u32)>,
    processes: Vec<(ProcessKey, Arc<ClientFile>)>,
    /// Where the next slice begins; `None` after the last of a device.
    next: Option<usize>,
}

/// Ends those that have ended among the threads that cannot be watched, if others depend on them, and has a look
/// begun at processes that let a call wait: goes on where it stopped, for a slice. Says whether it is to go on:
/// all were seen, and there are no such threads or processes, when it is not.
pub(crate) fn find_ended_threads(shared: &Arc<SessionShared>, look: &mut ThreadLook) -> bool {
    while let Some(device) = shared.device_numbered(look.device) {
        if device.is_quiet() {
            (look.device, look.slot) = (look.device + 1, 0);
            continue;
        }
        let slot = look.slot;
        let found =
            readers::ask(shared, &device, move |state| list(state, slot)).unwrap_or_default();
        look.has_found |= !found.threads.is_empty() || !found.processes.is_empty();
        for (process, file, tid) in found.threads {
            shared.end_thread(&file, process, tid);
        }
        for (process, file) in found.processes {
            shared.look_for_mapping(&file, process);
        }
        if let Some(next) = found.next {
            look.slot = next;
            return true;
        }
        (look.device, look.slot) = (look.device + 1, 0);
    }
    (look.device, look.slot) = (0, 0);
    std::mem::take(&mut look.has_found)
}

/// Lists the threads and processes of a slice that others depend on.
fn list(state: &mut DeviceState, first: usize) -> LookFindings {
    let (mut found, mut left) = (LookFindings::default(), SLICE_THREADS);
    let context = state.frontend.context();
    for (slot, place) in state.frontend.files_from_slot(first) {
        if left == 0 {
            found.next = Some(slot);
            return found;
        }
        left -= 1;
        let Some((process, file)) = place else { continue };
        if context.has_unread_call(process) {
            found.processes.push((process, file.clone()));
        }
        for tid in file.unwatched_threads() {
            left = left.saturating_sub(1);
            if context.is_depended_on(process, tid) {
                found.threads.push((process, file.clone(), tid));
            }
        }
    }
    found
}

impl SessionShared {
    /// Has a pool thread look whether a process has its receive buffer still. The kernel does not report
    /// munmap(2) and execve(2), after which the process could not receive transactions.
    fn look_for_mapping(&self, file: &Arc<ClientFile>, process: ProcessKey) {
        let Some(look) = file.begin_look() else { return };
        let device: Arc<Device> = file.device.clone();
        self.run_in_pool(look.payer, move |shared| {
            if look.finds_none() {
                tracing::debug!(pid = look.payer.pid, "a receive buffer is mapped no more");
                let lose: DeviceWork = Box::new(move |state| {
                    state.frontend.lose_mapping(process, &mut state.clients);
                });
                shared.submit(&device, Job::Work(lose));
            }
        });
    }
}
