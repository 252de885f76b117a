//! The memory of a ring's call, where it lies in the slot.
//!
//! Nothing here waits for a client, so any thread may do it. Memory that is not in the slot is read from the client itself,
//! as for every other call.

use std::sync::Arc;

use binder_core::{CallerMemory, ClaimedAddr, CopyFault, EarlyReservationKey, TransactionKind};
use binder_frontend::{AccessEnd, AccessRequest, MemoryAccess};
use binder_uapi::BinderTransactionDataSg;

use super::file::{RingCallId, SlotData};
use crate::client_file::ClientFile;
use crate::memory_op::{MemoryAccessor, ReservedBuffer, guarded};
use crate::shared::SessionShared;

/// A client's memory, as far as it lies in a slot.
struct SlotMemory<'r, R> {
    data: SlotData<'r>,
    /// Memory was asked for that does not lie there.
    has_missed: bool,
    /// Makes a reservation for the data of a send.
    reserve: R,
}

impl<R> CallerMemory for SlotMemory<'_, R>
where
    R: FnMut(TransactionKind, &BinderTransactionDataSg) -> Option<ReservedBuffer>,
{
    fn read(&mut self, address: ClaimedAddr, into: &mut [u8]) -> Result<(), CopyFault> {
        let SlotData { memory, slot, .. } = self.data;
        match self.data.find(address.0, into.len()) {
            Some(at) => {
                memory.segment().read_data(slot, at, into);
                Ok(())
            }
            None => {
                self.has_missed = true;
                Err(CopyFault)
            }
        }
    }

    fn read_two(&mut self, places: [(ClaimedAddr, &mut [u8]); 2]) -> Result<(), usize> {
        for (at, (address, into)) in places.into_iter().enumerate() {
            self.read(address, into).map_err(|CopyFault| at)?;
        }
        Ok(())
    }

    fn read_whole(
        &mut self,
        address: ClaimedAddr,
        len: usize,
        bytes: &mut Vec<u8>,
    ) -> Result<(), CopyFault> {
        // Found before there is memory for it: the length is a claim.
        if self.data.find(address.0, len).is_none() {
            self.has_missed = true;
            return Err(CopyFault);
        }
        bytes.clear();
        bytes.resize(len, 0);
        self.read(address, bytes)
    }

    fn read_into_reservation(
        &mut self,
        kind: TransactionKind,
        data: &BinderTransactionDataSg,
    ) -> Option<(EarlyReservationKey, Result<(), CopyFault>)> {
        let header = &data.transaction_data;
        let len = usize::try_from(header.data_size).ok()?;
        let at = self.data.find(header.buffer, len)?;
        let SlotData { memory, slot, .. } = self.data;
        let ReservedBuffer { reservation, buffer, offset } = (self.reserve)(kind, data)?;
        let copied = memory.copy_data((slot, at), len, &buffer, offset);
        Some((reservation, copied.map_err(|_| CopyFault)))
    }
}

impl SessionShared {
    /// Makes an access for a call of a ring, if all that it needs lies in the slot. Says whether it did.
    pub(crate) fn access_in_slot(
        &self,
        file: &Arc<ClientFile>,
        access: &mut AccessRequest,
        by: MemoryAccessor,
    ) -> bool {
        let Some(id) = RingCallId::of_unique(access.request.unique) else { return false };
        let Some(ring) = file.ring().filter(|_| !access.can_wait) else { return false };
        let request = access.request;
        let has_missed = match &mut access.access {
            MemoryAccess::Commands(call, commands) => {
                let reserve = |kind, data: &_| match by {
                    MemoryAccessor::Reader => self.reserve_early(file, &request, kind, data),
                    // It would put what else is to be done in line, where it does not look.
                    MemoryAccessor::Pool => None,
                };
                let Some(data) = ring.data_of(id) else { return false };
                let mut memory = SlotMemory { data, has_missed: false, reserve };
                access.end = guarded(&request, || {
                    commands.fetch_next(call, &mut memory);
                    AccessEnd::Done
                });
                memory.has_missed && access.end == AccessEnd::Done
            }
            // Returns that are not carried have no room in the slot.
            MemoryAccess::CopyOut(_) | MemoryAccess::Turn(..) | MemoryAccess::Nothing => true,
        };
        if has_missed {
            // All is fetched once more.
            self.give_up_reserved(file, access);
        }
        !has_missed
    }
}
