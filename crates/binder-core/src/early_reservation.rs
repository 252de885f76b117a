//! Room in a receiver's buffer that is had before its send is decided on.
//!
//! Data without objects goes to its receiver as it is. While it is fetched, with the driver free for
//! others, room is reserved where it will go by all that is known, and it is read straight into there. When
//! the send is run, either that is its place indeed, and the room becomes its buffer; or things have
//! changed, the room is given back, and the data is fetched once more, into memory of ours.
//!
//! Somebody may be writing to a room for as long as a page of the sender stays away. So it is given back
//! by whoever has fetched, and by nobody else; and all the rooms in an area have a share of it only.

use binder_uapi::{BinderTransactionDataSg, TF_CLEAR_BUF};

use crate::buffer::{BufferReservation, Mapping, Sizes};
use crate::context::{Caller, Context};
use crate::env::ReceiveBuffers;
use crate::error::Errno;
use crate::fetch::Commands;
use crate::process::ProcessKey;
use crate::transaction::{TransactionKind, handle_of};

/// Names a room. No other has the same name, on any device of the mount.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct EarlyReservationKey(pub(crate) u64);

/// Where the data of a send may be put.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "it is reserved until it is given up"]
pub struct EarlyReservation {
    /// By which it is known.
    pub key: EarlyReservationKey,
    /// In whose receive buffer.
    pub receiver: ProcessKey,
    /// Where in it.
    pub offset: u32,
}

/// A room, and what for.
#[derive(Debug)]
pub(crate) struct HeldReservation {
    place: Place,
    reservation: BufferReservation,
    clears: bool,
}

/// Where a send goes that has no objects, and what it takes there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    receiver: ProcessKey,
    sizes: Sizes,
    is_oneway: bool,
}

impl Context {
    /// Reserves room for what a send carries, before its time. `None` where it may have none: it must do
    /// without then.
    pub fn reserve_early(
        &mut self,
        process: ProcessKey,
        tid: u32,
        kind: TransactionKind,
        data: &BinderTransactionDataSg,
        memory: &mut dyn ReceiveBuffers,
    ) -> Option<EarlyReservation> {
        let place = self.place_of(process, tid, kind, data)?;
        let Place { receiver, sizes, is_oneway } = place;
        let has_share = |mapping: &Mapping| mapping.has_share_ahead(sizes);
        if !self.processes.get(receiver)?.mapping.as_ref().is_some_and(has_share) {
            return None;
        }
        let reservation = self.reserve_paid(receiver, sizes, is_oneway, memory).ok()?;
        if let Some(mapping) = &mut self.processes[receiver].mapping {
            mapping.begin_ahead(&reservation);
        }
        let offset = reservation.layout.start;
        let clears = data.transaction_data.flags & TF_CLEAR_BUF != 0;
        let key = self.ids.next_room();
        self.rooms.insert(key, HeldReservation { place, reservation, clears });
        Some(EarlyReservation { key, receiver, offset })
    }

    /// Gives back a room that nobody writes to any more.
    pub fn give_up_reservation(
        &mut self,
        room: EarlyReservationKey,
        memory: &mut dyn ReceiveBuffers,
    ) {
        let Some(HeldReservation { place, reservation, clears }) = self.rooms.remove(&room) else {
            return;
        };
        let receiver = place.receiver;
        let process = self.processes.get_mut(receiver);
        // With the receiver, its buffer goes.
        let Some(mapping) = process.and_then(|process| process.mapping.as_mut()) else { return };
        mapping.settle_ahead(&reservation);
        if clears {
            memory.clear(receiver, reservation.layout.start, reservation.layout.slot_len);
        }
        mapping.abort(reservation);
        self.note_idle(receiver);
    }

    /// Gives back what was reserved for commands that will not be run.
    pub fn give_up_reservations(
        &mut self,
        commands: &mut Commands,
        memory: &mut dyn ReceiveBuffers,
    ) {
        while let Some(room) = commands.take_room() {
            self.give_up_reservation(room, memory);
        }
    }

    /// Whether the next command, if it is a send whose data is in a room, finds it where it goes. If not,
    /// the room is given back, and the command must be fetched again.
    pub(crate) fn is_in_place(
        &mut self,
        caller: &Caller,
        commands: &mut Commands,
        memory: &mut dyn ReceiveBuffers,
    ) -> bool {
        let Some((room, kind, data)) = commands.next_in_room() else { return true };
        let place = self.place_of(caller.process, caller.tid, kind, &data);
        let is_same = self.rooms.get(&room).is_some_and(|room| Some(room.place) == place);
        if !is_same {
            self.give_up_reservations(commands, memory);
        }
        is_same
    }

    /// Takes a room as the place of its send, which [was found](Self::is_in_place) to go there.
    ///
    /// # Errors
    ///
    /// `EFAULT` if there is none, which does not happen.
    pub(crate) fn take_up_reservation(
        &mut self,
        room: EarlyReservationKey,
    ) -> Result<BufferReservation, Errno> {
        let HeldReservation { place, reservation, .. } =
            self.rooms.remove(&room).ok_or(Errno::EFAULT)?;
        if let Some(mapping) = &mut self.processes[place.receiver].mapping {
            mapping.settle_ahead(&reservation);
        }
        Ok(reservation)
    }

    fn place_of(
        &self,
        process: ProcessKey,
        tid: u32,
        kind: TransactionKind,
        data: &BinderTransactionDataSg,
    ) -> Option<Place> {
        let sender = self.processes.get(process)?;
        let (receiver, label_len) = match kind {
            TransactionKind::Call | TransactionKind::Oneway => {
                let target = self.resolve_target(process, handle_of(data)).ok()?;
                (target.owner, self.label_len(process, Some(target.node)))
            }
            TransactionKind::Reply => {
                let thread = *sender.threads.get(&tid)?;
                let call = &self.transactions[self.threads[thread].stack?];
                let caller = call.from.filter(|_| call.to_thread == Some(thread))?;
                (self.threads[caller].process, 0)
            }
        };
        let sizes = Sizes::of(data, label_len).ok()?;
        let has_objects = sizes.offsets != 0 || data.buffers_size != 0;
        let is_oneway = kind == TransactionKind::Oneway;
        (!has_objects).then_some(Place { receiver, sizes, is_oneway })
    }
}
