//! Objects of one transport that another gives away.
//!
//! A proxy belongs to its transport and means nothing to another. Written into a parcel of another it is exported as an
//! object of this process, which makes every call of it a call of the proxy: a forwarding object. One stands for
//! one proxy, however often it is given away, and lives as long as a process has it. When it comes back to this process it is the
//! proxy again.
//!
//! The interfaces are not known here. A parcel is [rewritten](rewrite) by the list of its objects, so both transports must
//! have one: the driver, and RPC from version 2 on.

use std::any::Any;
use std::collections::HashMap;
use std::ffi::CStr;
use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use parcel::{Reader, layout, token};

use super::{
    BorrowedParcel, LocalObject, Parcel, RemoteObject, RpcVersion, TransactionCode,
    TransactionFlags, WireFormat,
};
use crate::interface::{
    FIRST_CALL_TRANSACTION, FLAG_CLEAR_BUF, FLAG_ONEWAY, LAST_CALL_TRANSACTION,
};
use crate::{SpIBinder, Stability, StatusCode, ThreadState};

/// An object that makes calls of it calls of a proxy.
#[derive(Debug)]
struct ForwardingObject {
    target: Arc<dyn RemoteObject>,
}

/// The forwarding objects of this process, by where their proxies are.
static FORWARDING: LazyLock<Mutex<HashMap<usize, Weak<ForwardingObject>>>> =
    LazyLock::new(Mutex::default);

fn forwarding() -> MutexGuard<'static, HashMap<usize, Weak<ForwardingObject>>> {
    // Nothing ends and nothing panics under the lock.
    FORWARDING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn place_of(target: &Arc<dyn RemoteObject>) -> usize {
    Arc::as_ptr(target).addr()
}

/// Whether the parcels of a transport say where all their objects are.
fn lists_objects(format: WireFormat) -> bool {
    match format {
        WireFormat::Driver(_) | WireFormat::Rpc(RpcVersion::V2) => true,
        WireFormat::Rpc(RpcVersion::V0 | RpcVersion::V1) => false,
    }
}

/// Whether objects take as many bytes in both.
fn are_alike(one: WireFormat, other: WireFormat) -> bool {
    match (one, other) {
        (WireFormat::Driver(_), WireFormat::Driver(_))
        | (WireFormat::Rpc(_), WireFormat::Rpc(_)) => true,
        (WireFormat::Driver(_), WireFormat::Rpc(_))
        | (WireFormat::Rpc(_), WireFormat::Driver(_)) => false,
    }
}

/// Returns the object that is given away over a transport of that format instead of another's proxy.
///
/// # Errors
///
/// [`StatusCode::INVALID_OPERATION`] if parcels of either do not say where their objects are.
pub(crate) fn export(
    target: &Arc<dyn RemoteObject>,
    format: WireFormat,
) -> Result<Arc<dyn LocalObject>, StatusCode> {
    if !lists_objects(format) || !lists_objects(target.codec().format()) {
        return Err(StatusCode::INVALID_OPERATION);
    }
    let mut forwarding = forwarding();
    let known = forwarding.get(&place_of(target)).and_then(Weak::upgrade);
    let object = known.unwrap_or_else(|| {
        let object = Arc::new(ForwardingObject { target: Arc::clone(target) });
        forwarding.insert(place_of(target), Arc::downgrade(&object));
        object
    });
    Ok(object)
}

impl Drop for ForwardingObject {
    fn drop(&mut self) {
        let mut forwarding = forwarding();
        let place = place_of(&self.target);
        // Another may stand for the proxy since this one began to end.
        if forwarding.get(&place).is_some_and(|object| object.strong_count() == 0) {
            forwarding.remove(&place);
        }
    }
}

impl LocalObject for ForwardingObject {
    fn descriptor(&self) -> &str {
        self.target.facts().descriptor().unwrap_or_default()
    }

    fn on_transact(
        &self,
        _: TransactionCode,
        _: &BorrowedParcel<'_>,
        _: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode> {
        // Calls are forwarded before they are looked into.
        Err(StatusCode::INVALID_OPERATION)
    }

    fn dump(&self, _: &mut dyn io::Write, _: &[&CStr]) -> Result<(), StatusCode> {
        Err(StatusCode::INVALID_OPERATION)
    }

    fn extension(&self) -> Option<SpIBinder> {
        None
    }

    fn stability(&self) -> Stability {
        self.target.facts().stability()
    }

    fn is_requesting_sid(&self) -> bool {
        false
    }

    fn set_requesting_sid(&self, _: bool) {}

    fn forwards(&self) -> Option<&Arc<dyn RemoteObject>> {
        Some(&self.target)
    }

    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

/// Makes a call that has come in a call of a proxy, and returns the reply in the form in which the call came.
pub(super) fn forward(
    target: &Arc<dyn RemoteObject>,
    code: TransactionCode,
    data: Parcel,
    flags: TransactionFlags,
) -> Result<Parcel, StatusCode> {
    let back = data.codec().cloned().ok_or(StatusCode::INVALID_OPERATION)?;
    let mut reply = Parcel::for_codec(back);
    let mut sent = Parcel::for_codec(target.codec());
    if flags & FLAG_CLEAR_BUF != 0 {
        sent.mark_sensitive();
        reply.mark_sensitive();
    }
    let has_token = (FIRST_CALL_TRANSACTION..=LAST_CALL_TRANSACTION).contains(&code);
    let head = if has_token { ParcelStart::Token } else { ParcelStart::None };
    rewrite(&data, &mut sent, head)?;
    drop(data);
    sent.set_deadline(ThreadState::deadline());
    sent.set_user(ThreadState::forwarded_as());
    let answer = target.submit_transact(code, sent, flags)?;
    if flags & FLAG_ONEWAY == 0 {
        rewrite(&answer, &mut reply, ParcelStart::None)?;
        reply.set_data_position(0)?;
    }
    Ok(reply)
}

/// What a parcel begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParcelStart {
    /// The token of an interface, which transports write differently.
    Token,
    /// Nothing that transports know of.
    None,
}

/// Writes all of a parcel into one of another transport, with its objects in that one's form.
///
/// # Errors
///
/// [`StatusCode::BAD_TYPE`] if either does not say where its objects are, if objects are of another length there and a
/// length in the parcel may count them, or if it has an object that is none and not in the list. Nothing is
/// guessed; the log has the reason. Else whatever keeps an object from being written: descriptors may not travel there.
pub fn rewrite(
    from: &BorrowedParcel<'_>,
    to: &mut BorrowedParcel<'_>,
    head: ParcelStart,
) -> Result<(), StatusCode> {
    let formats = (from.format(), to.format());
    if !lists_objects(formats.0) || !lists_objects(formats.1) {
        return Err(refuse("its transport does not say where its objects are", 0));
    }
    let start = match head {
        ParcelStart::Token if formats.0 != formats.1 => rewrite_token(from, to)?,
        ParcelStart::Token | ParcelStart::None => 0,
    };
    let objects: Vec<(usize, bool)> =
        from.objects().iter().map(|object| (object.offset, object.held.is_file())).collect();
    if !are_alike(formats.0, formats.1) {
        check_lengths(from, start, &objects)?;
    }
    let mut done = start;
    for (offset, is_file) in objects {
        let between = from.bytes().get(done..offset).ok_or(StatusCode::BAD_VALUE)?;
        to.write_with(|writer| writer.raw(between));
        from.set_data_position(i32::try_from(offset).map_err(|_| StatusCode::BAD_VALUE)?)?;
        if is_file {
            to.write_file(from.read_file()?.as_fd())?;
        } else {
            let binder = from.read_bare_binder()?;
            to.write_bare_binder(binder.as_ref())?;
        }
        done = usize::try_from(from.get_data_position()).map_err(|_| StatusCode::BAD_VALUE)?;
    }
    to.write_with(|writer| writer.raw(&from.bytes()[done..]));
    Ok(())
}

/// Writes the token of an interface anew, and returns where it ended.
fn rewrite_token(
    from: &BorrowedParcel<'_>,
    to: &mut BorrowedParcel<'_>,
) -> Result<usize, StatusCode> {
    let mut reader = Reader::at(from.bytes(), 0);
    let token = match from.format() {
        WireFormat::Driver(_) => token::read_driver(&mut reader),
        WireFormat::Rpc(_) => token::read_rpc(&mut reader),
    };
    let token = token.map_err(|_| refuse("it begins with no interface that we know", 0))?;
    to.write_interface_token(&token.descriptor)?;
    Ok(reader.position())
}

/// Refuses a parcel whose objects must stay as long as they are, or are not all known.
fn check_lengths(
    from: &BorrowedParcel<'_>,
    start: usize,
    objects: &[(usize, bool)],
) -> Result<(), StatusCode> {
    let offsets: Vec<usize> = objects.iter().map(|object| object.0).collect();
    if let Some(at) = layout::length_around(from.bytes(), start, &offsets) {
        return Err(refuse("a length in it may count the bytes of an object", at));
    }
    if let WireFormat::Driver(_) = from.format()
        && let Some(at) = layout::unlisted_null(from.bytes(), &offsets)
    {
        return Err(refuse("an object in it is none, and not listed", at));
    }
    Ok(())
}

fn refuse(reason: &str, at: usize) -> StatusCode {
    tracing::warn!(reason, at, "a parcel cannot be sent over another transport");
    StatusCode::BAD_TYPE
}
