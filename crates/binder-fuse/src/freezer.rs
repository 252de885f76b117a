//! `BINDER_FREEZE`: it concerns every device of the mount, and it may wait.
//!
//! One thread sees to all freezes of a mount, one at a time, with the locks of all its devices: a program is
//! frozen on all of them or on none. Readers never wait for it; what they are asked meanwhile comes in line.

use std::io;
use std::ops::DerefMut;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use binder_core::{Context, Errno, Freeze, IfOutstanding, Program};
use binder_frontend::{Answer, RequestContext};
use binder_ring::PATIENCE_MS;
use binder_uapi::{BinderFreezeInfo, BinderFrozenStatusInfo};

use crate::device::{Batch, Device, DeviceState};
use crate::freeze_queue::FreezerEvent;
use crate::shared::SessionShared;

/// A freeze that waits.
struct PendingFreeze {
    device: Arc<Device>,
    unique: u64,
    freeze: Freeze,
    /// How long its caller waits for each process.
    timeout: Duration,
    /// Until when it waits for this one.
    deadline: Instant,
}

/// The thread that freezes.
pub(crate) struct FreezerThread {
    thread: JoinHandle<()>,
    shared: Arc<SessionShared>,
}

impl FreezerThread {
    /// Starts the freezer of a session.
    pub(crate) fn start(
        shared: &Arc<SessionShared>,
        told: Receiver<FreezerEvent>,
    ) -> io::Result<Self> {
        let kept = shared.clone();
        let freeze = move || {
            let mut waiting = Vec::new();
            while let Some(event) = next(&told, &waiting) {
                if let Some(FreezerEvent::End) = event {
                    return;
                }
                match event {
                    Some(FreezerEvent::Freeze { device, request, info }) if info.enable != 0 => {
                        begin_outside_lanes(&kept, &mut waiting, device, request, info);
                    }
                    event => with_all(&kept, |devices| advance(devices, &mut waiting, event)),
                }
            }
        };
        let thread = thread::Builder::new().name("freezer".into()).spawn(freeze)?;
        Ok(Self { thread, shared: shared.clone() })
    }

    /// Ends it and waits for its end.
    pub(crate) fn stop(self) {
        self.shared.freezer.tell(FreezerEvent::End);
        if self.thread.join().is_err() {
            tracing::error!("the freezer met a bug");
        }
    }
}

/// Waits for something to happen, the end of a caller's time included. `None` is the end of all.
fn next(told: &Receiver<FreezerEvent>, waiting: &[PendingFreeze]) -> Option<Option<FreezerEvent>> {
    let Some(deadline) = waiting.iter().map(|freeze| freeze.deadline).min() else {
        return told.recv().ok().map(Some);
    };
    match told.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        Ok(event) => Some(Some(event)),
        Err(RecvTimeoutError::Timeout) => Some(None),
        Err(RecvTimeoutError::Disconnected) => None,
    }
}

/// Has something done with the states of all devices, and then what that leads to.
fn with_all<R>(shared: &SessionShared, work: impl FnOnce(&mut [&mut DeviceState]) -> R) -> R {
    let devices = shared.devices();
    let mut batches: Vec<Batch> = devices.iter().map(|_| Batch::default()).collect();
    let done = {
        let mut guards: Vec<_> = devices.iter().map(|device| device.lock()).collect();
        let mut states: Vec<&mut DeviceState> =
            guards.iter_mut().map(DerefMut::deref_mut).collect();
        let done = work(&mut states);
        for (state, batch) in states.iter_mut().zip(&mut batches) {
            state.frontend.carry_out_effects();
            state.hand_out(batch);
        }
        done
    };
    for (device, batch) in devices.iter().zip(&mut batches) {
        device.run(None, batch);
        shared.execute(device, batch, &mut |left| shared.leave(left));
    }
    done
}

/// How long calls of lanes that are under way are waited for: their callers have them taken over before.
const LANES_END_WITHIN: Duration = Duration::from_millis(2 * PATIENCE_MS as u64);
/// How often it looks whether they are.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Begins a freeze once the driver knows of all that is under way in lanes of the program, and while no new lane can come to it: in one
/// hold of the locks. It fails if the driver does not hear of a call in time, as of that of a caller that is stopped.
fn begin_outside_lanes(
    shared: &SessionShared,
    waiting: &mut Vec<PendingFreeze>,
    device: Arc<Device>,
    request: RequestContext,
    info: BinderFreezeInfo,
) {
    let until = Instant::now() + LANES_END_WITHIN;
    loop {
        let has_begun = with_all(shared, |devices| {
            if !revoke_lanes(devices, &device, &request, info.pid) {
                let event = FreezerEvent::Freeze { device: device.clone(), request, info };
                advance(devices, waiting, Some(event));
            } else if Instant::now() >= until {
                answer(devices, &device, request.unique, Answer::Failed(Errno::EAGAIN));
            } else {
                return false;
            }
            true
        });
        if has_begun {
            return;
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Takes the lanes of a program back. Says whether calls of which the driver does not know are under way in them.
fn revoke_lanes(
    devices: &mut [&mut DeviceState],
    device: &Device,
    request: &RequestContext,
    pid: u32,
) -> bool {
    let Ok(program) = find(devices, device, request, pid) else { return false };
    let mut is_in_call = false;
    for (place, process) in program.processes() {
        if let Some(state) = devices.get_mut(place) {
            is_in_call |= state.revoke_lanes_of(process);
        }
    }
    is_in_call
}

/// Does what an event asks for, if there is one, and goes on with all freezes that wait.
fn advance(
    devices: &mut [&mut DeviceState],
    waiting: &mut Vec<PendingFreeze>,
    event: Option<FreezerEvent>,
) {
    match event {
        Some(FreezerEvent::Freeze { device, request, info }) => {
            match find(devices, &device, &request, info.pid) {
                Ok(program) if info.enable == 0 => {
                    program.thaw(&mut contexts(devices));
                    answer(devices, &device, request.unique, Answer::Done);
                }
                Ok(program) => waiting.extend(begin(devices, device, &request, program, &info)),
                Err(error) => answer(devices, &device, request.unique, Answer::Failed(error)),
            }
        }
        Some(FreezerEvent::FrozenInfo { device, request, info }) => {
            let found = find(devices, &device, &request, info.pid).map(|program| {
                let frozen = program.frozen_info(&contexts(devices));
                let mut processes = program.processes();
                let is_in_call = processes.any(|(place, process)| {
                    devices.get(place).is_some_and(|state| state.is_in_lane_call(process))
                });
                let sync_recv = frozen.sync_recv | u32::from(is_in_call) << 1;
                BinderFrozenStatusInfo { pid: info.pid, sync_recv, ..frozen }
            });
            if let Some(state) = devices.get_mut(device.id) {
                state.frontend.end_frozen_info(request.unique, found);
            }
        }
        Some(FreezerEvent::Interrupt { device, unique }) => {
            let is_its =
                |it: &PendingFreeze| it.unique == unique && Arc::ptr_eq(&it.device, &device);
            if let Some(at) = waiting.iter().position(is_its) {
                let interrupted = waiting.swap_remove(at);
                interrupted.freeze.abandon(&mut contexts(devices));
                answer(devices, &device, unique, Answer::Restart);
            }
        }
        Some(FreezerEvent::Settled | FreezerEvent::End) | None => {}
    }
    let now = Instant::now();
    waiting.retain_mut(|freeze| freeze.goes_on_waiting(devices, now));
}

/// Begins a freeze. Returns it if it waits.
fn begin(
    devices: &mut [&mut DeviceState],
    device: Arc<Device>,
    request: &RequestContext,
    program: Program,
    info: &BinderFreezeInfo,
) -> Option<PendingFreeze> {
    let timeout = Duration::from_millis(info.timeout_ms.into());
    let if_outstanding = if timeout.is_zero() { IfOutstanding::Fail } else { IfOutstanding::Wait };
    let mut freeze = program.freeze(if_outstanding);
    match freeze.advance(&mut contexts(devices), if_outstanding) {
        Some(result) => {
            answer(devices, &device, request.unique, of_result(result));
            None
        }
        None => {
            let deadline = Instant::now() + timeout;
            Some(PendingFreeze { device, unique: request.unique, freeze, timeout, deadline })
        }
    }
}

impl PendingFreeze {
    /// Goes on with a freeze, and answers it unless it waits again. Says whether it does.
    fn goes_on_waiting(&mut self, devices: &mut [&mut DeviceState], now: Instant) -> bool {
        let if_outstanding =
            if self.deadline <= now { IfOutstanding::Fail } else { IfOutstanding::Wait };
        let before = self.freeze.waits_for();
        match self.freeze.advance(&mut contexts(devices), if_outstanding) {
            Some(result) => {
                answer(devices, &self.device, self.unique, of_result(result));
                false
            }
            None => {
                if self.freeze.waits_for() != before {
                    self.deadline = now + self.timeout;
                }
                true
            }
        }
    }
}

/// The program that a caller means by a number, which is one of the caller's own pid namespace.
fn find(
    devices: &mut [&mut DeviceState],
    device: &Device,
    request: &RequestContext,
    pid: u32,
) -> Result<Program, Errno> {
    let state = devices.get(device.id).ok_or(Errno::EINVAL)?;
    let by = state.frontend.context().pid_of(request.process).cloned().ok_or(Errno::EINVAL)?;
    Program::find(&contexts(devices), &by, pid)
}

fn contexts<'a>(devices: &'a mut [&mut DeviceState]) -> Vec<&'a mut Context> {
    devices.iter_mut().map(|state| state.frontend.context_mut()).collect()
}

fn answer(devices: &mut [&mut DeviceState], device: &Device, unique: u64, answer: Answer) {
    if let Some(state) = devices.get_mut(device.id) {
        state.frontend.end_freeze(unique, answer);
    }
}

fn of_result(result: Result<(), Errno>) -> Answer {
    result.map_or_else(Answer::Failed, |()| Answer::Done)
}
