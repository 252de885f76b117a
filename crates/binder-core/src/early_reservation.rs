//! Reservations in a receiver's buffer that are made before their sends are decided on.
//!
//! Data without objects goes to its receiver as it is. Before it is fetched, a range is reserved in
//! the buffer of its probable receiver; then it is read straight into that, with the driver free
//! for other threads. When the send is run, either that is its place indeed, and the reservation
//! becomes its buffer; or things have changed, the reservation is given up, and the data is fetched
//! once more, into the driver's memory.
//!
//! The fetching thread may be writing to a reservation for as long as a page of the sender stays
//! away. So that thread alone gives it up; and all early reservations in an area may take only a
//! share of it.

use binder_uapi::{BinderTransactionDataSg, TF_CLEAR_BUF};

use crate::buffer::{BufferReservation, Mapping, Sizes};
use crate::context::{Caller, Context};
use crate::env::ReceiveBuffers;
use crate::error::Errno;
use crate::fetch::{Commands, NextSend};
use crate::node::NodeKey;
use crate::process::ProcessKey;
use crate::transaction::{TransactionKind, handle_of};

/// Names an early reservation. No other has the same name, on any device of the mount.
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

/// An early reservation, and the send that it is for.
#[derive(Debug)]
pub(crate) struct HeldReservation {
    destination: Destination,
    reservation: BufferReservation,
    clears: bool,
}

/// Where a send goes that has no objects, and what it takes there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Destination {
    receiver: ProcessKey,
    sizes: Sizes,
    is_oneway: bool,
}

impl Context {
    /// Reserves a range for the data of a send before the send is run. `None` if it may have none:
    /// the data is then fetched without a reservation.
    pub fn reserve_early(
        &mut self,
        process: ProcessKey,
        tid: u32,
        kind: TransactionKind,
        data: &BinderTransactionDataSg,
        memory: &mut dyn ReceiveBuffers,
    ) -> Option<EarlyReservation> {
        let destination = self.destination_of(process, tid, kind, data)?;
        let Destination { receiver, sizes, is_oneway } = destination;
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
        let key = self.sequences.next_reservation();
        self.early_reservations.insert(key, HeldReservation { destination, reservation, clears });
        Some(EarlyReservation { key, receiver, offset })
    }

    /// Gives up a reservation that no thread writes to any more.
    pub fn give_up_reservation(
        &mut self,
        key: EarlyReservationKey,
        memory: &mut dyn ReceiveBuffers,
    ) {
        let Some(HeldReservation { destination, reservation, clears }) =
            self.early_reservations.remove(&key)
        else {
            return;
        };
        let receiver = destination.receiver;
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
        while let Some(key) = commands.take_reservation() {
            self.give_up_reservation(key, memory);
        }
    }

    /// Whether the next command, a send, finds its data where it goes if that is in an early reservation. If not, the reservation is given up, and the command must be fetched again.
    pub(crate) fn is_in_place(
        &mut self,
        caller: &Caller,
        send: &NextSend,
        commands: &mut Commands,
        memory: &mut dyn ReceiveBuffers,
    ) -> bool {
        let Some(key) = commands.next_reservation() else { return true };
        let destination = self.destination_of(caller.process, caller.tid, send.kind, &send.data);
        let is_same = self
            .early_reservations
            .get(&key)
            .is_some_and(|held| Some(held.destination) == destination);
        if !is_same {
            self.give_up_reservations(commands, memory);
        }
        is_same
    }

    /// Takes a reservation as the place of its send, which [was found](Self::is_in_place) to go there.
    ///
    /// # Errors
    ///
    /// `EFAULT` if there is none, which does not happen.
    pub(crate) fn take_up_reservation(
        &mut self,
        key: EarlyReservationKey,
    ) -> Result<BufferReservation, Errno> {
        let HeldReservation { destination, reservation, .. } =
            self.early_reservations.remove(&key).ok_or(Errno::EFAULT)?;
        if let Some(mapping) = &mut self.processes[destination.receiver].mapping {
            mapping.settle_ahead(&reservation);
        }
        Ok(reservation)
    }

    fn destination_of(
        &self,
        process: ProcessKey,
        tid: u32,
        kind: TransactionKind,
        data: &BinderTransactionDataSg,
    ) -> Option<Destination> {
        let (receiver, target) = self.receiver_of(process, tid, kind, data)?;
        let label_len = target.map_or(0, |target| self.label_len(process, Some(target)));
        let sizes = Sizes::of(data, label_len).ok()?;
        let has_objects = sizes.offsets != 0 || data.buffers_size != 0;
        let is_oneway = kind == TransactionKind::Oneway;
        (!has_objects).then_some(Destination { receiver, sizes, is_oneway })
    }

    /// The process that receives a send, and by which node; none for a reply.
    fn receiver_of(
        &self,
        process: ProcessKey,
        tid: u32,
        kind: TransactionKind,
        data: &BinderTransactionDataSg,
    ) -> Option<(ProcessKey, Option<NodeKey>)> {
        match kind {
            TransactionKind::Call | TransactionKind::Oneway => {
                let target = self.resolve_target(process, handle_of(data)).ok()?;
                Some((target.owner, Some(target.node)))
            }
            TransactionKind::Reply => {
                let thread = *self.processes.get(process)?.threads.get(&tid)?;
                Some((self.caller_served_by(thread)?, None))
            }
        }
    }
}
