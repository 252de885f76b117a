//! The commands of a write buffer, by chance.

use std::fmt::Write;

use binder_testkit::Rig;
use binder_uapi::{
    BC_ACQUIRE, BC_ACQUIRE_DONE, BC_CLEAR_DEATH_NOTIFICATION, BC_CLEAR_FREEZE_NOTIFICATION,
    BC_DEAD_BINDER_DONE, BC_DECREFS, BC_ENTER_LOOPER, BC_EXIT_LOOPER, BC_FREE_BUFFER,
    BC_FREEZE_NOTIFICATION_DONE, BC_INCREFS, BC_INCREFS_DONE, BC_REGISTER_LOOPER, BC_RELEASE,
    BC_REPLY, BC_REPLY_SG, BC_REQUEST_DEATH_NOTIFICATION, BC_REQUEST_FREEZE_NOTIFICATION,
    BC_TRANSACTION, BC_TRANSACTION_SG, BINDER_TYPE_PTR, BinderTransactionData, FlatBinderObject,
    TF_ACCEPT_FDS, TF_CLEAR_BUF, TF_ONE_WAY, TF_UPDATE_TXN, name_of,
};
use zerocopy::{FromBytes, IntoBytes};

use crate::message::Message;
use crate::play::{Play, note};
use crate::troupe::Buffer;

/// A command of a write buffer, as far as it changes what its thread may do.
pub(crate) enum Command {
    Call,
    Reply,
    Other,
}

impl Play<'_, '_> {
    /// Adds a command by chance.
    pub(crate) fn command(&mut self, index: usize, seat: usize, bytes: &mut Vec<u8>) -> Command {
        let serves = self.troupe.members[index].seats[seat].serves > 0;
        match self.dice.roll(100) {
            0..20 if serves => return self.send(index, bytes, true),
            0..36 => return self.send(index, bytes, false),
            36..40 => return self.send(index, bytes, true),
            40..54 => self.free(index, bytes),
            54..64 => self.acknowledge(index, bytes),
            64..82 => {
                let codes = [BC_ACQUIRE, BC_RELEASE, BC_INCREFS, BC_DECREFS, BC_ACQUIRE];
                let (code, handle) = (self.dice.pick(&codes), self.handle(index));
                bytes.extend_from_slice(code.as_bytes());
                bytes.extend_from_slice(handle.as_bytes());
            }
            82..92 => {
                let codes = [
                    BC_REQUEST_DEATH_NOTIFICATION,
                    BC_REQUEST_FREEZE_NOTIFICATION,
                    BC_CLEAR_DEATH_NOTIFICATION,
                    BC_CLEAR_FREEZE_NOTIFICATION,
                ];
                let at = self.dice.roll_index(codes.len());
                let (code, watched) = (codes[at], self.troupe.members[index].watched[at % 2]);
                let is_request = at < 2;
                let handle = match watched {
                    Some(handle) if !is_request && !self.dice.one_in(4) => handle,
                    _ => self.handle(index),
                };
                if is_request {
                    self.troupe.members[index].watched[at % 2] = Some(handle);
                }
                bytes.extend_from_slice(code.as_bytes());
                bytes.extend_from_slice(handle.as_bytes());
                bytes.extend_from_slice(u64::from(handle).as_bytes());
            }
            92..94 => {
                bytes.extend_from_slice(BC_FREEZE_NOTIFICATION_DONE.as_bytes());
                bytes.extend_from_slice(u64::from(self.handle(index)).as_bytes());
            }
            94..98 => {
                let codes = [BC_ENTER_LOOPER, BC_ENTER_LOOPER, BC_REGISTER_LOOPER, BC_EXIT_LOOPER];
                bytes.extend_from_slice(self.dice.pick(&codes).as_bytes());
            }
            _ => bytes.extend_from_slice(self.dice.pick(&[0xdead_beef_u32, 0]).as_bytes()),
        }
        Command::Other
    }

    pub(crate) fn note_command(&mut self, bytes: &[u8]) {
        let (code, payload) = u32::read_from_prefix(bytes).expect("a code");
        let name = name_of(code);
        note!(self, "{}(", name.trim_start_matches("BC_"));
        self.troupe.count(name);
        if matches!(code, BC_TRANSACTION | BC_TRANSACTION_SG | BC_REPLY | BC_REPLY_SG) {
            let (data, _) = BinderTransactionData::read_from_prefix(payload).expect("its data");
            let BinderTransactionData { target, code, flags, data_size, offsets_size, .. } = data;
            note!(self, "{target} code {code} flags {flags:x} {data_size}+{offsets_size}");
        } else if code != BC_FREE_BUFFER {
            for word in payload.chunks(4) {
                let word = u32::read_from_bytes(word).expect("whole words");
                note!(self, "{word:x} ");
            }
        }
        note!(self, ") ");
    }

    fn note_sent_object(&mut self, data: &[u8], offset: u64) {
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        let object = data.get(at..).and_then(|rest| FlatBinderObject::read_from_prefix(rest).ok());
        match object {
            Some((object, _)) if object.kind != BINDER_TYPE_PTR => {
                let FlatBinderObject { kind, flags, binder, cookie } = object;
                note!(
                    self,
                    "{}:{flags:x}:{binder:x}:{cookie:x} ",
                    char::from(kind.to_be_bytes()[0])
                );
            }
            Some(_) => note!(self, "piece "),
            None => note!(self, "at {offset:x} "),
        }
    }

    pub(crate) fn handle(&mut self, index: usize) -> u32 {
        if self.dice.one_in(12) {
            return self.dice.pick(&[0, 5, 99]);
        }
        self.dice.pick(&self.troupe.members[index].handles)
    }

    fn send(&mut self, index: usize, bytes: &mut Vec<u8>, is_reply: bool) -> Command {
        let handles = self.troupe.members[index].handles.clone();
        let mut message = Message::random(&mut self.dice, &handles);
        let guard = self.troupe.rig.guard(self.troupe.members[index].host);
        let placed = self.place_message(index, &mut message);
        let mut flags = self.dice.pick(&[0, TF_ACCEPT_FDS, TF_ACCEPT_FDS, TF_CLEAR_BUF]);
        let is_oneway = !is_reply && self.dice.one_in(2);
        if is_oneway {
            flags |= TF_ONE_WAY | self.dice.pick(&[0, 0, 0, TF_UPDATE_TXN]);
        }
        let handle = self.handle(index);
        let mut data = BinderTransactionData {
            target: handle.into(),
            code: u32::try_from(self.dice.roll(4)).expect("a small number"),
            flags,
            ..placed
        };
        // Where an object cannot be read, the C driver says EINVAL, else EFAULT.
        let begins_with_object = message.offsets.first().is_some_and(|offset| *offset <= 4);
        match self.dice.roll(60) {
            0 | 4 if begins_with_object => {}
            0 => data.buffer = guard,
            1 => data.offsets = guard,
            // More than any receive area has room for: what lies behind the data is not the same everywhere.
            2 => data.data_size = self.dice.pick(&[0, 16 * self.troupe.area_bytes(), u64::MAX]),
            3 => data.offsets_size += 4,
            // Not all of it is there.
            4 => data.buffer = guard - 4,
            _ => {}
        }
        if data.buffer != placed.buffer || data.offsets == guard {
            self.troupe.count("a bad buffer of a transaction");
        }
        let code = match (is_reply, message.extra_bytes.is_some()) {
            (false, false) => BC_TRANSACTION,
            (false, true) => BC_TRANSACTION_SG,
            (true, false) => BC_REPLY,
            (true, true) => BC_REPLY_SG,
        };
        bytes.extend_from_slice(code.as_bytes());
        bytes.extend_from_slice(data.as_bytes());
        if let Some(room) = message.extra_bytes {
            bytes.extend_from_slice(room.as_bytes());
        }
        match (is_reply, is_oneway) {
            (true, _) => Command::Reply,
            (false, false) => Command::Call,
            (false, true) => Command::Other,
        }
    }

    /// Puts a message into the sender's memory.
    pub(crate) fn place_message(
        &mut self,
        index: usize,
        message: &mut Message,
    ) -> BinderTransactionData {
        for offset in &message.offsets {
            self.note_sent_object(&message.data, *offset);
        }
        let guard = self.troupe.rig.guard(self.troupe.members[index].host);
        for (at, piece) in std::mem::take(&mut message.pieces) {
            let address = piece.map_or(guard, |bytes| self.troupe.place(index, &bytes));
            message.data[at..][..8].copy_from_slice(address.as_bytes());
        }
        BinderTransactionData {
            data_size: message.data.len() as u64,
            offsets_size: message.offsets.len() as u64 * 8,
            buffer: self.troupe.place(index, &message.data),
            offsets: self.troupe.place(index, message.offsets.as_bytes()),
            ..BinderTransactionData::default()
        }
    }

    fn free(&mut self, index: usize, bytes: &mut Vec<u8>) {
        let member = &mut self.troupe.members[index];
        let mut add = |address: u64| {
            bytes.extend_from_slice(BC_FREE_BUFFER.as_bytes());
            bytes.extend_from_slice(address.as_bytes());
        };
        if member.buffers.is_empty() {
            note!(self, "(nowhere) ");
            return add(member.base + (1 << 30));
        }
        // If the command is not run, the buffer is forgotten all the same: so it is on every driver.
        let at = self.dice.roll_index(member.buffers.len());
        let Buffer { number, address, .. } = member.buffers.remove(at);
        match self.dice.roll(20) {
            0 => {
                note!(self, "(within b{number}) ");
                add(address + 4);
            }
            1 => {
                note!(self, "(b{number} twice) ");
                add(address);
                add(address);
            }
            _ => {
                note!(self, "(b{number}) ");
                add(address);
            }
        }
    }

    fn acknowledge(&mut self, index: usize, bytes: &mut Vec<u8>) {
        let member = &mut self.troupe.members[index];
        if !member.deaths.is_empty() && self.dice.one_in(3) {
            let cookie = member.deaths.remove(0);
            bytes.extend_from_slice(BC_DEAD_BINDER_DONE.as_bytes());
            bytes.extend_from_slice(cookie.as_bytes());
            return;
        }
        let (is_strong, ptr, cookie) = if member.notices.is_empty() {
            (self.dice.one_in(2), 0x1000, self.dice.pick(&[0x10, 0]))
        } else {
            member.notices.remove(0)
        };
        let code = if is_strong { BC_ACQUIRE_DONE } else { BC_INCREFS_DONE };
        bytes.extend_from_slice(code.as_bytes());
        bytes.extend_from_slice(ptr.as_bytes());
        bytes.extend_from_slice(cookie.as_bytes());
    }
}
