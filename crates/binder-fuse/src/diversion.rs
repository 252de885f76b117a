//! Files for threads that a supervisor can trap.
//!
//! The thread waits in an ioctl for its transaction. A runner stops it for a moment, and has it make
//! another call in the ioctl's place, which the supervisor's filter traps. While it waits there, the
//! kernel adds the files to its descriptors, and the answer to that call is the ioctl's. Nothing is
//! lent to anybody, and no call is made that a filter of the program's own might object to.
//!
//! What the two of them have to know of each other's doing lies here meanwhile.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Mutex, MutexGuard};

use binder_core::{Errand, ErrandKey, NotInstalled, ProcessKey};
use binder_os::injection::{self, InjectionError};
use binder_uapi::BinderWriteRead;
use fuse_wire::reply;

use crate::driver::{Asker, DeviceId, Job};
use crate::errand::{Purpose, Report, Seat, Standing, Task};
use crate::files::HeldFile;
use crate::ioctl::Answer;
use crate::session::Shared;
use crate::supervisor::Waiting;
use crate::wire::send;

/// Whether a thread's calls are known to be trapped, and by nobody but us.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Divertible {
    /// Nobody has asked.
    #[default]
    Unknown,
    Yes,
    No,
}

/// A thread that is on its way to the supervisor.
pub(crate) struct Diverted {
    pub(crate) asker: Asker,
    request: BinderWriteRead,
    pub(crate) errand: ErrandKey,
    pub(crate) files: Vec<HeldFile>,
}

/// Threads that are to be sent to the supervisor, and those that are expected there.
#[derive(Default)]
pub(crate) struct Diversions {
    ready: Mutex<VecDeque<Task>>,
    /// By their numbers.
    expected: Mutex<HashMap<u32, Expected>>,
    /// Held by the reader of requests that sends one on its way itself.
    by_reader: Mutex<()>,
}

enum Expected {
    Diverted(Box<Diverted>),
    /// It asks whether somebody is there.
    Question,
}

impl Diversions {
    /// Takes an errand that is to begin once the driver is free.
    pub(crate) fn put(&self, task: Task) {
        lock(&self.ready).push_back(task);
    }

    pub(crate) fn next(&self) -> Option<Task> {
        lock(&self.ready).pop_front()
    }

    /// Takes what a thread comes for that gives `argument` as the address of its struct.
    pub(crate) fn take(&self, tid: u32, argument: u64) -> Option<Diverted> {
        let mut expected = lock(&self.expected);
        match expected.remove(&tid)? {
            Expected::Diverted(diverted) if diverted.asker.argument == argument => Some(*diverted),
            other => {
                expected.insert(tid, other);
                None
            }
        }
    }

    /// Forgets a thread that has ended, or makes another call instead.
    pub(crate) fn forget(&self, tid: u32) -> Option<Diverted> {
        match lock(&self.expected).remove(&tid)? {
            Expected::Diverted(diverted) => Some(*diverted),
            Expected::Question => None,
        }
    }

    /// Forgets the threads of a process, and returns the requests that they were to have answered.
    pub(crate) fn forget_process(&self, device: DeviceId, process: ProcessKey) -> Vec<u64> {
        let is_its = |expected: &Expected| match expected {
            Expected::Diverted(diverted) => {
                (diverted.asker.device, diverted.asker.process) == (device, process)
            }
            Expected::Question => false,
        };
        let gone: Vec<_> =
            lock(&self.expected).extract_if(|_, expected| is_its(expected)).collect();
        let unique = |expected| match expected {
            Expected::Diverted(diverted) => Some(diverted.asker.unique),
            Expected::Question => None,
        };
        gone.into_iter().filter_map(|(_, expected)| unique(expected)).collect()
    }

    /// Expects the question of a thread, until it is forgotten.
    pub(crate) fn expect_question(&self, tid: u32) {
        lock(&self.expected).insert(tid, Expected::Question);
    }

    /// Whether a thread was to ask.
    pub(crate) fn is_asking(&self, tid: u32) -> bool {
        matches!(lock(&self.expected).get(&tid), Some(Expected::Question))
    }

    fn expect(&self, diverted: Diverted) {
        lock(&self.expected).insert(diverted.asker.tid, Expected::Diverted(Box::new(diverted)));
    }
}

/// Whether the thread of an errand can be sent to the supervisor for it.
pub(crate) fn is_fit(task: &Task) -> bool {
    let has_files_only = |errand: &Errand| !errand.install.is_empty() && errand.close.is_empty();
    task.divertible == Divertible::Yes
        && !task.asker.is_compat
        && matches!(task.seat, Seat::Request)
        && matches!(&task.purpose, Purpose::Errand(errand) if has_files_only(errand))
}

/// Sends threads on their way whose errands the driver has just come to: the reader of requests
/// does it, since to call somebody else takes longer. It waits for nothing but that a thread leaves
/// the kernel. Should that take long, as when somebody withholds the processor from the thread, the
/// reserve reads on; and as long as one reader is at it, runners see to the others.
pub(crate) fn begin_ready(shared: &Shared) {
    while let Some(task) = shared.diversions.next() {
        let left = match shared.diversions.by_reader.try_lock() {
            Ok(_guard) => begin(shared, task),
            Err(_) => Some(task),
        };
        if let Some(task) = left {
            shared.runners.run_errand(task);
        }
    }
}

/// Sends a thread to the supervisor for the files of an errand: the first half. Returns the task if
/// it cannot be.
pub(crate) fn begin(shared: &Shared, task: Task) -> Option<Task> {
    if !is_fit(&task) {
        return Some(task);
    }
    let Purpose::Errand(errand) = task.purpose else { return Some(task) };
    let Task { asker, request, .. } = task;
    let mut errand = Some(errand);
    let bytes = Answer::of(&request);
    let answer = || {
        let result = injection::REPEAT_ALWAYS;
        send(&shared.fuse, &reply::ioctl(asker.unique, result, bytes.bytes()));
    };
    let ready = || {
        if let Some(errand) = errand.take() {
            let Errand { key, install, .. } = *errand;
            let files = install.into_iter().filter_map(|file| file.into_inner()).collect();
            shared.diversions.expect(Diverted { asker, request, errand: key, files });
        }
    };
    let begun = injection::divert(asker.tid, answer, ready);
    match (begun, errand) {
        (Ok(()), _) => {}
        (Err(InjectionError::Gone), Some(errand)) => {
            give_up(shared, asker, request, errand.key);
        }
        (Err(_), Some(errand)) => {
            let purpose = Purpose::Errand(errand);
            return Some(Task { purpose, divertible: Divertible::No, ..task });
        }
        // Unless the end of its process was noticed first, and it is forgotten already.
        (Err(_), None) => {
            if let Some(Diverted { errand, .. }) = shared.diversions.forget(asker.tid) {
                give_up(shared, asker, request, errand);
            }
        }
    }
    None
}

/// Gives its files to a thread that has come to the supervisor: the second half. Returns our own
/// files, which are to be closed.
pub(crate) fn complete(shared: &Shared, waiting: Waiting, diverted: Diverted) -> Vec<HeldFile> {
    let Diverted { asker, request, errand, files } = diverted;
    let end = |installed, standing| {
        let (errand, divertible) = (errand, None);
        let report = Report { asker, request, errand, installed, standing, divertible };
        shared.submit(Job::EndErrand(Box::new(report)));
    };
    let mut numbers = Vec::with_capacity(files.len());
    let mut failure = None;
    for file in files.iter().filter_map(HeldFile::fd) {
        match waiting.add(file) {
            Ok(number) => numbers.push(number),
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    match failure {
        None => end(Ok(numbers), Standing::Trapped(waiting)),
        Some(error) if error.kind() == io::ErrorKind::NotFound => {
            end(Err(NotInstalled), Standing::Gone);
        }
        Some(error) => {
            tracing::debug!(tid = asker.tid, %error, "files were not delivered");
            if numbers.is_empty() {
                end(Err(NotInstalled), Standing::Trapped(waiting));
            } else {
                // All files or none; only the thread itself can close those that it has.
                let errand = Errand { key: errand, install: Vec::new(), close: numbers };
                let (seat, purpose) = (Seat::Trapped(waiting), Purpose::Undo(Box::new(errand)));
                let task = Task { asker, request, seat, purpose, divertible: Divertible::Yes };
                shared.runners.run_errand(task);
            }
        }
    }
    files
}

/// The thread has gone.
fn give_up(shared: &Shared, asker: Asker, request: BinderWriteRead, errand: ErrandKey) {
    let (installed, standing) = (Err(NotInstalled), Standing::Gone);
    let report = Report { asker, request, errand, installed, standing, divertible: None };
    shared.submit(Job::EndErrand(Box::new(report)));
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
