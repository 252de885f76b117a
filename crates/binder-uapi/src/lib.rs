//! The layouts, ioctl numbers and codes of Linux's binder.h and binderfs.h, and error numbers.
//!
//! Protocol version 8: 64-bit little-endian sizes, whatever the machine. No behaviour; the driver
//! ([`BC_TRANSACTION`] and the rest) and its clients read the same numbers from here. Constants
//! keep their C names, structures are spelled as words.

#![no_std]
#![forbid(unsafe_code)]

mod binderfs;
mod code;
mod command;
mod errno;
mod extension;
mod info;
mod ioctl;
mod layout;
mod object;
mod returned;
mod transaction;

pub use binderfs::*;
pub use code::{command_name, name_of, payload_len, return_name};
pub use command::*;
pub use errno::Errno;
pub use extension::*;
pub use info::*;
pub use ioctl::*;
pub use object::*;
pub use returned::*;
pub use transaction::*;
