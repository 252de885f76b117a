//! What the core wants done within a client: files installed, descriptors closed.
//!
//! A runner does it. It stops the client's thread on its way out of the ioctl, which is answered with
//! the wish to be repeated: that is what the kernel does if we should fail from there on. With the
//! numbers of the files the core completes the read while the thread is still stopped, and then the
//! thread goes on with the result. The driver is free in between.

use std::fmt::Display;
use std::io;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use binder_core::{CopyFault, Errand, ErrandKey, Errno, HandOver, NotInstalled, Outcome};
use binder_os::injection::{self, Held, InjectionError, InstallError, Offer};
use binder_os::{ClientMemory, ThreadStatus};
use binder_uapi::BinderWriteRead;
use fuse_wire::reply;

use crate::descriptors::Payer;
use crate::driver::{Asker, Device, Driver, Job};
use crate::files::HeldFile;
use crate::ioctl::Answer;
use crate::reach;
use crate::session::Shared;
use crate::wire::send;

/// How often a client that cannot be reached is worth a warning.
const WARNING_INTERVAL: Duration = Duration::from_secs(1);

/// A call that waits for an errand.
pub(crate) struct Task {
    pub(crate) asker: Asker,
    pub(crate) request: BinderWriteRead,
    pub(crate) errand: Box<Errand>,
}

/// An errand that was done, or not.
pub(crate) struct Report {
    asker: Asker,
    request: BinderWriteRead,
    done: Done,
    standing: Standing,
}

/// What was done.
enum Done {
    Errand(ErrandKey, Result<Vec<u32>, NotInstalled>),
    /// Returns were written to the memory of a thread on its way out, or could not be.
    Written(HandOver, Result<(), CopyFault>),
}

/// Where the client's thread is.
enum Standing {
    /// In its ioctl, which waits for its answer.
    Waiting,
    /// On its way out, stopped; it is told how to go on.
    Stopped(Sender<Next>),
    /// It was killed.
    Gone,
}

/// How a stopped thread goes on.
enum Next {
    Return(i32, BinderWriteRead),
    HandOver(BinderWriteRead, HandOver),
    Errand(BinderWriteRead, Box<Errand>),
    /// With the same ioctl, from its beginning.
    Repeat,
}

/// Warnings about clients, which cause them as often as they like.
#[derive(Default)]
pub(crate) struct Warnings(Mutex<Option<Instant>>);

impl Warnings {
    fn is_due(&self) -> bool {
        let mut last = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let is_due = last.is_none_or(|last| last.elapsed() >= WARNING_INTERVAL);
        if is_due {
            *last = Some(Instant::now());
        }
        is_due
    }
}

/// Does an errand: the work of a runner.
pub(crate) fn run(shared: &Arc<Shared>, task: Task) {
    let Task { asker, mut request, mut errand } = task;
    let mut is_answered = false;
    let stopped =
        ThreadStatus::of(asker.tid).map_err(|_| InjectionError::Gone).and_then(|status| {
            let held = Held::stop(asker.tid, &status, shared.client_filters(), || {
                is_answered = true;
                let bytes = Answer::of(&request);
                send(&shared.fuse, &reply::ioctl(asker.unique, injection::REPEAT, bytes.bytes()));
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
            let standing = if is_answered { Standing::Gone } else { Standing::Waiting };
            let installed = without_files(&errand);
            let done = Done::Errand(errand.key, installed);
            let report = Report { asker, request, done, standing };
            return shared.submit(Job::EndErrand(Box::new(report)));
        }
    };
    let mut files: Vec<HeldFile> = Vec::new();
    loop {
        let Errand { key, install, close } = *errand;
        let first = files.len();
        files.extend(install.into_iter().filter_map(|file| file.into_inner::<HeldFile>()));
        let installed = put(shared, &asker, &status, &mut held, &files[first..]);
        let installed = installed.map_err(|failure| {
            match failure {
                // The kernel's driver finds nothing strange in it either.
                Failure::Install(
                    InstallError::NoRoom | InstallError::Injection(InjectionError::Gone),
                ) => tracing::debug!(tid = asker.tid, %failure, "files were not delivered"),
                Failure::Lend(_) | Failure::Install(_) => warn(shared, &asker, &failure),
            }
            NotInstalled
        });
        for number in close {
            if let Err(error) = held.close(number) {
                warn(shared, &asker, &error);
                break;
            }
        }
        let mut done = Done::Errand(key, installed);
        let next = loop {
            let (tell, told) = mpsc::channel();
            let standing = Standing::Stopped(tell);
            let report = Report { asker, request, done, standing };
            shared.submit(Job::EndErrand(Box::new(report)));
            match told.recv() {
                Ok(Next::HandOver(next_request, hand_over)) => {
                    request = next_request;
                    let written = memory_of(&asker, &status)
                        .and_then(|mut memory| reach::write(&mut memory, &hand_over));
                    done = Done::Written(hand_over, written);
                }
                next => break next,
            }
        };
        match next {
            Ok(Next::Return(result, request)) => {
                let struct_bytes = Answer::of(&request);
                let written = memory_of(&asker, &status).and_then(|mut memory| {
                    memory.write(asker.argument, struct_bytes.bytes()).map_err(|_| CopyFault)
                });
                held.finish(if written.is_ok() { result } else { -Errno::EFAULT.number() });
                break;
            }
            Ok(Next::Errand(next_request, next)) => (request, errand) = (next_request, next),
            Ok(Next::Repeat | Next::HandOver(..)) | Err(_) => {
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

/// The memory of a thread that is stopped, so that its number stays its own.
fn memory_of(asker: &Asker, status: &ThreadStatus) -> Result<ClientMemory, CopyFault> {
    let mut memory = ClientMemory::open(status.tgid).map_err(|_| CopyFault)?;
    memory.use_thread(asker.tid);
    Ok(memory)
}

/// Why files were not installed.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("lending the files: {0}")]
    Lend(#[from] io::Error),
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

/// What is to be said of an errand that could not be done.
fn without_files(errand: &Errand) -> Result<Vec<u32>, NotInstalled> {
    if errand.install.is_empty() { Ok(Vec::new()) } else { Err(NotInstalled) }
}

fn warn(shared: &Shared, asker: &Asker, error: &dyn Display) {
    if shared.warnings.is_due() {
        tracing::warn!(tid = asker.tid, %error, "a client's descriptors could not be changed");
    }
}

impl Driver {
    /// Hands an errand to the runners. A signal does not end the call meanwhile, but is remembered.
    pub(crate) fn send_on_errand(&mut self, task: Task) {
        let Asker { unique, uid, device, process, .. } = task.asker;
        self.on_errands.insert(unique, false);
        let pid = self.devices[device].clients.get(process).map_or(0, |client| client.pid);
        self.runners.run(Payer { pid, uid }, move |shared| run(shared, task));
    }

    /// Goes on with a call whose errand was done, or could not be.
    pub(crate) fn end_errand(&mut self, report: Report) {
        let Report { asker, mut request, done, standing } = report;
        let was_interrupted = self.on_errands.remove(&asker.unique).unwrap_or(false);
        let state = &mut self.devices[asker.device];
        if let Some(client) = state.clients.get_mut(asker.process) {
            client.resume_call(asker.tid);
        }
        let Device { context, clients, .. } = state;
        let outcome = match done {
            Done::Errand(errand, installed) => {
                context.finish_errand(errand, installed, &request, clients)
            }
            Done::Written(hand_over, written) => {
                context.finish_hand_over(hand_over, written, &mut request, clients)
            }
        };
        match standing {
            Standing::Waiting => match outcome {
                Ok(Outcome::Park(thread)) if was_interrupted => {
                    context.interrupt(thread);
                    self.end_call(&asker, request, Err(Errno::EINTR));
                }
                outcome => self.end_or_park(&asker, request, outcome),
            },
            Standing::Stopped(tell) => {
                let next = self.next_of_stopped(&asker, request, outcome);
                // A runner waits for it, unless it met a bug; then the thread repeats its ioctl.
                let _ = tell.send(next);
            }
            Standing::Gone => match outcome {
                Ok(Outcome::Park(thread)) => {
                    context.interrupt(thread);
                }
                // What it was to close goes with it.
                Ok(Outcome::HandOver(hand_over)) => {
                    let unwritten = Err(CopyFault);
                    let _ = context.finish_hand_over(hand_over, unwritten, &mut request, clients);
                }
                Ok(Outcome::Done | Outcome::Fetch | Outcome::Errand(_)) | Err(_) => {}
            },
        }
        self.carry_out_effects(asker.device);
    }

    fn next_of_stopped(
        &mut self,
        asker: &Asker,
        request: BinderWriteRead,
        outcome: Result<Outcome, Errno>,
    ) -> Next {
        let result = match outcome {
            // It sleeps as every read does: in an ioctl of its own.
            Ok(Outcome::Park(thread)) => {
                self.devices[asker.device].context.interrupt(thread);
                return Next::Repeat;
            }
            Ok(Outcome::Errand(errand)) => {
                self.on_errands.insert(asker.unique, false);
                return Next::Errand(request, errand);
            }
            Ok(Outcome::HandOver(hand_over)) => {
                self.on_errands.insert(asker.unique, false);
                return Next::HandOver(request, hand_over);
            }
            Ok(Outcome::Done) => 0,
            // Only the beginning of a call fetches commands.
            Ok(Outcome::Fetch) => -Errno::EINVAL.number(),
            Err(error) => -error.number(),
        };
        Next::Return(result, request)
    }
}
