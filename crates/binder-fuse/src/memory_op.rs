//! Reaching into the memory of clients, while their devices are free for others.
//!
//! A call that needs memory of its client waits in its front end, which asks for the access. The reader that
//! was told so accesses the memory itself, between two requests; what may take its time it leaves to the pool.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use binder_core::{
    CallerMemory, ClaimedAddr, CopyFault, CopyOut, EarlyReservation, EarlyReservationKey,
    TransactionKind,
};
use binder_frontend::{
    AccessEnd, AccessRequest, Answer, Call, CallingThread, Cancelled, Event, FreeLists,
    MemoryAccess, RequestContext,
};
use binder_os::{ClientMemory, FuseDevice, MappedMemory};
use binder_uapi::{BINDER_WRITE_READ, BinderTransactionDataSg};

use crate::client_file::ClientFile;
use crate::detached_calls::AfterAccess;
use crate::device::{Batch, DeviceWork, Job};
use crate::housekeeping::ROUND;
use crate::io_queue::IoRequest;
use crate::memory_handle::MemoryHandle;
use crate::read_ahead::ReadAhead;
use crate::readers::{Replaced, RequestReader};
use crate::shared::SessionShared;

/// A reservation in a receive buffer.
pub(crate) struct ReservedBuffer {
    pub(crate) reservation: EarlyReservationKey,
    pub(crate) buffer: Arc<MappedMemory>,
    pub(crate) offset: usize,
}

/// A client's memory, as the core reads it.
struct HandleMemory<'a, R> {
    memory: &'a mut ClientMemory,
    ahead: ReadAhead<'a>,
    /// Makes a reservation for what a send carries.
    reserve: R,
}

impl<R> CallerMemory for HandleMemory<'_, R>
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
        let ReservedBuffer { reservation, buffer, offset } = (self.reserve)(kind, data)?;
        let header = &data.transaction_data;
        let len = usize::try_from(header.data_size).unwrap_or(usize::MAX);
        let read = self.memory.read_into(header.buffer, &buffer, offset, len);
        Some((reservation, read.map_err(|_| CopyFault)))
    }
}

/// Writes returns to where their caller wants them, and before that what they tell of.
pub(crate) fn write(
    device: &FuseDevice,
    file: &ClientFile,
    memory: &mut ClientMemory,
    copy_out: &CopyOut,
) -> Result<(), CopyFault> {
    file.write_private_pages(device)?;
    memory.write(copy_out.address.0, &copy_out.bytes).map_err(|_| CopyFault)
}

/// The thread of ours that accesses the memory of a client.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemoryAccessor {
    /// A reader, between two requests. Large payloads go where they belong at once, and expected data is
    /// read ahead.
    Reader,
    /// A pool thread, which would keep a reservation for long, and wait for more than it must.
    Pool,
}

/// Does `work` for a request. A bug in it ends the request alone.
pub(crate) fn guarded(request: &RequestContext, work: impl FnOnce() -> AccessEnd) -> AccessEnd {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        tracing::error!(request.unique, "a request met a bug when memory was accessed for it");
        AccessEnd::Bug
    })
}

/// The event with which a `BINDER_WRITE_READ` comes to its front end.
pub(crate) fn begin_call(call: Box<Call>, thread: CallingThread) -> Event {
    Event::Ioctl { call, thread, command: BINDER_WRITE_READ }
}

impl SessionShared {
    /// Fetches the first commands of a call, as a reader does, and has it begin: the front end is asked once less. Returns
    /// the first of the I/O that follows.
    pub(crate) fn begin(
        &self,
        reader: &mut RequestReader,
        file: Arc<ClientFile>,
        mut call: Box<Call>,
        thread: CallingThread,
        mut fetch: Box<AccessRequest>,
    ) -> Result<Option<IoRequest>, Replaced> {
        let pid = file.pid;
        if self.slow.holds(pid) {
            let job = Job::Event(begin_call(call, thread));
            return Ok(self.submit_and_take(&file.device, job, reader.batch()));
        }
        if !reader.advance(pid) {
            self.submit(&file.device, Job::Event(begin_call(call, thread)));
            return Err(Replaced);
        }
        let data = call.ioctl_data();
        self.detached_calls.begin(&file, &fetch.request, data, Cancelled::Fetch);
        fetch.end = self.perform(&file, &mut fetch, MemoryAccessor::Reader);
        let job = match self.detached_calls.end(call.unique()) {
            AfterAccess::GoesOn { was_interrupted } => {
                if was_interrupted {
                    call.note_interruption();
                }
                call.set_fetched(fetch);
                Some(Job::Event(begin_call(call, thread)))
            }
            AfterAccess::IsOver => {
                self.give_up_reserved(&file, &mut fetch);
                None
            }
        };
        self.come_back(reader, &file, job)
    }

    /// Goes on after an access by a reader, unless another has taken its place meanwhile.
    fn come_back(
        &self,
        reader: &mut RequestReader,
        file: &ClientFile,
        job: Option<Job>,
    ) -> Result<Option<IoRequest>, Replaced> {
        if reader.advance(0) {
            let go_on = |job| self.submit_and_take(&file.device, job, reader.batch());
            return Ok(job.and_then(go_on));
        }
        // The other has marked the client.
        self.slow.end_wait(file.pid, true);
        if let Some(job) = job {
            self.submit(&file.device, job);
        }
        Err(Replaced)
    }

    /// Gives up what was reserved for commands that no call will run, or that are fetched once more.
    pub(crate) fn give_up_reserved(&self, file: &ClientFile, fetch: &mut AccessRequest) {
        let reserved = fetch.take_reservations();
        if reserved.is_empty() {
            return;
        }
        let work: DeviceWork = Box::new(move |state| {
            for reservation in reserved {
                state.frontend.give_up_reservation(reservation, &mut state.clients);
            }
        });
        self.submit(&file.device, Job::Work(work));
    }

    /// Accesses memory for a call, as a reader does, and goes on with the call. Returns the first of the I/O
    /// to be done then.
    pub(crate) fn access(
        &self,
        reader: &mut RequestReader,
        file: Arc<ClientFile>,
        mut access: Box<AccessRequest>,
    ) -> Result<Option<IoRequest>, Replaced> {
        if self.access_in_slot(&file, &mut access, MemoryAccessor::Reader) {
            let job = Job::Event(Event::Accessed(access));
            return Ok(self.submit_and_take(&file.device, job, reader.batch()));
        }
        let pid = file.pid;
        if access.can_wait || self.slow.holds(pid) {
            self.leave_to_pool(file, access);
            return Ok(None);
        }
        if !reader.advance(pid) {
            self.leave_to_pool(file, access);
            return Err(Replaced);
        }
        access.end = self.perform(&file, &mut access, MemoryAccessor::Reader);
        let job = self.end_access(access, &mut reader.batch().free_lists);
        self.come_back(reader, &file, job)
    }

    /// Has a thread of the pool access memory for a call, and go on with that.
    pub(crate) fn leave_to_pool(&self, file: Arc<ClientFile>, mut access: Box<AccessRequest>) {
        let payer = file.payer_of(&access.request);
        let is_turn = matches!(access.access, MemoryAccess::Turn(..));
        self.run_in_pool(payer, move |shared| {
            let is_slow = !is_turn && shared.slow.holds(file.pid);
            if is_slow {
                shared.slow.begin_wait(file.pid);
            }
            let start = Instant::now();
            access.end = shared.perform(&file, &mut access, MemoryAccessor::Pool);
            if is_slow {
                shared.slow.end_wait(file.pid, start.elapsed() >= ROUND);
            }
            if let Some(job) = shared.end_access(access, &mut FreeLists::default()) {
                shared.submit(&file.device, job);
            }
        });
    }

    /// Ends an access for a call. Returns the job that goes on with the call: none if the call is over, for it is answered.
    fn end_access(
        &self,
        mut access: Box<AccessRequest>,
        free_lists: &mut FreeLists,
    ) -> Option<Job> {
        if access.last_of.is_none() {
            return Some(Job::Event(Event::Accessed(access)));
        }
        if self.detached_calls.end(access.request.unique) == AfterAccess::IsOver {
            return None;
        }
        let Some(call) = access.take_ended_call() else {
            return Some(Job::Event(Event::Accessed(access)));
        };
        self.answer_call(&call, Answer::Done);
        free_lists.keep_call(call);
        free_lists.keep_access(access);
        None
    }

    /// Makes an access, however long that takes. Returns how it ends.
    fn perform(
        &self,
        file: &ClientFile,
        access: &mut AccessRequest,
        by: MemoryAccessor,
    ) -> AccessEnd {
        let AccessRequest { request, access, .. } = access;
        if let MemoryAccess::Turn(..) | MemoryAccess::Nothing = access {
            return AccessEnd::Done;
        }
        let Some(mut handle) = file.lend_memory_if_wanted(request.unique, request.tid) else {
            return AccessEnd::Cut;
        };
        let MemoryHandle { memory, read_ahead, .. } = &mut *handle;
        let done = guarded(request, || match access {
            MemoryAccess::Commands(call, commands) => {
                let is_reader = by == MemoryAccessor::Reader;
                let reserve = |kind, data: &_| {
                    if is_reader { self.reserve_early(file, request, kind, data) } else { None }
                };
                let ahead = ReadAhead::new(is_reader.then_some(read_ahead));
                commands.fetch_next(call, &mut HandleMemory { memory, ahead, reserve });
                AccessEnd::Done
            }
            MemoryAccess::CopyOut(copy_out) => match write(&self.fuse, file, memory, copy_out) {
                Ok(()) => AccessEnd::Done,
                Err(fault) => AccessEnd::Fault(fault),
            },
            MemoryAccess::Turn(..) | MemoryAccess::Nothing => AccessEnd::Done,
        });
        let is_cut = file.take_back_memory(request.unique, handle);
        if is_cut && done == AccessEnd::Done { AccessEnd::Cut } else { done }
    }

    /// Makes a reservation for what a call sends. `None` also where another thread has the device:
    /// to wait would take longer than to do without.
    pub(crate) fn reserve_early(
        &self,
        file: &ClientFile,
        request: &RequestContext,
        kind: TransactionKind,
        data: &BinderTransactionDataSg,
    ) -> Option<ReservedBuffer> {
        let request = *request;
        let mut batch = Batch::default();
        let reserved = file.device.try_with(&mut batch, |state| {
            let memory = &mut state.clients;
            let EarlyReservation { key: reservation, receiver, offset } =
                state.frontend.reserve_early(&request, kind, data, memory)?;
            let Some(client) = memory.get(receiver) else {
                state.frontend.give_up_reservation(reservation, memory);
                return None;
            };
            let buffer = client.buffer.memory().clone();
            // Before the reservation is filled.
            state.keep_to_budget();
            Some(ReservedBuffer { reservation, buffer, offset: offset as usize })
        });
        self.execute(&file.device, &mut batch, &mut |left| self.io_queue.push(left));
        reserved.flatten()
    }
}
