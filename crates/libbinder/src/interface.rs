//! What interfaces are made of: codes and flags of transactions, proxies, features of services.

use crate::{SpIBinder, StatusCode};

/// What an object is asked to do.
pub type TransactionCode = u32;
/// How it is asked.
pub type TransactionFlags = u32;

/// The first code that interfaces may use.
pub const FIRST_CALL_TRANSACTION: TransactionCode = 1;
/// The last code that interfaces may use.
pub const LAST_CALL_TRANSACTION: TransactionCode = 0x00ff_ffff;
/// The caller does not wait for a reply.
pub const FLAG_ONEWAY: TransactionFlags = 0x01;
/// Parcels are overwritten with zeros once they are not needed any more.
pub const FLAG_CLEAR_BUF: TransactionFlags = 0x20;
/// The caller needs no more than local stability. Not sent.
pub const FLAG_PRIVATE_LOCAL: TransactionFlags = 0;

const fn special(letters: [u8; 4]) -> TransactionCode {
    TransactionCode::from_be_bytes(letters)
}

/// Are you there?
pub(crate) const PING_TRANSACTION: TransactionCode = special(*b"_PNG");
/// Tell people about yourself, into a file.
pub(crate) const DUMP_TRANSACTION: TransactionCode = special(*b"_DMP");
/// Which interface is this?
pub(crate) const INTERFACE_TRANSACTION: TransactionCode = special(*b"_NTF");
/// What extends it?
pub(crate) const EXTENSION_TRANSACTION: TransactionCode = special(*b"_EXT");
/// In which process is it?
pub(crate) const DEBUG_PID_TRANSACTION: TransactionCode = special(*b"_PID");
/// Do what a shell says.
pub(crate) const SHELL_COMMAND_TRANSACTION: TransactionCode = special(*b"_CMD");
/// System properties have changed.
pub(crate) const SYSPROPS_TRANSACTION: TransactionCode = special(*b"_SPR");

/// A proxy, as [`declare_binder_interface!`](crate::declare_binder_interface) makes it.
pub trait Proxy: Sized + crate::Interface {
    /// The interface's name.
    fn get_descriptor() -> &'static str;

    /// A proxy of `binder`.
    ///
    /// # Errors
    ///
    /// [`StatusCode::BAD_TYPE`] if the object says that it serves another interface.
    fn from_binder(binder: SpIBinder) -> Result<Self, StatusCode>;
}

/// What a service wants of its callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BinderFeatures {
    /// That they show their security context ([`crate::ThreadState::with_calling_sid`]).
    pub set_requesting_sid: bool,
    /// So that there can be more.
    #[doc(hidden)]
    pub _non_exhaustive: (),
}
