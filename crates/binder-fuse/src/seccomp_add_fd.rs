//! Files for threads that a supervisor can trap.
//!
//! The thread waits in an ioctl for its transaction. The reader stops it for a moment, and has it make
//! another call in the ioctl's place, which the supervisor's filter traps. While it waits there, the
//! kernel adds the files to its descriptors, and the answer to that call is the ioctl's. No file is
//! lent to another process, and no call is made that a filter of the program's own might object to.
//!
//! What the two of them have to know of each other's doing lies in `expected_calls` meanwhile.

use std::io;
use std::sync::Arc;

use binder_core::{CopyFault, CopyOut, Errno, FdWork, NotInstalled, SuspendedCallKey};
use binder_frontend::{CallerState, FdWorkResult, IoctlData, NextStep, RequestContext};
use binder_os::FuseDevice;
use binder_os::injection::{self, InjectionError, NO_ROOM};
use binder_os::seccomp;
use binder_uapi::BinderWriteRead;
use fuse_wire::reply;
use zerocopy::IntoBytes;

use crate::blocking_pool::WorkStart;
use crate::client_file::{CanAddFds, ClientFile};
use crate::expected_calls::ExpectedCall;
use crate::fd_task::{self, FdTask, FdTaskKind, WaitingCall, WaitsIn, Worker};
use crate::fd_work;
use crate::files::HeldFile;
use crate::io_queue::IoRequest;
use crate::memory_handle::MemoryHandle;
use crate::readers::{Replaced, RequestReader};
use crate::shared::SessionShared;
use crate::strings::errno;
use crate::trapped_call::UnansweredCall;
use crate::wire::send;

/// Whether the thread of descriptor work can be sent to the supervisor for it: for files that we have open.
pub(crate) fn is_fit(task: &FdTask) -> bool {
    task.can_add_fds == CanAddFds::Yes
        && !task.request.is_compat
        && matches!(task.waits_in, WaitsIn::Request)
        && matches!(&task.purpose, FdTaskKind::FdWork(fd_work) if fd_task::has_files_only(fd_work))
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
/// It waits for nothing but that the thread leaves the kernel. Should that take long, as when the
/// thread gets no processor, another thread takes the reader's place.
pub(crate) fn begin(shared: &SessionShared, task: FdTask, ready: impl FnOnce()) -> AddFdStart {
    if !is_fit(&task) {
        return AddFdStart::Left(task);
    }
    let FdTaskKind::FdWork(fd_work) = task.purpose else { return AddFdStart::Left(task) };
    let FdTask { file, request, call, .. } = task;
    let mut fd_work = Some(fd_work);
    let bytes = IoctlData::of(&call);
    let answer = || {
        let result = injection::REPEAT_ALWAYS;
        send(&shared.fuse, &reply::ioctl(request.unique, result, bytes.bytes()));
    };
    let put_down = || {
        if let Some(fd_work) = fd_work.take() {
            let FdWork { key: work, install, .. } = *fd_work;
            let files = fd_task::held_files(install).collect();
            let file = file.clone();
            shared.expected.expect(ExpectedCall { file, request, call, work, files });
        }
        ready();
    };
    let begun = injection::divert(request.tid, answer, put_down);
    let held = WaitingCall { file: &file, request, call };
    match (begun, fd_work) {
        (Ok(()), _) => return AddFdStart::OnItsWay,
        (Err(InjectionError::Gone), Some(fd_work)) => give_up(shared, &held, fd_work.key),
        (Err(_), Some(fd_work)) => {
            let (waits_in, purpose) = (WaitsIn::Request, FdTaskKind::FdWork(fd_work));
            let can_add_fds = CanAddFds::No;
            return AddFdStart::Left(FdTask {
                file,
                request,
                call,
                waits_in,
                purpose,
                can_add_fds,
            });
        }
        // Unless the end of its process was noticed first, and it is forgotten already.
        (Err(_), None) => {
            if let Some(ExpectedCall { work, .. }) = shared.expected.forget(request.tid) {
                give_up(shared, &held, work);
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
    unanswered: UnansweredCall,
    expected: ExpectedCall,
) -> Vec<HeldFile> {
    let ExpectedCall { file: client, request, call, work: fd_work, files } = expected;
    let mut numbers = Vec::with_capacity(files.len());
    let mut failure = None;
    for file in &files {
        let open = file.descriptor().ok_or(io::ErrorKind::InvalidInput.into());
        match open.and_then(|open| unanswered.add(open)) {
            Ok(number) => numbers.push(number),
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    let handle = client.lend_memory(request.unique, request.tid);
    let trapped = TrappedThread { worker, unanswered, file: client, request, handle };
    match failure {
        None => trapped.go_on(shared, call, FdWorkResult::FdWork(fd_work, Ok(numbers))),
        Some(error) if error.kind() == io::ErrorKind::NotFound => {
            trapped.give_up(shared, call, fd_work);
        }
        Some(error) => {
            tracing::debug!(tid = request.tid, %error, "files were not delivered");
            let has_room = errno(&error) != Errno::EMFILE;
            let reason = if has_room { "the kernel did not add the files" } else { NO_ROOM };
            let why = NotInstalled { errno: errno(&error).number(), reason };
            if numbers.is_empty() {
                trapped.go_on(shared, call, FdWorkResult::FdWork(fd_work, Err(why)));
            } else {
                // All files or none; only the thread itself can close those that it has.
                let fd_work = FdWork { key: fd_work, install: Vec::new(), close: numbers };
                trapped.leave_to_pool(shared, call, FdTaskKind::Undo(Box::new(fd_work), why));
            }
        }
    }
    files
}

impl SessionShared {
    /// Has a thread of the pool do descriptor work.
    pub(crate) fn run_fd_task(&self, task: FdTask) {
        let (payer, unique) = (task.payer(), task.request.unique);
        let is_request = task.waits_in.is_request();
        let session = self.this.clone();
        let work = move |start| {
            let Some(shared) = session.upgrade() else { return };
            match start {
                WorkStart::Killed => fd_work::end_as_killed(&shared, task),
                WorkStart::OnPool => {
                    if let AddFdStart::Left(task) = begin(&shared, task, || {}) {
                        fd_work::run(&shared, task);
                    }
                }
            }
        };
        if is_request {
            self.pool.run_for_request(payer, unique, work);
        } else {
            self.pool.run(payer, move || work(WorkStart::OnPool));
        }
    }

    /// Sends a thread to the supervisor and gives it its files there. To leave that to others takes longer.
    pub(crate) fn add_fd(
        &self,
        reader: &mut RequestReader,
        task: FdTask,
    ) -> Result<Option<IoRequest>, Replaced> {
        let pid = task.file.pid;
        if self.slow.holds(pid) {
            self.run_fd_task(task);
            return Ok(None);
        }
        if !reader.advance(pid) {
            self.run_fd_task(task);
            return Err(Replaced);
        }
        let files = self.give_files(task);
        if !reader.advance(0) {
            // The other has marked the client.
            self.slow.end_wait(pid, true);
            return Err(Replaced);
        }
        self.close_files(reader, files)
    }

    /// Closes files that clients have sent. Those that it does not come to go to the pool.
    pub(crate) fn close_files(
        &self,
        reader: &mut RequestReader,
        files: Vec<HeldFile>,
    ) -> Result<Option<IoRequest>, Replaced> {
        let is_reader = files.into_iter().all(|file| self.close(reader, file));
        if is_reader { Ok(None) } else { Err(Replaced) }
    }

    /// Returns our own files, which are to be closed, unless another thread goes on with it.
    fn give_files(&self, task: FdTask) -> Vec<HeldFile> {
        let RequestContext { tid, argument, .. } = task.request;
        let pid = task.file.pid;
        let trap_handler =
            self.supervision.trap_handler().filter(|_| !self.supervision.tardy.holds(pid));
        let mut expected = None;
        let expect = || expected = trap_handler.as_ref().and_then(|it| it.listener().expect());
        match begin(self, task, expect) {
            AddFdStart::OnItsWay => {}
            AddFdStart::Over => return Vec::new(),
            AddFdStart::Left(task) => {
                self.run_fd_task(task);
                return Vec::new();
            }
        }
        let (Some(trap_handler), Some(expected)) = (&trap_handler, expected) else {
            return Vec::new();
        };
        let Some(unanswered) = expected.take() else {
            // It is not waited for once more, for the time being.
            self.supervision.tardy.begin_wait(pid);
            self.supervision.tardy.end_wait(pid, true);
            return Vec::new();
        };
        let is_its = unanswered.notification.is_diverted(tid, argument);
        match is_its.then(|| self.expected.take(tid, argument)).flatten() {
            Some(call) => complete(self, Worker::Reader, unanswered, call),
            None => {
                trap_handler.answer(unanswered);
                Vec::new()
            }
        }
    }

    /// Closes a file, which may take as long as its sender likes. Says whether the calling thread is the
    /// reader still.
    fn close(&self, reader: &mut RequestReader, file: HeldFile) -> bool {
        let sender = file.sender().pid;
        if self.slow.holds(sender) {
            return true;
        }
        if !reader.advance(sender) {
            return false;
        }
        file.close();
        let is_reader = reader.advance(0);
        if !is_reader {
            self.slow.end_wait(sender, true);
        }
        is_reader
    }
}

/// A thread in a call that the supervisor holds, and what belongs to it.
struct TrappedThread {
    /// The thread that adds it.
    worker: Worker,
    unanswered: UnansweredCall,
    file: Arc<ClientFile>,
    request: RequestContext,
    handle: Box<MemoryHandle>,
}

impl TrappedThread {
    /// Goes on with its call to the end, or leaves it to the pool if it must be stopped for that.
    fn go_on(mut self, shared: &SessionShared, mut call: BinderWriteRead, done: FdWorkResult) {
        let mut next = self.report(shared, call, done);
        let mut shown = None;
        while let Some(NextStep::CopyOut(at, copy_out)) = next {
            call = at;
            let written = self.copy_out(&shared.fuse, &call, &copy_out);
            shown = written.ok().flatten();
            let done = FdWorkResult::Written(copy_out, written.map(|_| ()));
            next = self.report(shared, call, done);
        }
        match next {
            Some(NextStep::Return(result, call))
                if shown == Some(call) || self.unanswered.is_pending() =>
            {
                let memory = &mut self.handle.memory;
                let result = match shown {
                    Some(shown) if shown == call => result,
                    _ => fd_work::write_struct(memory, &self.request, &call, result),
                };
                self.unanswered.answer(match result {
                    0 => seccomp::TrapAnswer::Done,
                    error => seccomp::TrapAnswer::Refuse(-error),
                });
                self.file.take_back_memory(self.request.unique, self.handle);
            }
            Some(NextStep::FdWork(call, fd_work)) => {
                self.leave_to_pool(shared, call, FdTaskKind::FdWork(fd_work));
            }
            Some(NextStep::Repeat) => self.leave_to_pool(shared, call, FdTaskKind::Repeat),
            // It was killed, or the driver met a bug: it gets an answer all the same.
            Some(NextStep::Return(..) | NextStep::CopyOut(..)) | None => {
                drop(self.unanswered);
                self.file.take_back_memory(self.request.unique, self.handle);
            }
        }
    }

    fn report(
        &self,
        shared: &SessionShared,
        call: BinderWriteRead,
        done: FdWorkResult,
    ) -> Option<NextStep> {
        let held = WaitingCall { file: &self.file, request: self.request, call };
        fd_work::report(shared, self.worker, &held, done)
    }

    /// Its thread has gone.
    fn give_up(self, shared: &SessionShared, call: BinderWriteRead, work: SuspendedCallKey) {
        let Self { file, request, handle, .. } = self;
        file.take_back_memory(request.unique, handle);
        give_up(shared, &WaitingCall { file: &file, request, call }, work);
    }

    /// Writes returns, and at once the struct of a call that ends with them, as mostly it does: both take
    /// as long as one. Returns that struct, if it was written.
    fn copy_out(
        &mut self,
        device: &FuseDevice,
        call: &BinderWriteRead,
        returns: &CopyOut,
    ) -> Result<Option<BinderWriteRead>, CopyFault> {
        if !self.unanswered.is_pending() {
            return Err(CopyFault);
        }
        self.file.write_private_pages(device)?;
        let read_consumed = call.read_consumed.saturating_add(returns.bytes.len() as u64);
        let shown = BinderWriteRead { read_consumed, ..*call };
        let memory = &mut self.handle.memory;
        let place = (self.request.argument, shown.as_bytes());
        match memory.write_two([(returns.address.0, &returns.bytes), place]) {
            Ok(()) => Ok(Some(shown)),
            Err(0) => Err(CopyFault),
            Err(_) => Ok(None),
        }
    }

    fn leave_to_pool(self, shared: &SessionShared, call: BinderWriteRead, purpose: FdTaskKind) {
        let Self { unanswered, file, request, handle, .. } = self;
        file.take_back_memory(request.unique, handle);
        let (waits_in, can_add_fds) = (WaitsIn::Trapped(unanswered), CanAddFds::Yes);
        let task = FdTask { file, request, call, waits_in, purpose, can_add_fds };
        shared.run_fd_task(task);
    }
}

/// The thread of descriptor work has gone.
fn give_up(shared: &SessionShared, held: &WaitingCall<'_>, work: SuspendedCallKey) {
    let undone = (work, Err(fd_work::gone()));
    fd_work::report_undone(shared, held, undone, CallerState::Gone);
}
