//! Android's Binder API for Rust, on any Linux.
#![forbid(unsafe_code)]

mod death;
mod interface;
mod object;
mod parcel;
mod proxy;
mod stability;
mod status;
mod thread_state;
pub mod transport;

pub use death::DeathRecipient;
pub use object::{IBinder, SpIBinder, WpIBinder};
pub use stability::Stability;
pub use status::{ExceptionCode, StatusCode};
pub use thread_state::ThreadState;

/// What generated code uses beside the crate's root.
pub mod binder_impl {
    pub use crate::interface::{
        FIRST_CALL_TRANSACTION, FLAG_CLEAR_BUF, FLAG_ONEWAY, FLAG_PRIVATE_LOCAL,
        LAST_CALL_TRANSACTION, TransactionCode, TransactionFlags,
    };
    pub use crate::object::IBinderInternal;
    pub use crate::parcel::{BorrowedParcel, Parcel};
    pub use crate::stability::Stability;
}
