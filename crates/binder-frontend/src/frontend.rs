//! The front end of one device.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use binder_core::{
    Caller, Context, Errno, Inheritance, Opener, Priority, ProcessKey, ReceiveBuffers, Waits,
};
use binder_uapi::BinderFrozenStatusInfo;

use crate::action::{Action, Answer};
use crate::calls::{Call, CallState, Calls};
use crate::event::Event;
use crate::file_state::FileState;
use crate::free_lists::FreeLists;
use crate::ioctl::{Ioctl, IoctlData};
use crate::request::{CallingThread, RequestContext};
use crate::slot_table::SlotTable;

/// The front end of one device. `F` is what the executor wants to know an open file by.
#[derive(Debug)]
pub struct Frontend<F> {
    pub(crate) context: Context,
    pub(crate) files: SlotTable<FileState<F>>,
    pub(crate) calls: Calls,
    pub(crate) actions: Vec<Action<F>>,
    /// Processes that have not come to their end, the first to go on with in front.
    pub(crate) ending: VecDeque<ProcessKey>,
    pub(crate) free_lists: FreeLists,
    /// Whether sends that go wrong are told.
    pub(crate) has_reports: bool,
    /// Whether threads inherit priorities from those whose calls they serve.
    pub(crate) inherits: bool,
}

impl<F: Clone> Frontend<F> {
    /// A front end for a context that no process has open, with this inheritance of priorities. With
    /// `has_reports`, sends that go wrong are [told](Action::Report).
    pub fn new(context: Context, inheritance: Inheritance, has_reports: bool) -> Self {
        Self {
            inherits: inheritance != Inheritance::Nothing,
            context: context.inheriting(inheritance),
            files: SlotTable::default(),
            calls: Calls::default(),
            actions: Vec::new(),
            ending: VecDeque::new(),
            free_lists: FreeLists::default(),
            has_reports,
        }
    }

    /// The core behind it.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The core behind it, to be told things that no client asks for. [Effects](Self::carry_out_effects) are
    /// to be carried out afterwards.
    pub fn context_mut(&mut self) -> &mut Context {
        &mut self.context
    }

    /// Hands out the actions that are due, behind those that `actions` has.
    pub fn take_actions(&mut self, actions: &mut Vec<Action<F>>) {
        if actions.is_empty() {
            core::mem::swap(&mut self.actions, actions);
        } else {
            actions.append(&mut self.actions);
        }
    }

    /// Evens out the memory kept for the next calls, here and in `free_lists`.
    pub fn balance_free_lists(&mut self, free_lists: &mut FreeLists) {
        free_lists.balance(&mut self.free_lists);
    }

    /// What the executor knows an open file by.
    pub fn file(&self, process: ProcessKey) -> Option<&F> {
        self.files.get(process).map(|file| &file.handle)
    }

    /// Finds an open file by the slot of its process.
    pub fn file_in_slot(&self, slot: usize) -> Option<(ProcessKey, &F)> {
        let (_, found) = self.files.starting_at_slot(slot).next()?;
        found.map(|(process, file)| (process, &file.handle))
    }

    /// All open files from a slot on, with the slot of each; slots may be empty.
    pub fn files_from_slot(
        &self,
        slot: usize,
    ) -> impl Iterator<Item = (usize, Option<(ProcessKey, &F)>)> {
        let files = self.files.starting_at_slot(slot);
        files.map(|(slot, found)| (slot, found.map(|(process, file)| (process, &file.handle))))
    }

    /// A process opens the device.
    ///
    /// # Errors
    ///
    /// As [`Context::open`].
    pub fn open(
        &mut self,
        opener: Opener,
        handle: F,
        is_nonblocking: bool,
        priority: Option<Priority>,
    ) -> Result<ProcessKey, Errno> {
        let opened = self.context.open(opener);
        if let Ok(process) = opened {
            if let Some(priority) = priority {
                self.context.note_default_priority(process, priority);
            }
            self.files.insert(process, FileState { handle, is_nonblocking, poll_handle: None });
        }
        self.warn_of_excess();
        opened
    }

    /// Has an event happen.
    pub fn handle(&mut self, event: Event, memory: &mut dyn ReceiveBuffers) {
        match event {
            Event::Ioctl { call, thread, command } => self.ioctl(call, thread, command, memory),
            Event::Poll { request, thread, handle } => self.poll(request, thread, handle, memory),
            Event::Flush { unique, process } => {
                self.context.flush(process);
                self.actions.push(Action::AnswerFlush { unique });
            }
            Event::Accessed(access) => self.go_on(access, memory),
            Event::Cancelled { unique } => self.end_cancelled(unique),
            Event::ModeSeen { unique, is_nonblocking } => {
                self.go_on_by_mode(unique, is_nonblocking, memory);
            }
        }
        self.carry_out_effects();
    }

    fn ioctl(
        &mut self,
        mut call: Box<Call>,
        thread: CallingThread,
        command: u32,
        memory: &mut dyn ReceiveBuffers,
    ) {
        let caller = match self.admit(&call.context, thread, memory) {
            Admission::Admitted(caller) => caller,
            Admission::Refused(error) => return self.refuse(call, error, memory),
            Admission::Full(file) => {
                let thread = thread.once_pruned();
                return self.prune(file, Event::Ioctl { call, thread, command });
            }
        };
        let ioctl = match Ioctl::decode(command, call.data()) {
            Ok(ioctl) => ioctl,
            Err(error) => {
                // The thread has called, though nothing comes of it.
                self.context.note_call(&caller);
                return self.refuse(call, error, memory);
            }
        };
        match ioctl {
            Ioctl::WriteRead(request) => {
                if let Some(priority) = thread.priority {
                    self.context.note_priority(&caller, priority);
                }
                call.request = request;
                self.begin_write_read(call, memory);
            }
            Ioctl::Freeze(info) => {
                self.context.note_call(&caller);
                let request = Box::new(call.context);
                self.wait_for_freezer(call, Action::Freeze { request, info });
            }
            Ioctl::FrozenInfo(info) => {
                self.context.note_call(&caller);
                let request = Box::new(call.context);
                self.wait_for_freezer(call, Action::FrozenInfo { request, info });
            }
            ioctl => {
                let result = self.run(ioctl, &caller, memory);
                // A thread that leaves has its own priority again before it goes on.
                self.carry_out_effects();
                self.answer(call, result);
            }
        }
    }

    /// Makes an ioctl without an argument that did not come as a request, for a thread of the process that
    /// opened the file.
    ///
    /// # Errors
    ///
    /// As the ioctl says.
    pub fn null_ioctl(
        &mut self,
        request: &RequestContext,
        thread: CallingThread,
        command: u32,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<(), Errno> {
        let thread = CallingThread { was_pruned: true, ..thread };
        let result = match self.admit(request, thread, memory) {
            // No call that comes without a request reads its argument.
            Admission::Admitted(caller) => {
                Ioctl::decode(command, &[]).and_then(|call| self.run(call, &caller, memory))
            }
            Admission::Refused(error) => Err(error),
            Admission::Full(_) => Err(Errno::ENOMEM),
        };
        self.carry_out_effects();
        result.map(|_| ())
    }

    /// Runs a call that concerns one device alone and does not wait.
    fn run(
        &mut self,
        call: Ioctl,
        caller: &Caller,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<IoctlData, Errno> {
        let answer = call.run(&mut self.context, caller, memory);
        if call == Ioctl::ExitThread {
            self.forget_thread(caller.process, caller.tid);
        }
        answer
    }

    fn poll(
        &mut self,
        request: Box<RequestContext>,
        thread: CallingThread,
        handle: Option<u64>,
        memory: &mut dyn ReceiveBuffers,
    ) {
        let is_readable = match self.admit(&request, thread, memory) {
            Admission::Admitted(caller) => {
                if let (Some(handle), Some(file)) = (handle, self.files.get_mut(request.process)) {
                    file.poll_handle = Some(handle);
                }
                Ok(self.context.poll(&caller))
            }
            Admission::Refused(error) => Err(error),
            Admission::Full(file) => {
                let thread = thread.once_pruned();
                return self.prune(file, Event::Poll { request, thread, handle });
            }
        };
        self.actions.push(Action::AnswerPoll { unique: request.unique, is_readable });
    }

    /// Admits the calling thread, if need be in the place of one that ended without a word.
    fn admit(
        &mut self,
        request: &RequestContext,
        thread: CallingThread,
        memory: &mut dyn ReceiveBuffers,
    ) -> Admission<F> {
        let Some(file) = self.files.get(request.process) else {
            return Admission::Refused(Errno::EINVAL);
        };
        let RequestContext { process, tid, .. } = *request;
        let caller = self.caller(request);
        if thread.replaces_ended {
            self.context.exit_thread(&caller, memory);
        }
        match self.context.admit(&caller) {
            Ok(()) => Admission::Admitted(caller),
            Err(full) if thread.was_pruned => {
                self.forget_thread(process, tid);
                Admission::Refused(full)
            }
            Err(_) => {
                // Perhaps it is met by those alone that have ended.
                self.context.take_excess();
                Admission::Full(file.handle.clone())
            }
        }
    }

    /// Has ended threads looked for, and the event happen again afterwards.
    fn prune(&mut self, file: F, event: Event) {
        self.actions.push(Action::Prune { file, event });
    }

    /// The caller, as the core knows it.
    pub(crate) fn caller(&self, request: &RequestContext) -> Caller {
        let RequestContext { process, tid, uid: euid, .. } = *request;
        let is_nonblocking = self.files.get(process).is_some_and(|file| file.is_nonblocking);
        let waits = if is_nonblocking { Waits::Never } else { Waits::UntilReady };
        Caller { process, tid, euid, waits }
    }

    pub(crate) fn forget_thread(&mut self, process: ProcessKey, tid: u32) {
        if let Some(file) = self.files.get(process) {
            self.actions.push(Action::ForgetThread { file: file.handle.clone(), tid });
        }
    }

    fn wait_for_freezer(&mut self, mut call: Box<Call>, action: Action<F>) {
        call.state = CallState::Freezing;
        self.calls.insert(call);
        self.actions.push(action);
    }

    /// Answers a call that [waited for a freeze](Action::Freeze), unless it is over.
    pub fn end_freeze(&mut self, unique: u64, answer: Answer) {
        if let Some(mut call) = self.calls.take(unique) {
            call.data = IoctlData::NOTHING;
            self.actions.push(Action::Answer { call, answer });
        }
    }

    /// Answers a call that asked whether a [program is frozen](Action::FrozenInfo).
    pub fn end_frozen_info(&mut self, unique: u64, info: Result<BinderFrozenStatusInfo, Errno>) {
        if let Some(call) = self.calls.take(unique) {
            self.answer(call, info.map(|info| IoctlData::of(&info)));
        }
    }

    /// Answers a call that does not begin.
    fn refuse(&mut self, mut call: Box<Call>, error: Errno, memory: &mut dyn ReceiveBuffers) {
        if let Some(fetched) = call.fetched.take() {
            self.give_up_reservations(fetched.access, memory);
        }
        self.fail(call, error);
    }

    pub(crate) fn fail(&mut self, call: Box<Call>, error: Errno) {
        self.answer(call, Err(error));
    }

    fn answer(&mut self, mut call: Box<Call>, result: Result<IoctlData, Errno>) {
        let (answer, reply) = match result {
            Ok(reply) => (Answer::Done, reply),
            Err(error) => (Answer::Failed(error), IoctlData::NOTHING),
        };
        call.data = reply;
        self.actions.push(Action::Answer { call, answer });
    }

    /// Whether no process has the device open, and nothing of it waits for its end.
    pub fn is_quiet(&self) -> bool {
        self.files.is_empty() && self.ending.is_empty() && !self.context.has_background_work()
    }

    /// Shrinks tables that have held many entries.
    pub fn shrink(&mut self) {
        self.context.shrink();
        self.files.shrink();
        self.calls.shrink();
        // The next call makes others, with no more memory than it needs.
        self.free_lists = FreeLists::default();
        self.ending.shrink_to_fit();
        self.actions.shrink_to_fit();
    }

    /// Ends a turn by which the idleness of pages is told.
    pub fn end_idle_turn(&mut self) {
        for process in self.files.processes() {
            self.context.end_idle_turn(process);
        }
    }
}

/// Whether a thread may call.
enum Admission<F> {
    Admitted(Caller),
    Refused(Errno),
    /// There are too many: it is to try again, once those of this file have ended that are gone.
    Full(F),
}

#[cfg(test)]
mod tests;
