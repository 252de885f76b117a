//! A conversation in which calls may come while one waits for a reply.

use binder_uapi::{
    BC_FREE_BUFFER, BC_REPLY, BC_TRANSACTION, BinderTransactionData, TF_ACCEPT_FDS, TF_ONE_WAY,
};

use crate::error::BenchError;
use crate::session::{DriverSession, ReceivedReturn, transaction};

/// A thread that calls, and may be called meanwhile.
pub(super) trait Party {
    /// Its conversation with the driver.
    fn session(&mut self) -> &mut DriverSession;

    /// Handles returns other than the awaited one.
    ///
    /// # Errors
    ///
    /// If that must never come.
    fn handle(&mut self, event: ReceivedReturn) -> Result<(), BenchError>;

    /// Calls and waits for the reply's bytes. The inner error is the return by which the call was
    /// refused.
    ///
    /// # Errors
    ///
    /// [`BenchError`] of the driver, or of what was handled meanwhile.
    fn call(&mut self, outgoing: Outgoing<'_>) -> Result<Result<Vec<u8>, u32>, BenchError> {
        let call = BinderTransactionData { flags: TF_ACCEPT_FDS, ..outgoing.to_transaction() };
        self.session().push(BC_TRANSACTION, &call);
        loop {
            match self.session().next_event()? {
                ReceivedReturn::Complete => {}
                ReceivedReturn::Reply(reply) => {
                    let mut data = Vec::new();
                    self.session().copy(&reply, &mut data)?;
                    self.session().push(BC_FREE_BUFFER, &reply.buffer);
                    return Ok(Ok(data));
                }
                ReceivedReturn::Refused(code) => return Ok(Err(code)),
                other => self.handle(other)?,
            }
        }
    }

    /// Sends a one-way and tells whether it was accepted.
    ///
    /// # Errors
    ///
    /// [`BenchError`] of the driver.
    fn send(&mut self, outgoing: Outgoing<'_>) -> Result<bool, BenchError> {
        let oneway = BinderTransactionData { flags: TF_ONE_WAY, ..outgoing.to_transaction() };
        self.session().push(BC_TRANSACTION, &oneway);
        self.has_completed()
    }

    /// Frees the buffer of a call and replies; a caller that is gone misses nothing.
    ///
    /// # Errors
    ///
    /// [`BenchError`] of the driver.
    fn reply(
        &mut self,
        call: &BinderTransactionData,
        data: &[u8],
        offsets: &[u64],
    ) -> Result<(), BenchError> {
        self.session().push(BC_FREE_BUFFER, &call.buffer);
        self.session().push(BC_REPLY, &transaction(0, data, offsets));
        self.has_completed().map(|_| ())
    }

    /// Waits until what was sent is accepted or refused. What earlier commands brought comes first.
    ///
    /// # Errors
    ///
    /// [`BenchError`] of the driver, or of what was handled meanwhile.
    fn has_completed(&mut self) -> Result<bool, BenchError> {
        loop {
            match self.session().next_event()? {
                ReceivedReturn::Complete => return Ok(true),
                ReceivedReturn::Refused(_) => return Ok(false),
                other => self.handle(other)?,
            }
        }
    }
}

/// A message to be sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outgoing<'a> {
    pub(super) handle: u32,
    pub(super) code: u32,
    pub(super) data: &'a [u8],
    /// Where in the data objects are.
    pub(super) offsets: &'a [u64],
}

impl Outgoing<'_> {
    fn to_transaction(self) -> BinderTransactionData {
        let target = self.handle.into();
        BinderTransactionData { target, ..transaction(self.code, self.data, self.offsets) }
    }
}
