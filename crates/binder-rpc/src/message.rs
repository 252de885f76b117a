//! A message, read from its bytes.

use alloc::boxed::Box;
use alloc::vec::Vec;

use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use crate::address::BadAddress;
use crate::special::{BINDER, DESCRIPTOR, STAND_IN};
use crate::wire::{self, COMMAND_DEC_STRONG, COMMAND_REPLY, COMMAND_TRANSACT, WireHeader};
use crate::{Address, Ending, ProtocolVersion};

/// An error in the objects that a message names. The stream is in step, so only this call fails,
/// with `BAD_VALUE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadParcel {
    /// A position outside the parcel, or not after the one before it.
    #[error("object position {position} in a parcel of {parcel} bytes")]
    Position {
        /// The position.
        position: u32,
        /// The length of the parcel.
        parcel: usize,
    },
    /// A listed object of a kind that the version does not list.
    #[error("an object of kind {kind} at position {position}")]
    Object {
        /// Where it lies in the parcel.
        position: u32,
        /// Its first word.
        kind: u32,
    },
    /// A call to an address with options of neither side.
    #[error(transparent)]
    Address(#[from] BadAddress),
    /// Descriptors that are listed and did not come: the system drops those that are sent over another
    /// socket than a Unix one.
    #[error("a message lists {listed} descriptors, {received} came")]
    MissingDescriptors {
        /// What the message lists.
        listed: usize,
        /// What had come.
        received: usize,
    },
}

/// A parcel as it came, with descriptors of the front end's type `F`.
#[derive(Debug)]
pub struct ReceivedParcel<F> {
    /// The memory that the parcel lies in, to its end.
    pub buffer: Vec<u8>,
    /// Where the parcel begins in that memory.
    pub start: usize,
    /// What came with it; nearly always nothing.
    pub lists: Option<Box<ParcelLists<F>>>,
}

/// What comes with a parcel beside its bytes.
#[derive(Debug)]
pub struct ParcelLists<F> {
    /// Where the listed objects lie in the parcel.
    pub positions: Vec<u32>,
    /// The descriptors that came with it.
    pub files: Vec<F>,
    /// Why the parcel must not be read.
    pub bad: Option<BadParcel>,
}

impl<F> Default for ParcelLists<F> {
    fn default() -> Self {
        Self { positions: Vec::new(), files: Vec::new(), bad: None }
    }
}

impl<F> Default for ReceivedParcel<F> {
    fn default() -> Self {
        Self { buffer: Vec::new(), start: 0, lists: None }
    }
}

impl<F> ReceivedParcel<F> {
    /// Returns the parcel.
    #[must_use]
    pub fn data(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Gives up the memory around the parcel, for one that is kept for long.
    pub fn compact(&mut self) {
        self.buffer.drain(..self.start);
        self.start = 0;
        self.buffer.shrink_to_fit();
    }

    /// Returns how many descriptors came with it.
    #[must_use]
    pub fn files(&self) -> usize {
        self.lists.as_ref().map_or(0, |lists| lists.files.len())
    }

    /// Returns why the parcel must not be read.
    #[must_use]
    pub fn bad(&self) -> Option<&BadParcel> {
        self.lists.as_ref()?.bad.as_ref()
    }

    /// Returns what is listed as an object: where it lies, and what it is.
    pub fn objects(&self) -> impl Iterator<Item = (u32, Result<Listed, BadAddress>)> {
        let positions = self.lists.iter().flat_map(|lists| &lists.positions);
        positions.filter_map(|&position| {
            let at = usize::try_from(position).ok()?;
            let (kind, rest) = U32::read_from_prefix(self.data().get(at..)?).ok()?;
            let listed = match kind.get() {
                BINDER => {
                    let word = u64::from_le_bytes(*rest.first_chunk()?);
                    Address::from_word(word).map(Listed::Binder)
                }
                STAND_IN => Ok(Listed::StandIn(u32::from_le_bytes(*rest.first_chunk()?))),
                _ => Ok(Listed::File(i32::from_le_bytes(*rest.first_chunk()?))),
            };
            Some((position, listed))
        })
    }
}

/// An object that a message lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// A binder; only version 2 lists any.
    Binder(Address),
    /// A descriptor: its place among those that came.
    File(i32),
    /// A file that is relayed: the number of the sender's object that stands for it; only version 2 lists any.
    StandIn(u32),
}

/// A call.
#[derive(Debug)]
pub struct RpcTransaction<F> {
    /// The object; `None` is the special target, or a [bad](ParcelLists::bad) one.
    pub address: Option<Address>,
    /// The method.
    pub code: u32,
    /// The flags of the call.
    pub flags: u32,
    /// Its place among the one-way calls to the object.
    pub async_number: u64,
    /// How many microseconds the caller will wait; 0 if it does not say. Of a peer that has not agreed
    /// to say so, it means nothing.
    pub timeout_us: u32,
    /// By what people find the request in logs; 0 if there is none. The same holds of it.
    pub trace_id: u32,
    /// For which user of its machine the sender makes the call; `None` if it does not say. The same holds of it, and
    /// besides it is the sender's word alone.
    pub caller_uid: Option<u32>,
    /// The arguments.
    pub body: ReceivedParcel<F>,
}

impl<F> RpcTransaction<F> {
    /// Returns whether the caller does not wait for an answer.
    #[must_use]
    pub fn is_oneway(&self) -> bool {
        self.flags & wire::FLAG_ONEWAY != 0
    }
}

/// The answer to a call.
#[derive(Debug)]
pub struct Reply<F> {
    /// Zero, or the error; there is no parcel then.
    pub status: i32,
    /// The results.
    pub body: ReceivedParcel<F>,
}

/// What arrived.
#[derive(Debug)]
pub enum RpcMessage<F> {
    /// A call.
    Transact(RpcTransaction<F>),
    /// An answer.
    Reply(Reply<F>),
    /// References that go back to us.
    DecStrong {
        /// The object.
        address: Option<Address>,
        /// How many.
        amount: u32,
    },
}

impl<F> RpcMessage<F> {
    /// Returns how many descriptors came with it.
    #[must_use]
    pub fn files(&self) -> usize {
        match self {
            Self::Transact(transaction) => transaction.body.files(),
            Self::Reply(reply) => reply.body.files(),
            Self::DecStrong { .. } => 0,
        }
    }
}

/// A message's parts, still in the stream.
pub(crate) enum Parts<'a> {
    Transact { header: &'a wire::TransactionHeader, parcel: WireParcel<'a> },
    Reply { status: i32, parcel: WireParcel<'a> },
    DecStrong(&'a wire::DecStrong),
}

/// A parcel in the stream.
#[derive(Default)]
pub(crate) struct WireParcel<'a> {
    pub(crate) data: &'a [u8],
    pub(crate) positions: &'a [U32],
    /// How many descriptors the positions announce; if they are bad, at most.
    pub(crate) descriptors: usize,
    pub(crate) bad: Option<BadParcel>,
    /// What follows the positions and is not read.
    pub(crate) unread_bytes: usize,
}

/// Splits the body of a message.
#[inline(always)]
pub(crate) fn split<'a>(
    header: &WireHeader,
    body: &'a [u8],
    version: ProtocolVersion,
) -> Result<Parts<'a>, Ending> {
    let command = header.command.get();
    match command {
        COMMAND_TRANSACT => {
            let (header, rest) = prefix::<wire::TransactionHeader>(command, body)?;
            let parcel = split_parcel(header.parcel_bytes, rest, version)?;
            Ok(Parts::Transact { header, parcel })
        }
        COMMAND_REPLY if version.has_positions() => {
            let (header, rest) = prefix::<wire::ReplyHeader>(command, body)?;
            let status = header.status.get();
            // An error is the whole answer: what follows it is not read.
            let parcel = match status {
                0 => split_parcel(header.parcel_bytes, rest, version)?,
                _ => WireParcel { unread_bytes: rest.len(), ..WireParcel::default() },
            };
            Ok(Parts::Reply { status, parcel })
        }
        COMMAND_REPLY => {
            let (status, rest) = prefix::<zerocopy::little_endian::I32>(command, body)?;
            let parcel = match status.get() {
                0 => WireParcel { data: rest, ..WireParcel::default() },
                _ => WireParcel { unread_bytes: rest.len(), ..WireParcel::default() },
            };
            Ok(Parts::Reply { status: status.get(), parcel })
        }
        COMMAND_DEC_STRONG => {
            let (parts, rest) = prefix::<wire::DecStrong>(command, body)?;
            if !rest.is_empty() {
                return Err(wrong_size(command, body, size_of::<wire::DecStrong>()));
            }
            Ok(Parts::DecStrong(parts))
        }
        command => Err(Ending::UnknownCommand { command }),
    }
}

fn prefix<T: FromBytes + KnownLayout + Immutable + Unaligned>(
    command: u32,
    body: &[u8],
) -> Result<(&T, &[u8]), Ending> {
    T::ref_from_prefix(body).map_err(|_| wrong_size(command, body, size_of::<T>()))
}

fn wrong_size(command: u32, body: &[u8], needed: usize) -> Ending {
    Ending::WrongSize { command, bytes: body.len(), needed }
}

fn split_parcel(
    bytes: U32,
    rest: &[u8],
    version: ProtocolVersion,
) -> Result<WireParcel<'_>, Ending> {
    if !version.has_positions() {
        return Ok(WireParcel { data: rest, ..WireParcel::default() });
    }
    let bytes = usize::try_from(bytes.get()).unwrap_or(usize::MAX);
    let (data, list) = rest
        .split_at_checked(bytes)
        .ok_or(Ending::ParcelBeyondBody { parcel: bytes, left: rest.len() })?;
    let positions = <[U32]>::ref_from_bytes(list)
        .map_err(|_| Ending::BadPositions { bytes: list.len(), parcel: data.len() })?;
    Ok(match count_descriptors(data, positions, version) {
        Ok(descriptors) => WireParcel { data, positions, descriptors, bad: None, unread_bytes: 0 },
        Err(bad) => WireParcel {
            descriptors: positions.len(),
            bad: Some(bad),
            unread_bytes: rest.len(),
            ..WireParcel::default()
        },
    })
}

/// Checks every listed object, and counts the descriptors among them.
fn count_descriptors(
    data: &[u8],
    positions: &[U32],
    version: ProtocolVersion,
) -> Result<usize, BadParcel> {
    let mut descriptors = 0;
    let mut next = 0;
    for position in positions {
        let position = position.get();
        let bad = BadParcel::Position { position, parcel: data.len() };
        let Some(at) = usize::try_from(position).ok().filter(|&at| at >= next) else {
            return Err(bad);
        };
        // More than the kind must follow: an index, or an address.
        let Some((kind, rest)) =
            data.get(at..).and_then(|object| object.split_first_chunk().map(|(k, r)| (*k, r)))
        else {
            return Err(bad);
        };
        if rest.is_empty() {
            return Err(bad);
        }
        let kind = u32::from_le_bytes(kind);
        match kind {
            DESCRIPTOR if rest.len() >= size_of::<i32>() => descriptors += 1,
            BINDER if version.lists_binders() && rest.len() >= size_of::<u64>() => {}
            STAND_IN if version.lists_binders() && rest.len() >= size_of::<u32>() => {}
            DESCRIPTOR => return Err(bad),
            BINDER | STAND_IN if version.lists_binders() => return Err(bad),
            kind => return Err(BadParcel::Object { position, kind }),
        }
        if version.lists_binders() {
            next = at + 1;
        }
    }
    Ok(descriptors)
}
