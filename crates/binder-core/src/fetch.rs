//! A piece of a write buffer, with all that its commands point to, as it was fetched.
//!
//! A client's memory may take its time: a page may have to come from a disk, or from another process
//! that means harm. So it is read before anything is decided, while the driver is free for others,
//! and each byte once. What was fetched has no effect until [`Context::write_read`] runs it, piece
//! by piece; a long write buffer lets others have their turn in between.
//!
//! [`Context::write_read`]: crate::Context::write_read

use alloc::vec::Vec;

use binder_uapi::{
    BC_REPLY, BC_REPLY_SG, BC_TRANSACTION, BC_TRANSACTION_SG, BINDER_TYPE_PTR, BinderBufferObject,
    BinderTransactionData, BinderTransactionDataSg, BinderWriteRead, FlatBinderObject,
};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use crate::buffer::{Layout, Sizes};
use crate::early_reservation::EarlyReservationKey;
use crate::env::{CallerMemory, ClaimedAddr, CopyFault};
use crate::error::Errno;
use crate::scatter::Pieces;
use crate::transaction::TransactionKind;

/// How much of a write buffer is fetched at once: enough for a reply with its clean-up.
const PIECE_BYTES: usize = 256;
/// A piece has room for no more sends than this.
const MAX_SENDS: usize = PIECE_BYTES / (CODE_BYTES + size_of::<BinderTransactionData>());
/// A piece ends with the send that brings what is fetched along beyond this.
const ENOUGH_BYTES: usize = 64 << 10;
const CODE_BYTES: usize = 4;
/// Data of this many bytes is worth an early reservation.
const LARGE_BYTES: usize = 16 << 10;
/// How much memory of a payload is kept for the next.
const KEPT_BYTES: usize = 128 << 10;

/// The next commands of a write buffer.
#[derive(Debug)]
pub struct Commands {
    /// Where the piece begins in the write buffer.
    start: u64,
    bytes: [u8; PIECE_BYTES],
    len: usize,
    at: usize,
    /// What its sends carry, in their order; and memory of those of earlier pieces.
    payloads: [Payload; MAX_SENDS],
    /// How many of those belong to this piece.
    sends: usize,
    next_payload: usize,
}

/// What a transaction carries, as its sender wrote it.
#[derive(Debug)]
pub(crate) struct Payload {
    /// Of the last one only as many bytes count as the sender gave.
    pub(crate) offsets: Vec<u64>,
    /// The data; if there are offsets, with room for these and with the scatter-gather pieces, as they
    /// will lie in the receiver's buffer.
    pub(crate) bytes: Vec<u8>,
    /// How many bytes of data were put into an early reservation instead: all, or those that
    /// could be read.
    pub(crate) placed_bytes: usize,
    /// That reservation, until the send takes it up.
    pub(crate) reservation: Option<EarlyReservationKey>,
    /// The first part that could not be read. Nothing was fetched after it.
    pub(crate) fault: Option<Part>,
}

/// A send that is the next command.
pub(crate) struct NextSend {
    pub(crate) code: u32,
    pub(crate) kind: TransactionKind,
    pub(crate) data: BinderTransactionDataSg,
    /// Where the command ends.
    end: usize,
}

/// A part of a payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    Offsets,
    Data,
    /// The piece that belongs at this position.
    Piece(usize),
}

impl Commands {
    /// No commands, for a call whose commands have all been run.
    pub fn none(request: &BinderWriteRead) -> Self {
        Self {
            start: request.write_consumed,
            bytes: [0; PIECE_BYTES],
            len: 0,
            at: 0,
            payloads: [const { Payload::EMPTY }; MAX_SENDS],
            sends: 0,
            next_payload: 0,
        }
    }

    /// Fetches the commands that follow those that were run, as far as they fit into a piece.
    ///
    /// Memory that cannot be read ends the piece; the command that needs it fails when it is run.
    pub fn fetch(request: &BinderWriteRead, memory: &mut dyn CallerMemory) -> Self {
        let mut commands = Self::none(request);
        commands.fetch_next(request, memory);
        commands
    }

    /// As [`fetch`](Self::fetch), in the place of commands that are not needed any more: a large
    /// payload then finds memory that is at hand.
    pub fn fetch_next(&mut self, request: &BinderWriteRead, memory: &mut dyn CallerMemory) {
        self.clear(request);
        let left = request.write_size.saturating_sub(request.write_consumed);
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        let Some(address) = request.write_buffer.checked_add(request.write_consumed) else {
            return;
        };
        let len = left.min(PIECE_BYTES);
        if memory.read(ClaimedAddr(address), &mut self.bytes[..len]).is_ok() {
            self.len = len;
            if len == left {
                self.fetch_rest(address, memory);
            }
        } else if left > 0 {
            // The unreadable part may lie behind the next command.
            self.fetch_one(address, memory);
        }
        self.fetch_payloads(memory);
    }

    /// As [`none`](Self::none), in the place of commands that are not needed any more.
    pub fn clear(&mut self, request: &BinderWriteRead) {
        self.start = request.write_consumed;
        (self.len, self.at, self.sends, self.next_payload) = (0, 0, 0, 0);
    }

    /// Fetches no byte more than the next command has.
    fn fetch_one(&mut self, address: u64, memory: &mut dyn CallerMemory) {
        self.fetch_up_to(CODE_BYTES, address, memory);
        if let Some((_, end)) = self.command_at(0) {
            self.fetch_up_to(end, address, memory);
        }
    }

    /// Fetches what the last command of the write buffer has beyond that buffer's end: the buffer says
    /// where the last command begins, and its code where it ends (Linux `drivers/android/binder.c`,
    /// `binder_thread_write`).
    fn fetch_rest(&mut self, address: u64, memory: &mut dyn CallerMemory) {
        let mut at = 0;
        while at < self.len {
            self.fetch_up_to(at + CODE_BYTES, address, memory);
            let Some((_, end)) = self.command_at(at) else { return };
            self.fetch_up_to(end, address, memory);
            at = end;
        }
    }

    /// Fetches the bytes from where the piece ends so far up to `end`: all of them or none.
    fn fetch_up_to(&mut self, end: usize, address: u64, memory: &mut dyn CallerMemory) {
        let Some(address) = address.checked_add(self.len as u64) else { return };
        if let Some(rest) = self.bytes.get_mut(self.len..end)
            && !rest.is_empty()
            && memory.read(ClaimedAddr(address), rest).is_ok()
        {
            self.len = end;
        }
    }

    /// Fetches what the sends in the piece carry, and cuts off what belongs into the next piece.
    fn fetch_payloads(&mut self, memory: &mut dyn CallerMemory) {
        let (mut at, mut fetched_bytes) = (0, 0);
        while let Some((code, end)) = self.command_at(at) {
            if end > self.len {
                break;
            }
            if let Some((kind, data)) = self.send_at(code, at + CODE_BYTES) {
                if self.sends == MAX_SENDS || fetched_bytes > ENOUGH_BYTES {
                    self.len = at;
                    return;
                }
                let payload = &mut self.payloads[self.sends];
                payload.fetch(kind, &data, memory);
                fetched_bytes += payload.bytes.len() + size_of_val(payload.offsets.as_slice());
                fetched_bytes += payload.placed_bytes;
                self.sends += 1;
            }
            at = end;
        }
        // A first command that could not be read as a whole is run, and fails.
        if at > 0 {
            self.len = at;
        }
    }

    /// The code at `at`, and where the command ends by what the code says of its size.
    fn command_at(&self, at: usize) -> Option<(u32, usize)> {
        let (code, _) = u32::read_from_prefix(self.bytes[..self.len].get(at..)?).ok()?;
        Some((code, at + CODE_BYTES + binder_uapi::payload_len(code)))
    }

    fn send_at(&self, code: u32, at: usize) -> Option<(TransactionKind, BinderTransactionDataSg)> {
        let bytes = self.bytes.get(at..)?;
        let mut data = BinderTransactionDataSg::new_zeroed();
        match code {
            BC_TRANSACTION | BC_REPLY => {
                (data.transaction_data, _) = BinderTransactionData::read_from_prefix(bytes).ok()?;
            }
            BC_TRANSACTION_SG | BC_REPLY_SG => {
                (data, _) = BinderTransactionDataSg::read_from_prefix(bytes).ok()?;
            }
            _ => return None,
        }
        let kind = match code {
            BC_REPLY | BC_REPLY_SG => TransactionKind::Reply,
            _ => TransactionKind::of_send(&data),
        };
        Some((kind, data))
    }

    /// The reservation that has the data of the next send, if one has.
    pub(crate) fn next_reservation(&self) -> Option<EarlyReservationKey> {
        self.payloads[..self.sends].get(self.next_payload)?.reservation
    }

    /// The next command, if it is a send that was fetched as a whole.
    pub(crate) fn next_send(&self) -> Option<NextSend> {
        let (code, end) = self.command_at(self.at).filter(|(_, end)| *end <= self.len)?;
        let (kind, data) = self.send_at(code, self.at + CODE_BYTES)?;
        Some(NextSend { code, kind, data, end })
    }

    /// Goes on behind the next send, and hands out what that carries.
    ///
    /// # Errors
    ///
    /// `EFAULT` where nothing was fetched, which does not happen.
    pub(crate) fn take_send(&mut self, send: &NextSend) -> Result<&mut Payload, Errno> {
        self.at = send.end;
        let payload = self.payloads[..self.sends].get_mut(self.next_payload);
        self.next_payload += 1;
        debug_assert!(payload.is_some(), "a send is fetched with what it carries");
        payload.ok_or(Errno::EFAULT)
    }

    /// Takes a reservation that no send has taken up: it is to be [given up](crate::Context::give_up_reservation).
    pub fn take_reservation(&mut self) -> Option<EarlyReservationKey> {
        self.payloads[..self.sends].iter_mut().find_map(|payload| payload.reservation.take())
    }

    /// How far the write buffer has been run.
    pub(crate) fn position(&self) -> u64 {
        self.start + self.at as u64
    }

    /// Whether some were run, and all that were fetched.
    pub(crate) fn are_used_up(&self) -> bool {
        self.at > 0 && self.at >= self.len
    }

    /// Takes the next value.
    ///
    /// # Errors
    ///
    /// `EFAULT` when it could not be read, or the buffer ends before it does.
    pub(crate) fn take<T: FromBytes>(&mut self) -> Result<T, Errno> {
        let bytes = self.bytes[..self.len].get(self.at..).ok_or(Errno::EFAULT)?;
        let (value, _) = T::read_from_prefix(bytes).map_err(|_| Errno::EFAULT)?;
        self.at += size_of::<T>();
        Ok(value)
    }

    /// Gives up memory of which it has more than most commands need.
    pub fn trim(&mut self) {
        for payload in &mut self.payloads {
            if payload.bytes.capacity() + payload.offsets.capacity() * 8 > KEPT_BYTES {
                *payload = Payload::EMPTY;
            }
        }
    }
}

impl Payload {
    const EMPTY: Self = Self {
        offsets: Vec::new(),
        bytes: Vec::new(),
        placed_bytes: 0,
        reservation: None,
        fault: None,
    };

    fn fetch(
        &mut self,
        kind: TransactionKind,
        data: &BinderTransactionDataSg,
        memory: &mut dyn CallerMemory,
    ) {
        self.offsets.clear();
        self.bytes.clear();
        debug_assert_eq!(self.reservation, None, "those of before were given back");
        self.placed_bytes = 0;
        self.fault = None;
        let (header, extra) = (&data.transaction_data, data.buffers_size);
        // What no buffer can hold is refused unseen; so are objects and pieces of odd sizes.
        let Ok(layout) = Sizes::of(data, 0).and_then(Sizes::layout) else { return };
        let (data_len, offsets_len) = (layout.data_len as usize, layout.offsets_len as usize);
        let (address, offsets_address) = (ClaimedAddr(header.buffer), ClaimedAddr(header.offsets));
        let are_sizes_even = offsets_len.is_multiple_of(8) && extra.is_multiple_of(8);
        if offsets_len == 0 {
            if data_len >= LARGE_BYTES
                && extra == 0
                && let Some((key, read)) = memory.read_into_reservation(kind, data)
            {
                self.reservation = Some(key);
                self.placed_bytes = data_len;
                self.fault = read.err().map(|CopyFault| Part::Data);
            } else if data_len > 0 && are_sizes_even {
                let read = memory.read_whole(address, data_len, &mut self.bytes);
                self.fault = read.err().map(|CopyFault| Part::Data);
            }
            return;
        }
        self.offsets.resize(offsets_len.div_ceil(8), 0);
        let offsets = &mut self.offsets.as_mut_bytes()[..offsets_len];
        if !are_sizes_even {
            let read = memory.read(offsets_address, offsets);
            self.fault = read.err().map(|CopyFault| Part::Offsets);
            return;
        }
        self.bytes.resize((layout.extra_start + layout.extra_len) as usize, 0);
        let bytes = &mut self.bytes[..data_len];
        match memory.read_two([(offsets_address, offsets), (address, bytes)]) {
            Ok(()) => self.fetch_pieces(&layout, memory),
            Err(0) => self.fault = Some(Part::Offsets),
            Err(_) => self.fault = Some(Part::Data),
        }
    }

    /// Fetches the pieces that objects stand for, up to the first that will be refused.
    fn fetch_pieces(&mut self, layout: &Layout, memory: &mut dyn CallerMemory) {
        let Self { offsets, bytes, fault, .. } = self;
        let data_len = layout.data_len as usize;
        let mut pieces = Pieces::new(layout.extra_start as usize, layout.extra_len as usize);
        let mut end_of_previous = 0;
        for offset in offsets {
            let Ok(start) = usize::try_from(*offset) else { return };
            let object = bytes[..data_len].get(start..).filter(|_| start >= end_of_previous);
            let Some(object) = object else { return };
            let Ok((kind, _)) = u32::read_from_prefix(object) else { return };
            end_of_previous = start + size_of::<FlatBinderObject>();
            if kind != BINDER_TYPE_PTR {
                continue;
            }
            let Ok((object, _)) = BinderBufferObject::read_from_prefix(object) else { return };
            end_of_previous = start + size_of::<BinderBufferObject>();
            let Ok((at, len)) = pieces.take_room(object.length) else { return };
            let piece = &mut bytes[at..at + len];
            if len > 0 && memory.read(ClaimedAddr(object.buffer), piece).is_err() {
                *fault = Some(Part::Piece(at));
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    /// A write buffer at 0, and data at 4096 and beyond.
    struct Memory {
        commands: Vec<u8>,
        data: Vec<u8>,
    }

    const DATA: u64 = 4096;

    impl CallerMemory for Memory {
        fn read(&mut self, address: ClaimedAddr, into: &mut [u8]) -> Result<(), CopyFault> {
            let (from, start) = match address.0.checked_sub(DATA) {
                Some(start) => (&self.data, start),
                None => (&self.commands, address.0),
            };
            let start = usize::try_from(start).map_err(|_| CopyFault)?;
            let bytes = from.get(start..).and_then(|from| from.get(..into.len()));
            into.copy_from_slice(bytes.ok_or(CopyFault)?);
            Ok(())
        }
    }

    fn take_next(commands: &mut Commands) -> Result<&mut Payload, Errno> {
        let send = commands.next_send().expect("it was fetched as a whole");
        commands.take_send(&send)
    }

    /// What one-ways of these lengths fetch, in the place of `commands`.
    fn fetch_oneways(commands: &mut Commands, lens: &[u64], data: Vec<u8>) {
        let mut bytes = Vec::new();
        for len in lens {
            bytes.extend_from_slice(BC_TRANSACTION.as_bytes());
            let mut send = BinderTransactionData::new_zeroed();
            (send.buffer, send.data_size) = (DATA, *len);
            bytes.extend_from_slice(send.as_bytes());
        }
        let write_size = bytes.len() as u64;
        let request = BinderWriteRead { write_size, ..BinderWriteRead::default() };
        commands.fetch_next(&request, &mut Memory { commands: bytes, data });
    }

    #[test]
    fn the_place_of_others_shows_nothing_of_theirs() {
        let mut commands = Commands::none(&BinderWriteRead::default());
        fetch_oneways(&mut commands, &[5000, 7], vec![1; 5000]);
        assert_eq!(take_next(&mut commands).map(|it| it.bytes.clone()), Ok(vec![1; 5000]));
        let place = commands.payloads[0].bytes.as_ptr();
        fetch_oneways(&mut commands, &[3000], vec![2; 3000]);
        assert_eq!(commands.payloads[0].bytes.as_ptr(), place, "no other memory is needed");
        let payload = take_next(&mut commands).expect("it was fetched");
        assert_eq!((&payload.bytes, payload.fault), (&vec![2; 3000], None));
        assert_eq!(commands.sends, 1, "the second is of before");
        fetch_oneways(&mut commands, &[3000, 0], vec![3; 10]);
        assert_eq!(take_next(&mut commands).map(|it| it.fault), Ok(Some(Part::Data)));
        assert_eq!(take_next(&mut commands).map(|it| (it.bytes.len(), it.fault)), Ok((0, None)));
    }

    #[test]
    fn memory_of_an_uncommon_size_is_given_up() {
        let mut commands = Commands::none(&BinderWriteRead::default());
        let large = KEPT_BYTES + 1;
        fetch_oneways(&mut commands, &[64, large as u64], vec![1; large]);
        commands.trim();
        let kept = commands.payloads.each_ref().map(|it| it.bytes.capacity() > 0);
        assert_eq!(kept, [true, false, false]);
    }
}
