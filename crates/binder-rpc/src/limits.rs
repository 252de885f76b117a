//! How much a peer may ask of a session.

use core::time::Duration;

/// The descriptors that one message may bring: what Linux passes at once.
pub const MAX_FILES: usize = 253;

/// What a session grants its peer; beyond it the session ends, or a call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// The longest body that is received.
    pub max_received_bytes: usize,
    /// The longest body that is sent; a longer call is refused before a byte has left.
    pub max_sent_bytes: usize,
    /// Objects of either side that the session may hold.
    pub max_objects: usize,
    /// Calls within calls on one connection.
    pub max_depth: usize,
    /// One-way calls that wait for an earlier one to the same object.
    pub max_queued_oneways: usize,
    /// From this number of waiting one-way calls on, the owner is warned.
    pub warn_queued_oneways: usize,
    /// The bytes of all one-way calls that wait, in the whole session.
    pub max_queued_bytes: usize,
    /// The descriptors of all one-way calls that wait, in the whole session.
    pub max_queued_files: usize,
    /// Connections that a server accepts for one session, in both directions together.
    pub max_connections: usize,
    /// How long the peer may stop within a message, or leave one of ours unread.
    pub max_stall: Duration,
}

impl Default for SessionLimits {
    /// The limits of Android's newest libbinder, and bounds where it has none.
    fn default() -> Self {
        Self {
            max_received_bytes: 600 << 10,
            max_sent_bytes: 600 << 10,
            max_objects: 100_000,
            max_depth: 64,
            max_queued_oneways: 10_000,
            warn_queued_oneways: 1_000,
            max_queued_bytes: 64 << 20,
            // Half of what processes may have open, most often.
            max_queued_files: 512,
            max_connections: 64,
            max_stall: Duration::from_secs(30),
        }
    }
}
