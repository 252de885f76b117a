//! A thread that serves, whose callers and driver are played.

use binder_ring::layout::IS_LOOPER;
use binder_uapi::{BC_ENTER_LOOPER, BC_REPLY, BR_TRANSACTION, LaneAccept};
use rustix::thread::Timespec;

use super::super::commands::LaneReturns;
use super::super::served::{HeldLanes, Places};
use super::*;

std::thread_local! {
    /// Who calls.
    static CALLER_UID: Cell<Option<u32>> = const { Cell::new(Some(77)) };
}

impl ServedPlace for LaneSegment {
    fn segment(&self) -> LaneSegment {
        *self
    }

    fn caller_uid(&self) -> Option<u32> {
        CALLER_UID.get()
    }
}

impl LaneServing for Process {
    type Served = LaneSegment;

    fn served(&self) -> &ServedLanes<LaneSegment> {
        &self.served
    }

    fn accept(&self) -> Option<(LaneAccept, LaneSegment)> {
        self.ring.segment.header().offered_lanes.store(0, Ordering::Relaxed);
        let accepted = LaneAccept {
            id: LANE,
            place: 2,
            sender_pid: 4,
            sender_euid: 77,
            ptr: 5,
            cookie: 6,
            ..Default::default()
        };
        Some((accepted, self.lane()))
    }

    fn give_back_served(&self, _: LaneSegment) {
        self.closed.set(self.closed.get() + 1);
    }

    fn is_call_in_use(&self, _: &LaneSegment) -> bool {
        self.is_in_use.get()
    }

    fn receive_call(&self, _: &LaneSegment, len: usize) -> Option<u64> {
        assert_eq!(len, DATA.len());
        self.is_in_use.set(true);
        Some(BUFFER)
    }

    fn copy_reply(&self, segment: &LaneSegment, _: &BinderTransactionData) -> bool {
        segment.write_reply(&DATA)
    }

    fn ticks(&self) -> u64 {
        self.ticks.get()
    }

    fn now(&self) -> Timespec {
        Timespec { tv_sec: 0, tv_nsec: 999_999_999 }
    }

    fn sleep_on(&self, words: &LaneWaits, until: &Timespec) -> (SleepEnd, Option<usize>) {
        assert_eq!(words.waits().len(), self.served.count() + 1, "the lanes' and the gate");
        let (deed, end) = self.script.borrow_mut().pop_front().expect("it sleeps no more");
        let is_new = until.tv_sec == 1 && until.tv_nsec == 19_999_999;
        assert!(
            is_new || end == SleepEnd::TimedOut || *until == Timespec { tv_sec: 0, tv_nsec: 0 }
        );
        deed(self);
        (end, None)
    }
}

/// A thread of a process that has a lane, which it has looked at.
struct Server<'p> {
    process: &'p Process,
    thread: ThreadLanes<()>,
}

impl<'p> Server<'p> {
    fn of(process: &'p Process) -> Self {
        process.standing().store(IS_LOOPER | IN_NO_CALL, Ordering::Relaxed);
        let header = process.ring.segment.header();
        header.lanes[2].store(LANE, Ordering::Relaxed);
        header.offered_lanes.store(1, Ordering::Relaxed);
        let mut server = Self { process, thread: ThreadLanes::new() };
        assert_eq!(server.run(&BC_ENTER_LOOPER.to_ne_bytes(), 256).0, DONE);
        assert_eq!(process.by_ring.replace(0), 1);
        server
    }

    /// One that has replied, and has not read since.
    fn that_owes_a_completion(process: &'p Process) -> Self {
        let mut server = Self::of(process);
        server.serve();
        assert_eq!(server.run(&answer(), 0).0, DONE);
        server
    }

    fn run(&mut self, commands: &[u8], room: u64) -> (RingOutcome, BinderWriteRead) {
        self.run_from(0, commands, room)
    }

    /// A read that has brought that many bytes.
    fn run_from(
        &mut self,
        read_consumed: u64,
        commands: &[u8],
        read_size: u64,
    ) -> (RingOutcome, BinderWriteRead) {
        let write_size = commands.len() as u64;
        let mut call =
            BinderWriteRead { write_size, read_size, read_consumed, ..Default::default() };
        let parsed = LaneCommands::parse(commands, self.process);
        (self.thread.exchange(self.process, &mut call, &parsed, 1000), call)
    }

    /// Reads, and is told of a call.
    fn serve(&mut self) {
        self.process.play(&[(call, SleepEnd::Woken)]);
        let (outcome, read) = self.run(&[], 256);
        assert_eq!((outcome, read.read_consumed), (DONE, 72));
        let returns = self.process.returns.take();
        assert_eq!(returns[..8], [BR_NOOP, BR_TRANSACTION].map(u32::to_ne_bytes).concat());
        let told = BinderTransactionData::read_from_bytes(&returns[8..]).expect("a call");
        assert_eq!((told.target, told.cookie, told.code, told.buffer), (5, 6, 3, BUFFER));
        assert_eq!((told.sender_pid, told.sender_euid, told.data_size), (4, 77, 4));
        assert_eq!(told.flags, LANE_FLAGS, "no flags but those that a call may have");
        assert_eq!(self.state(), LaneState::Claimed);
    }

    fn state(&self) -> LaneState {
        self.process.lane().head().word.state()
    }
}

const DONE: RingOutcome = RingOutcome::Done(Ok(()));

/// A caller makes a call.
fn call(process: &Process) {
    let lane = process.lane();
    let request = &lane.head().request;
    request.code.store(3, Ordering::Relaxed);
    request.flags.store(u32::MAX, Ordering::Relaxed);
    request.len.store(4, Ordering::Relaxed);
    assert!(lane.head().word.post().is_some(), "a thread looks");
}

/// What a server writes that has done with a call.
fn answer() -> Vec<u8> {
    let reply = BinderTransactionData { data_size: 4, ..Default::default() };
    [&free()[..], &BC_REPLY.to_ne_bytes(), reply.as_bytes()].concat()
}

fn completion() -> Vec<u8> {
    [BR_NOOP, BR_TRANSACTION_COMPLETE].map(u32::to_ne_bytes).concat()
}

#[test]
fn a_call_is_told_and_answered() {
    let process = Process::new();
    let mut server = Server::of(&process);
    for _ in 0..3 {
        server.serve();
        let (outcome, written) = server.run(&answer(), 256);
        assert_eq!((outcome, written.write_consumed), (DONE, written.write_size));
        assert_eq!(process.returns.take(), completion());
        assert_eq!((server.state(), process.is_in_use.get()), (LaneState::Warm, false));
    }
    assert_eq!(process.by_ring.get(), 0);
    assert_eq!(process.ring.segment.header().lane_calls[2].total(), 3);
}

#[test]
fn who_replies_without_a_read_hears_of_it_by_the_next() {
    let process = Process::new();
    let mut server = Server::of(&process);
    server.serve();
    let (outcome, written) = server.run(&answer(), 0);
    assert_eq!((outcome, written.write_consumed), (DONE, written.write_size));
    assert!(process.returns.take().is_empty() && server.state() == LaneState::Warm);
    // A read without room for the longest that there could be is told nothing; one that writes more has that run first.
    assert_eq!(server.run(&[], 79).0, DONE);
    assert_eq!(process.returns.take(), BR_NOOP.to_ne_bytes());
    let (outcome, read) = server.run(&BC_ENTER_LOOPER.to_ne_bytes(), 80);
    assert_eq!((outcome, process.by_ring.get(), read.read_consumed), (DONE, 1, 8));
    assert_eq!(process.returns.take(), completion());
    server.serve();
}

#[test]
fn who_replies_without_a_read_hears_by_the_next_of_what_else_has_come_for_the_thread() {
    let process = Process::new();
    let mut server = Server::that_owes_a_completion(&process);
    // It has made a call, too.
    process.standing().store(IS_LOOPER, Ordering::Relaxed);
    let (outcome, read) = server.run(&[], 256);
    assert_eq!((outcome, read.read_consumed, process.at_once.get()), (DONE, 8, 1));
    assert_eq!(process.returns.take(), completion());
}

#[test]
fn who_hears_of_a_reply_is_told_no_call_for_its_process_in_the_same_go() {
    let process = Process::new();
    let mut server = Server::that_owes_a_completion(&process);
    // It has made an ioctl, so that it is not known where it stands: it is in no call.
    process.standing().store(0, Ordering::Relaxed);
    process.driver.set(|process, call| {
        assert_eq!((call.write_size, call.read_size), (0, call.read_consumed));
        process.standing().store(IS_LOOPER | IN_NO_CALL, Ordering::Relaxed);
        RingOutcome::Done(Ok(()))
    });
    let (outcome, read) = server.run(&[], 256);
    assert_eq!((outcome, read.read_size, read.read_consumed), (DONE, 256, 8));
    assert_eq!((process.returns.take(), process.at_once.get()), (completion(), 0));
}

#[test]
fn a_completion_comes_before_what_is_to_be_closed() {
    let process = Process::new();
    let mut server = Server::that_owes_a_completion(&process);
    process.driver.set(run_but_for_closing);
    let (outcome, call) = server.run(&BC_ENTER_LOOPER.to_ne_bytes(), 256);
    assert_eq!((outcome, call.write_consumed, call.read_consumed), (RingOutcome::Ioctl, 4, 8));
    assert_eq!((process.returns.take(), process.by_ring.get()), (completion(), 2));
}

#[test]
fn what_comes_for_a_read_that_has_brought_something_begins_with_itself() {
    let process = Process::new();
    let mut server = Server::of(&process);
    process.play(&[(call, SleepEnd::Woken)]);
    let (outcome, read) = server.run_from(4, &[], 256);
    assert_eq!((outcome, read.read_consumed), (DONE, 72));
    assert_eq!(process.returns.take()[..4], BR_TRANSACTION.to_ne_bytes());
    assert_eq!(server.run(&answer(), 0).0, DONE);
    // There is just room for a completion, as a driver counts that.
    assert_eq!(server.run_from(4, &[], 80).1.read_consumed, 8);
    assert_eq!(process.returns.take(), BR_TRANSACTION_COMPLETE.to_ne_bytes());
}

#[test]
fn a_completion_comes_before_what_the_driver_tells_of_a_command_that_fails() {
    let process = Process::new();
    let mut server = Server::that_owes_a_completion(&process);
    process.driver.set(|process, call| {
        process.standing().store(0, Ordering::Relaxed);
        call.write_consumed = 4;
        RingOutcome::Done(Ok(()))
    });
    let commands = [BC_ENTER_LOOPER; 2].map(u32::to_ne_bytes).concat();
    // Where that has no room beside it, that is told first.
    let (outcome, call) = server.run(&commands, 79);
    assert_eq!((outcome, call.write_consumed, process.by_ring.replace(0)), (DONE, 4, 2));
    assert!(process.returns.take().is_empty());
    let (outcome, call) = server.run(&commands, 256);
    assert_eq!((outcome, call.write_consumed, call.read_consumed), (DONE, 4, 8));
    assert_eq!((process.returns.take(), process.at_once.get()), (completion(), 1));
    // It is told once.
    process.driver.set(run_all);
    assert_eq!(server.run(&[], 256).0, DONE);
    assert!(process.returns.take().is_empty());
}

#[test]
fn a_call_by_another_user_than_the_lane_was_granted_to_is_declined() {
    let process = Process::new();
    let mut server = Server::of(&process);
    for posing in [Some(0), None] {
        CALLER_UID.set(posing);
        process.play(&[(call, SleepEnd::Woken), (nothing, SleepEnd::Interrupted)]);
        let (outcome, read) = server.run(&[], 256);
        assert_eq!((outcome, read.read_consumed), (RingOutcome::Done(Err(Errno::EINTR)), 0));
        let outcome = process.lane().head().reply.outcome.load(Ordering::Relaxed);
        assert_eq!(CallOutcome::of_number(outcome), CallOutcome::Declined);
        assert_eq!((server.state(), process.is_in_use.get()), (LaneState::Cold, false));
    }
    CALLER_UID.set(Some(77));
    server.serve();
}

#[test]
fn a_signal_ends_a_look() {
    let process = Process::new();
    let mut server = Server::of(&process);
    process.is_in_use.set(true);
    process.play(&[(nothing, SleepEnd::Interrupted)]);
    let (outcome, read) = server.run(&free(), 256);
    assert_eq!(outcome, RingOutcome::Done(Err(Errno::EINTR)));
    assert_eq!((read.write_consumed, read.read_consumed), (read.write_size, 0));
    assert_eq!((server.state(), process.is_in_use.get()), (LaneState::Cold, false));
    // A call that comes with it is not made: its caller goes to the driver.
    process.play(&[(call, SleepEnd::Interrupted)]);
    assert_eq!(server.run(&[], 256).0, RingOutcome::Done(Err(Errno::EINTR)));
    assert_eq!((server.state(), process.by_ring.get()), (LaneState::Cold, 0));
    server.serve();
}

#[test]
fn a_thread_that_looks_in_vain_goes_to_the_driver() {
    let process = Process::new();
    let mut server = Server::of(&process);
    process.play(&[(nothing, SleepEnd::TimedOut), (nothing, SleepEnd::TimedOut)]);
    assert_eq!(server.run(&[], 256).0, DONE);
    assert_eq!((process.by_ring.get(), server.state()), (1, LaneState::Cold));
    // The gate is shut while it sleeps.
    let shut = |process: &Process| process.ring.segment.header().gate.store(1, Ordering::Relaxed);
    process.play(&[(shut, SleepEnd::Woken)]);
    assert_eq!(server.run(&[], 256).0, DONE);
    assert_eq!(process.by_ring.get(), 2);
}

#[test]
fn a_server_that_calls_has_the_driver_take_over() {
    let process = Process::new();
    let mut server = Server::of(&process);
    server.serve();
    assert_eq!(server.run(&send(), 256).0, DONE);
    assert!(!server.thread.is_serving(), "it is the driver's");
    assert_eq!((process.by_ring.get(), server.state()), (1, LaneState::Cold));
    // A driver that does not take it is gone, and says so.
    process.adopts.set(Err(Errno::ENODEV));
    process.is_in_use.set(false);
    server.serve();
    assert_eq!(server.run(&send(), 256).0, DONE);
    assert_eq!((server.thread.is_serving(), process.by_ring.get()), (false, 2));
    assert!(!process.note().is(LaneId::new(LANE).expect("its number"), NoteKind::Serves));
}

#[test]
fn a_thread_that_exits_is_told_nothing_of_what_was_before() {
    let process = Process::new();
    let mut server = Server::of(&process);
    server.serve();
    server.thread.exit(&process);
    assert!(!server.thread.is_serving(), "it is the driver's");
    assert_eq!(server.state(), LaneState::Cold);
    process.is_in_use.set(false);
    // Nor has a driver that is gone anything to say.
    process.adopts.set(Err(Errno::ENODEV));
    server.serve();
    server.thread.exit(&process);
    assert!(!server.thread.is_serving());
    assert!(!process.note().is(LaneId::new(LANE).expect("its number"), NoteKind::Serves));
    process.is_in_use.set(false);
    // Nor does it hear of its last reply.
    server.serve();
    assert_eq!(server.run(&answer(), 0).0, DONE);
    server.thread.exit(&process);
    assert_eq!(server.state(), LaneState::Cold);
    assert_eq!(server.run(&BC_ENTER_LOOPER.to_ne_bytes(), 256).0, DONE);
    assert!(process.returns.take().is_empty());
    server.serve();
}

#[test]
fn a_thread_that_has_callers_wait_looks_at_no_lane_for_some_replies() {
    let process = Process::new();
    let mut server = Server::of(&process);
    server.serve();
    // Each time it does something else for long, and a caller has called meanwhile: twice as many replies later it looks again.
    for late in [1, 2, 4] {
        assert_eq!(server.run(&answer(), 256).0, DONE);
        assert_eq!(server.state(), LaneState::Warm);
        call(&process);
        process.ticks.set(process.ticks.get() + (1 << 40));
        assert_eq!(server.run(&[], 256).0, DONE);
        for _ in 0..late {
            assert_eq!(server.run(&answer(), 256).0, DONE);
            assert_eq!(server.state(), LaneState::Cold, "others may serve the next call");
            server.serve();
        }
    }
    // What takes long while no caller waits holds up none.
    for _ in 0..3 {
        assert_eq!(server.run(&answer(), 256).0, DONE);
        assert_eq!(server.state(), LaneState::Warm);
        process.ticks.set(process.ticks.get() + (1 << 40));
        server.serve();
    }
}

fn shut_gate(process: &Process, is_shut: bool) {
    process.ring.segment.header().gate.store(is_shut.into(), Ordering::Relaxed);
}

#[test]
fn what_the_driver_has_in_line_when_a_call_comes_is_before_it() {
    let process = Process::new();
    let mut server = Server::of(&process);
    server.serve();
    assert_eq!(server.run(&answer(), 256).0, DONE);
    // Numbers begin anew.
    let line = &process.ring.segment.header().line;
    shut_gate(&process, true);
    call(&process);
    for (first, next) in [(u32::MAX, 1), (0, 5)] {
        line.set(first, next);
        assert_eq!(server.run(&[], 256).0, DONE);
        assert_eq!(server.state(), LaneState::Posted, "it waits for its turn");
    }
    assert_eq!((process.at_once.replace(0), process.by_ring.replace(0)), (2, 2));
    // What has come to the line since then comes later.
    line.set(1, 5);
    assert_eq!((server.run(&[], 256).0, server.state()), (DONE, LaneState::Claimed));
    assert_eq!(server.run(&answer(), 256).0, DONE);
    // One after the other: even if its turn has come, the driver's is first.
    call(&process);
    line.set(5, 5);
    assert_eq!((server.run(&[], 256).0, server.state()), (DONE, LaneState::Posted));
    assert_eq!(process.at_once.get(), 1);
    assert_eq!((server.run(&[], 256).0, server.state()), (DONE, LaneState::Claimed));
}

#[test]
fn a_thread_for_which_the_driver_has_nothing_waits_there() {
    // Its caller goes there, too, unless another thread is about to look.
    for (has_returning, state) in [(false, LaneState::Cold), (true, LaneState::Posted)] {
        let process = Process::new();
        let mut server = Server::of(&process);
        server.serve();
        assert_eq!(server.run(&answer(), 256).0, DONE);
        assert!(!process.served.has_returning());
        if has_returning {
            process.served.count_returning(true);
        }
        // Another thread was first.
        process.has_nothing.set(true);
        shut_gate(&process, true);
        process.ring.segment.header().line.set(1, 2);
        call(&process);
        assert_eq!(server.run(&[], 256).0, DONE);
        assert_eq!((process.at_once.get(), process.by_ring.get()), (1, 1));
        assert_eq!(server.state(), state);
        assert_eq!(process.served.has_returning(), has_returning, "it is none itself");
        let mut free = HeldLanes::NONE;
        process.served.take_free(&mut free, Places::ALL);
        assert_eq!(free.len(), 1, "it is for who looks next");
    }
}

/// Another lane by which the process is called.
fn other_lane(process: &Process) -> LaneSegment {
    let (start, _file) = create_segment().expect("a segment");
    #[expect(unsafe_code, reason = "the segment is found")]
    // SAFETY: it stays mapped.
    let other = unsafe { LaneSegment::new(start) };
    let accepted = LaneAccept { id: LANE + 1, place: 3, ..Default::default() };
    process.ring.segment.header().lanes[3].store(LANE + 1, Ordering::Relaxed);
    assert!(process.served.add(&accepted, other).is_ok());
    other
}

#[test]
fn callers_wait_for_short_calls_of_others_while_long_ones_leave_them_to_other_threads() {
    let process = Process::new();
    let mut server = Server::of(&process);
    let other = other_lane(&process);
    let header = process.ring.segment.header();
    let mut state_of_other = |others: u32, ticks: u64| {
        header.idle_threads.store(others, Ordering::Relaxed);
        server.serve();
        let state = other.head().word.state();
        process.ticks.set(process.ticks.get() + ticks);
        assert_eq!(server.run(&answer(), 256).0, DONE);
        state
    };
    assert_eq!(state_of_other(1, 0), LaneState::Warm);
    // Of one that takes long the others have known nothing; of the next ones they beware.
    assert_eq!(state_of_other(1, 1 << 40), LaneState::Warm);
    for _ in 0..64 {
        assert_eq!(state_of_other(1, 0), LaneState::Cold);
    }
    assert_eq!(state_of_other(1, 1 << 40), LaneState::Warm);
    assert_eq!(state_of_other(0, 0), LaneState::Warm, "there is no other thread");
}

#[test]
fn a_thread_that_serves_keeps_lanes_nearby_and_leaves_remote_ones_to_others() {
    let process = Process::new();
    let mut server = Server::of(&process);
    let other = other_lane(&process);
    server.serve();
    assert_eq!(server.run(&answer(), 256).0, DONE);
    // Returns how many lanes others find, and what the caller of the second finds.
    let mut serve = || {
        call(&process);
        assert_eq!(server.run(&[], 256).0, DONE);
        let mut found = HeldLanes::NONE;
        process.served.take_free(&mut found, Places::ALL);
        let count = found.len();
        process.served.release_all(found);
        assert_eq!(process.served.has_returning(), count > 0);
        assert_eq!(server.run(&answer(), 256).0, DONE);
        (count, other.head().word.state())
    };
    assert_eq!(serve(), (0, LaneState::Warm));
    other.head().request.cpu.store(1, Ordering::Relaxed);
    for _ in 0..2000 {
        assert_eq!(serve(), (1, LaneState::Warm), "there is no other thread");
    }
    // Another is called for, and has time to come.
    process.ring.segment.header().idle_threads.store(1, Ordering::Relaxed);
    for _ in 0..2 {
        for _ in 0..=64 {
            assert_eq!(serve(), (1, LaneState::Cold));
        }
        for _ in 0..1023 {
            assert_eq!(serve(), (1, LaneState::Warm), "none has come");
        }
    }
    other.head().request.cpu.store(0, Ordering::Relaxed);
    assert_eq!(serve(), (0, LaneState::Warm));
}

#[test]
fn a_thread_whose_calls_are_not_all_short_keeps_no_lanes() {
    let process = Process::new();
    let mut server = Server::of(&process);
    let _other = other_lane(&process);
    let mut count_left = |ticks: u64| {
        server.serve();
        let mut left = HeldLanes::NONE;
        process.served.take_free(&mut left, Places::ALL);
        let count = left.len();
        process.served.release_all(left);
        process.ticks.set(process.ticks.get() + ticks);
        assert_eq!(server.run(&answer(), 256).0, DONE);
        count
    };
    assert_eq!([0, 1 << 40].map(&mut count_left), [0, 0]);
    for _ in 0..1024 {
        assert_eq!(count_left(0), 1);
    }
    assert_eq!(count_left(0), 0);
}

/// The driver takes the lane back.
fn take_back(process: &Process) {
    process.ring.segment.header().lanes[2].store(0, Ordering::Relaxed);
}

#[test]
fn a_call_that_cannot_be_served_now_is_declined() {
    let taken_back: Deed = (
        |process| {
            call(process);
            take_back(process);
        },
        SleepEnd::Woken,
    );
    let lent: Deed = (
        |process| {
            call(process);
            process.is_in_use.set(true);
        },
        SleepEnd::Woken,
    );
    for (deed, lanes) in [(taken_back, 0), (lent, 1)] {
        let process = Process::new();
        let mut server = Server::of(&process);
        process.play(&[deed, (nothing, SleepEnd::Interrupted)][..1 + lanes]);
        let (outcome, read) = server.run(&[], 256);
        let interrupted = RingOutcome::Done(Err(Errno::EINTR));
        assert_eq!(outcome, if lanes == 0 { DONE } else { interrupted });
        assert_eq!((read.read_consumed, server.state()), (0, LaneState::Cold));
        let lane = LaneId::new(LANE).expect("its number");
        assert!(!process.note().is(lane, NoteKind::Serves), "it says that it does no longer");
        assert!(!server.thread.is_serving());
        assert_eq!((process.served.count(), process.closed.get() == 0), (lanes, lanes == 1));
    }
}

#[test]
fn lanes_that_the_driver_has_taken_back_are_given_back() {
    for is_offered_another in [false, true] {
        let process = Process::new();
        let mut server = Server::of(&process);
        process.play(&[(nothing, SleepEnd::Interrupted)]);
        assert_eq!(server.run(&[], 256).0, RingOutcome::Done(Err(Errno::EINTR)));
        take_back(&process);
        if is_offered_another {
            // By what goes to the driver, not by a look.
            process.ring.segment.header().offered_lanes.store(1, Ordering::Relaxed);
            assert_eq!(server.run(&BC_ENTER_LOOPER.to_ne_bytes(), 0).0, DONE);
            assert_eq!((process.served.count(), process.closed.get()), (1, 1));
        } else {
            assert_eq!(server.run(&[], 256).0, DONE);
            assert_eq!((process.served.count(), process.closed.get()), (0, 1));
        }
        assert_eq!(process.by_ring.get(), 1);
    }
}

#[test]
fn only_a_thread_that_serves_looks_at_lanes_and_only_with_room_for_a_call() {
    let process = Process::new();
    let mut server = Server::of(&process);
    let least = LaneReturns::MIN_ROOM as u64;
    let cases = [(IS_LOOPER | IN_NO_CALL, least - 1), (IN_NO_CALL, 256), (0, 256)];
    for (by_ring, (standing, room)) in (1..).zip(cases) {
        process.standing().store(standing, Ordering::Relaxed);
        assert_eq!(server.run(&[], room).0, DONE);
        assert_eq!((process.by_ring.get(), server.state()), (by_ring, LaneState::Cold));
    }
    process.standing().store(IS_LOOPER | IN_NO_CALL, Ordering::Relaxed);
    process.play(&[(call, SleepEnd::Woken)]);
    assert_eq!(server.run(&[], least).0, DONE);
    assert!(server.thread.is_serving());
}

#[test]
fn a_thread_that_looks_in_vain_looks_less_and_less() {
    let process = Process::new();
    let mut server = Server::of(&process);
    let mut reads_before_look = |how: &[Deed]| {
        process.play(how);
        let has_looked = |_: &usize| {
            assert_eq!(server.run(&[], 256).0, DONE);
            process.script.borrow().is_empty()
        };
        let reads = (0..200).find(has_looked).expect("pauses end");
        if server.thread.is_serving() {
            assert_eq!(server.run(&answer(), 256).0, DONE);
        }
        reads
    };
    let late: [Deed; 2] = [(nothing, SleepEnd::TimedOut); 2];
    assert_eq!([0; 5].map(|_| reads_before_look(&late)), [0, 0, 1, 3, 7]);
    // Two looks that are not have it begin anew, nearly.
    let called: [Deed; 1] = [(call, SleepEnd::Woken)];
    assert_eq!([0; 3].map(|_| reads_before_look(&called)), [15, 0, 0]);
    assert_eq!([0; 3].map(|_| reads_before_look(&late)), [0, 3, 7]);
}

#[test]
fn a_thread_that_ends_leaves_its_lanes_to_others() {
    for is_serving in [false, true] {
        let process = Process::new();
        let mut server = Server::of(&process);
        server.serve();
        if !is_serving {
            assert_eq!((server.run(&answer(), 256).0, server.state()), (DONE, LaneState::Warm));
        }
        let lane = LaneId::new(LANE).expect("its number");
        assert_eq!(process.note().is(lane, NoteKind::Serves), is_serving);
        assert_eq!(server.thread.end(&process.ring, process.slot(), &process.served), None);
        // The caller of a call has the driver look for its server, and finds none.
        assert!(!process.note().is(lane, NoteKind::Serves));
        let state = if is_serving { LaneState::Claimed } else { LaneState::Cold };
        assert_eq!(server.state(), state);
        let mut free = HeldLanes::NONE;
        process.served.take_free(&mut free, Places::ALL);
        assert_eq!(free.len(), 1);
    }
}
