//! Plays that fill receive areas: one-ways, calls and replies faster than they are read and freed.
//!
//! In one play all have one length, and areas are empty when it begins, so that what there is room for does not depend on which of
//! several free ranges a driver takes.

use std::fmt::Write;

use binder_uapi::{
    BC_REPLY, BC_TRANSACTION, BinderTransactionData, TF_ACCEPT_FDS, TF_ONE_WAY, TF_UPDATE_TXN,
};
use zerocopy::IntoBytes;

use crate::command::Command;
use crate::message::Message;
use crate::play::{Play, note};
use crate::troupe::READ_BYTES;

/// How long the messages of a play are, and how many are sent in one go, at most.
#[derive(Clone, Copy)]
pub(crate) struct Flow {
    bytes: usize,
    burst: u64,
}

/// Plays with these take turns.
const FLOWS: &[Flow] = &[
    Flow { bytes: 300, burst: 20 },
    Flow { bytes: 1000, burst: 8 },
    Flow { bytes: 3000, burst: 3 },
    Flow { bytes: 4096, burst: 3 },
    Flow { bytes: 7000, burst: 2 },
    Flow { bytes: 15_000, burst: 1 },
];

impl Flow {
    pub(crate) fn of_seed(seed: u64) -> Self {
        let at = usize::try_from(seed % FLOWS.len() as u64).expect("below a length");
        FLOWS[at]
    }
}

impl Play<'_, '_> {
    /// Has each member free what the introduction brought.
    pub(crate) fn empty_areas(&mut self) {
        for index in 0..self.troupe.members.len() {
            let mut bytes = Vec::new();
            while !self.troupe.members[index].buffers.is_empty() {
                self.free_some(index, &mut bytes);
            }
            let request = self.troupe.place_commands(index, &bytes);
            self.run(index, 0, &request, &[]);
        }
    }

    pub(crate) fn step_of_flood(&mut self) {
        let Some((index, seat)) = self.pick_free_seat() else { return };
        match self.dice.roll(100) {
            0..85 => self.flood(index, seat),
            85..88 => self.switch_mode(index),
            88..92 => self.freeze(index, seat),
            92..98 => {
                self.extended_error(index, seat);
            }
            _ => self.leave(index),
        }
    }

    /// A thread frees some buffers, sends some messages, and reads.
    fn flood(&mut self, index: usize, seat: usize) {
        let (mut bytes, mut written) = (Vec::new(), Vec::new());
        let state = &self.troupe.members[index].seats[seat];
        let (serves, awaits) = (state.serves > 0, state.awaits);
        // Mostly it reads what went wrong before it goes on.
        let reads_first = state.must_read && !self.dice.one_in(4);
        if !reads_first && self.dice.one_in(3) {
            self.free_some(index, &mut bytes);
            written.push((bytes.len() as u64, Command::Other));
        }
        if !reads_first && self.dice.one_in(2) {
            let command = if serves && self.dice.one_in(2) {
                Command::Reply
            } else if !awaits && self.dice.one_in(6) {
                Command::Call
            } else {
                Command::Other
            };
            let count = match command {
                Command::Other => 1 + self.dice.roll(self.flow.burst),
                _ => 1,
            };
            for _ in 0..count {
                self.send_of_one_length(index, &command, &mut bytes);
            }
            written.push((bytes.len() as u64, command));
        }
        let mut request = self.troupe.place_commands(index, &bytes);
        if self.may_read(index, seat, &written) && !self.dice.one_in(4) {
            request.read_buffer = self.troupe.members[index].seats[seat].read_buffer;
            request.read_size = READ_BYTES as u64;
        }
        note!(self, "write {} read {}", request.write_size, request.read_size);
        self.run(index, seat, &request, &written);
    }

    fn send_of_one_length(&mut self, index: usize, command: &Command, bytes: &mut Vec<u8>) {
        let byte = self.dice.roll(256).to_le_bytes()[0];
        let data = vec![byte; self.flow.bytes];
        let placed = self.place_message(index, &mut Message { data, ..Message::default() });
        let oneway = TF_ONE_WAY | self.dice.pick(&[0, 0, TF_UPDATE_TXN]);
        let (code, target, flags) = match command {
            Command::Reply => (BC_REPLY, 0, 0),
            Command::Call => (BC_TRANSACTION, self.called_by(index), 0),
            Command::Other => (BC_TRANSACTION, self.called_by(index), oneway),
        };
        let data = BinderTransactionData {
            target: target.into(),
            code: u32::try_from(self.dice.roll(2)).expect("a small number"),
            flags: flags | TF_ACCEPT_FDS,
            ..placed
        };
        self.write_command(&[code.as_bytes(), data.as_bytes()].concat(), bytes);
    }
}
