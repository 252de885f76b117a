//! The lanes by which a process is called, and what a server does to one.

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use binder_lane::layout::CallOutcome;
use binder_lane::{LaneId, LaneState, LeftToDriver, NoteKind, Woken};
use binder_uapi::{ANYBINDER_LANE_ACCEPT, BinderTransactionData, LANE_FLAGS, LaneAccept};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType,
};

use super::{LaneContext, ask};
use crate::lane_memory::{LaneBuffers, LaneMemory};
use crate::{credentials, ring_memory};

/// The lanes by which the process is called.
#[derive(Debug)]
pub(super) struct ServedLanes {
    lanes: Mutex<Vec<Arc<ServedLane>>>,
    /// As many there are, for a look without the lock.
    pub(super) count: AtomicUsize,
}

/// A lane by which the process is called.
#[derive(Debug)]
pub(super) struct ServedLane {
    pub(super) id: LaneId,
    pub(super) place: usize,
    pub(super) memory: LaneMemory,
    /// Where the call lies, until it is freed.
    buffer: usize,
    /// The thread that calls, and the number of its process.
    caller: OwnedFd,
    sender_pid: u32,
    ptr: u64,
    cookie: u64,
    /// Whether a thread looks at it.
    pub(super) is_owned: AtomicBool,
    /// How often in a row it has woken the thread that looks at it, or had a call, and none was served.
    pub(super) wakes_in_vain: AtomicU32,
}

impl ServedLanes {
    pub(super) const fn new() -> Self {
        Self { lanes: Mutex::new(Vec::new()), count: AtomicUsize::new(0) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<Arc<ServedLane>>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Arc<ServedLane>>)) {
        let mut lanes = self.lock();
        change(&mut lanes);
        self.count.store(lanes.len(), Ordering::Relaxed);
    }

    /// Takes the lanes that others have opened.
    #[cold]
    pub(super) fn accept(&self, context: &LaneContext<'_, '_>) {
        self.prune(context);
        if let Some(lane) = ServedLane::accept(context) {
            self.add(lane);
        }
    }

    pub(super) fn add(&self, lane: ServedLane) {
        self.change(|lanes| lanes.push(Arc::new(lane)));
    }

    /// Lets go of lanes that the driver has taken back.
    pub(super) fn prune(&self, context: &LaneContext<'_, '_>) {
        self.change(|lanes| lanes.retain(|lane| lane.is_kept(context)));
    }

    pub(super) fn forget(&self, context: &LaneContext<'_, '_>, lane: &Arc<ServedLane>) {
        self.change(|lanes| {
            if let Some(at) = lanes.iter().position(|it| Arc::ptr_eq(it, lane)) {
                context.lanes.buffers.give_back(lane.buffer);
                lanes.swap_remove(at);
            }
        });
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
        Self::new(&accepted, receive(&own)?, &context.lanes.buffers)
    }

    /// A lane of which the driver has told this, with its segment and the thread that calls.
    pub(super) fn new(
        accepted: &LaneAccept,
        [file, caller]: [OwnedFd; 2],
        buffers: &LaneBuffers,
    ) -> Option<Self> {
        let LaneAccept { id, place, sender_pid, ptr, cookie, .. } = *accepted;
        let id = LaneId::new(id)?;
        let memory = LaneMemory::map(&file).ok()?;
        // A kernel that does not tell who calls has no lanes.
        credentials::fsuid(caller.as_fd()).ok()?;
        let buffer = buffers.take()?;
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

    pub(super) fn state(&self) -> LaneState {
        self.memory.segment().head().word.state()
    }

    /// Has no thread look. A call that is there is declined.
    pub(super) fn cool(&self) {
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
    pub(super) fn finish_as(&self, outcome: CallOutcome) {
        let head = self.memory.segment().head();
        head.reply.outcome.store(outcome as u32, Ordering::Relaxed);
        match head.word.finish(false) {
            Ok(woken) => self.wake_caller(woken),
            Err(LeftToDriver) => head.word.settle(),
        }
    }

    /// Replies to the call that the thread serves.
    pub(super) fn reply(
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
        let ended = head.word.finish(true).and_then(|woken| {
            let own = context.note().end(self.id, NoteKind::Serves);
            self.wake_caller(woken);
            // The driver was told by a caller that lies, and waits for a reply as well.
            if own { Ok(()) } else { Err(LeftToDriver) }
        });
        if let (Some(replies), Err(LeftToDriver)) = (replies, ended) {
            replies.take_back();
        }
        ended
    }

    /// Takes the call that is there, if it can be served now.
    pub(super) fn take(&self, context: &LaneContext<'_, '_>) -> Option<BinderTransactionData> {
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
