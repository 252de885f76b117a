//! How calls end.

pub use ::parcel::{ExceptionCode, StatusCode};
