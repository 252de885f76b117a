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

use binder_core::{CopyFault, CopyOut, FdWork, NotInstalled, ProcessKey, SuspendedCallKey};
use binder_os::injection::{self, InjectionError, NO_ROOM};
use binder_os::seccomp;
use binder_uapi::BinderWriteRead;
use fuse_wire::reply;
use zerocopy::IntoBytes;

use crate::client::{LentMemory, MemoryCache};
use crate::driver::{DeviceId, RequestContext};
use crate::fd_work::{
    self, CallerState, FdTask, FdTaskKind, FdTaskResult, NextStep, WaitsIn, Worker,
};
use crate::files::HeldFile;
use crate::ioctl::IoctlReply;
use crate::quota::Account;
use crate::session::SessionShared;
use crate::strings::errno;
use crate::supervisor::Waiting;
use crate::wire::send;

/// The receiver may have no more files.
const EMFILE: i32 = 24;

/// Whether a thread's calls are known to be trapped, and by nobody but us.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum CanAddFds {
    /// Nobody has asked.
    #[default]
    Unknown,
    Yes,
    No,
}

/// A thread that is on its way to the supervisor.
pub(crate) struct ExpectedCall {
    pub(crate) asker: RequestContext,
    pub(crate) client: Account,
    lent: LentMemory,
    home: Arc<MemoryCache>,
    request: BinderWriteRead,
    pub(crate) fd_work: SuspendedCallKey,
    pub(crate) files: Vec<HeldFile>,
}

/// Threads that are expected at the supervisor.
#[derive(Default)]
pub(crate) struct ExpectedCalls {
    /// By their numbers.
    expected: Mutex<HashMap<u32, Expected>>,
    /// How many there are, for a look without the lock. A thread is expected before it can call again.
    count: AtomicUsize,
}

enum Expected {
    Diverted(Box<ExpectedCall>),
    /// It asks whether somebody is there.
    Question,
}

impl ExpectedCalls {
    /// Takes what a thread comes for that gives `argument` as the address of its struct.
    pub(crate) fn take(&self, tid: u32, argument: u64) -> Option<ExpectedCall> {
        self.with_expected(|expected| match expected.remove(&tid)? {
            Expected::Diverted(diverted) if diverted.asker.argument == argument => Some(*diverted),
            other => {
                expected.insert(tid, other);
                None
            }
        })
    }

    /// Forgets a thread that has ended, or makes another call instead.
    pub(crate) fn forget(&self, tid: u32) -> Option<ExpectedCall> {
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

    fn expect(&self, diverted: ExpectedCall) {
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

/// Whether the thread of descriptor work can be sent to the supervisor for it.
pub(crate) fn is_fit(task: &FdTask) -> bool {
    let has_files_only = |fd_work: &FdWork| !fd_work.install.is_empty() && fd_work.close.is_empty();
    task.divertible == CanAddFds::Yes
        && !task.asker.is_compat
        && matches!(task.seat, WaitsIn::Request)
        && matches!(&task.purpose, FdTaskKind::FdWork(fd_work) if has_files_only(fd_work))
}

/// What came of an attempt to send a thread to the supervisor.
#[expect(clippy::large_enum_variant, reason = "it is returned once and taken apart at once")]
pub(crate) enum AddFdStart {
    OnItsWay,
    /// It has gone.
    Over,
    /// It cannot be sent there.
    Left(FdTask),
}

/// Sends a thread to the supervisor for the files of descriptor work: the first half. `ready` runs when
/// it is about to go there.
///
/// It waits for nothing but that the thread leaves the kernel. Should that take long, as when somebody
/// withholds the processor from the thread, another takes the reader's place.
pub(crate) fn begin(shared: &SessionShared, task: FdTask, ready: impl FnOnce()) -> AddFdStart {
    if !is_fit(&task) {
        return AddFdStart::Left(task);
    }
    let FdTaskKind::FdWork(fd_work) = task.purpose else { return AddFdStart::Left(task) };
    let FdTask { asker, client, lent, home, request, .. } = task;
    let (mut fd_work, mut memory) = (Some(fd_work), Some((lent, home)));
    let bytes = IoctlReply::of(&request);
    let answer = || {
        let result = injection::REPEAT_ALWAYS;
        send(&shared.fuse, &reply::ioctl(asker.unique, result, bytes.bytes()));
    };
    let put_down = || {
        if let (Some(fd_work), Some((lent, home))) = (fd_work.take(), memory.take()) {
            let FdWork { key: fd_work, install, .. } = *fd_work;
            let files = install.into_iter().filter_map(|file| file.into_inner()).collect();
            let diverted = ExpectedCall { asker, client, lent, home, request, fd_work, files };
            shared.diversions.expect(diverted);
        }
        ready();
    };
    let begun = injection::divert(asker.tid, answer, put_down);
    match (begun, fd_work.zip(memory)) {
        (Ok(()), _) => return AddFdStart::OnItsWay,
        (Err(InjectionError::Gone), Some((fd_work, _))) => {
            give_up(shared, asker, request, fd_work.key);
        }
        (Err(_), Some((fd_work, (lent, home)))) => {
            let (seat, purpose) = (WaitsIn::Request, FdTaskKind::FdWork(fd_work));
            let divertible = CanAddFds::No;
            return AddFdStart::Left(FdTask {
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
            if let Some(ExpectedCall { fd_work, .. }) = shared.diversions.forget(asker.tid) {
                give_up(shared, asker, request, fd_work);
            }
        }
    }
    AddFdStart::Over
}

/// Gives its files to a thread that has come to the supervisor: the second half. Returns our own
/// files, which are to be closed. Its memory may hold this up.
pub(crate) fn complete(
    shared: &SessionShared,
    worker: Worker,
    waiting: Waiting,
    diverted: ExpectedCall,
) -> Vec<HeldFile> {
    let ExpectedCall { asker, client, lent, home, request, fd_work, files } = diverted;
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
        None => trapped.go_on(shared, request, FdTaskResult::FdWork(fd_work, Ok(numbers))),
        Some(error) if error.kind() == io::ErrorKind::NotFound => {
            give_up(shared, asker, request, fd_work);
        }
        Some(error) => {
            tracing::debug!(tid = asker.tid, %error, "files were not delivered");
            let has_room = error.raw_os_error() != Some(EMFILE);
            let reason = if has_room { "the kernel did not add the files" } else { NO_ROOM };
            let why = NotInstalled { errno: errno(&error), reason };
            if numbers.is_empty() {
                trapped.go_on(shared, request, FdTaskResult::FdWork(fd_work, Err(why)));
            } else {
                // All files or none; only the thread itself can close those that it has.
                let fd_work = FdWork { key: fd_work, install: Vec::new(), close: numbers };
                trapped.leave_to_runners(shared, request, FdTaskKind::Undo(Box::new(fd_work), why));
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
    asker: RequestContext,
    client: Account,
    lent: LentMemory,
    home: Arc<MemoryCache>,
}

impl Trapped {
    /// Goes on with its call to the end, or leaves it to the runners if it must be stopped for that.
    fn go_on(mut self, shared: &SessionShared, mut request: BinderWriteRead, done: FdTaskResult) {
        let mut next = fd_work::report(shared, self.worker, &self.asker, request, done, None);
        let mut shown = None;
        while let Some(NextStep::CopyOut(at, copy_out)) = next {
            request = at;
            let written = self.copy_out(&request, &copy_out);
            shown = written.ok().flatten();
            let done = FdTaskResult::Written(copy_out, written.map(|_| ()));
            next = fd_work::report(shared, self.worker, &self.asker, request, done, None);
        }
        match next {
            Some(NextStep::Return(result, request))
                if shown == Some(request) || self.waiting.is_pending() =>
            {
                let memory = &mut self.lent.way.memory;
                let result = match shown {
                    Some(shown) if shown == request => result,
                    _ => fd_work::write_struct(memory, &self.asker, &request, result),
                };
                self.waiting.answer(match result {
                    0 => seccomp::TrapAnswer::Done,
                    error => seccomp::TrapAnswer::Refuse(-error),
                });
                self.home.put(self.lent);
            }
            Some(NextStep::FdWork(request, fd_work)) => {
                self.leave_to_runners(shared, request, FdTaskKind::FdWork(fd_work));
            }
            Some(NextStep::Repeat) => self.leave_to_runners(shared, request, FdTaskKind::Repeat),
            // It was killed, or the driver met a bug: it gets an answer all the same.
            Some(NextStep::Return(..) | NextStep::CopyOut(..)) | None => drop(self.waiting),
        }
    }

    /// Writes returns, and at once the struct of a call that ends with them, as mostly it does: both take
    /// as long as one. Returns that struct, if it was written.
    fn copy_out(
        &mut self,
        request: &BinderWriteRead,
        returns: &CopyOut,
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

    fn leave_to_runners(
        self,
        shared: &SessionShared,
        request: BinderWriteRead,
        purpose: FdTaskKind,
    ) {
        let Self { waiting, asker, client, lent, home, .. } = self;
        let (seat, divertible) = (WaitsIn::Trapped(waiting), CanAddFds::Yes);
        let task = FdTask { asker, client, lent, home, request, seat, purpose, divertible };
        shared.runners.run_fd_task(task);
    }
}

/// The thread has gone.
fn give_up(
    shared: &SessionShared,
    asker: RequestContext,
    request: BinderWriteRead,
    fd_work: SuspendedCallKey,
) {
    let undone = (fd_work, Err(fd_work::gone()));
    fd_work::report_undone(shared, asker, request, undone, CallerState::Gone);
}
