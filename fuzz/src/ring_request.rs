//! Bytes as what a client has put into a slot of its ring.
//!
//! The input is the caller's struct, the windows that the client claims, and the data of the slot.

use binder_core::{
    CallerMemory, ClaimedAddr, Commands, CopyFault, EarlyReservationKey, TransactionKind,
};
use binder_ring::layout::DATA_BYTES;
use binder_ring::{MemoryWindow, MemoryWindows};
use binder_uapi::{BinderTransactionDataSg, BinderWriteRead};

const CALL_BYTES: usize = size_of::<BinderWriteRead>();
const CLAIMS_BYTES: usize = MemoryWindows::COUNT * 16;

/// A client's memory, as far as it lies in the slot.
struct Slot<'a> {
    windows: MemoryWindows,
    data: &'a [u8],
}

impl Slot<'_> {
    fn find(&self, address: u64, len: usize) -> Option<Vec<u8>> {
        let at = self.windows.find(address, len, DATA_BYTES)?;
        assert!(at <= DATA_BYTES && len <= DATA_BYTES - at, "{len} bytes at {at} exceed a slot");
        // What was not written is 0.
        let there = self.data.get(at.min(self.data.len())..).unwrap_or_default();
        let mut found = vec![0; len];
        let written = there.len().min(len);
        found[..written].copy_from_slice(&there[..written]);
        Some(found)
    }
}

impl CallerMemory for Slot<'_> {
    fn read(&mut self, address: ClaimedAddr, into: &mut [u8]) -> Result<(), CopyFault> {
        let found = self.find(address.0, into.len()).ok_or(CopyFault)?;
        into.copy_from_slice(&found);
        Ok(())
    }

    fn read_into_reservation(
        &mut self,
        _: TransactionKind,
        _: &BinderTransactionDataSg,
    ) -> Option<(EarlyReservationKey, Result<(), CopyFault>)> {
        None
    }
}

/// Fetches the commands of the call, as the driver does, and looks for more where the client says it is.
///
/// # Panics
///
/// Panics if that does, or finds something beyond the slot.
pub fn check(bytes: &[u8]) {
    let Some((head, data)) = bytes.split_at_checked(CALL_BYTES + CLAIMS_BYTES) else { return };
    let mut words = head
        .chunks_exact(8)
        .map(|word| u64::from_ne_bytes(word.try_into().expect("a chunk has eight bytes")));
    let mut next = || words.next().expect("the head has as many");
    let call = BinderWriteRead {
        write_size: next(),
        write_consumed: next(),
        write_buffer: next(),
        read_size: next(),
        read_consumed: next(),
        read_buffer: next(),
    };
    let claims = [(); MemoryWindows::COUNT].map(|()| MemoryWindow { address: next(), len: next() });
    let data = &data[..data.len().min(DATA_BYTES)];
    let mut slot = Slot { windows: MemoryWindows::of_claims(claims), data };
    let _ = Commands::fetch(&call, &mut slot);
    for (window, at) in slot.windows.iter() {
        for address in [window.address, window.address.wrapping_add(window.len)] {
            for len in [0, 1, 8, DATA_BYTES, usize::MAX] {
                slot.find(address.wrapping_sub(at as u64 & 7), len.min(DATA_BYTES + 1));
                let _ = slot.windows.find(address, len, DATA_BYTES);
            }
        }
    }
    // What an honest client makes of the same bytes, the driver finds.
    let address = call.write_buffer;
    if address.checked_add(data.len() as u64).is_some() {
        slot.windows = MemoryWindows::of_commands(address, data, DATA_BYTES);
        for (window, at) in slot.windows.iter() {
            let len = usize::try_from(window.len).expect("it has room in a slot");
            assert!(at + len <= DATA_BYTES, "{window:?} at {at}");
            let is_there = window.address.checked_add(window.len).is_none()
                || slot.windows.find(window.address, len, DATA_BYTES).is_some();
            assert!(is_there, "{window:?} is not found");
        }
    }
}
