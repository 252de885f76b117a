//! A thread's calls by its lane.

use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;

use binder_lane::layout::{CallOutcome, DATA_BYTES};
use binder_lane::{CallLeft, LaneId, LaneState, NoteKind, Woken};
use binder_ring::layout::{IN_NO_CALL, NO_CPU};
use binder_ring_client::{RingSystem, SleepEnd, SpinHistory};
use binder_uapi::{
    ANYBINDER_LANE_CLOSE, ANYBINDER_LANE_OPEN, BR_DEAD_REPLY, BR_FAILED_REPLY, BR_REPLY,
    BR_TRANSACTION_COMPLETE, BinderTransactionData, BinderWriteRead, Errno, LaneOpen,
};

use super::commands::{LaneCommands, LaneReturns, PLAIN_FLAGS};
use super::{DeviceLanes, LaneContext, LaneEnd, ThreadLanes, ask};
use crate::lane_memory::LaneMemory;

/// The lane by which a thread calls.
#[derive(Debug)]
pub(super) struct CallerLane {
    id: LaneId,
    place: usize,
    handle: u32,
    server_euid: u32,
    memory: LaneMemory,
    /// How often in a row the thread made so many calls otherwise that it would ask for a lane.
    unused: u32,
    /// Where what comes back lies, until it is freed.
    buffer: usize,
    /// Calls that go by the ring before the lane is tried again.
    pause: u32,
    /// The pause after the next call that goes wrong.
    next_pause: u32,
    /// Whether looking for replies is worth while.
    spins: SpinHistory,
}

/// The calls of a thread, of which a lane may come.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    handle: u32,
    /// Plain calls in a row to that handle.
    calls: u32,
    /// How often in a row a lane was refused.
    refusals: u32,
}

/// Each refusal has a thread wait for twice as many calls before it asks again, up to so often.
const MOST_REFUSALS: u32 = 12;
/// A lane is given back that was not used while its thread made so often so many calls.
const MOST_UNUSED: u32 = 64;
/// After so many wake-ups in a call the driver is to have it: its server does not keep to the rules.
const MOST_IN_VAIN: u32 = 100;
/// The longest pause after calls by a lane that have gone wrong.
const MOST_PAUSE: u32 = 1 << 10;

impl Traffic {
    fn note(&mut self, handle: u32) {
        if self.handle == handle {
            self.calls = self.calls.saturating_add(1);
        } else {
            (self.handle, self.calls) = (handle, 1);
        }
    }
}

impl CallerLane {
    /// Asks for a lane to the object behind a handle. None if the driver will not have it.
    fn open(context: &LaneContext<'_, '_>, handle: u32) -> Option<Self> {
        let (memory, file) = LaneMemory::create().ok()?;
        let buffer = context.lanes.buffers.take()?;
        let fd = file.as_raw_fd().cast_unsigned();
        let mut open = LaneOpen { handle, fd, ..Default::default() };
        let opened = ask(context.device, ANYBINDER_LANE_OPEN, &mut open);
        let Some(id) = LaneId::new(open.id).filter(|_| opened.is_ok()) else {
            context.lanes.buffers.give_back(buffer);
            return None;
        };
        let place = open.place as usize;
        let spins = SpinHistory::default();
        let server_euid = open.server_euid;
        let (unused, pause, next_pause) = (0, 0, 1);
        Some(Self {
            id,
            place,
            handle,
            server_euid,
            memory,
            unused,
            buffer,
            pause,
            next_pause,
            spins,
        })
    }

    pub(super) fn give_back_buffer(self, lanes: &DeviceLanes) {
        lanes.buffers.give_back(self.buffer);
    }

    fn fail(&mut self) {
        self.pause = self.next_pause;
        self.next_pause = (self.next_pause * 2).min(MOST_PAUSE);
    }

    fn succeed(&mut self) {
        if self.next_pause > 1 {
            self.next_pause -= 1;
        }
    }
}

impl ThreadLanes {
    /// Asks for a lane, or gives the one back that is not used, as the thread's last calls suggest.
    pub(super) fn open_if_worthwhile(&mut self, context: &LaneContext<'_, '_>) {
        let Traffic { handle, calls, refusals } = self.traffic;
        if calls < context.lanes.busy_calls.saturating_mul(1 << refusals) {
            return;
        }
        self.traffic.calls = 0;
        if let Some(lane) = &mut self.caller {
            lane.unused += 1;
            let is_granted = context.is_granted(lane.id, lane.place);
            if lane.handle == handle && is_granted && lane.unused < MOST_UNUSED {
                // The server does not look just now, or a pause is not over.
                return;
            }
            let is_of_no_use = lane.handle == handle && is_granted;
            self.close(context);
            if is_of_no_use {
                self.traffic.refusals = (refusals + 1).min(MOST_REFUSALS);
                return;
            }
        }
        self.caller = CallerLane::open(context, handle);
        self.traffic.refusals = match self.caller {
            Some(_) => 0,
            None => (refusals + 1).min(MOST_REFUSALS),
        };
    }

    fn close(&mut self, context: &LaneContext<'_, '_>) {
        if let Some(lane) = self.caller.take() {
            // A driver that is gone has no lanes.
            let _ = ask(context.device, ANYBINDER_LANE_CLOSE, &mut lane.id.number());
            lane.give_back_buffer(context.lanes);
        }
    }

    /// Makes a call by the thread's lane, if it is one that can.
    pub(super) fn call(
        &mut self,
        context: &LaneContext<'_, '_>,
        call: &mut BinderWriteRead,
        parsed: &LaneCommands,
    ) -> LaneEnd {
        let Some((before, head)) = parsed.last_call() else { return LaneEnd::ByRing };
        let room = call.read_size.saturating_sub(call.read_consumed);
        let is_fit = context.standing() & IN_NO_CALL != 0
            && room >= LaneReturns::MOST_BYTES as u64
            && head.data_size <= DATA_BYTES as u64;
        if !is_fit {
            return LaneEnd::ByRing;
        }
        let handle = head.handle();
        self.traffic.note(handle);
        let Some(lane) = self.caller.as_mut().filter(|lane| lane.handle == handle) else {
            return LaneEnd::ByRing;
        };
        if lane.pause > 0 {
            lane.pause -= 1;
            return LaneEnd::ByRing;
        }
        let Some(data) = context.memory.lent(head.buffer, head.data_size) else {
            return LaneEnd::ByRing;
        };
        let end = if !lane.may_call(context, parsed) {
            LaneEnd::ByRing
        } else if before == 0 {
            lane.call(context, call, parsed, head, data)
        } else if context.run_first(call, before) {
            let commands = context.memory.commands_between(call.write_consumed, call.write_size);
            let parsed = LaneCommands::parse(commands, &context.lanes.buffers);
            lane.call(context, call, &parsed, head, data)
        } else {
            LaneEnd::ByRing
        };
        if let LaneEnd::Done = end {
            // What goes by the lane is no reason for another.
            self.traffic.calls = 0;
            lane.unused = 0;
        }
        end
    }
}

impl CallerLane {
    /// Whether a call can be made now: the reply before is freed, the driver has not taken the lane back, and a thread looks.
    fn may_call(&self, context: &LaneContext<'_, '_>, parsed: &LaneCommands) -> bool {
        let buffer = context.lanes.buffers.at(self.buffer);
        let is_free =
            buffer.is_some_and(|buffer| !buffer.is_lent() || parsed.frees(buffer.address()));
        let state = self.memory.segment().head().word.state();
        is_free
            && context.is_granted(self.id, self.place)
            && matches!(state, LaneState::Warm | LaneState::Asleep)
    }

    fn call(
        &mut self,
        context: &LaneContext<'_, '_>,
        call: &mut BinderWriteRead,
        parsed: &LaneCommands,
        head: &BinderTransactionData,
        data: &[u8],
    ) -> LaneEnd {
        let segment = self.memory.segment();
        let lane_head = segment.head();
        let Ok(len) = u32::try_from(data.len()) else { return LaneEnd::ByRing };
        if !segment.write_request(data) {
            return LaneEnd::ByRing;
        }
        let [code, flags] = &context.slot_head().lane_call;
        code.store(head.code, Ordering::Relaxed);
        flags.store(head.flags, Ordering::Relaxed);
        let system = context.system();
        let cpu = system.cpu();
        let request = &lane_head.request;
        request.code.store(head.code, Ordering::Relaxed);
        request.flags.store(head.flags, Ordering::Relaxed);
        request.len.store(len, Ordering::Relaxed);
        request.cpu.store(cpu, Ordering::Relaxed);
        context.note().begin(self.id, NoteKind::Calls);
        let Some(woken) = lane_head.word.post() else {
            if !context.note().end(self.id, NoteKind::Calls) {
                return self.after_adoption(context, parsed);
            }
            return LaneEnd::ByRing;
        };
        if woken == Woken::Wake {
            system.wake(lane_head.word.word());
        }
        let server_cpu = lane_head.reply.cpu.load(Ordering::Relaxed);
        let driver_cpu = context.header().driver_cpu.load(Ordering::Relaxed);
        let other_cpu = if driver_cpu == NO_CPU { NO_CPU } else { server_cpu };
        let mut in_vain = 0;
        if !self.spins.spin(cpu, other_cpu, || lane_head.word.is_over()) {
            while let Some(value) = lane_head.word.prepare_caller_to_sleep() {
                let slept = system.sleep(lane_head.word.word(), value);
                in_vain += 1;
                if slept == SleepEnd::Woken && in_vain < MOST_IN_VAIN {
                    continue;
                }
                match lane_head.word.leave() {
                    CallLeft::TakenBack => {
                        self.fail();
                        if !context.note().end(self.id, NoteKind::Calls) {
                            return self.after_adoption(context, parsed);
                        }
                        return LaneEnd::ByRing;
                    }
                    CallLeft::ToDriver => return self.leave_to_driver(context, call, parsed),
                    CallLeft::Over => {}
                }
            }
        }
        self.take_outcome(context, call, parsed)
    }

    /// The call is over.
    fn take_outcome(
        &mut self,
        context: &LaneContext<'_, '_>,
        call: &mut BinderWriteRead,
        parsed: &LaneCommands,
    ) -> LaneEnd {
        let segment = self.memory.segment();
        let reply = &segment.head().reply;
        let outcome = CallOutcome::of_number(reply.outcome.load(Ordering::Relaxed));
        let len = reply.len.load(Ordering::Relaxed) as usize;
        let flags = reply.flags.load(Ordering::Relaxed);
        if outcome == CallOutcome::Adopted && !context.note().is_adopted(self.id) {
            return self.leave_to_driver(context, call, parsed);
        }
        if !context.note().end(self.id, NoteKind::Calls) {
            return self.after_adoption(context, parsed);
        }
        if outcome == CallOutcome::Declined {
            self.fail();
            return LaneEnd::ByRing;
        }
        parsed.free(&context.lanes.buffers);
        let Some(buffer) = context.lanes.buffers.at(self.buffer) else { return LaneEnd::ByRing };
        #[expect(unsafe_code, reason = "the buffer is filled through a pointer")]
        // SAFETY: `fill` lets so many bytes be written, and a buffer is no segment.
        let is_there = buffer.fill(len, |to| unsafe { segment.copy_reply(to, len) });
        let mut returns = LaneReturns::new();
        returns.push(BR_TRANSACTION_COMPLETE);
        if is_there {
            let head = BinderTransactionData {
                flags: flags & PLAIN_FLAGS,
                sender_euid: self.server_euid,
                data_size: len as u64,
                buffer: buffer.address(),
                ..Default::default()
            };
            returns.push_transaction(BR_REPLY, &head);
            self.succeed();
        } else {
            // The server lies.
            returns.push(BR_FAILED_REPLY);
            self.fail();
        }
        finish(context, call, &returns)
    }

    /// The driver is to have the call, which its server has claimed.
    #[cold]
    fn leave_to_driver(
        &mut self,
        context: &LaneContext<'_, '_>,
        call: &mut BinderWriteRead,
        parsed: &LaneCommands,
    ) -> LaneEnd {
        let adopted = context.adopt(self.id);
        if !context.note().end(self.id, NoteKind::Calls) {
            return self.after_adoption(context, parsed);
        }
        self.fail();
        let error = adopted.err().and_then(|error| error.raw_os_error());
        let code = match error.and_then(Errno::from_number) {
            Some(Errno::ENOTCONN | Errno::ECONNABORTED | Errno::ENODEV) => return LaneEnd::Lost,
            Some(Errno::EPROTO) => BR_FAILED_REPLY,
            _ => BR_DEAD_REPLY,
        };
        parsed.free(&context.lanes.buffers);
        let mut returns = LaneReturns::new();
        returns.push(BR_TRANSACTION_COMPLETE);
        returns.push(code);
        finish(context, call, &returns)
    }

    /// The driver has the call: it tells what comes of it.
    #[cold]
    fn after_adoption(&mut self, context: &LaneContext<'_, '_>, parsed: &LaneCommands) -> LaneEnd {
        self.fail();
        parsed.free(&context.lanes.buffers);
        LaneEnd::ReadByRing
    }
}

/// Ends a call whose commands were all run, with returns.
pub(super) fn finish(
    context: &LaneContext<'_, '_>,
    call: &mut BinderWriteRead,
    returns: &LaneReturns,
) -> LaneEnd {
    let bytes = returns.bytes();
    call.write_consumed = call.write_size;
    let address = call.read_buffer.wrapping_add(call.read_consumed);
    let written = context.memory.write_returns(address, bytes);
    debug_assert!(written, "there was room, as was seen before");
    call.read_consumed += bytes.len() as u64;
    LaneEnd::Done
}
