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
    /// It slept through a round.
    Due,
    /// It was looked at, once and for all.
    Done,
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
pub(crate) struct ParkedReads(Vec<Option<Parked>>);

impl ParkedReads {
    pub(crate) fn insert(&mut self, parked: Parked) {
        let slot = parked.thread.slot();
        if slot >= self.0.len() {
            self.0.resize(slot + 1, None);
        }
        self.0[slot] = Some(parked);
    }

    pub(crate) fn take(&mut self, thread: ThreadKey) -> Option<Parked> {
        self.0.get_mut(thread.slot())?.take_if(|parked| parked.thread == thread)
    }

    /// Takes the read behind a FUSE request: a search, which only a signal asks for.
    pub(crate) fn take_request(&mut self, unique: u64) -> Option<Parked> {
        self.take_first(|parked| parked.asker.unique == unique)
    }

    pub(crate) fn take_first(&mut self, is_wanted: impl Fn(&Parked) -> bool) -> Option<Parked> {
        self.0.iter_mut().find_map(|place| place.take_if(|parked| is_wanted(parked)))
    }

    /// Gives back room behind the last sleeper.
    pub(crate) fn shrink(&mut self) {
        shrink_slots(&mut self.0);
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Parked> {
        self.0.iter_mut().flatten()
    }
}
