//! The calls to no object: codes, and the parcels of their answers.

use zerocopy::FromBytes;
use zerocopy::little_endian::{I32, U32};

use crate::wire::SESSION_ID_BYTES;
use crate::{Ending, SessionId};

/// Asks for the server's root object.
pub const GET_ROOT: u32 = 0;
/// Asks how many connections the other side answers on at once.
pub const GET_MAX_THREADS: u32 = 1;
/// Asks for the id under which further connections join the session.
pub const GET_SESSION_ID: u32 = 2;
/// Asks what the other side knows beside Android's protocol. A side that asks says by that that it knows all
/// of [`Extensions`]; Android's libbinder answers that it knows no such call.
pub const GET_EXTENSIONS: u32 = u32::from_be_bytes(*b"anb1");

/// The first word of an absent binder in a parcel.
pub const NULL: u32 = 0;
/// The first word of a binder in a parcel.
pub const BINDER: u32 = 1;
/// The first word of a descriptor in a parcel.
pub const DESCRIPTOR: u32 = 2;
/// The first word of an object of the sender that stands for a file, where files are relayed
/// ([`FdMode::Relayed`](crate::handshake::FdMode)). The object's number follows; all is as long as a descriptor.
pub const STAND_IN: u32 = 3;

/// What a side knows beside Android's protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extensions {
    /// Calls say how long their caller will wait ([`timeout_us`](crate::RpcTransaction::timeout_us)).
    pub has_timeouts: bool,
    /// Calls say to which request they belong ([`trace_id`](crate::RpcTransaction::trace_id)).
    pub has_trace_ids: bool,
    /// Calls say for which user they are made ([`caller_uid`](crate::RpcTransaction::caller_uid)).
    pub has_callers: bool,
}

impl Extensions {
    /// All that this crate knows.
    pub const ALL: Self = Self { has_timeouts: true, has_trace_ids: true, has_callers: true };

    const HAS_TIMEOUTS: u32 = 1;
    const HAS_TRACE_IDS: u32 = 2;
    const HAS_CALLERS: u32 = 4;

    /// Returns the parcel that answers [`GET_EXTENSIONS`]: its code once more, and a bit for each.
    #[must_use]
    pub fn answer(self) -> [u8; 8] {
        let timeouts = if self.has_timeouts { Self::HAS_TIMEOUTS } else { 0 };
        let trace_ids = if self.has_trace_ids { Self::HAS_TRACE_IDS } else { 0 };
        let callers = if self.has_callers { Self::HAS_CALLERS } else { 0 };
        let bits = timeouts | trace_ids | callers;
        let mut parcel = [0; 8];
        parcel[..4].copy_from_slice(&GET_EXTENSIONS.to_le_bytes());
        parcel[4..].copy_from_slice(&bits.to_le_bytes());
        parcel
    }

    /// Reads the answer to [`GET_EXTENSIONS`]: one that is none means that nothing is known.
    #[must_use]
    pub fn read(parcel: &[u8]) -> Self {
        let Ok(([code, bits], _)) = <[U32; 2]>::read_from_prefix(parcel) else {
            return Self::default();
        };
        let has = |bit| code.get() == GET_EXTENSIONS && bits.get() & bit != 0;
        Self {
            has_timeouts: has(Self::HAS_TIMEOUTS),
            has_trace_ids: has(Self::HAS_TRACE_IDS),
            has_callers: has(Self::HAS_CALLERS),
        }
    }
}

/// Returns the parcel that answers [`GET_MAX_THREADS`].
#[must_use]
pub fn max_threads(threads: u32) -> [u8; 4] {
    i32::try_from(threads).unwrap_or(i32::MAX).max(1).to_le_bytes()
}

/// Reads the answer to [`GET_MAX_THREADS`].
///
/// # Errors
///
/// [`Ending::BadAnswer`] if it is no positive number.
pub fn read_max_threads(parcel: &[u8]) -> Result<u32, Ending> {
    let (threads, _) = I32::read_from_prefix(parcel).map_err(|_| Ending::BadAnswer)?;
    u32::try_from(threads.get()).ok().filter(|&threads| threads > 0).ok_or(Ending::BadAnswer)
}

/// Returns the parcel that answers [`GET_SESSION_ID`]: a vector of bytes.
#[must_use]
pub fn session_id(id: &SessionId) -> [u8; 4 + SESSION_ID_BYTES] {
    let mut parcel = [0; 4 + SESSION_ID_BYTES];
    parcel[0] = 32;
    parcel[4..].copy_from_slice(id);
    parcel
}

/// Reads the answer to [`GET_SESSION_ID`].
///
/// # Errors
///
/// [`Ending::BadAnswer`] if it is not exactly one id.
pub fn read_session_id(parcel: &[u8]) -> Result<SessionId, Ending> {
    let (length, id) = I32::read_from_prefix(parcel).map_err(|_| Ending::BadAnswer)?;
    match usize::try_from(length.get()) {
        Ok(SESSION_ID_BYTES) => id.first_chunk().copied().ok_or(Ending::BadAnswer),
        _ => Err(Ending::BadAnswer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_another_library_is_no_extension() {
        assert_eq!(Extensions::read(&Extensions::ALL.answer()), Extensions::ALL);
        assert_eq!(Extensions::read(&Extensions::default().answer()), Extensions::default());
        for other in [&[][..], &[0; 8], &[255; 8], &GET_EXTENSIONS.to_le_bytes()] {
            assert_eq!(Extensions::read(other), Extensions::default());
        }
    }
}
