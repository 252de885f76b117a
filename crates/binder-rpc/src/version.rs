//! Which of the protocol's versions a session speaks.

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProtocolVersion {
    /// Android 13: no object positions, so no descriptors.
    V0,
    /// Android 14 to 16.0: the positions of descriptors.
    V1,
    /// The newest: the positions of binders too.
    V2,
}

/// A word that names no version of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("version {0:#x} is unknown")]
pub struct UnknownVersion(pub u32);

impl ProtocolVersion {
    /// The newest version.
    pub const NEWEST: Self = Self::V2;

    /// Returns the version's word.
    #[must_use]
    pub fn word(self) -> u32 {
        match self {
            Self::V0 => 0,
            Self::V1 => 1,
            Self::V2 => 2,
        }
    }

    /// Returns the version that a server answers with, whose newest is `self`, to a client's offer.
    ///
    /// A client that offers more than we know gets ours, and decides.
    #[must_use]
    pub fn answer(self, offered: u32) -> Self {
        Self::try_from(offered).map_or(self, |offered| offered.min(self))
    }

    /// Returns whether messages say where the parcel's objects are.
    #[must_use]
    pub fn has_positions(self) -> bool {
        self > Self::V0
    }

    /// Returns whether those positions name binders too, not descriptors alone.
    #[must_use]
    pub fn lists_binders(self) -> bool {
        self > Self::V1
    }
}

impl TryFrom<u32> for ProtocolVersion {
    type Error = UnknownVersion;

    fn try_from(word: u32) -> Result<Self, UnknownVersion> {
        match word {
            0 => Ok(Self::V0),
            1 => Ok(Self::V1),
            2 => Ok(Self::V2),
            other => Err(UnknownVersion(other)),
        }
    }
}
