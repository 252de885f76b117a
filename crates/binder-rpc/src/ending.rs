//! Why a session is over.

use core::time::Duration;

use crate::Address;
use crate::address::BadAddress;

/// The reason for which a session ended. All but the first three are the peer's fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ending {
    /// Our own side shut it down.
    #[error("shut down by this side")]
    ShutDown,
    /// The peer closed a connection between two messages.
    #[error("the peer closed a connection")]
    Closed,
    /// Neither side holds an object of the other any more.
    #[error("the last object is gone")]
    LastObjectGone,
    /// The socket failed.
    #[error("the socket failed: errno {errno}")]
    Socket {
        /// The system's error number, 0 if there is none.
        errno: i32,
    },
    /// The peer closed a connection within a message.
    #[error("the stream ended {bytes} bytes into a message")]
    Truncated {
        /// What had arrived of the message.
        bytes: usize,
    },
    /// The peer began a message and did not go on with it.
    #[error(
        "the peer stopped after {received} of {expected} bytes of a message, and has not gone on for {after:?}"
    )]
    Stalled {
        /// What had arrived of the message.
        received: usize,
        /// Its length; that of a header, if not even that had arrived.
        expected: usize,
        /// How long it was waited for.
        after: Duration,
    },
    /// The peer did not read what was sent to it.
    #[error("the peer has read nothing for {after:?}: {unsent} bytes of a message are not sent")]
    Unread {
        /// What was left of the message.
        unsent: usize,
        /// How long room for it was waited for.
        after: Duration,
    },
    /// A command that is none.
    #[error("command {command} is unknown")]
    UnknownCommand {
        /// The word.
        command: u32,
    },
    /// A body beyond the limit.
    #[error("a body of {bytes} bytes: at most {limit} are taken")]
    Oversized {
        /// What the header said.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// A body whose length does not fit its command.
    #[error("a body of {bytes} bytes for command {command}, which takes {needed}")]
    WrongSize {
        /// The command.
        command: u32,
        /// What the header said.
        bytes: usize,
        /// What the command takes, at least.
        needed: usize,
    },
    /// A parcel longer than what is left of its body.
    #[error("a parcel of {parcel} bytes in {left} bytes of body")]
    ParcelBeyondBody {
        /// What the message said.
        parcel: usize,
        /// What there is.
        left: usize,
    },
    /// A list of positions that is no row of words.
    #[error("{bytes} bytes of object positions after a parcel of {parcel} bytes")]
    BadPositions {
        /// The length of the list.
        bytes: usize,
        /// The length of the parcel.
        parcel: usize,
    },
    /// Descriptors that no message announced.
    #[error("{count} descriptors came with no message to claim them")]
    StrayDescriptors {
        /// How many.
        count: usize,
    },
    /// The system could not pass all descriptors of a message.
    #[error("the system dropped descriptors of a message")]
    LostDescriptors,
    /// An address with options of neither side.
    #[error(transparent)]
    BadAddress(#[from] BadAddress),
    /// A call of an object, or a return of one, that this side does not know.
    #[error("{0} is unknown here")]
    UnknownAddress(Address),
    /// An answer that no call waits for.
    #[error("an answer without a call")]
    UnexpectedReply,
    /// A call on a connection, or at a time, where the peer may make none.
    #[error("a call where the peer may make none")]
    UnexpectedCall,
    /// Calls within calls, too many.
    #[error("{depth} calls within each other on one connection")]
    TooDeep {
        /// How many.
        depth: usize,
    },
    /// A one-way call whose number has been before.
    #[error("one-way call {number} to {address} came again, {expected} is due")]
    RepeatedOneway {
        /// The object.
        address: Address,
        /// The number of the call.
        number: u64,
        /// The number that is due.
        expected: u64,
    },
    /// Too many one-way calls wait.
    #[error("{queued} one-way calls wait for {address}")]
    OnewayFlood {
        /// The object.
        address: Address,
        /// How many wait.
        queued: usize,
    },
    /// One-way calls wait with too many bytes.
    #[error("{bytes} bytes of one-way calls wait, at most {limit} may")]
    OnewayBytes {
        /// How many wait.
        bytes: usize,
        /// How many may.
        limit: usize,
    },
    /// One-way calls wait with too many descriptors.
    #[error("{files} descriptors of one-way calls wait, at most {limit} may")]
    OnewayFiles {
        /// How many wait.
        files: usize,
        /// How many may.
        limit: usize,
    },
    /// More than the peer's share of what a server holds for all its peers together.
    #[error("{wanted} {what} for one peer, whose share is {share}")]
    OverShare {
        /// What it is that is held.
        what: &'static str,
        /// How much it would be.
        wanted: usize,
        /// How much the peer may have.
        share: usize,
    },
    /// More objects than the session may hold.
    #[error("{count} objects in one session")]
    TooManyObjects {
        /// How many.
        count: usize,
    },
    /// The answer of a handshake was none.
    #[error("the answer to a special call could not be read")]
    BadAnswer,
}

impl Ending {
    /// Returns whether the peer broke a rule, rather than leaving or being left.
    #[must_use]
    pub fn is_fault(&self) -> bool {
        !matches!(self, Self::ShutDown | Self::Closed | Self::LastObjectGone | Self::Socket { .. })
    }
}
