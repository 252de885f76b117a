//! The note by which the driver knows what a thread does by a lane.

use crate::atomic::{AtomicU32, Ordering, fence};

/// The number of a lane: none has 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct LaneId(u32);

const KIND_BITS: u32 = 2;

impl LaneId {
    /// The lane of this number, if that is one.
    pub const fn new(number: u32) -> Option<Self> {
        if number != 0 && number >> (u32::BITS - KIND_BITS) == 0 {
            Some(Self(number))
        } else {
            None
        }
    }

    /// Its number.
    pub fn number(self) -> u32 {
        self.0
    }

    /// The number that is given after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self::new(self.0 + 1).unwrap_or(Self(1))
    }
}

/// What a thread does by a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum NoteKind {
    /// It makes a call.
    Calls = 1,
    /// It serves one.
    Serves = 2,
    /// It makes or serves one that the driver has taken over.
    IsAdopted = 3,
}

/// Lies in a thread's slot of a ring, which its process and the driver write alone.
///
/// The thread notes what it does before anyone can see that, and the driver changes the note when it takes the call over: so each
/// learns from the other whose the call is.
#[derive(Clone, Copy, Debug)]
pub struct LaneNote<'w>(&'w AtomicU32);

fn bits(lane: LaneId, kind: NoteKind) -> u32 {
    lane.0 << KIND_BITS | kind as u32
}

impl<'w> LaneNote<'w> {
    /// The note in this word.
    pub fn new(word: &'w AtomicU32) -> Self {
        Self(word)
    }

    /// Notes what the thread is about to do. The driver sees it, or the thread sees that the driver has taken the lane
    /// back before. For the thread.
    pub fn begin(&self, lane: LaneId, kind: NoteKind) {
        self.0.store(bits(lane, kind), Ordering::Release);
        fence(Ordering::SeqCst);
    }

    /// Notes that it is over. Says whether it was the thread's own to the end: if not, the driver has taken it over. For
    /// the thread.
    #[must_use = "the call may be the driver's"]
    pub fn end(&self, lane: LaneId, kind: NoteKind) -> bool {
        let noted = bits(lane, kind);
        let own = self.0.compare_exchange(noted, 0, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if !own {
            self.0.store(0, Ordering::Release);
        }
        own
    }

    /// Whether the driver has taken over what the thread does by this lane. For the thread.
    pub fn is_adopted(&self, lane: LaneId) -> bool {
        self.is(lane, NoteKind::IsAdopted)
    }

    /// The lane by which the thread makes or serves a call that the driver has not taken over. For the driver.
    pub fn lane(&self) -> Option<LaneId> {
        let noted = self.0.load(Ordering::Acquire);
        let lane = LaneId::new(noted >> KIND_BITS)?;
        [NoteKind::Calls, NoteKind::Serves]
            .iter()
            .any(|kind| noted == bits(lane, *kind))
            .then_some(lane)
    }

    /// Whether the thread notes this. For the driver, which has a [`fence`](Self::fence) after it has taken the lane back.
    pub fn is(&self, lane: LaneId, kind: NoteKind) -> bool {
        self.0.load(Ordering::Acquire) == bits(lane, kind)
    }

    /// Takes over what the thread does. Says whether it did that. For the driver.
    #[must_use = "the thread may do nothing of that kind"]
    pub fn adopt(&self, lane: LaneId, kind: NoteKind) -> bool {
        let adopted = bits(lane, NoteKind::IsAdopted);
        let noted = bits(lane, kind);
        self.0.compare_exchange(noted, adopted, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Takes [`adopt`](Self::adopt) back, if the thread has not gone on. For the driver.
    pub fn give_back(&self, lane: LaneId, kind: NoteKind) {
        let (adopted, noted) = (bits(lane, NoteKind::IsAdopted), bits(lane, kind));
        let _ = self.0.compare_exchange(adopted, noted, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Between a lane's being taken back and a look at notes. For the driver.
    pub fn fence() {
        fence(Ordering::SeqCst);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_ended_by_its_thread_or_adopted() {
        let word = AtomicU32::new(0);
        let (note, lane) = (LaneNote::new(&word), LaneId::new(7).expect("a number"));
        assert!(!note.adopt(lane, NoteKind::Serves), "it does nothing");
        assert_eq!(note.lane(), None);
        note.begin(lane, NoteKind::Serves);
        assert_eq!(note.lane(), Some(lane));
        assert!(!note.adopt(lane, NoteKind::Calls) && !note.adopt(lane.next(), NoteKind::Serves));
        assert!(note.end(lane, NoteKind::Serves));
        note.begin(lane, NoteKind::Calls);
        assert!(note.adopt(lane, NoteKind::Calls) && note.is_adopted(lane));
        assert_eq!(note.lane(), None, "it is the driver's");
        assert!(!note.end(lane, NoteKind::Calls) && !note.is_adopted(lane));
        note.begin(lane, NoteKind::Calls);
        assert!(note.adopt(lane, NoteKind::Calls));
        note.give_back(lane, NoteKind::Calls);
        assert!(note.end(lane, NoteKind::Calls));
    }

    #[test]
    fn numbers_of_lanes_begin_anew() {
        let last = LaneId::new((1 << 30) - 1).expect("the last");
        assert_eq!((last.next().number(), LaneId::new(0), LaneId::new(1 << 30)), (1, None, None));
    }
}
