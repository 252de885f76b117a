//! A thread that calls and serves by lanes.

use core::sync::atomic::Ordering;

use binder_ring::SlotIndex;
use binder_uapi::{BinderWriteRead, Errno};

use super::LaneEnd;
use super::caller::{LaneCaller, finish};
use super::commands::{LaneCommands, LaneReturns};
use super::served::{ServedLanes, ServedPlace};
use super::server::LaneServer;
use super::system::{LaneServing, header};
use crate::exchange::{ReadWait, RingOutcome};
use crate::ring::ClientRing;

/// What a thread has of a device's lanes.
#[derive(Debug)]
pub struct ThreadLanes<P> {
    caller: LaneCaller<P>,
    server: LaneServer,
}

impl<P> Default for ThreadLanes<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P> ThreadLanes<P> {
    /// That of a thread that has made no call.
    pub const fn new() -> Self {
        Self { caller: LaneCaller::new(), server: LaneServer::new() }
    }

    /// Makes a call of this thread, by a lane if it can be. It asks for one after `busy_calls` in a row to an object.
    pub fn exchange(
        &mut self,
        system: &impl LaneServing<Place = P>,
        call: &mut BinderWriteRead,
        commands: &LaneCommands,
        busy_calls: u32,
    ) -> RingOutcome {
        let mut has_looked = false;
        let end = if self.server.is_serving() {
            self.server.go_on_serving(system, call, commands)
        } else if self.server.owes_completion() {
            self.server.tell_completion(system, call, commands)
        } else if self.server.may_look(system, call, commands) {
            has_looked = true;
            self.server.look(system, call, commands)
        } else {
            self.server.leave(system, commands);
            self.caller.call(system, call, commands)
        };
        let outcome = match end {
            LaneEnd::Done => return RingOutcome::Done(Ok(())),
            LaneEnd::ByRing => system.by_ring(call),
            LaneEnd::ByRingAtOnce => {
                let outcome = system.by_ring_waiting(ReadWait::Never, call);
                if outcome == RingOutcome::Done(Err(Errno::EAGAIN)) {
                    // Another thread was first.
                    self.server.stay(system);
                    system.by_ring(call)
                } else {
                    outcome
                }
            }
            LaneEnd::ReadByRing => {
                call.write_consumed = call.write_size;
                system.by_ring(call)
            }
            LaneEnd::Ended(outcome) => return outcome,
        };
        let is_over = outcome == RingOutcome::Done(Ok(()));
        if has_looked && !is_over && !system.is_open() {
            // Another thread has closed the file meanwhile, which ends reads that wait.
            let returns = LaneReturns::of(call);
            return match finish(system, call, &returns) {
                LaneEnd::Ended(outcome) => outcome,
                _ => RingOutcome::Done(Ok(())),
            };
        }
        if is_over {
            if header(system).offered_lanes.load(Ordering::Relaxed) != 0 {
                self.server.accept(system);
            }
            self.caller.open_if_worthwhile(system, busy_calls);
        }
        outcome
    }

    /// Whether the thread serves a call that came by a lane.
    pub fn is_serving(&self) -> bool {
        self.server.is_serving()
    }

    /// Has the driver take over what the thread serves: it goes on by an ioctl.
    pub fn leave(&mut self, system: &impl LaneServing<Place = P>) {
        self.server.hand_over(system);
    }

    /// Forgets what the thread has served, of which the driver forgets all by the ioctl that follows. A call that it serves is the
    /// driver's then, whose caller hears that the thread is gone.
    pub fn exit(&mut self, system: &impl LaneServing<Place = P>) {
        self.server.hand_over(system);
        self.server.end(system.ring(), system.slot(), system.served());
    }

    /// Ends what the thread has, which makes no calls any more. Returns what the process has of the lane by which it has called.
    pub fn end<S: ServedPlace>(
        &mut self,
        ring: &ClientRing,
        slot: SlotIndex,
        served: &ServedLanes<S>,
    ) -> Option<P> {
        self.server.end(ring, slot, served);
        self.caller.end()
    }
}
