//! How a session names objects.

use core::fmt;

use crate::wire::WireAddress;

const CREATED: u32 = 1;
const FOR_SERVER: u32 = 2;

/// A side of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SessionSide {
    /// Connected.
    Client,
    /// Was connected to.
    Server,
}

impl SessionSide {
    /// The one that it speaks to.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// The name of an object in a session; its owner made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// The side that owns the object.
    pub owner: SessionSide,
    /// Its number among the owner's.
    pub number: u32,
}

/// Words that are no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("options {options:#x} with number {number} are no address")]
pub struct BadAddress {
    /// The first word.
    pub options: u32,
    /// The second word.
    pub number: u32,
}

impl Address {
    /// Returns the words of the special target, which is no object.
    #[must_use]
    pub fn special() -> WireAddress {
        WireAddress { options: 0.into(), number: 0.into() }
    }

    /// Reads an address; `None` is the special target.
    ///
    /// # Errors
    ///
    /// [`BadAddress`] for options that no side gives to its objects.
    pub fn parse(words: WireAddress) -> Result<Option<Self>, BadAddress> {
        let (options, number) = (words.options.get(), words.number.get());
        match (options, number) {
            (0, 0) => Ok(None),
            (CREATED, number) => Ok(Some(Self { owner: SessionSide::Client, number })),
            (options, number) if options == CREATED | FOR_SERVER => {
                Ok(Some(Self { owner: SessionSide::Server, number }))
            }
            _ => Err(BadAddress { options, number }),
        }
    }

    /// Reads an address from the eight bytes that a parcel holds.
    ///
    /// # Errors
    ///
    /// [`BadAddress`] for the special target too: a parcel holds objects.
    pub fn from_word(word: u64) -> Result<Self, BadAddress> {
        let words: WireAddress = zerocopy::transmute!(word.to_le_bytes());
        let bad = BadAddress { options: words.options.get(), number: words.number.get() };
        Self::parse(words)?.ok_or(bad)
    }

    /// Returns the eight bytes of the address as a parcel holds them.
    #[must_use]
    pub fn word(self) -> u64 {
        u64::from_le_bytes(zerocopy::transmute!(self.words()))
    }

    /// Returns the words of the address.
    #[must_use]
    pub fn words(self) -> WireAddress {
        let options = match self.owner {
            SessionSide::Client => CREATED,
            SessionSide::Server => CREATED | FOR_SERVER,
        };
        WireAddress { options: options.into(), number: self.number.into() }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let owner = match self.owner {
            SessionSide::Client => "client",
            SessionSide::Server => "server",
        };
        write!(f, "{owner} object {}", self.number)
    }
}
