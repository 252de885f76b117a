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
    CapturedFile, CopyFault, Errand, ErrandKey, Errno, HandOver, NotInstalled, Outcome,
};
use binder_os::injection::{self, Answered, Held, InjectionError, InstallError, Offer};
use binder_os::{ClientMemory, ThreadStatus, seccomp};
use binder_uapi::BinderWriteRead;
use fuse_wire::reply;

use crate::brokers::LendError;
use crate::calls::{Call, CallState};
use crate::client::{Lent, Spare};
use crate::diversion::{self, Begun, Divertible};
use crate::driver::{Asker, Device, DeviceId, Driver, Job};
use crate::files::HeldFile;
use crate::ioctl::Answer;
use crate::reach::{self, Left};
use crate::session::Shared;
use crate::supervisor::Waiting;
use crate::supply::Payer;
use crate::wire::send;

/// How often a client that cannot be reached is worth a warning.
pub(crate) const WARNING_INTERVAL: Duration = Duration::from_secs(1);

/// A call that waits for an errand.
pub(crate) struct Task {
    pub(crate) asker: Asker,
    /// Whose thread it is.
    pub(crate) client: Payer,
    /// The client's memory, as the thread has it, and where it is kept for the next time.
    pub(crate) lent: Lent,
    pub(crate) home: Arc<Spare>,
    pub(crate) request: BinderWriteRead,
    pub(crate) seat: Seat,
    pub(crate) purpose: Purpose,
    pub(crate) divertible: Divertible,
}

/// Who goes on with the call of a thread that waits for us.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Worker {
    /// The reader, who sees to all that comes of it before the next request.
    Reader,
    Runner,
}

/// Where the thread waits for us.
pub(crate) enum Seat {
    /// In its ioctl, a request.
    Request,
    /// In a call that the supervisor holds, in the ioctl's place.
    Trapped(Waiting),
}

impl Seat {
    pub(crate) fn is_request(&self) -> bool {
        matches!(self, Self::Request)
    }
}

/// What a thread is stopped for.
pub(crate) enum Purpose {
    Errand(Box<Errand>),
    /// To close what was installed of an errand that could not be done.
    Undo(Box<Errand>, NotInstalled),
    /// To make its ioctl again.
    Repeat,
}

/// An errand that was done, or not.
pub(crate) struct Report {
    asker: Asker,
    request: BinderWriteRead,
    done: Done,
    standing: Standing,
    /// What was found out about the thread.
    divertible: Option<Divertible>,
}

impl Report {
    pub(crate) fn asker(&self) -> &Asker {
        &self.asker
    }
}

/// What was done.
pub(crate) enum Done {
    Errand(ErrandKey, Result<Vec<u32>, NotInstalled>),
    /// Returns were written to the memory of a thread on its way out, or could not be.
    Written(HandOver, Result<(), CopyFault>),
}

/// Where the client's thread is.
pub(crate) enum Standing {
    /// In its ioctl, which waits for its answer.
    Waiting,
    /// On its way out, stopped, or in a call that the supervisor holds; whoever has it there is told
    /// how it goes on.
    Stopped(SyncSender<Next>),
    /// It was killed.
    Gone,
}

/// How a stopped thread goes on.
pub(crate) enum Next {
    Return(i32, BinderWriteRead),
    HandOver(BinderWriteRead, HandOver),
    Errand(BinderWriteRead, Box<Errand>),
    /// With the same ioctl, from its beginning.
    Repeat,
}

/// Does an errand: the work of a runner.
pub(crate) fn run(shared: &Arc<Shared>, task: Task) {
    let Begun::Left(task) = diversion::begin(shared, task, || {}) else { return };
    let Task { asker, mut lent, mut request, seat, mut purpose, divertible, .. } = task;
    let mut seat = Some(seat);
    let stopped =
        ThreadStatus::of(asker.tid).map_err(|_| InjectionError::Gone).and_then(|status| {
            let held = Held::stop(asker.tid, &status, shared.supervision.client_filters(), || {
                let seat = seat.take().unwrap_or(Seat::Request);
                let_go(shared, &asker, &request, seat)
            })?;
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
        Divertible::Unknown => find_out(shared, &asker, &status, &mut held),
        known => known,
    };
    let mut files: Vec<HeldFile> = Vec::new();
    loop {
        let (errand, undone) = match purpose {
            Purpose::Errand(errand) => (errand, None),
            Purpose::Undo(errand, why) => (errand, Some(why)),
            Purpose::Repeat => break,
        };
        let Errand { key, install, close } = *errand;
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
        let mut done = Done::Errand(key, installed);
        let next = loop {
            match report(shared, Worker::Runner, &asker, request, done, Some(divertible)) {
                Some(Next::HandOver(next_request, hand_over)) => {
                    request = next_request;
                    let written = reach::write(&mut lent.way.memory, &hand_over);
                    done = Done::Written(hand_over, written);
                }
                next => break next,
            }
        };
        match next {
            Some(Next::Return(result, request)) => {
                held.finish(write_struct(&mut lent.way.memory, &asker, &request, result));
                break;
            }
            Some(Next::Errand(next_request, next)) => {
                (request, purpose) = (next_request, Purpose::Errand(next));
            }
            // Without another result it makes its ioctl again.
            Some(Next::Repeat | Next::HandOver(..)) | None => {
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
    shared: &Shared,
    worker: Worker,
    asker: &Asker,
    request: BinderWriteRead,
    done: Done,
    divertible: Option<Divertible>,
) -> Option<Next> {
    // Room for the one answer: more would be made for each errand.
    let (tell, told) = mpsc::sync_channel(1);
    let standing = Standing::Stopped(tell);
    let report = Report { asker: *asker, request, done, standing, divertible };
    let job = Job::EndErrand(Box::new(report));
    match worker {
        Worker::Reader => shared.take_turn(job),
        Worker::Runner => shared.submit(job),
    }
    told.recv().ok()
}

/// Reports an errand that could not be done.
pub(crate) fn report_undone(
    shared: &Shared,
    asker: Asker,
    request: BinderWriteRead,
    (errand, installed): (ErrandKey, Result<Vec<u32>, NotInstalled>),
    standing: Standing,
) {
    let done = Done::Errand(errand, installed);
    let report = Report { asker, request, done, standing, divertible: None };
    shared.submit(Job::EndErrand(Box::new(report)));
}

/// Writes the struct of an ioctl that ends with `result` to its caller, who waits for us. Returns how it
/// does end.
pub(crate) fn write_struct(
    memory: &mut ClientMemory,
    asker: &Asker,
    request: &BinderWriteRead,
    result: i32,
) -> i32 {
    match memory.write(asker.argument, Answer::of(request).bytes()) {
        Ok(()) => result,
        Err(_) => -Errno::EFAULT.number(),
    }
}

/// Lets a thread go on to where it stops.
fn let_go(shared: &Shared, asker: &Asker, request: &BinderWriteRead, seat: Seat) -> Answered {
    match seat {
        Seat::Request => {
            let bytes = Answer::of(request);
            send(&shared.fuse, &reply::ioctl(asker.unique, injection::REPEAT, bytes.bytes()));
            Answered::Itself
        }
        Seat::Trapped(waiting) => {
            waiting.answer(seccomp::Answer::Refuse(Errno::EINTR.number()));
            Answered::Diverted
        }
    }
}

/// Ends the errand of a thread that could not be stopped, and may wait in its `seat` still.
fn give_up(
    shared: &Shared,
    asker: Asker,
    request: BinderWriteRead,
    seat: Option<Seat>,
    purpose: Purpose,
    why: NotInstalled,
) {
    let (errand, why) = match purpose {
        Purpose::Errand(errand) => (errand, why),
        Purpose::Undo(errand, why) => (errand, why),
        // What is left in its seat is interrupted.
        Purpose::Repeat => return drop(seat),
    };
    let standing = match seat {
        Some(Seat::Request) => Standing::Waiting,
        // A debugger has come between: nothing but an interruption is left to tell.
        Some(Seat::Trapped(waiting)) => {
            waiting.answer(seccomp::Answer::Refuse(Errno::EINTR.number()));
            Standing::Gone
        }
        None => Standing::Gone,
    };
    report_undone(shared, asker, request, (errand.key, without_files(&errand, why)), standing);
}

/// Finds out whether the thread can be diverted next time. Its filters are as many as are expected,
/// so it has none of its own; but they may be others: so it is tried.
fn find_out(shared: &Shared, asker: &Asker, status: &ThreadStatus, held: &mut Held) -> Divertible {
    if !shared.supervision.can_divert()
        || asker.is_compat
        || status.filters != shared.supervision.client_filters()
    {
        return Divertible::No;
    }
    shared.diversions.expect_question(asker.tid);
    let is_supervised = held.is_supervised();
    shared.diversions.forget(asker.tid);
    if is_supervised == Ok(true) { Divertible::Yes } else { Divertible::No }
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
    shared: &Shared,
    asker: &Asker,
    status: &ThreadStatus,
    held: &mut Held,
    files: &[HeldFile],
) -> Result<Vec<u32>, Failure> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let loan = shared.brokers.lend(asker.tid, status, files)?;
    Ok(held.install(Offer { pid: loan.pid, numbers: &loan.numbers })?)
}

impl Failure {
    fn cause(&self) -> (i32, &'static str) {
        match self {
            Self::Lend(error) => error.cause(),
            Self::Install(error) => error.cause(),
        }
    }
}

/// What is to be said of an errand that could not be done.
fn without_files(errand: &Errand, why: NotInstalled) -> Result<Vec<u32>, NotInstalled> {
    if errand.install.is_empty() { Ok(Vec::new()) } else { Err(why) }
}

/// Why files were not installed, in the words of the core.
fn not_installed((errno, reason): (i32, &'static str)) -> NotInstalled {
    NotInstalled { errno, reason }
}

/// The same of a thread that has ended.
pub(crate) fn gone() -> NotInstalled {
    not_installed(InjectionError::Gone.cause())
}

fn warn(shared: &Shared, asker: &Asker, error: &dyn Display) {
    if shared.warnings.is_due() {
        tracing::warn!(tid = asker.tid, %error, "a client's descriptors could not be changed");
    }
}

impl Driver {
    /// Hands an errand to the runners. A signal does not end the call meanwhile, but is remembered.
    pub(crate) fn send_on_errand(&mut self, mut call: Call, errand: Box<Errand>) {
        let asker = call.asker;
        let Device { clients, calls, .. } = &mut self.devices[asker.device];
        let Some(client) = clients.get_mut(asker.process) else {
            return self.end_call(&call, Err(Errno::EINVAL));
        };
        let task = Task {
            asker,
            client: Payer { pid: client.pid, uid: asker.uid },
            lent: client.lend_memory(asker.tid),
            home: client.spare(),
            request: call.request,
            seat: Seat::Request,
            purpose: Purpose::Errand(errand),
            divertible: client.divertible(asker.tid),
        };
        call.state = CallState::ChangingFiles;
        calls.insert(call);
        if diversion::is_fit(&task) {
            self.left.push(Left::Divert(Box::new(task)));
        } else {
            self.runners.run_errand(task);
        }
    }

    /// Ends the call behind request `target` if its thread was killed and nobody has begun its errand. The
    /// thread cannot end before, nor can its process, for which those may wait who were to begin it.
    pub(crate) fn end_errand_of_killed(&mut self, device: DeviceId, target: u64) {
        let Some(task) = self.runners.take_errand_of_killed(target) else { return };
        let Task { asker, request, purpose, .. } = task;
        match purpose {
            Purpose::Errand(errand) | Purpose::Undo(errand, _) => {
                let done = Done::Errand(errand.key, without_files(&errand, gone()));
                let standing = Standing::Gone;
                self.end_errand(Report { asker, request, done, standing, divertible: None });
            }
            Purpose::Repeat => {
                self.devices[device].calls.take(target);
            }
        }
        self.end_call(&Call::new(asker, request), Err(Errno::EINTR));
    }

    /// Takes a diversion back whose thread has ended, or makes another call instead: a signal came
    /// between, and the ioctl was interrupted. The next read takes up the errand.
    pub(crate) fn retract_diversion(&mut self, tid: u32) {
        if let Some(diverted) = self.diversions.forget(tid) {
            let state = &mut self.devices[diverted.asker.device];
            state.calls.take(diverted.asker.unique);
            let files = diverted.files.into_iter().map(CapturedFile::new).collect();
            state.context.retract_errand(diverted.errand, files);
        }
    }

    /// Goes on with a call whose errand was done, or could not be.
    pub(crate) fn end_errand(&mut self, report: Report) {
        let Report { asker, request, done, standing, divertible } = report;
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
            Done::Errand(errand, installed) => {
                context.finish_errand(errand, installed, &call.request, clients)
            }
            Done::Written(hand_over, written) => {
                context.finish_hand_over(hand_over, written, &mut call.request, clients)
            }
        };
        match standing {
            Standing::Waiting => self.go_on_after(call, outcome),
            Standing::Stopped(tell) => {
                let next = self.next_of_stopped(call, outcome);
                // Somebody waits for it, unless he met a bug; then the thread repeats its ioctl.
                let _ = tell.send(next);
            }
            Standing::Gone => match outcome {
                Ok(Outcome::Park(thread)) => {
                    context.interrupt(thread);
                }
                // What it was to close goes with it.
                Ok(Outcome::HandOver(hand_over)) => {
                    let unwritten = Err(CopyFault);
                    let _ =
                        context.finish_hand_over(hand_over, unwritten, &mut call.request, clients);
                }
                Ok(Outcome::Done | Outcome::Fetch | Outcome::Yield(_) | Outcome::Errand(_))
                | Err(_) => {}
            },
        }
        self.carry_out_effects(asker.device);
        self.note_reports(asker.device);
    }

    fn next_of_stopped(&mut self, mut call: Call, outcome: Result<Outcome, Errno>) -> Next {
        let Device { context, calls, .. } = &mut self.devices[call.asker.device];
        let request = call.request;
        call.state = CallState::ChangingFiles;
        let result = match outcome {
            // It sleeps as every read does: in an ioctl of its own.
            Ok(Outcome::Park(thread)) => {
                context.interrupt(thread);
                return Next::Repeat;
            }
            Ok(Outcome::Errand(errand)) => {
                calls.insert(call);
                return Next::Errand(request, errand);
            }
            Ok(Outcome::HandOver(hand_over)) => {
                calls.insert(call);
                return Next::HandOver(request, hand_over);
            }
            Ok(Outcome::Done) => 0,
            // Only the beginning of a call has commands.
            Ok(Outcome::Fetch | Outcome::Yield(_)) => -Errno::EINVAL.number(),
            Err(error) => -error.number(),
        };
        Next::Return(result, request)
    }
}
