//! A thread that serves lanes, beside a caller that keeps to no rule.

use std::fs::File;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use binder_lane::NoteKind;
use binder_lane::layout::{CallOutcome, DATA_BYTES, LaneHead};
use binder_ring::SlotIndex;
use binder_ring_client::ClientRing;
use binder_uapi::{BinderTransactionData, LANE_FLAGS, LaneAccept};
use proptest::prelude::*;

use super::owned::OwnedLanes;
use super::served::ServedLane;
use super::{DeviceLanes, LaneContext};
use crate::client_thread::pidfd;
use crate::credentials;
use crate::lane_memory::LaneMemory;
use crate::lent_memory::LentMemory;

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
        Deed::Wake => crate::ring_memory::wake_one(word.word()),
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
        let slot = ring.claim(5).expect("a free slot");
        // Whose driver is gone: it takes nothing over.
        let device = File::open("/dev/null").expect("it can be opened");
        Self { device, ring, slot, lanes: DeviceLanes::new(4) }
    }

    /// Gives the process a lane, and the test the caller's end of it.
    fn add_lane(&self, number: u32) -> LaneMemory {
        let (callers, file) = LaneMemory::create().expect("memory");
        let accepted =
            LaneAccept { id: number, sender_pid: 1, ptr: 2, cookie: 3, ..Default::default() };
        let tid = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        let caller = pidfd(tid).expect("this thread");
        let lane = ServedLane::new(&accepted, [file, caller], &self.lanes.buffers);
        self.lanes.served.add(lane.expect("a segment, and a free buffer"));
        self.ring.segment().header().lanes[0].store(number, Ordering::Release);
        callers
    }

    fn context<'a>(&'a self, memory: &'a LentMemory<'a>) -> LaneContext<'a, 'a> {
        let Self { device, ring, slot, lanes } = self;
        LaneContext { device: device.as_fd(), ring, slot: *slot, lanes, memory }
    }
}

/// What a server is told is of the lane, whatever the caller writes there and when.
fn check(scene: &Scene, lane: &ServedLane, call: &BinderTransactionData, number: u32) {
    assert_eq!((call.target, call.cookie, call.sender_pid), (2, 3, 1));
    assert_eq!(call.sender_euid, rustix::process::geteuid().as_raw());
    assert_eq!(call.flags & !LANE_FLAGS, 0);
    assert!(call.data_size <= DATA_BYTES as u64);
    assert_eq!((call.offsets_size, call.offsets), (0, 0));
    let len = usize::try_from(call.data_size).expect("it is small");
    assert!(scene.lanes.buffers.find(call.buffer, len).is_some(), "it lies in a buffer of ours");
    assert_eq!(lane.id.number(), number);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_caller_that_keeps_to_no_rule_has_calls_of_its_own_served_or_none(
        deeds in deeds(), replies in prop::collection::vec(any::<bool>(), 64),
    ) {
        // An older kernel has no lanes.
        if credentials::are_told().is_err() {
            return Ok(());
        }
        let scene = Scene::new();
        let (mut returns, is_over) = ([0; 0], AtomicBool::new(false));
        let memory = LentMemory::new(&[], &[], &mut returns);
        let context = scene.context(&memory);
        let callers = scene.add_lane(9);
        let segment = *callers.segment();
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    deeds.iter().for_each(|deed| perform(*deed, segment.head()));
                }
            });
            let _over = Over(&is_over);
            let mut owned = OwnedLanes::default();
            let began = Instant::now();
            for is_reply in &replies {
                owned.take_free(&context);
                let Some((lane, call)) = owned.look(&context) else { break };
                check(&scene, &lane, &call, 9);
                assert!(context.note().is(lane.id, NoteKind::Serves));
                let reply = BinderTransactionData::default();
                if !is_reply || lane.reply(&context, &reply, b"reply").is_err() {
                    let _ = context.note().end(lane.id, NoteKind::Serves);
                    lane.finish_as(CallOutcome::Adopted);
                }
                assert!(!context.note().is(lane.id, NoteKind::Serves));
                binder_ring_client::lane::ReceivedBuffers::free(&scene.lanes.buffers, call.buffer);
            }
            assert!(began.elapsed() < LONG, "a look that does not end");
            owned.give_up();
        });
    }
}
