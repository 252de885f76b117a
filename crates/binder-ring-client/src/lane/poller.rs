//! A thread of a server that looks for the next call.

#![expect(unsafe_code, reason = "most of the words on which a thread may sleep are never written")]

use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, Ordering};
use core::{hint, mem, ptr};

use binder_lane::{LaneSegment, LaneState};
use binder_ring::PATIENCE_MS;
use binder_ring::layout::NO_CPU;
use binder_uapi::BinderTransactionData;
use rustix::thread::Timespec;
use rustix::thread::futex;

use super::served::{HeldLane, HeldLanes, MAX_SERVED, Places, ServedLanes, ServedPlace};
use super::system::{LaneServing, header, is_granted};
use crate::caller::SleepEnd;
use crate::spin::SpinHistory;

/// The lanes that a thread looks at, and what its looks were good for.
#[derive(Debug)]
pub(super) struct LanePoller {
    lanes: HeldLanes,
    /// The place at which the next look begins: after that of the last call.
    first: usize,
    /// Those that it has left as they were since it looked last.
    released_warm: Places,
    /// How often in a row, without a wait, it has left lanes of callers on other processors.
    remote_in_a_row: u32,
    /// How many more looks it leaves lanes that no thread has to other threads, as long as it has any itself.
    skipped_polls: u32,
    /// When a sleep ends in which nothing comes. It may be past.
    until: Timespec,
    /// Reads that go to the driver at once before the thread looks again.
    pause: u32,
    /// The pause after the next look for nothing.
    next_pause: u32,
    /// Replies that are written and waited after in one go, although the thread may have to hear of something else first.
    write_pause: u32,
    spins: SpinHistory,
}

/// What has come of a look.
pub(super) enum Polled {
    /// A call, of a lane that the thread has no more among those that it looks at.
    Call(HeldLane, BinderTransactionData),
    /// There is work of the driver's.
    Shut,
    /// Nothing.
    Nothing,
    /// The thread has handled a signal.
    Interrupted,
}

/// The words on which a thread sleeps that looks for calls.
#[derive(Debug)]
pub struct LaneWaits {
    /// The first `count` are there.
    waits: [MaybeUninit<futex::Wait>; MAX_WORDS],
    count: usize,
}

/// Those of all lanes and the gate, and two of the thread's own.
const MAX_WORDS: usize = MAX_SERVED + 3;
/// Callers of more lanes for each processor do not spin.
const CALLERS_PER_CPU: usize = 2;
/// How many times in a row threads with no time to wait may leave remote lanes, before the driver is to wake another thread for them.
const MAX_REMOTE_IN_A_ROW: u32 = 1 << 10;
/// The looks for which the other has time to come.
const SKIPPED_POLLS: u32 = 1 << 6;
/// The longest pause after looks for nothing.
const MAX_PAUSE: u32 = 1 << 8;

impl Default for LaneWaits {
    fn default() -> Self {
        let waits = [const { MaybeUninit::uninit() }; MAX_WORDS];
        Self { waits, count: 0 }
    }
}

impl LaneWaits {
    /// Adds a word, and the value for as long as which the thread sleeps.
    ///
    /// # Panics
    ///
    /// If there are too many.
    #[inline(always)]
    pub fn push(&mut self, word: *const AtomicU32, value: u32, flags: futex::WaitFlags) {
        let mut wait = futex::Wait::new();
        wait.val = value.into();
        wait.uaddr = futex::WaitPtr::new(word.cast_mut().cast());
        wait.flags = flags | futex::WaitFlags::SIZE_U32;
        self.waits[self.count].write(wait);
        self.count += 1;
    }

    /// All of them, as futex_waitv(2) takes them.
    #[inline(always)]
    pub fn waits(&self) -> &[futex::Wait] {
        let waits = &self.waits[..self.count];
        // SAFETY: `push` has written all of these, and such a slice is laid out as one of the values.
        unsafe { &*(ptr::from_ref(waits) as *const [futex::Wait]) }
    }
}

impl LanePoller {
    pub(super) const fn new() -> Self {
        Self {
            lanes: HeldLanes::NONE,
            first: 0,
            released_warm: Places::NONE,
            remote_in_a_row: 0,
            skipped_polls: 0,
            until: Timespec { tv_sec: 0, tv_nsec: 0 },
            pause: 0,
            next_pause: 0,
            write_pause: 0,
            spins: SpinHistory::new(),
        }
    }

    /// Whether the thread looks at lanes.
    pub(super) fn is_any(&self) -> bool {
        !self.lanes.is_empty()
    }

    /// Whether a caller has called, or has given that up, where the thread has said that it will look.
    pub(super) fn has_waiting_caller(&self, system: &impl LaneServing) -> bool {
        let lane = |at| system.served().get_of(&self.lanes, at);
        let state = |at| lane(at).place.segment().head().word.state();
        self.lanes.places().any(|at| !matches!(state(at), LaneState::Warm))
    }

    /// Takes the lanes that no thread looks at. Those that the driver has taken back are given back.
    pub(super) fn take_free(&mut self, system: &impl LaneServing) {
        let _ = self.end_absence(system.served());
        if self.lanes.len() < system.served().count() {
            system.served().take_free(&mut self.lanes, Places::ALL);
            self.prune(system);
        }
    }

    /// Gives lanes back that no thread looks at, and that the driver has taken back.
    pub(super) fn prune_free(&mut self, system: &impl LaneServing) {
        let own = mem::replace(&mut self.lanes, HeldLanes::NONE);
        system.served().take_free(&mut self.lanes, Places::ALL);
        self.prune(system);
        system.served().release_all(mem::replace(&mut self.lanes, own));
    }

    /// Whether the thread is to leave those to others, this time.
    pub(super) fn skips_free(&mut self) -> bool {
        let skips_free = self.skipped_polls > 0;
        self.skipped_polls = self.skipped_polls.saturating_sub(1);
        skips_free
    }

    /// Looks at a lane, too, that the thread has.
    pub(super) fn keep(&mut self, lane: HeldLane) {
        self.lanes.put(lane);
    }

    /// Gives the lanes back that the driver has taken back.
    fn prune(&mut self, system: &impl LaneServing) {
        for at in self.lanes.places() {
            let lane = system.served().get_of(&self.lanes, at);
            if !is_granted(system, lane.id, lane.at) {
                self.forget(system, at);
            }
        }
    }

    /// Lets go of a lane whose other party does not keep to the rules, or that the driver has taken back.
    #[cold]
    fn forget(&mut self, system: &impl LaneServing, at: usize) {
        if let Some(lane) = self.lanes.take_out(at) {
            system.served().get(&lane).cool();
            system.give_back_served(system.served().remove(lane));
        }
    }

    /// The thread looks no more. Lanes that it has released warm others may take as they are.
    pub(super) fn end<P: ServedPlace>(&mut self, served: &ServedLanes<P>) {
        let _ = self.end_absence(served);
        self.release_cold(served);
    }

    /// Leaves all lanes to other threads.
    pub(super) fn release_cold<P: ServedPlace>(&mut self, served: &ServedLanes<P>) {
        self.skipped_polls = 0;
        self.lanes.places().for_each(|at| served.get_of(&self.lanes, at).cool());
        served.release_all(mem::replace(&mut self.lanes, HeldLanes::NONE));
    }

    /// Leaves all lanes to the thread that looks first, which may be this one, soon: callers find them as they are.
    pub(super) fn release_warm<P>(&mut self, served: &ServedLanes<P>) {
        self.release_warm_some(served, Places::ALL);
    }

    fn release_warm_some<P>(&mut self, served: &ServedLanes<P>, places: Places) {
        let lanes = self.lanes.take_out_all(places);
        if self.released_warm.is_empty() && !lanes.is_empty() {
            served.count_returning(true);
        }
        self.released_warm = self.released_warm.with(lanes.places());
        served.release_all(lanes);
    }

    /// The thread looks again, or never. Returns the lanes that it has released warm.
    fn end_absence<P>(&mut self, served: &ServedLanes<P>) -> Places {
        let released_warm = mem::replace(&mut self.released_warm, Places::NONE);
        if !released_warm.is_empty() {
            served.count_returning(false);
        }
        released_warm
    }

    /// The same with lanes whose callers were last on other processors: to wake those takes longer, and what both write goes to and fro.
    /// If no other thread takes them, although there are some, the driver is to wake one: it is called where no thread looks.
    pub(super) fn release_remote(&mut self, system: &impl LaneServing) {
        let served = system.served();
        let cpu = system.cpu();
        let lane = |at: usize| served.get_of(&self.lanes, at);
        let caller_cpu = |at| lane(at).place.segment().head().request.cpu.load(Ordering::Relaxed);
        let remote: Places = self.lanes.places().filter(|at| caller_cpu(*at) != cpu).collect();
        self.remote_in_a_row =
            if remote.is_empty() { 0 } else { self.remote_in_a_row.saturating_add(1) };
        let has_others = header(system).idle_threads.load(Ordering::Relaxed) > 0;
        if has_others && self.remote_in_a_row >= MAX_REMOTE_IN_A_ROW {
            remote.for_each(|at| lane(at).cool());
            (self.remote_in_a_row, self.skipped_polls) = (0, SKIPPED_POLLS);
        }
        self.release_warm_some(served, remote);
    }

    /// The thread goes to the driver, and may be long. What it has, or has released warm, is for other threads that will look soon; where none
    /// will, callers are to go to the driver, too.
    pub(super) fn leave(&mut self, system: &impl LaneServing) {
        let served = system.served();
        let released_warm = self.end_absence(served);
        if served.has_returning() {
            served.release_all(mem::replace(&mut self.lanes, HeldLanes::NONE));
            return;
        }
        served.take_free(&mut self.lanes, released_warm);
        if self.is_any() {
            self.prune(system);
            self.release_cold(served);
        }
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
        self.write_pause = MAX_PAUSE;
    }

    /// A new lane is looked at by the thread's next read. If it were after a pause, a caller that gives back lanes which no thread has
    /// looked at could do so just before each look.
    pub(super) fn note_offer(&mut self) {
        self.pause = 0;
    }

    /// Whether the thread hears of its replies' completions before anything else.
    pub(super) fn hears_completions(&self) -> bool {
        self.write_pause > 0
    }

    pub(super) fn note_look(&mut self, was_in_vain: bool) {
        if was_in_vain {
            self.pause = self.next_pause;
            self.next_pause = (self.next_pause * 2 + 1).min(MAX_PAUSE);
        } else {
            self.next_pause /= 2;
        }
    }

    /// Looks for a call, and sleeps, as long as a thread waits in its slot.
    ///
    /// If it is the driver's turn, what that has is done before any call.
    pub(super) fn poll(&mut self, system: &impl LaneServing, is_driver_next: bool) -> Polled {
        let cpu = system.cpu();
        loop {
            let is_shut = header(system).gate.load(Ordering::Acquire) != 0;
            if let Some((lane, call)) = self.take_call(system, cpu, is_shut && is_driver_next) {
                self.first = lane.place() + 1;
                return Polled::Call(lane, call);
            }
            if !self.is_any() {
                return Polled::Nothing;
            }
            if header(system).gate.load(Ordering::Acquire) != 0 {
                return Polled::Shut;
            }
            match self.wait(system, cpu) {
                SleepEnd::Woken => {}
                SleepEnd::TimedOut => return Polled::Nothing,
                SleepEnd::Interrupted => return Polled::Interrupted,
            }
        }
    }

    /// Takes a call that is there, and says on all lanes before it that the thread will look, and where.
    fn take_call(
        &mut self,
        system: &impl LaneServing,
        cpu: u32,
        is_driver_next: bool,
    ) -> Option<(HeldLane, BinderTransactionData)> {
        // A caller that spins would keep the others from a processor, for whose calls it waits as well.
        let processors = header(system).processors.load(Ordering::Relaxed) as usize;
        let cpu = if self.lanes.len() > processors * CALLERS_PER_CPU { NO_CPU } else { cpu };
        for at in self.lanes.places_from(self.first) {
            let lane = system.served().get_of(&self.lanes, at);
            if lane.is_useless() || !is_granted(system, lane.id, lane.at) {
                self.forget(system, at);
                continue;
            }
            let segment = lane.place.segment();
            let head = segment.head();
            match head.word.state() {
                LaneState::Posted if !lane.is_next(system) || is_driver_next => {}
                LaneState::Posted => {
                    if let Some(call) = lane.take(system) {
                        return Some((self.lanes.take_out(at)?, call));
                    }
                }
                LaneState::Cold => {
                    head.reply.cpu.store(cpu, Ordering::Relaxed);
                    head.reply.room.store(system.call_room(&lane.place), Ordering::Relaxed);
                    let _ = head.word.warm();
                }
                LaneState::Warm => head.reply.cpu.store(cpu, Ordering::Relaxed),
                // No thread but this one brings it there.
                LaneState::Asleep | LaneState::Claimed | LaneState::Left => self.forget(system, at),
            }
        }
        None
    }

    /// Waits until there may be a call, the driver has work, or the time is over. Notes which lane has ended or prevented that: each
    /// is blamed for what its own caller does.
    ///
    /// A function of its own: the words take more than a kilobyte of stack, and a thread that calls may have little.
    #[inline(never)]
    fn wait(&mut self, system: &impl LaneServing, cpu: u32) -> SleepEnd {
        if !system.may_wait() {
            return SleepEnd::TimedOut;
        }
        let served = system.served();
        let header = header(system);
        let mut segments = [const { None::<LaneSegment> }; MAX_SERVED];
        let mut waits = LaneWaits::default();
        for (at, segment) in self.lanes.places().zip(&mut segments) {
            let of_lane = served.get_of(&self.lanes, at).place.segment();
            let asleep = LaneState::Asleep as u32;
            waits.push(of_lane.head().word.word(), asleep, futex::WaitFlags::empty());
            *segment = Some(of_lane);
        }
        waits.push(&raw const header.gate, 0, futex::WaitFlags::empty());
        let segments = &segments[..self.lanes.len()];
        let first = segments.iter().flatten().next();
        let other_cpu = first.map_or(cpu, |it| it.head().request.cpu.load(Ordering::Relaxed));
        let cpus = [cpu, other_cpu];
        let until = &mut self.until;
        served.count_sleeper(true);
        self.remote_in_a_row = 0;
        let waited =
            wait_for_call(segments, &header.gate, &mut waits, until, cpus, &self.spins, system);
        served.count_sleeper(false);
        if let Some(at) = waited.woken_by.and_then(|nth| self.lanes.places().nth(nth)) {
            served.get_of(&self.lanes, at).note_spurious_wake();
        }
        waited.end
    }
}

/// How a wait for calls ended.
struct WaitedForCall {
    end: SleepEnd,
    /// Which lane has ended or prevented a sleep.
    woken_by: Option<usize>,
}

/// Looks, and sleeps, until a call may be there.
///
/// A signal that the thread handles ends this, whenever it comes, as far as `system` notices: as long as no other function is
/// called here.
#[inline(never)]
fn wait_for_call(
    segments: &[Option<LaneSegment>],
    gate: &AtomicU32,
    waits: &mut LaneWaits,
    until: &mut Timespec,
    [own_cpu, other_cpu]: [u32; 2],
    spins: &SpinHistory,
    system: &impl LaneServing,
) -> WaitedForCall {
    system.watch_signals();
    let [own, other] = system.signal_words();
    if let Some((word, value)) = own {
        waits.push(word, value, futex::WaitFlags::PRIVATE);
    }
    if let Some((word, value)) = other {
        waits.push(word, value, futex::WaitFlags::PRIVATE);
    }
    let looks = spins.looks(own_cpu, other_cpu);
    for _ in 0..looks.unwrap_or(0) {
        if may_be_more(segments, gate) || system.has_handled_signal() {
            break;
        }
        hint::spin_loop();
    }
    let is_more = may_be_more(segments, gate);
    if looks.is_some() {
        spins.note(is_more);
    }
    if system.has_handled_signal() {
        return WaitedForCall { end: SleepEnd::Interrupted, woken_by: None };
    }
    if is_more {
        return WaitedForCall { end: SleepEnd::Woken, woken_by: None };
    }
    let mut woken_by = None;
    for (at, segment) in segments.iter().flatten().enumerate() {
        if segment.head().word.prepare_server_to_sleep().is_none() {
            woken_by = Some(at);
            break;
        }
    }
    let mut end = SleepEnd::Woken;
    if woken_by.is_none() {
        let mut is_new = false;
        let mut woken;
        loop {
            (end, woken) = system.sleep_on(waits, until);
            if end != SleepEnd::TimedOut || is_new {
                break;
            }
            // That was the time of a sleep before, which something else has ended.
            (*until, is_new) = (patience_from(system.now()), true);
        }
        let is_awake = |it: &LaneSegment| it.head().word.state() != LaneState::Asleep;
        woken_by = match woken {
            Some(woken) => Some(woken),
            None => segments.iter().flatten().position(is_awake),
        };
    }
    for segment in segments.iter().flatten() {
        segment.head().word.end_server_sleep();
    }
    if system.has_handled_signal() {
        end = SleepEnd::Interrupted;
    }
    WaitedForCall { end, woken_by }
}

/// Whether there is a call, or work of the driver's.
#[inline(always)]
fn may_be_more(segments: &[Option<LaneSegment>], gate: &AtomicU32) -> bool {
    for segment in segments.iter().flatten() {
        if segment.head().word.state() == LaneState::Posted {
            return true;
        }
    }
    gate.load(Ordering::Relaxed) != 0
}

/// When a sleep ends that begins now.
#[inline(always)]
fn patience_from(now: Timespec) -> Timespec {
    const SECOND: i64 = 1_000_000_000;
    let nanoseconds = now.tv_nsec + (PATIENCE_MS * 1_000_000) as i64;
    if nanoseconds < SECOND {
        Timespec { tv_nsec: nanoseconds, ..now }
    } else {
        Timespec { tv_sec: now.tv_sec + 1, tv_nsec: nanoseconds - SECOND }
    }
}
