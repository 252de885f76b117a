//! The front ends of the devices, and a deterministic executor for them: what they want done is done one thing
//! after another, at once or in the order that a check chooses, and goes wrong where a check wants that.
//!
//! The executor holds the front ends to their word: each request is answered once, and nothing is done for one
//! that was answered.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use binder_core::{IfOutstanding, SendReport, Waits};
use binder_frontend::{Action, Answer, CallingThread, Event, IoctlData, RequestContext};
use binder_uapi::BINDER_WRITE_READ;
use rustix::io::Errno;

use super::steps::{FdTask, Pending, Trouble};
use super::{Call, OpenFile, World, contexts, errno};
use crate::{Caller, Process, Thread};

/// That an ioctl's argument goes to the driver, in the direction of its number.
const WRITE: u32 = 1;

/// What an executor knows.
#[derive(Default)]
pub(super) struct Executor {
    /// The number of the last request.
    last_unique: u64,
    /// Requests that are not answered.
    pub(super) requests: BTreeMap<u64, Request>,
    /// The action, and its device.
    actions: VecDeque<(usize, Action<usize>)>,
    /// Accesses that are in line.
    pub(super) accesses: VecDeque<(usize, Pending)>,
    /// Descriptor work that is in line.
    pub(super) tasks: VecDeque<(usize, FdTask)>,
    /// Descriptor work that does not come to its end.
    pub(super) stalled: VecDeque<(usize, FdTask)>,
    /// How descriptors change.
    pub(super) fd_work_state: FdWorkState,
    /// The requests by which threads go on with descriptor work of a request before.
    pub(super) moved_to: BTreeSet<u64>,
    /// The request for which an access is being made that may be cut off.
    pub(super) in_use: Option<u64>,
    /// The requests of calls that are over but for an access, with their files: no front end has them.
    pub(super) last_accesses: BTreeMap<u64, usize>,
    /// After how many steps something goes wrong, and what.
    trouble: Option<(usize, Trouble)>,
    /// What the last poll found.
    is_readable: bool,
    reports: VecDeque<SendReport>,
}

/// Where a thread is when its descriptors change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FdWorkState {
    /// In its ioctl.
    #[default]
    Waiting,
    /// Stopped on its way out, as where seccomp cannot add them: its request is answered by then.
    Stopped,
    /// It installs files itself, and for anything else makes another ioctl, as one does that has called by shared memory.
    Moved,
}

/// A request that is not answered.
pub(super) enum Request {
    /// An ioctl of a thread, whose struct is there.
    Ioctl {
        thread: usize,
        argument: u64,
    },
    Poll,
    Flush,
}

impl Executor {
    pub(super) fn take_report(&mut self) -> Option<SendReport> {
        self.reports.pop_front()
    }

    pub(super) fn set_trouble(&mut self, trouble: Option<(usize, Trouble)>) {
        self.trouble = trouble;
    }

    pub(super) fn has_trouble_to_come(&self) -> bool {
        self.trouble.is_some()
    }

    /// How many steps are in line.
    pub(super) fn steps(&self) -> usize {
        self.accesses.len() + self.tasks.len()
    }

    /// How many accesses are.
    pub(super) fn accesses(&self) -> usize {
        self.accesses.len()
    }

    pub(super) fn note(&mut self, request: Request) -> u64 {
        // As FUSE numbers them.
        self.last_unique += 2;
        self.requests.insert(self.last_unique, request);
        self.last_unique
    }

    /// Notes the answer of a request.
    pub(super) fn answered(&mut self, unique: u64) -> Request {
        self.requests.remove(&unique).expect("a request is answered once")
    }

    /// The same of an ioctl; says of which thread, and with which argument.
    pub(super) fn answered_ioctl(&mut self, unique: u64) -> (usize, u64) {
        match self.answered(unique) {
            Request::Ioctl { thread, argument } => (thread, argument),
            Request::Poll | Request::Flush => panic!("request {unique} is no ioctl"),
        }
    }

    pub(super) fn assert_is_unanswered(&self, unique: u64) {
        assert!(self.requests.contains_key(&unique), "nothing is done for an answered request");
    }

    /// What goes wrong at this step.
    pub(super) fn trouble_now(&mut self) -> Option<Trouble> {
        match &mut self.trouble {
            Some((0, _)) => self.trouble.take().map(|(_, trouble)| trouble),
            Some((steps_left, _)) => {
                *steps_left -= 1;
                None
            }
            None => None,
        }
    }
}

impl World {
    /// A thread makes an ioctl.
    pub(super) fn ask(&mut self, caller: Caller, command: u32, argument: u64) {
        let thread = caller.thread.0;
        let (device, _) = self.core_caller(caller);
        let (mut bytes, len) = ([0; 48], ((command >> 16) & 0x3fff) as usize);
        let len = if (command >> 30) & WRITE != 0 { len } else { 0 };
        let copied = match bytes.get_mut(..len) {
            Some(bytes) => {
                let host = self.threads[thread].host;
                self.memory.peek(host, argument, bytes).map_err(|_| Errno::FAULT)
            }
            None => Err(Errno::INVAL),
        };
        let data = match copied.map(|()| IoctlData::new(&bytes[..len])) {
            Ok(data) => data.expect("so many as an ioctl has"),
            Err(error) => {
                self.threads[thread].call = Call::Ended(Err(error));
                return;
            }
        };
        let unique = self.executor.note(Request::Ioctl { thread, argument });
        self.threads[thread].call = Call::Asked { device, unique };
        let request = self.request(caller, unique, argument);
        let priority = self.threads[thread].priority.map(Some);
        let thread = CallingThread { priority, ..CallingThread::default() };
        let mut call: Box<_> = binder_frontend::Call::new(request, data).into();
        if command == BINDER_WRITE_READ {
            self.come_by_door(device, caller.process.0, &mut call, &request, &bytes[..len]);
        }
        self.tell(device, Event::Ioctl { call, thread, command });
        self.carry_out_actions();
    }

    /// Whether there is something to read for a thread. With `waits`, it is told when there may be.
    pub(super) fn poll(&mut self, caller: Caller, waits: bool) -> bool {
        let (device, who) = self.core_caller(caller);
        if self.has_no_frontend {
            return self.device(device).poll(&who);
        }
        let unique = self.executor.note(Request::Poll);
        let request = self.request(caller, unique, 0).into();
        let handle = waits.then_some(caller.process.0 as u64);
        let thread = CallingThread::default();
        self.tell(device, Event::Poll { request, thread, handle });
        self.carry_out_actions();
        self.executor.is_readable
    }

    /// A descriptor of a file is closed.
    pub(super) fn ask_to_flush(&mut self, file: usize) {
        let OpenFile { context, key, .. } = self.files[file];
        let unique = self.executor.note(Request::Flush);
        self.tell(context, Event::Flush { unique, process: key });
        self.carry_out_actions();
    }

    /// `O_NONBLOCK` changes. That it was set, the driver sees at once; that it was not, when it looks.
    pub(super) fn set_mode(&mut self, file: usize, waits: Waits) {
        self.files[file].waits = waits;
        let OpenFile { context, key, is_open, .. } = self.files[file];
        if is_open && waits == Waits::Never && !self.has_no_frontend {
            self.devices[context].set_nonblocking(key, true);
            self.carry_out_actions();
        }
    }

    /// Goes on with what comes to its end slice by slice. Says whether there may be more.
    pub(super) fn go_on_releasing(&mut self) -> bool {
        let mut is_more = false;
        for (number, device) in self.devices.iter_mut().enumerate() {
            is_more |= device.go_on_releasing(&mut self.memory.of_device(number));
        }
        self.carry_out_actions();
        is_more
    }

    /// Asserts that no request waits, and that no front end has a call left.
    pub(super) fn assert_all_is_answered(&mut self) {
        let unanswered: Vec<_> = self.executor.requests.keys().collect();
        assert!(unanswered.is_empty(), "not answered: {unanswered:?}");
        assert!(self.executor.last_accesses.is_empty(), "answered, and forgotten");
        for unique in 0..=self.executor.last_unique {
            let has_it = self.devices.iter_mut().any(|device| device.interrupt(unique));
            assert!(!has_it, "request {unique} was answered, and its call is there still");
        }
    }

    fn request(&self, caller: Caller, unique: u64, argument: u64) -> RequestContext {
        let (_, binder_core::Caller { process, tid, euid: uid, .. }) = self.core_caller(caller);
        RequestContext { unique, process, tid, uid, argument, is_compat: false }
    }

    pub(super) fn tell(&mut self, device: usize, event: Event) {
        self.devices[device].handle(event, &mut self.memory.of_device(device));
    }

    /// Does what the front ends want done, until they want nothing more.
    pub(super) fn carry_out_actions(&mut self) {
        loop {
            for (number, device) in self.devices.iter_mut().enumerate() {
                device.carry_out_effects();
                let mut actions = Vec::new();
                device.take_actions(&mut actions);
                self.executor.actions.extend(actions.into_iter().map(|action| (number, action)));
            }
            if let Some((device, action)) = self.executor.actions.pop_front() {
                self.act(device, action);
            } else if !self.holds_fd_work
                && let Some((device, task)) = self.executor.tasks.pop_front()
            {
                self.run_task(device, task);
            } else if self.ends_slowly || !self.run_slices_of_cores() {
                return;
            }
        }
    }

    /// Goes on with what no request waits for. Says whether there was something.
    fn run_slices_of_cores(&mut self) -> bool {
        let has_some = contexts(&mut self.devices).iter().any(|it| it.has_background_work());
        has_some && {
            for (number, device) in self.devices.iter_mut().enumerate() {
                let memory = &mut self.memory.of_device(number);
                let _ = device.context_mut().run_background_slice(memory);
            }
            true
        }
    }

    fn act(&mut self, device: usize, action: Action<usize>) {
        match action {
            Action::Answer { call, answer } => {
                self.answer(call.unique(), answer, call.data(), call.returns());
            }
            Action::AnswerPoll { unique, is_readable } => {
                assert!(matches!(self.executor.answered(unique), Request::Poll));
                self.executor.is_readable = is_readable == Ok(true);
            }
            Action::AnswerFlush { unique } => {
                assert!(matches!(self.executor.answered(unique), Request::Flush));
            }
            Action::Access { file, access } => {
                self.executor.assert_is_unanswered(access.request.unique);
                if access.last_of.is_some() {
                    self.executor.last_accesses.insert(access.request.unique, file);
                }
                if self.holds_windows {
                    let pending = Pending::Access(file, access);
                    self.executor.accesses.push_back((device, pending));
                } else {
                    let thread = Thread(usize::MAX);
                    self.be_disrupted(Caller { process: Process(file), thread });
                    let trouble = self.executor.trouble_now();
                    self.access(device, file, access, trouble);
                }
            }
            Action::Locate { receiver, request, commands, .. } => {
                self.locate_for(device, receiver, &request, commands);
            }
            Action::FdWork { file, request, call, work, .. } => {
                self.executor.assert_is_unanswered(request.unique);
                let task = FdTask { file, request: *request, call: *call, work };
                self.executor.tasks.push_back((device, task));
            }
            Action::LookAtMode { file, unique, .. } => self.look_at_mode(device, file, unique),
            Action::Cancel { file, unique, what, .. } => self.cancel(device, file, unique, what),
            Action::Prune { event, .. } => {
                self.executor.assert_is_unanswered(event.unique());
                self.tell(device, event);
            }
            Action::ForgetThread { .. } | Action::Warn(_) => {}
            Action::Freeze { request, info } => self.freeze_for(device, *request, info),
            Action::FrozenInfo { request, info } => self.tell_frozen_info(device, *request, info),
            Action::CancelFreeze { unique } => self.cancel_freeze(device, unique),
            Action::Settled(key) => {
                self.advance_freezes(IfOutstanding::Wait, |place| place == (device, key));
            }
            Action::NotifyPoll { handle } => self.look_again(handle),
            Action::SetPriority { tid, priority, .. } => {
                let thread = self.threads.iter_mut().find(|thread| thread.tid == tid);
                thread.expect("a thread of ours").priority = Some(priority);
            }
            Action::Report(report) => {
                if device == 0 {
                    self.executor.reports.push_back(*report);
                }
            }
        }
    }

    pub(super) fn answer(&mut self, unique: u64, answer: Answer, data: &[u8], returns: &[u8]) {
        let (thread, argument) = self.executor.answered_ioctl(unique);
        let result = match answer {
            Answer::Done => Ok(()),
            Answer::Failed(error) => Err(errno(error)),
            // The signal's handler was set up without SA_RESTART.
            Answer::Interrupted | Answer::Restart => Err(Errno::INTR),
        };
        let host = self.threads[thread].host;
        self.carry_returns_home(host, argument, returns);
        let written = self.memory.poke(host, argument, data).map_err(|_| Errno::FAULT);
        let place = &mut self.threads[thread].call;
        // A later thread of the same number may be in a call of its own.
        if matches!(place, Call::Asked { unique: asked, .. } if *asked == unique) {
            *place = Call::Ended(result.and(written));
        }
    }

    /// The threads that wait for something to read poll again.
    fn look_again(&mut self, handle: u64) {
        for thread in 0..self.threads.len() {
            let Call::Polling { process } = self.threads[thread].call else { continue };
            if process.0 as u64 == handle
                && self.poll(Caller { process, thread: Thread(thread) }, true)
            {
                self.threads[thread].call = Call::Ended(Ok(()));
            }
        }
    }
}
