//! The threads that serve the calls of lanes.
//!
//! A thread that would wait for work of the driver's looks at the lanes that no other thread has, for as long as a thread waits in
//! its slot of the ring. To the driver it is a thread that does something else meanwhile: work for it stays in line, and the gate in
//! the ring tells. So a thread that the driver has woken is never one that serves a lane.

use core::sync::atomic::Ordering;

use binder_lane::layout::CallOutcome;
use binder_lane::{LaneNote, NoteKind};
use binder_ring::SlotIndex;
use binder_ring::layout::{IN_NO_CALL, IS_LOOPER};
use binder_uapi::{BR_TRANSACTION, BR_TRANSACTION_COMPLETE, BinderWriteRead, Errno};

use super::LaneEnd;
use super::caller::{finish, tell};
use super::commands::{LaneCommands, LaneReturns};
use super::poller::{LanePoller, Polled};
use super::served::{HeldLane, MAX_SERVED, ServedLanes, ServedPlace};
use super::system::{LaneServing, header, note, standing};
use crate::exchange::{ReadWait, RingOutcome};
use crate::ring::ClientRing;

/// A thread that looks again after this many ticks of a counter, of which a machine has some 25 million to some billions in a second, has
/// done something else meanwhile.
const SOON_TICKS: u64 = if cfg!(target_arch = "x86_64") { 1 << 21 } else { 1 << 16 };
/// A call that is served for this many ticks is no short one.
const SHORT_TICKS: u64 = if cfg!(target_arch = "x86_64") { 1 << 18 } else { 1 << 13 };
/// After this many short calls in a row, all are taken to be short.
const CALLS_UNTIL_ALL_SHORT: u32 = 1 << 10;
/// With no more than these owed, the next call is taken to be short.
const OWED_WHEN_SHORT: u32 = CALLS_UNTIL_ALL_SHORT - (1 << 6);
/// The most replies after which a thread does not look.
const MAX_UNPOLLED: u32 = 1 << 8;

/// What a thread does for the lanes by which its process is called.
#[derive(Debug)]
pub(super) struct LaneServer {
    poller: LanePoller,
    /// The lane whose call it serves.
    serving: Option<HeldLane>,
    /// Whether it has replied by a lane, and read nothing since: the completion is still to come.
    owes_completion: bool,
    /// Whether it has served a call of a lane last: what the driver has is next.
    is_driver_next: bool,
    service_times: ServiceTimes,
    reply_delays: ReplyDelays,
}

/// How long a thread has served its last calls.
///
/// The callers of its other lanes wait for it meanwhile, if that is less than a way by the driver to another thread takes.
#[derive(Debug)]
struct ServiceTimes {
    began_at: u64,
    /// How many calls must be short before all are taken to be.
    short_calls_owed: u32,
}

/// How soon a thread has polled for the next call after its replies.
///
/// A lane on which the thread will look keeps the next call for it, although other threads may be idle. That is for threads that
/// look at once: one that does something else first, and has had a caller wait, looks at no lane after its next replies, twice as many
/// each time.
#[derive(Debug)]
struct ReplyDelays {
    /// When it has replied last, if it was to look again.
    replied_at: Option<u64>,
    /// Replies after which it does not look.
    unpolled: u32,
    /// The same, less one, after the next time that a caller had to wait.
    next_unpolled: u32,
}

impl LaneServer {
    pub(super) const fn new() -> Self {
        let poller = LanePoller::new();
        let service_times = ServiceTimes { began_at: 0, short_calls_owed: 0 };
        let reply_delays = ReplyDelays { replied_at: None, unpolled: 0, next_unpolled: 0 };
        let [owes_completion, is_driver_next] = [false; 2];
        Self { poller, serving: None, owes_completion, is_driver_next, service_times, reply_delays }
    }

    /// Whether the thread serves a call.
    pub(super) fn is_serving(&self) -> bool {
        self.serving.is_some()
    }

    /// Whether the thread is to hear first that a reply of its is over.
    pub(super) fn owes_completion(&self) -> bool {
        self.owes_completion
    }

    /// Tells that a reply is over, once what is written is run, up to a command that fails: of that the driver tells then.
    #[cold]
    pub(super) fn tell_completion(
        &mut self,
        system: &impl LaneServing,
        call: &mut BinderWriteRead,
        parsed: &LaneCommands,
    ) -> LaneEnd {
        let mut returns = LaneReturns::of(call);
        let room = call.read_size.saturating_sub(call.read_consumed);
        free_if_idle(system, call, parsed);
        let is_run = parsed.is_idle()
            || room > 0
                && matches!(
                    system.run_commands(call, call.write_size),
                    RingOutcome::Done(Ok(())) | RingOutcome::Ioctl
                );
        if is_run && room == 0 {
            return LaneEnd::Done;
        }
        let has_room = returns.leave_room(room);
        let has_failed = call.write_consumed != call.write_size;
        if !is_run || room < returns.bytes().len() as u64 || has_failed && !has_room {
            return LaneEnd::ByRing;
        }
        if has_room {
            returns.push(BR_TRANSACTION_COMPLETE);
            self.owes_completion = false;
        }
        let end = tell(system, call, &returns);
        if end != LaneEnd::Done || standing(system) & IN_NO_CALL != 0 {
            return end;
        }
        // After an ioctl it is not known whether the thread is in a call: the driver's next answer says so.
        let mut outcome = system.run_commands(call, call.write_consumed);
        if outcome == RingOutcome::Done(Ok(())) && standing(system) & IN_NO_CALL == 0 {
            // What has come for the thread alone, as the reply to a call of its own, is told in the same go. It may be nothing.
            outcome = system.by_ring_waiting(ReadWait::Never, call);
        }
        match outcome {
            // The thread has something to close, or files to install.
            RingOutcome::Ioctl => LaneEnd::Ended(RingOutcome::Ioctl),
            _ => LaneEnd::Done,
        }
    }

    /// The thread goes to the driver. It is back soon from a reply of which it hears at once.
    pub(super) fn leave(&mut self, system: &impl LaneServing, parsed: &LaneCommands) {
        self.reply_delays.replied_at = None;
        if !(parsed.has_reply && self.poller.hears_completions()) {
            self.poller.leave(system);
        }
    }

    /// The thread has found that there is nothing of the driver's, and waits there for what comes.
    #[cold]
    pub(super) fn stay(&mut self, system: &impl LaneServing) {
        system.hold_signals();
        self.poller.leave(system);
    }

    /// Takes a lane that the process is offered, in place of those that the driver has taken back.
    #[cold]
    pub(super) fn accept(&mut self, system: &impl LaneServing) {
        // A handler that leaves by a jump would leave descriptors behind.
        let signals = system.block_signals();
        if system.served().count() == MAX_SERVED {
            system.clear_ended();
        }
        self.poller.prune_free(system);
        if let Some((accepted, place)) = system.accept()
            && let Err(place) = system.served().add(&accepted, place)
        {
            system.give_back_served(place);
        }
        system.restore_signals(signals);
        self.poller.note_offer();
    }

    /// Ends what the thread has, which looks no more. Another may begin where it was.
    pub(super) fn end<P: ServedPlace>(
        &mut self,
        ring: &ClientRing,
        slot: SlotIndex,
        served: &ServedLanes<P>,
    ) {
        if let Some(lane) = self.serving.take() {
            // The caller has the driver look for its server.
            let note = LaneNote::new(&ring.segment.slot(slot).lane_note);
            let _ = note.end(served.get(&lane).id, NoteKind::Serves);
            served.release(lane);
        }
        self.poller.end(served);
        *self = Self::new();
    }

    /// Whether the thread is idle, has nothing for the driver but what it may write at once, and there are lanes to look at.
    pub(super) fn may_look(
        &mut self,
        system: &impl LaneServing,
        call: &BinderWriteRead,
        parsed: &LaneCommands,
    ) -> bool {
        let room = call.read_size.saturating_sub(call.read_consumed);
        if system.served().count() == 0 || room < LaneReturns::MIN_ROOM as u64 {
            return false;
        }
        let is_idle = parsed.is_idle() && standing(system) & IS_LOOPER != 0;
        // A thread whose completions ride along replies and waits at once.
        if !is_idle && !parsed.has_reply {
            return false;
        }
        !self.poller.pauses(is_idle)
    }

    /// Serves the call that comes next, if one comes by a lane before the driver has work.
    pub(super) fn look(
        &mut self,
        system: &impl LaneServing,
        call: &mut BinderWriteRead,
        parsed: &LaneCommands,
    ) -> LaneEnd {
        let may_wait =
            parsed.is_idle() || write_by_ring(system, call) && standing(system) & IS_LOOPER != 0;
        if !may_wait {
            self.poller.note_completion();
            return LaneEnd::ByRing;
        }
        let has_waiting_caller = self.poller.has_waiting_caller(system);
        self.reply_delays.end(system.ticks(), has_waiting_caller);
        if !self.poller.skips_free() {
            self.poller.take_free(system);
        }
        let polled = self.poller.poll(system, self.is_driver_next);
        self.is_driver_next = matches!(polled, Polled::Call(..));
        self.poller.note_look(matches!(polled, Polled::Nothing));
        match polled {
            Polled::Call(lane, head) => {
                self.leave_others(system);
                self.serving = Some(lane);
                self.service_times.begin(system.ticks());
                free_if_idle(system, call, parsed);
                let mut returns = LaneReturns::of(call);
                returns.push_transaction(BR_TRANSACTION, &head);
                finish(system, call, &returns)
            }
            Polled::Shut => {
                self.poller.release_warm(system.served());
                LaneEnd::ByRingAtOnce
            }
            Polled::Nothing => {
                system.hold_signals();
                self.poller.release_cold(system.served());
                LaneEnd::ByRing
            }
            Polled::Interrupted => {
                self.poller.release_cold(system.served());
                free_if_idle(system, call, parsed);
                LaneEnd::Ended(RingOutcome::Done(Err(Errno::EINTR)))
            }
        }
    }

    /// Leaves the other lanes of a thread that has taken a call: their callers wait for it, or go to the driver, which wakes another
    /// thread.
    fn leave_others(&mut self, system: &impl LaneServing) {
        let has_idle_threads = system.served().has_sleeper()
            || header(system).idle_threads.load(Ordering::Relaxed) > 0;
        if has_idle_threads && !self.service_times.are_short() {
            self.poller.release_cold(system.served());
        } else if self.service_times.are_all_short() {
            self.poller.release_remote(system);
        } else {
            self.poller.release_warm(system.served());
        }
    }

    /// Goes on with a thread that serves a call of a lane: it replies, or the driver is to know of it.
    pub(super) fn go_on_serving(
        &mut self,
        system: &impl LaneServing,
        call: &mut BinderWriteRead,
        parsed: &LaneCommands,
    ) -> LaneEnd {
        if parsed.is_idle() && call.read_size == call.read_consumed {
            // It frees the call's buffer, and goes on.
            free_if_idle(system, call, parsed);
            return LaneEnd::Done;
        }
        let room = call.read_size.saturating_sub(call.read_consumed);
        let may_reply = room == 0 || room >= LaneReturns::MIN_ROOM as u64;
        let will_look = self.reply_delays.will_be_soon();
        let now = system.ticks();
        self.service_times.end(now);
        if let Some(reply) = parsed.plain_send(true).filter(|_| may_reply)
            && let Some(lane) = self.serving.take_if(|lane| {
                let lane = system.served().get(lane);
                lane.reply(system, reply, will_look).is_ok()
            })
        {
            self.reply_delays.begin(now);
            self.poller.keep(lane);
            return self.complete(system, call, parsed);
        }
        system.hold_signals();
        self.hand_over(system);
        self.leave(system, parsed);
        if !parsed.has_reply {
            self.service_times.note_long_call();
        }
        LaneEnd::ByRing
    }

    /// Ends a call that has replied. Who does not read hears of it later.
    fn complete(
        &mut self,
        system: &impl LaneServing,
        call: &mut BinderWriteRead,
        parsed: &LaneCommands,
    ) -> LaneEnd {
        parsed.free(system.buffers());
        if call.read_size == call.read_consumed {
            self.owes_completion = true;
            call.write_consumed = call.write_size;
            return LaneEnd::Done;
        }
        let mut returns = LaneReturns::of(call);
        returns.push(BR_TRANSACTION_COMPLETE);
        finish(system, call, &returns)
    }

    /// Has the driver take over the call that the thread serves, if it does. If the driver does not, it is gone: it says so to whatever
    /// comes next.
    #[cold]
    pub(super) fn hand_over(&mut self, system: &impl LaneServing) {
        let Some(held) = self.serving.take() else { return };
        let lane = system.served().get(&held);
        let _ = system.adopt(lane.id);
        let _ = note(system).end(lane.id, NoteKind::Serves);
        lane.finish_as(CallOutcome::Adopted);
        system.served().release(held);
    }
}

impl ServiceTimes {
    /// Whether the next call is taken to be short.
    fn are_short(&self) -> bool {
        self.short_calls_owed <= OWED_WHEN_SHORT
    }

    /// Whether all are.
    fn are_all_short(&self) -> bool {
        self.short_calls_owed == 0
    }

    /// The thread has taken a call.
    fn begin(&mut self, now: u64) {
        self.began_at = now;
    }

    /// The thread replies, or does something else.
    fn end(&mut self, now: u64) {
        if now.wrapping_sub(self.began_at) > SHORT_TICKS {
            self.note_long_call();
        } else {
            self.short_calls_owed = self.short_calls_owed.saturating_sub(1);
        }
    }

    /// The call is none that is known to be short.
    fn note_long_call(&mut self) {
        self.short_calls_owed = CALLS_UNTIL_ALL_SHORT;
    }
}

impl ReplyDelays {
    /// Whether the thread will look after its next reply.
    fn will_be_soon(&self) -> bool {
        self.unpolled == 0
    }

    /// The thread has replied.
    fn begin(&mut self, now: u64) {
        self.replied_at = self.will_be_soon().then_some(now);
        self.unpolled = self.unpolled.saturating_sub(1);
    }

    /// The thread looks again. A caller may have come meanwhile.
    fn end(&mut self, now: u64, has_waiting_caller: bool) {
        let Some(replied_at) = self.replied_at.take().filter(|_| has_waiting_caller) else {
            return;
        };
        if now.wrapping_sub(replied_at) > SOON_TICKS {
            self.unpolled = self.next_unpolled + 1;
            self.next_unpolled = (self.next_unpolled * 2 + 1).min(MAX_UNPOLLED - 1);
        } else {
            self.next_unpolled = self.next_unpolled.saturating_sub(1);
        }
    }
}

/// Has the driver run the commands of a call. Says whether it has run them all.
fn write_by_ring(system: &impl LaneServing, call: &mut BinderWriteRead) -> bool {
    let outcome = system.run_commands(call, call.write_size);
    outcome == RingOutcome::Done(Ok(())) && call.write_consumed == call.write_size
}

/// Runs commands that free buffers of lanes, and do nothing else.
fn free_if_idle(system: &impl LaneServing, call: &mut BinderWriteRead, parsed: &LaneCommands) {
    if parsed.is_idle() {
        parsed.free(system.buffers());
        call.write_consumed = call.write_size;
    }
}
