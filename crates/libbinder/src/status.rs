//! How calls end.

use std::ffi::CStr;
use std::fmt;

pub use ::parcel::{ExceptionCode, StatusCode};
use ::parcel::{ReplyOutcomeHeader, Writer};

use crate::parcel::BorrowedParcel;
use crate::{Deserialize, Serialize};

/// What a call of a service returns.
pub type Result<T> = std::result::Result<T, Status>;

/// How a call ended: well, with an exception of the service's, or not at all.
#[derive(Clone, PartialEq, Eq)]
pub struct Status {
    outcome: ReplyOutcomeHeader,
    /// How the transaction failed, where [`ExceptionCode::TRANSACTION_FAILED`] is the exception.
    code: StatusCode,
}

impl Status {
    /// All is well.
    #[must_use]
    pub const fn ok() -> Self {
        Self { outcome: ReplyOutcomeHeader::Done, code: StatusCode::OK }
    }

    /// An exception with a message.
    #[must_use]
    pub fn new_exception(exception: ExceptionCode, message: Option<&CStr>) -> Self {
        Self::new_exception_str(exception, message.map(CStr::to_string_lossy))
    }

    /// An exception with a message.
    #[must_use]
    pub fn new_exception_str<T: AsRef<str>>(exception: ExceptionCode, message: Option<T>) -> Self {
        Self::with(exception, message, 0)
    }

    /// An error of the service's own kind, with a message.
    #[must_use]
    pub fn new_service_specific_error(error: i32, message: Option<&CStr>) -> Self {
        Self::new_service_specific_error_str(error, message.map(CStr::to_string_lossy))
    }

    /// An error of the service's own kind, with a message.
    #[must_use]
    pub fn new_service_specific_error_str<T: AsRef<str>>(error: i32, message: Option<T>) -> Self {
        Self::with(ExceptionCode::SERVICE_SPECIFIC, message, error)
    }

    fn with<T: AsRef<str>>(code: ExceptionCode, message: Option<T>, service_specific: i32) -> Self {
        let message = message.map(|message| message.as_ref().to_owned());
        match code {
            ExceptionCode::NONE => Self::ok(),
            ExceptionCode::TRANSACTION_FAILED => Self {
                outcome: ReplyOutcomeHeader::Exception { code, message, service_specific },
                code: StatusCode::FAILED_TRANSACTION,
            },
            ExceptionCode::SECURITY
            | ExceptionCode::BAD_PARCELABLE
            | ExceptionCode::ILLEGAL_ARGUMENT
            | ExceptionCode::NULL_POINTER
            | ExceptionCode::ILLEGAL_STATE
            | ExceptionCode::NETWORK_MAIN_THREAD
            | ExceptionCode::UNSUPPORTED_OPERATION
            | ExceptionCode::SERVICE_SPECIFIC
            | ExceptionCode::PARCELABLE => Self {
                outcome: ReplyOutcomeHeader::Exception { code, message, service_specific },
                code: StatusCode::OK,
            },
        }
    }

    /// Whether all is well.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.outcome == ReplyOutcomeHeader::Done
    }

    /// Which exception it is; [`ExceptionCode::NONE`] if all is well.
    #[must_use]
    pub fn exception_code(&self) -> ExceptionCode {
        match self.outcome {
            ReplyOutcomeHeader::Done => ExceptionCode::NONE,
            ReplyOutcomeHeader::Exception { code, .. } => code,
        }
    }

    /// How the transaction failed; [`StatusCode::OK`] if it did not.
    #[must_use]
    pub fn transaction_error(&self) -> StatusCode {
        self.code
    }

    /// The service's own error; 0 if the exception is another.
    #[must_use]
    pub fn service_specific_error(&self) -> i32 {
        match self.outcome {
            ReplyOutcomeHeader::Done => 0,
            ReplyOutcomeHeader::Exception { service_specific, .. } => service_specific,
        }
    }

    /// The service's words, if it had any.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        match &self.outcome {
            ReplyOutcomeHeader::Done => None,
            ReplyOutcomeHeader::Exception { message, .. } => message.as_deref(),
        }
    }

    /// What `next` returns if all is well, else this.
    ///
    /// # Errors
    ///
    /// This status, or what `next` says.
    pub fn and_then<T>(self, next: impl FnOnce() -> Result<T>) -> Result<T> {
        Result::<()>::from(self).and_then(|()| next())
    }

    /// All of it, for people.
    #[must_use]
    pub fn get_description(&self) -> String {
        self.to_string()
    }
}

/// In Android's words.
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ReplyOutcomeHeader::Exception { code, message, service_specific } = &self.outcome
        else {
            return f.write_str("No error");
        };
        write!(f, "Status({}, EX_{code:?}): '", code.code())?;
        match code {
            ExceptionCode::SERVICE_SPECIFIC => write!(f, "{service_specific}: ")?,
            ExceptionCode::TRANSACTION_FAILED => write!(f, "{}: ", self.code)?,
            ExceptionCode::NONE
            | ExceptionCode::SECURITY
            | ExceptionCode::BAD_PARCELABLE
            | ExceptionCode::ILLEGAL_ARGUMENT
            | ExceptionCode::NULL_POINTER
            | ExceptionCode::ILLEGAL_STATE
            | ExceptionCode::NETWORK_MAIN_THREAD
            | ExceptionCode::UNSUPPORTED_OPERATION
            | ExceptionCode::PARCELABLE => {}
        }
        write!(f, "{}'", message.as_deref().unwrap_or_default())
    }
}

/// As for people: what `unwrap` and tests show.
impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Status {}

impl From<StatusCode> for Status {
    fn from(code: StatusCode) -> Self {
        if code == StatusCode::OK {
            return Self::ok();
        }
        let outcome = ReplyOutcomeHeader::Exception {
            code: ExceptionCode::TRANSACTION_FAILED,
            message: None,
            service_specific: 0,
        };
        Self { outcome, code }
    }
}

impl From<ExceptionCode> for Status {
    fn from(exception: ExceptionCode) -> Self {
        Self::new_exception(exception, None)
    }
}

impl From<Status> for std::result::Result<(), Status> {
    fn from(status: Status) -> Self {
        if status.is_ok() { Ok(()) } else { Err(status) }
    }
}

impl From<Status> for StatusCode {
    fn from(status: Status) -> Self {
        status.transaction_error()
    }
}

impl Serialize for Status {
    fn serialize(&self, parcel: &mut BorrowedParcel<'_>) -> std::result::Result<(), StatusCode> {
        if self.exception_code() == ExceptionCode::TRANSACTION_FAILED {
            // There is no reply then, but a status instead of it.
            return Err(self.code);
        }
        Ok(parcel.write_with(|writer: &mut Writer<'_>| self.outcome.write(writer))?)
    }
}

impl Deserialize for Status {
    type UninitType = Option<Self>;

    fn uninit() -> Self::UninitType {
        None
    }

    fn from_init(value: Self) -> Self::UninitType {
        Some(value)
    }

    fn deserialize(parcel: &BorrowedParcel<'_>) -> std::result::Result<Self, StatusCode> {
        let outcome = parcel.read_with(|reader| ReplyOutcomeHeader::read(reader))?;
        let code = match outcome {
            ReplyOutcomeHeader::Exception { code: ExceptionCode::TRANSACTION_FAILED, .. } => {
                StatusCode::FAILED_TRANSACTION
            }
            ReplyOutcomeHeader::Done | ReplyOutcomeHeader::Exception { .. } => StatusCode::OK,
        };
        Ok(Self { outcome, code })
    }
}

/// Turns the errors of others into exceptions.
///
/// ```
/// use binder::{ExceptionCode, IntoBinderResult};
///
/// let port: binder::Result<u16> =
///     "no number".parse().or_binder_exception(ExceptionCode::ILLEGAL_ARGUMENT);
/// assert_eq!(port.unwrap_err().exception_code(), ExceptionCode::ILLEGAL_ARGUMENT);
/// ```
pub trait IntoBinderResult<T, E> {
    /// The error as an exception, with the error's own words.
    ///
    /// # Errors
    ///
    /// The error, as an exception.
    fn or_binder_exception(self, exception: ExceptionCode) -> Result<T>;

    /// The error as an exception, with words made from it.
    ///
    /// # Errors
    ///
    /// The error, as an exception.
    fn or_binder_exception_with<M: AsRef<str>>(
        self,
        exception: ExceptionCode,
        message: impl FnOnce(E) -> M,
    ) -> Result<T>;

    /// The error as one of the service's own, with the error's own words.
    ///
    /// # Errors
    ///
    /// The error, as a service-specific one.
    fn or_service_specific_exception(self, error_code: i32) -> Result<T>;

    /// The error as one of the service's own, with words made from it.
    ///
    /// # Errors
    ///
    /// The error, as a service-specific one.
    fn or_service_specific_exception_with<M: AsRef<str>>(
        self,
        error_code: i32,
        message: impl FnOnce(E) -> M,
    ) -> Result<T>;
}

impl<T, E: fmt::Debug> IntoBinderResult<T, E> for std::result::Result<T, E> {
    fn or_binder_exception(self, exception: ExceptionCode) -> Result<T> {
        self.or_binder_exception_with(exception, |error| format!("{error:?}"))
    }

    fn or_binder_exception_with<M: AsRef<str>>(
        self,
        exception: ExceptionCode,
        message: impl FnOnce(E) -> M,
    ) -> Result<T> {
        self.map_err(|error| Status::new_exception_str(exception, Some(message(error))))
    }

    fn or_service_specific_exception(self, error_code: i32) -> Result<T> {
        self.or_service_specific_exception_with(error_code, |error| format!("{error:?}"))
    }

    fn or_service_specific_exception_with<M: AsRef<str>>(
        self,
        error_code: i32,
        message: impl FnOnce(E) -> M,
    ) -> Result<T> {
        self.map_err(|error| {
            Status::new_service_specific_error_str(error_code, Some(message(error)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_are_androids() {
        let rows = [
            (Status::ok(), "No error"),
            (
                Status::new_exception(ExceptionCode::NULL_POINTER, Some(c"a status message")),
                "Status(-4, EX_NULL_POINTER): 'a status message'",
            ),
            (ExceptionCode::SECURITY.into(), "Status(-1, EX_SECURITY): ''"),
            (
                Status::new_service_specific_error_str(-42, Some("message")),
                "Status(-8, EX_SERVICE_SPECIFIC): '-42: message'",
            ),
            (
                StatusCode::DEAD_OBJECT.into(),
                "Status(-129, EX_TRANSACTION_FAILED): 'DEAD_OBJECT: '",
            ),
        ];
        for (status, description) in rows {
            assert_eq!(status.get_description(), description);
            assert_eq!(format!("{status} {status:?}"), format!("{description} {description}"));
        }
    }

    #[test]
    fn what_follows_is_done_only_if_all_is_well() {
        assert_eq!(Status::ok().and_then(|| Ok(7)), Ok(7));
        let failed: Status = StatusCode::TIMED_OUT.into();
        assert_eq!(failed.clone().and_then(|| Ok(7)), Err(failed.clone()));
        assert_eq!(Result::<()>::from(failed.clone()), Err(failed));
    }
}
