//! One play: steps by chance, one at a time, and a line for whatever comes of each.
//!
//! Only what a driver promises decides what comes next, so that two drivers that do the same are asked
//! the same. Of the threads of a process, one at most sleeps for work of the process: which of two gets
//! an item is up to the scheduler.

use std::fmt::Write;
use std::time::Duration;

use binder_testkit::{Dice, Mode, Rig, Waiter};
use binder_uapi::{
    BC_TRANSACTION, BINDER_FREEZE, BINDER_GET_EXTENDED_ERROR, BINDER_GET_FROZEN_INFO,
    BINDER_GET_NODE_DEBUG_INFO, BINDER_GET_NODE_INFO_FOR_REF, BINDER_SET_MAX_THREADS,
    BINDER_THREAD_EXIT, BINDER_VERSION, BR_OK, BinderExtendedError, BinderFreezeInfo,
    BinderFrozenStatusInfo, BinderNodeDebugInfo, BinderNodeInfoForRef, BinderTransactionData,
    BinderWriteRead,
};
use rustix::io::Errno;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::command::Command;
use crate::flood::Flow;
use crate::troupe::{Plot, READ_BYTES, Sleep, Troupe};

/// A call by a lane is taken back after 4 ms.
const TAKEN_BACK_AFTER: Duration = Duration::from_millis(10);

/// Who waits for a call by a lane asks after 20 ms whether it is still served, and hears then of a reply that passed the library by.
const MISSED_AFTER: Duration = Duration::from_millis(30);

/// How long a play is.
const STEPS: u32 = 150;

pub(crate) struct Play<'t, 'r> {
    pub(crate) troupe: &'t mut Troupe<'r>,
    pub(crate) dice: Dice,
    pub(crate) trace: String,
    /// How long what was sent just now may take to be heard of.
    unheard_for: Option<Duration>,
    /// What a flood consists of.
    pub(crate) flow: Flow,
    /// Whether those who are killed converse.
    converses: bool,
}

/// Plays a seed and returns what came of it, line by line.
pub(crate) fn play(troupe: &mut Troupe<'_>, seed: u64) -> String {
    troupe.begin();
    let mut play = Play {
        troupe,
        dice: Dice::new(seed),
        trace: String::new(),
        unheard_for: None,
        flow: Flow::of_seed(seed),
        converses: !seed.is_multiple_of(2),
    };
    play.introduce_all();
    if play.troupe.plot == Plot::Floods {
        play.empty_areas();
    }
    for step in 0..STEPS {
        write!(play.trace, "{step} ").expect("a string");
        play.step();
        play.note_woken();
    }
    play.end();
    play.trace
}

/// Writes to the trace.
macro_rules! note {
    ($play:expr, $($text:tt)*) => { write!($play.trace, $($text)*).expect("a string") };
}
pub(crate) use note;

impl Play<'_, '_> {
    fn step(&mut self) {
        match self.troupe.plot {
            Plot::Streams => self.step_of_stream(),
            Plot::Conversations | Plot::Polls => self.step_of_conversation(),
            Plot::Floods => self.step_of_flood(),
            Plot::Deaths if self.dice.one_in(if self.converses { 50 } else { 20 }) => self.die(),
            Plot::Deaths if self.converses => self.step_of_conversation(),
            Plot::Deaths => self.step_of_stream(),
        }
    }

    fn step_of_stream(&mut self) {
        let Some((index, seat)) = self.pick_free_seat() else { return };
        match self.dice.roll(100) {
            0..74 => self.write_and_read(index, seat),
            74..78 => drop(self.poll(index, seat)),
            78 | 79 => self.fault_at_the_edge(index, seat),
            80..83 => self.switch_mode(index),
            83..86 => self.freeze(index, seat),
            86..88 => self.exit_thread(index, seat),
            88 | 89 => self.leave(index),
            _ => self.small_request(index, seat),
        }
    }

    /// A thread that does not sleep, of any process, which has the turn; none if a sleeper is interrupted instead.
    pub(crate) fn pick_free_seat(&mut self) -> Option<(usize, usize)> {
        let index = self.dice.roll_index(self.troupe.members.len());
        let free: Vec<usize> = (0..self.troupe.members[index].seats.len())
            .filter(|seat| !self.troupe.sleeps(index, *seat))
            .collect();
        if free.is_empty() || (free.len() == 1 && self.dice.one_in(12)) {
            self.interrupt(index);
            return None;
        }
        let seat = self.dice.pick(&free);
        note!(self, "p{index}t{seat} ");
        Some((index, seat))
    }

    // --- BINDER_WRITE_READ ---

    pub(crate) fn write_and_read(&mut self, index: usize, seat: usize) {
        let (mut bytes, mut written) = (Vec::new(), Vec::new());
        // Mostly it reads what went wrong before it goes on.
        let goes_on = !self.troupe.members[index].seats[seat].must_read || self.dice.one_in(4);
        for _ in 0..if goes_on { self.dice.roll(4) } else { 0 } {
            let start = bytes.len();
            let command = self.command(index, seat, &mut bytes);
            self.note_command(&bytes[start..]);
            written.push((bytes.len() as u64, command));
        }
        let mut request = self.troupe.place_commands(index, &bytes);
        let guard = self.troupe.rig.guard(self.troupe.members[index].host);
        match self.dice.roll(40) {
            0 => request.write_buffer = guard,
            // The memory ends with the commands, or within the last.
            1 if !bytes.is_empty() => {
                let end = bytes.len() - self.dice.roll_index(bytes.len().min(9));
                request.write_buffer = guard - end as u64;
                let host = self.troupe.members[index].host;
                self.troupe.rig.poke(host, request.write_buffer, &bytes[..end]);
                self.troupe.count("a write buffer that ends too early");
            }
            2..5 => {
                request.write_size = request.write_size.saturating_sub(1 + self.dice.roll(8));
                self.troupe.count("a command that is cut off");
            }
            5 => request.write_size += 8,
            _ => {}
        }
        let may_read = self.may_read(index, seat, &written);
        if may_read && (!goes_on || !self.dice.one_in(4)) {
            request.read_buffer = self.troupe.members[index].seats[seat].read_buffer;
            request.read_size = self.dice.pick(&[4096, 4096, 4096, 4096, 256, 80, 79, 4, 152]);
            if self.troupe.members[index].may_seem_readable {
                request.read_size = READ_BYTES as u64;
            }
            match self.dice.roll(30) {
                0 | 1 => request.read_buffer = guard,
                // More than there is room for is written by the C driver to what lies behind.
                // Where it asks for a thread, the C driver writes to what lies before.
                2 => {
                    let consumed = self.dice.pick(&[4, 8, 40]).min(request.read_size);
                    let member = &self.troupe.members[index];
                    if !member.may_grow && !member.may_seem_readable {
                        request.read_consumed = consumed;
                    }
                }
                _ => {}
            }
        }
        let [w, r, c] = [request.write_size, request.read_size, request.read_consumed];
        note!(self, "write {w} read {r} from {c}");
        if request.write_buffer >= guard {
            note!(self, " no write buffer");
            self.troupe.count("a bad write buffer");
        }
        if request.read_buffer == guard {
            note!(self, " no read buffer");
            self.troupe.count("a bad read buffer");
        }
        self.run(index, seat, &request, &written);
    }

    /// Whether a read by this thread takes work that another, which sleeps, may be woken for.
    pub(crate) fn may_read(&self, index: usize, seat: usize, written: &[(u64, Command)]) -> bool {
        let seats = &self.troupe.members[index].seats;
        let sleeps = |other: usize| seats[other].parked.is_some() && seats[other].is_worker();
        let others = (0..seats.len()).filter(|other| *other != seat);
        let has_reply = written.iter().any(|(_, command)| matches!(command, Command::Reply));
        others.into_iter().all(|other| !sleeps(other)) || (!seats[seat].is_worker() && !has_reply)
    }

    pub(crate) fn run(
        &mut self,
        index: usize,
        seat: usize,
        request: &BinderWriteRead,
        written: &[(u64, Command)],
    ) {
        // A file system in user space finds out after a moment that a file does not wait any more.
        let is_over = self.troupe.write_read(index, seat, request)
            || self.troupe.members[index].mode == Mode::Nonblocking;
        let state = &mut self.troupe.members[index].seats[seat];
        if is_over {
            let thread = state.thread;
            let result = self.troupe.rig.finish(thread);
            let after = self.argument_of(index, seat);
            if written.iter().any(|(_, command)| matches!(command, Command::Reply)) {
                self.unheard_for = Some(MISSED_AFTER);
            }
            self.note_written(index, seat, after.write_consumed, written);
            self.note_end(index, seat, request, result);
        } else {
            state.parked = Some(Sleep::Read(*request));
            let has_called = written.iter().any(|(_, command)| matches!(command, Command::Call));
            self.unheard_for = has_called.then_some(TAKEN_BACK_AFTER);
            // A read sleeps when all is written, or all up to an error that it would have read.
            self.note_written(index, seat, request.write_size, written);
            self.note_nothing_left(index, seat);
            self.troupe.count("a read that sleeps");
            note!(self, " sleeps\n");
        }
    }

    fn argument_of(&self, index: usize, seat: usize) -> BinderWriteRead {
        let argument = self.troupe.members[index].seats[seat].argument;
        self.troupe.peek_value(index, argument)
    }

    fn note_written(&mut self, index: usize, seat: usize, end: u64, written: &[(u64, Command)]) {
        let state = &mut self.troupe.members[index].seats[seat];
        for (_, command) in written.iter().filter(|(at, _)| *at <= end) {
            match command {
                Command::Call => state.awaits = true,
                Command::Reply => state.serves = state.serves.saturating_sub(1),
                Command::Other => {}
            }
        }
    }

    /// A read by this thread has found nothing to tell.
    fn note_nothing_left(&mut self, index: usize, seat: usize) {
        let member = &mut self.troupe.members[index];
        if member.seats[seat].is_worker() {
            member.may_seem_readable = false;
        }
    }

    /// Notes how a `BINDER_WRITE_READ` ended, and learns from what it read.
    fn note_end(
        &mut self,
        index: usize,
        seat: usize,
        request: &BinderWriteRead,
        result: Result<(), Errno>,
    ) {
        let after = self.argument_of(index, seat);
        let [w, r] = [after.write_consumed, after.read_consumed];
        if result == Err(Errno::AGAIN) {
            self.note_nothing_left(index, seat);
        }
        match result {
            Ok(()) => note!(self, " -> wrote {w} read {r}"),
            Err(errno) => {
                note!(self, " -> E{} wrote {w} read {r}", errno.raw_os_error());
                self.troupe.count(match errno {
                    Errno::AGAIN => "EAGAIN",
                    Errno::FAULT => "EFAULT",
                    Errno::INTR => "EINTR",
                    Errno::INVAL => "EINVAL",
                    _ => "another errno",
                });
            }
        }
        if result.is_ok() && w < request.write_size {
            self.troupe.members[index].seats[seat].must_read = true;
        }
        if result.is_ok() && request.read_size > 0 {
            let start = request.read_buffer + request.read_consumed;
            let len = usize::try_from(r - request.read_consumed).expect("a length");
            assert!(len <= READ_BYTES, "more than there is room for");
            let bytes = self.troupe.peek(index, start, len);
            self.note_returns(index, seat, &bytes);
        }
        note!(self, "\n");
    }

    /// Has what a thread waits for written to memory that ends with the first code. What is lost is not
    /// known, so the thread starts anew.
    fn fault_at_the_edge(&mut self, index: usize, seat: usize) {
        let member = &self.troupe.members[index];
        if member.mode == Mode::Blocking || !member.seats[seat].awaits || !member.is_idle() {
            return note!(self, "nothing\n");
        }
        // A refusal that faults is not forgotten by the C driver, which then refuses all else.
        self.extended_error(index, seat);
        if self.troupe.members[index].seats[seat].has_been_refused {
            return;
        }
        let read_buffer = self.troupe.rig.guard(self.troupe.members[index].host) - 4;
        let request =
            BinderWriteRead { read_size: 4096, read_buffer, ..BinderWriteRead::default() };
        note!(self, "read at the edge");
        self.run(index, seat, &request, &[]);
        // Where that was a BR_DEAD_REPLY, the C driver does not tell the thread of another.
        self.exit_thread(index, seat);
    }

    // --- everything else ---

    /// Interrupts a thread that sleeps in a call on that file, or on another of the same program.
    pub(crate) fn interrupt(&mut self, index: usize) {
        let sleeper = self.troupe.members_of_host(index).find_map(|of| {
            let seats = &self.troupe.members[of].seats;
            Some((of, seats.iter().position(|seat| seat.parked.is_some())?))
        });
        let (of, at) = sleeper.expect("one sleeps");
        self.interrupt_seat(of, at);
    }

    fn interrupt_seat(&mut self, index: usize, at: usize) {
        let seat = &mut self.troupe.members[index].seats[at];
        let sleep = seat.parked.take().expect("it sleeps");
        let thread = seat.thread;
        note!(self, "p{index}t{at} interrupted");
        self.troupe.count("a sleeper that is interrupted");
        self.troupe.rig.interrupt(thread);
        let result = self.troupe.rig.finish(thread);
        self.note_end_of_sleep(index, at, sleep, result);
    }

    /// Notes which sleepers were woken.
    fn note_woken(&mut self) {
        let mut asleep = Vec::new();
        for (index, member) in self.troupe.members.iter().enumerate() {
            for (at, seat) in member.seats.iter().enumerate() {
                if seat.parked.is_some() {
                    asleep.push((index, at, seat.thread));
                }
            }
        }
        let threads: Vec<_> = asleep.iter().map(|(.., thread)| *thread).collect();
        if threads.is_empty() {
            return;
        }
        let mut ended = self.troupe.rig.ended(&threads);
        if ended.is_empty()
            && let Some(delay) = self.unheard_for.take()
            && self.troupe.has_lanes()
        {
            std::thread::sleep(delay);
            ended = self.troupe.rig.ended(&threads);
        }
        for (index, at, thread) in asleep {
            if ended.contains(&thread) {
                self.end_sleep(index, at);
            }
        }
    }

    fn end_sleep(&mut self, index: usize, at: usize) {
        let seat = &mut self.troupe.members[index].seats[at];
        let Some(sleep) = seat.parked.take() else { return };
        let result = self.troupe.rig.finish(seat.thread);
        note!(self, "  p{index}t{at} woken");
        self.troupe.count("a sleeper that is woken");
        self.note_end_of_sleep(index, at, sleep, result);
    }

    fn note_end_of_sleep(
        &mut self,
        index: usize,
        seat: usize,
        sleep: Sleep,
        result: Result<(), Errno>,
    ) {
        match sleep {
            Sleep::Read(request) => self.note_end(index, seat, &request, result),
            Sleep::Poll => self.note_end_of_poll(result),
        }
    }

    fn note_end_of_poll(&mut self, result: Result<(), Errno>) {
        match result {
            Ok(()) => note!(self, " -> readable\n"),
            Err(errno) => note!(self, " -> E{}\n", errno.raw_os_error()),
        }
    }

    /// Asks whether a thread has something to read; says it has if that is not certain.
    pub(crate) fn poll(&mut self, index: usize, seat: usize) -> bool {
        let caller = self.troupe.members[index].caller(seat);
        if self.troupe.members[index].may_seem_readable {
            note!(self, "nothing\n");
            return true;
        }
        let ready = self.troupe.rig.poll(caller);
        note!(self, "poll -> {} {}\n", ready.is_readable, ready.has_failed);
        self.troupe.count(if ready.is_readable {
            "a poll that finds something"
        } else {
            "a poll that finds nothing"
        });
        ready.is_readable
    }

    /// Waits until a thread has something to read, where that is certain.
    pub(crate) fn wait_readable(&mut self, index: usize, seat: usize) {
        let member = &self.troupe.members[index];
        if member.may_seem_readable || !self.may_read(index, seat, &[]) {
            return note!(self, "nothing\n");
        }
        let waiter = self.dice.pick(&[Waiter::Poll, Waiter::Epoll]);
        note!(self, "waits by {waiter:?}");
        if self.troupe.wait_readable(index, seat, waiter) {
            let result = self.troupe.rig.finish(self.troupe.members[index].seats[seat].thread);
            self.note_end_of_poll(result);
        } else {
            self.troupe.members[index].seats[seat].parked = Some(Sleep::Poll);
            self.troupe.count("a poll that sleeps");
            note!(self, " sleeps\n");
        }
    }

    pub(crate) fn switch_mode(&mut self, index: usize) {
        if !self.troupe.members[index].is_idle() {
            return note!(self, "nothing\n");
        }
        let member = &mut self.troupe.members[index];
        member.mode = match member.mode {
            Mode::Blocking => Mode::Nonblocking,
            Mode::Nonblocking => Mode::Blocking,
        };
        self.troupe.rig.set_mode(member.file, member.mode);
        note!(self, "{:?}\n", member.mode);
    }

    pub(crate) fn freeze(&mut self, index: usize, seat: usize) {
        let whom = self.dice.roll_index(self.troupe.members.len());
        let pid = self.troupe.members[whom].pid.unsigned_abs();
        if self.dice.one_in(3) {
            let asked = BinderFrozenStatusInfo { pid, ..Default::default() };
            let (result, info) = self.request(index, seat, BINDER_GET_FROZEN_INFO, asked);
            let [s, a] = [info.sync_recv, info.async_recv];
            return note!(self, "frozen info of p{whom} -> {result} {s} {a}\n");
        }
        let enable = u32::from(!self.dice.one_in(2));
        let frozen: Vec<_> = self.troupe.members_of_host(whom).collect();
        let is_unsure = |of: &usize| {
            let member = &self.troupe.members[*of];
            member.has_been_referred_to && member.may_wake_for_nothing()
        };
        if frozen.iter().any(is_unsure) {
            return note!(self, "nothing\n");
        }
        let freeze = BinderFreezeInfo { pid, enable, timeout_ms: 0 };
        let (result, _) = self.request(index, seat, BINDER_FREEZE, freeze);
        if result == 0 {
            self.troupe.count(if enable == 1 { "a freeze" } else { "a thaw" });
            for of in frozen {
                let member = &mut self.troupe.members[of];
                member.may_seem_readable |= member.has_been_referred_to;
            }
        }
        note!(self, "freeze p{whom} {enable} -> {result}\n");
    }

    pub(crate) fn exit_thread(&mut self, index: usize, seat: usize) {
        let member = &self.troupe.members[index];
        if member.mode == Mode::Blocking || !member.is_idle() {
            return note!(self, "nothing\n");
        }
        // The C driver forgets what a thread leaves unread. A refusal brings all that waits for it.
        let mut refused = Vec::new();
        refused.extend_from_slice(BC_TRANSACTION.as_bytes());
        let data = BinderTransactionData { target: 99, ..BinderTransactionData::default() };
        refused.extend_from_slice(data.as_bytes());
        let mut request = BinderWriteRead {
            read_size: 4096,
            read_buffer: self.troupe.members[index].seats[seat].read_buffer,
            ..self.troupe.place_commands(index, &refused)
        };
        for _ in 0..40 {
            self.troupe.write_read(index, seat, &request);
            let result = self.troupe.rig.finish(self.troupe.members[index].seats[seat].thread);
            note!(self, "drains");
            self.note_end(index, seat, &request, result);
            if result.is_err() {
                break;
            }
            request.write_size = 0;
        }
        let (result, _) = self.request(index, seat, BINDER_THREAD_EXIT, 0_u32);
        note!(self, "exit -> {result}\n");
        self.troupe.count("a thread that exits");
        let seat = &mut self.troupe.members[index].seats[seat];
        (seat.awaits, seat.serves, seat.must_read) = (false, 0, false);
    }

    /// A process closes its file and opens another.
    pub(crate) fn leave(&mut self, index: usize) {
        note!(self, "leaves\n");
        self.troupe.count("a process that leaves");
        for at in 0..self.troupe.members[index].seats.len() {
            // A file that is polled stays open, and of one that was closed nothing is told.
            if matches!(self.troupe.members[index].seats[at].parked, Some(Sleep::Poll)) {
                self.interrupt_seat(index, at);
            }
        }
        let is_serving = self.troupe.members[index].seats.iter().any(|seat| seat.serves > 0);
        self.troupe.leave(index);
        if is_serving && self.troupe.has_lanes() {
            std::thread::sleep(MISSED_AFTER);
        }
        for at in 0..self.troupe.members[index].seats.len() {
            self.end_sleep(index, at);
        }
        self.note_woken();
        // Its first thread may be needed to come back.
        if self.troupe.is_manager(index)
            && let Some(of) = self.troupe.where_sleeps(index, 0)
        {
            self.interrupt_seat(of, 0);
        }
        let mode = self.dice.pick(&[Mode::Blocking, Mode::Nonblocking]);
        self.troupe.come_back(index, mode);
    }

    /// A process is killed, whatever its threads do, and another begins in its place.
    fn die(&mut self) {
        let index = self.dice.roll_index(self.troupe.members.len());
        let seats = &self.troupe.members[index].seats;
        let sleeps = seats.iter().any(|seat| seat.parked.is_some());
        let serves = seats.iter().any(|seat| seat.serves > 0);
        // Who waits for its reply may have brought objects, which go with it: how much of that is over when the caller hears of the end
        // is up to the scheduler.
        if !self.converses && serves {
            return note!(self, "nothing\n");
        }
        note!(self, "p{index} is killed\n");
        let has_lanes = self.troupe.has_lanes();
        self.troupe.count("a process that is killed");
        if sleeps {
            self.troupe.count("a sleeper that is killed");
        }
        if serves {
            self.troupe.count("a server that is killed");
        }
        if self.troupe.rig.has_lane(self.troupe.members[index].host) {
            self.troupe.count("a process with a lane that is killed");
        }
        self.troupe.replace(index);
        if has_lanes {
            std::thread::sleep(MISSED_AFTER);
        }
        self.note_woken();
        let mode = self.dice.pick(&[Mode::Blocking, Mode::Nonblocking]);
        self.troupe.come_back(index, mode);
    }

    fn small_request(&mut self, index: usize, seat: usize) {
        match self.dice.roll(7) {
            0 => {
                self.extended_error(index, seat);
            }
            1 => {
                let count = u32::try_from(self.dice.roll(3)).expect("a small number");
                let (result, _) = self.request(index, seat, BINDER_SET_MAX_THREADS, count);
                self.troupe.members[index].may_grow |= count > 0;
                note!(self, "max threads {count} -> {result}\n");
            }
            2 => {
                let ptr = self.dice.pick(&[0, 0, 0x1000, 0x3000]);
                let asked = BinderNodeDebugInfo { ptr, ..Default::default() };
                let (result, info) = self.request(index, seat, BINDER_GET_NODE_DEBUG_INFO, asked);
                note!(self, "node behind {ptr:#x} -> {result} {info:x?}\n");
            }
            3 => {
                let handle = self.handle(index);
                let asked = BinderNodeInfoForRef { handle, ..Default::default() };
                let (result, info) = self.request(index, seat, BINDER_GET_NODE_INFO_FOR_REF, asked);
                note!(self, "node of {handle} -> {result} {info:x?}\n");
            }
            4 => {
                let (result, version) = self.request(index, seat, BINDER_VERSION, 0_u32);
                note!(self, "version -> {result} {version}\n");
            }
            5 => {
                let (result, _) = self.request(index, seat, 0xc008_6263, 0_u64);
                note!(self, "unknown request -> {result}\n");
            }
            _ => {
                self.troupe.rig.close_duplicate(self.troupe.members[index].file);
                note!(self, "closes a duplicate\n");
            }
        }
    }

    pub(crate) fn extended_error(&mut self, index: usize, seat: usize) -> BinderExtendedError {
        let none = BinderExtendedError::default();
        let (result, error) = self.request(index, seat, BINDER_GET_EXTENDED_ERROR, none);
        note!(self, "extended error -> {result} {:#x} {}\n", error.command, error.param);
        self.troupe.members[index].seats[seat].has_been_refused |= error.command != BR_OK;
        if error.param == -Errno::NOSPC.raw_os_error() {
            self.troupe.count("an area without room");
        }
        error
    }

    /// Makes a request that does not sleep. Returns the errno, 0 if all is well, and the argument.
    fn request<T>(&mut self, index: usize, seat: usize, code: u32, value: T) -> (i32, T)
    where
        T: IntoBytes + FromBytes + Immutable,
    {
        let argument = self.troupe.place(index, value.as_bytes());
        self.troupe.ioctl(index, seat, code, argument);
        let result = self.troupe.rig.finish(self.troupe.members[index].seats[seat].thread);
        let errno = result.map_or_else(Errno::raw_os_error, |()| 0);
        (errno, self.troupe.peek_value(index, argument))
    }

    /// Ends all sleep.
    fn end(&mut self) {
        if self.troupe.has_lanes() {
            self.troupe.count("a lane");
        }
        for index in 0..self.troupe.members.len() {
            while !self.troupe.members[index].is_idle() {
                self.interrupt(index);
            }
        }
    }
}
