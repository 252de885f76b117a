//! The seam between the API and what carries it.
//!
//! The API knows two kinds of objects: those of this process ([`LocalObject`]) and those of others
//! ([`RemoteObject`]). A transport implements `RemoteObject` for its proxies and [`ObjectCodec`] for
//! its parcels, and hands what comes in to [`serve()`]. Everything else (interfaces, special
//! transactions, parcels, death links) is on this side of the seam and the same for all transports.
//!
//! # An outgoing call
//!
//! Generated code asks `SpIBinder::prepare_transact` for a parcel, which has the codec of the target's
//! transport; arguments are written through it, so that binders turn into that transport's names at
//! once. `submit_transact` hands the parcel to [`RemoteObject::submit_transact`], whose reply is a
//! parcel made by [`Parcel::received`].
//!
//! # An incoming call
//!
//! The transport makes the parcel ([`Parcel::received`]), finds the object and calls [`serve()`] with the
//! [`CallerIdentity`]; it gets the reply parcel back, made with the same codec, or the status to answer with.
//!
//! # Who owns which count, and when
//!
//! - A [`SpIBinder`] is an `Arc`: of the object itself, or of its transport's proxy. The proxy owns
//!   the transport's count (the driver's strong reference; what the session received of an address)
//!   and gives it back when it is dropped, once.
//! - A transport keeps objects of this process alive for its peers: the driver's dialogue and an RPC
//!   session's table each hold a clone of the `SpIBinder` from the first name given out to the peer's
//!   last release.
//! - A parcel owns a clone of every binder written into it and every file, so that nothing named in
//!   its bytes goes away before it is sent. [`ObjectCodec::name_binder`] may count; a parcel that is
//!   dropped without [`Parcel::mark_sent`] takes the counts back through [`ObjectCodec::unname`].
//! - A received parcel owns its files from the moment that it is made, and its buffer
//!   ([`ReceivedBytes`]), whose `Drop` frees it. A binder in it is looked up when it is first read, and
//!   the parcel keeps the result: read twice, it is counted once.

use std::any::Any;
use std::ffi::CStr;
use std::fmt;
use std::future::Future;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::sync::Arc;

pub mod driver;
pub mod forward;
pub mod rpc;
mod serve;

pub use crate::death::{DeathLinks, DeathNotice};
pub use crate::interface::{TransactionCode, TransactionFlags};
pub use crate::object::Object;
pub use crate::parcel::{
    BorrowedParcel, HeldObject, Parcel, ParcelObject, ReceivedBytes, StandIn, take_buffer,
};
pub use crate::proxy::ProxyFacts;
pub use crate::thread_state::{CallerIdentity, with_caller};
pub use parcel::rpc::Version as RpcVersion;
pub use parcel::token::{BuilderWord, TokenForm};
pub use serve::{serve, serve_parcel};

use crate::stability::Stability;
use crate::{SpIBinder, StatusCode};

/// How a transport's parcels look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireFormat {
    /// For the driver, with this word before descriptors of interfaces.
    Driver(BuilderWord),
    /// For RPC Binder.
    Rpc(RpcVersion),
}

/// The name of a binder on a transport, as it stands in a parcel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireName {
    /// The driver's: an object of this process.
    Binder {
        /// Its number, not zero.
        binder: u64,
        /// What goes with it.
        cookie: u64,
        /// `FLAT_BINDER_FLAG_*`.
        flags: u32,
    },
    /// The driver's: an object of another process.
    Handle(u32),
    /// RPC's address, options in the low half.
    Address(u64),
}

/// How a transport names objects in its parcels.
///
/// One per device or session; parcels hold it by `Arc`.
pub trait ObjectCodec: fmt::Debug + Send + Sync {
    /// How the parcels look.
    fn format(&self) -> WireFormat;

    /// Names `binder`, which is written into a parcel, and counts that if the transport must.
    ///
    /// A codec recognises its own proxies by `binder.as_remote()` and [`RemoteObject::as_any`].
    ///
    /// # Errors
    ///
    /// [`StatusCode::INVALID_OPERATION`] for a proxy of another transport: a [forwarding](forward) object is tried
    /// next.
    fn name_binder(&self, binder: &SpIBinder) -> Result<WireName, StatusCode>;

    /// Takes back what [`Self::name_binder`] counted: the parcel was not sent.
    fn unname(&self, binder: &SpIBinder, name: WireName) {
        let _ = (binder, name);
    }

    /// Finds the object of a name read from a received parcel; makes a proxy if need be.
    ///
    /// Called once for each place in a parcel.
    ///
    /// # Errors
    ///
    /// [`StatusCode::BAD_VALUE`] or [`StatusCode::DEAD_OBJECT`] for names without an object.
    fn find_binder(&self, name: WireName) -> Result<SpIBinder, StatusCode>;

    /// Whether files may travel.
    ///
    /// # Errors
    ///
    /// [`StatusCode::FDS_NOT_ALLOWED`] if not.
    fn allow_files(&self) -> Result<(), StatusCode> {
        Ok(())
    }

    /// The object that travels in a file's place, where files themselves cannot: one of this process, whose
    /// [name](Self::name_binder) is written with a mark.
    ///
    /// # Errors
    ///
    /// As [`Self::allow_files`], also for this file alone.
    fn stand_in_for(&self, file: BorrowedFd<'_>) -> Result<Option<SpIBinder>, StatusCode> {
        let _ = file;
        self.allow_files().map(|()| None)
    }

    /// Makes a file of the object that came in its place.
    ///
    /// # Errors
    ///
    /// The peer's, or [`StatusCode::BAD_TYPE`] if there is none.
    fn open_stand_in(&self, stand_in: &StandIn) -> Result<OwnedFd, StatusCode> {
        let _ = stand_in;
        Err(StatusCode::BAD_TYPE)
    }
}

/// A call under way, for callers that do not want to block a thread.
pub type PendingReply = Pin<Box<dyn Future<Output = Result<Parcel, StatusCode>> + Send>>;

/// What came of the wish to call without blocking.
pub enum CallStart {
    /// The call is under way.
    Pending(PendingReply),
    /// It ended at once.
    Finished(Result<Parcel, StatusCode>),
    /// The transport can only block: here is the parcel back.
    MustBlock(Parcel),
}

/// A transport's proxy of an object elsewhere.
///
/// There should be one proxy for each object as long as the process holds it, so that
/// [`Self::is_same`] and death links mean something.
pub trait RemoteObject: Any + fmt::Debug + Send + Sync {
    /// How parcels for this object are written.
    fn codec(&self) -> Arc<dyn ObjectCodec>;

    /// The facts of the object: embed a [`ProxyFacts`].
    fn facts(&self) -> &ProxyFacts;

    /// Sends a call, waits for the reply and returns it; for a one-way call an empty parcel, once the
    /// transport has taken the call. `data` is complete, interface token first.
    ///
    /// # Errors
    ///
    /// The transport's, or the status that the peer answered with.
    fn submit_transact(
        &self,
        code: TransactionCode,
        data: Parcel,
        flags: TransactionFlags,
    ) -> Result<Parcel, StatusCode>;

    /// As [`Self::submit_transact`], without a thread that waits, if the transport can.
    fn begin_transact(
        self: Arc<Self>,
        code: TransactionCode,
        data: Parcel,
        flags: TransactionFlags,
    ) -> CallStart {
        let _ = (code, flags);
        CallStart::MustBlock(data)
    }

    /// Tells `recipient` once when the object dies. Embed a [`DeathLinks`].
    ///
    /// # Errors
    ///
    /// [`StatusCode::DEAD_OBJECT`], or [`StatusCode::INVALID_OPERATION`] if the death cannot be told.
    fn link_to_death(&self, recipient: &Arc<DeathNotice>) -> Result<(), StatusCode>;

    /// Takes that back.
    ///
    /// # Errors
    ///
    /// [`StatusCode::DEAD_OBJECT`] or [`StatusCode::NAME_NOT_FOUND`].
    fn unlink_to_death(&self, recipient: &Arc<DeathNotice>) -> Result<(), StatusCode>;

    /// Whether the object is not known to be dead.
    fn is_alive(&self) -> bool;

    /// Whether `other` is a proxy of the same object. Different transports' never are.
    fn is_same(&self, other: &dyn RemoteObject) -> bool {
        std::ptr::addr_eq(std::ptr::from_ref(self), std::ptr::from_ref(other))
    }

    /// The object that is written into parcels instead of this one, if this one stands for others.
    fn stands_for(&self) -> Option<Arc<dyn RemoteObject>> {
        None
    }

    /// For the transport to recognise its own.
    fn as_any(&self) -> &dyn Any;

    /// A number for people to tell proxies apart: the handle, the address.
    fn number(&self) -> u64;
}

/// An object of this process, as transports and local callers call it.
pub trait LocalObject: Any + Send + Sync {
    /// The interface that it serves.
    fn descriptor(&self) -> &str;

    /// Serves a call of the interface: reads arguments from `data`, which stands behind the interface
    /// token, and writes results to `reply`.
    ///
    /// # Errors
    ///
    /// The status that the caller gets instead of a reply.
    fn on_transact(
        &self,
        code: TransactionCode,
        data: &BorrowedParcel<'_>,
        reply: &mut BorrowedParcel<'_>,
    ) -> Result<(), StatusCode>;

    /// Reads the interface token before a call's arguments.
    ///
    /// # Errors
    ///
    /// [`StatusCode::BAD_TYPE`] if it is not this object's interface that is meant.
    fn enforce_token(&self, data: &BorrowedParcel<'_>) -> Result<(), StatusCode> {
        data.enforce_interface(self.descriptor())
    }

    /// Tells people about itself.
    ///
    /// # Errors
    ///
    /// Whatever prevents it.
    fn dump(&self, out: &mut dyn io::Write, args: &[&CStr]) -> Result<(), StatusCode>;

    /// The object that extends this one.
    fn extension(&self) -> Option<SpIBinder>;

    /// How stable its interface is.
    fn stability(&self) -> Stability;

    /// Whether callers are to show their security context.
    fn is_requesting_sid(&self) -> bool;

    /// Sets that.
    fn set_requesting_sid(&self, enable: bool);

    /// The proxy of another transport that this object stands for, if it does: see [`forward`].
    fn forwards(&self) -> Option<&Arc<dyn RemoteObject>> {
        None
    }

    /// For getting at the service behind it.
    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}
