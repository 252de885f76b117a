//! What a service manager calls back.

use crate::binder_impl::{BorrowedParcel, FIRST_CALL_TRANSACTION, Remotable, TransactionCode};
use crate::{SpIBinder, StatusCode};

/// `android.os.IServiceCallback`: told when a service is registered.
pub(super) struct ServiceCallback(pub(super) Box<dyn Fn(SpIBinder) + Send + Sync>);

impl Remotable for ServiceCallback {
    fn get_descriptor() -> &'static str {
        "android.os.IServiceCallback"
    }

    fn on_transact(
        &self,
        code: TransactionCode,
        data: &BorrowedParcel<'_>,
        _reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        if code != FIRST_CALL_TRANSACTION {
            return Err(StatusCode::UNKNOWN_TRANSACTION);
        }
        let _name: String = data.read()?;
        (self.0)(data.read()?);
        Ok(())
    }
}

/// `android.os.IClientCallback`: told whether the service that it was registered for has clients.
pub(super) struct ClientCallback(pub(super) Box<dyn Fn(bool) + Send + Sync>);

impl Remotable for ClientCallback {
    fn get_descriptor() -> &'static str {
        "android.os.IClientCallback"
    }

    fn on_transact(
        &self,
        code: TransactionCode,
        data: &BorrowedParcel<'_>,
        _reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        if code != FIRST_CALL_TRANSACTION {
            return Err(StatusCode::UNKNOWN_TRANSACTION);
        }
        let _service: SpIBinder = data.read()?;
        (self.0)(data.read()?);
        Ok(())
    }
}
