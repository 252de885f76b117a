//! What the core asks of its front end during a call: access to the memory of clients, and to their
//! files.

use alloc::vec::Vec;
use core::ops::Range;

use binder_uapi::BinderTransactionDataSg;

use crate::descriptors::CapturedFile;
use crate::early_reservation::EarlyReservationKey;
use crate::error::Errno;
use crate::process::ProcessKey;
use crate::transaction::TransactionKind;

/// An address that a client named; nothing is known of it until a copy succeeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClaimedAddr(pub u64);

/// A client's memory could not be read or written at the address it named.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the address is not mapped in the client")]
pub struct CopyFault;

/// Where a process mapped its receive buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MappingArea {
    /// First address, as the process sees it.
    pub base: u64,
    /// Length in bytes, as the process asked for it.
    pub len_bytes: u64,
}

/// The memory of the thread that makes a call. It is read before the call comes into the driver, so that
/// only that thread waits for it.
pub trait CallerMemory {
    /// Fills `into` from `address`, or faults having written nothing that counts.
    ///
    /// # Errors
    ///
    /// [`CopyFault`] if any byte of the range cannot be read.
    fn read(&mut self, address: ClaimedAddr, into: &mut [u8]) -> Result<(), CopyFault>;

    /// Makes `bytes` the `len` bytes at `address`, in the memory it has if that is enough.
    ///
    /// # Errors
    ///
    /// [`CopyFault`] if any byte of the range cannot be read; what `bytes` has then does not count.
    fn read_whole(
        &mut self,
        address: ClaimedAddr,
        len: usize,
        bytes: &mut Vec<u8>,
    ) -> Result<(), CopyFault> {
        bytes.clear();
        bytes.resize(len, 0);
        self.read(address, bytes)
    }

    /// Fills two places, the first and then the second. Of what is read at once, the second costs nothing.
    ///
    /// # Errors
    ///
    /// Which is the first that cannot be filled: 0 or 1.
    fn read_two(&mut self, places: [(ClaimedAddr, &mut [u8]); 2]) -> Result<(), usize> {
        for (at, (address, into)) in places.into_iter().enumerate() {
            self.read(address, into).map_err(|CopyFault| at)?;
        }
        Ok(())
    }

    /// Reads the data of a send straight into a range that [is
    /// reserved](crate::Context::reserve_early) for it now. `None` where there is none.
    fn read_into_reservation(
        &mut self,
        kind: TransactionKind,
        data: &BinderTransactionDataSg,
    ) -> Option<(EarlyReservationKey, Result<(), CopyFault>)> {
        let _ = (kind, data);
        None
    }
}

/// Access to the receive buffers of clients, and to their files, during one call into the driver.
///
/// Their other memory is not accessible here: an access may take its time, and all callers would wait.
/// Offsets into a receive buffer come from the core's own allocator and lie within the length that it was
/// [told](crate::Context::note_mapping), and within 4 MiB.
pub trait ReceiveBuffers {
    /// Puts `bytes` at `offset` of `to`'s receive buffer.
    ///
    /// # Errors
    ///
    /// [`CopyFault`] if the buffer cannot be accessed.
    fn store(&mut self, to: ProcessKey, offset: u32, bytes: &[u8]) -> Result<(), CopyFault>;

    /// Makes `len` bytes at `offset`, complete by now, visible to `to`.
    ///
    /// # Errors
    ///
    /// [`CopyFault`] if the buffer cannot be accessed.
    fn publish(&mut self, to: ProcessKey, offset: u32, len: u32) -> Result<(), CopyFault>;

    /// Overwrites `len` bytes at `offset` of `to`'s receive buffer with zeros, visibly at once.
    fn clear(&mut self, to: ProcessKey, offset: u32, len: u32);

    /// Gives back the memory of these bytes of `of`'s receive buffer, which are whole pages. They read as zeros until
    /// something is put there.
    fn release(&mut self, of: ProcessKey, bytes: Range<u32>);

    /// Takes hold of the file behind descriptor `fd` of `from`, which stays open also when its
    /// process closes it; what that takes, `payer` pays for.
    ///
    /// # Errors
    ///
    /// `EBADF` when there is none, `EPERM` when it may not be taken, `ENOMEM` when no more can be.
    fn capture_file(
        &mut self,
        from: ProcessKey,
        fd: u32,
        payer: ProcessKey,
    ) -> Result<CapturedFile, Errno>;
}

/// No memory at all, for tests that need none.
#[cfg(test)]
pub(crate) struct Nowhere;

#[cfg(test)]
impl ReceiveBuffers for Nowhere {
    fn store(&mut self, _: ProcessKey, _: u32, _: &[u8]) -> Result<(), CopyFault> {
        Err(CopyFault)
    }

    fn publish(&mut self, _: ProcessKey, _: u32, _: u32) -> Result<(), CopyFault> {
        Err(CopyFault)
    }

    fn clear(&mut self, _: ProcessKey, _: u32, _: u32) {}

    fn release(&mut self, _: ProcessKey, _: Range<u32>) {}

    fn capture_file(
        &mut self,
        _: ProcessKey,
        _: u32,
        _: ProcessKey,
    ) -> Result<CapturedFile, Errno> {
        Err(Errno::EBADF)
    }
}
