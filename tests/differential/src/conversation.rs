//! Plays that consist of plain calls, mostly, of threads that block: what passes a driver by, if anything does.
//!
//! Who serves a call may make another before it replies, also of a process that waits for it. Some of the processes are files of
//! one program, whose threads use all of them: it calls itself, and a thread that sleeps for the one does nothing for the other. Two
//! are files of another device, which has a context manager of its own.
//!
//! Not asked is what does not know of all calls that pass by: extended errors, and the counts of an object. Nor are further descriptors of a
//! device closed, of which a thread that looks for such calls hears a moment later.

use std::fmt::Write;

use binder_testkit::Dice;
use binder_uapi::{
    BC_ENTER_LOOPER, BC_FREE_BUFFER, BC_REPLY, BC_TRANSACTION, BinderTransactionData,
    TF_ACCEPT_FDS, TF_CLEAR_BUF,
};
use zerocopy::IntoBytes;

use crate::command::Command;
use crate::message::Message;
use crate::play::{Play, note};
use crate::troupe::{Buffer, Plot, READ_BYTES};

/// The seats of a process: one that makes calls, and one that waits for some.
const CALLER: usize = 0;
const SERVER: usize = 1;

impl Play<'_, '_> {
    pub(crate) fn step_of_conversation(&mut self) {
        let mut free = Vec::new();
        let mut serving = Vec::new();
        for (index, member) in self.troupe.members.iter().enumerate() {
            for (at, seat) in member.seats.iter().enumerate() {
                if self.troupe.sleeps(index, at) {
                    continue;
                }
                free.push((index, at));
                if seat.serves > 0 {
                    serving.push((index, at));
                }
            }
        }
        if free.is_empty() || self.dice.one_in(20) {
            let sleeps = |index: &usize| !self.troupe.members[*index].is_idle();
            let asleep: Vec<_> = (0..self.troupe.members.len()).filter(sleeps).collect();
            if !asleep.is_empty() {
                let index = self.dice.pick(&asleep);
                return self.interrupt(index);
            }
        }
        // Mostly a thread that serves a call replies before anything else happens, those that wait for calls do so before another is
        // made, and it is one caller for some time that makes them.
        let waiting: Vec<_> = free.iter().copied().filter(|(_, seat)| *seat == SERVER).collect();
        let is_likely = |it: &Vec<_>, dice: &mut Dice| !it.is_empty() && !dice.one_in(5);
        let caller = (self.troupe.talker, CALLER);
        let (index, seat) = if is_likely(&serving, &mut self.dice) {
            self.dice.pick(&serving)
        } else if is_likely(&waiting, &mut self.dice) {
            self.dice.pick(&waiting)
        } else if free.contains(&caller) && !self.dice.one_in(5) {
            caller
        } else {
            self.dice.pick(&free)
        };
        if self.dice.one_in(20) {
            self.troupe.talker = self.dice.roll_index(self.troupe.members.len());
        }
        note!(self, "p{index}t{seat} ");
        match self.dice.roll(100) {
            0..83 if self.polls_first(index, seat) => self.poll_and_read(index, seat),
            0..83 => self.converse(index, seat),
            83..88 => self.write_and_read(index, seat),
            88..90 => self.switch_mode(index),
            90..93 => self.exit_thread(index, seat),
            93..96 => self.freeze(index, seat),
            96..99 => self.act_for_another(index),
            _ => self.leave(index),
        }
    }

    /// Whether a thread is to poll before it reads: in every other process, when it is new, and in most steps in which it
    /// would wait.
    fn polls_first(&mut self, index: usize, seat: usize) -> bool {
        if self.troupe.plot != Plot::Polls || index.is_multiple_of(2) {
            return false;
        }
        let member = &mut self.troupe.members[index];
        let state = &member.seats[seat];
        let waits = state.awaits || (seat == SERVER && state.serves == 0);
        !std::mem::replace(&mut member.has_polled, true) || (waits && !self.dice.one_in(6))
    }

    /// A program drops its rights, or takes them up again. The C library interrupts its threads for that, so none is left asleep; and
    /// a context manager is one user's.
    fn act_for_another(&mut self, index: usize) {
        let of_program: Vec<_> = self.troupe.members_of_host(index).collect();
        if of_program.iter().any(|of| self.troupe.is_manager(*of)) {
            return note!(self, "nothing\n");
        }
        let uid = self.dice.pick(&[0, 1000, 65_534]);
        note!(self, "acts for user {uid}\n");
        while !of_program.iter().all(|of| self.troupe.members[*of].is_idle()) {
            self.interrupt(index);
        }
        self.troupe.act_for(index, uid);
    }

    /// A thread that waits for a call or for a reply sleeps until that has come, or asks whether it has: then it reads if so, and else
    /// seldom.
    fn poll_and_read(&mut self, index: usize, seat: usize) {
        if self.dice.one_in(3) {
            self.wait_readable(index, seat);
        } else if self.poll(index, seat) || self.dice.one_in(6) {
            note!(self, "p{index}t{seat} ");
            self.converse(index, seat);
        }
    }

    /// A thread does what is next for it: it replies, or reads a reply, makes a call, or waits for one.
    pub(crate) fn converse(&mut self, index: usize, seat: usize) {
        let state = &self.troupe.members[index].seats[seat];
        let (serves, awaits) = (state.serves > 0, state.awaits);
        let (mut bytes, mut written) = (Vec::new(), Vec::new());
        let mut is_caller = false;
        if self.dice.one_in(2) {
            self.free_some(index, &mut bytes);
        }
        let calls_on = serves && !awaits && self.dice.one_in(2);
        let replies = serves && !calls_on;
        if replies {
            self.send_plainly(index, BC_REPLY, &mut bytes);
            written.push((bytes.len() as u64, Command::Reply));
        } else if seat == SERVER && !calls_on {
            let state = &mut self.troupe.members[index].seats[seat];
            if !std::mem::replace(&mut state.is_looper, true) {
                self.write_command(BC_ENTER_LOOPER.as_bytes(), &mut bytes);
            }
        } else if !awaits {
            self.send_plainly(index, BC_TRANSACTION, &mut bytes);
            written.push((bytes.len() as u64, Command::Call));
            is_caller = true;
        }
        let mut request = self.troupe.place_commands(index, &bytes);
        // What comes after a reply may be read in one go, or later. A caller waits for its own reply alone.
        let may_read = is_caller || self.may_read(index, seat, &written);
        let may_read_later = replies || (is_caller && self.troupe.plot == Plot::Polls);
        if may_read && !(may_read_later && self.dice.one_in(3)) {
            request.read_buffer = self.troupe.members[index].seats[seat].read_buffer;
            request.read_size = self.dice.pick(&[READ_BYTES as u64, READ_BYTES as u64, 256]);
            if self.troupe.members[index].may_seem_readable {
                request.read_size = READ_BYTES as u64;
            }
        }
        note!(self, "write {} read {}", request.write_size, request.read_size);
        self.run(index, seat, &request, &written);
    }

    /// A handle to call, mostly the one that the process has called before.
    pub(crate) fn called_by(&mut self, index: usize) -> u32 {
        let before = self.troupe.members[index].called.filter(|_| !self.dice.one_in(8));
        let called = before.unwrap_or_else(|| self.handle(index));
        self.troupe.members[index].called = Some(called);
        called
    }

    pub(crate) fn write_command(&mut self, command: &[u8], bytes: &mut Vec<u8>) {
        let start = bytes.len();
        bytes.extend_from_slice(command);
        self.note_command(&bytes[start..]);
    }

    /// Frees one of the buffers that the process has, or all.
    pub(crate) fn free_some(&mut self, index: usize, bytes: &mut Vec<u8>) {
        let buffers = &mut self.troupe.members[index].buffers;
        let count = if self.dice.one_in(2) { buffers.len() } else { buffers.len().min(1) };
        let freed: Vec<_> = buffers.drain(..count).collect();
        for Buffer { number, address, .. } in freed {
            note!(self, "(b{number}) ");
            let command = [BC_FREE_BUFFER.as_bytes(), address.as_bytes()].concat();
            self.write_command(&command, bytes);
        }
    }

    /// Sends data of some length, without objects: little, or more than there is room for in a lane.
    fn send_plainly(&mut self, index: usize, code: u32, bytes: &mut Vec<u8>) {
        let len = self.dice.pick(&[0, 4, 8, 64, 200, 200, 4000, 17_000]);
        let data = (0..len).map(|_| self.dice.roll(256).to_le_bytes()[0]).collect();
        let placed = self.place_message(index, &mut Message { data, ..Message::default() });
        let flags = self.dice.pick(&[0, TF_ACCEPT_FDS, TF_ACCEPT_FDS, TF_CLEAR_BUF]);
        let target = if code == BC_REPLY { 0 } else { self.called_by(index).into() };
        let code_of_call = u32::try_from(self.dice.roll(4)).expect("a small number");
        let data = BinderTransactionData { target, code: code_of_call, flags, ..placed };
        let command = [code.as_bytes(), data.as_bytes()].concat();
        self.write_command(&command, bytes);
    }
}
