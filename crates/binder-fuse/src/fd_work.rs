//! What the core wants done within a client: files installed, descriptors closed.
//!
//! A pool thread does it. It stops the client's thread on its way out of the ioctl, which is answered with
//! the wish to be repeated: that is what the kernel does if we should fail from there on. With the
//! numbers of the files the core completes the read while the thread is still stopped, and then the
//! thread goes on with the result. The driver is free in between.

use std::fmt::Display;
use std::sync::mpsc;
use std::time::Duration;

use binder_core::{Errno, FdWork, NotInstalled, SuspendedCallKey};
use binder_frontend::{CallerState, FdWorkResult, IoctlData, NextStep, RequestContext};
use binder_os::injection::{
    self, Answered, InjectionError, InstallError, RemoteFiles, StoppedThread,
};
use binder_os::{ClientMemory, ThreadStatus, seccomp};
use binder_uapi::BinderWriteRead;
use fuse_wire::reply;

use crate::brokers::LendError;
use crate::client_file::CanAddFds;
use crate::device::{DeviceWork, Job};
use crate::fd_task::{FdTask, FdTaskKind, WaitingCall, WaitsIn, Worker, held_files};
use crate::files::HeldFile;
use crate::memory_op;
use crate::shared::SessionShared;
use crate::wire::send;

/// How often a client that cannot be reached is worth a warning.
pub(crate) const WARNING_INTERVAL: Duration = Duration::from_secs(1);

/// Ends a call whose thread was killed before its descriptor work was begun. The thread cannot end
/// before, nor can its process, for which those may wait who were to begin it.
pub(crate) fn end_as_killed(shared: &SessionShared, task: FdTask) {
    let FdTask { file, request, call, purpose, .. } = task;
    let work: DeviceWork = Box::new(move |state| {
        let undone = match purpose {
            FdTaskKind::FdWork(work) | FdTaskKind::Undo(work, _) => Some(work),
            FdTaskKind::Repeat => None,
        };
        state.frontend.end_fd_work_of_killed(request, call, undone);
    });
    shared.submit(&file.device, Job::Work(work));
}

/// Does descriptor work, on a pool thread.
pub(crate) fn run(shared: &SessionShared, task: FdTask) {
    let FdTask { file, request, mut call, waits_in, mut purpose, can_add_fds } = task;
    let mut waits_in = Some(waits_in);
    let stopped =
        ThreadStatus::of(request.tid).map_err(|_| InjectionError::Gone).and_then(|status| {
            let held = StoppedThread::stop(
                request.tid,
                &status,
                shared.supervision.client_filters(),
                || {
                    let waits_in = waits_in.take().unwrap_or(WaitsIn::Request);
                    let_go(shared, &request, &call, waits_in)
                },
            )?;
            Ok((status, held))
        });
    let (status, mut held) = match stopped {
        Ok(stopped) => stopped,
        Err(error) => {
            match error {
                // It may be killed at any time.
                InjectionError::Gone => tracing::debug!(tid = request.tid, %error),
                error => warn(shared, &request, &error),
            }
            let why = not_installed(error.cause());
            return give_up(
                shared,
                &WaitingCall { file: &file, request, call },
                waits_in,
                purpose,
                why,
            );
        }
    };
    if can_add_fds == CanAddFds::Unknown {
        file.note_can_add_fds(request.tid, find_out(shared, &request, &status, &mut held));
    }
    let mut handle = file.lend_memory(request.unique, request.tid);
    let mut files: Vec<HeldFile> = Vec::new();
    loop {
        let (fd_work, undone) = match purpose {
            FdTaskKind::FdWork(fd_work) => (fd_work, None),
            FdTaskKind::Undo(fd_work, why) => (fd_work, Some(why)),
            FdTaskKind::Repeat => break,
        };
        let FdWork { key, install, close } = *fd_work;
        for number in close {
            if let Err(error) = held.close(number) {
                warn(shared, &request, &error);
                break;
            }
        }
        let first = files.len();
        files.extend(held_files(install));
        let installed = put(shared, &request, &status, &mut held, &files[first..]);
        let mut installed = installed.map_err(|failure| {
            match failure {
                // The kernel's driver finds nothing strange in it either.
                FdFailure::Lend(LendError::Gone)
                | FdFailure::Install(
                    InstallError::NoRoom | InstallError::Injection(InjectionError::Gone),
                ) => tracing::debug!(tid = request.tid, %failure, "files were not delivered"),
                FdFailure::Lend(_) | FdFailure::Install(_) => warn(shared, &request, &failure),
            }
            not_installed(failure.cause())
        });
        if let Some(why) = undone {
            installed = Err(why);
        }
        let mut done = FdWorkResult::FdWork(key, installed);
        let next = loop {
            match report(shared, Worker::Pool, &WaitingCall { file: &file, request, call }, done) {
                Some(NextStep::CopyOut(next_call, copy_out)) => {
                    call = next_call;
                    let memory = &mut handle.memory;
                    let written = memory_op::write(&shared.fuse, &file, memory, &copy_out);
                    done = FdWorkResult::Written(copy_out, written);
                }
                next => break next,
            }
        };
        match next {
            Some(NextStep::Return(result, call)) => {
                held.finish(write_struct(&mut handle.memory, &request, &call, result));
                break;
            }
            Some(NextStep::FdWork(next_call, next)) => {
                (call, purpose) = (next_call, FdTaskKind::FdWork(next));
            }
            // Without another result it makes its ioctl again.
            Some(NextStep::Repeat | NextStep::CopyOut(..)) | None => {
                drop(held);
                break;
            }
        }
    }
    file.take_back_memory(request.unique, handle);
    // Only now, when the client's thread has gone on.
    for file in files {
        file.close();
    }
}

/// Has the front end go on with the call of a thread that waits for us. Says how the thread goes on; nothing
/// if it met a bug.
pub(crate) fn report(
    shared: &SessionShared,
    worker: Worker,
    held: &WaitingCall<'_>,
    done: FdWorkResult,
) -> Option<NextStep> {
    let WaitingCall { file, request, call } = *held;
    // For the one answer: an unbounded channel would allocate slots for more with each descriptor work.
    let (tell, told) = mpsc::sync_channel(1);
    let job = finish(request, call, done, CallerState::Stopped, move |next| {
        // `report` waits for it, unless that met a bug; then the client's thread repeats its ioctl.
        let _ = next.map(|next| tell.send(next));
    });
    match worker {
        Worker::Reader => shared.submit_in_line(&file.device, job),
        Worker::Pool => shared.submit(&file.device, job),
    }
    told.recv().ok()
}

/// Reports descriptor work that could not be done.
pub(crate) fn report_undone(
    shared: &SessionShared,
    held: &WaitingCall<'_>,
    (work, installed): (SuspendedCallKey, Result<Vec<u32>, NotInstalled>),
    caller: CallerState,
) {
    let WaitingCall { file, request, call } = *held;
    let done = FdWorkResult::FdWork(work, installed);
    shared.submit(&file.device, finish(request, call, done, caller, |_| ()));
}

fn finish(
    request: RequestContext,
    call: BinderWriteRead,
    done: FdWorkResult,
    caller: CallerState,
    then: impl FnOnce(Option<NextStep>) + Send + 'static,
) -> Job {
    let work: DeviceWork = Box::new(move |state| {
        let memory = &mut state.clients;
        then(state.frontend.finish_fd_work(request, call, done, caller, memory));
    });
    Job::WorkFor(request.caller(), work)
}

/// Writes the struct of an ioctl that ends with `result` to its caller, which waits for us. Returns how it
/// does end.
pub(crate) fn write_struct(
    memory: &mut ClientMemory,
    request: &RequestContext,
    call: &BinderWriteRead,
    result: i32,
) -> i32 {
    match memory.write(request.argument, IoctlData::of(call).bytes()) {
        Ok(()) => result,
        Err(_) => -Errno::EFAULT.number(),
    }
}

/// Lets a thread go on to where it stops.
fn let_go(
    shared: &SessionShared,
    request: &RequestContext,
    call: &BinderWriteRead,
    waits_in: WaitsIn,
) -> Answered {
    match waits_in {
        WaitsIn::Request => {
            let bytes = IoctlData::of(call);
            send(&shared.fuse, &reply::ioctl(request.unique, injection::REPEAT, bytes.bytes()));
            Answered::Itself
        }
        WaitsIn::Trapped(unanswered) => {
            unanswered.answer(seccomp::TrapAnswer::Refuse(injection::DIVERTED));
            Answered::Diverted
        }
    }
}

/// Ends the descriptor work of a thread that could not be stopped, and may still be where it `waits_in`.
fn give_up(
    shared: &SessionShared,
    held: &WaitingCall<'_>,
    waits_in: Option<WaitsIn>,
    purpose: FdTaskKind,
    why: NotInstalled,
) {
    let done = match purpose {
        FdTaskKind::FdWork(fd_work) => (fd_work.key, without_files(&fd_work, why)),
        // Some of its files were installed, and are in the work no more.
        FdTaskKind::Undo(fd_work, why) => (fd_work.key, Err(why)),
        // A call that waits still is interrupted.
        FdTaskKind::Repeat => return drop(waits_in),
    };
    let caller = match waits_in {
        Some(WaitsIn::Request) => CallerState::Waiting,
        // A debugger has come between: nothing but an interruption is left to tell.
        Some(WaitsIn::Trapped(unanswered)) => {
            unanswered.answer(seccomp::TrapAnswer::Refuse(Errno::EINTR.number()));
            CallerState::Gone
        }
        None => CallerState::Gone,
    };
    report_undone(shared, held, done, caller);
}

/// Finds out whether the thread can be sent to the supervisor next time. Its filters are as many as are
/// expected, so it has none of its own; but they may be others: so it is tried.
fn find_out(
    shared: &SessionShared,
    request: &RequestContext,
    status: &ThreadStatus,
    held: &mut StoppedThread,
) -> CanAddFds {
    if !shared.supervision.can_add_fds()
        || request.is_compat
        || status.filters != shared.supervision.client_filters()
    {
        return CanAddFds::No;
    }
    if is_supervised(shared, request.tid, held) { CanAddFds::Yes } else { CanAddFds::No }
}

/// Whether the supervisor traps calls of a thread that has no filter which might end it for the question.
pub(crate) fn is_supervised(shared: &SessionShared, tid: u32, held: &mut StoppedThread) -> bool {
    shared.expected.expect_question(tid);
    let is_supervised = held.is_supervised();
    shared.expected.forget(tid);
    is_supervised == Ok(true)
}

/// Why files were not installed.
#[derive(Debug, thiserror::Error)]
enum FdFailure {
    #[error("lending the files: {0}")]
    Lend(#[from] LendError),
    #[error(transparent)]
    Install(#[from] InstallError),
}

fn put(
    shared: &SessionShared,
    request: &RequestContext,
    status: &ThreadStatus,
    held: &mut StoppedThread,
    files: &[HeldFile],
) -> Result<Vec<u32>, FdFailure> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let loan = shared.brokers.lend(request.tid, status, files)?;
    Ok(held.install(RemoteFiles { pid: loan.pid, numbers: &loan.numbers })?)
}

impl FdFailure {
    fn cause(&self) -> (i32, &'static str) {
        match self {
            Self::Lend(error) => error.cause(),
            Self::Install(error) => error.cause(),
        }
    }
}

/// What was installed of descriptor work that could not be done.
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

/// Warns of descriptor work that could not be done, now and then.
fn warn(shared: &SessionShared, request: &RequestContext, error: &dyn Display) {
    if shared.warnings.is_due() {
        tracing::warn!(tid = request.tid, %error, "a client's descriptors could not be changed");
    }
}
