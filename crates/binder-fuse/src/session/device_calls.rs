//! Ioctls and polls of devices: they become events of the front end of the device.

use binder_core::{Errno, ProcessKey};
use binder_frontend::{Answer, CallingThread, Event, IoctlData, RequestContext};
use binder_uapi::{
    ANYBINDER_LANE_ACCEPT, ANYBINDER_LANE_ADOPT, ANYBINDER_LANE_CLOSE, ANYBINDER_LANE_OPEN,
    ANYBINDER_LANE_ROOM, ANYBINDER_RING_ATTACH, ANYBINDER_RING_WAIT, BINDER_CTL_ADD,
    BINDER_WRITE_READ, BinderWriteRead,
};
use fuse_wire::Header;
use fuse_wire::flags::FUSE_POLL_SCHEDULE_NOTIFY;
use zerocopy::FromBytes;

use crate::client_file::ClientFile;
use crate::device::{Batch, Deferred, DeviceWork, Job};
use crate::io_queue::IoRequest;
use crate::shared::{File, SessionShared, index};
use crate::tree::DeviceId;

/// An ioctl, as FUSE has it.
#[derive(Clone, Copy)]
pub(super) struct IoctlCall<'r> {
    pub(super) header: &'r Header,
    pub(super) fh: u64,
    pub(super) is_compat: bool,
    pub(super) command: u32,
    pub(super) argument: u64,
    pub(super) data: &'r [u8],
}

impl SessionShared {
    /// Answers an ioctl. Returns the first of what may take its time.
    pub(super) fn ioctl(&self, call: &IoctlCall<'_>, batch: &mut Batch) -> Option<IoRequest> {
        let IoctlCall { header, fh, is_compat, command, argument, data: bytes } = *call;
        let unique = header.unique;
        let (Some((file, process)), Some(data)) = (self.process_of(fh), IoctlData::new(bytes))
        else {
            if command == BINDER_CTL_ADD && self.is_control(fh) {
                self.add_device(unique, bytes);
            } else {
                self.refuse(unique, Errno::EINVAL);
            }
            return None;
        };
        let Header { pid: tid, uid, .. } = *header;
        let request = RequestContext { unique, process, tid, uid, argument, is_compat };
        let Some(mut thread) = self.begin_call(&file, process, tid) else {
            self.refuse_ioctl(unique, Errno::EINVAL);
            return None;
        };
        match command {
            ANYBINDER_RING_ATTACH => {
                self.attach_ring(header, &file, process, bytes);
                return None;
            }
            ANYBINDER_RING_WAIT => {
                let waits = self.wait_in_ring(header, &file, bytes, batch);
                return waits.unwrap_or_else(|error| {
                    self.refuse(unique, error);
                    None
                });
            }
            ANYBINDER_LANE_OPEN => {
                self.open_lane(header, &file, process, bytes);
                return None;
            }
            ANYBINDER_LANE_ACCEPT => {
                self.accept_lane(header, &file, process, bytes);
                return None;
            }
            ANYBINDER_LANE_ADOPT | ANYBINDER_LANE_CLOSE => {
                let is_adoption = command == ANYBINDER_LANE_ADOPT;
                self.end_in_lane(header, &file, process, bytes, is_adoption);
                return None;
            }
            ANYBINDER_LANE_ROOM => {
                self.set_aside_for_lanes(header, &file, process, bytes);
                return None;
            }
            _ => {}
        }
        if let Some(job) = self.leave_ring(&file, request, command, bytes) {
            return self.submit_and_take(&file.device, job, batch);
        }
        let call = batch.free_lists.call(request, data);
        if command == BINDER_WRITE_READ {
            thread.priority = self.priorities.of_thread(tid);
            if let Ok(wanted) = BinderWriteRead::read_from_bytes(bytes)
                && let Some(fetch) = batch.free_lists.fetch(request, &wanted)
            {
                return Some(IoRequest::Begin { file, call, thread, fetch });
            }
        }
        let event = Event::Ioctl { call, thread, command };
        self.submit_and_take(&file.device, Job::Event(event), batch)
    }

    /// Finds out about the thread that calls. `None` if it belongs to a process that has not opened the file.
    pub(crate) fn begin_call(
        &self,
        file: &ClientFile,
        process: ProcessKey,
        tid: u32,
    ) -> Option<CallingThread> {
        self.retract_expected_call(tid);
        let begun = file.begin_call(process, tid, &self.threads);
        begun
            .inspect_err(|_| {
                tracing::debug!(pid = file.pid, tid, "a foreign process was refused");
            })
            .ok()
    }

    /// Answers a poll.
    pub(super) fn poll(&self, header: &Header, fh: u64, handle: u64, flags: u32) {
        let Header { unique, pid: tid, uid, .. } = *header;
        let Some((file, process)) = self.process_of(fh) else {
            if !self.poll_log(header, fh, handle, flags) {
                self.refuse(unique, Errno::EINVAL);
            }
            return;
        };
        let Some(thread) = self.begin_call(&file, process, tid) else {
            return self.refuse(unique, Errno::EINVAL);
        };
        file.note_poll();
        let request = RequestContext { unique, process, tid, uid, argument: 0, is_compat: false };
        let handle = (flags & FUSE_POLL_SCHEDULE_NOTIFY != 0).then_some(handle);
        let event = Event::Poll { request: request.into(), thread, handle };
        self.submit_in_line(&file.device, Job::Event(event));
    }

    /// Ends the call behind request `target` because of a signal, on the device numbered `from` or one of the
    /// next; the interruption itself is request `unique`. If there is no such call (yet), the kernel is asked to
    /// repeat the interruption, and forgets it if the request is gone.
    pub(crate) fn interrupt(&self, unique: u64, target: u64, from: DeviceId) {
        let Some(device) = self.device_numbered(from) else {
            if !self.events().interrupt(target)
                && !self.trace.interrupt(target)
                && !self.interrupt_log_read(target)
                && !self.interrupt_wait_in_ring(target)
                && !self.interrupt_detached_call(target)
            {
                self.refuse(unique, Errno::EAGAIN);
            }
            return;
        };
        let work: DeviceWork = Box::new(move |state| {
            if !state.frontend.interrupt(target) {
                state.defer(Deferred::Interrupt { unique, target, from: from + 1 });
            }
        });
        self.submit_in_line(&device, Job::Work(work));
    }

    /// A signal wants to end the call behind a request. Says whether no front end has it.
    pub(crate) fn interrupt_detached_call(&self, unique: u64) -> bool {
        let is_found = self.detached_calls.interrupt(unique);
        if is_found {
            self.cancel_interrupted_calls();
        }
        is_found
    }

    /// Ends the calls that signals want to end, as far as their accesses can be given up: their threads may have been
    /// killed since. Such a call is over at once, for its access may never come to an end.
    pub(crate) fn cancel_interrupted_calls(&self) {
        for (unique, data) in self.detached_calls.take_cancelled() {
            self.answer(unique, Answer::Interrupted, data.bytes());
        }
    }

    fn is_control(&self, fh: u64) -> bool {
        matches!(self.files().get(index(fh)), Some(File::Control))
    }
}
