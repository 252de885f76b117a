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
use crate::env::{CallerMemory, ClaimedAddr, CopyFault};
use crate::error::Errno;
use crate::scatter::Pieces;

/// As much of a write buffer as is fetched at once: enough for a reply with its clean-up.
const PIECE_BYTES: usize = 256;
/// A piece has room for no more sends than this.
const MAX_SENDS: usize = PIECE_BYTES / (CODE_BYTES + size_of::<BinderTransactionData>());
/// A piece ends with the send that brings what is fetched along beyond this.
const ENOUGH_BYTES: usize = 64 << 10;
const CODE_BYTES: usize = 4;

/// The next commands of a write buffer.
#[derive(Debug)]
pub struct Commands {
    /// Where the piece begins in the write buffer.
    start: u64,
    bytes: [u8; PIECE_BYTES],
    len: usize,
    at: usize,
    /// What its sends carry, in their order.
    payloads: [Option<Payload>; MAX_SENDS],
    next_payload: usize,
}

/// What a transaction carries, as its sender wrote it.
#[derive(Debug, Default)]
pub(crate) struct Payload {
    /// Of the last one only as many bytes count as the sender gave.
    pub(crate) offsets: Vec<u64>,
    /// The data; if there are offsets, with room for these and with the scatter-gather pieces, as they
    /// will lie in the receiver's buffer.
    pub(crate) bytes: Vec<u8>,
    /// The first part that could not be read. Nothing was fetched after it.
    pub(crate) fault: Option<Part>,
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
            payloads: [const { None }; MAX_SENDS],
            next_payload: 0,
        }
    }

    /// Fetches the commands that follow those that were run, as far as they fit into a piece.
    ///
    /// Memory that cannot be read ends the piece; the command that needs it fails when it is run.
    pub fn fetch(request: &BinderWriteRead, memory: &mut dyn CallerMemory) -> Self {
        let mut commands = Self::none(request);
        let left = request.write_size.saturating_sub(request.write_consumed);
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        let Some(address) = request.write_buffer.checked_add(request.write_consumed) else {
            return commands;
        };
        let len = left.min(PIECE_BYTES);
        if memory.read(ClaimedAddr(address), &mut commands.bytes[..len]).is_ok() {
            commands.len = len;
        } else {
            // What is missing may lie behind the next command.
            commands.fetch_one(address, left, memory);
        }
        commands.fetch_payloads(left, memory);
        commands
    }

    /// Fetches no byte more than the next command has.
    fn fetch_one(&mut self, address: u64, left: usize, memory: &mut dyn CallerMemory) {
        self.fetch_up_to(CODE_BYTES, address, left, memory);
        if let Some((_, end)) = self.command_at(0) {
            self.fetch_up_to(end, address, left, memory);
        }
    }

    /// Fetches the bytes from where the piece ends so far up to `end`: all of them or none.
    fn fetch_up_to(
        &mut self,
        end: usize,
        address: u64,
        left: usize,
        memory: &mut dyn CallerMemory,
    ) {
        let Some(address) = address.checked_add(self.len as u64) else { return };
        let room = self.bytes.get_mut(self.len..end).filter(|_| end <= left);
        if let Some(room) = room
            && memory.read(ClaimedAddr(address), room).is_ok()
        {
            self.len = end;
        }
    }

    /// Fetches what the sends in the piece carry, and cuts off what belongs into the next piece.
    fn fetch_payloads(&mut self, left: usize, memory: &mut dyn CallerMemory) {
        let (mut at, mut sends, mut fetched_bytes) = (0, 0, 0);
        while let Some((code, end)) = self.command_at(at) {
            if end > self.len {
                break;
            }
            if let Some(data) = self.send_at(code, at + CODE_BYTES) {
                if sends == MAX_SENDS || fetched_bytes > ENOUGH_BYTES {
                    self.len = at;
                    return;
                }
                let payload = Payload::fetch(&data, memory);
                fetched_bytes += payload.bytes.len() + size_of_val(payload.offsets.as_slice());
                self.payloads[sends] = Some(payload);
                sends += 1;
            }
            at = end;
        }
        // A command that the end of the buffer cuts short is run, and fails.
        if at > 0 && self.len < left {
            self.len = at;
        }
    }

    /// The code at `at`, and where the command ends by what the code says of its size.
    fn command_at(&self, at: usize) -> Option<(u32, usize)> {
        let (code, _) = u32::read_from_prefix(self.bytes[..self.len].get(at..)?).ok()?;
        Some((code, at + CODE_BYTES + binder_uapi::payload_len(code)))
    }

    fn send_at(&self, code: u32, at: usize) -> Option<BinderTransactionDataSg> {
        let bytes = self.bytes.get(at..)?;
        match code {
            BC_TRANSACTION | BC_REPLY => {
                let mut data = BinderTransactionDataSg::new_zeroed();
                (data.transaction_data, _) = BinderTransactionData::read_from_prefix(bytes).ok()?;
                Some(data)
            }
            BC_TRANSACTION_SG | BC_REPLY_SG => {
                BinderTransactionDataSg::read_from_prefix(bytes).ok().map(|(data, _)| data)
            }
            _ => None,
        }
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

    /// Takes what the next send carries.
    pub(crate) fn take_payload(&mut self) -> Payload {
        let payload = self.payloads.get_mut(self.next_payload).and_then(Option::take);
        self.next_payload += 1;
        debug_assert!(payload.is_some(), "a send is fetched with what it carries");
        payload.unwrap_or_default()
    }
}

impl Payload {
    fn fetch(data: &BinderTransactionDataSg, memory: &mut dyn CallerMemory) -> Self {
        let mut payload = Self::default();
        let header = &data.transaction_data;
        let extra = data.buffers_size;
        let sizes = Sizes { data: header.data_size, offsets: header.offsets_size, extra };
        // What no buffer can hold is refused unseen; so are objects and pieces of odd sizes.
        let Ok(layout) = sizes.layout() else { return payload };
        let offsets_len = layout.offsets_len as usize;
        payload.offsets.resize(offsets_len.div_ceil(8), 0);
        let offsets = &mut payload.offsets.as_mut_bytes()[..offsets_len];
        if offsets_len > 0 && memory.read(ClaimedAddr(header.offsets), offsets).is_err() {
            payload.fault = Some(Part::Offsets);
            return payload;
        }
        if !offsets_len.is_multiple_of(8) || !extra.is_multiple_of(8) {
            return payload;
        }
        let (address, data_len) = (ClaimedAddr(header.buffer), layout.data_len as usize);
        if payload.offsets.is_empty() {
            if data_len > 0 {
                match memory.read_new(address, data_len) {
                    Ok(bytes) => payload.bytes = bytes,
                    Err(CopyFault) => payload.fault = Some(Part::Data),
                }
            }
            return payload;
        }
        payload.bytes.resize((layout.extra_start + layout.extra_len) as usize, 0);
        if memory.read(address, &mut payload.bytes[..data_len]).is_err() {
            payload.fault = Some(Part::Data);
        } else {
            payload.fetch_pieces(&layout, memory);
        }
        payload
    }

    /// Fetches the pieces that objects stand for, up to the first that will be refused.
    fn fetch_pieces(&mut self, layout: &Layout, memory: &mut dyn CallerMemory) {
        let Self { offsets, bytes, fault } = self;
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
            let room = &mut bytes[at..at + len];
            if len > 0 && memory.read(ClaimedAddr(object.buffer), room).is_err() {
                *fault = Some(Part::Piece(at));
                return;
            }
        }
    }
}
