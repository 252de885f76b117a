//! Android's Binder API for Rust, on any Linux.
//!
//! It has the names and the behaviour of the crate `binder` of Android's sources, so that services
//! written for that, and the output of the AIDL compiler (`aidl --lang=rust`), build and run here. It
//! calls services in the same process, over a binder device, and over sockets.
//!
//! An interface, a service of it and a client; the AIDL compiler writes the first part:
//!
//! ```
//! use binder::binder_impl::{
//!     Binder, BorrowedParcel, FIRST_CALL_TRANSACTION, IBinderInternal, TransactionCode,
//! };
//! use binder::{BinderFeatures, Interface, Status, StatusCode, Strong};
//!
//! // What AIDL makes of `interface IHello { String greet(String name); }`.
//! pub trait IHello: Interface + Send {
//!     fn greet(&self, name: &str) -> binder::Result<String>;
//! }
//!
//! binder::declare_binder_interface! {
//!     IHello["com.example.IHello"] { native: BnHello(on_transact), proxy: BpHello {} }
//! }
//!
//! fn on_transact(
//!     service: &dyn IHello,
//!     code: TransactionCode,
//!     data: &BorrowedParcel<'_>,
//!     reply: &mut BorrowedParcel<'_>,
//! ) -> Result<(), StatusCode> {
//!     if code != FIRST_CALL_TRANSACTION {
//!         return Err(StatusCode::UNKNOWN_TRANSACTION);
//!     }
//!     let greeting = service.greet(&data.read::<String>()?);
//!     reply.write(&greeting.as_ref().err().cloned().unwrap_or(Status::ok()))?;
//!     greeting.map_or(Ok(()), |greeting| reply.write(&greeting))
//! }
//!
//! impl IHello for Binder<BnHello> {
//!     fn greet(&self, name: &str) -> binder::Result<String> {
//!         self.0.greet(name)
//!     }
//! }
//!
//! impl IHello for BpHello {
//!     fn greet(&self, name: &str) -> binder::Result<String> {
//!         let reply = self.binder.transact(FIRST_CALL_TRANSACTION, 0, |data| data.write(name))?;
//!         let status: Status = reply.read()?;
//!         if status.is_ok() { Ok(reply.read()?) } else { Err(status) }
//!     }
//! }
//!
//! // The service.
//! struct Hello;
//! impl Interface for Hello {}
//! impl IHello for Hello {
//!     fn greet(&self, name: &str) -> binder::Result<String> {
//!         Ok(format!("Hello, {name}!"))
//!     }
//! }
//! let service = BnHello::new_binder(Hello, BinderFeatures::default());
//!
//! // The client: `binder` comes from a service manager, a socket, or another call.
//! let binder = service.as_binder();
//! let hello: Strong<dyn IHello> = binder.into_interface()?;
//! assert_eq!(hello.greet("world")?, "Hello, world!");
//! # Ok::<(), binder::Status>(())
//! ```
//!
//! # Where it differs from Android's
//!
//! - Errors are returned where Android's aborts: a service that panics answers
//!   [`StatusCode::UNKNOWN_ERROR`], and its thread lives on.
//! - Parcels bound what bytes can make them do: parcelables nest at most 256 deep, and the vectors
//!   that a caller wants filled take at most 4 MiB.
//! - Methods that take `&mut SpIBinder` there take `&self` here; calls that compile there compile here.
//! - [`StatusCode`] and [`ExceptionCode`] have the names, but unknown numbers become
//!   [`StatusCode::UNKNOWN_ERROR`] and [`ExceptionCode::TRANSACTION_FAILED`].
//! - [`ParcelableHolder`] is that of AIDL 14, which takes its stability as an argument.
//! - A [`BorrowedParcel`](binder_impl::BorrowedParcel) is lent as a reference, not by value.
//! - What a process has registered by [`add_service`], it registers again at the next service manager, should the one
//!   that it registered at end.
//! - Nothing of C lies beneath: there is no `AsNative`, and `binder_impl` has no `InterfaceClass`,
//!   `AssociateClass` or `status_t`. [`ConnectionInfo`] has Rust's addresses instead of C's.
//! - What are the crates `rpcbinder` and `binder_tokio` there are modules here: [`transport::rpc`] and
//!   `binder_tokio` (feature `tokio`).
//! - Of RPC, constructors, `start` and `shutdown` fail with an
//!   [`RpcError`](transport::rpc::RpcError), which says more than an `io::Error`. `new_vsock` returns
//!   the server alone, whose `vsock_port` is the port that the system chose. `setup_preconnected_client`
//!   takes sockets (`OwnedFd`), whose numbers it takes there, and `setup_unix_domain_client` a path, which
//!   there is a name below `/dev/socket`. Instead of `new_bound_socket_with_factory` there is
//!   [`set_per_session_root_object`](transport::rpc::RpcServer::set_per_session_root_object).
//!
//! # What is logged
//!
//! Warnings are events of the crate `tracing`. A program without a subscriber hears them if it has a logger of
//! the crate `log` (`env_logger::init()`), and with neither not at all.
//!
//! # Features
//!
//! - `tokio`: calls that are awaited and services that await, in `binder_tokio`. Without it the crate
//!   needs no runtime.

#![forbid(unsafe_code)]

mod accessor;
mod asynchronous;
#[cfg(feature = "tokio")]
pub mod binder_tokio;
mod bundle;
mod deadline;
mod death;
mod file;
mod holder;
mod interface;
mod macros;
mod native;
mod object;
mod parcel;
mod proxy;
mod reconnect;
mod serialize;
pub mod service_manager;
mod stability;
mod status;
mod strong;
#[cfg(test)]
mod test_object;
mod thread_state;
mod trace_id;
pub mod transport;

pub use accessor::{Accessor, AccessorProvider, ConnectionInfo, delegate_accessor};
pub use asynchronous::{BinderAsyncPool, BoxFuture};
pub use bundle::{PersistableBundle, ValueType};
pub use deadline::{with_deadline, with_timeout};
pub use death::DeathRecipient;
pub use file::ParcelFileDescriptor;
pub use holder::ParcelableHolder;
pub use interface::BinderFeatures;
pub use object::{IBinder, SpIBinder, WpIBinder};
pub use reconnect::reconnecting;
pub use serialize::Parcelable;
pub use service_manager::{
    LazyServiceGuard, ServiceManager, add_service, check_interface, check_service,
    force_lazy_services_persist, get_declared_instances, is_declared, register_lazy_service,
    try_check_interface, try_check_service, try_wait_for_interface, try_wait_for_service,
    wait_for_interface, wait_for_service,
};
#[expect(deprecated, reason = "as in Android, where callers are warned")]
pub use service_manager::{get_interface, get_service};
pub use status::{ExceptionCode, IntoBinderResult, Result, Status, StatusCode};
pub use strong::{FromIBinder, Interface, Strong, ToAsyncInterface, ToSyncInterface, Weak};
pub use thread_state::ThreadState;
pub use trace_id::{TraceId, with_trace_id};
pub use transport::driver::{FrozenState, FrozenStateChangeCallback, ProcessState};

use serialize::{
    Deserialize, DeserializeArray, DeserializeOption, Serialize, SerializeArray, SerializeOption,
};
use stability::Stability;

/// Whether this thread is serving a call.
#[must_use]
pub fn is_handling_transaction() -> bool {
    ThreadState::is_handling_transaction()
}

/// What generated code uses beside the crate's root.
pub mod binder_impl {
    pub use crate::asynchronous::BinderAsyncRuntime;
    pub use crate::holder::ParcelableMetadata;
    pub use crate::interface::{
        FIRST_CALL_TRANSACTION, FLAG_CLEAR_BUF, FLAG_ONEWAY, FLAG_PRIVATE_LOCAL,
        LAST_CALL_TRANSACTION, Proxy, TransactionCode, TransactionFlags,
    };
    pub use crate::native::{Binder, Remotable};
    pub use crate::object::IBinderInternal;
    pub use crate::parcel::{BorrowedParcel, Parcel, ReadableSubParcel, WritableSubParcel};
    pub use crate::serialize::{
        Deserialize, DeserializeArray, DeserializeOption, NON_NULL as NON_NULL_PARCELABLE_FLAG,
        NULL as NULL_PARCELABLE_FLAG, Serialize, SerializeArray, SerializeOption,
        UnstructuredParcelable,
    };
    pub use crate::stability::Stability;
    pub use crate::strong::{ToAsyncInterface, ToSyncInterface};
}
