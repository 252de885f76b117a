//! Does what the front ends of devices want done, with no lock of theirs held.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};

use binder_core::{CapturedFile, Commands, Errno, FdWork, ProcessKey, Standing};
use binder_frontend::{Action, Answer, Call, Cancelled, Event, FreeLists, RequestContext};
use binder_os::realtime::Boost;
use binder_os::{injection, proc_files};
use binder_uapi::BinderWriteRead;
use fuse_wire::{notify, reply};

use crate::client_file::{ClientFile, is_killed};
use crate::device::{Batch, Deferred, Device, DeviceAction, DeviceState, DeviceWork, Job};
use crate::expected_calls::ExpectedCall;
use crate::fd_task::{FdTask, FdTaskKind, WaitsIn};
use crate::freeze_queue::FreezerEvent;
use crate::io_queue::IoRequest;
use crate::memory_op::{MemoryAccessor, begin_call};
use crate::quota::Account;
use crate::ring::file::{MovedFdWork, RingCallId};
use crate::seccomp_add_fd;
use crate::shared::SessionShared;
use crate::wire::{answer_poll, send};

/// The kernel's own answer to a system call that a signal interrupts: the call is repeated after the
/// signal, or ends with `EINTR`, as the handler was set up (`SA_RESTART`).
///
/// User space never sees it: FUSE asks for an interruption only when the calling thread has a signal
/// to handle, and that thread does not return to its program before it has.
const ERESTARTSYS: i32 = 512;

/// Where a process has its receive buffer mapped, for a call that waits to know. It is looked for on account of its
/// caller: what the receiver does elsewhere must not keep it waiting.
struct WantedMapping {
    /// The receiver's open file.
    file: Arc<ClientFile>,
    receiver: ProcessKey,
    request: Box<RequestContext>,
    commands: Box<Commands>,
}

/// Takes what may take its time.
pub(crate) type Sink<'a> = dyn FnMut(IoRequest) + 'a;

impl SessionShared {
    /// Has `job` done, and what it leads to. What may take its time is left to the pool.
    pub(crate) fn submit(&self, device: &Arc<Device>, job: Job) {
        let mut batch = Batch::default();
        // Readers would leave their events to a thread that waits for a processor.
        let boost = self.has_realtime_reader.then(Boost::begin);
        device.run(Some(job), &mut batch);
        drop(boost);
        self.execute(device, &mut batch, &mut |left| self.leave(left));
    }

    /// Has `job` done by a reader, which does what it leads to: it returns the first of what may take its
    /// time; the rest is in line for readers.
    #[must_use = "a call waits for it"]
    pub(crate) fn submit_and_take(
        &self,
        device: &Arc<Device>,
        job: Job,
        batch: &mut Batch,
    ) -> Option<IoRequest> {
        device.run(Some(job), batch);
        let mut first = None;
        self.execute(device, batch, &mut |left| match first {
            None => first = Some(left),
            Some(_) => self.io_queue.push(left),
        });
        first
    }

    /// The same, for a reader that looks at the I/O queue before it reads the next request.
    pub(crate) fn submit_in_line(&self, device: &Arc<Device>, job: Job) {
        self.submit_to(device, job, &mut |left| self.io_queue.push(left));
    }

    /// Has `job` done, and what it leads to. What may take its time is for `sink`.
    fn submit_to(&self, device: &Arc<Device>, job: Job, sink: &mut Sink<'_>) {
        let mut batch = Batch::default();
        device.run(Some(job), &mut batch);
        self.execute(device, &mut batch, sink);
    }

    /// Has `work` done, and waits for what it returns. `None` if it met a bug.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        device: &Arc<Device>,
        work: impl FnOnce(&mut DeviceState) -> T + Send + 'static,
    ) -> Option<T> {
        self.begin_to_ask(device, work).recv().ok()
    }

    /// The same, for a thread that has something to do while it waits.
    pub(crate) fn begin_to_ask<T: Send + 'static>(
        &self,
        device: &Arc<Device>,
        work: impl FnOnce(&mut DeviceState) -> T + Send + 'static,
    ) -> Receiver<T> {
        let (tell, told) = mpsc::sync_channel(1);
        let work: DeviceWork = Box::new(move |state| {
            let _ = tell.send(work(state));
        });
        self.submit(device, Job::Work(work));
        told
    }

    /// Has a thread of the pool do what may take its time.
    pub(crate) fn leave(&self, left: IoRequest) {
        match left {
            IoRequest::Access(file, mut access) => {
                if self.access_in_slot(&file, &mut access, MemoryAccessor::Pool) {
                    self.submit(&file.device, Job::Event(Event::Accessed(access)));
                } else {
                    self.leave_to_pool(file, access);
                }
            }
            IoRequest::Begin { file, call, thread, .. } => {
                self.submit(&file.device, Job::Event(begin_call(call, thread)));
            }
            IoRequest::AddFd(task) => self.run_fd_task(*task),
            // Each goes to the pool.
            IoRequest::Close(files) => drop(files),
        }
    }

    /// Does all that is to be done, and hands what may take its time to `sink`.
    pub(crate) fn execute(&self, device: &Arc<Device>, batch: &mut Batch, sink: &mut Sink<'_>) {
        let Batch { actions, deferred, free_lists } = batch;
        for action in actions.drain(..) {
            self.act(device, action, sink, free_lists);
        }
        for deferred in deferred.drain(..) {
            self.act_on_deferred(device, deferred);
        }
    }

    fn act_on_deferred(&self, device: &Device, deferred: Deferred) {
        match deferred {
            Deferred::AnswerOpen(opened) => self.end_open(*opened),
            Deferred::RefuseOpen { unique, client, error } => {
                self.refuse_open(unique, &client, error);
            }
            Deferred::CloseBuffer(client) => client.buffer.close(&self.fuse),
            Deferred::WritePages { file, answers } => {
                self.run_in_pool(file.payer(), move |shared| {
                    // A client that cannot be written to has no such pages any more.
                    let _ = file.write_private_pages(&shared.fuse);
                    for action in answers {
                        let Action::Answer { call, answer } = action else { continue };
                        shared.answer_call(&call, answer);
                    }
                });
            }
            Deferred::RefuseCall { unique, error } => self.refuse_call(unique, error),
            Deferred::Interrupt { unique, target, from } => self.interrupt(unique, target, from),
            Deferred::AnswerTrapped(waiting, answer) => waiting.answer(answer),
            Deferred::AnswerLane { unique, answer } => self.answer_lane(unique, answer),
            Deferred::EndRingIfDone(ring) => self.end_ring_if_done(&ring),
            Deferred::EndRingWait(unique) => self.end_wait(unique),
            Deferred::KeepToBudget => self.keep_to_budget_but(device.id),
        }
    }

    fn act(
        &self,
        device: &Arc<Device>,
        action: DeviceAction,
        sink: &mut Sink<'_>,
        free_lists: &mut FreeLists,
    ) {
        match action {
            Action::Answer { call, answer } => {
                self.answer_call(&call, answer);
                free_lists.keep_call(call);
            }
            Action::AnswerPoll { unique, is_readable: Ok(is_readable) } => {
                answer_poll(&self.fuse, unique, is_readable);
            }
            Action::AnswerPoll { unique, is_readable: Err(error) } => {
                send(&self.fuse, &reply::error(unique, error.number()));
            }
            Action::AnswerFlush { unique } => send(&self.fuse, &reply::empty(unique)),
            Action::Access { file, access } => {
                if let Some(call) = &access.last_of {
                    let data = call.ioctl_data();
                    self.detached_calls.begin(&file, &access.request, data, Cancelled::CopyOut);
                }
                sink(IoRequest::Access(file, access));
            }
            Action::Locate { file, receiver, caller, request, commands } => {
                let payer = caller.payer_of(&request);
                self.locate(payer, WantedMapping { file, receiver, request, commands });
            }
            Action::FdWork { file, request, call, work, returns } => {
                if let Some(id) = RingCallId::of_unique(request.unique) {
                    let moved = MovedFdWork { request: *request, call: *call, work };
                    return self.move_out_of_ring(id, moved, &returns);
                }
                self.begin_fd_work(file, *request, *call, work, sink);
            }
            Action::LookAtMode { file, process, unique } => {
                self.look_at_mode(&file, process, unique, sink);
            }
            Action::Cancel { file, unique, tid, what } => {
                self.cancel(&file, unique, tid, what, sink);
            }
            Action::Prune { file, event } => self.prune(&file, event, sink),
            Action::ForgetThread { file, tid } => file.forget_thread(tid),
            Action::Freeze { request, info } => {
                let device = device.clone();
                self.freezer.tell(FreezerEvent::Freeze { device, request: *request, info });
            }
            Action::FrozenInfo { request, info } => {
                let device = device.clone();
                self.freezer.tell(FreezerEvent::FrozenInfo { device, request: *request, info });
            }
            Action::CancelFreeze { unique } => {
                let device = device.clone();
                self.freezer.tell(FreezerEvent::Interrupt { device, unique });
            }
            Action::Settled(_) => self.freezer.tell(FreezerEvent::Settled),
            Action::NotifyPoll { handle } => send(&self.fuse, &notify::poll(handle)),
            Action::SetPriority { pid, tid, priority, change } => {
                self.priorities.change(pid, tid, priority, change);
            }
            Action::Warn(excess) => {
                if self.limit_warnings.is_due() {
                    tracing::warn!(device = device.name, "{excess}");
                } else {
                    tracing::debug!(device = device.name, "{excess}");
                }
            }
            Action::Report(report) => self.events().note(&device.name, &report),
        }
    }

    /// Answers an ioctl that comes to no front end.
    pub(crate) fn refuse_ioctl(&self, unique: u64, error: Errno) {
        self.answer(unique, Answer::Failed(error), &[]);
    }

    /// Answers a request of whatever kind that ends with an error.
    pub(crate) fn refuse_call(&self, unique: u64, error: Errno) {
        match RingCallId::of_unique(unique) {
            Some(_) => self.refuse_ioctl(unique, error),
            None => send(&self.fuse, &reply::error(unique, error.number())),
        }
    }

    /// Answers an ioctl whose call is over.
    pub(crate) fn answer_call(&self, call: &Call, answer: Answer) {
        let (data, returns) = (call.data(), call.returns());
        self.answer_telling(call.unique(), answer, data, returns, call.standing());
    }

    /// Answers an ioctl that brings no returns.
    pub(crate) fn answer(&self, unique: u64, answer: Answer, data: &[u8]) {
        self.answer_telling(unique, answer, data, &[], Standing::default());
    }

    fn answer_telling(
        &self,
        unique: u64,
        answer: Answer,
        data: &[u8],
        returns: &[u8],
        standing: Standing,
    ) {
        if let Some(id) = RingCallId::of_unique(unique) {
            return self.answer_in_ring(id, answer, data, returns, standing);
        }
        let result = match answer {
            Answer::Done => 0,
            Answer::Failed(error) => -error.number(),
            Answer::Interrupted => injection::REPEAT,
            Answer::Restart => -ERESTARTSYS,
        };
        send(&self.fuse, &reply::ioctl(unique, result, data));
    }

    fn begin_fd_work(
        &self,
        file: Arc<ClientFile>,
        request: RequestContext,
        call: BinderWriteRead,
        work: Box<FdWork>,
        sink: &mut Sink<'_>,
    ) {
        let can_add_fds = file.can_add_fds(request.tid);
        let (waits_in, purpose) = (WaitsIn::Request, FdTaskKind::FdWork(work));
        let task = FdTask { file, request, call, waits_in, purpose, can_add_fds };
        if seccomp_add_fd::is_fit(&task) {
            sink(IoRequest::AddFd(Box::new(task)));
        } else {
            self.run_fd_task(task);
        }
    }

    /// Has a thread of the pool look where a process has its receive buffer mapped: it reads all that the
    /// process has mapped, and that may be much.
    fn locate(&self, payer: Account, wanted: WantedMapping) {
        self.run_in_pool(payer, move |shared| {
            let WantedMapping { file, receiver, request, commands } = wanted;
            let found = file.locate_mapping().unwrap_or_else(|error| {
                tracing::warn!(%error, pid = file.pid, "a mapping could not be looked for");
                None
            });
            let caller = request.caller();
            let work: DeviceWork = Box::new(move |state| {
                let area = found.map(|(pinned, area)| {
                    state.clients.set_place(receiver, pinned, area.base);
                    area
                });
                let memory = &mut state.clients;
                state.frontend.located(*request, commands, receiver, area, memory);
            });
            shared.submit(&file.device, Job::WorkFor(caller, work));
        });
    }

    /// Looks whether a file is still non-blocking, at the one descriptor where it was last seen. If it is not
    /// there, it takes a look at all that the process has open to tell: a thread of the pool looks, and ends
    /// the sleep that begins meanwhile if it has to.
    fn look_at_mode(
        &self,
        file: &Arc<ClientFile>,
        process: ProcessKey,
        unique: u64,
        sink: &mut Sink<'_>,
    ) {
        let mut mode = file.mode();
        let is_nonblocking = mode.look(file.pid, file.id);
        let must_search = is_nonblocking.is_none() && mode.begin_search();
        drop(mode);
        if must_search {
            let file = file.clone();
            self.run_in_pool(file.payer(), move |shared| {
                let found = proc_files::open_files(file.pid, [file.id]).unwrap_or_default();
                shared.note_mode(&file, process, found.get(&file.id).copied());
            });
        }
        let seen = Event::ModeSeen { unique, is_nonblocking };
        self.submit_to(&file.device, Job::Event(seen), sink);
    }

    /// Notes how a process was found to have its file open.
    pub(crate) fn note_mode(
        &self,
        file: &ClientFile,
        process: ProcessKey,
        found: Option<proc_files::OpenFile>,
    ) {
        let mut mode = file.mode();
        mode.note(found);
        let is_nonblocking = mode.is_nonblocking();
        drop(mode);
        let work: DeviceWork =
            Box::new(move |state| state.frontend.set_nonblocking(process, is_nonblocking));
        self.submit(&file.device, Job::Work(work));
    }

    fn cancel(
        &self,
        file: &ClientFile,
        unique: u64,
        tid: u32,
        what: Cancelled,
        sink: &mut Sink<'_>,
    ) {
        match what {
            Cancelled::FdWork => {
                if is_killed(tid) {
                    self.pool.end_as_killed(unique);
                }
            }
            Cancelled::Fetch | Cancelled::CopyOut => {
                if file.cancel(unique, tid, what) {
                    self.submit_to(&file.device, Job::Event(Event::Cancelled { unique }), sink);
                }
            }
        }
    }

    /// Ends the threads of a process that are gone, and has the event happen again.
    fn prune(&self, file: &Arc<ClientFile>, event: Event, sink: &mut Sink<'_>) {
        if let Some((process, _)) = event.caller() {
            self.end_ended_threads(file, process);
        }
        self.submit_to(&file.device, Job::Event(event), sink);
    }

    /// Ends the threads of a process that are gone, unless they were looked for a moment ago.
    pub(crate) fn end_ended_threads(&self, file: &Arc<ClientFile>, process: ProcessKey) {
        for tid in file.ended_threads() {
            self.end_thread(file, process, tid);
        }
    }

    /// Ends a thread if it has ended, and its number is not another's.
    pub(crate) fn end_thread(&self, file: &Arc<ClientFile>, process: ProcessKey, tid: u32) {
        self.retract_expected_call(tid);
        let kept = file.clone();
        // With the device's lock, so that no call of a thread that has its number comes between.
        let work: DeviceWork = Box::new(move |state| {
            if kept.take_ended(tid) {
                state.end_thread_in_ring(&kept, tid);
                state.frontend.end_thread(process, tid, &mut state.clients);
            }
        });
        self.submit(&file.device, Job::Work(work));
    }

    /// Takes a thread back that is expected at the supervisor, and has ended or makes another call instead.
    pub(crate) fn retract_expected_call(&self, tid: u32) {
        if let Some(expected) = self.expected.forget(tid) {
            self.retract(expected);
        }
    }

    /// The next read of its process takes up the descriptor work: a signal has come between, and the ioctl was interrupted.
    fn retract(&self, expected: ExpectedCall) {
        let ExpectedCall { file, request, work: key, files, .. } = expected;
        let work: DeviceWork = Box::new(move |state| {
            let install = files.into_iter().map(CapturedFile::new).collect();
            let work = FdWork { key, install, close: Vec::new() };
            state.frontend.retract_fd_work(request.unique, work);
        });
        self.submit(&file.device, Job::Work(work));
    }
}
