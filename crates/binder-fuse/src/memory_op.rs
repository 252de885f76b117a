//! Reaching into the memory of clients, while the driver is free for others.
//!
//! A call that needs memory of its client stops, and what it needs is put in line. Whoever has had a job
//! done takes the first in line along when the driver is free again, reaches for it, and comes back to
//! the driver with a job of its own. The reader does that itself, between two requests; what may take its
//! time it leaves to the runners.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use binder_core::{
    CallerMemory, ClaimedAddr, Commands, CopyFault, CopyOut, EarlyReservationKey, ProcessKey,
    ThreadKey, TransactionKind,
};
use binder_os::{ClientMemory, MappedMemory};
use binder_uapi::{BinderTransactionDataSg, BinderWriteRead};

use crate::driver::{DeviceId, Driver, Job, RequestContext};
use crate::fd_work::{FdTask, Worker};
use crate::files::HeldFile;
use crate::housekeeper::ROUND;
use crate::quota::{Account, Charge};
use crate::read_ahead::{Habits, ReadAhead};
use crate::seccomp_add_fd::{self, AddFdStart};
use crate::session::SessionShared;

/// A way into the memory of a client. Made once, it goes round with what is wanted of it.
#[derive(Debug)]
pub(crate) struct MemoryHandle {
    pub(crate) memory: ClientMemory,
    /// For the descriptor that it keeps open, if it does.
    pub(crate) _permit: Option<Charge>,
    pub(crate) habits: Habits,
    /// What is to be done, or has been.
    pub(crate) reach: Option<MemoryOp>,
}

/// What a call needs of its client's memory.
#[derive(Debug)]
pub(crate) struct MemoryOp {
    /// By which the driver finds the call: its device, and the number of its request.
    pub(crate) device: DeviceId,
    pub(crate) unique: u64,
    /// Whose memory it is: the open file of the device, and who pays for it.
    pub(crate) process: ProcessKey,
    pub(crate) client: Account,
    pub(crate) want: MemoryAccess,
    /// It belongs to a call that takes long, and lets others go first.
    pub(crate) can_wait: bool,
    /// What came of it.
    pub(crate) end: MemoryOpEnd,
}

#[derive(Debug)]
pub(crate) enum MemoryAccess {
    /// The next commands, in the place of some that nobody needs any more.
    Commands(BinderWriteRead, Box<Commands>),
    /// The caller has its returns.
    CopyOut(CopyOut),
    /// Nothing but others' turn: the call goes on with these commands in another slice.
    Turn(ThreadKey, Box<Commands>),
}

/// How a reach ended.
#[derive(Debug)]
pub(crate) enum MemoryOpEnd {
    NotYet,
    /// Commands show themselves what could not be read.
    Done,
    /// The returns could not be written.
    Fault(CopyFault),
    /// We met a bug.
    Bug,
}

/// What is to be done once the driver is free.
pub(crate) enum IoRequest {
    Reach(Box<MemoryHandle>),
    /// To send a thread to the supervisor.
    Divert(Box<FdTask>),
}

/// What the driver's jobs have left, in line. The driver has it, and nobody else's lock is needed.
pub(crate) struct IoQueue {
    line: VecDeque<IoRequest>,
    len: Arc<IoQueueLen>,
}

/// How long the line was a moment ago, for a look at it without the driver.
#[derive(Default)]
pub(crate) struct IoQueueLen(AtomicUsize);

impl IoQueue {
    pub(crate) fn counted_by(len: Arc<IoQueueLen>) -> Self {
        Self { line: VecDeque::new(), len }
    }

    pub(crate) fn push(&mut self, left: IoRequest) {
        self.line.push_back(left);
        self.len.0.store(self.line.len(), Ordering::Relaxed);
    }

    pub(crate) fn shrink(&mut self) {
        self.line.shrink_to_fit();
    }

    pub(crate) fn pop(&mut self) -> Option<IoRequest> {
        let left = self.line.pop_front();
        self.len.0.store(self.line.len(), Ordering::Relaxed);
        left
    }
}

/// Another has taken the place of the thread that was the reader.
struct Replaced;

/// Room in a receive buffer.
pub(crate) struct ReservedBuffer {
    pub(crate) room: EarlyReservationKey,
    pub(crate) buffer: Arc<MappedMemory>,
    pub(crate) offset: usize,
}

/// A client's memory, as the core reads it.
struct OfCaller<'a, R> {
    memory: &'a mut ClientMemory,
    ahead: ReadAhead<'a>,
    /// Has room reserved for what a send carries.
    reserve: R,
}

impl<R> CallerMemory for OfCaller<'_, R>
where
    R: FnMut(TransactionKind, &BinderTransactionDataSg) -> Option<ReservedBuffer>,
{
    fn read(&mut self, address: ClaimedAddr, into: &mut [u8]) -> Result<(), CopyFault> {
        self.ahead.read(self.memory, address.0, into).map_err(|_| CopyFault)
    }

    fn read_two(&mut self, places: [(ClaimedAddr, &mut [u8]); 2]) -> Result<(), usize> {
        let places = places.map(|(address, into)| (address.0, into));
        self.ahead.read_two(self.memory, places)
    }

    fn read_whole(
        &mut self,
        address: ClaimedAddr,
        len: usize,
        bytes: &mut Vec<u8>,
    ) -> Result<(), CopyFault> {
        self.ahead.read_whole(self.memory, address.0, len, bytes).map_err(|_| CopyFault)
    }

    fn read_into_reservation(
        &mut self,
        kind: TransactionKind,
        data: &BinderTransactionDataSg,
    ) -> Option<(EarlyReservationKey, Result<(), CopyFault>)> {
        let ReservedBuffer { room, buffer, offset } = (self.reserve)(kind, data)?;
        let header = &data.transaction_data;
        let len = usize::try_from(header.data_size).unwrap_or(usize::MAX);
        let read = self.memory.read_into(header.buffer, &buffer, offset, len);
        Some((room, read.map_err(|_| CopyFault)))
    }
}

impl MemoryHandle {
    /// Does what is wanted, however long that takes. If the reader does, large payloads go where they
    /// belong at once, and what is expected is read ahead; others would keep the room for long, and wait
    /// for more than they must.
    fn go(&mut self, reader: Option<&SessionShared>) {
        let Self { memory, habits, reach: Some(reach), .. } = self else { return };
        let MemoryOp { device, unique, want, end, .. } = reach;
        let work = AssertUnwindSafe(|| match want {
            MemoryAccess::Commands(request, commands) => {
                let reserve = |kind, data: &_| reader?.reserve_early(*device, *unique, kind, data);
                let ahead = ReadAhead::new(reader.is_some().then_some(habits));
                commands.fetch_next(request, &mut OfCaller { memory, ahead, reserve });
                MemoryOpEnd::Done
            }
            MemoryAccess::CopyOut(copy_out) => match write(memory, copy_out) {
                Ok(()) => MemoryOpEnd::Done,
                Err(fault) => MemoryOpEnd::Fault(fault),
            },
            MemoryAccess::Turn(..) => MemoryOpEnd::Done,
        });
        *end = catch_unwind(work).unwrap_or_else(|_| {
            tracing::error!(unique, "a request met a bug when memory was accessed for it");
            MemoryOpEnd::Bug
        });
    }
}

/// Writes returns to where their caller wants them.
pub(crate) fn write(memory: &mut ClientMemory, copy_out: &CopyOut) -> Result<(), CopyFault> {
    memory.write(copy_out.address.0, &copy_out.bytes).map_err(|_| CopyFault)
}

impl SessionShared {
    /// Has `job` done, and leaves to the runners what is left by it, and by others.
    pub(crate) fn submit(&self, job: Job) {
        self.leave_all_to_runners(Some(job));
    }

    /// Has `job` done by the reader, or by somebody in its place, and takes along the first of what is
    /// left then. Whoever is given that has to come back for the next.
    #[must_use = "a call waits for it"]
    pub(crate) fn take_left_after(&self, job: Option<Job>) -> Option<IoRequest> {
        let mut left = None;
        self.driver.submit(job, Driver::run, |driver| {
            if left.is_none() {
                left = driver.left.pop();
            }
        });
        left
    }

    /// Does `left` and all else that is left. Says whether the calling thread, which is at `step`, is the
    /// reader still.
    pub(crate) fn do_what_is_left(&self, step: &mut u64, mut left: Option<IoRequest>) -> bool {
        while let Some(next) = left.take().or_else(|| self.next_left()) {
            let done = match next {
                IoRequest::Reach(reach) => self.reach(step, reach),
                IoRequest::Divert(task) => self.divert(step, *task),
            };
            match done {
                Ok(next) => left = next,
                Err(Replaced) => {
                    self.leave_all_to_runners(None);
                    return false;
                }
            }
        }
        true
    }

    /// Has room reserved for what the call behind request `unique` sends. `None` also where somebody else is at
    /// the driver: to wait would take longer than to do without.
    fn reserve_early(
        &self,
        device: DeviceId,
        unique: u64,
        kind: TransactionKind,
        data: &BinderTransactionDataSg,
    ) -> Option<ReservedBuffer> {
        let mut is_asked = false;
        let mut berth = None;
        self.driver.submit(None, Driver::run, |driver| {
            if !std::mem::replace(&mut is_asked, true) {
                berth = driver.reserve_early(device, unique, kind, data);
            }
        });
        berth
    }

    fn next_left(&self) -> Option<IoRequest> {
        // Mostly there is none, and a turn is saved. Whoever leaves something comes here afterwards, and
        // does not miss that.
        if self.leftovers.0.load(Ordering::Relaxed) == 0 {
            None
        } else {
            self.take_left_after(None)
        }
    }

    fn leave_all_to_runners(&self, job: Option<Job>) {
        let mut all = Vec::new();
        self.driver.submit(job, Driver::run, |driver| {
            all.extend(std::iter::from_fn(|| driver.left.pop()));
        });
        for left in all {
            match left {
                IoRequest::Reach(reach) => self.leave_to_runners(reach),
                IoRequest::Divert(task) => self.runners.run_fd_task(*task),
            }
        }
    }

    /// Reaches for what a call needs and goes on with it. Returns the first of what is left then.
    fn reach(
        &self,
        step: &mut u64,
        mut way: Box<MemoryHandle>,
    ) -> Result<Option<IoRequest>, Replaced> {
        let Some(MemoryOp { client: Account { pid, .. }, can_wait, .. }) = way.reach else {
            return Ok(None);
        };
        if can_wait || self.slow.holds(pid) {
            self.leave_to_runners(way);
            return Ok(None);
        }
        if !self.watch.advance(step, pid) {
            self.leave_to_runners(way);
            return Err(Replaced);
        }
        way.go(Some(self));
        let gone = Job::Reached(way);
        if !self.watch.advance(step, 0) {
            // The other has marked the client.
            self.slow.end_wait(pid, true);
            self.submit(gone);
            return Err(Replaced);
        }
        Ok(self.take_left_after(Some(gone)))
    }

    /// Sends a thread to the supervisor and gives it its files there. To leave that to others takes longer.
    fn divert(&self, step: &mut u64, task: FdTask) -> Result<Option<IoRequest>, Replaced> {
        let pid = task.client.pid;
        if self.slow.holds(pid) {
            self.runners.run_fd_task(task);
            return Ok(None);
        }
        if !self.watch.advance(step, pid) {
            self.runners.run_fd_task(task);
            return Err(Replaced);
        }
        let files = self.give_files(task);
        let mut is_reader = self.watch.advance(step, 0);
        if !is_reader {
            // The other has marked the client.
            self.slow.end_wait(pid, true);
        }
        for file in files {
            is_reader = is_reader && self.close(step, file);
        }
        if is_reader { Ok(None) } else { Err(Replaced) }
    }

    /// Returns our own files, which are to be closed, unless somebody else goes on with it.
    fn give_files(&self, task: FdTask) -> Vec<HeldFile> {
        let RequestContext { tid, argument, .. } = task.asker;
        let pid = task.client.pid;
        let attendant = self.supervision.attendant().filter(|_| !self.supervision.tardy.holds(pid));
        let mut expected = None;
        let expect = || expected = attendant.as_ref().and_then(|it| it.hearing.expect());
        match seccomp_add_fd::begin(self, task, expect) {
            AddFdStart::OnItsWay => {}
            AddFdStart::Over => return Vec::new(),
            AddFdStart::Left(task) => {
                self.runners.run_fd_task(task);
                return Vec::new();
            }
        }
        let (Some(attendant), Some(expected)) = (&attendant, expected) else { return Vec::new() };
        let Some(waiting) = expected.take() else {
            // It is not waited for once more, for the time being.
            self.supervision.tardy.begin_wait(pid);
            self.supervision.tardy.end_wait(pid, true);
            return Vec::new();
        };
        let is_its = waiting.trapped.is_diverted(tid, argument);
        match is_its.then(|| self.diversions.take(tid, argument)).flatten() {
            Some(diverted) => seccomp_add_fd::complete(self, Worker::Reader, waiting, diverted),
            None => {
                attendant.attend_to(waiting);
                Vec::new()
            }
        }
    }

    /// Closes a file, which may take as long as its sender likes. Says whether the calling thread is the
    /// reader still.
    fn close(&self, step: &mut u64, file: HeldFile) -> bool {
        let sender = file.sender().pid;
        if self.slow.holds(sender) {
            return true;
        }
        if !self.watch.advance(step, sender) {
            return false;
        }
        file.close();
        let is_reader = self.watch.advance(step, 0);
        if !is_reader {
            self.slow.end_wait(sender, true);
        }
        is_reader
    }

    fn leave_to_runners(&self, mut way: Box<MemoryHandle>) {
        let Some(MemoryOp { client, ref want, .. }) = way.reach else { return };
        let is_turn = matches!(want, MemoryAccess::Turn(..));
        self.runners.run(client, move |shared| {
            let is_slow = !is_turn && shared.slow.holds(client.pid);
            if is_slow {
                shared.slow.begin_wait(client.pid);
            }
            let start = Instant::now();
            way.go(None);
            if is_slow {
                shared.slow.end_wait(client.pid, start.elapsed() >= ROUND);
            }
            shared.submit(Job::Reached(way));
        });
    }
}
