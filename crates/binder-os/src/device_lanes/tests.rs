//! A thread that serves lanes, beside a caller that keeps to no rule.

use std::fs::File;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use binder_lane::layout::{DATA_BYTES, LaneHead};
use binder_lane::{LaneId, LaneNote, NoteKind};
use binder_ring::SlotIndex;
use binder_ring::layout::IS_LOOPER;
use binder_ring_client::{ClientRing, RingOutcome};
use binder_uapi::{
    BC_FREE_BUFFER, BC_REPLY, BR_NOOP, BR_TRANSACTION, BinderTransactionData, BinderWriteRead,
    LANE_FLAGS, LaneAccept,
};
use proptest::prelude::*;
use rustix::process::PidfdFlags;
use zerocopy::{FromBytes as _, IntoBytes as _};

use super::serving::DeviceServed;
use super::{DeviceLanes, DeviceThread, LaneContext};
use crate::borrowed_memory::BorrowedMemory;
use crate::client_thread::pidfd;
use crate::credentials::ThreadReference;
use crate::lane_memory::LaneMemory;
use crate::ring_memory;

/// A look without a call ends in about this time, and one of a lane that only ever disturbs, too.
const LONG: Duration = Duration::from_secs(20);

/// What a caller does to a segment, in no order.
#[derive(Debug, Clone, Copy)]
enum Deed {
    Word(u32),
    Length(u32),
    Flags(u32),
    Cpu(u32),
    Post,
    Leave,
    Wake,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        prop_oneof![0..16_u32, any::<u32>()].prop_map(Deed::Word),
        // There is room for some 73,000.
        prop_oneof![0..=80_000_u32, any::<u32>()].prop_map(Deed::Length),
        any::<u32>().prop_map(Deed::Flags),
        (0..4_u32).prop_map(Deed::Cpu),
        Just(Deed::Post),
        Just(Deed::Leave),
        Just(Deed::Wake),
    ];
    prop::collection::vec(deed, 1..40)
}

fn perform(deed: Deed, head: &LaneHead) {
    let LaneHead { word, request, .. } = head;
    match deed {
        Deed::Word(value) => word.word().store(value, Ordering::Release),
        Deed::Length(len) => request.len.store(len, Ordering::Relaxed),
        Deed::Flags(flags) => request.flags.store(flags, Ordering::Relaxed),
        Deed::Cpu(cpu) => request.cpu.store(cpu, Ordering::Relaxed),
        Deed::Post => drop(word.post()),
        Deed::Leave => drop(word.leave()),
        Deed::Wake => ring_memory::wake_one(word.word()),
    }
}

/// Ends the caller, also when a check fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Scene {
    device: File,
    ring: ClientRing,
    slot: SlotIndex,
    lanes: DeviceLanes,
}

impl Scene {
    fn new() -> Self {
        let (ring, _) = ClientRing::create().expect("a segment");
        let slot = ring.claim(5, 5).expect("a free slot");
        ring.segment().slot(slot).standing.store(IS_LOOPER, Ordering::Relaxed);
        // Whose driver is gone: it takes nothing over.
        let device = File::open("/dev/null").expect("it can be opened");
        Self { device, ring, slot, lanes: DeviceLanes::new(4) }
    }

    /// Gives the process a lane, and the test the caller's end of it.
    ///
    /// A kernel whose pidfds do not tell has directories tell in any case.
    fn add_lane(&self, number: u32, by_directory: bool) -> LaneMemory {
        let (callers, file) = LaneMemory::create().expect("memory");
        let tid = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        let of_thread = pidfd(tid).ok().filter(|_| !by_directory);
        let process = rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty());
        let process = process.expect("this process");
        let caller = ThreadReference::of(tid, of_thread.as_ref().map(AsFd::as_fd), process.as_fd());
        let ThreadReference { pidfd: caller, numbers } = caller.expect("this thread");
        let accepted = LaneAccept {
            id: number,
            sender_pid: 1,
            sender_tid: numbers.map_or(0, |_| tid),
            ptr: 2,
            cookie: 3,
            ..Default::default()
        };
        let served = DeviceServed::new(&accepted, [file, caller], &self.lanes.buffers);
        let served = served.expect("a segment, and a free buffer");
        assert!(self.lanes.served.add(&accepted, served).is_ok());
        self.ring.segment().header().lanes[0].store(number, Ordering::Release);
        callers
    }

    fn note(&self) -> LaneNote<'_> {
        LaneNote::new(&self.ring.segment().slot(self.slot).lane_note)
    }

    /// Has the thread run commands and read. Returns what it has read; None if it would have to ask the driver.
    fn exchange(
        &self,
        thread: &mut DeviceThread,
        commands: &[u8],
        reply: &[u8],
    ) -> Option<Vec<u8>> {
        let mut returns = [0; 256];
        let mut call = BinderWriteRead {
            write_size: commands.len() as u64,
            write_buffer: commands.as_ptr() as u64,
            read_size: returns.len() as u64,
            read_buffer: returns.as_ptr() as u64,
            ..Default::default()
        };
        let payloads = [reply];
        let memory = BorrowedMemory::new(commands, &payloads, &mut returns);
        let Self { device, ring, slot, lanes } = self;
        let context =
            LaneContext { device: device.as_fd(), ring, slot: *slot, lanes, memory: &memory };
        let outcome = context.exchange(thread, &mut call);
        let len = usize::try_from(call.read_consumed).expect("it is small");
        (outcome == RingOutcome::Done(Ok(()))).then(|| returns[..len].to_vec())
    }
}

/// The call that a thread is told to serve.
fn call_in(returns: &[u8]) -> BinderTransactionData {
    let codes = [BR_NOOP, BR_TRANSACTION].map(u32::to_ne_bytes).concat();
    let data = returns.strip_prefix(&codes[..]).expect("a call, and nothing else");
    BinderTransactionData::read_from_bytes(data).expect("a whole one")
}

/// What a server is told is of the lane, whatever the caller writes there and when.
fn check(scene: &Scene, call: &BinderTransactionData) {
    assert_eq!((call.target, call.cookie, call.sender_pid), (2, 3, 1));
    assert_eq!(call.sender_euid, rustix::process::geteuid().as_raw());
    assert_eq!(call.flags & !LANE_FLAGS, 0);
    assert!(call.data_size <= DATA_BYTES as u64);
    assert_eq!((call.offsets_size, call.offsets), (0, 0));
    let len = usize::try_from(call.data_size).expect("it is small");
    assert!(scene.lanes.buffers.find(call.buffer, len).is_some(), "it lies in a buffer of ours");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_caller_that_keeps_to_no_rule_has_calls_of_its_own_served_or_none(
        deeds in deeds(), calls in 1..64_usize, by_directory: bool,
    ) {
        // An older kernel has no lanes.
        if !ring_memory::can_sleep_on_several() {
            return Ok(());
        }
        let (scene, is_over) = (Scene::new(), AtomicBool::new(false));
        let callers = scene.add_lane(9, by_directory);
        let (segment, lane) = (*callers.segment(), LaneId::new(9).expect("a number"));
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    deeds.iter().for_each(|deed| perform(*deed, segment.head()));
                }
            });
            let _over = Over(&is_over);
            let (mut thread, began, data) = (DeviceThread::default(), Instant::now(), *b"reply");
            for _ in 0..calls {
                let Some(returns) = scene.exchange(&mut thread, &[], &[]) else { break };
                let call = call_in(&returns);
                check(&scene, &call);
                assert!(scene.note().is(lane, NoteKind::Serves));
                let reply = BinderTransactionData {
                    data_size: data.len() as u64,
                    buffer: data.as_ptr() as u64,
                    ..Default::default()
                };
                let freed = [&BC_FREE_BUFFER.to_ne_bytes()[..], &call.buffer.to_ne_bytes()];
                let replied = [&BC_REPLY.to_ne_bytes()[..], reply.as_bytes()];
                let commands = [freed.concat(), replied.concat()].concat();
                let returns = scene.exchange(&mut thread, &commands, &data);
                assert!(!scene.note().is(lane, NoteKind::Serves));
                // A caller that has left the call leaves it to the driver, which is gone.
                let Some(returns) = returns else { break };
                assert_eq!(returns.len(), 2 * size_of::<u32>());
            }
            assert!(began.elapsed() < LONG, "a look that does not end");
            scene.lanes.end(&mut thread, &scene.ring, scene.slot);
        });
    }
}
