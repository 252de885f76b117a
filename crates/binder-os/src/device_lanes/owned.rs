//! The lanes that a thread looks at.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use binder_lane::LaneState;
use binder_ring::layout::NO_CPU;
use binder_ring_client::{RingSystem as _, SpinHistory};
use binder_uapi::BinderTransactionData;
use rustix::time::{ClockId, Timespec};

use super::LaneContext;
use super::served::ServedLane;
use crate::ring_memory;

/// The lanes that a thread looks at.
#[derive(Debug, Default)]
pub(super) struct OwnedLanes {
    lanes: Vec<Arc<ServedLane>>,
    /// Reads that go to the driver at once before the thread looks again.
    pause: u32,
    /// The pause after the next look for nothing.
    next_pause: u32,
    /// Replies that are written and waited after in one go, although the thread may have to hear of something else first.
    write_pause: u32,
    spins: SpinHistory,
}

/// The longest pause after looks for nothing.
const MOST_PAUSE: u32 = 1 << 8;
/// As many words a thread sleeps on: those of the lanes to its process, and the gate.
const MOST_WORDS: usize = 16;
/// A lane that has woken a thread so often in a row for nothing is used no more.
const MOST_IN_VAIN: u32 = 1000;
/// How long a thread looks before it waits in the driver.
const PATIENCE: Timespec =
    Timespec { tv_sec: 0, tv_nsec: binder_ring::PATIENCE_MS as i64 * 1_000_000 };

impl OwnedLanes {
    /// Takes the lanes that no thread looks at.
    pub(super) fn take_free(&mut self, context: &LaneContext<'_, '_>) {
        let served = &context.lanes.served;
        if self.lanes.len() >= served.count.load(Ordering::Relaxed) {
            return;
        }
        served.prune(context);
        for lane in served.lock().iter() {
            if self.lanes.len() + 1 < MOST_WORDS && !lane.is_owned.swap(true, Ordering::Acquire) {
                self.lanes.push(lane.clone());
            }
        }
    }

    /// Leaves all lanes to other threads, but for `kept`.
    pub(super) fn give_up_but(&mut self, kept: Option<&Arc<ServedLane>>) {
        self.lanes.retain(|lane| {
            let is_kept = kept.is_some_and(|kept| Arc::ptr_eq(kept, lane));
            if !is_kept {
                lane.cool();
                lane.is_owned.store(false, Ordering::Release);
            }
            is_kept
        });
    }

    /// The thread looks no more.
    pub(super) fn give_up(&mut self) {
        self.give_up_but(None);
    }

    /// The thread goes to the driver, and may be long.
    pub(super) fn leave(&mut self, context: &LaneContext<'_, '_>) {
        if !self.lanes.is_empty() {
            self.give_up();
            context.lanes.served.prune(context);
        }
    }

    /// Lets go of a lane whose other party does not keep to the rules, or that the driver has taken back.
    #[cold]
    fn forget(&mut self, context: &LaneContext<'_, '_>, at: usize) {
        let lane = self.lanes.swap_remove(at);
        lane.cool();
        lane.is_owned.store(false, Ordering::Release);
        context.lanes.served.forget(context, &lane);
    }

    /// Whether the thread is to go to the driver at once, this time.
    pub(super) fn pauses(&mut self, is_idle: bool) -> bool {
        let pauses =
            if !is_idle && self.write_pause > 0 { &mut self.write_pause } else { &mut self.pause };
        let is_pause = *pauses > 0;
        *pauses = pauses.saturating_sub(1);
        is_pause
    }

    /// The thread has to hear of its reply's completion before anything else.
    pub(super) fn note_completion(&mut self) {
        self.write_pause = MOST_PAUSE;
    }

    /// A new lane is looked at by the thread's next read. If it were after a pause, a caller that gives lanes back which nobody has
    /// looked at could do so just before each look.
    pub(super) fn note_offer(&mut self) {
        self.pause = 0;
    }

    pub(super) fn note_look(&mut self, was_in_vain: bool) {
        if was_in_vain {
            self.pause = self.next_pause;
            self.next_pause = (self.next_pause * 2 + 1).min(MOST_PAUSE);
        } else {
            self.next_pause = 0;
        }
    }

    /// Looks for a call, and sleeps, as long as a thread waits in its slot. None if the driver has work, or none came.
    pub(super) fn look(
        &mut self,
        context: &LaneContext<'_, '_>,
    ) -> Option<(Arc<ServedLane>, BinderTransactionData)> {
        let gate = &context.header().gate;
        let cpu = context.system().cpu();
        let mut until: Option<Timespec> = None;
        loop {
            let mut at = 0;
            while let Some(lane) = self.lanes.get(at) {
                let head = lane.memory.segment().head();
                let wakes_in_vain = lane.wakes_in_vain.load(Ordering::Relaxed);
                if wakes_in_vain > MOST_IN_VAIN || !context.is_granted(lane.id, lane.place) {
                    self.forget(context, at);
                    continue;
                }
                match head.word.state() {
                    LaneState::Posted => {
                        if let Some(data) = lane.take(context) {
                            lane.wakes_in_vain.store(0, Ordering::Relaxed);
                            return Some((lane.clone(), data));
                        }
                        lane.wakes_in_vain.fetch_add(1, Ordering::Relaxed);
                    }
                    LaneState::Cold => {
                        head.reply.cpu.store(cpu, Ordering::Relaxed);
                        let _ = head.word.warm();
                    }
                    LaneState::Warm => head.reply.cpu.store(cpu, Ordering::Relaxed),
                    // Nobody but this thread brings it there.
                    LaneState::Asleep | LaneState::Claimed | LaneState::Left => {
                        self.forget(context, at);
                        continue;
                    }
                }
                at += 1;
            }
            if self.lanes.is_empty() || gate.load(Ordering::Acquire) != 0 {
                return None;
            }
            if self.spin(context, cpu) {
                continue;
            }
            let now = rustix::time::clock_gettime(ClockId::Monotonic);
            let until = *until.get_or_insert_with(|| now + PATIENCE);
            if now >= until {
                return None;
            }
            self.sleep(context, until);
        }
    }

    /// Waits for a moment whether a call comes, if its caller runs on another processor. Says whether there may be one.
    fn spin(&self, context: &LaneContext<'_, '_>, cpu: u32) -> bool {
        let Self { lanes, spins, .. } = self;
        let header = context.header();
        if header.driver_cpu.load(Ordering::Relaxed) == NO_CPU {
            return false;
        }
        let other_cpu = lanes
            .first()
            .map_or(cpu, |it| it.memory.segment().head().request.cpu.load(Ordering::Relaxed));
        let is_posted =
            |lane: &Arc<ServedLane>| lane.memory.segment().head().word.state() == LaneState::Posted;
        spins.spin(cpu, other_cpu, || {
            lanes.iter().any(is_posted) || header.gate.load(Ordering::Relaxed) != 0
        })
    }

    /// Sleeps until there may be a call, the driver has work, or the time is over. Notes which lane has ended or prevented that: each is
    /// blamed for what its own caller does.
    fn sleep(&self, context: &LaneContext<'_, '_>, until: Timespec) {
        let gate = &context.header().gate;
        let mut value = 0;
        let awake = self.lanes.iter().find(|lane| {
            let asleep = lane.memory.segment().head().word.prepare_server_to_sleep();
            value = asleep.unwrap_or(value);
            asleep.is_none()
        });
        let woken_by = awake.or_else(|| {
            let words = self.lanes.iter().map(|it| (it.memory.segment().head().word.word(), value));
            // A kernel that cannot wait on several words has no lanes.
            let woken = ring_memory::sleep_on::<MOST_WORDS>(words.chain([(gate, 0)]), Some(until));
            match woken.ok().flatten() {
                Some(at) => self.lanes.get(at),
                None => self.lanes.iter().find(|lane| lane.state() != LaneState::Asleep),
            }
        });
        if let Some(lane) = woken_by {
            lane.wakes_in_vain.fetch_add(1, Ordering::Relaxed);
        }
        for lane in &self.lanes {
            lane.memory.segment().head().word.end_server_sleep();
        }
    }
}
