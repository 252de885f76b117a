//! The lanes by which a process is called, and the threads that serve their calls.
//!
//! A thread that would wait for work of the driver's looks at the lanes that no other thread has, for as long as a thread waits in
//! its slot of the ring. To the driver it is a thread that does something else meanwhile: work for it stays in line, and the gate in
//! the ring tells. So a thread that the driver has woken is never one that serves a lane.

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use binder_lane::layout::{CallOutcome, DATA_BYTES};
use binder_lane::{LaneId, LaneState, LeftToDriver, NoteKind, Woken};
use binder_ring::layout::{IS_LOOPER, NO_CPU};
use binder_ring_client::lane::{LaneCommands, LaneEnd, LaneReturns, LaneSystem as _, finish};
use binder_ring_client::{RingOutcome, RingSystem as _, SpinHistory};
use binder_uapi::{
    ANYBINDER_LANE_ACCEPT, BR_TRANSACTION, BR_TRANSACTION_COMPLETE, BinderTransactionData,
    BinderWriteRead, LANE_FLAGS, LaneAccept,
};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType,
};
use rustix::time::{ClockId, Timespec};

use super::{LaneContext, ThreadLanes, ask};
use crate::lane_memory::LaneMemory;
use crate::{credentials, ring_memory};

/// The lanes by which the process is called.
#[derive(Debug)]
pub(super) struct ServedLanes {
    lanes: Mutex<Vec<Arc<ServedLane>>>,
    /// As many there are, for a look without the lock.
    count: AtomicUsize,
}

/// A lane by which the process is called.
#[derive(Debug)]
pub(super) struct ServedLane {
    pub(super) id: LaneId,
    place: usize,
    memory: LaneMemory,
    /// Where the call lies, until it is freed.
    buffer: usize,
    /// The thread that calls, and the number of its process.
    caller: OwnedFd,
    sender_pid: u32,
    ptr: u64,
    cookie: u64,
    /// Whether a thread looks at it.
    is_owned: AtomicBool,
    /// How often in a row it has woken the thread that looks at it, without a call that was served.
    wakes_in_vain: AtomicU32,
}

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

/// A call that a thread serves.
#[derive(Debug)]
pub(super) struct Serving {
    pub(super) lane: Arc<ServedLane>,
    /// Its caller is gone: the reply is for no one.
    is_orphan: bool,
}

/// The longest pause after looks for nothing.
const MOST_PAUSE: u32 = 1 << 8;
/// As many words a thread sleeps on: those of the lanes to its process, and the gate.
const MOST_WORDS: usize = 16;
/// A lane that has woken a thread so often in a row for nothing is used no more.
const MOST_IN_VAIN: u32 = 1000;

impl ServedLanes {
    pub(super) const fn new() -> Self {
        Self { lanes: Mutex::new(Vec::new()), count: AtomicUsize::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<ServedLane>>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the lanes that others have opened.
    #[cold]
    pub(super) fn accept(&self, context: &LaneContext<'_, '_>) {
        let mut lanes = self.lock();
        lanes.retain(|lane| lane.is_kept(context));
        if let Some(lane) = ServedLane::accept(context) {
            lanes.push(Arc::new(lane));
        }
        self.count.store(lanes.len(), Ordering::Relaxed);
    }

    /// Lets go of lanes that the driver has taken back.
    fn prune(&self, context: &LaneContext<'_, '_>) {
        let mut lanes = self.lock();
        lanes.retain(|lane| lane.is_kept(context));
        self.count.store(lanes.len(), Ordering::Relaxed);
    }

    fn forget(&self, context: &LaneContext<'_, '_>, lane: &Arc<ServedLane>) {
        let mut lanes = self.lock();
        if let Some(at) = lanes.iter().position(|it| Arc::ptr_eq(it, lane)) {
            context.lanes.buffers.give_back(lane.buffer);
            lanes.swap_remove(at);
        }
        self.count.store(lanes.len(), Ordering::Relaxed);
    }
}

impl ServedLane {
    /// Takes a lane that another process has opened; none if there is none, or it cannot be taken.
    fn accept(context: &LaneContext<'_, '_>) -> Option<Self> {
        let (stream, flags) = (SocketType::STREAM, SocketFlags::CLOEXEC);
        let (own, drivers) =
            rustix::net::socketpair(AddressFamily::UNIX, stream, flags, None).ok()?;
        let socket = drivers.as_raw_fd().cast_unsigned();
        let mut accepted = LaneAccept { socket, ..Default::default() };
        ask(context.device, ANYBINDER_LANE_ACCEPT, &mut accepted).ok()?;
        let LaneAccept { id, place, sender_pid, ptr, cookie, .. } = accepted;
        let [file, caller] = receive(&own)?;
        let id = LaneId::new(id)?;
        let memory = LaneMemory::map(&file).ok()?;
        // A kernel that does not tell who calls has no lanes.
        credentials::fsuid(caller.as_fd()).ok()?;
        let buffer = context.lanes.buffers.take()?;
        let (is_owned, wakes_in_vain) = (AtomicBool::new(false), AtomicU32::new(0));
        let place = place as usize;
        Some(Self {
            id,
            place,
            memory,
            buffer,
            caller,
            sender_pid,
            ptr,
            cookie,
            is_owned,
            wakes_in_vain,
        })
    }

    /// Whether the driver has not taken it back, or a thread is to find out. Gives its buffer back otherwise.
    fn is_kept(&self, context: &LaneContext<'_, '_>) -> bool {
        let is_kept =
            context.is_granted(self.id, self.place) || self.is_owned.load(Ordering::Relaxed);
        if !is_kept {
            context.lanes.buffers.give_back(self.buffer);
        }
        is_kept
    }

    fn state(&self) -> LaneState {
        self.memory.segment().head().word.state()
    }

    /// Has no thread look. A call that is there is declined.
    fn cool(&self) {
        if !self.memory.segment().head().word.cool() {
            self.decline();
        }
    }

    /// Declines a call to which no thread has come, if there is one. Of any other the caller may not have seen the outcome yet.
    fn decline(&self) {
        let head = self.memory.segment().head();
        if head.word.state() != LaneState::Posted {
            return;
        }
        head.reply.outcome.store(CallOutcome::Declined as u32, Ordering::Relaxed);
        if let Some(woken) = head.word.decline() {
            self.wake_caller(woken);
        }
    }

    fn wake_caller(&self, woken: Woken) {
        if woken == Woken::Wake {
            ring_memory::wake_one(self.memory.segment().head().word.word());
        }
    }

    /// Ends a call that was claimed otherwise than by a reply of this lane.
    fn finish_as(&self, outcome: CallOutcome) {
        let head = self.memory.segment().head();
        head.reply.outcome.store(outcome as u32, Ordering::Relaxed);
        match head.word.finish(false) {
            Ok(woken) => self.wake_caller(woken),
            Err(LeftToDriver) => head.word.settle(),
        }
    }
}

/// Receives the two files of a lane.
fn receive(socket: &OwnedFd) -> Option<[OwnedFd; 2]> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    rustix::net::recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, flags).ok()?;
    let mut files = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    let mut files = files.next()?;
    Some([files.next()?, files.next()?])
}

impl OwnedLanes {
    /// Takes the lanes that no thread looks at.
    fn take_free(&mut self, context: &LaneContext<'_, '_>) {
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
    fn give_up_but(&mut self, kept: Option<&Arc<ServedLane>>) {
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

    /// A new lane is looked at by the thread's next read. If it were after a pause, a caller that gives lanes back which nobody has
    /// looked at could do so just before each look.
    pub(super) fn note_offer(&mut self) {
        self.pause = 0;
    }

    fn note_look(&mut self, was_in_vain: bool) {
        if was_in_vain {
            self.pause = self.next_pause;
            self.next_pause = (self.next_pause * 2 + 1).min(MOST_PAUSE);
        } else {
            self.next_pause = 0;
        }
    }
}

impl ThreadLanes {
    /// Whether the thread is idle, has nothing for the driver but what it may write at once, and there are lanes to look at.
    pub(super) fn may_look(
        &mut self,
        context: &LaneContext<'_, '_>,
        call: &BinderWriteRead,
        parsed: &LaneCommands,
    ) -> bool {
        let room = call.read_size.saturating_sub(call.read_consumed);
        if context.lanes.served.count.load(Ordering::Relaxed) == 0
            || room < LaneReturns::MOST_BYTES as u64
        {
            return false;
        }
        let is_idle = parsed.is_idle() && context.standing() & IS_LOOPER != 0;
        // A thread whose completions ride along replies and waits at once.
        if !is_idle && !parsed.has_reply {
            return false;
        }
        if !is_idle && self.owned.write_pause > 0 {
            self.owned.write_pause -= 1;
            return false;
        }
        if self.owned.pause > 0 {
            self.owned.pause -= 1;
            return false;
        }
        context.header().gate.load(Ordering::Acquire) == 0
    }

    /// Serves the call that comes next, if one comes by a lane before the driver has work.
    pub(super) fn look(
        &mut self,
        context: &LaneContext<'_, '_>,
        call: &mut BinderWriteRead,
        parsed: &LaneCommands,
    ) -> LaneEnd {
        if !parsed.is_idle() {
            let read_size = std::mem::replace(&mut call.read_size, call.read_consumed);
            let outcome = context.by_ring(call);
            call.read_size = read_size;
            let is_written =
                outcome == RingOutcome::Done(Ok(())) && call.write_consumed == call.write_size;
            if !is_written || context.standing() & IS_LOOPER == 0 {
                // It hears of its reply's completion first.
                self.owned.write_pause = MOST_PAUSE;
                return LaneEnd::ByRing;
            }
        }
        self.owned.take_free(context);
        match self.owned.look(context) {
            Some((lane, head)) => {
                self.owned.note_look(false);
                self.owned.give_up_but(Some(&lane));
                if parsed.is_idle() {
                    parsed.free(&context.lanes.buffers);
                }
                self.serving = Some(Serving { lane, is_orphan: false });
                let mut returns = LaneReturns::new();
                returns.push_transaction(BR_TRANSACTION, &head);
                finish(context, call, &returns)
            }
            None => {
                self.owned.note_look(true);
                self.owned.give_up();
                LaneEnd::ByRing
            }
        }
    }

    /// Goes on with a thread that serves a call of a lane: it replies, or the driver is to know of it.
    pub(super) fn go_on_serving(
        &mut self,
        context: &LaneContext<'_, '_>,
        call: &mut BinderWriteRead,
        parsed: &LaneCommands,
    ) -> LaneEnd {
        let Some(serving) = &mut self.serving else { return LaneEnd::ByRing };
        let room = call.read_size.saturating_sub(call.read_consumed);
        let has_room = room >= LaneReturns::MOST_BYTES as u64;
        if parsed.is_idle() && call.read_size == call.read_consumed {
            // It frees the call's buffer, and goes on.
            parsed.free(&context.lanes.buffers);
            call.write_consumed = call.write_size;
            return LaneEnd::Done;
        }
        let reply = parsed.plain_send(true).filter(|_| has_room);
        let data = reply.and_then(|reply| context.memory.lent(reply.buffer, reply.data_size));
        if let (Some(reply), Some(data), false) = (reply, data, serving.is_orphan)
            && data.len() <= DATA_BYTES
        {
            let lane = serving.lane.clone();
            return match lane.reply(context, reply, data) {
                Ok(()) => {
                    self.serving = None;
                    complete(context, call, parsed)
                }
                Err(LeftToDriver) => {
                    self.hand_over(context);
                    self.end_serving(context, call, parsed)
                }
            };
        }
        if !serving.is_orphan {
            self.hand_over(context);
        }
        self.end_serving(context, call, parsed)
    }

    /// Has the driver take over the call that the thread serves.
    #[cold]
    fn hand_over(&mut self, context: &LaneContext<'_, '_>) {
        let Some(serving) = self.serving.take() else { return };
        let lane = serving.lane;
        let _ = context.take_over(lane.id);
        if context.note().end(lane.id, NoteKind::Serves) {
            // Its caller is gone, or the driver.
            lane.finish_as(CallOutcome::Adopted);
            self.serving = Some(Serving { lane, is_orphan: true });
            return;
        }
        lane.finish_as(CallOutcome::Adopted);
        self.owned.give_up();
    }

    /// Goes on once the driver has the call; or nobody, for whom the reply is a completion as any.
    fn end_serving(
        &mut self,
        context: &LaneContext<'_, '_>,
        call: &mut BinderWriteRead,
        parsed: &LaneCommands,
    ) -> LaneEnd {
        if self.serving.is_none() || !parsed.has_reply {
            return LaneEnd::ByRing;
        }
        self.serving = None;
        self.owned.give_up();
        let has_room =
            call.read_size.saturating_sub(call.read_consumed) >= LaneReturns::MOST_BYTES as u64;
        if parsed.has_others || !has_room {
            return LaneEnd::ByRing;
        }
        complete(context, call, parsed)
    }
}

/// Ends a call that has replied.
fn complete(
    context: &LaneContext<'_, '_>,
    call: &mut BinderWriteRead,
    parsed: &LaneCommands,
) -> LaneEnd {
    parsed.free(&context.lanes.buffers);
    let mut returns = LaneReturns::new();
    returns.push(BR_TRANSACTION_COMPLETE);
    finish(context, call, &returns)
}

impl ServedLane {
    /// Replies to the call that the thread serves.
    fn reply(
        &self,
        context: &LaneContext<'_, '_>,
        reply: &BinderTransactionData,
        data: &[u8],
    ) -> Result<(), LeftToDriver> {
        let segment = self.memory.segment();
        let len = u32::try_from(data.len()).map_err(|_| LeftToDriver)?;
        if !segment.write_reply(data) {
            return Err(LeftToDriver);
        }
        let head = segment.head();
        head.reply.outcome.store(CallOutcome::Replied as u32, Ordering::Relaxed);
        head.reply.flags.store(reply.flags, Ordering::Relaxed);
        head.reply.len.store(len, Ordering::Relaxed);
        let replies = context.header().lane_calls.get(self.place);
        // A caller that has its reply may ask at once how many there were.
        if let Some(replies) = replies {
            replies.count();
        }
        let finished = head.word.finish(true);
        if let (Some(replies), Err(LeftToDriver)) = (replies, &finished) {
            replies.take_back();
        }
        let woken = finished?;
        let own = context.note().end(self.id, NoteKind::Serves);
        self.wake_caller(woken);
        // The driver was told by a caller that lies, and waits for a reply as well.
        if own { Ok(()) } else { Err(LeftToDriver) }
    }

    /// Takes the call that is there, if it can be served now.
    fn take(&self, context: &LaneContext<'_, '_>) -> Option<BinderTransactionData> {
        let buffer = context.lanes.buffers.at(self.buffer)?;
        let note = context.note();
        note.begin(self.id, NoteKind::Serves);
        let may_serve = context.is_granted(self.id, self.place)
            && context.header().gate.load(Ordering::Acquire) == 0
            && !buffer.is_lent();
        let segment = self.memory.segment();
        let head = segment.head();
        if !may_serve || !head.word.claim() {
            let _ = note.end(self.id, NoteKind::Serves);
            if !may_serve {
                self.decline();
            }
            return None;
        }
        let request = &head.request;
        let code = request.code.load(Ordering::Relaxed);
        let flags = request.flags.load(Ordering::Relaxed) & LANE_FLAGS;
        let len = request.len.load(Ordering::Relaxed) as usize;
        let sender_euid = credentials::fsuid(self.caller.as_fd()).ok();
        #[expect(unsafe_code, reason = "the buffer is filled through a pointer")]
        // SAFETY: `fill` lets so many bytes be written, and a buffer is no segment.
        let is_there = sender_euid.is_some()
            && buffer.fill(len, |to| unsafe { segment.copy_request(to, len) });
        let Some(sender_euid) = sender_euid.filter(|_| is_there) else {
            // The caller has ended, or lies.
            let _ = note.end(self.id, NoteKind::Serves);
            self.finish_as(CallOutcome::Declined);
            return None;
        };
        Some(BinderTransactionData {
            target: self.ptr,
            cookie: self.cookie,
            code,
            flags,
            sender_pid: self.sender_pid.cast_signed(),
            sender_euid,
            data_size: len as u64,
            buffer: buffer.address(),
            ..Default::default()
        })
    }
}

impl OwnedLanes {
    /// Looks for a call, and sleeps, as long as a thread waits in its slot. None if the driver has work, or none came.
    fn look(
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

/// How long a thread looks before it waits in the driver.
const PATIENCE: Timespec =
    Timespec { tv_sec: 0, tv_nsec: binder_ring::PATIENCE_MS as i64 * 1_000_000 };
