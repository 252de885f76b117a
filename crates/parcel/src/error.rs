//! What can be wrong with bytes that claim to be a parcel.

use crate::StatusCode;

/// Bytes that are not what the reader was told to find there, or a value that cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ParcelError {
    /// The value does not fit into what is left.
    #[error("a value of {wanted} bytes at {at}, where {left} are left")]
    NotEnoughData {
        /// Where the value starts.
        at: usize,
        /// How long it claims to be.
        wanted: usize,
        /// How many bytes there are.
        left: usize,
    },
    /// A length is negative where null has no meaning, or larger than can be.
    #[error("a length of {length} at {at}")]
    BadLength {
        /// Where the length stands.
        at: usize,
        /// The length itself.
        length: i64,
    },
    /// Null, where something must be.
    #[error("null at {at}")]
    UnexpectedNull {
        /// Where it stands.
        at: usize,
    },
    /// A word that is none of those that may stand there.
    #[error("{found:#x} at {at} is none of the words that may stand there")]
    BadWord {
        /// Where the word stands.
        at: usize,
        /// The word.
        found: u32,
    },
    /// Text that is not text.
    #[error("no text at {at}")]
    BadText {
        /// Where it starts.
        at: usize,
    },
    /// Not an object, or one of another kind, or of the wrong version.
    #[error("no such object at {at}")]
    BadObject {
        /// Where it was looked for.
        at: usize,
    },
    /// A sequence of more elements than a parcel can count.
    #[error("{count} elements are more than a parcel can count")]
    TooLong {
        /// How many there are.
        count: usize,
    },
}

impl ParcelError {
    /// The code that Android's library answers with.
    #[must_use]
    pub const fn status(self) -> StatusCode {
        match self {
            Self::NotEnoughData { .. } => StatusCode::NOT_ENOUGH_DATA,
            Self::UnexpectedNull { .. } => StatusCode::UNEXPECTED_NULL,
            Self::BadObject { .. } => StatusCode::BAD_TYPE,
            Self::BadLength { .. }
            | Self::BadWord { .. }
            | Self::BadText { .. }
            | Self::TooLong { .. } => StatusCode::BAD_VALUE,
        }
    }
}

impl From<ParcelError> for StatusCode {
    fn from(error: ParcelError) -> Self {
        error.status()
    }
}
