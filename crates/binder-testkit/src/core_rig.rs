//! A rig on the pure core: fake memory, no threads, one schedule.
//!
//! Woken readers are resumed at once, in the order of the core's effects, so that a check plays
//! out the same way every time.

use std::cell::RefCell;
use std::collections::VecDeque;

use binder_core::{
    Census, Context, Effect, Errand, Freeze, Limits, LogEntry, Nice, NotInstalled, Opener, Outcome,
    Patience, PidNumbers, Program, Release, Report, Snapshot, ThreadKey, UidMap, Waits,
};
use binder_uapi::{
    ANYBINDER_DEFER_COMPLETIONS, BINDER_CURRENT_PROTOCOL_VERSION,
    BINDER_ENABLE_ONEWAY_SPAM_DETECTION, BINDER_FREEZE, BINDER_GET_EXTENDED_ERROR,
    BINDER_GET_FROZEN_INFO, BINDER_GET_NODE_DEBUG_INFO, BINDER_GET_NODE_INFO_FOR_REF,
    BINDER_SET_CONTEXT_MGR, BINDER_SET_CONTEXT_MGR_EXT, BINDER_SET_MAX_THREADS, BINDER_THREAD_EXIT,
    BINDER_VERSION, BINDER_WRITE_READ, BinderFreezeInfo, BinderFrozenStatusInfo,
    BinderNodeDebugInfo, BinderNodeInfoForRef, BinderWriteRead, FlatBinderObject,
};
use rustix::io::Errno;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::fake_memory::{FakeMemory, Fickle, GUARD};
use crate::{
    Caller, Descriptors, Device, Driver, Host, Mode, Process, Progress, Protection, Readiness, Rig,
    Thread, Waiter,
};

/// A rig on the pure core.
#[derive(Default)]
pub struct CoreRig {
    world: RefCell<World>,
}

#[derive(Default)]
struct World {
    contexts: [Context; 2],
    memory: FakeMemory,
    hosts: Vec<FakeHost>,
    files: Vec<OpenFile>,
    threads: Vec<FakeThread>,
    /// Freezes that wait, and the threads that asked for them.
    freezes: Vec<(usize, Freeze)>,
    /// Whether woken readers stay where they are for now.
    is_held: bool,
    /// Files that were closed, and are not at their end.
    ending: Vec<(usize, binder_core::ProcessKey)>,
    /// Whether such files wait to be asked for.
    ends_slowly: bool,
    /// What calls wait for, in the order in which it is done.
    errands: VecDeque<FakeErrand>,
    /// Whether that stays undone for now.
    holds_errands: bool,
}

/// An errand of a call, and the call.
struct FakeErrand {
    caller: Caller,
    argument: u64,
    request: BinderWriteRead,
    errand: Box<Errand>,
}

struct FakeHost {
    pid: u32,
    euid: u32,
}

struct OpenFile {
    host: Host,
    context: usize,
    key: binder_core::ProcessKey,
    waits: Waits,
    is_open: bool,
}

struct FakeThread {
    host: Host,
    tid: u32,
    /// How nice it is, if a check cares.
    nice: Option<i8>,
    call: Call,
}

/// The system call that a thread is in, or came back from.
#[derive(Clone, Copy)]
enum Call {
    Ended(Result<(), Errno>),
    Reading {
        process: Process,
        key: ThreadKey,
        argument: u64,
        request: BinderWriteRead,
    },
    Polling {
        process: Process,
    },
    /// It waits for its errand.
    Errand,
    Freezing,
}

impl CoreRig {
    /// A rig whose processes keep to `limits`.
    #[must_use]
    pub fn with_limits(limits: Limits) -> Self {
        let contexts = [limits, limits].map(Context::with_limits);
        Self { world: RefCell::new(World { contexts, ..World::default() }) }
    }

    /// Lets the access after the next `accesses` ones fault; `None` takes it back.
    pub fn fault_after(&self, accesses: Option<usize>) {
        self.world.borrow_mut().memory.fault_after(accesses);
    }

    /// Whether the fault that was ordered has happened.
    pub fn has_faulted(&self) -> bool {
        self.world.borrow().memory.has_faulted()
    }

    /// Lets a host's memory at `address` change to `becomes` as soon as the driver has read it.
    pub fn change_once_read(&self, host: Host, address: u64, becomes: &[u8]) {
        let becomes = becomes.to_vec();
        self.world.borrow_mut().memory.set_fickle(Fickle { host, address, becomes });
    }

    /// Keeps woken readers from running, as a busy machine would.
    pub fn hold(&self) {
        self.world.borrow_mut().is_held = true;
    }

    /// Lets them run.
    pub fn let_go(&self) {
        let mut world = self.world.borrow_mut();
        world.is_held = false;
        world.carry_out_effects();
    }

    /// Makes a thread nice, as setpriority(2) does.
    pub fn set_nice(&self, thread: Thread, nice: i8) {
        self.world.borrow_mut().threads[thread.0].nice = Some(nice);
    }

    /// How nice a thread has become.
    pub fn nice_of(&self, thread: Thread) -> Option<i8> {
        self.world.borrow().threads[thread.0].nice
    }

    /// Keeps errands from being done, as a machine would whose clients do not run.
    pub fn hold_errands(&self) {
        self.world.borrow_mut().holds_errands = true;
    }

    /// Lets them be done.
    pub fn let_errands_go(&self) {
        let mut world = self.world.borrow_mut();
        world.holds_errands = false;
        world.carry_out_effects();
    }

    /// How many captured files the driver holds.
    pub fn captured_files(&self) -> usize {
        self.world.borrow().memory.captured_files()
    }

    /// Lets more time pass than anybody is willing to wait.
    pub fn let_time_pass(&self) {
        let mut world = self.world.borrow_mut();
        world.advance_freezes(Patience::Over, |_| true);
        world.carry_out_effects();
    }

    /// From here on, a closed file comes to its end slice by slice, by [`end_some`](Self::end_some).
    pub fn end_slowly(&self) {
        self.world.borrow_mut().ends_slowly = true;
    }

    /// Plays one slice of the end of a closed file. Says whether there was one.
    pub fn end_some(&self) -> bool {
        self.world.borrow_mut().end_some()
    }

    /// Lets the driver's clock of the first device show `now_ns`.
    pub fn set_now(&self, now_ns: u64) {
        self.world.borrow_mut().contexts[0].set_now(now_ns);
    }

    /// All tables of the first device.
    pub fn snapshot(&self) -> Snapshot {
        self.world.borrow().contexts[0].snapshot()
    }

    /// The last sends of the first device, and the last that failed.
    pub fn transaction_logs(&self) -> [Vec<LogEntry>; 2] {
        let context = &self.world.borrow().contexts[0];
        [
            context.transaction_log().copied().collect(),
            context.failed_transaction_log().copied().collect(),
        ]
    }

    /// Takes the oldest report of the first device.
    pub fn poll_report(&self) -> Option<Report> {
        self.world.borrow_mut().contexts[0].poll_report()
    }

    /// The live objects of the first device.
    pub fn census(&self) -> Census {
        self.world.borrow().contexts[0].census()
    }
}

impl World {
    fn core_caller(&self, caller: Caller) -> (usize, binder_core::Caller) {
        let file = &self.files[caller.process.0];
        assert!(file.is_open, "a call through a closed file");
        let thread = &self.threads[caller.thread.0];
        let core_caller = binder_core::Caller {
            process: file.key,
            tid: thread.tid,
            euid: self.hosts[thread.host.0].euid,
            waits: file.waits,
        };
        (file.context, core_caller)
    }

    fn admit(&mut self, caller: Caller) -> Result<(), Errno> {
        let (context, who) = self.core_caller(caller);
        self.contexts[context].admit(&who).map_err(errno)
    }

    fn get<T: FromBytes>(&self, host: Host, address: u64) -> Result<T, Errno> {
        let mut bytes = vec![0; size_of::<T>()];
        self.memory.peek(host, address, &mut bytes).map_err(|_| Errno::FAULT)?;
        Ok(T::read_from_bytes(&bytes).expect("as many bytes as it has"))
    }

    fn put<T: IntoBytes + Immutable>(
        &mut self,
        host: Host,
        address: u64,
        value: &T,
    ) -> Result<(), Errno> {
        self.memory.poke(host, address, value.as_bytes()).map_err(|_| Errno::FAULT)
    }

    fn freeze(&mut self, caller: Caller, argument: u64) -> Call {
        let host = self.threads[caller.thread.0].host;
        let asked: BinderFreezeInfo = match self.get(host, argument) {
            Ok(asked) => asked,
            Err(errno) => return Call::Ended(Err(errno)),
        };
        let program = match self.program(caller, asked.pid) {
            Ok(program) => program,
            Err(errno) => return Call::Ended(Err(errno)),
        };
        if asked.enable == 0 {
            program.thaw(&mut self.contexts.each_mut());
            return Call::Ended(Ok(()));
        }
        let patience = if asked.timeout_ms > 0 { Patience::Left } else { Patience::Over };
        let mut freeze = program.freeze(patience);
        match freeze.advance(&mut self.contexts.each_mut(), patience) {
            Some(result) => Call::Ended(result.map_err(errno)),
            None => {
                self.freezes.push((caller.thread.0, freeze));
                Call::Freezing
            }
        }
    }

    /// Goes on with the freezes that wait for a process, given as the place of its device and its
    /// key.
    fn advance_freezes(
        &mut self,
        patience: Patience,
        is_meant: impl Fn((usize, binder_core::ProcessKey)) -> bool,
    ) {
        for (thread, mut freeze) in std::mem::take(&mut self.freezes) {
            let result = match freeze.waits_for().filter(|place| is_meant(*place)) {
                Some(_) => freeze.advance(&mut self.contexts.each_mut(), patience),
                None => None,
            };
            match result {
                Some(result) => {
                    self.threads[thread].call = Call::Ended(result.map_err(errno));
                }
                None => self.freezes.push((thread, freeze)),
            }
        }
    }

    fn program(&mut self, caller: Caller, pid: u32) -> Result<Program, Errno> {
        let (context, who) = self.core_caller(caller);
        self.contexts[context].note_call(&who);
        let numbers = self.contexts[context].pid_numbers(who.process).expect("an open file");
        let numbers = numbers.clone();
        Program::find(&self.contexts.each_mut(), &numbers, pid).map_err(errno)
    }

    /// All requests that cannot wait.
    fn small_request(&mut self, caller: Caller, request: u32, argument: u64) -> Result<(), Errno> {
        let host = self.threads[caller.thread.0].host;
        let (context, who) = self.core_caller(caller);
        match request {
            BINDER_VERSION => {
                self.contexts[context].note_call(&who);
                self.put(host, argument, &BINDER_CURRENT_PROTOCOL_VERSION)
            }
            BINDER_SET_MAX_THREADS => {
                let threads = self.get(host, argument)?;
                self.contexts[context].set_max_threads(&who, threads);
                Ok(())
            }
            BINDER_ENABLE_ONEWAY_SPAM_DETECTION => {
                let is_wanted = self.get::<u32>(host, argument)? != 0;
                self.contexts[context].detect_oneway_spam(&who, is_wanted);
                Ok(())
            }
            ANYBINDER_DEFER_COMPLETIONS => {
                let is_wanted = self.get::<u32>(host, argument)? != 0;
                self.contexts[context].defer_completions(&who, is_wanted);
                Ok(())
            }
            BINDER_SET_CONTEXT_MGR => {
                let object = FlatBinderObject::default();
                self.contexts[context].become_context_manager(&who, &object).map_err(errno)
            }
            BINDER_SET_CONTEXT_MGR_EXT => {
                let object = self.get(host, argument)?;
                self.contexts[context].become_context_manager(&who, &object).map_err(errno)
            }
            BINDER_THREAD_EXIT => {
                self.contexts[context].exit_thread(&who, &mut self.memory.seen_by(context));
                Ok(())
            }
            BINDER_GET_NODE_DEBUG_INFO => {
                let asked: BinderNodeDebugInfo = self.get(host, argument)?;
                let answer = self.contexts[context].node_debug_info(&who, asked.ptr);
                self.put(host, argument, &answer)
            }
            BINDER_GET_NODE_INFO_FOR_REF => {
                let asked: BinderNodeInfoForRef = self.get(host, argument)?;
                let answer = self.contexts[context].node_info_for_ref(&who, &asked);
                self.put(host, argument, &answer.map_err(errno)?)
            }
            BINDER_GET_EXTENDED_ERROR => {
                let error = self.contexts[context].take_extended_error(&who);
                self.put(host, argument, &error)
            }
            BINDER_GET_FROZEN_INFO => {
                let asked: BinderFrozenStatusInfo = self.get(host, argument)?;
                let program = self.program(caller, asked.pid)?;
                let info = program.frozen_info(&self.contexts.each_mut());
                self.put(host, argument, &BinderFrozenStatusInfo { pid: asked.pid, ..info })
            }
            other => panic!("request {other:#x} is the business of a front end"),
        }
    }

    fn write_read(&mut self, caller: Caller, argument: u64) -> Call {
        let host = self.threads[caller.thread.0].host;
        let mut request: BinderWriteRead = match self.get(host, argument) {
            Ok(request) => request,
            Err(errno) => return Call::Ended(Err(errno)),
        };
        let (context, who) = self.core_caller(caller);
        if let Some(nice) = self.threads[caller.thread.0].nice {
            self.contexts[context].note_nice(&who, Nice(nice));
        }
        let mut memory = self.memory.seen_by(context);
        let result = self.contexts[context].write_read(&who, &mut request, &mut memory);
        self.after_read(caller, argument, request, result)
    }

    fn after_read(
        &mut self,
        caller: Caller,
        argument: u64,
        request: BinderWriteRead,
        result: Result<Outcome, binder_core::Errno>,
    ) -> Call {
        let process = caller.process;
        let result = match result {
            Ok(Outcome::Park(key)) => return Call::Reading { process, key, argument, request },
            Ok(Outcome::Errand(errand)) => {
                self.errands.push_back(FakeErrand { caller, argument, request, errand });
                return Call::Errand;
            }
            Ok(Outcome::Done) => Ok(()),
            Err(error) => Err(errno(error)),
        };
        let host = self.threads[caller.thread.0].host;
        self.put(host, argument, &request).expect("the argument is where it was");
        Call::Ended(result)
    }

    /// Does what the core wants done, until it wants nothing more.
    fn carry_out_effects(&mut self) {
        self.wake_readers();
        while !self.holds_errands
            && let Some(errand) = self.errands.pop_front()
        {
            self.run(errand);
            self.wake_readers();
        }
    }

    /// Changes the descriptors of a host, and goes on with the call that waits for it.
    fn run(&mut self, FakeErrand { caller, argument, mut request, errand }: FakeErrand) {
        let Errand { key, install, close } = *errand;
        let OpenFile { host, context, is_open, .. } = self.files[caller.process.0];
        let descriptors = self.memory.descriptors(host);
        let installed = if is_open { descriptors.install(install) } else { Err(NotInstalled) };
        for fd in close {
            descriptors.close(fd.into());
        }
        let mut memory = self.memory.seen_by(context);
        let result =
            self.contexts[context].finish_errand(key, installed, &mut request, &mut memory);
        let call = self.after_read(caller, argument, request, result);
        let place = &mut self.threads[caller.thread.0].call;
        // A later thread of the same number may be in a call of its own.
        if matches!(place, Call::Errand) {
            *place = call;
        }
    }

    fn wake_readers(&mut self) {
        if self.is_held {
            return;
        }
        while let Some((context, effect)) = self.next_effect() {
            match effect {
                Effect::Wake(key) => self.resume(context, key),
                Effect::NotifyPoll(key) => self.notify(context, key),
                Effect::SetNice { tid, nice, .. } => {
                    let thread = self.threads.iter_mut().find(|thread| thread.tid == tid);
                    thread.expect("a thread of ours").nice = Some(nice.0);
                }
                Effect::Settled(key) => {
                    self.advance_freezes(Patience::Left, |place| place == (context, key));
                }
            }
        }
    }

    fn next_effect(&mut self) -> Option<(usize, Effect)> {
        let mut contexts = self.contexts.iter_mut().enumerate();
        contexts.find_map(|(place, context)| Some((place, context.poll_effect()?)))
    }

    fn resume(&mut self, context: usize, woken: ThreadKey) {
        for thread in 0..self.threads.len() {
            let Call::Reading { process, key, argument, mut request } = self.threads[thread].call
            else {
                continue;
            };
            if key == woken && self.files[process.0].context == context {
                let mut memory = self.memory.seen_by(context);
                let result = self.contexts[context].resume(key, &mut request, &mut memory);
                let caller = Caller { process, thread: Thread(thread) };
                self.threads[thread].call = self.after_read(caller, argument, request, result);
            }
        }
    }

    fn notify(&mut self, context: usize, notified: binder_core::ProcessKey) {
        for thread in 0..self.threads.len() {
            let Call::Polling { process } = self.threads[thread].call else { continue };
            let file = &self.files[process.0];
            if file.context == context && file.key == notified {
                let caller = Caller { process, thread: Thread(thread) };
                let (_, who) = self.core_caller(caller);
                if self.contexts[context].poll(&who) {
                    self.threads[thread].call = Call::Ended(Ok(()));
                }
            }
        }
    }

    fn interrupt(&mut self, thread: usize) {
        let result = Err(Errno::INTR);
        match self.threads[thread].call {
            // The first has returned; the second does so once its errand is done.
            Call::Ended(_) | Call::Errand => {}
            Call::Polling { .. } => self.threads[thread].call = Call::Ended(result),
            Call::Freezing => {
                let at = self.freezes.iter().position(|(who, _)| *who == thread);
                let (_, freeze) = self.freezes.remove(at.expect("a freeze that waits"));
                freeze.abandon(&mut self.contexts.each_mut());
                self.threads[thread].call = Call::Ended(result);
            }
            Call::Reading { process, key, argument, request } => {
                let host = self.threads[thread].host;
                let context = self.files[process.0].context;
                // A held thread may have been woken already: the signal wins, as in Linux.
                let _was_asleep = self.contexts[context].interrupt(key);
                self.put(host, argument, &request).expect("the argument is where it was");
                self.threads[thread].call = Call::Ended(result);
                self.carry_out_effects();
            }
        }
    }

    /// The last close: everybody is woken, then the file goes.
    fn close(&mut self, process: usize) {
        let OpenFile { context, key, is_open, .. } = self.files[process];
        if !is_open {
            return;
        }
        self.contexts[context].flush(key);
        self.carry_out_effects();
        let release = self.contexts[context].release(key, &mut self.memory.seen_by(context));
        self.files[process].is_open = false;
        self.memory.remove_file((context, key.to_u64()));
        self.carry_out_effects();
        if release == Release::Unfinished {
            self.ending.push((context, key));
        }
        while !self.ends_slowly && self.end_some() {}
    }

    /// Goes on with the end of a file that was closed, if there is one.
    fn end_some(&mut self) -> bool {
        let Some((context, key)) = self.ending.pop() else { return false };
        let release = self.contexts[context].release(key, &mut self.memory.seen_by(context));
        if release == Release::Unfinished {
            self.ending.push((context, key));
        }
        self.carry_out_effects();
        true
    }

    fn kill(&mut self, host: Host) {
        for thread in 0..self.threads.len() {
            if self.threads[thread].host == host {
                self.interrupt(thread);
            }
        }
        for process in 0..self.files.len() {
            if self.files[process].host == host {
                self.close(process);
            }
        }
    }
}

fn errno(error: binder_core::Errno) -> Errno {
    Errno::from_raw_os_error(error.number())
}

impl Rig for CoreRig {
    fn driver(&self) -> Driver {
        Driver::Core
    }

    fn start_host(&self) -> Host {
        let mut world = self.world.borrow_mut();
        let host = Host(world.hosts.len());
        let pid = 1000 + u32::try_from(host.0).expect("few hosts");
        world.hosts.push(FakeHost { pid, euid: 0 });
        world.memory.add_host();
        host
    }

    fn set_user(&self, host: Host, uid: u32) -> Result<(), Errno> {
        self.world.borrow_mut().hosts[host.0].euid = uid;
        Ok(())
    }

    fn pid(&self, host: Host) -> i32 {
        self.world.borrow().hosts[host.0].pid.try_into().expect("a small number")
    }

    fn kill(&self, host: Host) {
        self.world.borrow_mut().kill(host);
    }

    fn start_thread(&self, host: Host) -> Thread {
        let mut world = self.world.borrow_mut();
        let number = world.threads.len();
        let tid = 10_000 + u32::try_from(number).expect("few threads");
        world.threads.push(FakeThread { host, tid, nice: None, call: Call::Ended(Ok(())) });
        Thread(number)
    }

    fn open(&self, host: Host, device: Device, mode: Mode) -> Result<Process, Errno> {
        let mut world = self.world.borrow_mut();
        let context = usize::from(device == Device::Second);
        let pid = world.hosts[host.0].pid;
        let key = world.contexts[context].open(Opener {
            pid,
            numbers: PidNumbers::single(pid),
            uids: UidMap::identity(),
            security_label: Box::from(*b"fake_label"),
        });
        world.contexts[context].note_default_nice(key, Nice(0));
        world.memory.add_file((context, key.to_u64()), host);
        let waits = waits(mode);
        world.files.push(OpenFile { host, context, key, waits, is_open: true });
        Ok(Process(world.files.len() - 1))
    }

    fn map(&self, process: Process, len: usize, protection: Protection) -> Result<u64, Errno> {
        assert_eq!(protection, Protection::ReadOnly, "rights are the business of a front end");
        let mut world = self.world.borrow_mut();
        let OpenFile { context, key, .. } = world.files[process.0];
        world.memory.map((context, key.to_u64()), len).ok_or(Errno::BUSY)
    }

    fn set_mode(&self, process: Process, mode: Mode) {
        self.world.borrow_mut().files[process.0].waits = waits(mode);
    }

    fn close_duplicate(&self, process: Process) {
        let mut world = self.world.borrow_mut();
        let OpenFile { context, key, .. } = world.files[process.0];
        world.contexts[context].flush(key);
        world.carry_out_effects();
    }

    fn close(&self, process: Process) {
        self.world.borrow_mut().close(process.0);
    }

    fn ioctl(&self, caller: Caller, request: u32, argument: u64) -> Progress {
        let mut world = self.world.borrow_mut();
        let call = match world.admit(caller) {
            Ok(()) if request == BINDER_WRITE_READ => world.write_read(caller, argument),
            Ok(()) if request == BINDER_FREEZE => world.freeze(caller, argument),
            Ok(()) => Call::Ended(world.small_request(caller, request, argument)),
            Err(errno) => Call::Ended(Err(errno)),
        };
        world.threads[caller.thread.0].call = call;
        world.carry_out_effects();
        drop(world);
        self.settle(caller.thread)
    }

    fn wait_readable(&self, caller: Caller, _waiter: Waiter) -> Progress {
        let mut world = self.world.borrow_mut();
        let (context, who) = world.core_caller(caller);
        let is_ready = world.contexts[context].poll(&who);
        let process = caller.process;
        world.threads[caller.thread.0].call =
            if is_ready { Call::Ended(Ok(())) } else { Call::Polling { process } };
        drop(world);
        self.settle(caller.thread)
    }

    fn settle(&self, thread: Thread) -> Progress {
        match self.world.borrow().threads[thread.0].call {
            Call::Ended(result) => Progress::Done(result),
            Call::Reading { .. } | Call::Polling { .. } | Call::Errand | Call::Freezing => {
                Progress::Parked
            }
        }
    }

    fn finish(&self, thread: Thread) -> Result<(), Errno> {
        match self.settle(thread) {
            Progress::Done(result) => result,
            Progress::Parked => panic!("the call does not return"),
        }
    }

    fn interrupt(&self, thread: Thread) {
        let mut world = self.world.borrow_mut();
        world.interrupt(thread.0);
        world.carry_out_effects();
    }

    fn poll(&self, caller: Caller) -> Readiness {
        let mut world = self.world.borrow_mut();
        let (context, who) = world.core_caller(caller);
        let is_readable = world.contexts[context].poll(&who);
        Readiness { is_readable, ..Readiness::default() }
    }

    fn allocate(&self, host: Host, len: usize) -> u64 {
        self.world.borrow_mut().memory.allocate(host, len)
    }

    fn guard(&self, _host: Host) -> u64 {
        GUARD
    }

    fn poke(&self, host: Host, address: u64, bytes: &[u8]) {
        self.world.borrow_mut().memory.poke(host, address, bytes).expect("memory of the host");
    }

    fn peek(&self, host: Host, address: u64, bytes: &mut [u8]) -> Result<(), Errno> {
        self.world.borrow().memory.peek(host, address, bytes).map_err(|_| Errno::FAULT)
    }

    fn descriptors(&self) -> &dyn Descriptors {
        self
    }

    fn core(&self) -> Option<&CoreRig> {
        Some(self)
    }

    fn tear_down(&self) {
        self.let_go();
        self.let_errands_go();
        let mut world = self.world.borrow_mut();
        for host in 0..world.hosts.len() {
            world.kill(Host(host));
        }
        while world.end_some() {}
        for context in &world.contexts {
            assert_eq!(context.census(), Census::default(), "something was left behind");
            let objects = context.snapshot().objects;
            assert!(objects.iter().all(|object| object.active == 0), "{objects:?}");
        }
        assert_eq!(world.memory.captured_files(), 0, "files were left behind");
    }
}

impl Descriptors for CoreRig {
    fn duplicate(&self, host: Host, fd: u64) -> u64 {
        self.world.borrow_mut().memory.descriptors(host).duplicate(fd)
    }

    fn close_descriptor(&self, host: Host, fd: u64) {
        self.world.borrow_mut().memory.descriptors(host).close(fd);
    }

    fn limit_descriptors(&self, host: Host, count: u64) {
        self.world.borrow_mut().memory.descriptors(host).limit(count);
    }

    fn file(&self, host: Host, fd: u64) -> Option<String> {
        self.world.borrow_mut().memory.descriptors(host).file(fd)
    }

    fn closes_on_exec(&self, host: Host, fd: u64) -> bool {
        self.world.borrow_mut().memory.descriptors(host).closes_on_exec(fd)
    }

    fn open_descriptors(&self, host: Host) -> usize {
        self.world.borrow_mut().memory.descriptors(host).len()
    }
}

fn waits(mode: Mode) -> Waits {
    match mode {
        Mode::Blocking => Waits::UntilReady,
        Mode::Nonblocking => Waits::Never,
    }
}
