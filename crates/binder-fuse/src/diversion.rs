//! Files for threads that a supervisor can trap.
//!
//! The thread waits in an ioctl for its transaction. The reader stops it for a moment, and has it make
//! another call in the ioctl's place, which the supervisor's filter traps. While it waits there, the
//! kernel adds the files to its descriptors, and the answer to that call is the ioctl's. Nothing is
//! lent to anybody, and no call is made that a filter of the program's own might object to.
//!
//! What the two of them have to know of each other's doing lies here meanwhile.

use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use binder_core::{CopyFault, Errand, ErrandKey, HandOver, NotInstalled, ProcessKey};
use binder_os::injection::{self, InjectionError, NO_ROOM};
use binder_os::seccomp;
use binder_uapi::BinderWriteRead;
use fuse_wire::reply;
use zerocopy::IntoBytes;

use crate::client::{Lent, Spare};
use crate::driver::{Asker, DeviceId};
use crate::errand::{self, Done, Next, Purpose, Seat, Standing, Task, Worker};
use crate::files::HeldFile;
use crate::ioctl::Answer;
use crate::session::Shared;
use crate::strings::errno;
use crate::supervisor::Waiting;
use crate::supply::Payer;
use crate::wire::send;

/// The receiver may have no more files.
const EMFILE: i32 = 24;

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
    pub(crate) client: Payer,
    lent: Lent,
    home: Arc<Spare>,
    request: BinderWriteRead,
    pub(crate) errand: ErrandKey,
    pub(crate) files: Vec<HeldFile>,
}

/// Threads that are expected at the supervisor.
#[derive(Default)]
pub(crate) struct Diversions {
    /// By their numbers.
    expected: Mutex<HashMap<u32, Expected>>,
    /// How many there are, for a look without the lock. A thread is expected before it can call again.
    count: AtomicUsize,
}

enum Expected {
    Diverted(Box<Diverted>),
    /// It asks whether somebody is there.
    Question,
}

impl Diversions {
    /// Takes what a thread comes for that gives `argument` as the address of its struct.
    pub(crate) fn take(&self, tid: u32, argument: u64) -> Option<Diverted> {
        self.with_expected(|expected| match expected.remove(&tid)? {
            Expected::Diverted(diverted) if diverted.asker.argument == argument => Some(*diverted),
            other => {
                expected.insert(tid, other);
                None
            }
        })
    }

    /// Forgets a thread that has ended, or makes another call instead.
    pub(crate) fn forget(&self, tid: u32) -> Option<Diverted> {
        // Mostly nobody is expected, and a lock is saved with each call.
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        match self.with_expected(|expected| expected.remove(&tid))? {
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
            self.with_expected(|expected| expected.extract_if(|_, it| is_its(it)).collect());
        let unique = |expected| match expected {
            Expected::Diverted(diverted) => Some(diverted.asker.unique),
            Expected::Question => None,
        };
        gone.into_iter().filter_map(|(_, expected): (u32, _)| unique(expected)).collect()
    }

    /// Expects the question of a thread, until it is forgotten.
    pub(crate) fn expect_question(&self, tid: u32) {
        self.with_expected(|expected| expected.insert(tid, Expected::Question));
    }

    /// Whether a thread was to ask.
    pub(crate) fn is_asking(&self, tid: u32) -> bool {
        self.with_expected(|expected| matches!(expected.get(&tid), Some(Expected::Question)))
    }

    fn expect(&self, diverted: Diverted) {
        let tid = diverted.asker.tid;
        let diverted = Expected::Diverted(Box::new(diverted));
        self.with_expected(|expected| expected.insert(tid, diverted));
    }

    fn with_expected<T>(&self, work: impl FnOnce(&mut HashMap<u32, Expected>) -> T) -> T {
        let mut expected = self.expected.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let result = work(&mut expected);
        self.count.store(expected.len(), Ordering::Release);
        result
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

/// What came of an attempt to send a thread to the supervisor.
#[expect(clippy::large_enum_variant, reason = "it is returned once and taken apart at once")]
pub(crate) enum Begun {
    OnItsWay,
    /// It has gone.
    Over,
    /// It cannot be sent there.
    Left(Task),
}

/// Sends a thread to the supervisor for the files of an errand: the first half. `ready` runs when
/// it is about to go there.
///
/// It waits for nothing but that the thread leaves the kernel. Should that take long, as when somebody
/// withholds the processor from the thread, another takes the reader's place.
pub(crate) fn begin(shared: &Shared, task: Task, ready: impl FnOnce()) -> Begun {
    if !is_fit(&task) {
        return Begun::Left(task);
    }
    let Purpose::Errand(errand) = task.purpose else { return Begun::Left(task) };
    let Task { asker, client, lent, home, request, .. } = task;
    let (mut errand, mut memory) = (Some(errand), Some((lent, home)));
    let bytes = Answer::of(&request);
    let answer = || {
        let result = injection::REPEAT_ALWAYS;
        send(&shared.fuse, &reply::ioctl(asker.unique, result, bytes.bytes()));
    };
    let put_down = || {
        if let (Some(errand), Some((lent, home))) = (errand.take(), memory.take()) {
            let Errand { key: errand, install, .. } = *errand;
            let files = install.into_iter().filter_map(|file| file.into_inner()).collect();
            let diverted = Diverted { asker, client, lent, home, request, errand, files };
            shared.diversions.expect(diverted);
        }
        ready();
    };
    let begun = injection::divert(asker.tid, answer, put_down);
    match (begun, errand.zip(memory)) {
        (Ok(()), _) => return Begun::OnItsWay,
        (Err(InjectionError::Gone), Some((errand, _))) => {
            give_up(shared, asker, request, errand.key);
        }
        (Err(_), Some((errand, (lent, home)))) => {
            let (seat, purpose) = (Seat::Request, Purpose::Errand(errand));
            let divertible = Divertible::No;
            return Begun::Left(Task {
                asker,
                client,
                lent,
                home,
                request,
                seat,
                purpose,
                divertible,
            });
        }
        // Unless the end of its process was noticed first, and it is forgotten already.
        (Err(_), None) => {
            if let Some(Diverted { errand, .. }) = shared.diversions.forget(asker.tid) {
                give_up(shared, asker, request, errand);
            }
        }
    }
    Begun::Over
}

/// Gives its files to a thread that has come to the supervisor: the second half. Returns our own
/// files, which are to be closed. Its memory may hold this up.
pub(crate) fn complete(
    shared: &Shared,
    worker: Worker,
    waiting: Waiting,
    diverted: Diverted,
) -> Vec<HeldFile> {
    let Diverted { asker, client, lent, home, request, errand, files } = diverted;
    let mut numbers = Vec::with_capacity(files.len());
    let mut failure = None;
    for file in &files {
        match file.open().and_then(|file| waiting.add(file.as_fd())) {
            Ok(number) => numbers.push(number),
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    let trapped = Trapped { worker, waiting, asker, client, lent, home };
    match failure {
        None => trapped.go_on(shared, request, Done::Errand(errand, Ok(numbers))),
        Some(error) if error.kind() == io::ErrorKind::NotFound => {
            give_up(shared, asker, request, errand);
        }
        Some(error) => {
            tracing::debug!(tid = asker.tid, %error, "files were not delivered");
            let has_room = error.raw_os_error() != Some(EMFILE);
            let reason = if has_room { "the kernel did not add the files" } else { NO_ROOM };
            let why = NotInstalled { errno: errno(&error), reason };
            if numbers.is_empty() {
                trapped.go_on(shared, request, Done::Errand(errand, Err(why)));
            } else {
                // All files or none; only the thread itself can close those that it has.
                let errand = Errand { key: errand, install: Vec::new(), close: numbers };
                trapped.leave_to_runners(shared, request, Purpose::Undo(Box::new(errand), why));
            }
        }
    }
    files
}

/// A thread in a call that the supervisor holds, and what belongs to it.
struct Trapped {
    /// Who has it there.
    worker: Worker,
    waiting: Waiting,
    asker: Asker,
    client: Payer,
    lent: Lent,
    home: Arc<Spare>,
}

impl Trapped {
    /// Goes on with its call to the end, or leaves it to the runners if it must be stopped for that.
    fn go_on(mut self, shared: &Shared, mut request: BinderWriteRead, done: Done) {
        let mut next = errand::report(shared, self.worker, &self.asker, request, done, None);
        let mut shown = None;
        while let Some(Next::HandOver(at, hand_over)) = next {
            request = at;
            let written = self.hand_over(&request, &hand_over);
            shown = written.ok().flatten();
            let done = Done::Written(hand_over, written.map(|_| ()));
            next = errand::report(shared, self.worker, &self.asker, request, done, None);
        }
        match next {
            Some(Next::Return(result, request))
                if shown == Some(request) || self.waiting.is_pending() =>
            {
                let memory = &mut self.lent.way.memory;
                let result = match shown {
                    Some(shown) if shown == request => result,
                    _ => errand::write_struct(memory, &self.asker, &request, result),
                };
                self.waiting.answer(match result {
                    0 => seccomp::Answer::Done,
                    error => seccomp::Answer::Refuse(-error),
                });
                self.home.put(self.lent);
            }
            Some(Next::Errand(request, errand)) => {
                self.leave_to_runners(shared, request, Purpose::Errand(errand));
            }
            Some(Next::Repeat) => self.leave_to_runners(shared, request, Purpose::Repeat),
            // It was killed, or the driver met a bug: it gets an answer all the same.
            Some(Next::Return(..) | Next::HandOver(..)) | None => drop(self.waiting),
        }
    }

    /// Writes returns, and at once the struct of a call that ends with them, as mostly it does: both take
    /// as long as one. Returns that struct, if it was written.
    fn hand_over(
        &mut self,
        request: &BinderWriteRead,
        returns: &HandOver,
    ) -> Result<Option<BinderWriteRead>, CopyFault> {
        if !self.waiting.is_pending() {
            return Err(CopyFault);
        }
        let read_consumed = request.read_consumed.saturating_add(returns.bytes.len() as u64);
        let shown = BinderWriteRead { read_consumed, ..*request };
        let memory = &mut self.lent.way.memory;
        let place = (self.asker.argument, shown.as_bytes());
        match memory.write_two([(returns.address.0, &returns.bytes), place]) {
            Ok(()) => Ok(Some(shown)),
            Err(0) => Err(CopyFault),
            Err(_) => Ok(None),
        }
    }

    fn leave_to_runners(self, shared: &Shared, request: BinderWriteRead, purpose: Purpose) {
        let Self { waiting, asker, client, lent, home, .. } = self;
        let (seat, divertible) = (Seat::Trapped(waiting), Divertible::Yes);
        let task = Task { asker, client, lent, home, request, seat, purpose, divertible };
        shared.runners.run_errand(task);
    }
}

/// The thread has gone.
fn give_up(shared: &Shared, asker: Asker, request: BinderWriteRead, errand: ErrandKey) {
    let undone = (errand, Err(errand::gone()));
    errand::report_undone(shared, asker, request, undone, Standing::Gone);
}
