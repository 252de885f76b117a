//! What the clients of a soak say, made so that whatever is lost, doubled or crossed shows.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::error::BenchError;

/// What a client wants of the server.
pub(super) mod wish {
    /// The same bytes back.
    pub(crate) const ECHO: u32 = 1;
    /// Nothing back. Its one-ways arrive in their order, each once.
    pub(crate) const NOTE: u32 = 2;
    /// How many notes of the client have arrived.
    pub(crate) const COUNT: u32 = 3;
    /// A call of the object sent along, before the bytes come back.
    pub(crate) const CALL_BACK: u32 = 4;
    /// The object sent along kept, and watched for its owner's death.
    pub(crate) const KEEP: u32 = 5;
    /// A file that holds the bytes.
    pub(crate) const FILE: u32 = 6;
}

/// The start of every message; bytes follow that depend on it alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct MessageHead {
    /// Which life of which client: no two have the same.
    pub(super) life: u32,
    /// The client's process number.
    pub(super) pid: u32,
    /// Counts the client's messages; of notes, the notes.
    pub(super) number: u32,
    /// How many bytes follow.
    pub(super) len: u32,
}

/// Where an object goes in a message that brings one, behind the head.
pub(super) const OBJECT_AT: u64 = size_of::<MessageHead>() as u64;

impl MessageHead {
    /// The whole message.
    pub(super) fn message(self) -> Vec<u8> {
        let mut message = self.as_bytes().to_vec();
        message.extend(self.body());
        message
    }

    /// The bytes that follow.
    pub(super) fn body(self) -> impl Iterator<Item = u8> {
        let seed = self.life.wrapping_mul(0x9e37_79b9) ^ self.number.wrapping_mul(0x85eb_ca6b);
        (0..self.len).map(move |at| {
            let mixed = (seed ^ at).wrapping_mul(0xc2b2_ae35);
            (mixed >> 24) as u8
        })
    }

    /// Reads the start of a message, and what follows it.
    ///
    /// # Errors
    ///
    /// If it is too short to be one.
    pub(super) fn split(message: &[u8]) -> Result<(Self, &[u8]), BenchError> {
        let split = Self::read_from_prefix(message);
        split.map_err(|_| broken(format!("a message of {} bytes arrived", message.len())))
    }

    /// Reads a message without an object and checks all of it.
    ///
    /// # Errors
    ///
    /// If a byte differs from what was sent.
    pub(super) fn read(message: &[u8]) -> Result<Self, BenchError> {
        let (head, body) = Self::split(message)?;
        if body.iter().copied().eq(head.body()) { Ok(head) } else { Err(head.spoilt()) }
    }

    /// What to say if what came for this one is another, or not the same any more.
    pub(super) fn spoilt(self) -> BenchError {
        let Self { life, number, len, .. } = self;
        broken(format!("message {number} of client {life}, {len} bytes long, came out differently"))
    }
}

/// The driver did what it must never do.
pub(super) fn broken(what: impl Into<String>) -> BenchError {
    BenchError::Broken(what.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_was_changed_anywhere_is_noticed() {
        let head = MessageHead { life: 3, pid: 77, number: 9, len: 40 };
        let message = head.message();
        assert_eq!(MessageHead::read(&message).unwrap(), head);
        for at in (0..4).chain(8..message.len()) {
            let mut spoilt = message.clone();
            spoilt[at] ^= 1;
            assert!(MessageHead::read(&spoilt).is_err(), "byte {at}");
        }
        assert!(MessageHead::read(&message[..55]).is_err());
        assert!(MessageHead::read(&message[..15]).is_err());
    }

    #[test]
    fn no_two_messages_are_alike() {
        let head = MessageHead { life: 1, pid: 1, number: 1, len: 16 };
        let other = MessageHead { number: 2, ..head };
        assert!(!head.body().eq(other.body()));
        assert!(!head.body().eq(MessageHead { life: 2, ..head }.body()));
    }
}
