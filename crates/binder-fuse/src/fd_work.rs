//! What the core wants done within a client: files installed, descriptors closed.
//!
//! A runner does it. It stops the client's thread on its way out of the ioctl, which is answered with
//! the wish to be repeated: that is what the kernel does if we should fail from there on. With the
//! numbers of the files the core completes the read while the thread is still stopped, and then the
//! thread goes on with the result. The driver is free in between.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::mpsc::{self, SyncSender};
use std::time::Duration;

use binder_core::{
    CapturedFile, CopyFault, CopyOut, Errno, FdWork, NotInstalled, Outcome, SuspendedCallKey,
};
use binder_os::injection::{
    self, Answered, InjectionError, InstallError, LentFiles, StoppedThread,
};
use binder_os::{ClientMemory, ThreadStatus, seccomp};
use binder_uapi::BinderWriteRead;
use fuse_wire::reply;

use crate::brokers::LendError;
use crate::calls::{Call, CallState};
use crate::client::{LentMemory, MemoryCache};
use crate::driver::{Device, DeviceId, Driver, Job, RequestContext};
use crate::files::HeldFile;
use crate::ioctl::IoctlReply;
use crate::memory_op::{self, IoRequest};
use crate::quota::Account;
use crate::seccomp_add_fd::{self, AddFdStart, CanAddFds};
use crate::session::SessionShared;
use crate::supervisor::Waiting;
use crate::wire::send;

/// How often a client that cannot be reached is worth a warning.
pub(crate) const WARNING_INTERVAL: Duration = Duration::from_secs(1);

/// A call that waits for descriptor work.
pub(crate) struct FdTask {
    pub(crate) asker: RequestContext,
    /// Whose thread it is.
    pub(crate) client: Account,
    /// The client's memory, as the thread has it, and where it is kept for the next time.
    pub(crate) lent: LentMemory,
    pub(crate) home: Arc<MemoryCache>,
    pub(crate) request: BinderWriteRead,
    pub(crate) seat: WaitsIn,
    pub(crate) purpose: FdTaskKind,
    pub(crate) divertible: CanAddFds,
}

/// Who goes on with the call of a thread that waits for us.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Worker {
    /// The reader, who sees to all that comes of it before the next request.
    Reader,
    Runner,
}

/// Where the thread waits for us.
pub(crate) enum WaitsIn {
    /// In its ioctl, a request.
    Request,
    /// In a call that the supervisor holds, in the ioctl's place.
    Trapped(Waiting),
}

impl WaitsIn {
    pub(crate) fn is_request(&self) -> bool {
        matches!(self, Self::Request)
    }
}

/// What a thread is stopped for.
pub(crate) enum FdTaskKind {
    FdWork(Box<FdWork>),
    /// To close what was installed of descriptor work that could not be done.
    Undo(Box<FdWork>, NotInstalled),
    /// To make its ioctl again.
    Repeat,
}

/// descriptor work that was done, or not.
pub(crate) struct FdTaskReport {
    asker: RequestContext,
    request: BinderWriteRead,
    done: FdTaskResult,
    standing: CallerState,
    /// What was found out about the thread.
    divertible: Option<CanAddFds>,
}

impl FdTaskReport {
    pub(crate) fn asker(&self) -> &RequestContext {
        &self.asker
    }
}

/// What was done.
pub(crate) enum FdTaskResult {
    FdWork(SuspendedCallKey, Result<Vec<u32>, NotInstalled>),
    /// Returns were written to the memory of a thread on its way out, or could not be.
    Written(CopyOut, Result<(), CopyFault>),
}

/// Where the client's thread is.
pub(crate) enum CallerState {
    /// In its ioctl, which waits for its answer.
    Waiting,
    /// On its way out, stopped, or in a call that the supervisor holds; whoever has it there is told
    /// how it goes on.
    Stopped(SyncSender<NextStep>),
    /// It was killed.
    Gone,
}

/// How a stopped thread goes on.
pub(crate) enum NextStep {
    Return(i32, BinderWriteRead),
    CopyOut(BinderWriteRead, CopyOut),
    FdWork(BinderWriteRead, Box<FdWork>),
    /// With the same ioctl, from its beginning.
    Repeat,
}

/// Does descriptor work: the work of a runner.
pub(crate) fn run(shared: &Arc<SessionShared>, task: FdTask) {
    let AddFdStart::Left(task) = seccomp_add_fd::begin(shared, task, || {}) else { return };
    let FdTask { asker, mut lent, mut request, seat, mut purpose, divertible, .. } = task;
    let mut seat = Some(seat);
    let stopped =
        ThreadStatus::of(asker.tid).map_err(|_| InjectionError::Gone).and_then(|status| {
            let held = StoppedThread::stop(
                asker.tid,
                &status,
                shared.supervision.client_filters(),
                || {
                    let seat = seat.take().unwrap_or(WaitsIn::Request);
                    let_go(shared, &asker, &request, seat)
                },
            )?;
            Ok((status, held))
        });
    let (status, mut held) = match stopped {
        Ok(stopped) => stopped,
        Err(error) => {
            match error {
                // It may be killed at any time.
                InjectionError::Gone => tracing::debug!(tid = asker.tid, %error),
                error => warn(shared, &asker, &error),
            }
            let why = not_installed(error.cause());
            return give_up(shared, asker, request, seat, purpose, why);
        }
    };
    let divertible = match divertible {
        CanAddFds::Unknown => find_out(shared, &asker, &status, &mut held),
        known => known,
    };
    let mut files: Vec<HeldFile> = Vec::new();
    loop {
        let (fd_work, undone) = match purpose {
            FdTaskKind::FdWork(fd_work) => (fd_work, None),
            FdTaskKind::Undo(fd_work, why) => (fd_work, Some(why)),
            FdTaskKind::Repeat => break,
        };
        let FdWork { key, install, close } = *fd_work;
        let first = files.len();
        files.extend(install.into_iter().filter_map(|file| file.into_inner::<HeldFile>()));
        let installed = put(shared, &asker, &status, &mut held, &files[first..]);
        let mut installed = installed.map_err(|failure| {
            match failure {
                // The kernel's driver finds nothing strange in it either.
                Failure::Install(
                    InstallError::NoRoom | InstallError::Injection(InjectionError::Gone),
                ) => tracing::debug!(tid = asker.tid, %failure, "files were not delivered"),
                Failure::Lend(_) | Failure::Install(_) => warn(shared, &asker, &failure),
            }
            not_installed(failure.cause())
        });
        if let Some(why) = undone {
            installed = Err(why);
        }
        for number in close {
            if let Err(error) = held.close(number) {
                warn(shared, &asker, &error);
                break;
            }
        }
        let mut done = FdTaskResult::FdWork(key, installed);
        let next = loop {
            match report(shared, Worker::Runner, &asker, request, done, Some(divertible)) {
                Some(NextStep::CopyOut(next_request, copy_out)) => {
                    request = next_request;
                    let written = memory_op::write(&mut lent.way.memory, &copy_out);
                    done = FdTaskResult::Written(copy_out, written);
                }
                next => break next,
            }
        };
        match next {
            Some(NextStep::Return(result, request)) => {
                held.finish(write_struct(&mut lent.way.memory, &asker, &request, result));
                break;
            }
            Some(NextStep::FdWork(next_request, next)) => {
                (request, purpose) = (next_request, FdTaskKind::FdWork(next));
            }
            // Without another result it makes its ioctl again.
            Some(NextStep::Repeat | NextStep::CopyOut(..)) | None => {
                drop(held);
                break;
            }
        }
    }
    // Only now, when nobody waits for it.
    for file in files {
        file.close();
    }
}

/// Has the driver go on with the call of a thread that waits for us. Says how the thread goes on; nothing
/// if the driver met a bug.
pub(crate) fn report(
    shared: &SessionShared,
    worker: Worker,
    asker: &RequestContext,
    request: BinderWriteRead,
    done: FdTaskResult,
    divertible: Option<CanAddFds>,
) -> Option<NextStep> {
    // Room for the one answer: more would be made for each descriptor work.
    let (tell, told) = mpsc::sync_channel(1);
    let standing = CallerState::Stopped(tell);
    let report = FdTaskReport { asker: *asker, request, done, standing, divertible };
    let job = Job::EndFdTask(Box::new(report));
    match worker {
        Worker::Reader => shared.take_turn(job),
        Worker::Runner => shared.submit(job),
    }
    told.recv().ok()
}

/// Reports descriptor work that could not be done.
pub(crate) fn report_undone(
    shared: &SessionShared,
    asker: RequestContext,
    request: BinderWriteRead,
    (fd_work, installed): (SuspendedCallKey, Result<Vec<u32>, NotInstalled>),
    standing: CallerState,
) {
    let done = FdTaskResult::FdWork(fd_work, installed);
    let report = FdTaskReport { asker, request, done, standing, divertible: None };
    shared.submit(Job::EndFdTask(Box::new(report)));
}

/// Writes the struct of an ioctl that ends with `result` to its caller, who waits for us. Returns how it
/// does end.
pub(crate) fn write_struct(
    memory: &mut ClientMemory,
    asker: &RequestContext,
    request: &BinderWriteRead,
    result: i32,
) -> i32 {
    match memory.write(asker.argument, IoctlReply::of(request).bytes()) {
        Ok(()) => result,
        Err(_) => -Errno::EFAULT.number(),
    }
}

/// Lets a thread go on to where it stops.
fn let_go(
    shared: &SessionShared,
    asker: &RequestContext,
    request: &BinderWriteRead,
    seat: WaitsIn,
) -> Answered {
    match seat {
        WaitsIn::Request => {
            let bytes = IoctlReply::of(request);
            send(&shared.fuse, &reply::ioctl(asker.unique, injection::REPEAT, bytes.bytes()));
            Answered::Itself
        }
        WaitsIn::Trapped(waiting) => {
            waiting.answer(seccomp::TrapAnswer::Refuse(Errno::EINTR.number()));
            Answered::Diverted
        }
    }
}

/// Ends the descriptor work of a thread that could not be stopped, and may wait in its `seat` still.
fn give_up(
    shared: &SessionShared,
    asker: RequestContext,
    request: BinderWriteRead,
    seat: Option<WaitsIn>,
    purpose: FdTaskKind,
    why: NotInstalled,
) {
    let (fd_work, why) = match purpose {
        FdTaskKind::FdWork(fd_work) => (fd_work, why),
        FdTaskKind::Undo(fd_work, why) => (fd_work, why),
        // What is left in its seat is interrupted.
        FdTaskKind::Repeat => return drop(seat),
    };
    let standing = match seat {
        Some(WaitsIn::Request) => CallerState::Waiting,
        // A debugger has come between: nothing but an interruption is left to tell.
        Some(WaitsIn::Trapped(waiting)) => {
            waiting.answer(seccomp::TrapAnswer::Refuse(Errno::EINTR.number()));
            CallerState::Gone
        }
        None => CallerState::Gone,
    };
    report_undone(shared, asker, request, (fd_work.key, without_files(&fd_work, why)), standing);
}

/// Finds out whether the thread can be diverted next time. Its filters are as many as are expected,
/// so it has none of its own; but they may be others: so it is tried.
fn find_out(
    shared: &SessionShared,
    asker: &RequestContext,
    status: &ThreadStatus,
    held: &mut StoppedThread,
) -> CanAddFds {
    if !shared.supervision.can_divert()
        || asker.is_compat
        || status.filters != shared.supervision.client_filters()
    {
        return CanAddFds::No;
    }
    shared.diversions.expect_question(asker.tid);
    let is_supervised = held.is_supervised();
    shared.diversions.forget(asker.tid);
    if is_supervised == Ok(true) { CanAddFds::Yes } else { CanAddFds::No }
}

/// Why files were not installed.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("lending the files: {0}")]
    Lend(#[from] LendError),
    #[error(transparent)]
    Install(#[from] InstallError),
}

fn put(
    shared: &SessionShared,
    asker: &RequestContext,
    status: &ThreadStatus,
    held: &mut StoppedThread,
    files: &[HeldFile],
) -> Result<Vec<u32>, Failure> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let loan = shared.brokers.lend(asker.tid, status, files)?;
    Ok(held.install(LentFiles { pid: loan.pid, numbers: &loan.numbers })?)
}

impl Failure {
    fn cause(&self) -> (i32, &'static str) {
        match self {
            Self::Lend(error) => error.cause(),
            Self::Install(error) => error.cause(),
        }
    }
}

/// What is to be said of descriptor work that could not be done.
fn without_files(fd_work: &FdWork, why: NotInstalled) -> Result<Vec<u32>, NotInstalled> {
    if fd_work.install.is_empty() { Ok(Vec::new()) } else { Err(why) }
}

/// Why files were not installed, in the words of the core.
fn not_installed((errno, reason): (i32, &'static str)) -> NotInstalled {
    NotInstalled { errno, reason }
}

/// The same of a thread that has ended.
pub(crate) fn gone() -> NotInstalled {
    not_installed(InjectionError::Gone.cause())
}

fn warn(shared: &SessionShared, asker: &RequestContext, error: &dyn Display) {
    if shared.warnings.is_due() {
        tracing::warn!(tid = asker.tid, %error, "a client's descriptors could not be changed");
    }
}

impl Driver {
    /// Hands descriptor work to the runners. A signal does not end the call meanwhile, but is remembered.
    pub(crate) fn begin_fd_task(&mut self, mut call: Call, fd_work: Box<FdWork>) {
        let asker = call.asker;
        let Device { clients, calls, .. } = &mut self.devices[asker.device];
        let Some(client) = clients.get_mut(asker.process) else {
            return self.end_call(&call, Err(Errno::EINVAL));
        };
        let task = FdTask {
            asker,
            client: Account { pid: client.pid, uid: asker.uid },
            lent: client.lend_memory(asker.tid),
            home: client.spare(),
            request: call.request,
            seat: WaitsIn::Request,
            purpose: FdTaskKind::FdWork(fd_work),
            divertible: client.divertible(asker.tid),
        };
        call.state = CallState::ChangingFiles;
        calls.insert(call);
        if seccomp_add_fd::is_fit(&task) {
            self.left.push(IoRequest::Divert(Box::new(task)));
        } else {
            self.runners.run_fd_task(task);
        }
    }

    /// Ends the call behind request `target` if its thread was killed and nobody has begun its descriptor work. The
    /// thread cannot end before, nor can its process, for which those may wait who were to begin it.
    pub(crate) fn end_fd_task_of_killed(&mut self, device: DeviceId, target: u64) {
        let Some(task) = self.runners.take_fd_task_of_killed(target) else { return };
        let FdTask { asker, request, purpose, .. } = task;
        match purpose {
            FdTaskKind::FdWork(fd_work) | FdTaskKind::Undo(fd_work, _) => {
                let done = FdTaskResult::FdWork(fd_work.key, without_files(&fd_work, gone()));
                let standing = CallerState::Gone;
                self.end_fd_task(FdTaskReport { asker, request, done, standing, divertible: None });
            }
            FdTaskKind::Repeat => {
                self.devices[device].calls.take(target);
            }
        }
        self.end_call(&Call::new(asker, request), Err(Errno::EINTR));
    }

    /// Takes a diversion back whose thread has ended, or makes another call instead: a signal came
    /// between, and the ioctl was interrupted. The next read takes up the descriptor work.
    pub(crate) fn retract_expected_call(&mut self, tid: u32) {
        if let Some(diverted) = self.diversions.forget(tid) {
            let state = &mut self.devices[diverted.asker.device];
            state.calls.take(diverted.asker.unique);
            let files = diverted.files.into_iter().map(CapturedFile::new).collect();
            state.context.retract_fd_work(diverted.fd_work, files);
        }
    }

    /// Goes on with a call whose descriptor work was done, or could not be.
    pub(crate) fn end_fd_task(&mut self, report: FdTaskReport) {
        let FdTaskReport { asker, request, done, standing, divertible } = report;
        let Device { context, clients, calls, .. } = &mut self.devices[asker.device];
        let was_interrupted = calls.take(asker.unique).is_some_and(|call| call.was_interrupted);
        let mut call = Call { was_interrupted, ..Call::new(asker, request) };
        if let Some(client) = clients.get_mut(asker.process) {
            client.resume_call(asker.tid);
            if let Some(divertible) = divertible {
                client.note_divertible(asker.tid, divertible);
            }
        }
        let outcome = match done {
            FdTaskResult::FdWork(fd_work, installed) => {
                context.finish_fd_work(fd_work, installed, &call.request, clients)
            }
            FdTaskResult::Written(copy_out, written) => {
                context.finish_copy_out(copy_out, written, &mut call.request, clients)
            }
        };
        match standing {
            CallerState::Waiting => self.go_on_after(call, outcome),
            CallerState::Stopped(tell) => {
                let next = self.next_of_stopped(call, outcome);
                // Somebody waits for it, unless he met a bug; then the thread repeats its ioctl.
                let _ = tell.send(next);
            }
            CallerState::Gone => match outcome {
                Ok(Outcome::Park(thread)) => {
                    context.interrupt(thread);
                }
                // What it was to close goes with it.
                Ok(Outcome::CopyOut(copy_out)) => {
                    let unwritten = Err(CopyFault);
                    let _ =
                        context.finish_copy_out(copy_out, unwritten, &mut call.request, clients);
                }
                Ok(Outcome::Done | Outcome::Fetch | Outcome::Yield(_) | Outcome::FdWork(_))
                | Err(_) => {}
            },
        }
        self.carry_out_effects(asker.device);
        self.note_reports(asker.device);
    }

    fn next_of_stopped(&mut self, mut call: Call, outcome: Result<Outcome, Errno>) -> NextStep {
        let Device { context, calls, .. } = &mut self.devices[call.asker.device];
        let request = call.request;
        call.state = CallState::ChangingFiles;
        let result = match outcome {
            // It sleeps as every read does: in an ioctl of its own.
            Ok(Outcome::Park(thread)) => {
                context.interrupt(thread);
                return NextStep::Repeat;
            }
            Ok(Outcome::FdWork(fd_work)) => {
                calls.insert(call);
                return NextStep::FdWork(request, fd_work);
            }
            Ok(Outcome::CopyOut(copy_out)) => {
                calls.insert(call);
                return NextStep::CopyOut(request, copy_out);
            }
            Ok(Outcome::Done) => 0,
            // Only the beginning of a call has commands.
            Ok(Outcome::Fetch | Outcome::Yield(_)) => -Errno::EINVAL.number(),
            Err(error) => -error.number(),
        };
        NextStep::Return(result, request)
    }
}
