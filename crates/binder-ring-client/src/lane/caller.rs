//! The lane by which a thread calls.

use core::sync::atomic::Ordering;

use binder_lane::layout::{CallOutcome, DATA_BYTES, fits};
use binder_lane::{CallLeft, LaneId, LaneState, NoteKind};
use binder_ring::layout::IN_NO_CALL;
use binder_uapi::{
    BR_DEAD_REPLY, BR_FAILED_REPLY, BR_REPLY, BR_TRANSACTION_COMPLETE, BinderTransactionData,
    BinderWriteRead, Errno, LANE_FLAGS, LaneOpen,
};
use rustix::fd::AsRawFd;

use super::LaneEnd;
use super::commands::{LaneCommands, LaneReturns};
use super::system::{LaneSystem, header, is_granted, note, slot_head, standing};
use super::wait::{Waited, call_and_wait};
use crate::exchange::RingOutcome;
use crate::spin::SpinHistory;

/// The calls of a thread that may go by a lane, and the lane.
#[derive(Debug)]
pub struct LaneCaller<P> {
    lane: Option<CallerLane<P>>,
    traffic: Traffic,
}

/// The lane by which a thread calls.
#[derive(Debug)]
struct CallerLane<P> {
    id: LaneId,
    /// In the ring's list of lanes.
    at: usize,
    handle: u32,
    server_euid: u32,
    place: P,
    /// How long the calls are for which it was made.
    made_for: CallLengths,
    /// The longest that there were since.
    longest: CallLengths,
    /// How often there was no room for a call or a reply.
    misfits: u32,
    /// How often in a row the thread made so many calls otherwise that it would ask for a lane.
    unused: u32,
    /// Calls that go by the ring before the lane is tried again.
    pause: u32,
    /// The pause after the next call that goes wrong.
    next_pause: u32,
    /// How many calls in a row were declined.
    declined: u32,
    /// Whether looking for replies is worth while.
    spins: SpinHistory,
}

/// The calls of a thread, of which a lane may come.
#[derive(Debug)]
struct Traffic {
    handle: u32,
    /// Plain calls in a row to that handle.
    calls: u32,
    /// Bytes of the longest of those.
    longest: u32,
    /// How often in a row a lane was refused.
    refusals: u32,
}

/// Bytes of calls, and of replies.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct CallLengths {
    call: u32,
    reply: u32,
}

/// Each refusal doubles the calls that a thread makes before it asks again, up to this many times.
const MAX_REFUSALS: u32 = 8;
/// How many times a thread makes as many calls as a lane is worth without its lane, before it gives that back: where a server has more callers than
/// threads, these come from one to the next by the driver, which looks at lanes whenever it does something for one.
const MAX_UNUSED: u32 = 4;
/// The longest pause after calls by a lane that have gone wrong: shorter than what makes a lane one that is not used, or a thread that
/// was late a few times, on a busy machine, would cost its callers their lanes.
const MAX_PAUSE: u32 = 1 << 6;

impl Traffic {
    fn note(&mut self, handle: u32, len: u32) {
        if self.handle != handle || self.calls == 0 {
            (self.handle, self.calls, self.longest) = (handle, 0, 0);
        }
        self.calls = self.calls.saturating_add(1);
        self.longest = self.longest.max(len);
    }
}

impl<P> Default for LaneCaller<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P> LaneCaller<P> {
    /// That of a thread that has made no call.
    pub const fn new() -> Self {
        Self { lane: None, traffic: Traffic { handle: 0, calls: 0, longest: 0, refusals: 0 } }
    }

    /// Makes a call by the thread's lane, if it is one that can.
    pub fn call(
        &mut self,
        system: &impl LaneSystem<Place = P>,
        call: &mut BinderWriteRead,
        commands: &LaneCommands,
    ) -> LaneEnd {
        let room = call.read_size.saturating_sub(call.read_consumed);
        if commands.only_frees() && room == 0 {
            commands.free(system.buffers());
            call.write_consumed = call.write_size;
            return LaneEnd::Done;
        }
        let Some((before, head)) = commands.last_call() else { return LaneEnd::ByRing };
        let is_fit = standing(system) & IN_NO_CALL != 0
            && call.read_consumed == 0
            && room >= LaneReturns::MIN_ROOM as u64;
        let len = u32::try_from(head.data_size).ok().filter(|len| *len as usize <= DATA_BYTES);
        let Some(len) = len.filter(|_| is_fit) else { return LaneEnd::ByRing };
        let handle = head.handle();
        self.traffic.note(handle, len);
        let Some(lane) = self.lane.as_mut().filter(|lane| lane.handle == handle) else {
            return LaneEnd::ByRing;
        };
        if lane.pause > 0 {
            lane.pause -= 1;
            return LaneEnd::ByRing;
        }
        let end = if !lane.has_room(system, len) || !lane.may_call(system, commands) {
            LaneEnd::ByRing
        } else if before == 0 {
            lane.call(system, call, commands, (head, len))
        } else {
            match run_first(system, call, before) {
                RingOutcome::Done(Ok(())) if standing(system) & IN_NO_CALL != 0 => {
                    lane.call(system, call, &commands.without_first(), (head, len))
                }
                RingOutcome::Done(Ok(())) => LaneEnd::ByRing,
                outcome => LaneEnd::Ended(outcome),
            }
        };
        if let LaneEnd::Done = end {
            // What goes by the lane is no reason for another.
            self.traffic.calls = 0;
            lane.unused = 0;
        }
        end
    }

    /// Asks for a lane, or gives the one back that is not used, as the thread's last calls suggest: a lane is worth while after
    /// `busy_calls` in a row.
    pub fn open_if_worthwhile(&mut self, system: &impl LaneSystem<Place = P>, busy_calls: u32) {
        let Traffic { calls, refusals, .. } = self.traffic;
        let is_outgrown = |lane: &CallerLane<P>| lane.is_outgrown(calls, busy_calls);
        let is_outgrown = self.lane.as_ref().is_some_and(is_outgrown);
        if is_outgrown || calls >= busy_calls.saturating_mul(1 << refusals) {
            // A handler that leaves by a jump would leave a descriptor behind.
            let signals = system.block_signals();
            if is_outgrown {
                self.open_longer(system);
            } else {
                self.open_or_close(system);
            }
            system.restore_signals(signals);
        }
    }

    /// Has a lane for longer calls in place of the one that there is.
    #[cold]
    fn open_longer(&mut self, system: &impl LaneSystem<Place = P>) {
        self.traffic.calls = 0;
        if let Some(CallerLane { handle, longest, .. }) = self.lane {
            self.close(system);
            self.open(system, handle, longest);
        }
    }

    fn open(&mut self, system: &impl LaneSystem<Place = P>, handle: u32, lengths: CallLengths) {
        self.lane = CallerLane::open(system, handle, lengths);
        self.traffic.refusals = match self.lane {
            Some(_) => 0,
            None => (self.traffic.refusals + 1).min(MAX_REFUSALS),
        };
    }

    fn close(&mut self, system: &impl LaneSystem<Place = P>) {
        if let Some(lane) = self.lane.take() {
            system.close_lane(lane.id);
            system.give_back(lane.place);
        }
    }

    #[cold]
    fn open_or_close(&mut self, system: &impl LaneSystem<Place = P>) {
        let Traffic { handle, longest, refusals, .. } = self.traffic;
        self.traffic.calls = 0;
        if let Some(lane) = &mut self.lane {
            lane.unused += 1;
            let is_granted = is_granted(system, lane.id, lane.at);
            if lane.handle == handle && is_granted && lane.unused < MAX_UNUSED {
                // The server does not look just now, or a pause is not over.
                return;
            }
            let is_of_no_use = lane.handle == handle && is_granted;
            self.close(system);
            if is_of_no_use {
                self.traffic.refusals = (refusals + 1).min(MAX_REFUSALS);
                return;
            }
        }
        self.open(system, handle, CallLengths { call: longest, reply: 0 });
    }

    /// Forgets the thread's calls. Returns the memory of its lane, which the driver takes back by itself.
    pub fn end(&mut self) -> Option<P> {
        core::mem::take(self).lane.map(|lane| lane.place)
    }
}

/// Has the driver run the first commands of a call, of that many bytes.
fn run_first(system: &impl LaneSystem, call: &mut BinderWriteRead, bytes: usize) -> RingOutcome {
    let until = call.write_consumed + bytes as u64;
    let outcome = system.run_commands(call, until);
    if outcome == RingOutcome::Done(Ok(())) && call.write_consumed != until {
        // One of them has failed: the driver goes on, and tells.
        slot_head(system).standing.store(0, Ordering::Relaxed);
    }
    outcome
}

impl<P> CallerLane<P> {
    /// Asks for a lane to the object behind a handle. None if the driver will not have it.
    fn open(
        system: &impl LaneSystem<Place = P>,
        handle: u32,
        made_for: CallLengths,
    ) -> Option<Self> {
        let (place, file) = system.create_place(made_for.reply)?;
        let segment = system.segment(&place);
        segment.head().request.longest.store(made_for.call, Ordering::Relaxed);
        let fd = file.as_raw_fd().cast_unsigned();
        let mut open = LaneOpen { handle, fd, ..Default::default() };
        let opened = system.open_lane(&mut open);
        let Some(id) = LaneId::new(open.id).filter(|_| opened.is_ok()) else {
            system.give_back(place);
            return None;
        };
        let (at, server_euid) = (open.place as usize, open.server_euid);
        let (unused, pause, next_pause, declined) = (0, 0, 1, 0);
        let spins = SpinHistory::default();
        let (longest, misfits) = (made_for, 0);
        Some(Self {
            id,
            at,
            handle,
            server_euid,
            place,
            made_for,
            longest,
            misfits,
            unused,
            pause,
            next_pause,
            declined,
            spins,
        })
    }

    /// Whether the server has room for a call of that many bytes.
    fn has_room(&mut self, system: &impl LaneSystem<Place = P>, len: u32) -> bool {
        let fits = fits(&system.segment(&self.place).head().reply.room, len.into());
        if !fits {
            self.misfits += 1;
            self.longest.call = self.longest.call.max(len);
        }
        fits
    }

    /// Notes a reply that the driver has told, for want of room.
    fn note_reply(&mut self, system: &impl LaneSystem<Place = P>, len: u32) {
        let room = system.room(&self.place);
        if room != 0 && len > room && len as usize <= DATA_BYTES {
            self.misfits += 1;
            self.longest.reply = self.longest.reply.max(len);
        }
    }

    /// Whether a lane for longer calls is worth while: `busy_calls` had no room, or one had none and then as many `calls` in a row went
    /// another way.
    fn is_outgrown(&self, calls: u32, busy_calls: u32) -> bool {
        let CallLengths { call, reply } = self.made_for;
        let is_longer = self.longest.call > call || self.longest.reply > reply;
        is_longer && self.misfits.max(calls) >= busy_calls
    }

    /// Whether a call can be made now: the reply before is freed, the driver has not taken the lane back, and a thread looks.
    fn may_call(&self, system: &impl LaneSystem<Place = P>, commands: &LaneCommands) -> bool {
        let place = &self.place;
        let is_free = !system.is_in_use(place) || commands.frees(system.address(place));
        let segment = system.segment(place);
        let head = segment.head();
        let state = head.word.state();
        is_free
            && is_granted(system, self.id, self.at)
            && matches!(state, LaneState::Warm | LaneState::Asleep)
    }

    fn call(
        &mut self,
        system: &impl LaneSystem<Place = P>,
        call: &mut BinderWriteRead,
        commands: &LaneCommands,
        (head, len): (&BinderTransactionData, u32),
    ) -> LaneEnd {
        let segment = system.segment(&self.place);
        let lane_head = segment.head();
        if !system.copy_request(&segment, head) {
            return LaneEnd::ByRing;
        }
        let [code, flags] = &slot_head(system).lane_call;
        code.store(head.code, Ordering::Relaxed);
        flags.store(head.flags, Ordering::Relaxed);
        let cpu = system.cpu();
        let request = &lane_head.request;
        request.code.store(head.code, Ordering::Relaxed);
        request.flags.store(head.flags, Ordering::Relaxed);
        request.len.store(len, Ordering::Relaxed);
        request.cpu.store(cpu, Ordering::Relaxed);
        request.room.store(system.room(&self.place), Ordering::Relaxed);
        let number = request.number.load(Ordering::Relaxed).wrapping_add(1);
        request.number.store(number, Ordering::Relaxed);
        let server_cpu = lane_head.reply.cpu.load(Ordering::Relaxed);
        system.note_lane(Some((self.id, segment)));
        note(system).begin(self.id, NoteKind::Calls);
        let Waited { left, is_interrupted } =
            call_and_wait(&lane_head.word, [cpu, server_cpu], &self.spins, system);
        system.note_lane(None);
        if !is_interrupted && matches!(left, Some(CallLeft::ToDriver | CallLeft::TakenBack)) {
            system.hold_signals();
        }
        match left {
            Some(CallLeft::Over) => self.take_outcome(system, call, commands, is_interrupted),
            Some(CallLeft::ToDriver) => {
                self.leave_to_driver(system, call, commands, is_interrupted)
            }
            Some(CallLeft::TakenBack) => {
                self.fail_unless(is_interrupted);
                self.not_made(system, call, commands, is_interrupted)
            }
            None => self.not_made(system, call, commands, is_interrupted),
        }
    }

    /// No thread of the server has come to the call.
    fn not_made(
        &mut self,
        system: &impl LaneSystem<Place = P>,
        call: &mut BinderWriteRead,
        commands: &LaneCommands,
        is_interrupted: bool,
    ) -> LaneEnd {
        if !note(system).end(self.id, NoteKind::Calls) {
            self.after_adoption(system, call, commands, is_interrupted)
        } else if is_interrupted {
            // Its commands are to be run all the same, as those of any call that a signal interrupts.
            slot_head(system).standing.store(0, Ordering::Relaxed);
            LaneEnd::Ended(RingOutcome::Done(Err(Errno::EINTR)))
        } else {
            LaneEnd::ByRing
        }
    }

    /// The call is over.
    fn take_outcome(
        &mut self,
        system: &impl LaneSystem<Place = P>,
        call: &mut BinderWriteRead,
        commands: &LaneCommands,
        is_interrupted: bool,
    ) -> LaneEnd {
        let segment = system.segment(&self.place);
        let reply = &segment.head().reply;
        let outcome = CallOutcome::of_number(reply.outcome.load(Ordering::Relaxed));
        let len = reply.len.load(Ordering::Relaxed);
        let code = reply.code.load(Ordering::Relaxed);
        let flags = reply.flags.load(Ordering::Relaxed);
        if outcome == CallOutcome::Adopted {
            self.note_reply(system, len);
            if !note(system).is_adopted(self.id) {
                return self.leave_to_driver(system, call, commands, is_interrupted);
            }
        }
        if outcome == CallOutcome::Declined {
            // The thread had to go to the driver. The next may find another that looks.
            self.declined = self.declined.saturating_add(1);
            if self.declined > 1 {
                self.fail();
            }
            return self.not_made(system, call, commands, is_interrupted);
        }
        if !note(system).end(self.id, NoteKind::Calls) {
            return self.after_adoption(system, call, commands, is_interrupted);
        }
        if let Some(calls) = header(system).lane_calls.get(self.at) {
            calls.count();
        }
        commands.free(system.buffers());
        let mut returns = LaneReturns::of(call);
        returns.push(BR_TRANSACTION_COMPLETE);
        if system.receive(&self.place, len as usize) {
            let head = BinderTransactionData {
                code,
                flags: flags & LANE_FLAGS,
                sender_euid: self.server_euid,
                data_size: len.into(),
                buffer: system.address(&self.place),
                ..Default::default()
            };
            returns.push_transaction(BR_REPLY, &head);
            self.succeed();
        } else {
            // The server lies.
            returns.push(BR_FAILED_REPLY);
            self.fail();
        }
        finish(system, call, &returns)
    }

    /// The driver is to have the call, which its server has claimed.
    #[cold]
    fn leave_to_driver(
        &mut self,
        system: &impl LaneSystem<Place = P>,
        call: &mut BinderWriteRead,
        commands: &LaneCommands,
        is_interrupted: bool,
    ) -> LaneEnd {
        let adopted = system.adopt(self.id);
        if !note(system).end(self.id, NoteKind::Calls) {
            return self.after_adoption(system, call, commands, is_interrupted);
        }
        self.fail();
        let code = match adopted.err() {
            Some(Errno::ENOTCONN | Errno::ECONNABORTED | Errno::ENODEV) => {
                return LaneEnd::Ended(RingOutcome::Done(Err(Errno::ECONNABORTED)));
            }
            Some(Errno::EPROTO) => BR_FAILED_REPLY,
            _ => BR_DEAD_REPLY,
        };
        commands.free(system.buffers());
        let mut returns = LaneReturns::of(call);
        returns.push(BR_TRANSACTION_COMPLETE);
        returns.push(code);
        finish(system, call, &returns)
    }

    /// The driver has the call: it tells what comes of it.
    #[cold]
    fn after_adoption(
        &mut self,
        system: &impl LaneSystem<Place = P>,
        call: &mut BinderWriteRead,
        commands: &LaneCommands,
        is_interrupted: bool,
    ) -> LaneEnd {
        self.fail_unless(is_interrupted);
        commands.free(system.buffers());
        call.write_consumed = call.write_size;
        // It waits for a reply, until the driver says otherwise.
        slot_head(system).standing.store(0, Ordering::Relaxed);
        if is_interrupted {
            LaneEnd::Ended(RingOutcome::Done(Err(Errno::EINTR)))
        } else {
            LaneEnd::ReadByRing
        }
    }

    /// A call has ended otherwise than by a reply. A signal to the caller says nothing of the server.
    fn fail_unless(&mut self, is_interrupted: bool) {
        if !is_interrupted {
            self.fail();
        }
    }

    fn fail(&mut self) {
        self.pause = self.next_pause;
        self.next_pause = (self.next_pause * 2).min(MAX_PAUSE);
    }

    /// Half a hundred calls that go well make up for all that went wrong before.
    fn succeed(&mut self) {
        self.declined = 0;
        self.next_pause = (self.next_pause - 1 - self.next_pause / 16).max(1);
    }
}

/// Ends a call whose commands were all run, with returns.
pub(super) fn finish(
    system: &impl LaneSystem,
    call: &mut BinderWriteRead,
    returns: &LaneReturns,
) -> LaneEnd {
    call.write_consumed = call.write_size;
    tell(system, call, returns)
}

/// Ends a call with returns, however far its commands were run.
pub(super) fn tell(
    system: &impl LaneSystem,
    call: &mut BinderWriteRead,
    returns: &LaneReturns,
) -> LaneEnd {
    let bytes = returns.bytes();
    let address = call.read_buffer.wrapping_add(call.read_consumed);
    if let Err(error) = system.write_returns(address, bytes) {
        return LaneEnd::Ended(RingOutcome::Done(Err(error)));
    }
    call.read_consumed += bytes.len() as u64;
    LaneEnd::Done
}
