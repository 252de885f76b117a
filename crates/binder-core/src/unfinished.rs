//! Commands that take more than one slice: transactions with many objects, and the end of their buffers.
//!
//! Such a command stops between two slices, and its call with it, as [`Outcome::Yield`]; what it has come
//! to waits at its thread, and others have their turn. Anything may happen to them and to the thread
//! meanwhile. So what is begun is held, and what may have changed is checked when the send completes:
//! seen from outside, it happens then.
//!
//! [`Outcome::Yield`]: crate::Outcome::Yield

use alloc::boxed::Box;
use alloc::vec::Vec;

use binder_uapi::{BinderTransactionDataSg, BinderWriteRead};

use crate::buffer::{Buffer, BufferHold, BufferReservation, TakenRange};
use crate::context::{Caller, Context};
use crate::env::ReceiveBuffers;
use crate::error::{Errno, Refusal};
use crate::fetch::Commands;
use crate::image::ObjectResources;
use crate::journal::LogEntry;
use crate::process::{Process, ProcessKey};
use crate::release::ReleaseProgress;
use crate::slice::SLICE_BYTES;
use crate::thread::{Thread, ThreadKey};
use crate::transaction::{Draft, SendTarget, TransactionKind};
use crate::translate::Filling;
use crate::write_read::Outcome;

/// A command that goes on when its call does.
#[derive(Debug)]
pub(crate) enum Unfinished {
    /// `BC_TRANSACTION` or `BC_REPLY`, with or without scatter-gather pieces.
    Send(UnfinishedSend),
    /// `BC_FREE_BUFFER`.
    Free(EndingBuffer),
}

/// A call, one-way or reply whose buffer is being built.
#[derive(Debug)]
pub(crate) struct UnfinishedSend {
    order: SendOrder,
    partial: Box<PartialBuffer>,
    log: Option<LogEntry>,
}

/// The content of a send, and its destination.
#[derive(Clone, Copy, Debug)]
struct SendOrder {
    kind: TransactionKind,
    data: BinderTransactionDataSg,
    receiver: ProcessKey,
    /// None for a reply, which goes to the thread that waits for it in the end.
    target: Option<SendTarget>,
    accepts_fds: bool,
}

/// A buffer as it was built, or the part of it that one slice has built.
pub(crate) enum Built {
    /// Where it begins.
    Whole(u32),
    Partly(Box<PartialBuffer>),
}

/// The part of a buffer that is built.
#[derive(Debug)]
pub(crate) struct PartialBuffer {
    pub(crate) reservation: BufferReservation,
    pub(crate) label_start: Option<u32>,
    pub(crate) filling: Filling,
    pub(crate) resources: ObjectResources,
}

/// A buffer that has come to its end, whose range is taken until all that it holds is let go of.
#[derive(Debug)]
pub(crate) struct EndingBuffer {
    process: ProcessKey,
    range: TakenRange,
    /// Its bytes are to be cleared.
    is_cleared: bool,
    held: Vec<BufferHold>,
    /// How many of its holds have been let go of.
    let_go: usize,
    /// How many of its bytes have been cleared, if they are to be.
    cleared: u32,
}

impl UnfinishedSend {
    pub(crate) fn new(
        kind: TransactionKind,
        draft: &Draft<'_>,
        target: Option<SendTarget>,
        partial: Box<PartialBuffer>,
    ) -> Self {
        let Draft { receiver, data, accepts_fds, .. } = *draft;
        let order = SendOrder { kind, data: *data, receiver, target, accepts_fds };
        Self { order, partial, log: None }
    }
}

impl SendOrder {
    /// What its buffer is built from.
    fn draft(&self, sender: ProcessKey, thread: ThreadKey) -> Draft<'_> {
        Draft {
            sender,
            thread,
            receiver: self.receiver,
            target: self.target.map(|target| target.node),
            data: &self.data,
            is_oneway: self.kind == TransactionKind::Oneway,
            accepts_fds: self.accepts_fds,
        }
    }
}

impl EndingBuffer {
    /// A buffer that is taken out of its mapping.
    pub(crate) fn new(process: ProcessKey, buffer: &mut Buffer) -> Self {
        let held = core::mem::take(&mut buffer.held);
        let (range, is_cleared) = (buffer.range(), buffer.clears_on_free);
        Self { process, range, is_cleared, held, let_go: 0, cleared: 0 }
    }
}

impl Context {
    /// Goes on with a call that yielded, for another slice.
    ///
    /// # Errors
    ///
    /// As [`write_read`](Self::write_read); `EINVAL` when the call is over, since its thread is gone or
    /// has made another.
    pub fn go_on(
        &mut self,
        caller: &Caller,
        thread: ThreadKey,
        request: &mut BinderWriteRead,
        commands: &mut Commands,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<Outcome, Errno> {
        let has_left = |thread: &Thread| thread.unfinished.is_some();
        if !self.threads.get(thread).is_some_and(has_left)
            || !self.processes[caller.process].is_open()
        {
            self.give_up_reservations(commands, memory);
            return Err(Errno::EINVAL);
        }
        self.slice.begin();
        self.go_on_with_command(caller, thread, memory);
        if self.threads[thread].unfinished.is_some() {
            return Ok(Outcome::Yield(thread));
        }
        request.write_consumed = commands.position();
        self.run_call(caller, thread, request, commands, memory)
    }

    fn go_on_with_command(
        &mut self,
        caller: &Caller,
        thread: ThreadKey,
        memory: &mut dyn ReceiveBuffers,
    ) {
        let Some(unfinished) = self.threads[thread].unfinished.take() else { return };
        match *unfinished {
            Unfinished::Send(send) => self.go_on_sending(caller, thread, send, memory),
            Unfinished::Free(ending) => self.free_slice(thread, ending, memory),
        }
    }

    /// Has a send wait at its thread until the next slice.
    pub(crate) fn suspend_send(&mut self, thread: ThreadKey, mut send: UnfinishedSend) {
        send.log = self.journal.suspend();
        self.threads[thread].unfinished = Some(Unfinished::Send(send).into());
    }

    fn go_on_sending(
        &mut self,
        caller: &Caller,
        thread: ThreadKey,
        send: UnfinishedSend,
        memory: &mut dyn ReceiveBuffers,
    ) {
        let UnfinishedSend { order, partial, log } = send;
        let SendOrder { kind, target, .. } = order;
        self.journal.resume(log);
        let draft = order.draft(caller.process, thread);
        let built = match self.go_on_building(&draft, partial, memory) {
            Ok(Built::Partly(partial)) => {
                let send = UnfinishedSend::new(kind, &draft, target, partial);
                return self.suspend_send(thread, send);
            }
            Ok(Built::Whole(buffer)) => Ok(buffer),
            Err(refusal) => Err(refusal),
        };
        match target {
            Some(target) => {
                let sent = built.and_then(|buffer| {
                    self.complete_send(caller, kind, &draft, target, buffer, memory)
                });
                self.conclude_send(thread, sent);
            }
            None => self.complete_reply(caller, &draft, built, memory),
        }
    }

    /// Sends a call or one-way whose buffer was built in slices, as if it had been built at once now.
    ///
    /// But whether the thread has too much to read was checked when it began: what it is to hear of
    /// its own objects is in its queue by now.
    fn complete_send(
        &mut self,
        caller: &Caller,
        kind: TransactionKind,
        draft: &Draft<'_>,
        mut target: SendTarget,
        buffer: u32,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<(), Refusal> {
        if let Err(error) = self.check_sender(draft.thread, kind, &mut target) {
            self.drop_buffer(draft.receiver, buffer, memory);
            return Err(error.into());
        }
        self.log_target(target.owner, target.thread, Some(target.node));
        self.send_built(caller, draft, &target, buffer, memory)
    }

    /// The same for a reply, or for one whose buffer could not be built.
    fn complete_reply(
        &mut self,
        caller: &Caller,
        draft: &Draft<'_>,
        built: Result<u32, Refusal>,
        memory: &mut dyn ReceiveBuffers,
    ) {
        let thread = draft.thread;
        let call = match self.take_served_call(thread) {
            Ok(call) => call,
            Err(error) => {
                debug_assert!(false, "{error}: a thread answers one call at a time");
                if let Ok(buffer) = built {
                    self.drop_buffer(draft.receiver, buffer, memory);
                }
                return self.conclude_send(thread, Err(error.into()));
            }
        };
        let sent = built.and_then(|buffer| {
            let Some(waiting) = self.transactions[call].from else {
                self.drop_buffer(draft.receiver, buffer, memory);
                return Err(Refusal::dead(Errno::ESRCH));
            };
            self.send_reply(caller, call, waiting, draft.data, buffer);
            Ok(())
        });
        self.conclude_reply(caller, thread, call, draft.data, sent);
    }

    /// Builds as much of a buffer as a slice allows.
    ///
    /// A refusal leaves nothing behind but what is let go of in further slices.
    fn go_on_building(
        &mut self,
        draft: &Draft<'_>,
        mut partial: Box<PartialBuffer>,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<Built, Refusal> {
        let layout = partial.reservation.layout;
        let filled = self.check_receiver(draft).and_then(|()| {
            let PartialBuffer { filling, resources, .. } = &mut *partial;
            let is_whole = self.fill_slice(draft, &layout, filling, resources, memory)?;
            if is_whole {
                let (start, len) = filling.unseen(&layout);
                memory.publish(draft.receiver, start, len)?;
            }
            Ok(is_whole)
        });
        match filled {
            Ok(false) => Ok(Built::Partly(partial)),
            Ok(true) => {
                let PartialBuffer { reservation, label_start, resources, .. } = *partial;
                Ok(Built::Whole(self.commit_buffer(draft, reservation, label_start, resources)))
            }
            Err(refusal) => {
                self.drop_partial(draft, *partial, memory);
                Err(refusal)
            }
        }
    }

    /// Checks whether the receiver can still be sent something.
    fn check_receiver(&self, draft: &Draft<'_>) -> Result<(), Refusal> {
        let gone = if draft.target.is_some() { Errno::EINVAL } else { Errno::ESRCH };
        let receiver = self.processes.get(draft.receiver).filter(|receiver| receiver.is_open());
        let mapping = receiver.ok_or(Refusal::dead(gone))?.mapping.as_ref();
        mapping.filter(|mapping| mapping.is_mapped).map(drop).ok_or(Refusal::dead(Errno::ESRCH))
    }

    /// Gives up a buffer of which a part is built.
    fn drop_partial(
        &mut self,
        draft: &Draft<'_>,
        partial: PartialBuffer,
        memory: &mut dyn ReceiveBuffers,
    ) {
        // What was held for a receiver that is gone goes with its nodes and references.
        if self.processes.get(draft.receiver).is_some_and(|receiver| receiver.is_open()) {
            let PartialBuffer { reservation, label_start, resources, .. } = partial;
            let start = self.commit_buffer(draft, reservation, label_start, resources);
            self.drop_buffer(draft.receiver, start, memory);
        }
    }

    /// Forgets the command that a call would have gone on with: its thread is gone, or has come back
    /// without it.
    pub(crate) fn abandon_unfinished(
        &mut self,
        thread: ThreadKey,
        memory: &mut dyn ReceiveBuffers,
    ) {
        let Some(unfinished) = self.threads[thread].unfinished.take() else { return };
        match *unfinished {
            Unfinished::Send(send) => {
                let UnfinishedSend { order, partial, .. } = send;
                let draft = order.draft(self.threads[thread].process, thread);
                self.drop_partial(&draft, *partial, memory);
            }
            Unfinished::Free(ending) => self.ending_buffers.push_back(ending),
        }
    }

    /// Frees a buffer, as much of it as a slice allows; its thread's call goes on with the rest.
    pub(crate) fn free_slice(
        &mut self,
        thread: ThreadKey,
        mut ending: EndingBuffer,
        memory: &mut dyn ReceiveBuffers,
    ) {
        if !self.end_slice(&mut ending, memory) {
            self.threads[thread].unfinished = Some(Unfinished::Free(ending).into());
        }
    }

    /// Ends a buffer; what the slice under way has no room for is left to [`run_background_slice`](Self::run_background_slice).
    pub(crate) fn end_buffer(&mut self, mut ending: EndingBuffer, memory: &mut dyn ReceiveBuffers) {
        if !self.end_slice(&mut ending, memory) {
            self.ending_buffers.push_back(ending);
        }
    }

    /// Whether there is something that [`run_background_slice`](Self::run_background_slice) goes on with.
    pub fn has_background_work(&self) -> bool {
        !self.ending_buffers.is_empty()
            || !self.with_ending_threads.is_empty()
            || !self.with_pending_freezes.is_empty()
    }

    /// Goes on, for a slice, with work that no call waits for: watchers to be notified, queues of threads that
    /// are gone, buffers that came to their end without being freed by their receivers.
    pub fn run_background_slice(&mut self, memory: &mut dyn ReceiveBuffers) -> ReleaseProgress {
        self.slice.begin();
        while self.slice.has_room()
            && let Some(process) = self.with_pending_freezes.front().copied()
            && self.go_on_announcing(process)
        {
            self.with_pending_freezes.pop_front();
            self.slice.spend(1);
        }
        while self.slice.has_room()
            && let Some(process) = self.with_ending_threads.front().copied()
            && self.end_threads(process, memory)
        {
            self.with_ending_threads.pop_front();
            self.slice.spend(1);
        }
        while self.slice.has_room()
            && let Some(mut ending) = self.ending_buffers.pop_front()
        {
            if !self.end_slice(&mut ending, memory) {
                self.ending_buffers.push_front(ending);
                break;
            }
            self.slice.spend(1);
        }
        if self.has_background_work() { ReleaseProgress::Unfinished } else { ReleaseProgress::Done }
    }

    /// Lets go of what a buffer holds, as much of it as the slice has room for, and then of its range. Says
    /// whether that was all.
    fn end_slice(&mut self, ending: &mut EndingBuffer, memory: &mut dyn ReceiveBuffers) -> bool {
        let EndingBuffer { process, range, is_cleared, held, let_go, cleared } = ending;
        let (process, range) = (*process, *range);
        // With the process all of it goes.
        let has_ended = |state: &Process| state.mapping.is_none();
        if self.processes.get(process).is_none_or(has_ended) {
            return true;
        }
        while let Some(held) = held.get(*let_go) {
            if !self.slice.has_room() {
                return false;
            }
            self.slice.spend(1);
            *let_go += 1;
            self.let_go(process, *held);
        }
        if *is_cleared {
            let left = range.len - *cleared;
            let len = left.min(SLICE_BYTES);
            memory.clear(process, range.start + *cleared, len);
            *cleared += len;
            if len < left {
                return false;
            }
        }
        if let Some(mapping) = &mut self.processes[process].mapping {
            mapping.retire(range);
        }
        self.note_idle(process);
        true
    }
}
