//! Android's Binder API for Rust, on any Linux.
#![forbid(unsafe_code)]

mod asynchronous;
#[cfg(feature = "tokio")]
pub mod binder_tokio;
mod death;
mod file;
mod holder;
mod interface;
mod macros;
mod native;
mod object;
mod parcel;
mod proxy;
mod serialize;
pub mod service_manager;
mod stability;
mod status;
mod strong;
mod thread_state;
pub mod transport;

pub use asynchronous::{BinderAsyncPool, BoxFuture};
pub use death::DeathRecipient;
pub use file::ParcelFileDescriptor;
pub use holder::ParcelableHolder;
pub use interface::BinderFeatures;
pub use object::{IBinder, SpIBinder, WpIBinder};
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
    };
    pub use crate::stability::Stability;
}
