//! How a code is put together: Linux's ioctl number encoding.
//!
//! Bits 0..8 hold the number, 8..16 the letter of the family, 16..30 the size of the argument and
//! 30..32 its direction as the caller sees it.

use crate::{command, returned};

const WRITE: u32 = 1;
const READ: u32 = 2;

const SIZE_SHIFT: u32 = 16;
const SIZE_MASK: u32 = 0x3fff;

/// The size of the argument or payload of `code`, in bytes.
///
/// This is what the code declares. [`BR_ERROR`](crate::BR_ERROR) declares four bytes that Linux
/// does not write.
#[must_use]
pub const fn payload_len(code: u32) -> usize {
    ((code >> SIZE_SHIFT) & SIZE_MASK) as usize
}

/// The C name of a `BC_` or `BR_` code, or `"unknown"`.
#[must_use]
pub fn name_of(code: u32) -> &'static str {
    let known = command::NAMES.iter().chain(returned::NAMES).find(|(known, _)| *known == code);
    known.map_or("unknown", |(_, name)| name)
}

/// The C name of the command with this number, if there is one.
#[must_use]
pub fn command_name(number: u8) -> Option<&'static str> {
    numbered(command::NAMES, number)
}

/// The C name of the return with this number, if there is one. `BR_TRANSACTION` and
/// `BR_TRANSACTION_SEC_CTX` have the same; the former stands for both.
#[must_use]
pub fn return_name(number: u8) -> Option<&'static str> {
    numbered(returned::NAMES, number)
}

fn numbered(names: &[(u32, &'static str)], number: u8) -> Option<&'static str> {
    let named = names.iter().rev().find(|(code, _)| code & 0xff == u32::from(number));
    named.map(|(_, name)| *name)
}

/// A code without an argument.
pub(crate) const fn io(letter: u8, number: u8) -> u32 {
    encode(0, letter, number, 0)
}

/// A code whose argument the caller passes in.
pub(crate) const fn iow<T>(letter: u8, number: u8) -> u32 {
    encode(WRITE, letter, number, size_of::<T>())
}

/// A code whose argument the caller gets back.
pub(crate) const fn ior<T>(letter: u8, number: u8) -> u32 {
    encode(READ, letter, number, size_of::<T>())
}

/// A code whose argument goes both ways.
pub(crate) const fn iowr<T>(letter: u8, number: u8) -> u32 {
    encode(READ | WRITE, letter, number, size_of::<T>())
}

#[expect(clippy::cast_possible_truncation, reason = "checked against the 14 bits of the field")]
const fn encode(direction: u32, letter: u8, number: u8, size_bytes: usize) -> u32 {
    assert!(size_bytes <= SIZE_MASK as usize, "an argument size has 14 bits");
    (direction << 30) | ((size_bytes as u32) << SIZE_SHIFT) | ((letter as u32) << 8) | number as u32
}

/// Declares public codes and the table `NAMES` that pairs each with its C name.
macro_rules! named_codes {
    ($($(#[$doc:meta])* $name:ident = $code:expr;)*) => {
        $($(#[$doc])* pub const $name: u32 = $code;)*

        /// Every code of this module with its C name.
        pub(crate) const NAMES: &[(u32, &str)] = &[$(($name, stringify!($name))),*];
    };
}
pub(crate) use named_codes;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::*;

    #[test]
    fn the_payload_length_is_the_size_field() {
        assert_eq!(payload_len(BC_ENTER_LOOPER), 0);
        assert_eq!(payload_len(BC_ACQUIRE), 4);
        assert_eq!(payload_len(BC_REQUEST_DEATH_NOTIFICATION), 12);
        assert_eq!(payload_len(BR_TRANSACTION), 64);
        assert_eq!(payload_len(BR_TRANSACTION_SEC_CTX), 72);
        assert_eq!(payload_len(u32::MAX), 0x3fff);
    }

    #[test]
    fn a_number_has_one_name() {
        assert_eq!(command_name(0), Some("BC_TRANSACTION"));
        assert_eq!(command_name(21), Some("BC_FREEZE_NOTIFICATION_DONE"));
        assert_eq!(command_name(22), None);
        assert_eq!(return_name(2), Some("BR_TRANSACTION"));
        assert_eq!(return_name(22), Some("BR_CLEAR_FREEZE_NOTIFICATION_DONE"));
    }

    #[test]
    fn codes_that_share_a_number_have_their_own_names() {
        assert_eq!(name_of(BR_TRANSACTION), "BR_TRANSACTION");
        assert_eq!(name_of(BR_TRANSACTION_SEC_CTX), "BR_TRANSACTION_SEC_CTX");
        assert_eq!(name_of(BC_FREEZE_NOTIFICATION_DONE), "BC_FREEZE_NOTIFICATION_DONE");
        assert_eq!(name_of(0), "unknown");
    }
}
