//! A device's ring, and the slots that threads have in rings.

use std::cell::RefCell;
use std::env;
use std::mem;
use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock, Weak};

use binder_ring::SlotIndex;
use binder_ring::layout::{CALLS_BY_LANES, SERVES_LANES};
use binder_ring_client::{ClientRing, KernelCalls, RingOutcome};
use binder_uapi::BinderWriteRead;

use crate::borrowed_memory::BorrowedMemory;
use crate::device_lanes::{self, DeviceLanes, DeviceThread, LaneContext};
use crate::fork_count;
use crate::lane_memory::LaneBuffers;

/// The variable by which a user has programs do without rings.
const NO_RING: &str = "ANYBINDER_NO_RING";

/// The calls of a device by shared memory, if its driver has such.
#[derive(Debug)]
pub(crate) struct DeviceRing {
    is_wanted: bool,
    /// Its lanes, if those are wanted.
    lanes: Option<Arc<DeviceLanes>>,
    /// How many forks there had been when the device was opened.
    forks: u32,
    /// Made by the first call, for many a program opens a device and makes none. None if there is no ring.
    attached: OnceLock<Option<Arc<AttachedRing>>>,
}

/// After how many calls in a row to an object a thread asks for a lane, as the user says by the variable `ANYBINDER_LANES`: 0,
/// and whatever is no number, stand for never. `otherwise`, if he says nothing.
#[must_use]
pub fn lanes_wanted_after(otherwise: Option<u32>) -> Option<u32> {
    static CALLS: OnceLock<Option<Option<u32>>> = OnceLock::new();
    let said = CALLS.get_or_init(|| {
        let said = env::var_os(device_lanes::LANES)?;
        let calls = said.to_str().and_then(|it| it.parse().ok());
        Some(calls.filter(|calls| *calls > 0))
    });
    said.unwrap_or(otherwise)
}

fn is_set(name: &str) -> bool {
    env::var_os(name).is_some_and(|it| it == "1")
}

/// A ring, and the process that has it: children do not.
#[derive(Debug)]
struct AttachedRing {
    forks: u32,
    ring: Option<ClientRing>,
    lanes: Option<Arc<DeviceLanes>>,
}

impl DeviceRing {
    /// That of a device that this process has opened.
    pub(crate) fn new() -> Self {
        static IS_WANTED: OnceLock<bool> = OnceLock::new();
        let is_wanted = *IS_WANTED.get_or_init(|| !is_set(NO_RING));
        let lanes = lanes_wanted_after(None).map(|calls| Arc::new(DeviceLanes::new(calls)));
        Self { is_wanted, lanes, forks: fork_count::forks(), attached: OnceLock::new() }
    }

    /// The same, with lanes for threads that make that many calls in a row to an object, or without.
    pub(crate) fn with_lanes(mut self, after_calls: Option<u32>) -> Self {
        self.lanes = after_calls.map(|calls| Arc::new(DeviceLanes::new(calls)));
        self
    }

    /// Where what comes by lanes lies.
    pub(crate) fn lane_buffers(&self) -> Option<&LaneBuffers> {
        self.lanes.as_deref().map(|lanes| &lanes.buffers)
    }

    /// That of a device that is to do without.
    pub(crate) fn unwanted() -> Self {
        Self {
            is_wanted: false,
            lanes: None,
            forks: fork_count::forks(),
            attached: OnceLock::new(),
        }
    }

    /// Makes a call in this thread's slot, if it can have one.
    pub(crate) fn exchange(
        &self,
        device: BorrowedFd<'_>,
        call: &mut BinderWriteRead,
        memory: &BorrowedMemory<'_>,
    ) -> RingOutcome {
        // A child must not wait for a lock that another thread of its parent had, either.
        if !self.is_wanted || self.forks != fork_count::forks() {
            return RingOutcome::Ioctl;
        }
        let attach = || {
            let ring = ClientRing::attach(device).ok()?;
            Some(Arc::new(AttachedRing::new(ring, self.lanes.clone())))
        };
        let Some(attached) = self.attached.get_or_init(attach) else { return RingOutcome::Ioctl };
        let Some(ring) = attached.ring() else { return RingOutcome::Ioctl };
        let Some((slot, taken)) = slot_in(attached, ring) else { return RingOutcome::Ioctl };
        let outcome = match (&attached.lanes, taken) {
            (Some(lanes), Some(mut thread)) => {
                let context = LaneContext { device, ring, slot, lanes, memory };
                let outcome = context.exchange(&mut thread, call);
                put_back(attached, thread);
                outcome
            }
            // A handler makes a call within a call, or the thread is ending.
            _ => ring.exchange(slot, call, &KernelCalls::new(device), memory),
        };
        if outcome == RingOutcome::Refused {
            refuse(attached);
        }
        outcome
    }
}

impl AttachedRing {
    fn new(ring: ClientRing, lanes: Option<Arc<DeviceLanes>>) -> Self {
        if lanes.is_some() {
            let known = CALLS_BY_LANES | SERVES_LANES;
            ring.segment().header().knows_lanes.store(known, Ordering::Relaxed);
        }
        Self { forks: fork_count::forks(), ring: Some(ring), lanes }
    }

    fn ring(&self) -> Option<&ClientRing> {
        self.ring.as_ref().filter(|_| self.forks == fork_count::forks())
    }
}

impl Drop for AttachedRing {
    fn drop(&mut self) {
        if self.forks != fork_count::forks() {
            // A child may have mapped something else where its parent has the segment.
            mem::forget(self.ring.take());
        }
    }
}

/// What a thread has of a ring. It is given back when the thread ends.
struct ThreadSlot {
    /// Does not keep the ring, which goes with its device.
    ring: Weak<AttachedRing>,
    lease: SlotLease,
    /// None while the thread makes a call.
    lanes: Option<Box<DeviceThread>>,
}

enum SlotLease {
    Held(SlotIndex),
    /// None was free. The thread asks again after some calls more.
    NoneFree {
        calls: u32,
    },
    /// The driver will not have it.
    Refused,
}

/// After this many calls a thread that got no slot asks again.
const RETRY_CALLS: u32 = 256;

thread_local! {
    /// In the destructors of other variables of a thread this may be gone; calls are ioctls then.
    static SLOTS: RefCell<Vec<ThreadSlot>> = const { RefCell::new(Vec::new()) };
}

/// Returns the slot that this thread has in a ring, or gets now, and takes what it has of lanes: to be put back.
fn slot_in(
    attached: &Arc<AttachedRing>,
    ring: &ClientRing,
) -> Option<(SlotIndex, Option<Box<DeviceThread>>)> {
    with_slots(|slots| {
        let at = place(slots, attached).unwrap_or_else(|| {
            // Those of devices that are closed.
            slots.retain(|slot| slot.ring.strong_count() > 0);
            let lanes = attached.lanes.is_some().then(Box::default);
            slots.push(ThreadSlot { ring: Arc::downgrade(attached), lease: claim(ring), lanes });
            slots.len() - 1
        });
        let ThreadSlot { lease, lanes, .. } = &mut slots[at];
        match lease {
            SlotLease::NoneFree { calls: RETRY_CALLS.. } => *lease = claim(ring),
            SlotLease::NoneFree { calls } => *calls += 1,
            SlotLease::Held(_) | SlotLease::Refused => {}
        }
        match lease {
            SlotLease::Held(slot) => Some((*slot, lanes.take())),
            SlotLease::NoneFree { .. } | SlotLease::Refused => None,
        }
    })
    .flatten()
}

/// Puts back what this thread has of a ring's lanes.
fn put_back(attached: &Arc<AttachedRing>, lanes: Box<DeviceThread>) {
    with_slots(|slots| {
        if let Some(at) = place(slots, attached) {
            slots[at].lanes = Some(lanes);
        }
    });
}

/// Gives this thread's slot in a ring back for good.
fn refuse(attached: &Arc<AttachedRing>) {
    with_slots(|slots| {
        if let Some(at) = place(slots, attached) {
            slots[at].give_back();
            slots[at].lanes = None;
            slots[at].lease = SlotLease::Refused;
        }
    });
}

fn claim(ring: &ClientRing) -> SlotLease {
    let tid = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
    ring.claim(tid, tid).map_or(SlotLease::NoneFree { calls: 0 }, SlotLease::Held)
}

/// None if the thread is ending.
fn with_slots<R>(act: impl FnOnce(&mut Vec<ThreadSlot>) -> R) -> Option<R> {
    SLOTS.try_with(|slots| slots.try_borrow_mut().ok().map(|mut slots| act(&mut slots))).ok()?
}

fn place(slots: &[ThreadSlot], attached: &Arc<AttachedRing>) -> Option<usize> {
    slots.iter().position(|slot| std::ptr::eq(slot.ring.as_ptr(), Arc::as_ptr(attached)))
}

impl ThreadSlot {
    fn give_back(&mut self) {
        let SlotLease::Held(slot) = self.lease else { return };
        // A device that was closed has no ring any more, and neither has a child.
        if let Some(attached) = self.ring.upgrade()
            && let Some(ring) = attached.ring()
        {
            if let (Some(thread), Some(lanes)) = (&mut self.lanes, &attached.lanes) {
                lanes.end(thread, ring, slot);
            }
            ring.release(slot);
        }
    }
}

impl Drop for ThreadSlot {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use binder_ring::layout::SLOTS;

    use super::*;

    fn attached() -> Arc<AttachedRing> {
        let (ring, _file) = ClientRing::create().unwrap();
        Arc::new(AttachedRing::new(ring, None))
    }

    fn own_slot(attached: &Arc<AttachedRing>) -> Option<u32> {
        slot_in(attached, attached.ring()?).map(|(slot, _)| slot.number())
    }

    /// How many slots no thread has. All of them are taken.
    fn free_slots(attached: &Arc<AttachedRing>) -> usize {
        let ring = attached.ring().unwrap();
        std::iter::from_fn(|| ring.claim(1, 1)).count()
    }

    #[test]
    fn a_thread_has_one_slot_of_each_ring_and_gives_it_back_when_it_ends() {
        let (one, other) = (attached(), attached());
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let slots = [&one, &other, &one, &other].map(own_slot);
                assert!(slots[0].is_some() && slots[..2] == slots[2..], "{slots:?}");
            });
            // The end of a scope does not wait for the destructors of a thread's variables.
            thread.join().unwrap();
        });
        assert_eq!([&one, &other].map(free_slots), [SLOTS as usize; 2]);
    }

    #[test]
    fn threads_without_a_slot_ask_again() {
        let ring = attached();
        let (here, go_on) = (Barrier::new(41), Barrier::new(41));
        let outcomes = thread::scope(|scope| {
            let threads: Vec<_> = (0..40)
                .map(|_| {
                    scope.spawn(|| {
                        let has_slot = own_slot(&ring).is_some();
                        here.wait();
                        go_on.wait();
                        has_slot
                    })
                })
                .collect();
            here.wait();
            assert_eq!(own_slot(&ring), None);
            go_on.wait();
            threads.into_iter().map(|it| it.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(outcomes.iter().filter(|has_slot| **has_slot).count(), SLOTS as usize);
        let asked = (0..=RETRY_CALLS).map(|_| own_slot(&ring)).position(|slot| slot.is_some());
        assert_eq!(asked, Some(RETRY_CALLS as usize - 1));
    }

    #[test]
    fn a_thread_that_is_refused_asks_no_more() {
        let ring = attached();
        assert!(own_slot(&ring).is_some());
        refuse(&ring);
        assert!((0..2 * RETRY_CALLS).all(|_| own_slot(&ring).is_none()));
        assert_eq!(free_slots(&ring), SLOTS as usize);
    }

    #[test]
    fn what_a_thread_had_of_a_closed_device_is_forgotten() {
        for _ in 0..100 {
            assert!(own_slot(&attached()).is_some());
        }
        assert_eq!(with_slots(|slots| slots.len()), Some(1));
    }
}
