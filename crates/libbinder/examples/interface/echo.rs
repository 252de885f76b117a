//! What the AIDL compiler makes of `interface IEcho { String echo(String text); int callerPid(); }`,
//! by hand, so that the example builds without it.

use binder::binder_impl::{
    Binder, BorrowedParcel, Deserialize, FIRST_CALL_TRANSACTION, IBinderInternal as _, Parcel,
    Serialize, TransactionCode,
};
use binder::{Interface, Result, Status, StatusCode};

/// Answers with what it hears.
pub(crate) trait IEcho: Interface + Send {
    /// The text, back.
    fn echo(&self, text: &str) -> Result<String>;
    /// The process that calls.
    fn caller_pid(&self) -> Result<i32>;
}

binder::declare_binder_interface! {
    IEcho["com.example.IEcho"] { native: BnEcho(on_transact), proxy: BpEcho {} }
}

const ECHO: TransactionCode = FIRST_CALL_TRANSACTION;
const CALLER_PID: TransactionCode = FIRST_CALL_TRANSACTION + 1;

impl IEcho for Binder<BnEcho> {
    fn echo(&self, text: &str) -> Result<String> {
        self.0.echo(text)
    }

    fn caller_pid(&self) -> Result<i32> {
        self.0.caller_pid()
    }
}

impl IEcho for BpEcho {
    fn echo(&self, text: &str) -> Result<String> {
        result_of(&self.binder.transact(ECHO, 0, |data| data.write(text))?)
    }

    fn caller_pid(&self) -> Result<i32> {
        result_of(&self.binder.transact(CALLER_PID, 0, |_| Ok(()))?)
    }
}

fn on_transact(
    service: &dyn IEcho,
    code: TransactionCode,
    data: &BorrowedParcel<'_>,
    reply: &mut BorrowedParcel<'_>,
) -> std::result::Result<(), StatusCode> {
    match code {
        ECHO => answer(reply, service.echo(&data.read::<String>()?)),
        CALLER_PID => answer(reply, service.caller_pid()),
        _ => Err(StatusCode::UNKNOWN_TRANSACTION),
    }
}

/// Writes how it went, and the result if it went well.
fn answer(
    reply: &mut BorrowedParcel<'_>,
    result: Result<impl Serialize>,
) -> std::result::Result<(), StatusCode> {
    match result {
        Ok(value) => reply.write(&Status::ok()).and_then(|()| reply.write(&value)),
        Err(status) => reply.write(&status),
    }
}

/// Reads the same.
fn result_of<T: Deserialize>(reply: &Parcel) -> Result<T> {
    let status: Status = reply.read()?;
    if status.is_ok() { Ok(reply.read()?) } else { Err(status) }
}
