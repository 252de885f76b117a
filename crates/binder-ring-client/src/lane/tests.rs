mod refusals;
mod serving;

use core::cell::{Cell, RefCell};
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};
use std::collections::VecDeque;
use std::vec;
use std::vec::Vec;

use binder_lane::layout::{CallOutcome, SEGMENT_BYTES};
use binder_lane::{CallLeft, LaneId, LaneNote, LaneSegment, LaneState, LeftToDriver, NoteKind};
use binder_ring::layout::IN_NO_CALL;
use binder_ring::{SLEEPS, SlotIndex};
use binder_uapi::{
    BC_FREE_BUFFER, BC_TRANSACTION, BR_DEAD_REPLY, BR_FAILED_REPLY, BR_NOOP, BR_REPLY,
    BR_TRANSACTION_COMPLETE, BinderTransactionData, BinderWriteRead, Errno, LANE_FLAGS, LaneOpen,
};
use rustix::fd::OwnedFd;
use zerocopy::{FromBytes as _, IntoBytes as _};

use super::*;
use crate::{ClientRing, ReadWait, RingOutcome, RingSystem, SleepEnd};

const LANE: u32 = 9;
const BUFFER: u64 = 1 << 20;
const DATA: [u8; 4] = [1, 2, 3, 4];

/// What happens while the thread sleeps, and why it wakes up.
type Deed = (fn(&Process), SleepEnd);
/// What the driver does with a call by the ring.
type Driver = fn(&Process, &mut BinderWriteRead) -> RingOutcome;
/// What a handler of a signal does.
type Handler = fn(&Process);

/// A process with one thread and one lane, whose server and driver are played.
struct Process {
    ring: ClientRing,
    start: ptr::NonNull<u8>,
    is_in_use: Cell<bool>,
    script: RefCell<VecDeque<Deed>>,
    left_within: Cell<Option<CallLeft>>,
    /// A handler that runs, unnoticed, when the thread has looked that many times for what handlers do.
    handler: Cell<Option<(u32, Handler)>>,
    /// How the driver answers.
    adopts: Cell<Result<(), Errno>>,
    opens: Cell<Result<(), Errno>>,
    /// How often it is asked, for a lane and for calls by the ring.
    asked: Cell<u32>,
    /// Of which handle the last lane was to be, and how many were given back.
    wished: Cell<u32>,
    closed: Cell<u32>,
    /// What it makes of calls by the ring.
    driver: Cell<Driver>,
    by_ring: Cell<u32>,
    /// Whether the driver has nothing for who would not wait for it, and how often it was asked so.
    has_nothing: Cell<bool>,
    at_once: Cell<u32>,
    returns: RefCell<Vec<u8>>,
    received: RefCell<Vec<u8>>,
    served: ServedLanes<LaneSegment>,
    ticks: Cell<u64>,
    /// The room for replies, and what was wanted.
    room: Cell<u32>,
    wanted: Cell<u32>,
}

impl Process {
    fn new() -> Self {
        let (ring, _file) = ClientRing::create().expect("a segment");
        let (start, _file) = create_segment().expect("a segment");
        let process = Self {
            ring,
            start,
            is_in_use: Cell::new(false),
            script: RefCell::default(),
            left_within: Cell::new(None),
            handler: Cell::new(None),
            adopts: Cell::new(Ok(())),
            opens: Cell::new(Ok(())),
            asked: Cell::new(0),
            wished: Cell::new(0),
            closed: Cell::new(0),
            driver: Cell::new(run_all),
            by_ring: Cell::new(0),
            has_nothing: Cell::new(false),
            at_once: Cell::new(0),
            returns: RefCell::default(),
            received: RefCell::default(),
            served: ServedLanes::new(),
            ticks: Cell::new(0),
            room: Cell::new(0),
            wanted: Cell::new(0),
        };
        assert_eq!(process.ring.claim(5, 5).map(SlotIndex::number), Some(5));
        process
    }

    fn lane(&self) -> LaneSegment {
        #[expect(unsafe_code, reason = "the segment is found")]
        // SAFETY: it is mapped until the value is dropped.
        unsafe {
            LaneSegment::new(self.start)
        }
    }

    fn note(&self) -> LaneNote<'_> {
        LaneNote::new(&self.ring.segment.slot(self.slot()).lane_note)
    }

    fn standing(&self) -> &AtomicU32 {
        &self.ring.segment.slot(self.slot()).standing
    }

    /// The thread has a lane that a server's thread looks at.
    fn with_lane(&self) -> LaneCaller<()> {
        let mut caller = LaneCaller::new();
        self.standing().store(IN_NO_CALL, Ordering::Relaxed);
        let _ = self.call(&mut caller, &send());
        caller.open_if_worthwhile(self, 1);
        assert_eq!(self.asked.get(), 1);
        assert!(self.lane().head().word.warm());
        caller
    }

    fn call(&self, caller: &mut LaneCaller<()>, commands: &[u8]) -> (LaneEnd, BinderWriteRead) {
        let mut call = BinderWriteRead {
            write_size: commands.len() as u64,
            read_size: 256,
            ..Default::default()
        };
        let end = caller.call(self, &mut call, &LaneCommands::parse(commands, self));
        (end, call)
    }

    fn run_handler(&self) {
        match self.handler.take() {
            Some((0, handler)) => handler(self),
            Some((looks, handler)) => self.handler.set(Some((looks - 1, handler))),
            None => {}
        }
    }

    fn play(&self, script: &[Deed]) {
        self.script.borrow_mut().extend(script);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "the segment is unmapped")]
        // SAFETY: the whole mapping, which nothing else has.
        unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), SEGMENT_BYTES) }.expect("it is");
    }
}

impl RingSystem for Process {
    fn cpu(&self) -> u32 {
        0
    }

    fn wake(&self, _: &AtomicU32) {}

    fn sleep(&self, _: &AtomicU32, _: u32) -> SleepEnd {
        let (deed, end) = self.script.borrow_mut().pop_front().expect("it sleeps no more");
        deed(self);
        end
    }

    fn ring_wait(&self, _: SlotIndex, _: u32) -> Result<(), Errno> {
        unreachable!("the ring is played")
    }

    fn has_handled_signal(&self) -> bool {
        self.run_handler();
        false
    }
}

impl ReceivedBuffers for Process {
    fn has_buffer_at(&self, address: u64) -> bool {
        address == BUFFER
    }

    fn free(&self, _: u64) {
        self.is_in_use.set(false);
    }
}

impl LaneSystem for Process {
    type Place = ();
    type Buffers = Self;

    fn ring(&self) -> &ClientRing {
        &self.ring
    }

    fn slot(&self) -> SlotIndex {
        SlotIndex::new(5).expect("it exists")
    }

    fn buffers(&self) -> &Self {
        self
    }

    fn create_place(&self, reply_bytes: u32) -> Option<((), OwnedFd)> {
        self.wanted.set(reply_bytes);
        Some(((), rustix::fs::memfd_create(c"offer", rustix::fs::MemfdFlags::CLOEXEC).ok()?))
    }

    fn give_back(&self, (): ()) {}

    fn segment(&self, (): &()) -> LaneSegment {
        self.lane()
    }

    fn address(&self, (): &()) -> u64 {
        BUFFER
    }

    fn is_in_use(&self, (): &()) -> bool {
        self.is_in_use.get()
    }

    fn receive(&self, (): &(), len: usize) -> bool {
        let mut bytes = vec![0; len];
        #[expect(unsafe_code, reason = "the segment is copied through pointers")]
        // SAFETY: a vector of that length can be written.
        unsafe {
            self.lane().copy_reply(bytes.as_mut_ptr(), len);
        }
        *self.received.borrow_mut() = bytes;
        self.is_in_use.set(true);
        true
    }

    fn room(&self, (): &()) -> u32 {
        self.room.get()
    }

    fn copy_request(&self, segment: &LaneSegment, _: &BinderTransactionData) -> bool {
        segment.write_request(&DATA)
    }

    fn write_returns(&self, _: u64, returns: &[u8]) -> Result<(), Errno> {
        *self.returns.borrow_mut() = returns.into();
        Ok(())
    }

    fn by_ring_waiting(&self, waits: ReadWait, call: &mut BinderWriteRead) -> RingOutcome {
        if waits == ReadWait::Never {
            self.at_once.set(self.at_once.get() + 1);
            if self.has_nothing.get() {
                return RingOutcome::Done(Err(Errno::EAGAIN));
            }
        }
        self.by_ring.set(self.by_ring.get() + 1);
        (self.driver.get())(self, call)
    }

    fn open_lane(&self, wish: &mut LaneOpen) -> Result<(), Errno> {
        self.asked.set(self.asked.get() + 1);
        self.wished.set(wish.handle);
        assert_ne!(wish.fd, 0, "the segment's file");
        self.opens.get()?;
        (wish.id, wish.place, wish.server_euid) = (LANE, 2, 33);
        self.ring.segment.header().lanes[2].store(LANE, Ordering::Relaxed);
        Ok(())
    }

    fn close_lane(&self, lane: LaneId) {
        assert_eq!(lane.number(), LANE);
        self.closed.set(self.closed.get() + 1);
    }

    fn adopt(&self, lane: LaneId) -> Result<(), Errno> {
        self.adopts.get()?;
        let is_its = [NoteKind::Calls, NoteKind::Serves].map(|kind| self.note().adopt(lane, kind));
        assert!(is_its.contains(&true));
        Ok(())
    }

    fn call_left_within(&self) -> Option<CallLeft> {
        let left = self.left_within.get();
        self.run_handler();
        left
    }
}

fn run_all(_: &Process, call: &mut BinderWriteRead) -> RingOutcome {
    call.write_consumed = call.write_size;
    RingOutcome::Done(Ok(()))
}

/// The same, but that the thread is to close something in an ioctl.
fn run_but_for_closing(process: &Process, call: &mut BinderWriteRead) -> RingOutcome {
    process.standing().store(0, Ordering::Relaxed);
    call.write_consumed = call.write_size;
    RingOutcome::Ioctl
}

/// A plain call.
fn send() -> Vec<u8> {
    send_bytes(4)
}

fn send_bytes(data_size: u64) -> Vec<u8> {
    send_to(0, data_size)
}

fn send_to(handle: u32, data_size: u64) -> Vec<u8> {
    let target = handle.into();
    let call = BinderTransactionData { target, code: 3, data_size, ..Default::default() };
    [&BC_TRANSACTION.to_ne_bytes(), call.as_bytes()].concat()
}

fn free() -> Vec<u8> {
    [&BC_FREE_BUFFER.to_ne_bytes()[..], &BUFFER.to_ne_bytes()].concat()
}

/// The server serves the call.
fn claim(process: &Process) {
    let head = process.lane();
    let head = head.head();
    assert_eq!((head.request.len.load(Ordering::Relaxed), head.word.claim()), (4, true));
}

fn reply(process: &Process) {
    claim(process);
    let lane = process.lane();
    assert!(lane.write_reply(&DATA));
    let head = lane.head();
    head.reply.outcome.store(CallOutcome::Replied as u32, Ordering::Relaxed);
    head.reply.len.store(2, Ordering::Relaxed);
    let _ = head.word.finish(true).expect("the caller waits");
}

fn nothing(_: &Process) {}

const INTERRUPTED: LaneEnd = LaneEnd::Ended(RingOutcome::Done(Err(Errno::EINTR)));

#[test]
fn a_reply_lies_in_the_buffer_until_that_is_freed() {
    let process = Process::new();
    let mut caller = process.with_lane();
    let with_flags = |process: &Process| {
        let lane = process.lane();
        lane.head().reply.code.store(8, Ordering::Relaxed);
        lane.head().reply.flags.store(u32::MAX, Ordering::Relaxed);
        reply(process);
    };
    process.play(&[(with_flags, SleepEnd::Woken)]);
    let (end, call) = process.call(&mut caller, &send());
    assert_eq!(
        (end, call.write_consumed, call.read_consumed),
        (LaneEnd::Done, call.write_size, 76)
    );
    let returns = process.returns.take();
    let codes = [BR_NOOP, BR_TRANSACTION_COMPLETE, BR_REPLY].map(u32::to_ne_bytes).concat();
    assert_eq!(returns[..12], codes);
    let head = BinderTransactionData::read_from_bytes(&returns[12..]).expect("a reply");
    assert_eq!((head.buffer, head.data_size, head.sender_euid), (BUFFER, 2, 33));
    assert_eq!((head.code, head.flags), (8, LANE_FLAGS), "no flags but those that a call may have");
    assert_eq!(process.received.take(), DATA[..2]);
    // It is not freed, so the next goes by the ring; and a write that frees it, and no more, by no way.
    assert_eq!(process.call(&mut caller, &send()).0, LaneEnd::ByRing);
    let commands = free();
    let mut freed = BinderWriteRead { write_size: 12, ..Default::default() };
    let parsed = LaneCommands::parse(&commands, &process);
    assert_eq!(caller.call(&process, &mut freed, &parsed), LaneEnd::Done);
    assert_eq!((freed.write_consumed, process.is_in_use.get()), (12, false));
    process.is_in_use.set(true);
    process.play(&[(reply, SleepEnd::Woken)]);
    assert_eq!(process.call(&mut caller, &[free(), send()].concat()).0, LaneEnd::Done);
    assert_eq!(process.by_ring.get(), 0);
}

#[test]
fn a_signal_ends_a_call_and_what_is_written_is_made_once() {
    // No thread has come to it: the commands are left to be run.
    let process = Process::new();
    let mut caller = process.with_lane();
    process.play(&[(nothing, SleepEnd::Interrupted)]);
    let (end, call) = process.call(&mut caller, &send());
    assert_eq!((end, call.write_consumed), (INTERRUPTED, 0));
    assert_eq!(process.standing().load(Ordering::Relaxed), 0, "the driver is to tell");
    // It is served: the driver has it.
    let process = Process::new();
    let mut caller = process.with_lane();
    process.play(&[(claim, SleepEnd::Interrupted)]);
    let (end, call) = process.call(&mut caller, &send());
    assert_eq!((end, call.write_consumed, call.read_consumed), (INTERRUPTED, call.write_size, 0));
    assert_eq!(process.lane().head().word.finish(true), Err(LeftToDriver));
    assert_eq!(process.standing().load(Ordering::Relaxed), 0, "it waits for a reply");
    // It is over.
    let process = Process::new();
    let mut caller = process.with_lane();
    process.play(&[(reply, SleepEnd::Interrupted)]);
    assert_eq!(process.call(&mut caller, &send()).0, LaneEnd::Done);
}

#[test]
fn a_lane_pauses_for_what_its_server_does_not_for_signals() {
    for (slept, next) in
        [(SleepEnd::Interrupted, LaneEnd::Done), (SleepEnd::TimedOut, LaneEnd::ByRing)]
    {
        let process = Process::new();
        let mut caller = process.with_lane();
        process.play(&[(nothing, slept)]);
        let _ = process.call(&mut caller, &send());
        process.standing().store(IN_NO_CALL, Ordering::Relaxed);
        assert!(process.lane().head().word.warm());
        if next == LaneEnd::Done {
            process.play(&[(reply, SleepEnd::Woken)]);
        }
        assert_eq!(process.call(&mut caller, &send()).0, next);
    }
}

/// Calls until a call goes by the lane, which ends like this. Returns how many went by the ring before.
fn call_by_lane(process: &Process, caller: &mut LaneCaller<()>, how: Deed) -> usize {
    process.play(&[how]);
    let is_by_lane = |_: &usize| {
        process.standing().store(IN_NO_CALL, Ordering::Relaxed);
        let _ = process.lane().head().word.warm();
        let _ = process.call(caller, &send());
        process.is_in_use.set(false);
        process.script.borrow().is_empty()
    };
    (0..200).find(is_by_lane).expect("pauses end")
}

#[test]
fn pauses_are_bounded_and_some_good_calls_make_up_for_bad_ones() {
    let process = Process::new();
    let mut caller = process.with_lane();
    let late: Deed = (nothing, SleepEnd::TimedOut);
    let pauses: Vec<usize> = (0..9).map(|_| call_by_lane(&process, &mut caller, late)).collect();
    assert_eq!(pauses, [0, 1, 2, 4, 8, 16, 32, 64, 64]);
    let answered: Deed = (reply, SleepEnd::Woken);
    assert_eq!(call_by_lane(&process, &mut caller, answered), 64);
    for _ in 0..50 {
        assert_eq!(call_by_lane(&process, &mut caller, answered), 0);
    }
    assert_eq!([0; 2].map(|_| call_by_lane(&process, &mut caller, late)), [0, 1]);
}

/// The thread that looked has to go to the driver.
fn decline(process: &Process) {
    let lane = process.lane();
    let head = lane.head();
    head.reply.outcome.store(CallOutcome::Declined as u32, Ordering::Relaxed);
    assert!(head.word.decline().is_some(), "a call is there");
}

#[test]
fn a_lane_pauses_for_calls_that_are_declined_in_a_row() {
    let process = Process::new();
    let mut caller = process.with_lane();
    let declined: Deed = (decline, SleepEnd::Woken);
    let answered: Deed = (reply, SleepEnd::Woken);
    for _ in 0..20 {
        let pauses = [declined, answered].map(|how| call_by_lane(&process, &mut caller, how));
        assert_eq!(pauses, [0, 0]);
    }
    let pauses = [declined; 4].map(|how| call_by_lane(&process, &mut caller, how));
    assert_eq!(pauses, [0, 0, 1, 2]);
}

/// A handler leaves the thread's call, to make one of its own.
fn leave_within(process: &Process) {
    let left = process.lane().head().word.leave();
    process.left_within.set(Some(left).filter(|left| *left != CallLeft::Over));
}

fn claim_and_leave_within(process: &Process) {
    claim(process);
    leave_within(process);
}

/// Handlers, and whether the call is made that they leave.
const HANDLERS: [(Handler, bool); 2] = [(leave_within, false), (claim_and_leave_within, true)];

#[test]
fn a_call_that_a_handler_has_left_is_not_left_again() {
    for (handler, is_run) in HANDLERS {
        for slept in [SleepEnd::Woken, SleepEnd::Interrupted] {
            let process = Process::new();
            let mut caller = process.with_lane();
            process.play(&[(handler, slept)]);
            let (ended, call) = process.call(&mut caller, &send());
            assert_eq!((ended, call.write_consumed > 0), (INTERRUPTED, is_run));
        }
    }
}

#[test]
fn the_reply_before_is_not_that_of_a_call_which_a_handler_has_left() {
    for (handler, is_run) in HANDLERS {
        let has_left = (0..6).map(|looks| {
            let process = Process::new();
            let mut caller = process.with_lane();
            process.play(&[(reply, SleepEnd::Woken)]);
            assert_eq!(process.call(&mut caller, &send()).0, LaneEnd::Done);
            process.received.take();
            process.is_in_use.set(false);
            // It may come at any moment; if it comes too late, there is a reply.
            process.handler.set(Some((looks, handler)));
            process.play(&[(
                |process| {
                    if process.left_within.get().is_none() {
                        process.handler.set(None);
                        reply(process);
                        process.lane().head().reply.len.store(3, Ordering::Relaxed);
                    }
                },
                SleepEnd::Woken,
            )]);
            let (ended, call) = process.call(&mut caller, &send());
            if ended == LaneEnd::Done {
                assert_eq!(process.received.borrow().len(), 3, "it is the reply of before");
                return false;
            }
            assert_eq!((ended, call.write_consumed > 0), (INTERRUPTED, is_run));
            true
        });
        assert!(has_left.collect::<Vec<_>>().contains(&true));
    }
}

#[test]
fn a_thread_that_sleeps_is_waited_for_longer_than_one_that_does_something_else() {
    for (is_asleep, sleeps) in [(false, 1), (true, SLEEPS)] {
        let process = Process::new();
        let mut caller = process.with_lane();
        assert!(!is_asleep || process.lane().head().word.prepare_server_to_sleep().is_some());
        let late: Deed = (nothing, SleepEnd::TimedOut);
        process.play(&vec![late; sleeps as usize]);
        assert_eq!(process.call(&mut caller, &send()).0, LaneEnd::ByRing);
        assert!(process.script.borrow().is_empty());
        assert_eq!(process.lane().head().word.state(), LaneState::Cold, "it is taken back");
    }
}

#[test]
fn a_long_call_is_the_drivers_who_knows_whether_it_is_served() {
    // It waits for longer than for a thread that does not come.
    let late: [Deed; 1 + SLEEPS as usize] = core::array::from_fn(|at| {
        let deed: fn(&Process) = if at == 0 { claim } else { nothing };
        (deed, SleepEnd::TimedOut)
    });
    let process = Process::new();
    let mut caller = process.with_lane();
    process.play(&late);
    let (end, call) = process.call(&mut caller, &send());
    assert_eq!((end, call.write_consumed), (LaneEnd::ReadByRing, call.write_size));
    for (error, end, told) in [
        (Errno::ESRCH, LaneEnd::Done, Some(BR_DEAD_REPLY)),
        (Errno::EPROTO, LaneEnd::Done, Some(BR_FAILED_REPLY)),
        (Errno::ENOTCONN, LaneEnd::Ended(RingOutcome::Done(Err(Errno::ECONNABORTED))), None),
    ] {
        let process = Process::new();
        let mut caller = process.with_lane();
        process.adopts.set(Err(error));
        process.play(&late);
        assert_eq!(process.call(&mut caller, &send()).0, end);
        let last = process.returns.take().last_chunk().copied().map(u32::from_ne_bytes);
        assert_eq!(last, told);
    }
}

/// The server has a reply of nine bytes, for which there is no room.
fn leave_long_reply(process: &Process) {
    claim(process);
    let lane = process.lane();
    let reply = &lane.head().reply;
    reply.len.store(9, Ordering::Relaxed);
    reply.outcome.store(CallOutcome::Adopted as u32, Ordering::Relaxed);
    let _ = lane.head().word.finish(true).expect("the caller waits");
}

#[test]
fn calls_that_have_no_room_have_a_lane_that_is_made_for_them() {
    const BUSY_CALLS: u32 = 3;
    let process = Process::new();
    let mut caller = process.with_lane();
    let lane = process.lane();
    let head = lane.head();
    let made_for = || [head.request.longest.load(Ordering::Relaxed), process.wanted.get()];
    assert_eq!(made_for(), [4, 0]);
    head.reply.room.store(4, Ordering::Relaxed);
    let mut lanes = Vec::new();
    for _ in 0..3 {
        // Those that have room in between make no difference.
        process.play(&[(reply, SleepEnd::Woken)]);
        assert_eq!(process.call(&mut caller, &[free(), send()].concat()).0, LaneEnd::Done);
        process.is_in_use.set(false);
        assert_eq!(process.call(&mut caller, &send_bytes(5)).0, LaneEnd::ByRing);
        caller.open_if_worthwhile(&process, BUSY_CALLS);
        lanes.push(process.asked.replace(0));
    }
    assert_eq!((lanes, made_for()), (vec![1, 0, 1], [5, 0]));
    // It was asked for room that the server does not have: that lane stays as it is.
    for _ in 0..2 * BUSY_CALLS {
        assert_eq!(process.call(&mut caller, &send_bytes(5)).0, LaneEnd::ByRing);
        caller.open_if_worthwhile(&process, BUSY_CALLS);
    }
    assert_eq!(process.asked.get(), 0);
}

#[test]
fn replies_that_have_no_room_have_a_lane_that_is_made_for_them() {
    for (room, wanted) in [(9, 0), (8, 9)] {
        let process = Process::new();
        let mut caller = process.with_lane();
        process.asked.set(0);
        process.room.set(room);
        process.play(&[(leave_long_reply, SleepEnd::Woken)]);
        assert_eq!(process.call(&mut caller, &send()).0, LaneEnd::ReadByRing);
        process.standing().store(IN_NO_CALL, Ordering::Relaxed);
        caller.open_if_worthwhile(&process, 2);
        assert_eq!(process.call(&mut caller, &send()).0, LaneEnd::ByRing, "it pauses");
        caller.open_if_worthwhile(&process, 2);
        assert_eq!((process.asked.get() > 0, process.wanted.get()), (wanted > 0, wanted));
    }
}
