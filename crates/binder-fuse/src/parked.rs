//! Reads that sleep in the daemon: who sleeps, and which FUSE request waits for the answer.

use binder_core::ThreadKey;
use binder_uapi::BinderWriteRead;

use crate::client::shrink_slots;
use crate::driver::Asker;

/// Whether the file of a sleeping read has been looked at for a change to `O_NONBLOCK`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Check {
    /// It fell asleep since the last round: perhaps for a moment only.
    Fresh,
    /// It slept through a round, and is looked at after the next, once and for all.
    Due,
}

/// A read that sleeps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parked {
    /// The request to answer, and whose it is.
    pub(crate) asker: Asker,
    pub(crate) thread: ThreadKey,
    /// The caller's struct, with the progress so far.
    pub(crate) request: BinderWriteRead,
    /// How far the housekeeper is with it.
    pub(crate) check: Check,
}

/// The sleeping reads of one device, by the slot of their thread.
#[derive(Debug, Default)]
pub(crate) struct ParkedReads {
    slots: Vec<Option<Parked>>,
    /// Slots with reads that have not been looked at, or had, once each.
    unchecked: Vec<usize>,
    is_unchecked: Vec<bool>,
}

impl ParkedReads {
    pub(crate) fn insert(&mut self, parked: Parked) {
        let slot = parked.thread.slot();
        if slot >= self.slots.len() {
            self.slots.resize(slot + 1, None);
            self.is_unchecked.resize(slot + 1, false);
        }
        if !std::mem::replace(&mut self.is_unchecked[slot], true) {
            self.unchecked.push(slot);
        }
        self.slots[slot] = Some(parked);
    }

    pub(crate) fn take(&mut self, thread: ThreadKey) -> Option<Parked> {
        self.slots.get_mut(thread.slot())?.take_if(|parked| parked.thread == thread)
    }

    /// Takes the read behind a FUSE request: a search, which only a signal asks for.
    pub(crate) fn take_request(&mut self, unique: u64) -> Option<Parked> {
        self.take_first(|parked| parked.asker.unique == unique)
    }

    pub(crate) fn take_first(&mut self, is_wanted: impl Fn(&Parked) -> bool) -> Option<Parked> {
        self.slots.iter_mut().find_map(|place| place.take_if(|parked| is_wanted(parked)))
    }

    /// Ends a round: lists the reads that have slept through it and not been looked at.
    pub(crate) fn end_round(&mut self) -> Vec<Parked> {
        let mut due = Vec::new();
        let Self { slots, unchecked, is_unchecked } = self;
        unchecked.retain(|slot| {
            let is_fresh = match &mut slots[*slot] {
                Some(parked) if parked.check == Check::Fresh => {
                    parked.check = Check::Due;
                    true
                }
                Some(parked) => {
                    due.push(*parked);
                    false
                }
                None => false,
            };
            is_unchecked[*slot] = is_fresh;
            is_fresh
        });
        due
    }

    /// Gives back room behind the last sleeper.
    pub(crate) fn shrink(&mut self) {
        shrink_slots(&mut self.slots);
        let used = self.slots.len();
        self.unchecked.retain(|slot| *slot < used);
        self.unchecked.shrink_to(2 * self.unchecked.len());
        self.is_unchecked.truncate(used);
        self.is_unchecked.shrink_to(2 * used);
    }
}
