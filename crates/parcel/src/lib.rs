//! Android's Parcel encoding.
//!
//! A parcel is a sequence of little-endian values, each padded to four bytes. [`Writer`] and
//! [`Reader`] know the values that look alike everywhere: numbers, strings, arrays. What differs
//! between the driver and RPC Binder has a module each: [`driver`] and [`rpc`] say how binder objects
//! and descriptors look there, [`token`] how a call names its interface. [`status`] holds the codes,
//! [`ReplyOutcomeHeader`] is the head of every reply.
//!
//! Nothing here panics, reads past the end, or allocates more than the bytes present can justify.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod bytes;
pub mod driver;
mod element;
mod error;
pub mod layout;
mod reader;
mod reply;
pub mod rpc;
pub mod status;
mod string;
pub mod token;
mod writer;

pub use element::Element;
pub use error::ParcelError;
pub use reader::Reader;
pub use reply::ReplyOutcomeHeader;
pub use status::{ExceptionCode, StatusCode};
pub use writer::Writer;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ParcelReadme;

/// `bytes` rounded up to the next multiple of four; saturates instead of wrapping.
#[must_use]
pub const fn padded(bytes: usize) -> usize {
    bytes.saturating_add(3) & !3
}
