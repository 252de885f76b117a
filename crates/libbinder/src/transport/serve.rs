//! Calls of objects of this process, from wherever.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::{CallerIdentity, LocalObject, TransactionCode, TransactionFlags, forward, with_caller};
use crate::StatusCode;
use crate::binder_impl::IBinderInternal as _;
use crate::interface::{
    DEBUG_PID_TRANSACTION, DUMP_TRANSACTION, EXTENSION_TRANSACTION, FIRST_CALL_TRANSACTION,
    FLAG_CLEAR_BUF, FLAG_ONEWAY, INTERFACE_TRANSACTION, LAST_CALL_TRANSACTION, PING_TRANSACTION,
    SHELL_COMMAND_TRANSACTION, SYSPROPS_TRANSACTION,
};
use crate::parcel::{BorrowedParcel, Parcel};
use crate::thread_state::can_serve;

/// Serves a call that a transport received, and returns the reply in the call's own format.
///
/// # Errors
///
/// The status to answer with instead of a reply. A service that panics answers
/// [`StatusCode::UNKNOWN_ERROR`].
pub fn serve(
    target: &Arc<dyn LocalObject>,
    caller: CallerIdentity,
    code: TransactionCode,
    data: Parcel,
    flags: TransactionFlags,
) -> Result<Parcel, StatusCode> {
    if !can_serve() {
        return Err(StatusCode::INVALID_OPERATION);
    }
    with_caller(caller, || serve_parcel(target, code, data, flags))
}

/// As [`serve`], for the caller of the call that this thread is serving, or for this process.
///
/// # Errors
///
/// As [`serve`].
pub fn serve_parcel(
    target: &Arc<dyn LocalObject>,
    code: TransactionCode,
    mut data: Parcel,
    flags: TransactionFlags,
) -> Result<Parcel, StatusCode> {
    if let Some(remote) = target.forwards() {
        return forward::forward(remote, code, data, flags);
    }
    let mut reply = data.codec().map_or_else(Parcel::new, |codec| Parcel::for_codec(codec.clone()));
    if flags & FLAG_CLEAR_BUF != 0 {
        data.mark_sensitive();
        reply.mark_sensitive();
    }
    data.set_data_position(0)?;
    let served =
        catch_unwind(AssertUnwindSafe(|| transact(&**target, code, &data, reply.borrowed())));
    served.unwrap_or_else(|_| {
        tracing::error!(descriptor = target.descriptor(), code, "a service panicked");
        Err(StatusCode::UNKNOWN_ERROR)
    })?;
    reply.set_data_position(0)?;
    Ok(reply)
}

fn transact(
    target: &dyn LocalObject,
    code: TransactionCode,
    data: &BorrowedParcel<'_>,
    reply: &mut BorrowedParcel<'_>,
) -> Result<(), StatusCode> {
    match code {
        FIRST_CALL_TRANSACTION..=LAST_CALL_TRANSACTION => {
            target.enforce_token(data)?;
            target.on_transact(code, data, reply)
        }
        PING_TRANSACTION | SYSPROPS_TRANSACTION => Ok(()),
        INTERFACE_TRANSACTION => {
            Ok(reply.write_with(|writer| writer.string16(target.descriptor()))?)
        }
        EXTENSION_TRANSACTION => reply.write_binder(target.extension().as_ref()),
        DEBUG_PID_TRANSACTION => {
            reply.write_with(|writer| writer.i32(rustix::process::getpid().as_raw_pid()));
            Ok(())
        }
        DUMP_TRANSACTION => dump(target, data),
        SHELL_COMMAND_TRANSACTION => match target.on_transact(code, data, reply) {
            Err(StatusCode::UNKNOWN_TRANSACTION) => refuse_command(data),
            done => done,
        },
        _ => target.on_transact(code, data, reply),
    }
}

/// Serves `_CMD` for an object that takes no commands, as Android's does: the sender of the command hears that its
/// result is [`StatusCode::INVALID_OPERATION`].
fn refuse_command(data: &BorrowedParcel<'_>) -> Result<(), StatusCode> {
    data.set_data_position(0)?;
    for _stream in ["in", "out", "err"] {
        data.read_file()?;
    }
    let count = data.read_with(parcel::Reader::i32)?;
    for _ in 0..count {
        data.read_string16()?;
    }
    let _opener = data.read_binder()?;
    let Some(receiver) = data.read_binder()? else { return Ok(()) };
    // Not asked for its interface, for which it might never answer.
    let mut result =
        receiver.as_remote().map_or_else(Parcel::new, |it| Parcel::for_codec(it.codec()));
    result.write_interface_token("com.android.internal.os.IResultReceiver")?;
    result.write(&StatusCode::INVALID_OPERATION.code())?;
    receiver.submit_transact(FIRST_CALL_TRANSACTION, result, FLAG_ONEWAY).map(drop)
}

/// Serves `_DMP`: a file to write to, and arguments.
fn dump(target: &dyn LocalObject, data: &BorrowedParcel<'_>) -> Result<(), StatusCode> {
    let mut out = std::fs::File::from(data.read_file()?);
    let count = data.read_with(parcel::Reader::i32)?;
    let mut args = Vec::new();
    for _ in 0..count {
        let arg = data.read_string16()?.ok_or(StatusCode::UNEXPECTED_NULL)?;
        args.push(std::ffi::CString::new(arg).map_err(|_| StatusCode::BAD_VALUE)?);
    }
    let args: Vec<&std::ffi::CStr> = args.iter().map(AsRef::as_ref).collect();
    target.dump(&mut out, &args)
}
