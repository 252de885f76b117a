//! Bytes as what a server that keeps to no rule does to the segment of a lane, while a thread calls by it.
//!
//! The caller is the one of programs; the server's deeds, and the driver's, come from the input: eight bytes each. One happens
//! whenever the caller makes a system call, and several calls are made with one segment.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU32, Ordering};

use binder_lane::layout::{DATA_BYTES, LaneHead, SEGMENT_BYTES};
use binder_lane::{LaneId, LaneNote, LaneSegment, NoteKind};
use binder_ring::layout::IN_NO_CALL;
use binder_ring::{SLEEPS, SlotIndex};
use binder_ring_client::lane::{
    LaneCaller, LaneCommands, LaneEnd, LaneSystem, ReceivedBuffers, create_segment,
};
use binder_ring_client::{ClientRing, ReadWait, RingOutcome, RingSystem, SleepEnd};
use binder_uapi::{
    BC_TRANSACTION, BR_DEAD_REPLY, BR_FAILED_REPLY, BR_NOOP, BR_REPLY, BR_TRANSACTION_COMPLETE,
    BinderTransactionData, BinderWriteRead, Errno, LANE_FLAGS, LaneOpen,
};
use rustix::fd::OwnedFd;
use zerocopy::{FromBytes as _, IntoBytes as _};

const LANE: u32 = 9;
const SLOT: u32 = 5;
const SERVER_EUID: u32 = 33;
const BUFFER: u64 = 1 << 20;
const CALLS: usize = 8;
/// A call sleeps no more often, whatever its server does: it is woken 99 times, and then its last sleep takes as long as may be.
const MAX_SLEEPS: u32 = 99 + SLEEPS;

/// What happens beside the caller.
struct Deed {
    kind: u8,
    flags: u8,
    at: u16,
    value: u32,
}

/// A process with one thread and one lane.
struct Process<'b> {
    ring: ClientRing,
    lane: LaneSegment,
    input: Cell<&'b [u8]>,
    /// Of the call that is made.
    sleeps: Cell<u32>,
    has_signal: Cell<bool>,
    driver_is_gone: Cell<bool>,
    is_adopted: Cell<bool>,
    is_in_use: Cell<bool>,
    received: Cell<usize>,
    returns: RefCell<Vec<u8>>,
}

impl Process<'_> {
    fn head(&self) -> &LaneHead {
        self.lane.head()
    }

    fn note(&self) -> LaneNote<'_> {
        LaneNote::new(&self.ring.segment().slot(self.slot()).lane_note)
    }

    /// Does what comes next in the input. Nothing comes after its end.
    fn act(&self) -> Option<()> {
        let (deed, rest) = self.input.get().split_first_chunk::<8>()?;
        self.input.set(rest);
        let [kind, flags, a, b, value @ ..] = *deed;
        self.perform(&Deed {
            kind,
            flags,
            at: u16::from_ne_bytes([a, b]),
            value: u32::from_ne_bytes(value),
        });
        Some(())
    }

    fn perform(&self, deed: &Deed) {
        let LaneHead { word, request, reply, .. } = self.head();
        let is_true = deed.flags & 1 != 0;
        match deed.kind % 12 {
            0 => word.word().store(deed.value, Ordering::Relaxed),
            1 => reply.outcome.store(deed.value, Ordering::Relaxed),
            2 => reply.len.store(deed.value, Ordering::Relaxed),
            3 => {
                let words = [&reply.code, &reply.flags];
                words[usize::from(deed.at % 2)].store(deed.value, Ordering::Relaxed);
            }
            4 => reply.cpu.store(deed.value, Ordering::Relaxed),
            5 => {
                let words = [&request.code, &request.flags, &request.len, &request.cpu];
                words[usize::from(deed.at % 4)].store(deed.value, Ordering::Relaxed);
            }
            // From here on as servers do, though not in their order.
            6 => {
                let _ = word.warm();
            }
            7 => {
                let _ = word.claim();
            }
            8 => {
                let bytes = vec![deed.flags; usize::from(deed.at)];
                assert!(self.lane.write_reply(&bytes), "it has room for more");
                reply.len.store(deed.at.into(), Ordering::Relaxed);
                reply.outcome.store(1, Ordering::Relaxed);
                let _ = word.finish(is_true);
            }
            9 => {
                let _ = if is_true { word.decline() } else { word.finish(true).ok() };
            }
            10 => {
                let _ = word.prepare_server_to_sleep();
            }
            // The driver takes the lane back, or has come to its end; the thread has a signal to handle.
            _ => match deed.flags % 4 {
                0 => self.ring.segment().header().lanes[0].store(deed.value, Ordering::Relaxed),
                1 => self.driver_is_gone.set(true),
                _ => self.has_signal.set(true),
            },
        }
    }
}

impl RingSystem for Process<'_> {
    fn cpu(&self) -> u32 {
        let _ = self.act();
        0
    }

    fn wake(&self, _: &AtomicU32) {
        let _ = self.act();
    }

    fn sleep(&self, _: &AtomicU32, _: u32) -> SleepEnd {
        self.sleeps.set(self.sleeps.get() + 1);
        assert!(self.sleeps.get() <= MAX_SLEEPS, "a call does not end");
        match self.act() {
            None => SleepEnd::TimedOut,
            Some(()) if self.has_signal.get() => SleepEnd::Interrupted,
            Some(()) => SleepEnd::Woken,
        }
    }

    fn ring_wait(&self, _: SlotIndex, _: u32) -> Result<(), Errno> {
        unreachable!("the ring is played")
    }

    fn watch_signals(&self) {
        let _ = self.act();
    }

    fn has_handled_signal(&self) -> bool {
        self.has_signal.get()
    }
}

impl ReceivedBuffers for Process<'_> {
    fn has_buffer_at(&self, address: u64) -> bool {
        address == BUFFER
    }

    fn free(&self, _: u64) {
        self.is_in_use.set(false);
    }
}

impl LaneSystem for Process<'_> {
    type Place = ();
    type Buffers = Self;

    fn ring(&self) -> &ClientRing {
        &self.ring
    }

    fn slot(&self) -> SlotIndex {
        SlotIndex::new(SLOT).expect("it exists")
    }

    fn buffers(&self) -> &Self {
        self
    }

    fn create_place(&self, _: u32) -> Option<((), OwnedFd)> {
        Some(((), rustix::fs::memfd_create(c"offer", rustix::fs::MemfdFlags::CLOEXEC).ok()?))
    }

    fn give_back(&self, (): ()) {}

    fn segment(&self, (): &()) -> LaneSegment {
        self.lane
    }

    fn address(&self, (): &()) -> u64 {
        BUFFER
    }

    fn is_in_use(&self, (): &()) -> bool {
        self.is_in_use.get()
    }

    fn receive(&self, (): &(), len: usize) -> bool {
        // The length is a copy: what the server does from here on does not change it.
        let _ = self.act();
        let has_room = len <= DATA_BYTES;
        self.is_in_use.set(has_room);
        self.received.set(len);
        has_room
    }

    fn copy_request(&self, segment: &LaneSegment, head: &BinderTransactionData) -> bool {
        let _ = self.act();
        segment.write_request(&vec![1; usize::try_from(head.data_size).expect("it is small")])
    }

    fn write_returns(&self, _: u64, returns: &[u8]) -> Result<(), Errno> {
        *self.returns.borrow_mut() = returns.into();
        Ok(())
    }

    fn by_ring_waiting(&self, _: ReadWait, call: &mut BinderWriteRead) -> RingOutcome {
        call.write_consumed = call.write_size;
        RingOutcome::Done(Ok(()))
    }

    fn open_lane(&self, wish: &mut LaneOpen) -> Result<(), Errno> {
        (wish.id, wish.place, wish.server_euid) = (LANE, 0, SERVER_EUID);
        self.ring.segment().header().lanes[0].store(LANE, Ordering::Relaxed);
        Ok(())
    }

    fn close_lane(&self, lane: LaneId) {
        assert_eq!(lane.number(), LANE);
    }

    fn adopt(&self, lane: LaneId) -> Result<(), Errno> {
        let _ = self.act();
        if self.driver_is_gone.get() {
            return Err(Errno::ENOTCONN);
        }
        if !self.note().adopt(lane, NoteKind::Calls) {
            return Err(Errno::EPROTO);
        }
        self.is_adopted.set(true);
        Ok(())
    }
}

/// Makes calls by a lane of which the other party does what the bytes say.
///
/// # Panics
///
/// If a call does not end, or ends otherwise than calls may.
pub fn check(bytes: &[u8]) {
    let (ring, _file) = ClientRing::create().expect("a segment");
    let (start, _file) = create_segment().expect("a segment");
    #[expect(unsafe_code, reason = "the segment is found, and unmapped at the end")]
    // SAFETY: it is mapped until all that knows it is dropped, below.
    let lane = unsafe { LaneSegment::new(start) };
    let process = Process {
        ring,
        lane,
        input: Cell::new(bytes),
        sleeps: Cell::new(0),
        has_signal: Cell::new(false),
        driver_is_gone: Cell::new(false),
        is_adopted: Cell::new(false),
        is_in_use: Cell::new(false),
        received: Cell::new(0),
        returns: RefCell::default(),
    };
    assert_eq!(process.ring.claim(SLOT, SLOT).map(SlotIndex::number), Some(SLOT));
    let mut caller = LaneCaller::new();
    for _ in 0..CALLS {
        // An honest server may look again; the lane is asked for where there is none.
        let _ = process.head().word.warm();
        call(&process, &mut caller);
        caller.open_if_worthwhile(&process, 1);
    }
    drop(process);
    #[expect(unsafe_code, reason = "as above")]
    // SAFETY: the whole mapping; nothing that has it is left.
    unsafe { rustix::mm::munmap(start.as_ptr().cast(), SEGMENT_BYTES) }.expect("it is mapped");
}

fn call(process: &Process<'_>, caller: &mut LaneCaller<()>) {
    process.sleeps.set(0);
    process.has_signal.set(false);
    process.is_adopted.set(false);
    process.is_in_use.set(false);
    let slot = process.ring.segment().slot(process.slot());
    slot.standing.store(IN_NO_CALL, Ordering::Relaxed);
    let head = BinderTransactionData { code: 3, data_size: 64, ..Default::default() };
    let commands = [&BC_TRANSACTION.to_ne_bytes(), head.as_bytes()].concat();
    let mut call =
        BinderWriteRead { write_size: commands.len() as u64, read_size: 256, ..Default::default() };
    let end = caller.call(process, &mut call, &LaneCommands::parse(&commands, process));
    let lane = LaneId::new(LANE).expect("a number");
    assert!(!process.note().is(lane, NoteKind::Calls), "a call that has ended is noted");
    let is_written = call.write_consumed == call.write_size;
    match end {
        LaneEnd::Done => {
            assert!(is_written && !process.is_adopted.get());
            check_returns(process, call.read_consumed);
        }
        // The driver has seen nothing of it, or has it.
        LaneEnd::ByRing => assert_eq!((call.write_consumed, call.read_consumed), (0, 0)),
        LaneEnd::ReadByRing => assert!(is_written && process.is_adopted.get()),
        LaneEnd::Ended(RingOutcome::Done(Err(Errno::EINTR))) => {
            assert!(process.has_signal.get());
            assert_eq!(is_written, process.is_adopted.get(), "what the driver has is written");
        }
        LaneEnd::Ended(RingOutcome::Done(Err(Errno::ECONNABORTED))) => {
            assert!(process.driver_is_gone.get());
        }
        LaneEnd::ByRingAtOnce => panic!("who calls does not look for work"),
        LaneEnd::Ended(outcome) => panic!("{outcome:?}"),
    }
}

/// What a caller reads is an end of its call, and what a server may say in it.
fn check_returns(process: &Process<'_>, read: u64) {
    let returns = process.returns.borrow();
    assert_eq!(returns.len() as u64, read);
    let (codes, reply) = returns.split_at(3 * size_of::<u32>());
    let mut codes = codes
        .chunks_exact(size_of::<u32>())
        .map(|code| u32::from_ne_bytes(code.try_into().expect("a chunk has four bytes")));
    assert_eq!(codes.next(), Some(BR_NOOP));
    assert_eq!(codes.next(), Some(BR_TRANSACTION_COMPLETE));
    let code = codes.next().expect("there are three");
    if code != BR_REPLY {
        assert!(matches!(code, BR_FAILED_REPLY | BR_DEAD_REPLY) && reply.is_empty());
        return;
    }
    let reply = BinderTransactionData::read_from_bytes(reply).expect("a reply follows");
    let said = BinderTransactionData {
        code: reply.code,
        flags: reply.flags & LANE_FLAGS,
        sender_euid: SERVER_EUID,
        data_size: process.received.get() as u64,
        buffer: BUFFER,
        ..Default::default()
    };
    assert_eq!(reply.as_bytes(), said.as_bytes());
    assert!(process.received.get() <= DATA_BYTES);
}
