//! Lanes: calls between clients with rings that pass the driver by (`binder-lane`), as far as the driver has a say in them.
//!
//! A client's thread asks for a lane to an object; the object's owner is offered it, and takes it. From then on the driver only
//! knows that there is one. It takes it back as soon as the thread, the handle, the object or either process is not what it was, and
//! takes a call over when a party of it asks for that. Both note in slots of their rings what they do, which the driver
//! believes each of itself alone.
//!
//! All is done with the device's lock (`lane_calls`), in time before others hear of it: the look at what has
//! changed is the last thing in it, and answers go out afterwards.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use binder_core::{Context, Errno, LaneTarget, ProcessKey};
use binder_lane::{LaneId, LaneNote, NoteKind};
use binder_ring::SlotIndex;
use binder_uapi::{LaneAccept, LaneOpen, LaneRoom};

use super::fair_share::{places_of, who_gives_way};
use super::file::RingFile;
use crate::files::HeldFile;
use crate::quota::Charge;

/// A lane is kept for this long at least, unless its user has many more than one who wants one.
const KEPT_FOR: Duration = Duration::from_secs(1);
/// What a lane takes of the daemon's descriptors until its server has taken it: the segment, and the caller's thread.
pub(super) const FILES: usize = 2;

/// The lanes of a device.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    pub(super) lanes: Vec<Lane>,
    pub(super) last: Option<LaneId>,
}

/// A lane.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) id: LaneId,
    pub(super) caller: LaneThread,
    pub(super) handle: u32,
    pub(super) target: LaneTarget,
    pub(super) server: PlaceInRing,
    /// Until the server has taken it.
    pub(super) offer: Option<LaneOffer>,
    pub(super) is_revoked: bool,
    pub(super) granted_at: Instant,
    /// Whether something was done since the last look by which it may not be what it was.
    pub(super) may_have_changed: bool,
    /// Whether calls were made by it since the housekeeper's last turn ended.
    pub(super) is_used: bool,
}

/// The thread that calls by a lane.
#[derive(Debug)]
pub(super) struct LaneThread {
    pub(super) process: ProcessKey,
    pub(super) tid: u32,
    pub(super) slot: SlotIndex,
    /// Who it was then, and who pays.
    pub(super) uid: u32,
    pub(super) payer: u32,
    pub(super) end: PlaceInRing,
}

/// A ring, and the place of a lane in its list.
#[derive(Debug)]
pub(super) struct PlaceInRing {
    pub(super) ring: Arc<RingFile>,
    pub(super) place: usize,
    /// How many calls the client had counted there when it was last asked.
    counted: u32,
}

/// What a server is to be given.
#[derive(Debug)]
pub(crate) struct LaneOffer {
    pub(super) segment: OwnedFd,
    /// Of the thread that calls; of its process if there is a number.
    pub(super) pidfd: OwnedFd,
    /// The thread's number, as the server sees it; 0 if the pidfd is the thread's.
    pub(super) sender_tid: u32,
    /// Its user, as the server sees him.
    pub(super) sender_euid: u32,
    pub(super) _charges: [Charge; FILES],
}

/// What became of a request about lanes.
pub(crate) enum LaneAnswer {
    Opened(Result<LaneOpen, Errno>),
    /// What its thread gets is sent to a socket of the thread's.
    Taken {
        socket: HeldFile,
        taken: Result<(LaneAccept, LaneOffer), Errno>,
    },
    /// Part of the receive buffer was set aside.
    Room(Result<LaneRoom, Errno>),
    /// A call was taken over, or a lane given back.
    Ended(Result<(), Errno>),
}

impl PlaceInRing {
    pub(super) fn new(ring: Arc<RingFile>, place: usize) -> Self {
        let counted = ring.lane_calls(place);
        Self { ring, place, counted }
    }

    /// How many calls the client has counted since this was asked last.
    fn take_calls(&mut self) -> u32 {
        let calls = self.ring.lane_calls(self.place);
        calls.wrapping_sub(std::mem::replace(&mut self.counted, calls))
    }

    pub(super) fn set(&self, id: Option<LaneId>) {
        self.ring.set_lane(self.place, id.map_or(0, LaneId::number));
    }
}

impl Lane {
    /// Whether it was taken back, and its object is needed by no thread of the server.
    pub(super) fn has_ended(&self) -> bool {
        self.is_revoked && (!self.server.ring.is_current() || self.serving_slot().is_none())
    }

    /// The slot of the server's thread that serves a call of it, as the server says.
    pub(super) fn serving_slot(&self) -> Option<SlotIndex> {
        let ring = &self.server.ring;
        let serves = |slot: &SlotIndex| ring.lane_note(*slot).is(self.id, NoteKind::Serves);
        SlotIndex::all().filter(serves).find(|slot| ring.tid_of(*slot).is_some())
    }

    /// Whether its caller makes a call of it of which the driver does not know, as the caller says.
    fn is_called(&self) -> bool {
        let LaneThread { slot, end, .. } = &self.caller;
        end.ring.is_current() && end.ring.lane_note(*slot).is(self.id, NoteKind::Calls)
    }

    /// Has the driver count the calls of which it does not know.
    pub(super) fn count_calls(&mut self, context: &mut Context) {
        let (calls, replies) = (self.caller.end.take_calls(), self.server.take_calls());
        self.is_used |= calls != 0;
        context.count_lane(self.caller.process, calls, self.target.server, replies);
    }

    /// Takes it back: it is not there for anyone who looks from here on.
    pub(super) fn revoke(&mut self) {
        if !self.is_revoked {
            self.is_revoked = true;
            self.caller.end.set(None);
            self.server.set(None);
            LaneNote::fence();
            if self.offer.take().is_some() {
                self.server.ring.count_offers(-1);
            }
        }
    }
}

impl Lanes {
    /// Notes that something was done for a process, or for none: a lane of others is as it was.
    pub(crate) fn note_work(&mut self, of: Option<ProcessKey>) {
        for lane in &mut self.lanes {
            lane.may_have_changed |= of
                .is_none_or(|process| [lane.caller.process, lane.target.server].contains(&process));
        }
    }

    /// Whether there are none, and nothing is to be seen to.
    pub(super) fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    /// Takes all back.
    pub(super) fn revoke_all(&mut self) {
        self.lanes.iter_mut().for_each(Lane::revoke);
    }

    /// Takes those of a process back, that it calls or is called by. Says whether calls are under way in them, either way.
    pub(super) fn revoke_of(&mut self, process: ProcessKey) -> bool {
        let is_its = |it: &&mut Lane| [it.target.server, it.caller.process].contains(&process);
        self.lanes.iter_mut().filter(is_its).for_each(Lane::revoke);
        self.is_in_call(process)
    }

    /// Whether a process makes or serves calls by lanes.
    pub(super) fn is_in_call(&self, process: ProcessKey) -> bool {
        self.lanes.iter().any(|lane| {
            lane.target.server == process && lane.serving_slot().is_some()
                || lane.caller.process == process && lane.is_called()
        })
    }

    /// How many there are of these, those included that were taken back and that a thread still serves.
    pub(super) fn count(&self, is_one: impl Fn(&Lane) -> bool) -> usize {
        self.lanes.iter().filter(|lane| is_one(lane) && !lane.has_ended()).count()
    }

    /// Takes one of these lanes back, of which there can be no more: another thread, for which `payer` pays, wants one, and asks anew.
    pub(super) fn make_room(&mut self, payer: u32, is_one: impl Fn(&Lane) -> bool) {
        let granted = self.lanes.iter_mut().filter(|it| !it.is_revoked && is_one(it));
        let mut granted: Vec<_> = granted.collect();
        let holders: Vec<_> =
            granted.iter().map(|it| (it.caller.payer, it.granted_at.elapsed())).collect();
        if let Some(at) = which_makes_room(payer, &holders) {
            granted[at].revoke();
        }
    }

    /// Takes those back that were not used since the turn before.
    pub(super) fn end_idle_turn(&mut self) {
        for lane in &mut self.lanes {
            if !std::mem::take(&mut lane.is_used) {
                lane.revoke();
            }
        }
    }

    /// How many lead to and from an open file of the device.
    pub(crate) fn count_of(&self, process: ProcessKey) -> usize {
        let granted = self.lanes.iter().filter(|lane| !lane.is_revoked);
        granted.filter(|it| it.target.server == process || it.caller.process == process).count()
    }

    pub(super) fn next_id(&self) -> LaneId {
        let first = LaneId::new(1).expect("a number");
        let mut id = self.last.map_or(first, LaneId::next);
        while self.lanes.iter().any(|lane| lane.id == id) {
            id = id.next();
        }
        id
    }
}

/// Which of some lanes makes room for one of a user, by who pays for each and how long it was granted: the oldest of the user who has
/// many more than that one; else the oldest of those who have more, or of the user's own, in turns. That may not be in use; the thread of
/// one that is asks for another.
fn which_makes_room(user: u32, holders: &[(u32, Duration)]) -> Option<usize> {
    let users: Vec<_> = holders.iter().map(|it| it.0).collect();
    let oldest = |may_give: &dyn Fn(u32) -> bool| {
        (0..holders.len()).filter(|at| may_give(users[*at])).max_by_key(|at| holders[*at].1)
    };
    if let Some(other) = who_gives_way(user, &users) {
        return oldest(&|its| its == other);
    }
    let own = places_of(user, &users);
    oldest(&|its| its == user || places_of(its, &users) > own)
        .filter(|at| holders[*at].1 >= KEPT_FOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_made_by_who_has_the_most_or_by_a_users_own_lane() {
        let old = KEPT_FOR * 3;
        let holders = [(1, old), (2, KEPT_FOR), (2, old), (2, Duration::ZERO)];
        assert_eq!(which_makes_room(3, &holders), Some(2), "the oldest of whom has the most");
        assert_eq!(which_makes_room(1, &holders), Some(2));
        assert_eq!(which_makes_room(2, &holders), Some(2), "it has the most itself");
        assert_eq!(which_makes_room(3, &holders[..2]), Some(0), "each has one, in turns");
        assert_eq!(which_makes_room(1, &holders[..2]), Some(0), "its own");
        assert_eq!(which_makes_room(2, &holders[..2]), Some(1), "its own, though others are older");
        assert_eq!(which_makes_room(2, &holders[3..]), None, "it was granted just now");
        assert_eq!(which_makes_room(1, &[]), None);
    }
}
