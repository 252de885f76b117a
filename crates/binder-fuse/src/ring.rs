//! The ring: calls that come by shared memory (`binder-ring`), and their answers.
//!
//! A request of a ring is one like those of FUSE, with a number of its own kind ([`RingCallId`]): the front end makes no
//! difference. Here it is taken out of its slot (by a thread of the `watchers`, or the ioctl by which a thread waits), its memory is
//! read and written where it lies in the slot (`access`), and it is answered there (`file`).
//!
//! A thread whose call brings files takes them from a socket (`files`). One whose descriptors must change otherwise is sent
//! to make an ioctl instead, which goes on with the call: only there can it be stopped.

mod access;
mod bell_places;
mod fair_share;
pub(crate) mod file;
mod files;
mod filters;
mod lane_calls;
pub(crate) mod lanes;
mod recent_threads;
pub(crate) mod rings;
mod urgency;
pub(crate) mod watcher;
pub(crate) mod watchers;

use std::io;
use std::sync::Arc;

use binder_core::{Errno, ProcessKey, Standing};
use binder_frontend::{Answer, Call, CallingThread, IoctlData, RequestContext};
use binder_os::RingMemory;
use binder_ring::{RequestKind, RingAnswer, SlotIndex};
use binder_uapi::{
    BINDER_THREAD_EXIT, BINDER_WRITE_READ, BinderWriteRead, RING_INTERRUPT, RING_VERSION,
    RingAttach, RingWait,
};
use fuse_wire::{Header, reply};
use zerocopy::{FromBytes, IntoBytes};

use crate::client_file::ClientFile;
use crate::descriptors::mappings;
use crate::device::{Batch, Deferred, DeviceState, DeviceWork, Job};
use crate::io_queue::IoRequest;
use crate::memory_op::{MemoryAccessor, begin_call};
use crate::shared::SessionShared;
use crate::strings::errno;
use crate::wire::send;

use file::{MovedFdWork, RingCallId, RingFile, TakenRequest, Unbound, WaitBegun};
use rings::{BegunCall, new_call};

impl SessionShared {
    /// A client offers a segment, or asks whether it may.
    pub(crate) fn attach_ring(
        &self,
        header: &Header,
        file: &Arc<ClientFile>,
        process: ProcessKey,
        data: &[u8],
    ) {
        /// No file has this number.
        const QUESTION: u32 = u32::MAX;
        let (unique, tid) = (header.unique, header.pid);
        let wanted = RingAttach::read_from_bytes(data).ok();
        let wanted = wanted.filter(|it| it.version == RING_VERSION && self.has_rings);
        let Some(wanted) = wanted else { return self.refuse(unique, Errno::EINVAL) };
        if wanted.fd == QUESTION {
            match self.filter_verdict(file, tid) {
                Ok(verdict) if verdict.allows_rings => {}
                Ok(verdict) => return self.refuse(unique, verdict.answer()),
                Err(status) => return self.read_filters(unique, file, tid, status),
            }
        }
        let attached = self.add_ring(header, file, process, wanted.fd);
        self.respond(unique, attached, |()| reply::ioctl(unique, 0, &[]));
    }

    fn add_ring(
        &self,
        header: &Header,
        file: &Arc<ClientFile>,
        process: ProcessKey,
        memfd: u32,
    ) -> Result<(), Errno> {
        // A segment does not name its caller; the kernel is asked, and must say the same as FUSE.
        let tid = header.pid;
        if file.has_filter() || !file.is_caller(tid, header.uid) {
            tracing::debug!(pid = file.pid, tid, "no ring: the uid of its callers is not known");
            return Err(Errno::EOPNOTSUPP);
        }
        let mapping =
            mappings().take(file.payer(), 1).map_err(|error| errno(&io::Error::from(error)))?;
        let memfd = file.take_memfd(tid, memfd)?;
        let memory = RingMemory::map(&memfd).map_err(|error| errno(&error))?;
        let make = |number| RingFile::new(number, process, memory, mapping);
        let ring = self.rings.add(file, make);
        // A program that was replaced by another had the one before.
        if let Some(before) = file.set_ring(Some(ring)) {
            self.forget_ring(file, &before);
        }
        Ok(())
    }

    /// A file is closed. It ends when all of its calls have: the kernel, which sees to that otherwise, does not know of those
    /// of a ring.
    pub(crate) fn close_file(&self, file: &Arc<ClientFile>, process: ProcessKey) {
        match file.set_ring(None) {
            Some(ring) => {
                file.note_closed();
                self.rings.close(&ring, file.clone());
                self.forget_ring(file, &ring);
            }
            None => {
                let end: DeviceWork = Box::new(move |state| state.end_file(process));
                self.submit_in_line(&file.device, Job::Work(end));
                self.forget_open(file);
            }
        }
    }

    /// Last, since the device's number may be another's afterwards.
    fn forget_open(&self, file: &ClientFile) {
        self.tree().close(file.device.id, file.pid);
    }

    fn forget_ring(&self, file: &Arc<ClientFile>, ring: &Arc<RingFile>) {
        self.ring_watchers.forget(ring);
        let ring = ring.clone();
        let end: DeviceWork = Box::new(move |state| {
            SlotIndex::all().for_each(|slot| state.end_slot(ring.end(slot)));
            ring.end_posted();
            state.defer(Deferred::EndRingIfDone(ring));
        });
        self.submit(&file.device, Job::Work(end));
    }

    /// Forgets a ring that is over once no call of its is under way, and ends its file if that is closed.
    pub(crate) fn end_ring_if_done(&self, ring: &Arc<RingFile>) {
        if !ring.is_done() {
            return;
        }
        if let Some((file, process)) = self.rings.remove(ring) {
            let end: DeviceWork = Box::new(move |state| state.end_file(process));
            self.submit(&file.device, Job::Work(end));
            self.forget_open(&file);
        }
    }

    /// A thread waits for the answer to the request in its slot. Returns the first I/O that may take its time.
    pub(crate) fn wait_in_ring(
        &self,
        header: &Header,
        file: &Arc<ClientFile>,
        data: &[u8],
        batch: &mut Batch,
    ) -> Result<Option<IoRequest>, Errno> {
        let wanted = RingWait::read_from_bytes(data).map_err(|_| Errno::EINVAL)?;
        let slot = SlotIndex::new(wanted.slot).ok_or(Errno::EINVAL)?;
        let ring = file.ring().ok_or(Errno::EINVAL)?;
        let user = file.caller(header.pid).ok_or(Errno::EPERM)?;
        ring.bind(slot, header.pid, user.with_uid(header.uid));
        let posted = ring.take_posted();
        if posted != 0 {
            self.ring_watchers.note_rung(file, &ring);
        }
        // The driver may have looked at its slot before that was bound to the thread.
        let left = self.run_slots(file, &ring, posted | slot.bit(), batch);
        match ring.wait(slot, header.unique) {
            WaitBegun::Waits { id, replaced } => {
                self.rings.waits().insert(header.unique, id);
                if let Some(other) = replaced {
                    self.end_wait(other);
                }
                // It may have been answered before it was listed.
                if !ring.is_waited_for(id, header.unique) {
                    self.rings.waits().remove(&header.unique);
                } else if wanted.flags & RING_INTERRUPT != 0 {
                    self.interrupt_in_ring(file, id);
                }
            }
            WaitBegun::Over => send(&self.fuse, &reply::ioctl(header.unique, 0, &[])),
        }
        Ok(left)
    }

    /// Tells the client that a number of its file is closed. Runs the requests in the slots, which came before: the thread that
    /// watches them may wait for a processor.
    pub(crate) fn note_close_in_ring(&self, file: &Arc<ClientFile>) {
        let Some(ring) = file.ring() else { return };
        ring.count_close();
        let left = self.run_slots(file, &ring, ring.take_posted(), &mut Batch::default());
        left.into_iter().for_each(|left| self.io_queue.push(left));
    }

    /// Runs the requests in these slots of a file. Returns the first of what may take its time, as [`run_all`](Self::run_all).
    fn run_slots(
        &self,
        file: &Arc<ClientFile>,
        ring: &Arc<RingFile>,
        slots: u32,
        batch: &mut Batch,
    ) -> Option<IoRequest> {
        let begin = |slot| BegunCall::take(file, ring, slot, self.rings.next_sequence());
        self.run_all(SlotIndex::of_bits(slots).filter_map(begin), batch)
    }

    /// Runs calls that were taken out of their slots. Returns the first of what may take its time; the rest is in line.
    pub(crate) fn run_all(
        &self,
        begun: impl Iterator<Item = BegunCall>,
        batch: &mut Batch,
    ) -> Option<IoRequest> {
        let mut first = None;
        for begun in begun {
            let (ring, id) = (begun.ring.clone(), begun.request.id);
            let left = self.run_begun(begun, batch);
            if left.is_none() {
                ring.note_whether_waits(id);
            }
            match left {
                Some(left) if first.is_some() => self.io_queue.push(left),
                Some(left) => first = Some(left),
                None => {}
            }
        }
        first
    }

    /// Ends the wait of request `unique` for an answer, because of a signal, and the call as far as it can end. Says whether
    /// there is such a wait.
    ///
    /// The wait ends at once: a thread that was killed is to end, whatever its call waits for.
    pub(crate) fn interrupt_wait_in_ring(&self, unique: u64) -> bool {
        let Some(id) = self.rings.waits().remove(&unique) else { return false };
        let ring = self.rings.get(id);
        if ring.as_ref().is_none_or(|ring| ring.end_wait(id, unique)) {
            self.refuse(unique, Errno::EINTR);
        }
        if let Some(file) = self.rings.file_of(id) {
            self.interrupt_in_ring(&file, id);
        }
        true
    }

    /// Ends a call as far as it can end. If it has not come to the front end yet, the thread that brings it there sees the note.
    fn interrupt_in_ring(&self, file: &Arc<ClientFile>, id: RingCallId) {
        if let Some(ring) = self.rings.get(id) {
            ring.note_interruption(id);
        }
        let work: DeviceWork = Box::new(move |state| {
            state.frontend.interrupt(id.to_unique());
        });
        self.submit(&file.device, Job::Work(work));
    }

    pub(crate) fn end_wait(&self, unique: u64) {
        self.rings.waits().remove(&unique);
        send(&self.fuse, &reply::ioctl(unique, 0, &[]));
    }

    /// Runs a call that was taken out of its slot. Returns the first of what may take its time.
    fn run_begun(&self, begun: BegunCall, batch: &mut Batch) -> Option<IoRequest> {
        let kind = begun.request.kind;
        // Every process that maps the segment can write to it, also when the thread has executed a program of another user's:
        // its memory may say no more than that the caller is still the same user.
        let is_known = begun.file.caller(begun.request.tid) == Some(begun.request.user);
        if !matches!(kind, RequestKind::Call | RequestKind::CallAtOnce) {
            return self.run_for_files(begun, is_known, batch);
        }
        let BegunCall { file, ring, request } = begun;
        let TakenRequest { process, id, tid, user, call, moved, .. } = request;
        let uid = user.uid;
        let unique = id.to_unique();
        // What an ioctl of this thread was to go on with, and did not because of a signal, this call takes up.
        self.retract_expected_call(tid);
        if let Some(moved) = moved {
            self.end_moved(&file, *moved);
        }
        if !is_known {
            self.finish_in_ring(id, RingAnswer::UNKNOWN_CALLER, &call, &[]);
            return None;
        }
        let request = RequestContext { unique, process, tid, uid, argument: 0, is_compat: false };
        let priority = self.priorities.of_thread(tid);
        let thread = CallingThread { priority, ..CallingThread::default() };
        let posted = call;
        let mut call = new_call(batch, &file, request, &posted);
        if kind == RequestKind::CallAtOnce {
            call.read_at_once();
        }
        if ring.calls_by_lanes() || ring.serves_lanes() {
            call.tell_standing();
        }
        if let Some(mut fetch) = batch.free_lists.fetch(request, &posted)
            && self.access_in_slot(&file, &mut fetch, MemoryAccessor::Reader)
        {
            call.set_fetched(fetch);
        }
        self.bring(&file, &ring, id, Job::Event(begin_call(call, thread)), batch)
    }

    /// Brings a call to its front end. Returns the first of what may take its time.
    fn bring(
        &self,
        file: &Arc<ClientFile>,
        ring: &RingFile,
        id: RingCallId,
        job: Job,
        batch: &mut Batch,
    ) -> Option<IoRequest> {
        let left = self.submit_and_take(&file.device, job, batch);
        // It may be on its way here when a signal comes, or when its file is closed: all that are under way are
        // interrupted then.
        if ring.was_interrupted(id) || file.is_closed() {
            self.interrupt_in_ring(file, id);
        }
        left
    }

    /// Answers a call of a ring.
    pub(crate) fn answer_in_ring(
        &self,
        id: RingCallId,
        answer: Answer,
        data: &[u8],
        returns: &[u8],
        standing: Standing,
    ) {
        let result = match answer {
            Answer::Done => 0,
            Answer::Failed(error) => -error.number(),
            Answer::Interrupted | Answer::Restart => -Errno::EINTR.number(),
        };
        // A call that comes to no front end has no struct to give back.
        let call = BinderWriteRead::read_from_bytes(data).ok();
        let call = call.or_else(|| self.rings.get(id)?.posted_call(id));
        self.finish_standing(id, result, &call.unwrap_or_default(), returns, standing);
    }

    fn finish_in_ring(&self, id: RingCallId, result: i32, call: &BinderWriteRead, returns: &[u8]) {
        self.finish_standing(id, result, call, returns, Standing::default());
    }

    fn finish_standing(
        &self,
        id: RingCallId,
        result: i32,
        call: &BinderWriteRead,
        returns: &[u8],
        standing: Standing,
    ) {
        let Some(ring) = self.rings.get(id) else { return };
        if let Some(waits) = ring.answer(id, result, call, returns, standing) {
            self.end_wait(waits);
        }
        self.end_ring_if_done(&ring);
    }

    /// Has the thread of a call take the files that it brings, or make an ioctl, where its descriptors can be changed.
    pub(crate) fn move_out_of_ring(&self, id: RingCallId, moved: MovedFdWork, returns: &[u8]) {
        let (call, result) = (moved.call, files::way_of(&moved.work));
        let Some(ring) = self.rings.get(id) else { return };
        ring.move_out(id, moved.into());
        self.finish_in_ring(id, result, &call, returns);
    }

    /// Sees to the slot of a thread that makes an ioctl. If that is to go on with a call of the slot, what goes on is
    /// returned; a call that is under way there ends, for a thread makes one at a time.
    pub(crate) fn leave_ring(
        &self,
        file: &Arc<ClientFile>,
        request: RequestContext,
        command: u32,
        data: &[u8],
    ) -> Option<Job> {
        let ring = file.ring()?;
        let Some(slot) = ring.slot_of(request.tid) else {
            if ring.is_full() {
                // Of the ends of threads that cannot be watched nothing tells.
                self.end_ended_threads(file, request.process);
            }
            return None;
        };
        if matches!(command, BINDER_WRITE_READ | BINDER_THREAD_EXIT)
            && let Some(lane) = ring.lane_note(slot).lane()
        {
            self.adopt_call_below(file, request, lane);
        }
        let (id, moved) = ring.leave(slot);
        if let Some(id) = id {
            self.interrupt_in_ring(file, id);
        }
        let MovedFdWork { request: from, call, work } = *moved?;
        if call.as_bytes() != data {
            self.end_moved(file, MovedFdWork { request: from, call, work });
            return None;
        }
        let to = Call::new(request, IoctlData::of(&call)).into();
        let go_on: DeviceWork =
            Box::new(move |state| state.frontend.move_fd_work(from.unique, to, work));
        Some(Job::WorkFor(request.caller(), go_on))
    }

    /// Ends descriptor work with which no thread goes on.
    fn end_moved(&self, file: &Arc<ClientFile>, moved: MovedFdWork) {
        let caller = moved.request.caller();
        let end: DeviceWork = Box::new(move |state| moved.end(state));
        self.submit(&file.device, Job::WorkFor(caller, end));
    }
}

impl MovedFdWork {
    /// Ends it: no thread goes on with it.
    fn end(self, state: &mut DeviceState) {
        let Self { request, call, work } = self;
        state.frontend.end_fd_work_of_killed(request, call, Some(work));
    }
}

impl DeviceState {
    /// A thread has ended: its slot is another's.
    pub(crate) fn end_thread_in_ring(&mut self, file: &ClientFile, tid: u32) {
        if let Some(ring) = file.ring()
            && let Some(slot) = ring.slot_of(tid)
        {
            self.end_slot(ring.unbind(slot, Some(tid)));
        }
    }

    fn end_slot(&mut self, Unbound { call, wait, moved }: Unbound) {
        if let Some(id) = call {
            self.frontend.interrupt(id.to_unique());
        }
        if let Some(unique) = wait {
            self.defer(Deferred::EndRingWait(unique));
        }
        if let Some(moved) = moved {
            moved.end(self);
        }
    }
}
