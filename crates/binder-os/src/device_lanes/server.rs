//! The threads that serve the calls of lanes.
//!
//! A thread that would wait for work of the driver's looks at the lanes that no other thread has, for as long as a thread waits in
//! its slot of the ring. To the driver it is a thread that does something else meanwhile: work for it stays in line, and the gate in
//! the ring tells. So a thread that the driver has woken is never one that serves a lane.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use binder_lane::layout::{CallOutcome, DATA_BYTES};
use binder_lane::{LeftToDriver, NoteKind};
use binder_ring::layout::IS_LOOPER;
use binder_ring_client::RingOutcome;
use binder_ring_client::lane::{LaneCommands, LaneEnd, LaneReturns, LaneSystem as _, finish};
use binder_uapi::{BR_TRANSACTION, BR_TRANSACTION_COMPLETE, BinderWriteRead};

use super::served::ServedLane;
use super::{LaneContext, ThreadLanes};

/// A call that a thread serves.
#[derive(Debug)]
pub(super) struct Serving {
    pub(super) lane: Arc<ServedLane>,
    /// Its caller is gone: the reply is for no one.
    is_orphan: bool,
}

impl ThreadLanes {
    /// Whether the thread is idle, has nothing for the driver but what it may write at once, and there are lanes to look at.
    pub(super) fn may_look(
        &mut self,
        context: &LaneContext<'_, '_>,
        call: &BinderWriteRead,
        parsed: &LaneCommands,
    ) -> bool {
        let room = call.read_size.saturating_sub(call.read_consumed);
        if context.lanes.served.count.load(Ordering::Relaxed) == 0
            || room < LaneReturns::MOST_BYTES as u64
        {
            return false;
        }
        let is_idle = parsed.is_idle() && context.standing() & IS_LOOPER != 0;
        // A thread whose completions ride along replies and waits at once.
        if !is_idle && !parsed.has_reply {
            return false;
        }
        if self.owned.pauses(is_idle) {
            return false;
        }
        context.header().gate.load(Ordering::Acquire) == 0
    }

    /// Serves the call that comes next, if one comes by a lane before the driver has work.
    pub(super) fn look(
        &mut self,
        context: &LaneContext<'_, '_>,
        call: &mut BinderWriteRead,
        parsed: &LaneCommands,
    ) -> LaneEnd {
        if !parsed.is_idle() {
            let read_size = std::mem::replace(&mut call.read_size, call.read_consumed);
            let outcome = context.by_ring(call);
            call.read_size = read_size;
            let is_written =
                outcome == RingOutcome::Done(Ok(())) && call.write_consumed == call.write_size;
            if !is_written || context.standing() & IS_LOOPER == 0 {
                self.owned.note_completion();
                return LaneEnd::ByRing;
            }
        }
        self.owned.take_free(context);
        match self.owned.look(context) {
            Some((lane, head)) => {
                self.owned.note_look(false);
                self.owned.give_up_but(Some(&lane));
                if parsed.is_idle() {
                    parsed.free(&context.lanes.buffers);
                }
                self.serving = Some(Serving { lane, is_orphan: false });
                let mut returns = LaneReturns::new();
                returns.push_transaction(BR_TRANSACTION, &head);
                finish(context, call, &returns)
            }
            None => {
                self.owned.note_look(true);
                self.owned.give_up();
                LaneEnd::ByRing
            }
        }
    }

    /// Goes on with a thread that serves a call of a lane: it replies, or the driver is to know of it.
    pub(super) fn go_on_serving(
        &mut self,
        context: &LaneContext<'_, '_>,
        call: &mut BinderWriteRead,
        parsed: &LaneCommands,
    ) -> LaneEnd {
        let Some(serving) = &mut self.serving else { return LaneEnd::ByRing };
        let room = call.read_size.saturating_sub(call.read_consumed);
        let has_room = room >= LaneReturns::MOST_BYTES as u64;
        if parsed.is_idle() && call.read_size == call.read_consumed {
            // It frees the call's buffer, and goes on.
            parsed.free(&context.lanes.buffers);
            call.write_consumed = call.write_size;
            return LaneEnd::Done;
        }
        let reply = parsed.plain_send(true).filter(|_| has_room);
        let data = reply.and_then(|reply| context.memory.lent(reply.buffer, reply.data_size));
        if let (Some(reply), Some(data), false) = (reply, data, serving.is_orphan)
            && data.len() <= DATA_BYTES
        {
            let lane = serving.lane.clone();
            return match lane.reply(context, reply, data) {
                Ok(()) => {
                    self.serving = None;
                    complete(context, call, parsed)
                }
                Err(LeftToDriver) => {
                    self.hand_over(context);
                    self.end_serving(context, call, parsed)
                }
            };
        }
        if !serving.is_orphan {
            self.hand_over(context);
        }
        self.end_serving(context, call, parsed)
    }

    /// Has the driver take over the call that the thread serves.
    #[cold]
    fn hand_over(&mut self, context: &LaneContext<'_, '_>) {
        let Some(serving) = self.serving.take() else { return };
        let lane = serving.lane;
        let _ = context.take_over(lane.id);
        if context.note().end(lane.id, NoteKind::Serves) {
            // Its caller is gone, or the driver.
            lane.finish_as(CallOutcome::Adopted);
            self.serving = Some(Serving { lane, is_orphan: true });
            return;
        }
        lane.finish_as(CallOutcome::Adopted);
        self.owned.give_up();
    }

    /// Goes on once the driver has the call; or nobody, for whom the reply is a completion as any.
    fn end_serving(
        &mut self,
        context: &LaneContext<'_, '_>,
        call: &mut BinderWriteRead,
        parsed: &LaneCommands,
    ) -> LaneEnd {
        if self.serving.is_none() || !parsed.has_reply {
            return LaneEnd::ByRing;
        }
        self.serving = None;
        self.owned.give_up();
        let has_room =
            call.read_size.saturating_sub(call.read_consumed) >= LaneReturns::MOST_BYTES as u64;
        if parsed.has_others || !has_room {
            return LaneEnd::ByRing;
        }
        complete(context, call, parsed)
    }
}

/// Ends a call that has replied.
fn complete(
    context: &LaneContext<'_, '_>,
    call: &mut BinderWriteRead,
    parsed: &LaneCommands,
) -> LaneEnd {
    parsed.free(&context.lanes.buffers);
    let mut returns = LaneReturns::new();
    returns.push(BR_TRANSACTION_COMPLETE);
    finish(context, call, &returns)
}
