//! The bytes that arrive on a connection.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;

use zerocopy::FromBytes;

use crate::message::{Parts, WireParcel, split};
use crate::wire::{COMMAND_DEC_STRONG, WireHeader};
use crate::{
    Address, BadParcel, Ending, MAX_FILES, ParcelLists, ProtocolVersion, ReceivedParcel, Reply,
    RpcMessage, RpcTransaction, SessionLimits,
};

/// The least room for a read.
const MIN_BYTES: usize = 16 << 10;

/// How finely it is taken down how long messages are.
const STEP_BYTES: usize = 4 << 10;

/// The most room that is made before it is needed: no pool keeps buffers as large.
const MAX_BYTES: usize = 1 << 20;

/// A connection's bytes and descriptors until they make messages.
///
/// One read of the socket takes whatever is there into [`room`](Self::room): a header and its body,
/// part of one, or several messages. A message that ends with what has arrived takes the buffer along,
/// as nearly all do, and its parcel is never moved. There is as much room as the longest message has
/// needed, up to a mebibyte, so that the next of its size comes in one read too.
#[derive(Debug)]
pub struct Inbox<F> {
    /// What has arrived; what is before `start` has been taken.
    buffer: Vec<u8>,
    start: usize,
    /// The length of the longest message so far, if that is not too much.
    usual_bytes: usize,
    files: VecDeque<F>,
    /// Gives an empty buffer.
    take_empty: fn() -> Vec<u8>,
}

/// The part of a message that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partial {
    /// How much that is.
    pub received: usize,
    /// How much the message has, or its header while that has not arrived.
    pub expected: usize,
    /// Whether it may be one that only gives references back.
    pub may_be_release: bool,
}

impl Partial {
    /// Nothing that is a byte of the message yet.
    pub const NOTHING: Self =
        Self { received: 0, expected: size_of::<WireHeader>(), may_be_release: true };
}

impl<F> Default for Inbox<F> {
    fn default() -> Self {
        Self::new(Vec::new)
    }
}

impl<F> Inbox<F> {
    /// Makes an inbox in which nothing has arrived. `take_empty` gives its buffers, so that its
    /// owner can reuse those of parcels that are done with.
    #[must_use]
    pub fn new(take_empty: fn() -> Vec<u8>) -> Self {
        let (buffer, files) = (Vec::new(), VecDeque::new());
        Self { buffer, start: 0, usual_bytes: STEP_BYTES, files, take_empty }
    }

    /// Returns where the next read is to append what it brings. There is room for something.
    ///
    /// At most twice what has arrived is set aside, whatever a header announces.
    pub fn room(&mut self) -> &mut Vec<u8> {
        if self.start == self.buffer.len() {
            self.start = 0;
            self.buffer.clear();
            if self.buffer.capacity() == 0 {
                self.buffer = (self.take_empty)();
            }
            self.buffer.reserve(self.usual_bytes.max(MIN_BYTES));
        } else if self.buffer.len() == self.buffer.capacity() {
            self.buffer.drain(..self.start);
            self.start = 0;
            // Nothing, if the start has made room.
            self.buffer.reserve(1);
        }
        &mut self.buffer
    }

    /// Gives up the memory for what arrives next, if nothing has arrived: the connection is idle.
    pub fn rest(&mut self) {
        if self.is_empty() {
            (self.buffer, self.start) = (Vec::new(), 0);
        }
    }

    /// Returns how long messages have been at most.
    #[must_use]
    pub fn usual_bytes(&self) -> usize {
        self.usual_bytes
    }

    /// Takes in the descriptors that came with a read.
    pub fn add_files(&mut self, files: impl IntoIterator<Item = F>) {
        // Nearly always none, for which `extend` does too much.
        files.into_iter().for_each(|file| self.files.push_back(file));
    }

    /// Returns how many descriptors have arrived whose message has not.
    #[must_use]
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// Returns the bytes that have arrived and are no message yet.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Returns whether nothing has arrived that is no message yet.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.start == self.buffer.len() && self.files.is_empty()
    }

    /// Forgets the first `bytes` bytes: a handshake has read them.
    pub fn consume(&mut self, bytes: usize) {
        self.start = (self.start + bytes).min(self.buffer.len());
    }

    /// Returns how much of a message has arrived, if that is not all of it.
    ///
    /// To be asked when there is no [`next`](Self::next).
    #[must_use]
    pub fn partial(&self) -> Option<Partial> {
        let bytes = self.bytes();
        let command = bytes.first_chunk().map(|word| u32::from_le_bytes(*word));
        let body_bytes = match WireHeader::ref_from_prefix(bytes) {
            Ok((header, _)) => usize::try_from(header.body_bytes.get()).unwrap_or(usize::MAX),
            Err(_) => 0,
        };
        (!bytes.is_empty()).then_some(Partial {
            received: bytes.len(),
            expected: size_of::<WireHeader>().saturating_add(body_bytes),
            may_be_release: command.is_none_or(|command| command == COMMAND_DEC_STRONG),
        })
    }

    /// Returns why a session is over whose peer has closed this connection.
    #[must_use]
    pub fn closed(&self) -> Ending {
        match self.bytes().len() {
            0 => Ending::Closed,
            bytes => Ending::Truncated { bytes },
        }
    }

    /// Takes the next message if all of it has arrived.
    ///
    /// # Errors
    ///
    /// The [`Ending`] that the peer has earned with these bytes.
    pub fn next(
        &mut self,
        version: ProtocolVersion,
        limits: &SessionLimits,
    ) -> Result<Option<RpcMessage<F>>, Ending> {
        let bytes = &self.buffer[self.start..];
        let Ok((header, rest)) = WireHeader::ref_from_prefix(bytes) else {
            return self.none_yet();
        };
        let body_bytes = usize::try_from(header.body_bytes.get()).unwrap_or(usize::MAX);
        if body_bytes > limits.max_received_bytes {
            return Err(Ending::Oversized { bytes: body_bytes, limit: limits.max_received_bytes });
        }
        let Some(body) = rest.get(..body_bytes) else {
            return self.none_yet();
        };
        let end = self.start + size_of::<WireHeader>() + body_bytes;
        Ok(Some(match split(header, body, version)? {
            Parts::Transact { header, parcel } => {
                let (code, flags) = (header.code.get(), header.flags.get());
                let (target, async_number) =
                    (Address::parse(header.address), header.async_number.get());
                let (timeout_us, trace_id) = (header.timeout_us.get(), header.trace_id.get());
                let caller_uid = header.caller.get().checked_sub(1);
                let place = place(&parcel, end);
                let lists = take_lists(&parcel, &mut self.files);
                let mut body = self.take_body(place, lists, end);
                let address = target.unwrap_or_else(|bad| {
                    body.lists.get_or_insert_default().bad = Some(bad.into());
                    None
                });
                RpcMessage::Transact(RpcTransaction {
                    address,
                    code,
                    flags,
                    async_number,
                    timeout_us,
                    trace_id,
                    caller_uid,
                    body,
                })
            }
            Parts::Reply { status, parcel } => {
                let place = place(&parcel, end);
                let lists = take_lists(&parcel, &mut self.files);
                RpcMessage::Reply(Reply { status, body: self.take_body(place, lists, end) })
            }
            Parts::DecStrong(parts) => {
                let (address, amount) = (Address::parse(parts.address)?, parts.amount.get());
                self.start = end;
                RpcMessage::DecStrong { address, amount }
            }
        }))
    }

    /// Makes the body of a message that ends at `end`: it has the buffer, or, if more has arrived, a
    /// copy.
    #[inline(always)]
    fn take_body(
        &mut self,
        place: Range<usize>,
        lists: Option<Box<ParcelLists<F>>>,
        end: usize,
    ) -> ReceivedParcel<F> {
        if end < self.buffer.len() {
            self.start = end;
            let mut buffer = (self.take_empty)();
            buffer.extend_from_slice(&self.buffer[place]);
            return ReceivedParcel { buffer, start: 0, lists };
        }
        self.start = 0;
        self.usual_bytes = self.usual_bytes.max(end.next_multiple_of(STEP_BYTES)).min(MAX_BYTES);
        let mut buffer = core::mem::take(&mut self.buffer);
        buffer.truncate(place.end);
        ReceivedParcel { buffer, start: place.start, lists }
    }

    /// Refuses descriptors that came with bytes of which nothing is left, and more than the message can
    /// have that has begun.
    fn none_yet(&self) -> Result<Option<RpcMessage<F>>, Ending> {
        let most = if self.bytes().is_empty() { 0 } else { MAX_FILES };
        match self.files.len() {
            count if count > most => Err(Ending::StrayDescriptors { count }),
            _ => Ok(None),
        }
    }
}

/// Returns where a parcel lies in a stream whose message ends at `end`.
fn place(parcel: &WireParcel<'_>, end: usize) -> Range<usize> {
    let data_end = end - size_of_val(parcel.positions) - parcel.unread_bytes;
    data_end - parcel.data.len()..data_end
}

#[inline(always)]
fn take_lists<F>(parcel: &WireParcel<'_>, files: &mut VecDeque<F>) -> Option<Box<ParcelLists<F>>> {
    if parcel.positions.is_empty() && parcel.bad.is_none() {
        return None;
    }
    let (listed, received) = (parcel.descriptors, files.len());
    let missing = (listed > received).then_some(BadParcel::MissingDescriptors { listed, received });
    let mut files: Vec<F> = files.drain(..listed.min(received)).collect();
    if parcel.bad.is_some() {
        // It is unknown where they belong.
        files.clear();
    }
    let positions = parcel.positions.iter().map(|position| position.get()).collect();
    Some(Box::new(ParcelLists { positions, files, bad: parcel.bad.or(missing) }))
}
