//! The steps of calls that take their time - accesses to memory, descriptor work, looks at modes - and what goes
//! wrong at them.

use std::collections::VecDeque;

use binder_core::{Commands, CopyFault, FdWork, NotInstalled, ProcessKey, ReceiveBuffers, Waits};
use binder_frontend::{
    AccessEnd, AccessRequest, Answer, CallerState, Cancelled, Event, FdWorkResult, IoctlData,
    MemoryAccess, NextStep, RequestContext,
};
use binder_uapi::{BINDER_WRITE_READ, BinderWriteRead};
use rustix::io::Errno;

use super::frontends::{Executor, FdWorkState, Request};
use super::{Call, OpenFile, World};
use crate::fake_memory::Reservations;
use crate::{Caller, Process, Thread};

/// What goes wrong at one step of a call: an access to its client's memory, descriptor work, or a look at the mode
/// of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The calling thread has a signal to handle. The step comes to its end nevertheless.
    Signal,
    /// The same, and a fetch is cut off. The front end is told of the signal first.
    Cut,
    /// The same, but the front end is told first that the fetch has ended.
    CutLate,
    /// The client's memory is not there, or has no room for descriptors.
    Fault,
    /// The executor meets a bug.
    Bug,
    /// The client is killed.
    Kill,
    /// The step does not end until the client is killed.
    Stall,
}

impl Trouble {
    /// Each of them.
    pub const ALL: [Self; 7] =
        [Self::Signal, Self::Cut, Self::CutLate, Self::Fault, Self::Bug, Self::Kill, Self::Stall];
}

/// An access that is in line.
pub(super) enum Pending {
    /// Of the memory of a file's process.
    Access(usize, Box<AccessRequest>),
    /// It was made; its call is to go on.
    Made(Box<AccessRequest>),
}

/// Descriptor work, and the call that waits for it.
pub(super) struct FdTask {
    pub(super) file: usize,
    pub(super) request: RequestContext,
    pub(super) call: BinderWriteRead,
    pub(super) work: Box<FdWork>,
}

/// Why files were not installed in a client that has ended.
const GONE: NotInstalled = NotInstalled { errno: 3, reason: "gone" };

impl World {
    // --- accesses ---

    /// Makes the access that is in line there, or its call go on. Says whether there was one.
    pub(super) fn pass_access(&mut self, at: usize, trouble: Option<Trouble>) -> bool {
        match self.executor.accesses.remove(at) {
            Some((device, Pending::Access(file, mut access))) => {
                let is_fetch = matches!(access.access, MemoryAccess::Commands(..));
                if is_fetch && self.holds_fetched {
                    access.end = self.perform(device, file, &mut access, None);
                    self.executor.accesses.push_back((device, Pending::Made(access)));
                } else {
                    self.access(device, file, access, trouble);
                }
                true
            }
            Some((device, Pending::Made(access))) => {
                self.end_access(device, access);
                true
            }
            None => false,
        }
    }

    /// Does the descriptor work that is in line there. Says whether there was some.
    pub(super) fn pass_task(&mut self, at: usize, trouble: Option<Trouble>) -> bool {
        let Some((device, task)) = self.executor.tasks.remove(at) else { return false };
        self.do_task(device, task, trouble);
        true
    }

    pub(super) fn access(
        &mut self,
        device: usize,
        file: usize,
        mut access: Box<AccessRequest>,
        trouble: Option<Trouble>,
    ) {
        // The next slice: it needs no client's memory.
        if trouble == Some(Trouble::Stall) && !matches!(access.access, MemoryAccess::Turn(..)) {
            return;
        }
        let unique = access.request.unique;
        access.end = self.perform(device, file, &mut access, trouble);
        match trouble {
            Some(Trouble::Kill) => self.kill(self.files[file].host),
            Some(Trouble::Signal) => self.signal(device, unique),
            Some(Trouble::Cut) => {
                self.executor.in_use = Some(unique);
                self.signal(device, unique);
                self.carry_out_actions();
            }
            Some(Trouble::CutLate) => {
                self.executor.in_use = Some(unique);
                self.signal(device, unique);
            }
            Some(Trouble::Fault | Trouble::Bug | Trouble::Stall) | None => {}
        }
        self.end_access(device, access);
        self.carry_out_actions();
        self.executor.in_use = None;
    }

    /// The thread behind a request has a signal to handle, unless it was killed meanwhile.
    fn signal(&mut self, device: usize, unique: u64) {
        let is_unanswered = self.executor.requests.contains_key(&unique);
        let has_call = self.interrupt_request(device, unique);
        assert_eq!(has_call, is_unanswered, "request {unique} is unanswered while it has a call");
    }

    /// Has a signal end the call behind a request, as far as can be. Says whether there is such a call.
    pub(super) fn interrupt_request(&mut self, device: usize, unique: u64) -> bool {
        if self.devices[device].interrupt(unique) {
            return true;
        }
        let Some(file) = self.executor.last_accesses.get(&unique) else { return false };
        if self.hosts[self.files[*file].host.0].is_killed {
            self.executor.last_accesses.remove(&unique);
            self.answer(unique, Answer::Interrupted, &[], &[]);
        }
        true
    }

    /// Goes on with a call after an access, or answers it, if it was over but for that.
    fn end_access(&mut self, device: usize, mut access: Box<AccessRequest>) {
        if access.last_of.is_some() {
            let was_awaited = self.executor.last_accesses.remove(&access.request.unique);
            let ended = was_awaited.and_then(|_| access.take_ended_call());
            if let Some(call) = ended {
                return self.answer(call.unique(), Answer::Done, call.data(), call.returns());
            }
            if was_awaited.is_none() {
                return;
            }
        }
        self.tell(device, Event::Accessed(access));
    }

    /// Makes an access. Returns how it ends.
    pub(super) fn perform(
        &mut self,
        device: usize,
        file: usize,
        request: &mut AccessRequest,
        trouble: Option<Trouble>,
    ) -> AccessEnd {
        let AccessRequest { request, access, can_wait, .. } = request;
        let host = self.files[file].host;
        if self.hosts[host.0].is_killed {
            return AccessEnd::Cut;
        }
        if trouble == Some(Trouble::Fault) {
            self.memory.set_missing(true);
        }
        let done = match access {
            MemoryAccess::Commands(call, commands) => {
                let frontend = &mut self.devices[device];
                let reserve = Box::new(|kind, data: &_, memory: &mut dyn ReceiveBuffers| {
                    frontend.reserve_early(request, kind, data, memory)
                });
                // Room is reserved by readers only, who do what cannot wait.
                let reservations = (!*can_wait).then_some(Reservations { number: device, reserve });
                commands.fetch_next(call, &mut self.memory.of_caller(host, reservations));
                AccessEnd::Done
            }
            MemoryAccess::CopyOut(copy_out) => {
                match self.memory.of(host).write(copy_out.address, &copy_out.bytes) {
                    Ok(()) => AccessEnd::Done,
                    Err(CopyFault) => AccessEnd::Fault(CopyFault),
                }
            }
            MemoryAccess::Turn(..) | MemoryAccess::Nothing => AccessEnd::Done,
        };
        self.memory.set_missing(false);
        match (trouble, access) {
            (Some(Trouble::Bug), _) => AccessEnd::Bug,
            (Some(Trouble::Cut | Trouble::CutLate), MemoryAccess::Commands(..))
            | (Some(Trouble::Kill), MemoryAccess::Commands(..) | MemoryAccess::CopyOut(_)) => {
                AccessEnd::Cut
            }
            _ => done,
        }
    }

    /// Gives up what a call waits for. An access in line ends only if its client was killed.
    pub(super) fn cancel(&mut self, device: usize, file: usize, unique: u64, what: Cancelled) {
        let is_killed = self.hosts[self.files[file].host.0].is_killed;
        match what {
            Cancelled::Fetch | Cancelled::CopyOut => {
                let is_cut = what == Cancelled::Fetch && self.executor.in_use == Some(unique);
                if is_killed || is_cut {
                    self.tell(device, Event::Cancelled { unique });
                }
            }
            Cancelled::FdWork if is_killed => {
                let Executor { tasks, stalled, .. } = &mut self.executor;
                let find = |line: &mut VecDeque<(usize, FdTask)>| {
                    let at = line.iter().position(|(_, task)| task.request.unique == unique)?;
                    line.remove(at)
                };
                if let Some((_, task)) = find(tasks).or_else(|| find(stalled)) {
                    let FdTask { request, call, work, .. } = task;
                    self.devices[device].end_fd_work_of_killed(request, call, Some(work));
                }
            }
            Cancelled::FdWork => {}
        }
    }

    // --- descriptor work, and looks at modes ---

    /// Takes back all descriptor work that is in line, which its threads were sent elsewhere for: the executor
    /// has answered their requests.
    pub(super) fn retract_tasks(&mut self) {
        for (device, task) in std::mem::take(&mut self.executor.tasks) {
            let FdTask { request, work, .. } = task;
            self.answer(request.unique, Answer::Interrupted, &[], &[]);
            self.devices[device].retract_fd_work(request.unique, *work);
        }
    }

    pub(super) fn run_task(&mut self, device: usize, task: FdTask) {
        let trouble = self.executor.trouble_now();
        self.do_task(device, task, trouble);
    }

    fn do_task(&mut self, device: usize, task: FdTask, trouble: Option<Trouble>) {
        let unique = task.request.unique;
        match trouble {
            Some(Trouble::Stall) => return self.executor.stalled.push_back((device, task)),
            Some(Trouble::Kill) => {
                let host = self.files[task.file].host;
                self.executor.tasks.push_front((device, task));
                return self.kill(host);
            }
            Some(Trouble::Signal | Trouble::Cut | Trouble::CutLate) => self.signal(device, unique),
            Some(Trouble::Fault | Trouble::Bug) | None => {}
        }
        let has_moved = self.executor.moved_to.remove(&unique);
        match self.executor.fd_work_state {
            _ if trouble.is_some() || has_moved => {}
            FdWorkState::Waiting => {}
            FdWorkState::Stopped => return self.do_task_of_stopped(device, task),
            FdWorkState::Moved => return self.move_task(device, task),
        }
        let FdTask { file, request, call, work } = task;
        let done = self.change_descriptors(file, *work, trouble);
        let memory = &mut self.memory.of_device(device);
        let caller = CallerState::Waiting;
        let next = self.devices[device].finish_fd_work(request, call, done, caller, memory);
        assert!(next.is_none(), "a thread that waits is answered");
    }

    fn change_descriptors(
        &mut self,
        file: usize,
        work: FdWork,
        trouble: Option<Trouble>,
    ) -> FdWorkResult {
        let FdWork { key, install, close } = work;
        let OpenFile { host, is_open, .. } = self.files[file];
        let descriptors = self.memory.descriptors(host);
        for fd in close {
            descriptors.close(fd.into());
        }
        let installed = match trouble {
            _ if install.is_empty() => Ok(Vec::new()),
            Some(Trouble::Fault) => Err(NotInstalled { errno: 24, reason: "no room" }),
            Some(Trouble::Bug) => Err(NotInstalled { errno: 5, reason: "a bug" }),
            _ if !is_open => Err(GONE),
            _ => descriptors.install(install),
        };
        FdWorkResult::FdWork(key, installed)
    }

    /// Has a thread go on as another request, whose first is answered.
    fn move_task(&mut self, device: usize, task: FdTask) {
        let FdTask { file, request, call, work } = task;
        let (thread, argument) = self.executor.answered_ioctl(request.unique);
        let unique = self.executor.note(Request::Ioctl { thread, argument });
        let place = &mut self.threads[thread].call;
        if matches!(place, Call::Asked { unique: asked, .. } if *asked == request.unique) {
            *place = Call::Asked { device, unique };
        }
        let to = RequestContext { unique, ..request };
        let to = Box::new(binder_frontend::Call::new(to, IoctlData::of(&call)));
        let descriptors = self.memory.descriptors(self.files[file].host);
        let has_files_only = !work.install.is_empty() && work.close.is_empty();
        if has_files_only && descriptors.has_room(work.install.len()) {
            let FdWork { key, install, .. } = *work;
            let numbers = descriptors.install(install).expect("there is room");
            let memory = &mut self.memory.of_device(device);
            self.devices[device].finish_moved_fd_work(request.unique, to, key, numbers, memory);
        } else {
            self.executor.moved_to.insert(unique);
            self.devices[device].move_fd_work(request.unique, to, work);
        }
    }

    /// The same for a thread that is stopped on its way out, whose request is answered.
    fn do_task_of_stopped(&mut self, device: usize, task: FdTask) {
        let FdTask { file, request, mut call, work } = task;
        let (thread, argument) = self.executor.answered_ioctl(request.unique);
        let host = self.files[file].host;
        let mut done = self.change_descriptors(file, *work, None);
        loop {
            let memory = &mut self.memory.of_device(device);
            let caller = CallerState::Stopped;
            let next = self.devices[device].finish_fd_work(request, call, done, caller, memory);
            let result = match next.expect("a stopped thread is told how it goes on") {
                NextStep::Return(result, end) => {
                    call = end;
                    Some(result)
                }
                NextStep::CopyOut(so_far, copy_out) => {
                    call = so_far;
                    let written = self.memory.of(host).write(copy_out.address, &copy_out.bytes);
                    done = FdWorkResult::Written(copy_out, written);
                    continue;
                }
                NextStep::FdWork(so_far, work) => {
                    call = so_far;
                    done = self.change_descriptors(file, *work, None);
                    continue;
                }
                NextStep::Repeat => None,
            };
            self.put(host, argument, &call).expect("the argument is where it was");
            match result {
                Some(0) => self.threads[thread].call = Call::Ended(Ok(())),
                Some(error) => {
                    let error = Errno::from_raw_os_error(-error);
                    self.threads[thread].call = Call::Ended(Err(error));
                }
                None => {
                    let caller = Caller { process: Process(file), thread: Thread(thread) };
                    self.ask(caller, BINDER_WRITE_READ, argument);
                }
            }
            return;
        }
    }

    /// Looks where the receiver of a command has its receive buffer mapped.
    pub(super) fn locate_for(
        &mut self,
        device: usize,
        receiver: ProcessKey,
        request: &RequestContext,
        commands: Box<Commands>,
    ) {
        self.executor.assert_is_unanswered(request.unique);
        let file = self.devices[device].file(request.process).copied();
        match self.executor.trouble_now() {
            Some(Trouble::Kill) => self.kill(self.files[file.expect("it is open")].host),
            Some(Trouble::Signal | Trouble::Cut | Trouble::CutLate) => {
                self.signal(device, request.unique);
            }
            // The look itself always ends.
            Some(Trouble::Fault | Trouble::Bug | Trouble::Stall) | None => {}
        }
        let memory = &mut self.memory.of_device(device);
        let found = memory.locate_mapping(receiver);
        self.devices[device].located(*request, commands, receiver, found, memory);
    }

    pub(super) fn look_at_mode(&mut self, device: usize, file: usize, unique: u64) {
        self.executor.assert_is_unanswered(unique);
        let trouble = self.executor.trouble_now();
        let OpenFile { key, host, waits, .. } = self.files[file];
        let is_nonblocking = waits == Waits::Never;
        let takes_longer = matches!(trouble, Some(Trouble::Fault | Trouble::Bug | Trouble::Stall));
        let is_signal = matches!(trouble, Some(Trouble::Signal | Trouble::Cut | Trouble::CutLate));
        if is_signal || trouble == Some(Trouble::Kill) {
            self.signal(device, unique);
        }
        let seen = (!takes_longer).then_some(is_nonblocking);
        self.tell(device, Event::ModeSeen { unique, is_nonblocking: seen });
        if takes_longer {
            self.devices[device].set_nonblocking(key, is_nonblocking);
        }
        if trouble == Some(Trouble::Kill) {
            self.kill(host);
        }
    }
}
