//! Status codes of the transport, exception codes of services, and the head of a reply.

use core::fmt;

/// How a transaction went, as the transport sees it: Android's `status_t`.
///
/// The names are Android's; generated code matches on them.
#[expect(non_camel_case_types, reason = "the names of Android's API")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(i32)]
pub enum StatusCode {
    /// It went well.
    OK = 0,
    /// Something else went wrong.
    UNKNOWN_ERROR = i32::MIN,
    /// There is no memory left.
    NO_MEMORY = -12,
    /// This cannot be done here.
    INVALID_OPERATION = -38,
    /// An argument makes no sense.
    BAD_VALUE = -22,
    /// Not of the type that was asked for.
    BAD_TYPE = i32::MIN + 1,
    /// There is nothing of that name.
    NAME_NOT_FOUND = -2,
    /// The caller may not do this.
    PERMISSION_DENIED = -1,
    /// Not ready yet.
    NO_INIT = -19,
    /// There is one already.
    ALREADY_EXISTS = -17,
    /// The process that owned the object is gone.
    DEAD_OBJECT = -32,
    /// The transport refused the transaction.
    FAILED_TRANSACTION = i32::MIN + 2,
    /// An index is out of range.
    BAD_INDEX = -75,
    /// The parcel ends too early.
    NOT_ENOUGH_DATA = -61,
    /// It would have to wait.
    WOULD_BLOCK = -11,
    /// It took too long.
    TIMED_OUT = -110,
    /// The object does not know this transaction code.
    UNKNOWN_TRANSACTION = -74,
    /// The receiver takes no file descriptors.
    FDS_NOT_ALLOWED = i32::MIN + 7,
    /// Null, where something must be.
    UNEXPECTED_NULL = i32::MIN + 8,
}

impl StatusCode {
    /// Every code.
    pub const ALL: [Self; 19] = [
        Self::OK,
        Self::UNKNOWN_ERROR,
        Self::NO_MEMORY,
        Self::INVALID_OPERATION,
        Self::BAD_VALUE,
        Self::BAD_TYPE,
        Self::NAME_NOT_FOUND,
        Self::PERMISSION_DENIED,
        Self::NO_INIT,
        Self::ALREADY_EXISTS,
        Self::DEAD_OBJECT,
        Self::FAILED_TRANSACTION,
        Self::BAD_INDEX,
        Self::NOT_ENOUGH_DATA,
        Self::WOULD_BLOCK,
        Self::TIMED_OUT,
        Self::UNKNOWN_TRANSACTION,
        Self::FDS_NOT_ALLOWED,
        Self::UNEXPECTED_NULL,
    ];

    /// The number on the wire.
    #[must_use]
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// The code of a number; [`Self::UNKNOWN_ERROR`] for numbers without one.
    #[must_use]
    pub fn from_code(code: i32) -> Self {
        Self::ALL.into_iter().find(|status| status.code() == code).unwrap_or(Self::UNKNOWN_ERROR)
    }
}

impl fmt::Display for StatusCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl core::error::Error for StatusCode {}

/// What a service says went wrong: the first word of a reply.
#[expect(non_camel_case_types, reason = "the names of Android's API")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(i32)]
pub enum ExceptionCode {
    /// Nothing.
    NONE = 0,
    /// The caller may not do this.
    SECURITY = -1,
    /// Bytes that cannot be a parcelable.
    BAD_PARCELABLE = -2,
    /// An argument makes no sense.
    ILLEGAL_ARGUMENT = -3,
    /// Null, where something must be.
    NULL_POINTER = -4,
    /// Not now.
    ILLEGAL_STATE = -5,
    /// The service would have to use the network on its main thread.
    NETWORK_MAIN_THREAD = -6,
    /// The service does not do this.
    UNSUPPORTED_OPERATION = -7,
    /// An error code of the service's own follows.
    SERVICE_SPECIFIC = -8,
    /// A parcelable of the service's own follows (Java only).
    PARCELABLE = -9,
    /// The transaction itself failed; the status code says how.
    TRANSACTION_FAILED = -129,
}

impl ExceptionCode {
    /// Every code.
    pub const ALL: [Self; 11] = [
        Self::NONE,
        Self::SECURITY,
        Self::BAD_PARCELABLE,
        Self::ILLEGAL_ARGUMENT,
        Self::NULL_POINTER,
        Self::ILLEGAL_STATE,
        Self::NETWORK_MAIN_THREAD,
        Self::UNSUPPORTED_OPERATION,
        Self::SERVICE_SPECIFIC,
        Self::PARCELABLE,
        Self::TRANSACTION_FAILED,
    ];

    /// The number on the wire.
    #[must_use]
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// The code of a number; [`Self::TRANSACTION_FAILED`] for numbers without one.
    #[must_use]
    pub fn from_code(code: i32) -> Self {
        let found = Self::ALL.into_iter().find(|exception| exception.code() == code);
        found.unwrap_or(Self::TRANSACTION_FAILED)
    }
}
